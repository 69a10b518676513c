//! Experiment 2: how often strangers hit, from 2 to 30 bits a key, always with k = 7.
//!
//! Strangers are as long as members, 16 printable characters. (The paper asks for keys of 15 characters against members
//! of 16, which hides what its hash functions do to keys of one length.)

mod report;

use rayon::prelude::*;
use seenit_filter::Layout;
use seenit_filter::random::SplitMix;

use super::printed::{self, Printed, RATE_KEYS};
use super::theory::{Asked, rate_sd};
use super::{Row, STREAM, Variant, empty, pages_for, sip_key};
use crate::account::Outcome;
use crate::bench::{Bench, LabError};
use crate::draw;
use crate::interval::Summary;

/// Filters of each kind. The paper has three; the excess of the paged layout is smaller than what three can show.
const FILTERS: u32 = 30;

const QUICK_BPE: [u64; 5] = [2, 7, 10, 16, 20];

/// The first printable character, and how many there are without the blank.
const PRINTABLE: (u8, u64) = (b'!', 94);

type Key = [u8; 16];

/// What strangers met in the filters of one kind.
struct Measured {
    bpe: u64,
    variant: Variant,
    pages: u64,
    asked: Asked,
    /// The rates of single filters: those measured, and those that their bits amount to.
    rates: Summary,
    present: Summary,
    theory: f64,
    sd: f64,
}

impl Measured {
    fn z(&self) -> f64 {
        self.asked.z(self.theory, self.sd)
    }

    /// How far the bits of our filters are from theory. Sharper than hits: it leaves out the luck of strangers.
    fn z_of_bits(&self) -> f64 {
        (self.present.mean - self.theory) / (self.sd / f64::from(self.asked.filters).sqrt())
    }
}

pub(super) fn run(bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let bpes: Vec<u64> = if bench.quick { QUICK_BPE.to_vec() } else { (2..=30).collect() };
    let filters = bench.rounds_or(FILTERS, 1);
    bench.progress.begin("asking strangers", u64::from(filters) * bpes.len() as u64);
    let rounds = (0..filters)
        .into_par_iter()
        .map(|round| ask_round(round.into(), &bpes, bench))
        .collect::<Result<Vec<_>, LabError>>()?;
    let mut measured = Vec::new();
    for (place, &bpe) in bpes.iter().enumerate() {
        for (layout, variant) in Variant::BOTH.into_iter().enumerate() {
            let found: Vec<(u64, f64)> = rounds.iter().map(|round| round[place][layout]).collect();
            measured.push(summed(bpe, variant, &found)?);
        }
    }
    let printed = printed::rates();
    let rows = measured.iter().map(|one| row(one, &printed)).collect();
    Ok(Outcome { rows, account: report::account(&measured, &printed) })
}

/// Hits and the present rate, for each number of bits and both layouts.
type Round = Vec<[(u64, f64); 2]>;

fn ask_round(round: u64, bpes: &[u64], bench: &Bench<'_>) -> Result<Round, LabError> {
    let mut rng = draw::stream(bench.seed, &[STREAM, 2, round]);
    let [members, strangers]: [Vec<Key>; 2] = [0; 2].map(|_| (0..RATE_KEYS).map(|_| key(&mut rng)).collect());
    let ask = |bpe: u64, variant: Variant| {
        let sip = sip_key(bench.seed, &[STREAM, 2, round, bpe]);
        let mut filter = empty(variant.layout(pages_for(RATE_KEYS, bpe))?, sip.fingerprint())?;
        filter.insert_many(&sip, &members);
        let mut found = vec![false; strangers.len()];
        filter.contains_many(&sip, &strangers, &mut found);
        Ok::<_, LabError>((found.iter().filter(|&&hit| hit).count() as u64, filter.present_rate()))
    };
    let both = |&bpe: &u64| {
        let both = [ask(bpe, Variant::Standard)?, ask(bpe, Variant::Paged)?];
        bench.progress.advance(1);
        Ok(both)
    };
    bpes.iter().map(both).collect()
}

/// A key of printable characters; eight of them come from one draw.
fn key(rng: &mut SplitMix) -> Key {
    let mut key = [0; 16];
    for half in key.chunks_exact_mut(8) {
        let mut number = rng.next();
        for byte in half {
            *byte = PRINTABLE.0 + (number % PRINTABLE.1) as u8;
            number /= PRINTABLE.1;
        }
    }
    key
}

fn summed(bpe: u64, variant: Variant, found: &[(u64, f64)]) -> Result<Measured, LabError> {
    let pages = pages_for(RATE_KEYS, bpe);
    let layout = variant.layout(pages)?;
    let rates: Vec<f64> = found.iter().map(|(hits, _)| *hits as f64 / RATE_KEYS as f64).collect();
    let present: Vec<f64> = found.iter().map(|(_, rate)| *rate).collect();
    let hits = found.iter().map(|(hits, _)| hits).sum();
    Ok(Measured {
        bpe,
        variant,
        pages,
        asked: Asked { filters: found.len() as u32, strangers: RATE_KEYS, hits },
        rates: Summary::of(&rates),
        present: Summary::of(&present),
        theory: layout.expected_rate(RATE_KEYS),
        sd: rate_sd(&layout, RATE_KEYS),
    })
}

fn row(one: &Measured, printed: &[Printed]) -> Row {
    Row {
        bpe: Some(one.bpe),
        keys: Some(RATE_KEYS),
        fpr: Some(one.asked.rate()),
        operations: RATE_KEYS * u64::from(one.asked.filters),
        repetitions: one.asked.filters,
        sd: (one.asked.filters > 1).then_some(one.rates.sd),
        theory: Some(one.theory),
        paper: printed::find(printed, one.bpe).map(|line| line.mean(one.variant as usize)),
        ..one.variant.row("rates", "stranger", one.pages)
    }
}
