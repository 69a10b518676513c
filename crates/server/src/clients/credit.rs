//! Bytes that an address has sent and not got back. Whoever forges a sender makes us send to somebody else: no address
//! beyond this machine is sent more bytes in all than came from it, unless it has proved who it is.
//!
//! Clients need no more. Most answers are shorter than their questions; for one that is longer, a client that has sent
//! nothing before repeats its question once or twice, as clients do that hear nothing, and is answered then.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::network::plain;

/// Bytes that are saved up: some dozens of longer answers, and no more than a few packets for whoever is aimed at.
const SAVED_BYTES_MAX: u32 = 4096;

/// Places for addresses in one bucket.
const WAYS: usize = 8;

/// Buckets: some 8,000 addresses in 130 kB. One that is displaced has to repeat itself.
const BUCKETS: usize = 1 << 10;

/// What addresses have sent and not got back.
pub(super) struct Credit {
    hasher: RandomState,
    buckets: Box<[Mutex<[Saved; WAYS]>]>,
}

/// A hash of an address, and its bytes.
#[derive(Clone, Copy, Default)]
struct Saved {
    hash: u64,
    bytes: u32,
}

impl Credit {
    pub(super) fn new() -> Self {
        Credit { hasher: RandomState::new(), buckets: (0..BUCKETS).map(|_| Mutex::default()).collect() }
    }

    /// Whether an answer of so many bytes may be sent for a question of so many.
    pub(super) fn allows(&self, from: IpAddr, question: usize, answer: usize) -> bool {
        let from = plain(from);
        if from.is_loopback() {
            return true;
        }
        let hash = self.hasher.hash_one(from);
        let bucket = &self.buckets[hash as usize % self.buckets.len()];
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let known = bucket.iter().position(|saved| saved.hash == hash);
        let poorest = || (0..WAYS).min_by_key(|&place| bucket[place].bytes).unwrap_or(0);
        let place = known.unwrap_or_else(poorest);
        let before = known.map_or(0, |place| bucket[place].bytes);
        let bytes = before.saturating_add(question as u32).min(SAVED_BYTES_MAX);
        let left = bytes.checked_sub(answer as u32);
        bucket[place] = Saved { hash, bytes: left.unwrap_or(bytes) };
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_more_than_came_from_there() {
        let (credit, far): (_, IpAddr) = (Credit::new(), [192, 0, 2, 1].into());
        assert_eq!([0; 4].map(|_| credit.allows(far, 40, 108)), [false, false, true, false]);
        assert!(!credit.allows([192, 0, 2, 2].into(), 40, 108), "another address");
        assert!(credit.allows([127, 0, 0, 1].into(), 40, 1000), "this machine");
        let mut came = 0;
        let mut sent = 0;
        for number in 1..1000 {
            let question = number % 97;
            let answer = number % 131;
            came += question;
            sent += if credit.allows([192, 0, 3, 1].into(), question, answer) { answer } else { 0 };
            assert!(sent <= came, "{sent} bytes for {came}");
        }
    }

    #[test]
    fn what_is_saved_up_is_bounded() {
        let (credit, far): (_, IpAddr) = (Credit::new(), [192, 0, 2, 1].into());
        (0..1000).for_each(|_| assert!(credit.allows(far, 1000, 0)));
        assert!(!credit.allows(far, 0, SAVED_BYTES_MAX as usize + 1));
    }
}
