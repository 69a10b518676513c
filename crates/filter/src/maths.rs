//! The maths of the layouts: each formula stated, then tested against filters that really exist.
//!
//! Rates here are *expected* false-positive rates: over keys that were not inserted, and over the choice of the
//! hash key. What a particular filter's bits amount to is its *present* rate, which filters compute from
//! their own bits.

pub mod bins;
pub mod cardinality;
pub mod counting;
pub mod entropy;
pub mod flat;
pub(crate) mod line;
mod mixture;
pub(crate) mod paged;
pub mod shingles;
pub(crate) mod sightings;
mod sizing;

pub(crate) use mixture::binomial_mean;
pub(crate) use sizing::check_promise;

/// The most probes into one page or one flat filter: enough for [`RATE_MIN`] at the best size.
pub const MAX_K: u32 = 32;

/// The least rate that can be promised. Far below it, keys that agree in most of their bits by the arithmetic of
/// the positions (two 32-bit words in a page) would outnumber the chance hits that the formulas count, and no
/// measurement could tell.
pub const RATE_MIN: f64 = 1e-9;

/// The k that is best at `bits_per_key`: `ln 2 * m/n`, unrounded.
pub(crate) fn optimal_k(bits_per_key: f64) -> f64 {
    std::f64::consts::LN_2 * bits_per_key
}

/// Expected distinct pages touched by k independent probes into m bits in pages of P bits:
/// `(m/P) (1 - (1 - P/m)^k)` where m is whole pages; the last page, if it is a part of one, is hit less often.
pub fn distinct_pages(m: u64, page_bits: u64, k: u32) -> f64 {
    let touched = |bits: u64| 1.0 - (1.0 - bits as f64 / m as f64).powf(f64::from(k));
    if m <= page_bits || k == 1 {
        return 1.0;
    }
    (m / page_bits) as f64 * touched(page_bits) + touched(m % page_bits)
}

/// The probability that a bit is set after `throws` uniform throws at `bits` bits: `1 - (1 - 1/bits)^throws`.
pub(crate) fn set_share(bits: f64, throws: f64) -> f64 {
    if bits <= 1.0 {
        return if throws > 0.0 { 1.0 } else { 0.0 };
    }
    -(throws * (-1.0 / bits).ln_1p()).exp_m1()
}

/// The probability that `k` uniform probes all hit set bits, after `throws` uniform throws at `bits` bits:
/// `E[X^k]` for X the share of set bits.
///
/// That is `p^k e^(k(k-1)/2 * Var(X)/p^2)` with `p = E[X]`, but for terms of higher order. The textbook's `p^k` takes
/// the probes as independent; they share the luck of the filter, so it is too low: by 0.06 % at 10,000 bits and
/// k = 7, by 0.4 % at k = 17, by 18 % at 240 bits and k = 17. This is too high there, by 0.4 %, and closer elsewhere.
pub(crate) fn all_set(bits: f64, throws: f64, k: u32) -> f64 {
    let p = set_share(bits, throws);
    if p <= 0.0 || bits <= 2.0 {
        return p.powi(k as i32);
    }
    let zero = 1.0 - p;
    let one = (-1.0 / bits).ln_1p();
    let two = (-2.0 / bits).ln_1p();
    let together = (bits - 1.0) * zero * zero * (throws * (two - 2.0 * one)).exp_m1();
    let variance = ((zero * p + together) / bits).max(0.0);
    let k = f64::from(k);
    (p.powf(k) * (k * (k - 1.0) / 2.0 * variance / (p * p)).exp()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exact, by following the distribution of the number of set bits throw by throw.
    fn all_set_exactly(bits: usize, throws: usize, k: u32) -> f64 {
        let mut odds = vec![0.0; bits + 1];
        odds[0] = 1.0;
        for _ in 0..throws {
            for ones in (0..=bits).rev() {
                let stay = odds[ones] * ones as f64 / bits as f64;
                let rise =
                    if ones > 0 { odds[ones - 1] * (bits - ones + 1) as f64 / bits as f64 } else { 0.0 };
                odds[ones] = stay + rise;
            }
        }
        odds.iter().enumerate().map(|(ones, odds)| odds * (ones as f64 / bits as f64).powi(k as i32)).sum()
    }

    #[test]
    fn probes_that_share_the_luck_of_the_filter() {
        for (bits, k, tolerance) in [(10_000, 7, 1e-6), (10_000, 17, 1e-5), (2000, 7, 1e-5), (240, 17, 0.005)]
        {
            let throws = bits * 7 / 10;
            let exact = all_set_exactly(bits, throws, k);
            let ratio = all_set(bits as f64, throws as f64, k) / exact;
            assert!((ratio - 1.0).abs() < tolerance && ratio >= 1.0, "{bits} {k}: {ratio}");
        }
        let textbook = |bits: usize, k: u32| {
            let throws = bits * 7 / 10;
            all_set_exactly(bits, throws, k) / set_share(bits as f64, throws as f64).powi(k as i32) - 1.0
        };
        assert_eq!(
            format!("{:.2} {:.1}", textbook(10_000, 7) * 100.0, textbook(10_000, 17) * 100.0),
            "0.06 0.4"
        );
    }

    #[test]
    fn distinct_pages_of_the_page_fault_paper() {
        let page = 32_768;
        assert_eq!(format!("{:.1}", distinct_pages(10 * page, page, 7)), "5.2");
        assert_eq!(format!("{:.1}", distinct_pages(100 * page, page, 7)), "6.8");
        assert_eq!((distinct_pages(page, page, 7), distinct_pages(9 * page, page, 1)), (1.0, 1.0));
        // Found in review: a page and a fifth of one, of which 1.75 are touched and not 1.2.
        assert_eq!(format!("{:.2}", distinct_pages(40_004, page, 7)), "1.75");
    }

    #[test]
    fn seven_is_the_best_k_at_ten_bits_and_only_there() {
        assert_eq!(optimal_k(10.0).round(), 7.0);
        assert_eq!(optimal_k(16.0).round(), 11.0);
    }

    #[test]
    fn set_shares_at_the_edges() {
        assert_eq!(set_share(1.0, 0.0), 0.0);
        assert_eq!(set_share(1.0, 1.0), 1.0);
        assert!((set_share(64.0, 1.0) - 1.0 / 64.0).abs() < 1e-15);
    }
}
