//! What deltas are raced on: pairs of filters, drawn from fixed seeds.

use std::error::Error;

use seenit_filter::cells::{CellsMut, PackedCells, Packing};
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::file::{self, FileView};
use seenit_filter::hash::SipKey;
use seenit_filter::{Filter, Flat, HugePages, Layout};

/// Counts in packed cells.
pub(crate) type Counts = CountingFilter<Refined, Flat>;

/// How often an increment is one more than it would be: most are 1, as in a filter where most keys come once.
const MORE: f64 = 0.125;
/// How often a change of a diff is a fall, where the cell allows it.
const FALLS: f64 = 0.125;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn chance(&mut self, share: f64) -> bool {
        (self.next() as f64) < share * u64::MAX as f64
    }

    /// Things passed before the next one that changes.
    fn gap(&mut self, rate: f64) -> u64 {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((1.0 - uniform).ln() / (-rate).ln_1p()) as u64
    }
}

/// Bytes of the files of two filters: one half full, and the same after `change` was asked about a share `rate` of its
/// bits: it is told the old bit and says the new one.
pub(crate) fn bits(
    bytes: u64,
    rate: f64,
    change: impl Fn(bool) -> bool,
) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let layout = Flat::new(bytes * 8, 7)?.any();
    let empty = Filter::new(layout, None, SipKey::public().fingerprint(), HugePages::Default)?;
    let mut file = Vec::new();
    file::write(&empty, &mut file)?;
    let pages_at = file.len() - bytes as usize;
    let mut rng = Rng(1);
    for word in file[pages_at..].as_chunks_mut::<8>().0 {
        *word = rng.next().to_le_bytes();
    }
    let old = resealed(&file)?;
    let mut at = rng.gap(rate);
    while at < bytes * 8 {
        let byte = pages_at + (at / 8) as usize;
        let bit = 1 << (at % 8);
        let is = file[byte] & bit != 0;
        if is != change(is) {
            file[byte] ^= bit;
        }
        at += 1 + rng.gap(rate);
    }
    Ok((old, resealed(&file)?))
}

/// The same pages with digests that fit.
fn resealed(file: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut sealed = Vec::with_capacity(file.len());
    file::write(&FileView::open(file)?.to_filter(HugePages::Default)?, &mut sealed)?;
    Ok(sealed)
}

/// Cells of which half hold something, and the same after a share `rate` of them rose, or fell where `falling`.
pub(crate) fn cells(
    bits: u32,
    bytes: u64,
    rate: f64,
    falling: bool,
) -> Result<(PackedCells, PackedCells), Box<dyn Error>> {
    let packing = Packing::new(bits)?;
    let len = bytes / 8 * packing.per_word();
    let mut rng = Rng(2);
    let mut old = PackedCells::zeroed(packing, len, HugePages::Default)?;
    for cell in 0..len {
        old.set(cell, u64::from(rng.next().trailing_ones()).min(packing.cap() / 2));
    }
    let mut new = old.try_clone()?;
    let mut cell = rng.gap(rate);
    while cell < len {
        let mut by = 1;
        while by < packing.cap() / 2 && rng.chance(MORE) {
            by += 1;
        }
        let is = seenit_filter::cells::Cells::get(&old, cell);
        new.set(cell, if falling && is >= by && rng.chance(FALLS) { is - by } else { is + by });
        cell += 1 + rng.gap(rate);
    }
    Ok((old, new))
}

/// A counting filter of these cells.
pub(crate) fn counts(cells: PackedCells) -> Result<Counts, Box<dyn Error>> {
    let len = seenit_filter::cells::Cells::len(&cells);
    Ok(CountingFilter::new(Flat::new(len, 7)?, cells, None, SipKey::public().fingerprint())?)
}
