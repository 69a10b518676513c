//! The records: made anew from their number wherever one is needed, so that no memory is spent on remembering them.

use seenit_filter::random::SplitMix;

/// Any number: it makes the keys different from those of other tests that count from zero.
const SEED: u64 = 0x5eed_0f5e_e217_0006;
/// Added to the number of a record for the key of one that is never written.
const STRANGER: u64 = 1 << 48;

/// A signature of 16 bytes and the number of a reporter.
pub(crate) type Key = [u8; 20];
/// A number of the log and a time.
pub(crate) type Place = [u8; 12];
/// About what a report takes.
pub(crate) type Report = [u8; 80];

/// One record: a row of the log, and one of the index.
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) report: Report,
    pub(crate) key: Key,
    pub(crate) place: Place,
}

impl Record {
    pub(crate) fn new(number: u64) -> Self {
        let key = key(number);
        let mut report = [0; 80];
        report[..20].copy_from_slice(&key);
        let mut random = SplitMix(number ^ SEED);
        for word in report[20..].chunks_exact_mut(4) {
            word.copy_from_slice(&random.next().to_le_bytes()[..4]);
        }
        let mut place = [0; 12];
        place[..8].copy_from_slice(&number.to_be_bytes());
        Record { number, report, key, place }
    }
}

/// The key of a record.
pub(crate) fn key(number: u64) -> Key {
    let mut random = SplitMix(SEED.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(17));
    let mut key = [0; 20];
    key[..8].copy_from_slice(&random.next().to_le_bytes());
    key[8..16].copy_from_slice(&random.next().to_le_bytes());
    key[16..].copy_from_slice(&(number as u32).to_be_bytes());
    key
}

/// A key that no record has.
pub(crate) fn stranger(number: u64) -> Key {
    key(number + STRANGER)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_distinct_and_strangers_are_strange() {
        let keys: HashSet<Key> = (0..10_000).flat_map(|number| [key(number), stranger(number)]).collect();
        assert_eq!(keys.len(), 20_000);
    }

    #[test]
    fn a_record_is_the_same_each_time() {
        let one = Record::new(7);
        let two = Record::new(7);
        assert_eq!((one.report, one.key, one.place), (two.report, two.key, two.place));
        assert_ne!(Record::new(8).report[20..], one.report[20..]);
    }
}
