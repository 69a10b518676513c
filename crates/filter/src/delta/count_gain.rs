//! A gain of counts, and the follower that takes them in order: how one site's cells reach another.

use std::borrow::Cow;

use super::cells::{apply_gain, gain};
use super::envelope::{DeltaKind, Envelope, ShortDigest};
use super::{Applied, Bound, DeltaError, ENVELOPE_BYTES};
use crate::cells::{Cells, CellsMut};
use crate::counting::{CountingFilter, Rule};
use crate::file::layout_code;
use crate::layout::Layout;
use crate::maths::entropy;

/// What the derivation of the kind of counts begins with.
const KIND_CONTEXT: &str = "seenit 2026 kind of counts v1";

/// The increments between two states of counts that only grow. It has a number: gain n leads from state n-1 to state n,
/// and a [`Follower`] applies it then and only then.
#[derive(Clone, Debug)]
pub struct CountGain<'a> {
    envelope: Envelope,
    bytes: Cow<'a, [u8]>,
}

impl<'a> CountGain<'a> {
    /// What `new` counts beyond `old`, as gain number `sequence`, counted from 1. Refuses counts of two kinds and cells
    /// that fell.
    pub fn between<R: Rule, L: Layout, C: Cells>(
        old: &CountingFilter<R, L, C>,
        new: &CountingFilter<R, L, C>,
        sequence: u64,
    ) -> Result<Self, DeltaError> {
        check_sequence(sequence)?;
        old.like(new)?;
        let payload = gain(old.cells(), new.cells())?;
        let mut number = ShortDigest::default();
        number.0[..8].copy_from_slice(&sequence.to_le_bytes());
        let envelope = Envelope { kind: DeltaKind::CountGain, old: kind_of(old), new: number };
        Ok(CountGain { envelope, bytes: envelope.seal(&payload).into() })
    }

    /// Reads a gain; its payload is looked at when it is applied.
    pub fn open(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self, DeltaError> {
        let bytes = bytes.into();
        let (envelope, _) = Envelope::open_as(DeltaKind::CountGain, &bytes)?;
        if envelope.new.0[8..] != [0; 8] {
            return Err(DeltaError::Payload("there is something behind the sequence"));
        }
        let gain = CountGain { envelope, bytes };
        check_sequence(gain.sequence())?;
        Ok(gain)
    }

    /// The whole of it, to be sent or stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its number.
    pub fn sequence(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.envelope.new.0[i]))
    }

    /// Refuses counts of another kind.
    fn check_kind<R: Rule, L: Layout, C: Cells>(
        &self,
        counts: &CountingFilter<R, L, C>,
    ) -> Result<(), DeltaError> {
        let expected = self.envelope.old;
        let found = kind_of(counts);
        if found == expected { Ok(()) } else { Err(DeltaError::OtherCounts { expected, found }) }
    }

    fn payload(&self) -> &[u8] {
        &self.bytes[ENVELOPE_BYTES..]
    }
}

/// Sequences count from 1: gain 0 would lead to the state everybody is in already, and vanish.
fn check_sequence(sequence: u64) -> Result<(), DeltaError> {
    if sequence == 0 { Err(DeltaError::Payload("gains are numbered from 1 on, not 0")) } else { Ok(()) }
}

/// Names rule, layout, cells, key and promise, all of which must be the same on both sides.
fn kind_of<R: Rule, L: Layout, C: Cells>(counts: &CountingFilter<R, L, C>) -> ShortDigest {
    let layout = counts.layout().any();
    let promise = counts.promise();
    let mut hasher = blake3::Hasher::new_derive_key(KIND_CONTEXT);
    let numbers = [
        u64::from(layout_code(&layout)),
        u64::from(layout.k()),
        u64::from(layout.pages_per_key()),
        layout.slots(),
        layout.bits(),
        counts.cells().cap(),
        counts.cells().per_page(),
        promise.map_or(0, |promise| promise.capacity),
        promise.map_or(0, |promise| promise.rate.to_bits()),
    ];
    numbers.iter().for_each(|number| {
        hasher.update(&number.to_le_bytes());
    });
    hasher.update(&counts.fingerprint().0).update(R::NAME.as_str().as_bytes());
    ShortDigest::of(hasher.finalize().as_bytes())
}

/// A copy of someone's counts that follows their gains.
///
/// Gain n applies after n-1; one that was applied changes nothing, one that comes too early is refused.
#[derive(Debug)]
pub struct Follower<R, L, C> {
    counts: CountingFilter<R, L, C>,
    applied: u64,
}

impl<R: Rule, L: Layout, C: CellsMut> Follower<R, L, C> {
    /// A follower of counts that are in state `applied`: 0 for those that begin empty.
    pub fn new(counts: CountingFilter<R, L, C>, applied: u64) -> Self {
        Follower { counts, applied }
    }

    /// The counts as far as they are known.
    pub fn counts(&self) -> &CountingFilter<R, L, C> {
        &self.counts
    }

    /// The counts, when there is nothing more to follow.
    pub fn into_counts(self) -> CountingFilter<R, L, C> {
        self.counts
    }

    /// The number of the last gain applied.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Applies the next gain; says so when it was applied already. In case of an error nothing has changed.
    pub fn apply(&mut self, gain: &CountGain<'_>) -> Result<Applied, DeltaError> {
        gain.check_kind(&self.counts)?;
        let sequence = gain.sequence();
        if sequence <= self.applied {
            return Ok(Applied::Already);
        }
        if sequence - self.applied > 1 {
            return Err(DeltaError::Gap { applied: self.applied, found: sequence });
        }
        apply_gain(self.counts.cells_mut(), gain.payload())?;
        self.applied = sequence;
        Ok(Applied::Now)
    }
}

/// The fewest bits that the changes between these cells can take: `log2 C(n, changed)` and the entropy of the changes.
///
/// # Panics
/// When there are not as many cells on both sides.
pub fn bound_of_cells<C: Cells>(old: &C, new: &C) -> Bound {
    let mut counts = std::collections::HashMap::new();
    new.for_each_change(old, |_, old, new| *counts.entry(new.wrapping_sub(old)).or_insert(0u64) += 1);
    let changed = counts.values().sum();
    let bits = entropy::log2_choose(new.len(), changed) + entropy::of_counts(counts.values().copied());
    Bound { changed, bits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{PackedCells, Packing, Split, SplitCells};
    use crate::counting::Refined;
    use crate::hash::SipKey;
    use crate::layout::Flat;
    use crate::memory::HugePages;
    use crate::random::SplitMix;

    const CELLS: u64 = 40_000;

    fn of<C: CellsMut>(mut cells: C, values: &[u64]) -> CountingFilter<Refined, Flat, C> {
        (0..).zip(values).for_each(|(cell, &value)| cells.set(cell, value));
        let layout = Flat::new(CELLS, 3).expect("in range");
        CountingFilter::new(layout, cells, None, SipKey::public().fingerprint()).expect("one cell a position")
    }

    fn packed(values: &[u64]) -> CountingFilter<Refined, Flat, PackedCells> {
        let packing = Packing::new(4).expect("a width");
        of(PackedCells::zeroed(packing, CELLS, HugePages::Default).expect("memory"), values)
    }

    fn split(values: &[u64]) -> CountingFilter<Refined, Flat, SplitCells> {
        let split = Split::new(3, 4).expect("a shape");
        of(SplitCells::zeroed(split, CELLS, HugePages::Default).expect("memory"), values)
    }

    /// One cell in `every` grows by up to `most`.
    fn grown(every: u64, most: u64) -> (Vec<u64>, Vec<u64>) {
        let mut rng = SplitMix(every * 31 + most);
        let old: Vec<u64> = (0..CELLS).map(|_| if most < 15 { rng.below(2) } else { 0 }).collect();
        let grow = |&value: &u64| value + if rng.below(every) == 0 { rng.below(most + 1) } else { 0 };
        let new = old.iter().map(grow).collect();
        (old, new)
    }

    fn agrees<C: CellsMut>(
        make: impl Fn(&[u64]) -> CountingFilter<Refined, Flat, C>,
        every: u64,
        most: u64,
    ) -> u8 {
        let (old, new) = grown(every, most);
        let gain = CountGain::between(&make(&old), &make(&new), 1).expect("it grew");
        let mut follower = Follower::new(make(&old), 0);
        assert_eq!(follower.apply(&gain).expect("sound"), Applied::Now);
        let applied: Vec<u64> = (0..CELLS).map(|cell| follower.counts().cells().get(cell)).collect();
        assert!(applied == new, "every {every}, at most {most}");
        gain.payload()[0] & 3
    }

    #[test]
    fn gains_of_every_form_are_applied() {
        assert_eq!([agrees(packed, 500, 3), agrees(packed, 4, 3), agrees(packed, 1, 15)], [0, 1, 2]);
        assert_eq!([agrees(split, 500, 1 << 20), agrees(split, 4, 20)], [0, 1]);
    }

    #[test]
    fn a_gain_that_is_cut_off_is_refused_and_changes_nothing() {
        for (every, most) in [(500, 3), (4, 3), (1, 15)] {
            let (old, new) = grown(every, most);
            let gain = CountGain::between(&packed(&old), &packed(&new), 1).expect("it grew");
            let mut other = Follower::new(split(&[]), 0);
            assert!(matches!(other.apply(&gain), Err(DeltaError::OtherCounts { .. })));
            let cut = &gain.payload()[..gain.payload().len() / 2];
            let cut = CountGain { envelope: gain.envelope, bytes: gain.envelope.seal(cut).into() };
            let mut follower = Follower::new(packed(&old), 0);
            assert!(follower.apply(&cut).is_err(), "every {every}");
            assert!((0..CELLS).all(|cell| follower.counts().cells().get(cell) == old[cell as usize]));
        }
    }
}
