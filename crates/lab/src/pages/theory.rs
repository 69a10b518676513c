//! What rates should be, how far filters scatter around them, and when a number of hits is beyond chance.

use seenit_filter::{AnyLayout, Layout};
use statrs::distribution::{ContinuousCDF, DiscreteCDF, Normal, Poisson};

use super::K;

/// Below so many expected hits they are compared by the Poisson law itself, above by a normal one, which then is wrong
/// by less than a tenth of a standard deviation where it matters.
const FEW: f64 = 50.0;

/// A tail that no double can tell from nothing; its z is 37.
const TAIL_MIN: f64 = 1e-300;

/// How far the rates of independently keyed filters scatter around the expected one (standard deviation).
///
/// The share X of set bits scatters by `Var(X) = q (1 - q - lambda q) / m`, with `lambda = kn/m` throws a bit and
/// `q = e^-lambda`, and the rate by `k p^(k-1) sd(X)` for `p = 1 - q`. Unequal loads of pages add to it in second order
/// only, because where one page holds more, others hold less: `(g'' n/w)^2 / 2w` for `g = p^k` as a function of
/// the load.
pub(super) fn rate_sd(layout: &AnyLayout, keys: u64) -> f64 {
    let m = layout.bits() as f64;
    let k = f64::from(K);
    let throws = k * keys as f64 / m;
    let zero = (-throws).exp();
    let one = 1.0 - zero;
    let of_bits = k * one.powf(k - 1.0) * (zero * (one - throws * zero) / m).max(0.0).sqrt();
    let of_loads = match layout {
        AnyLayout::Paged(_) => {
            // The second derivative by the load, times the load: the load is `throws * P / k`, so its powers cancel.
            let bend = k * (k - 1.0) * one.powf(k - 2.0) * zero * zero - k * one.powf(k - 1.0) * zero;
            let pages = layout.pages() as f64;
            bend * throws * throws / (keys as f64 / pages) / (2.0 * pages).sqrt()
        }
        _ => 0.0,
    };
    of_bits.hypot(of_loads)
}

/// Strangers asked for in filters of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Filters.
    pub(super) filters: u32,
    /// Strangers asked for in each.
    pub(super) strangers: u64,
    /// How many of all of them hit.
    pub(super) hits: u64,
}

impl Asked {
    /// What a printed rate amounts to.
    pub(super) fn printed(rate: f64, filters: u32, strangers: u64) -> Self {
        let hits = (rate * f64::from(filters) * strangers as f64).round() as u64;
        Asked { filters, strangers, hits }
    }

    /// The share of strangers that hit.
    pub(super) fn rate(&self) -> f64 {
        self.hits as f64 / self.all()
    }

    fn all(&self) -> f64 {
        f64::from(self.filters) * self.strangers as f64
    }

    /// By how many standard deviations the hits are off, where strangers hit at `rate` and filters scatter by `sd`
    /// around it. For few expected hits, the z of a normal law that is as rarely exceeded.
    pub(super) fn z(&self, rate: f64, sd: f64) -> f64 {
        let expected = self.all() * rate;
        let hits = self.hits as f64;
        if expected > FEW {
            let of_filter = self.strangers as f64 * sd;
            let variance = expected * (1.0 - rate) + f64::from(self.filters) * of_filter * of_filter;
            return (hits - expected) / variance.max(f64::MIN_POSITIVE).sqrt();
        }
        let Ok(law) = Poisson::new(expected) else { return 0.0 };
        let as_rare = |tail: f64| -Normal::standard().inverse_cdf(tail.clamp(TAIL_MIN, 0.5));
        if hits > expected {
            // At least so many: all that is not fewer.
            as_rare(self.hits.checked_sub(1).map_or(1.0, |fewer| law.sf(fewer)))
        } else {
            -as_rare(law.cdf(self.hits))
        }
    }
}

#[cfg(test)]
mod tests {
    use seenit_filter::Filter;
    use seenit_filter::random::SplitMix;

    use super::super::{Variant, empty, pages_for, sip_key};
    use super::*;
    use crate::interval::Summary;

    /// Present rates of filters that hold `keys` random keys.
    fn present_rates(variant: Variant, bpe: u64, keys: u64, filters: u64) -> Vec<f64> {
        let layout = variant.layout(pages_for(keys, bpe)).expect("a layout");
        let one = |number| {
            let sip = sip_key(1, &[]);
            let mut rng = SplitMix(number);
            let mut filter: Filter<AnyLayout> = empty(layout, sip.fingerprint()).expect("memory");
            (0..keys).for_each(|_| filter.insert(rng.hash()));
            filter.present_rate()
        };
        (0..filters).map(one).collect()
    }

    #[test]
    fn filters_scatter_as_the_formula_says() {
        for variant in Variant::BOTH {
            for bpe in [3, 10, 30] {
                let keys = 20_000;
                let filters = 300;
                let layout = variant.layout(pages_for(keys, bpe)).expect("a layout");
                let found = Summary::of(&present_rates(variant, bpe, keys, filters)).sd;
                let ratio = found / rate_sd(&layout, keys);
                // The error of a standard deviation of 300 values is 4 %.
                assert!((0.82..1.18).contains(&ratio), "{variant:?} at {bpe}: {ratio}");
            }
        }
    }

    #[test]
    fn few_hits_are_judged_by_the_poisson_law() {
        let z = |hits, expected: f64| Asked { filters: 1, strangers: 1_000_000, hits }.z(expected / 1e6, 0.0);
        // P(X >= 4) at a mean of 0.1 is 3.85e-6, P(X = 0) at a mean of 5 is 0.0067.
        assert!((z(4, 0.1) - 4.47).abs() < 0.01, "{}", z(4, 0.1));
        assert!((z(0, 5.0) + 2.471).abs() < 0.01, "{}", z(0, 5.0));
        assert_eq!(z(5, 5.0), -z(5, 5.0).abs());
        assert!(z(5, 5.0).abs() < 0.5, "what is expected is not odd");
        // Both laws agree where one takes over from the other.
        assert!((z(70, 49.9) - z(70, 50.1)).abs() < 0.2, "{} {}", z(70, 49.9), z(70, 50.1));
    }
}
