//! The smallest filter that keeps a promise.

use super::{MAX_K, RATE_MIN, optimal_k};
use crate::error::GeometryError;
use crate::layout::{MAX_BITS, within};

/// No filter holds more keys than bits and is worth asking.
const MAX_CAPACITY: u64 = MAX_BITS;

/// A promise has at least one key and a rate below 1 that is not too small to be kept.
pub(crate) fn check_promise(capacity: u64, rate: f64) -> Result<(), GeometryError> {
    within("capacity", capacity, MAX_CAPACITY)?;
    if !(rate > 0.0 && rate < 1.0) {
        return Err(GeometryError::Rate(rate));
    }
    if rate < RATE_MIN {
        return Err(GeometryError::TooExact { rate, least: RATE_MIN });
    }
    Ok(())
}

/// What every layout can be asked for: `keys` at `wanted`, in at most `limit` units of `unit_bits` bits.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) keys: u64,
    pub(super) rate: f64,
    pub(super) unit_bits: u64,
    pub(super) limit: u64,
}

impl Wanted {
    /// A size that is surely too small, or zero: half of the `n log2(1/rate)` bits that any filter needs.
    ///
    /// The search starts here, because rates of absurdly overfull filters are slow to compute.
    fn too_small(&self) -> u64 {
        (self.keys as f64 * -self.rate.log2() / (2.0 * self.unit_bits as f64)) as u64
    }
}

/// The smallest size that `keeps` the promise, given that every larger one does too.
pub(super) fn smallest(wanted: Wanted, keeps: impl Fn(u64) -> bool) -> Option<u64> {
    let mut short = wanted.too_small();
    let mut enough = short.saturating_mul(2).max(1);
    while enough < wanted.limit && !keeps(enough) {
        short = enough;
        enough *= 2;
    }
    if enough >= wanted.limit {
        enough = wanted.limit;
        if short >= enough || !keeps(enough) {
            return None;
        }
    }
    while enough - short > 1 {
        let middle = short + (enough - short) / 2;
        if keeps(middle) { enough = middle } else { short = middle }
    }
    Some(enough)
}

/// The smallest size with its k, for layouts that are free to choose k: the fewest units of memory, and then
/// the fewest probes that keep the promise in them. `rate(size, k)` is the layout's rate.
pub(super) fn smallest_with_k(wanted: Wanted, rate: impl Fn(u64, u32) -> f64) -> Option<(u64, u32)> {
    let keeps = |size: u64| {
        let best = optimal_k(size as f64 * wanted.unit_bits as f64 / wanted.keys as f64);
        // The mixture of loads moves the best k down by a little: one is enough, two are looked at.
        let low = (best.floor() - 2.0).clamp(1.0, f64::from(MAX_K)) as u32;
        let high = (best.ceil() + 1.0).clamp(1.0, f64::from(MAX_K)) as u32;
        (low..=high).any(|k| rate(size, k) <= wanted.rate)
    };
    let size = smallest(wanted, keeps)?;
    let k = (1..=MAX_K).find(|&k| rate(size, k) <= wanted.rate)?;
    Some((size, k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_is_a_search_like_any_other() {
        let search = |limit, keeps: &dyn Fn(u64) -> bool| {
            smallest(Wanted { keys: 1, rate: 0.5, unit_bits: 1, limit }, keeps)
        };
        for target in 1..200 {
            assert_eq!(search(1000, &|size| size >= target), Some(target));
        }
        assert_eq!(search(1000, &|size| size >= 1000), Some(1000));
        assert_eq!(search(1000, &|_| false), None);
    }

    #[test]
    fn the_search_starts_below_the_answer_and_stops_at_the_limit() {
        let wanted = Wanted { keys: 1000, rate: 0.01, unit_bits: 64, limit: 1 << 20 };
        assert_eq!(wanted.too_small(), 51);
        assert_eq!(smallest(wanted, |size| size >= 52), Some(52));
        assert_eq!(smallest(Wanted { keys: u64::MAX, ..wanted }, |_| true), None);
    }

    #[test]
    fn promises_outside_the_possible_are_refused() {
        assert!(check_promise(1, 0.5).is_ok() && check_promise(1, RATE_MIN).is_ok());
        assert!(check_promise(0, 0.5).is_err());
        for rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, 0.9 * RATE_MIN] {
            assert!(check_promise(1, rate).is_err(), "{rate}");
        }
    }
}
