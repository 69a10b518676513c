//! What takes part in a race, and how it is timed.
//!
//! The rules, the same for all:
//!
//! - Hashing is inside the clock: a filter that takes hashes is given a fast hasher, and pays for it.
//! - `insert` runs from nothing to the full filter. It includes making the filter, because some contenders
//!   write their zeros at once and others take zeroed pages from the kernel and pay when they first touch
//!   them: only so are everybody's page faults inside.
//! - One filter at a time: built, asked for hits, asked for misses, dropped.
//! - Answers are counted and the count is used, so that no lookup can be left out. A filter that misses a key
//!   it was given is out of the race.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::keys::{Keys, Set};

/// One row of the race.
pub(crate) trait Contender {
    fn name(&self) -> &str;

    /// Whether it hashes digests and not integers.
    fn is_keyed(&self) -> bool {
        false
    }

    /// One round: everything once, from an empty filter on.
    fn round(&self, keys: &Keys) -> Result<Lap, Box<dyn Error>>;
}

/// What one round of one contender gave.
pub(crate) struct Lap {
    /// Nanoseconds for each lookup of a key that is not there.
    pub(crate) miss_ns: f64,
    /// The rest, of contenders that are filters.
    pub(crate) filter: Option<FilterLap>,
}

/// What only a filter has.
pub(crate) struct FilterLap {
    pub(crate) shape: Shape,
    /// Nanoseconds a key, from nothing to the full filter.
    pub(crate) insert_ns: f64,
    /// Nanoseconds for each lookup of a key that is there.
    pub(crate) hit_ns: f64,
    /// The share of absent keys that were taken for present.
    pub(crate) false_positives: f64,
}

/// What a filter is made of.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Bits a key sets, where that means anything.
    pub(crate) k: Option<u32>,
    /// Bits of memory it really has.
    pub(crate) bits: u64,
}

/// Times one filter: `build` makes and fills it, `count` looks up all of some keys and says how many it has.
pub(crate) fn time<K, F>(
    set: &Set<K>,
    build: impl FnOnce(&[K]) -> Result<F, Box<dyn Error>>,
    count: impl Fn(&F, &[K]) -> u64,
    shape: impl FnOnce(&F) -> Shape,
) -> Result<Lap, Box<dyn Error>> {
    let (filter, insert) = clock(|| build(&set.present));
    let filter = filter?;
    let (found, hit) = clock(|| count(&filter, &set.hits));
    if found != set.hits.len() as u64 {
        return Err(format!("found only {found} of {} keys it was given", set.hits.len()).into());
    }
    let (found, miss) = clock(|| count(&filter, &set.absent));
    Ok(Lap {
        miss_ns: nanos_each(miss, set.absent.len()),
        filter: Some(FilterLap {
            shape: shape(&filter),
            insert_ns: nanos_each(insert, set.present.len()),
            hit_ns: nanos_each(hit, set.hits.len()),
            false_positives: found as f64 / set.absent.len() as f64,
        }),
    })
}

/// The result of `work` and how long it took; the result is used, so `work` cannot be left out.
pub(crate) fn clock<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = black_box(work());
    (result, start.elapsed())
}

pub(crate) fn nanos_each(time: Duration, keys: usize) -> f64 {
    time.as_secs_f64() * 1e9 / keys as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_loses_a_key_is_out() {
        let keys = Keys::new(100, 100, false);
        let shape = |_: &u64| Shape { k: None, bits: 64 };
        let loser = time(&keys.integers, |_| Ok(0), |_, keys| keys.len() as u64 - 1, shape);
        let error = loser.err().expect("it finds one key too few").to_string();
        assert!(error.contains("99 of 100"), "{error}");
        let yes_man = time(&keys.integers, |_| Ok(0), |_, keys| keys.len() as u64, shape);
        let lap = yes_man.expect("it finds everything");
        assert_eq!(lap.filter.expect("it is a filter").false_positives, 1.0);
    }
}
