//! Guards the table of fingerprints: it answers as a map does whatever comes and goes, refuses only when it is full,
//! takes absent keys for keys as often as it says, takes the memory it says, and is the same after a reload.

mod common;

use std::collections::HashMap;

use common::{SplitMix, sip};
use proptest::prelude::*;
use seenit_filter::hash::Hash128;
use seenit_filter::table::{LOAD, PRINTS, Table, VALUE_MAX};
use seenit_filter::{HugePages, TableError};

/// Slots of the smallest table.
const SLOTS: u64 = 512;

fn sized(capacity: u64) -> Table {
    Table::sized(capacity, sip(0).fingerprint(), HugePages::Default).expect("memory for a test table")
}

fn reloaded(table: &Table) -> Table {
    Table::from_words(table.capacity(), table.fingerprint(), table.words(), HugePages::Default)
        .expect("its words")
}

/// Key number `i`.
fn hash(i: u64) -> Hash128 {
    SplitMix(i.wrapping_mul(0x1234_5678_9abc_def1)).hash()
}

fn filled(capacity: u64, keys: u64) -> Table {
    let table = sized(capacity);
    (0..keys).for_each(|key| assert_eq!(table.update(hash(key), |_| key + 1), Ok(key + 1)));
    table
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64, u64),
    Remove(u64),
    /// Many keys from this one on.
    Fill(u64, u64),
    /// Takes out every so-manieth key.
    Thin(u64),
    Reload,
}

/// More keys than the smallest table has slots: it gets full.
const KEYS: u64 = SLOTS + 100;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..KEYS, 1u64..1000).prop_map(|(key, more)| Step::Add(key, more)),
        3 => (0..KEYS).prop_map(Step::Remove),
        3 => (0..KEYS, 1u64..300).prop_map(|(from, keys)| Step::Fill(from, keys)),
        2 => (2u64..9).prop_map(Step::Thin),
        1 => Just(Step::Reload),
    ];
    prop::collection::vec(step, 0..60)
}

/// A table and the map it must be.
struct Modelled {
    table: Table,
    truth: HashMap<u64, u64>,
}

impl Modelled {
    fn add(&mut self, key: u64, more: u64) {
        let old = self.truth.get(&key).copied().unwrap_or(0);
        let result = self.table.update(hash(key), |value| {
            assert_eq!(value, old);
            value + more
        });
        match result {
            Ok(new) => {
                assert_eq!(new, old + more);
                self.truth.insert(key, new);
            }
            Err(full) => {
                assert!(old == 0 && full.len == self.truth.len() as u64, "{full}");
                assert!(self.table.load() > 0.95, "refused at a load of {}", self.table.load());
            }
        }
    }

    fn remove(&mut self, key: u64) {
        assert_eq!(self.table.update(hash(key), |_| 0), Ok(0));
        self.truth.remove(&key);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Add(key, more) => self.add(key, more),
            Step::Remove(key) => self.remove(key),
            Step::Fill(from, keys) => (from..from + keys).for_each(|key| self.add(key % KEYS, 1)),
            Step::Thin(every) => (0..KEYS).filter(|key| key % every == 0).for_each(|key| self.remove(key)),
            Step::Reload => self.table = reloaded(&self.table),
        }
    }

    fn check(&self) {
        let hashes: Vec<_> = (0..KEYS).map(hash).collect();
        let mut values = vec![0; hashes.len()];
        self.table.get_many(&hashes, &mut values);
        for (key, value) in (0..).zip(values) {
            let truth = self.truth.get(&key).copied().unwrap_or(0);
            assert_eq!((self.table.get(hash(key)), value), (truth, truth), "key {key}");
        }
        assert_eq!(self.table.len(), self.truth.len() as u64);
        let (mut visited, mut truth) = (Vec::new(), self.truth.values().copied().collect::<Vec<_>>());
        self.table.for_each(|_, value| visited.push(value));
        visited.sort_unstable();
        truth.sort_unstable();
        assert_eq!(visited, truth);
    }
}

proptest! {
    #[test]
    fn a_table_is_a_map_until_it_is_full(steps in steps()) {
        let mut modelled = Modelled { table: sized(1), truth: HashMap::new() };
        for step in &steps {
            modelled.step(step);
            modelled.check();
        }
    }
}

#[test]
fn the_smallest_table_refuses_a_key_only_when_it_is_nearly_full() {
    let mut modelled = Modelled { table: sized(1), truth: HashMap::new() };
    (0..KEYS).for_each(|key| modelled.add(key, 1));
    modelled.check();
    assert!(modelled.table.len() < KEYS, "{KEYS} keys in {SLOTS} slots");
}

/// Standard deviations allowed; there are a dozen cells.
const DEVIATIONS: f64 = 4.5;

fn within_chance(hits: u64, expected: f64, what: &str) {
    let allowed = DEVIATIONS * expected.sqrt() + 3.0;
    assert!((hits as f64 - expected).abs() <= allowed, "{what}: {hits} hits, not {expected}");
}

fn hits(table: &Table, mut absent: impl FnMut() -> Hash128, queries: u64) -> u64 {
    const CHUNK: usize = 1 << 12;
    let (mut hashes, mut values, mut hits) = ([Hash128::default(); CHUNK], [0; CHUNK], 0);
    for _ in 0..queries.div_ceil(CHUNK as u64) {
        hashes.fill_with(&mut absent);
        table.get_many(&hashes, &mut values);
        hits += values.iter().filter(|&&value| value != 0).count() as u64;
    }
    hits
}

#[test]
fn absent_keys_hit_as_often_as_the_formula_says() {
    for (capacity, keys) in [(2_000, 2_000), (2_000, 1_000), (20_000, 20_000)] {
        let (table, mut rng, queries) = (filled(capacity, keys), SplitMix(77), 1 << 25);
        let expected = table.rate(keys) * queries as f64;
        within_chance(hits(&table, || rng.hash(), queries), expected, &format!("{keys} of {capacity}"));
        assert_eq!(table.rate(keys), table.present_rate());
    }
}

/// The rate has two parts. Absent keys that have a key's print already show the other one, with many more hits.
#[test]
fn absent_keys_with_the_print_of_a_key_hit_as_often_as_they_have_its_lines() {
    for (capacity, keys) in [(400, 460), (2_000, 500), (2_000, 2_000), (20_000, 20_000), (20_000, 21_500)] {
        let (table, mut rng, queries) = (filled(capacity, keys), SplitMix(78), 1 << 22);
        let absent = || Hash128 { lo: hash(rng.below(keys)).lo, hi: rng.next() };
        let expected = table.rate(keys) * PRINTS as f64 / keys as f64 * queries as f64;
        within_chance(hits(&table, absent, queries), expected, &format!("{keys} of {capacity}"));
    }
}

#[test]
fn keys_that_share_print_and_line_share_one_value() {
    let table = sized(1);
    let (key, mut rng) = (hash(1), SplitMix(5));
    table.update(key, |value| value + 3).expect("room");
    let twin = std::iter::repeat_with(|| Hash128 { lo: key.lo, hi: rng.next() })
        .find(|&twin| table.get(twin) != 0)
        .expect("one in 32");
    assert_eq!(table.update(twin, |value| value + 4), Ok(7));
    assert_eq!(table.update(key, |value| value - 3), Ok(4));
    assert_eq!((table.get(twin), table.len()), (4, 1));
}

/// What the documentation says of a table at capacity.
#[test]
fn bytes_per_key_and_the_rate_are_as_documented() {
    for capacity in [1_000_000, 10_000_000] {
        let table = sized(capacity);
        let per_key = table.memory_bytes() as f64 / capacity as f64;
        assert!(per_key <= 9.0, "{per_key} bytes a key");
        assert_eq!(format!("{:.1e}", table.rate(capacity)), "8.6e-7");
        assert_eq!(table.slots(), table.words().len() as u64);
    }
    let table = filled(100_000, 100_000);
    assert!(table.load() <= LOAD && table.load() > LOAD - 0.005, "{}", table.load());
    let counting_cells_a_key: f64 = 2.0 * 9.0;
    assert_eq!(format!("{:.1e}", 0.6185f64.powf(counting_cells_a_key)), "1.8e-4");
}

#[test]
fn a_reloaded_table_gives_the_same_answers() {
    let table = filled(20_000, 20_000);
    assert_eq!(table.update(hash(7), |_| VALUE_MAX), Ok(VALUE_MAX));
    let copy = reloaded(&table);
    assert_eq!((copy.len(), copy.capacity(), copy.fingerprint()), (20_000, 20_000, table.fingerprint()));
    assert!((0..40_000).all(|key| copy.get(hash(key)) == table.get(hash(key))));
    assert_eq!(copy.update(hash(20_001), |_| 9), Ok(9));
}

#[test]
fn words_that_are_no_table_are_refused_by_what_is_wrong() {
    let table = filled(300, 300);
    let words: Vec<u64> = table.words().collect();
    let says = |words: &[u64], what: &str| {
        let load =
            |words: &[u64]| Table::from_words(300, sip(0).fingerprint(), words.to_vec(), HugePages::Default);
        let error: TableError = load(words).expect_err("must be refused");
        assert!(error.to_string().contains(what), "{error} does not mention {what:?}");
    };
    says(&words[..511], "512 words, not 511");
    says(&[], "512 words, not 0");
    says(&[&words[..], &[0]].concat(), "512 words, not 513");
    for wrong in [1, VALUE_MAX, 1 << 40, PRINTS << 40] {
        let mut words = words.clone();
        words[17] = wrong;
        says(&words, &format!("word 17 is {wrong:#018x}"));
    }
    for capacity in [0, u64::MAX] {
        let error =
            Table::sized(capacity, sip(0).fingerprint(), HugePages::Default).expect_err("no such table");
        assert!(error.to_string().contains("capacity"), "{error}");
    }
}
