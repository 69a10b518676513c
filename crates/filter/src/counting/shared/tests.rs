//! The shared counting filter under every interleaving (loom), and under real threads.

use std::thread;

use loom::sync::Arc;
use loom::sync::atomic::AtomicU64 as LoomWord;

use super::*;
use crate::cells::{Split, read_shared, write_shared};
use crate::counting::{Intuitive, Refined};
use crate::hash::SipKey;
use crate::layout::{Flat, Paged};
use crate::random::SplitMix;

/// Shared cells in the model checker's words, two to a "page".
struct LoomCells {
    packing: Packing,
    words: Vec<LoomWord>,
}

impl Cells for LoomCells {
    fn cap(&self) -> u64 {
        self.packing.cap()
    }
    fn len(&self) -> u64 {
        self.packing.per_word() * self.words.len() as u64
    }
    fn per_page(&self) -> u64 {
        self.packing.per_word()
    }
    fn get(&self, cell: u64) -> u64 {
        self.get_at(self.packing.address(cell))
    }
    fn packing(&self) -> Option<Packing> {
        Some(self.packing)
    }
    fn get_at(&self, address: u64) -> u64 {
        read_shared(&self.words, self.packing, address)
    }
    fn prefetch(&self, _address: u64) {}
    fn for_each_nonzero(&self, _visit: impl FnMut(u64, u64)) {}
    fn for_each_change(&self, _old: &Self, _visit: impl FnMut(u64, u64, u64)) {}
}

impl SharedCells for LoomCells {
    fn locks(&self) -> usize {
        self.words.len()
    }
    fn lock_of(&self, address: u64) -> usize {
        (self.packing.cell_at(address) / self.packing.per_word()) as usize
    }
    fn store(&self, address: u64, value: u64) {
        write_shared(&self.words, self.packing, address, value);
    }
}

impl Lock for loom::sync::Mutex<()> {
    type Guard<'a> = loom::sync::MutexGuard<'a, ()>;
    fn enter(&self) -> Self::Guard<'_> {
        self.lock().expect("no writer panics")
    }
}

/// The canary: a lock that lets everybody in.
struct NoLock;

impl Lock for NoLock {
    type Guard<'a> = ();
    fn enter(&self) {}
}

/// Two threads count one key, whose cells lie on two pages, while this one looks it up: afterwards it counts 2.
fn two_writers_of_one_key<R: Rule, M: Lock + Send + Sync + 'static>(lock: fn() -> M) {
    loom::model(move || {
        let cells = LoomCells {
            packing: Packing::new(16).expect("a width"),
            words: vec![LoomWord::new(0), LoomWord::new(0)],
        };
        let shared = Arc::new((cells, [lock(), lock()]));
        // Out of order, and one cell twice: locks must be taken in order, and once.
        let key = [5, 1, 5].map(|cell| shared.0.address(cell));
        let writers = [(); 2].map(|()| {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || add::<R, _, _>(&shared.0, &shared.1, &key, 1))
        });
        let count = || key.iter().map(|&address| shared.0.get_at(address)).min();
        let one = count();
        let two = count();
        assert!(one <= two, "a count went back");
        for writer in writers {
            writer.join().expect("a writer");
        }
        assert_eq!(count(), Some(2), "a count was lost");
    });
}

#[test]
fn no_interleaving_loses_a_count() {
    two_writers_of_one_key::<Refined, loom::sync::Mutex<()>>(|| loom::sync::Mutex::new(()));
    two_writers_of_one_key::<Intuitive, loom::sync::Mutex<()>>(|| loom::sync::Mutex::new(()));
}

#[test]
#[should_panic(expected = "a count was lost")]
fn the_model_checker_catches_two_threads_that_count_one_key_without_a_lock() {
    two_writers_of_one_key::<Refined, NoLock>(|| NoLock);
}

/// Four threads count the same keys, others look them up: every count is at least the truth at any time, and in the end
/// the cells of the intuitive rule, which know no order, are those of one thread.
#[test]
fn threads_lose_no_count() {
    const KEYS: usize = 2000;
    const THREADS: u64 = 4;
    let key = SipKey::public();
    let mut rng = SplitMix(5);
    let keys: Vec<[u8; 8]> = (0..KEYS).map(|_| rng.next().to_le_bytes()).collect();
    let packing = Packing::new(6).expect("a width");
    let flat = Flat::new(20_000, 4).expect("a geometry").any();
    let paged = Paged::with_slots(4, 1, 4, packing.per_page()).expect("a geometry").any();
    for layout in [flat, paged] {
        let counts = CountingFilter::<Refined, _>::packed(
            layout,
            packing,
            None,
            key.fingerprint(),
            HugePages::Default,
        );
        race(&counts.expect("memory").share(), &key, &keys, THREADS, 0);
        let make = || {
            CountingFilter::<Intuitive, _>::packed(
                layout,
                packing,
                None,
                key.fingerprint(),
                HugePages::Default,
            )
            .expect("memory")
        };
        let shared = make().share();
        race(&shared, &key, &keys, THREADS, 0);
        let mut alone = make();
        (0..THREADS).for_each(|_| alone.insert_many(&key, &keys));
        let alike = |cell| shared.cells().get(cell) == alone.cells().get(cell);
        assert!((0..shared.cells().len()).all(alike), "{layout:?}");
    }
    const LOW_BITS: u32 = 1;
    let split = Split::new(LOW_BITS, 3).expect("a shape");
    let cells = SplitCells::zeroed(split, 20_000, HugePages::Default).expect("memory");
    let counts = CountingFilter::<Refined, _, _>::new(flat, cells, None, key.fingerprint());
    // What a base cell holds: if the system stops a thread between the two stores of a wrap for longer than one that
    // looks is patient, that one sees so much more than the truth.
    let base_most = (1 << LOW_BITS) - 1;
    race(&counts.expect("one cell a position").share(), &key, &keys, THREADS, base_most);
}

fn race<R: Rule, L: Layout + Sync, C: SharedCells>(
    shared: &SharedCountingFilter<R, L, C>,
    key: &SipKey,
    keys: &[[u8; 8]],
    threads: u64,
    too_high_most: u64,
) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let before = keys.iter().map(|k| shared.count(key.hash(k)).value).collect::<Vec<_>>();
                keys.iter().for_each(|k| shared.insert_weighted(key.hash(k), 1));
                let mut after = vec![Count::default(); keys.len()];
                shared.count_many(key, keys, &mut after);
                let grown =
                    before.iter().zip(&after).all(|(before, after)| after.value + too_high_most > *before);
                assert!(grown, "own insertions are seen at once");
            });
        }
    });
    let low = keys.iter().filter(|k| shared.count(key.hash(*k)).value < threads).count();
    assert_eq!(low, 0, "counts below the truth");
}
