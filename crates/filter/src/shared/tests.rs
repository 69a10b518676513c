//! The shared twin under every interleaving (loom), and under real threads.

use std::thread;

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64 as LoomWord;

use super::*;
use crate::hash::SipKey;
use crate::layout::{Flat, Line, Paged};
use crate::random::SplitMix;

impl SharedWord for LoomWord {
    fn read(&self) -> u64 {
        self.load(Relaxed)
    }
    fn raise(&self, bits: u64) {
        self.fetch_or(bits, Relaxed);
    }
}

/// What the shared twin would be without `fetch_or`: the canary that shows the model checker looks.
struct NaiveWord(LoomWord);

impl SharedWord for NaiveWord {
    fn read(&self) -> u64 {
        self.0.load(Relaxed)
    }
    fn raise(&self, bits: u64) {
        self.0.store(self.0.load(Relaxed) | bits, Relaxed);
    }
}

/// Two threads insert one key each into the same word while a third looks one of them up; afterwards both
/// keys must be there, in every interleaving. A lookup that saw the key must go on seeing it.
fn two_writers_and_a_reader<W: SharedWord + Send + Sync + 'static>(word: fn(LoomWord) -> W) {
    loom::model(move || {
        // One word and two probes, so that every store meets every other one.
        let layout = Flat::new(64, 2).expect("a tiny filter");
        let mut rng = SplitMix(1);
        let [one, two] = [(); 2].map(|()| Hash128 { lo: rng.next(), hi: rng.next() });
        let words = Arc::new(vec![word(LoomWord::new(0))]);
        let write = |hash| {
            let words = Arc::clone(&words);
            loom::thread::spawn(move || insert(&layout, &words, hash))
        };
        let writers = [write(one), write(two)];
        if contains(&layout, &words, one) {
            assert!(contains(&layout, &words, one), "a key that was seen is gone");
        }
        for writer in writers {
            writer.join().expect("a writer");
        }
        assert!(contains(&layout, &words, one) && contains(&layout, &words, two), "an insert was lost");
    });
}

#[test]
fn no_interleaving_loses_an_insert() {
    two_writers_and_a_reader(|word| word);
}

#[test]
#[should_panic(expected = "an insert was lost")]
fn the_model_checker_catches_a_naive_insert() {
    two_writers_and_a_reader(NaiveWord);
}

/// Four threads insert while two look up, on every layout: nothing is lost, and the bits are those that one
/// thread would have set.
#[test]
fn threads_set_the_same_bits_as_one_thread() {
    const KEYS: usize = 40_000;
    let key = SipKey::public();
    let mut rng = SplitMix(5);
    let keys: Vec<[u8; 8]> = (0..KEYS).map(|_| rng.next().to_le_bytes()).collect();
    let layouts = [
        Flat::sized(KEYS as u64, 0.01).expect("sized").any(),
        Paged::sized(KEYS as u64, 0.01).expect("sized").any(),
        Line::sized(KEYS as u64, 0.01).expect("sized").any(),
    ];
    for layout in layouts {
        let make = || Filter::new(layout, None, key.fingerprint(), HugePages::Default).expect("memory");
        let shared = make().share();
        thread::scope(|scope| {
            for part in keys.chunks(KEYS / 4) {
                scope.spawn(|| {
                    shared.insert_many(&key, part);
                    let mut found = vec![false; part.len()];
                    shared.contains_many(&key, part, &mut found);
                    assert!(found.iter().all(|&found| found), "own inserts are seen at once");
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    let seen: Vec<bool> = keys.iter().map(|k| shared.contains(key.hash(k))).collect();
                    let still =
                        keys.iter().zip(&seen).all(|(k, &seen)| !seen || shared.contains(key.hash(k)));
                    assert!(still, "what was seen stays seen");
                });
            }
        });
        let mut alone = make();
        alone.insert_many(&key, &keys);
        assert!(shared.snapshot().expect("memory").words() == alone.words(), "{layout:?}");
    }
}
