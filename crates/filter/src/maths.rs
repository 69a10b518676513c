//! The maths of the layouts: each formula stated, then tested against filters that really exist.
//!
//! Rates here are *expected* false-positive rates: over keys that were not inserted, and over the choice of the
//! hash key. What a particular filter's bits amount to is its *present* rate, which filters compute from
//! their own bits.

pub mod cardinality;
pub mod flat;
pub mod line;
mod mixture;
pub mod paged;
mod sizing;

pub(crate) use sizing::check_promise;

/// The most probes into one page or one flat filter: enough for [`RATE_MIN`] at the best size.
pub const MAX_K: u32 = 32;

/// The least rate that can be promised. Far below it, keys that agree in most of their bits by the arithmetic of
/// the positions (two 32-bit words in a page) would outnumber the chance hits that the formulas count, and no
/// measurement could tell.
pub const RATE_MIN: f64 = 1e-9;

/// The k that is best at `bits_per_key`: `ln 2 * m/n`, unrounded.
pub fn optimal_k(bits_per_key: f64) -> f64 {
    std::f64::consts::LN_2 * bits_per_key
}

/// Expected distinct pages touched by k independent probes into m bits in pages of P bits:
/// `(m/P) (1 - (1 - P/m)^k)`.
pub fn distinct_pages(m: f64, page_bits: f64, k: u32) -> f64 {
    let pages = m / page_bits;
    if pages <= 1.0 {
        return 1.0;
    }
    -pages * (f64::from(k) * (-1.0 / pages).ln_1p()).exp_m1()
}

/// The probability that a bit is set after `throws` uniform throws at `bits` bits: `1 - (1 - 1/bits)^throws`.
pub(crate) fn set_share(bits: f64, throws: f64) -> f64 {
    if bits <= 1.0 {
        return if throws > 0.0 { 1.0 } else { 0.0 };
    }
    -(throws * (-1.0 / bits).ln_1p()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_pages_of_the_page_fault_paper() {
        let page = 32_768.0;
        assert_eq!(format!("{:.1}", distinct_pages(10.0 * page, page, 7)), "5.2");
        assert_eq!(format!("{:.1}", distinct_pages(100.0 * page, page, 7)), "6.8");
        assert_eq!(distinct_pages(page, page, 7), 1.0);
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
