//! Split storage is an array of numbers; and no interleaving shows a reader a wrapped base with its old high part.

use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64 as LoomWord;

use super::*;
use crate::random::SplitMix;

#[test]
fn split_cells_are_an_array_of_numbers() {
    for low_bits in [1, 2, 3, 7, LOW_BITS_MAX] {
        for chunks in [1, 3, 1000] {
            let split = Split::new(low_bits, chunks).expect("a shape");
            let len = split.base().per_page() * 4 + 5;
            let zeroed = || SplitCells::zeroed(split, len, HugePages::Default).expect("five pages");
            let mut cells = zeroed();
            let mut before = zeroed();
            let mut oracle = vec![0; len as usize];
            let mut rng = SplitMix(u64::from(low_bits));
            let mut random = |cells: &mut SplitCells, oracle: &mut Vec<u64>| {
                let cell = rng.next() % len;
                let size = rng.next() % u64::from(HIGH_BITS + low_bits + 1);
                let value = (rng.next() & ((1 << size) - 1)).max(rng.next() % 3);
                cells.set(cell, value);
                oracle[cell as usize] = value;
            };
            for _ in 0..1000 {
                random(&mut before, &mut oracle);
            }
            let old = oracle.clone();
            before.for_each_nonzero(|cell, value| cells.set(cell, value));
            for _ in 0..1000 {
                random(&mut cells, &mut oracle);
            }
            assert!((0..len).all(|cell| cells.get(cell) == oracle[cell as usize]), "{split:?}");
            let mut changes = Vec::new();
            cells.for_each_change(&before, |cell, old, new| changes.push((cell, old, new)));
            let expected: Vec<_> = (0..len)
                .map(|cell| (cell, old[cell as usize], oracle[cell as usize]))
                .filter(|&(_, old, new)| old != new)
                .collect();
            assert_eq!(changes, expected, "{split:?}");
            for page in 0..7 {
                let mut nonzero = Vec::new();
                cells.for_each_nonzero_on(page, |cell, value| nonzero.push((cell, value)));
                let of_page = (page * cells.per_page()..len).take(cells.per_page() as usize);
                let of_page = of_page.map(|cell| (cell, oracle[cell as usize]));
                assert!(of_page.filter(|(_, value)| *value > 0).eq(nonzero), "page {page} of {split:?}");
            }
        }
    }
}

#[test]
fn a_gain_of_a_whole_high_part_is_a_change() {
    let split = Split::new(3, 1).expect("a shape");
    let zeroed = || SplitCells::zeroed(split, 10, HugePages::Default).expect("one page");
    let mut old = zeroed();
    let mut new = zeroed();
    old.set(4, 9);
    new.set(4, 9 + 8);
    let mut changes = Vec::new();
    new.for_each_change(&old, |cell, old, new| changes.push((cell, old, new)));
    assert_eq!(changes, [(4, 9, 17)]);
}

#[test]
fn counts_are_exact_beyond_what_the_wire_can_say() {
    for low_bits in 1..=LOW_BITS_MAX {
        let split = Split::new(low_bits, 1).expect("a shape");
        assert!(split.cap() >= u64::from(u32::MAX));
        let mut cells = SplitCells::zeroed(split, 1, HugePages::Default).expect("one page");
        for value in [0, 1, 1 << low_bits, u64::from(u32::MAX) - 1, u64::from(u32::MAX), split.cap(), 3] {
            cells.set(0, value);
            assert_eq!(cells.get(0), value);
        }
    }
    assert!(Split::new(0, 1).is_err() && Split::new(16, 1).is_err() && Split::new(3, 0).is_err());
}

/// One word of base cells, and its chunk.
type Storage = (LoomWord, Chunk<LoomWord>);

fn place(storage: &Storage) -> CellPlace<'_, LoomWord> {
    let split = Split::new(2, 1).expect("a shape");
    CellPlace { split, word: &storage.0, shift: 3, chunk: &storage.1, offset: 0 }
}

/// A reader beside the writer of one cell that counts from 3 to 4 (the first high part), or from 7 to 8 (the second):
/// it must see nothing below the first, nor above `most`.
fn a_reader_beside_a_wrap(first: u64, most: u64, write: fn(CellPlace<'_, LoomWord>, u64)) {
    loom::model(move || {
        let storage = Arc::new((LoomWord::new(0), Chunk::new()));
        place(&storage).write(first);
        let reader = {
            let storage = Arc::clone(&storage);
            loom::thread::spawn(move || {
                let [one, two] = [(); 2].map(|()| place(&storage).read());
                assert!(one >= first && two >= first, "a count fell below the truth: {one}, then {two}");
                assert!(one <= most && two <= most, "nobody counted that far: {one}, then {two}");
            })
        };
        write(place(&storage), first + 1);
        reader.join().expect("a reader");
        assert_eq!(place(&storage).read(), first + 1);
    });
}

#[test]
fn no_interleaving_shows_a_wrapped_base_before_its_high_part() {
    for first in [3, 7] {
        a_reader_beside_a_wrap(first, first + 1, |place, value| place.write(value));
    }
}

/// A reader beside the writer of one cell that loses a high part, and beside one that loses its flag.
#[test]
fn no_interleaving_shows_a_falling_count_below_what_is_left() {
    for first in [8, 4] {
        loom::model(move || {
            let storage = Arc::new((LoomWord::new(0), Chunk::new()));
            place(&storage).write(first);
            let reader = {
                let storage = Arc::clone(&storage);
                loom::thread::spawn(move || {
                    let [one, two] = [(); 2].map(|()| place(&storage).read());
                    assert!(one == first || one == first - 1, "{one}");
                    assert!(two == one || two == first - 1, "{one}, then {two}");
                })
            };
            place(&storage).write(first - 1);
            reader.join().expect("a reader");
            assert_eq!(place(&storage).read(), first - 1);
        });
    }
}

/// The canary: base first, high part second.
#[test]
#[should_panic(expected = "fell below the truth")]
fn the_model_checker_catches_a_base_that_wraps_first() {
    a_reader_beside_a_wrap(7, u64::MAX, |place, value| {
        place.store_base(value);
        place.chunk.highs.find(place.offset).expect("7 has one").set_high(place.split.high_of(value));
    });
}

/// The canary of the version: without it a reader may see the new high part beside the old base.
#[test]
#[should_panic(expected = "nobody counted that far")]
fn the_model_checker_catches_a_high_part_without_its_version() {
    a_reader_beside_a_wrap(7, 8, |place, value| {
        place.chunk.highs.find(place.offset).expect("7 has one").set_high(place.split.high_of(value));
        place.store_base(value);
    });
}

/// Real threads: one writer a chunk counts its cells up beside a reader. The reader may be too high by what a base
/// holds, if the system stops the writer between the two stores of a wrap for longer than the reader is patient (this
/// happened on a busy machine); it is never below what was counted before it looked.
#[test]
fn real_threads_never_read_below_the_truth() {
    const TOP: u64 = 5000;
    let split = Split::new(3, 2).expect("a shape");
    let base_most = split.flag() - 1;
    let per_page = split.base().per_page();
    let cells = SplitCells::zeroed(split, per_page * 2, HugePages::Default).expect("two pages");
    let watched = |chunk: u64| (0..7).map(move |i| chunk * per_page + i * 11);
    let counted: [AtomicU64; 2] = Default::default();
    thread::scope(|scope| {
        for (chunk, counted) in (0..).zip(&counted) {
            let cells = &cells;
            scope.spawn(move || {
                for n in 1..=TOP {
                    watched(chunk).for_each(|cell| cells.store(cells.address(cell), n));
                    counted.store(n, Release);
                }
            });
            scope.spawn(move || {
                let mut before = 0;
                while before < TOP {
                    before = counted.load(Acquire);
                    for cell in watched(chunk) {
                        let now = cells.get(cell);
                        let after = counted.load(Acquire);
                        assert!(now >= before, "{now} read, {before} counted before");
                        // The writer is at most one round ahead of what it said.
                        assert!(now <= after + 1 + base_most, "{now} read, {after} counted after");
                    }
                }
            });
        }
    });
    assert!((0..2).flat_map(watched).all(|cell| cells.get(cell) == TOP));
}
