//! What "Retouched Bloom filters" prints of its case study (section VI), beside what we measured.

use seenit_filter::retouch::Algorithm;

use super::{BETA, Measured, Results, Spread};

/// Addresses in the paper's stop set.
pub(super) const STOPS: u32 = 8006;

/// The list's success, stopping short and collisions.
pub(super) const LIST: [f64; 3] = [0.7812, 0.0936, 0.1251];

/// A printed number, and how ours is found.
pub(super) struct Printed {
    pub(super) what: &'static str,
    pub(super) value: f64,
    pub(super) ours: fn(&Results, u32) -> Spread,
}

/// All of them, in the order of the text. Sizes are those of the full experiment; the quick one has a tenth.
pub(super) const ALL: [Printed; 17] = [
    Printed {
        what: "Bloom: success, m = 100,000",
        value: 0.2446,
        ours: |r, k| bloom(r, k, last(r)).of(|s| s.rates.success),
    },
    Printed {
        what: "Bloom: short, m = 10,000",
        value: 0.9981,
        ours: |r, k| bloom(r, k, r.bits[0]).of(|s| s.rates.short),
    },
    Printed {
        what: "Bloom: short, m = 100,000",
        value: 0.7668,
        ours: |r, k| bloom(r, k, last(r)).of(|s| s.rates.short),
    },
    Printed {
        what: "retouched 25 %: best success",
        value: 0.7564,
        ours: |r, k| at(r, k, last(r), BETA).of(|s| s.rates.success),
    },
    Printed {
        what: "retouched 25 %: short reduced by, m = 10,000",
        value: 0.7617,
        ours: |r, k| reduced(r, k, r.bits[0]),
    },
    Printed {
        what: "retouched 25 %: short reduced by, m = 100,000",
        value: 0.8435,
        ours: |r, k| reduced(r, k, last(r)),
    },
    Printed { what: "false positives on all traces of a monitor", value: 9.0, ours: on_all_traces },
    Printed {
        what: "m = 60,000: success, beta 10 %",
        value: 0.7015,
        ours: |r, k| at(r, k, r.pivot(), 0.1).of(|s| s.rates.success),
    },
    Printed {
        what: "m = 60,000: success, beta 30 %",
        value: 0.7218,
        ours: |r, k| at(r, k, r.pivot(), 0.3).of(|s| s.rates.success),
    },
    Printed {
        what: "m = 60,000: success, beta 100 %",
        value: 0.4575,
        ours: |r, k| at(r, k, r.pivot(), 1.0).of(|s| s.rates.success),
    },
    Printed {
        what: "m = 60,000: short, beta 0",
        value: 0.6842,
        ours: |r, k| bloom(r, k, r.pivot()).of(|s| s.rates.short),
    },
    Printed {
        what: "m = 60,000: short, beta 10 %",
        value: 0.2355,
        ours: |r, k| at(r, k, r.pivot(), 0.1).of(|s| s.rates.short),
    },
    Printed {
        what: "m = 60,000: short, beta 30 %",
        value: 0.1168,
        ours: |r, k| at(r, k, r.pivot(), 0.3).of(|s| s.rates.short),
    },
    Printed {
        what: "m = 60,000: short, beta 100 %",
        value: 0.0,
        ours: |r, k| at(r, k, r.pivot(), 1.0).of(|s| s.rates.short),
    },
    Printed {
        what: "m = 60,000: collision, beta 0",
        value: 0.0081,
        ours: |r, k| bloom(r, k, r.pivot()).of(|s| s.rates.collision),
    },
    Printed {
        what: "m = 60,000: collision, beta 10 %",
        value: 0.1073,
        ours: |r, k| at(r, k, r.pivot(), 0.1).of(|s| s.rates.collision),
    },
    Printed {
        what: "m = 60,000: collision, beta 100 %",
        value: 0.5387,
        ours: |r, k| at(r, k, r.pivot(), 1.0).of(|s| s.rates.collision),
    },
];

fn bloom(results: &Results, k: u32, bits: u64) -> &Measured {
    results.filter(k, bits, None)
}

fn at(results: &Results, k: u32, bits: u64, beta: f64) -> &Measured {
    results.filter(k, bits, Some((Algorithm::Ratio, beta)))
}

fn last(results: &Results) -> u64 {
    results.bits[results.bits.len() - 1]
}

/// By what share retouching reduces stopping short, seed by seed.
pub(super) fn reduced(results: &Results, k: u32, bits: u64) -> Spread {
    let before = bloom(results, k, bits);
    let after = at(results, k, bits, BETA);
    let pairs = before.samples.iter().zip(&after.samples);
    Spread::of(pairs.map(|(before, after)| 1.0 - after.rates.short / before.rates.short).collect())
}

/// False positives of the pivotal filter that are on every trace of some monitor.
pub(super) fn on_all_traces(results: &Results, k: u32) -> Spread {
    let number = results.k.iter().position(|&one| one == k).expect("one of those measured");
    let all = results.size.destinations as u32;
    let of_seeds = results.troublesomeness[number].iter();
    Spread::of(of_seeds.map(|times| times.iter().filter(|&&times| times >= all).count() as f64).collect())
}
