//! The laws of deltas, checked on whatever payload the fuzzer comes up with.
//!
//! No payload may cause a panic. One that is refused has changed nothing. One that is accepted leads to a state that a
//! delta of our own making leads to as well.

use seenit_filter::cells::{Cells, CellsMut, PackedCells, Packing};
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::delta::{BitGain, CountGain, Diff, ENVELOPE_BYTES, Follower, cells};
use seenit_filter::file::{self, FileView};
use seenit_filter::hash::KeyFingerprint;
use seenit_filter::{AnyLayout, Filter, Flat, HugePages};

use crate::model::drawn;

/// Bits of the filter and cells of the counts: some pages, the last one not full.
const BITS: u64 = 70_001;
const CELLS: u64 = 9_001;
const FINGERPRINT: KeyFingerprint = KeyFingerprint([7; 16]);
/// Where the checksum of a delta begins.
const CHECKSUM_AT: usize = 48;

/// Takes the first byte for a kind of delta and the rest for its payload, and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    let Some((&kind, payload)) = input.split_first() else { return };
    match kind % 4 {
        0 => check_bits(payload),
        1 => check_file(payload),
        2 => check_counts(u32::from(kind / 4 % 16) + 1, payload),
        _ => check_cells(u32::from(kind / 4 % 16) + 1, payload),
    }
    let _ = Diff::open(input);
    let _ = BitGain::open(payload);
    let _ = CountGain::open(payload);
}

/// A delta like `template` with another payload, and a length and a checksum that fit.
fn forged(template: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut delta = template[..ENVELOPE_BYTES].to_vec();
    delta[40..CHECKSUM_AT].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    // A result that no payload leads to, so that a gain goes all the way to the comparison.
    if delta[7] != 2 {
        delta[24] ^= 1;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&delta[..CHECKSUM_AT]).update(payload);
    delta[CHECKSUM_AT..].copy_from_slice(&hasher.finalize().as_bytes()[..ENVELOPE_BYTES - CHECKSUM_AT]);
    delta.extend_from_slice(payload);
    delta
}

fn filter() -> Filter<AnyLayout> {
    let layout = AnyLayout::Flat(Flat::new(BITS, 5).expect("in range"));
    let mut filter = Filter::new(layout, None, FINGERPRINT, HugePages::Default).expect("memory");
    drawn(3, 5000).for_each(|hash| filter.insert(hash));
    filter
}

fn check_bits(payload: &[u8]) {
    let mut filter = filter();
    let before = filter.words().to_vec();
    let template = BitGain::between(&filter, &filter).expect("of one kind");
    let forged = forged(template.bytes(), payload);
    let gain = BitGain::open(&forged[..]).expect("the forge knows the envelope");
    gain.apply(&mut filter).expect_err("no payload leads to that result");
    assert!(filter.words() == before, "a refused gain has changed something");
}

fn check_file(payload: &[u8]) {
    let mut file = Vec::new();
    file::write(&filter(), &mut file).expect("memory takes any bytes");
    let view = FileView::open(&file).expect("sound");
    let template = Diff::between(&view, &view).expect("of one kind");
    let forged = forged(template.bytes(), payload);
    let diff = Diff::open(&forged[..]).expect("the forge knows the envelope");
    diff.apply(&view).expect_err("no payload leads to that result");
}

fn old_cells(bits: u32) -> PackedCells {
    let packing = Packing::new(bits).expect("a width");
    let mut cells = PackedCells::zeroed(packing, CELLS, HugePages::Default).expect("memory");
    for cell in 0..CELLS {
        cells.set(cell, ((cell * cell) >> 3) & packing.cap());
    }
    cells
}

fn check_counts(bits: u32, payload: &[u8]) {
    let counts = || {
        let layout = Flat::new(CELLS, 3).expect("in range");
        CountingFilter::<Refined, _>::new(layout, old_cells(bits), None, FINGERPRINT).expect("cells that fit")
    };
    let template = CountGain::between(&counts(), &counts(), 1).expect("of one kind");
    let forged = forged(template.bytes(), payload);
    let gain = CountGain::open(&forged[..]).expect("the forge knows the envelope");
    let mut follower = Follower::new(counts(), 0);
    let applied = follower.apply(&gain);
    let old = old_cells(bits);
    for cell in 0..CELLS {
        let (was, is) = (old.get(cell), follower.counts().cells().get(cell));
        assert!(was <= is && (applied.is_ok() || was == is), "cell {cell} went from {was} to {is}");
    }
}

fn check_cells(bits: u32, payload: &[u8]) {
    let (old, mut new) = (old_cells(bits), old_cells(bits));
    if cells::apply_diff(&mut new, payload).is_ok() {
        let mut again = old_cells(bits);
        cells::apply_diff(&mut again, &cells::diff(&old, &new)).expect("our own");
        assert!(again.words() == new.words(), "a diff of our own leads elsewhere");
    }
    let mut new = old_cells(bits);
    if cells::apply_gain(&mut new, payload).is_ok() {
        let mut again = old_cells(bits);
        let gain = cells::gain(&old, &new).expect("a gain lets nothing fall");
        cells::apply_gain(&mut again, &gain).expect("our own");
        assert!(again.words() == new.words(), "a gain of our own leads elsewhere");
    }
}
