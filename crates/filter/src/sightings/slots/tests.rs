//! Slots under every interleaving (loom): lines of one word, so that the model checker comes to an end.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64 as LoomWord;

use super::super::place::COUNT_BITS;
use super::*;

/// A key with this part in the lines 0 and 1.
fn key(part: u32) -> SeenPlace {
    SeenPlace { part: part << COUNT_BITS, pair: [0, 1] }
}

/// Threads that each add to their keys; what all keys read in the end, and what found no room, is handed to `check`.
fn race(threads: &'static [&'static [(u32, u64)]], check: fn(&dyn Fn(u32) -> Seen, u64)) {
    loom::model(move || {
        let words: Arc<Vec<LoomWord>> = Arc::new((0..2).map(|_| LoomWord::zero()).collect());
        let add = |words: &Vec<LoomWord>, keys: &[(u32, u64)]| {
            let slots = Slots::<_, 1>(words);
            let rests = keys.iter().map(|&(part, increment)| {
                let put = slots.add(&key(part), increment);
                assert!(put.sum + put.rest >= increment);
                // Whoever comes after an addition reads at least what it left.
                assert!(slots.get(&key(part)).sum >= put.sum);
                put.rest
            });
            rests.sum::<u64>()
        };
        let (first, others) = threads.split_first().expect("some threads");
        let others: Vec<_> = others
            .iter()
            .map(|keys| {
                let words = words.clone();
                loom::thread::spawn(move || add(&words, keys))
            })
            .collect();
        let mut rest = add(&words, first);
        others.into_iter().for_each(|other| rest += other.join().expect("no thread panics"));
        check(&|part| Slots::<_, 1>(&words).get(&key(part)), rest);
    });
}

/// Two slots may be taken for one new key: both are summed.
#[test]
fn two_threads_that_bring_the_same_new_key_lose_nothing() {
    race(&[&[(7, 2)], &[(7, 3)]], |get, rest| {
        assert_eq!((get(7).sum, rest), (5, 0));
    });
}

/// Two slots of one word: a writer of one keeps what the other writes.
#[test]
fn two_keys_of_one_word_keep_their_counts() {
    race(&[&[(7, 2), (7, 1)], &[(8, 3)]], |get, rest| {
        assert_eq!((get(7).sum, get(8).sum, rest), (3, 3, 0));
    });
}

/// Four slots for five keys: whoever finds no room says so, and readers are told to look elsewhere.
#[test]
fn keys_that_find_no_room_are_told_apart_from_none() {
    race(&[&[(1, 1), (2, 1), (3, 1)], &[(4, 1), (5, 1)]], |get, rest| {
        let held: u64 = (1..=5).map(|part| get(part).sum).sum();
        assert_eq!((held, rest), (4, 1));
        (1..=5).for_each(|part| assert!(get(part).more));
    });
}

/// A slot that gets full: what it cannot hold is handed on, by one thread or both.
#[test]
fn counts_beyond_a_full_slot_are_handed_on() {
    race(&[&[(7, 1), (7, 400)], &[(7, 300)]], |get, rest| {
        let seen = get(7);
        assert_eq!(seen.sum + rest, 701);
        // Either one slot is full, or each thread has one of its own.
        assert!(rest == 0 || seen.more);
    });
}
