//! The table under every interleaving (loom), under real threads, and its lines under keys that all go there.

use super::*;
use crate::hash::SipKey;
use crate::random::SplitMix;

fn table(capacity: u64) -> Table {
    Table::sized(capacity, SipKey::public().fingerprint(), HugePages::Default).expect("memory")
}

/// Hashes with the same two lines, whichever comes first, and prints of their own.
fn hashes_of_pair(table: &Table, pair: [u64; 2], count: usize) -> Vec<Hash128> {
    let mut rng = SplitMix(11);
    let in_pair = |hash: &Hash128| {
        let own = table.place(*hash).pair;
        own == pair || own == [pair[1], pair[0]]
    };
    std::iter::repeat_with(|| rng.hash()).filter(in_pair).take(count).collect()
}

#[test]
fn a_key_beyond_its_full_lines_stays_found_when_they_lose_keys() {
    let table = table(1);
    let pair = table.place(SplitMix(11).hash()).pair;
    let hashes = hashes_of_pair(&table, pair, 17);
    for (value, &hash) in (1..).zip(&hashes) {
        assert_eq!(table.update(hash, |_| value), Ok(value));
    }
    let beyond = slots::find(table.pages.words(), &table.place(hashes[16])).expect("it is there");
    assert!(!pair.contains(&((beyond / LINE_SLOTS) as u64)), "two lines hold sixteen keys");
    for &hash in &hashes[..16] {
        assert_eq!(table.update(hash, |_| 0), Ok(0));
        assert_eq!(table.get(hashes[16]), 17);
    }
    // The tombstones are taken again, and the key beyond is updated where it lies.
    assert_eq!(table.update(hashes[0], |_| 5), Ok(5));
    assert_eq!(table.update(hashes[16], |value| value + 1), Ok(18));
    assert_eq!((table.len(), table.get(hashes[0]), table.get(hashes[16])), (2, 5, 18));
    let reloaded =
        Table::from_words(1, table.fingerprint(), table.words(), HugePages::Default).expect("ours");
    assert_eq!((reloaded.get(hashes[16]), reloaded.len()), (18, 2));
}

#[test]
fn lines_that_never_spilled_keep_no_tombstones() {
    let table = table(400);
    let mut rng = SplitMix(3);
    let hashes: Vec<_> = (0..300).map(|_| rng.hash()).collect();
    hashes.iter().for_each(|&hash| assert_eq!(table.update(hash, |_| 1), Ok(1)));
    hashes.iter().for_each(|&hash| assert_eq!(table.update(hash, |_| 0), Ok(0)));
    assert!(table.words().all(|word| word == EMPTY));
}
