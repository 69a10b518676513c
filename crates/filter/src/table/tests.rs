//! The table under every interleaving (loom), under real threads, and with lines that are full.

use std::sync::atomic::{AtomicBool, Ordering::Release};
use std::thread;

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64 as LoomWord;

use super::*;
use crate::hash::SipKey;
use crate::random::SplitMix;

fn table(capacity: u64) -> Table {
    Table::sized(capacity, SipKey::public().fingerprint(), HugePages::Default).expect("memory")
}

fn moves(table: &Table) -> u64 {
    table.moves.iter().map(|moves| moves.load(Relaxed)).sum()
}

/// Sixteen keys of one pair of lines have nowhere else to go; the next one is refused and nothing has changed.
#[test]
fn a_key_whose_lines_hold_only_keys_of_the_same_lines_is_refused() {
    let table = table(1);
    let pair = table.place(SplitMix(11).hash()).pair;
    let mut rng = SplitMix(11);
    let in_pair = |hash: &Hash128| {
        pair.contains(&table.place(*hash).pair[0]) && pair.contains(&table.place(*hash).pair[1])
    };
    let hashes: Vec<_> = std::iter::repeat_with(|| rng.hash()).filter(in_pair).take(17).collect();
    for (value, &hash) in (1..).zip(&hashes[..16]) {
        assert_eq!(table.update(hash, |_| value), Ok(value));
    }
    let words: Vec<u64> = table.words().collect();
    let refused = table.update(hashes[16], |_| 17).expect_err("sixteen slots");
    assert_eq!(refused, Full { len: 16, capacity: 1 });
    assert_eq!(refused.to_string(), "the table is full: it holds 16 keys, and was sized for 1");
    assert!(table.words().eq(words));
    // Those that are there can be updated, and one that leaves makes room.
    assert_eq!(table.update(hashes[3], |value| value + 100), Ok(104));
    assert_eq!(table.update(hashes[5], |_| 0), Ok(0));
    assert_eq!(table.update(hashes[16], |_| 17), Ok(17));
    assert_eq!((table.get(hashes[3]), table.get(hashes[5]), table.get(hashes[16])), (104, 0, 17));
}

#[test]
fn keys_that_are_moved_to_make_room_stay_found() {
    let table = table(400);
    let mut rng = SplitMix(3);
    let mut hashes = Vec::new();
    loop {
        let hash = rng.hash();
        if table.update(hash, |_| 1 + hashes.len() as u64).is_err() {
            break;
        }
        hashes.push(hash);
    }
    assert!(moves(&table) > 0 && table.load() > 0.95, "{} moves, load {}", moves(&table), table.load());
    assert!((1..).zip(&hashes).all(|(value, &hash)| table.get(hash) == value));
    hashes.iter().for_each(|&hash| assert_eq!(table.update(hash, |_| 0), Ok(0)));
    assert!(table.words().all(|word| word == EMPTY));
}

#[test]
#[should_panic(expected = "a value has 40 bits")]
fn a_value_that_does_not_fit_is_a_broken_promise_of_the_caller() {
    let _ = table(1).update(SplitMix(1).hash(), |_| VALUE_MAX + 1);
}

#[test]
fn a_caller_that_panics_leaves_the_table_usable() {
    let table = table(1);
    let hash = SplitMix(1).hash();
    table.update(hash, |_| 5).expect("room");
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| table.update(hash, |_| panic!("no"))));
    assert!(panicked.is_err());
    assert_eq!((table.update(hash, |value| value + 1), table.get(hash)), (Ok(6), 6));
}

/// A key is moved, then given another value, while a reader looks for it.
fn a_reader_beside_a_move(count_moves: bool) {
    loom::model(move || {
        let place = KeyPlace::new(SplitMix(1).hash(), 2);
        let zeros = |count: usize| (0..count).map(|_| LoomWord::new(0)).collect::<Vec<_>>();
        let shared = Arc::new((zeros(2 * LINE_SLOTS), zeros(1)));
        fn slots((words, moves): &(Vec<LoomWord>, Vec<LoomWord>)) -> Slots<'_, LoomWord> {
            Slots { words, moves }
        }
        let [new, old] = place.pair.map(|line| line as usize * LINE_SLOTS);
        // The reader comes to the first line of the pair first, so the key moves there from the second.
        slots(&shared).put(&mut Writer::default(), old, place.print | 7);
        let reader = loom::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let one = slots(&shared).get(&place);
                let two = slots(&shared).get(&place);
                assert!(one > Some(0) && two > Some(0), "a key was missed: {one:?}, then {two:?}");
                assert!(one >= Some(7) && two >= one && two <= Some(8), "{one:?}, then {two:?}");
            }
        });
        let slots = slots(&shared);
        let writer = &mut Writer::default();
        if count_moves {
            slots.move_key(writer, old, new);
        } else {
            slots.put(writer, new, place.print | 7);
            slots.put(writer, old, EMPTY);
        }
        slots.put(writer, new, place.print | 8);
        reader.join().expect("a reader");
        assert_eq!(slots.get(&place), Some(8));
    });
}

#[test]
fn no_interleaving_misses_a_key_that_is_moved() {
    a_reader_beside_a_move(true);
}

#[test]
#[should_panic(expected = "a key was missed")]
fn the_model_checker_catches_a_move_that_is_not_counted() {
    a_reader_beside_a_move(false);
}

/// One thread brings keys and takes them out in a table so full that others must move; the keys that stay are found by
/// every reader at any time, with values that were written and never go back; and the words are those of one moment.
#[test]
fn readers_beside_a_writer_miss_nothing_and_see_only_what_was_written() {
    const STAY: u64 = 300;
    let table = table(450);
    let mut rng = SplitMix(21);
    let stay: Vec<Hash128> = (0..STAY).map(|_| rng.hash()).collect();
    // A value says whose it is and how often it was changed.
    let first = |key: usize| (key as u64 + 1) << 20;
    stay.iter().enumerate().for_each(|(key, &hash)| {
        table.update(hash, |_| first(key)).expect("room");
    });
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen: Vec<u64> = (0..stay.len()).map(first).collect();
                let mut values = vec![0; stay.len()];
                while !done.load(Relaxed) {
                    table.get_many(&stay, &mut values);
                    for (key, (&value, seen)) in values.iter().zip(&mut seen).enumerate() {
                        assert_eq!(value >> 20, key as u64 + 1, "missed, or another key's");
                        assert!(value >= *seen, "a value went back");
                        *seen = value;
                    }
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Relaxed) {
                let words = table.words();
                let copy =
                    Table::from_words(450, table.fingerprint(), words, HugePages::Default).expect("ours");
                let rounds: Vec<u64> = stay.iter().map(|&hash| copy.get(hash) & 0xf_ffff).collect();
                assert!(rounds.is_sorted_by(|one, next| one >= next), "not of one moment");
                assert!(rounds[0] - rounds[rounds.len() - 1] <= 1, "not of one moment");
            }
        });
        for round in 0..300 {
            let guests: Vec<Hash128> = (0..190).map(|_| rng.hash()).collect();
            let came: Vec<_> = guests.iter().filter(|&&guest| table.update(guest, |_| 1).is_ok()).collect();
            for &hash in &stay {
                table.update(hash, |value| value + 1).expect("it is there");
            }
            came.into_iter()
                .for_each(|&guest| assert_eq!(table.update(guest, |_| 0), Ok(0), "round {round}"));
        }
        done.store(true, Release);
    });
    assert!(moves(&table) > 100, "{} moves", moves(&table));
    assert_eq!(table.len(), STAY);
}
