//! Rates of filters that are looked up together: the tags of a tagged filter, the live generations.
//!
//! Each tag is a plain filter of its own keys, with that filter's rate f. A stranger is taken for a key of *any* of
//! them with probability `1 - prod (1 - f_t)`. That takes tags as independent. They look at the same positions, so a
//! stranger whose probes coincide is unlucky in all of them together, and so is one that shares a key's positions
//! where that key has several tags: both make "any" a little rarer than stated, never more frequent.
//!
//! To keep the rate for "any" of T tags, each must keep `rate / T`, which no dependence can break. By the textbook's
//! `1.44 log2(1/rate)` bits a key that is `1.44 log2(T)` bits more: 5.8 for 16 tags, 7.2 for 32. It is a price for
//! the question, not for the tags: T filters apart would pay it too.

/// The chance that any of several filters with these rates fires: `1 - prod (1 - f)`.
pub fn any_rate(rates: impl IntoIterator<Item = f64>) -> f64 {
    -rates.into_iter().map(|rate| (-rate).ln_1p()).sum::<f64>().exp_m1()
}

/// The rate that each of `parts` filters must keep, so that any of them fires with at most `rate`.
pub fn share_of_rate(rate: f64, parts: u32) -> f64 {
    rate / f64::from(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{AnyLayout, Layout, LayoutName};

    #[test]
    fn any_of_one_is_that_one_and_shares_add_up() {
        assert!((any_rate([0.25]) - 0.25).abs() < 1e-15);
        assert!((any_rate([0.5, 0.5]) - 0.75).abs() < 1e-15);
        assert_eq!(any_rate([]), 0.0);
        for (rate, tags) in [(0.1, 16), (0.01, 32), (1e-6, 32)] {
            let any = any_rate(vec![share_of_rate(rate, tags); tags as usize]);
            assert!(any <= rate && any > rate * (1.0 - rate), "{any}");
        }
    }

    /// The price of "any" in bits a key, as a filter that was really sized pays it. Whole probes scatter it by a
    /// few hundredths around 1.44 log2(T).
    #[test]
    fn asking_for_any_tag_costs_1_44_log2_t_bits_a_key() {
        let keys = 1_000_000;
        let bits = |rate| {
            let layout = AnyLayout::sized(LayoutName::Flat, keys, rate).expect("sized");
            layout.bits() as f64 / keys as f64
        };
        for (tags, more) in [(16, "5.8"), (32, "7.2")] {
            let stated = f64::from(tags).log2() / std::f64::consts::LN_2;
            assert_eq!(format!("{stated:.1}"), more);
            for rate in [0.1, 0.01, 1e-3, 1e-4] {
                let paid = bits(share_of_rate(rate, tags)) - bits(rate);
                assert!((paid - stated).abs() < 0.06, "{tags} tags at {rate}: {paid}, not {stated}");
            }
        }
    }
}
