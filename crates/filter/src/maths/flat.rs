//! The textbook filter: k probes anywhere in m bits.

use super::all_set;
use super::sizing::{Wanted, smallest_with_k};

/// Expected rate of m bits, k probes, n keys: the textbook's `(1 - (1 - 1/m)^(kn))^k`, raised by the luck that the k
/// probes of a query share: see `maths::all_set`.
pub fn rate(m: u64, k: u32, n: u64) -> f64 {
    all_set(m as f64, f64::from(k) * n as f64, k)
}

/// The limit for large filters: `(1 - e^(-k/b))^k` at b bits per key.
pub fn rate_in_the_limit(bits_per_key: f64, k: u32) -> f64 {
    (-(-f64::from(k) / bits_per_key).exp_m1()).powi(k as i32)
}

/// The fewest bits, up to `limit`, and the k, that hold `n` keys at `wanted`.
pub(crate) fn size(n: u64, wanted: f64, limit: u64) -> Option<(u64, u32)> {
    let wanted = Wanted { keys: n, rate: wanted, unit_bits: 1, limit };
    smallest_with_k(wanted, |m, k| rate(m, k, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table I of the collaborative spam detection paper: bits per signature, k, and the rate as printed.
    #[test]
    fn table_one_of_the_collaborative_spam_detection_paper() {
        let table = [
            (16.0, 4, "2.394e-3"),
            (10.0, 8, "8.455e-3"),
            (16.0, 8, "5.745e-4"),
            (40.0, 8, "1.166e-6"),
            (40.0, 16, "1.948e-8"),
        ];
        for (bits_per_key, k, printed) in table {
            assert_eq!(format!("{:.3e}", rate_in_the_limit(bits_per_key, k)), printed);
        }
    }

    #[test]
    fn the_limit_is_the_limit() {
        let b = 10;
        let k = 7;
        let at = |n: u64| rate(b * n, k, n) / rate_in_the_limit(b as f64, k) - 1.0;
        assert!(at(100) > at(10_000) && at(10_000) > 0.0 && at(10_000) < 2e-4);
    }

    #[test]
    fn sizing_reaches_the_textbook_optimum() {
        for wanted in [0.1, 0.01, 1e-3, 1e-4, 1e-5] {
            let n = 1_000_000;
            let (m, k) = size(n, wanted, 1 << 43).expect("within reach");
            let optimum = -f64::ln(wanted) / std::f64::consts::LN_2.powi(2);
            let bits_per_key = m as f64 / n as f64;
            assert!(
                bits_per_key >= optimum - 1e-6 && bits_per_key < optimum * 1.012,
                "{wanted}: {bits_per_key}"
            );
            assert!(rate(m, k, n) <= wanted && rate(m - 1, k, n) > wanted);
        }
    }
}
