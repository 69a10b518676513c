//! The counts that the choice of a bit weighs, kept up to date without ever scanning a list or the filter.
//!
//! A position that no key to remove uses is never weighed. So positions get *slots*, numbered densely, and
//! everything is kept by slot: what a set of a million members costs depends on how many of them share a
//! position with a key to remove.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::Algorithm;
use crate::hash::Hash128;
use crate::layout::Layout;

/// The slots of the positions that keys to remove use.
pub(super) struct Index {
    slots: HashMap<u64, u32, BuildHasherDefault<PositionHasher>>,
    /// The slots of the key last asked for, in the order of its probes.
    asked: Vec<u32>,
}

impl Index {
    pub(super) fn new<L: Layout>(layout: &L, removed: &[Hash128]) -> Self {
        let mut slots = HashMap::default();
        for &hash in removed {
            for probe in 0..layout.probes() {
                let next = slots.len() as u32;
                slots.entry(layout.position(hash, probe)).or_insert(next);
            }
        }
        Index { slots, asked: Vec::with_capacity(layout.probes()) }
    }

    /// The slots of a key to remove, one a probe.
    pub(super) fn slots_of<L: Layout>(&mut self, layout: &L, hash: Hash128) -> &[u32] {
        self.asked.clear();
        self.asked.extend((0..layout.probes()).map(|probe| self.slots[&layout.position(hash, probe)]));
        &self.asked
    }

    fn get(&self, position: u64) -> Option<u32> {
        self.slots.get(&position).copied()
    }
}

/// Positions come from a keyed hash already: a multiplication spreads them well enough.
#[derive(Default)]
struct PositionHasher(u64);

impl Hasher for PositionHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte) ^ self.0);
        }
    }

    fn write_u64(&mut self, position: u64) {
        let product = position.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

/// Whose counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// `v_A`.
    Members,
    /// `v_B`.
    FalsePositives,
}

/// Both counts, and the rule that weighs them.
pub(super) struct Weights {
    algorithm: Algorithm,
    pub(super) members: Counts,
    pub(super) false_positives: Counts,
}

impl Weights {
    pub(super) fn new(algorithm: Algorithm, index: &Index) -> Self {
        let counts = |weighs: bool| {
            let slots = if weighs { index.slots.len() } else { 0 };
            let lists = (weighs && algorithm.is_improved()).then(Lists::default);
            Counts { per_slot: vec![0; slots], lists }
        };
        Weights {
            algorithm,
            members: counts(algorithm.weighs_members()),
            false_positives: counts(algorithm.weighs_false_positives()),
        }
    }

    /// Counts elements that hit; [`counted`](Self::counted) comes after the last of them.
    pub(super) fn count<L: Layout>(
        &mut self,
        side: Side,
        layout: &L,
        index: &Index,
        hashes: impl Iterator<Item = Hash128>,
    ) {
        let counts = match side {
            Side::Members => &mut self.members,
            Side::FalsePositives => &mut self.false_positives,
        };
        for hash in hashes {
            let slots = (0..layout.probes()).filter_map(|probe| index.get(layout.position(hash, probe)));
            counts.add(slots);
        }
    }

    /// Everything is counted; from now on bits are cleared.
    pub(super) fn counted(&mut self) {
        self.members.list();
        self.false_positives.list();
    }

    /// Which of these slots to clear: the first of the best ones. They are those of a key to remove that still hits, so
    /// it is itself counted among the false positives of each, and no division is by zero.
    pub(super) fn choose(&self, slots: &[u32]) -> usize {
        let members = |probe: usize| u64::from(self.members.per_slot[slots[probe] as usize]);
        let positives = |probe: usize| u64::from(self.false_positives.per_slot[slots[probe] as usize]);
        let probes = 0..slots.len();
        let best = match self.algorithm {
            Algorithm::MinimumFn | Algorithm::ImprovedMinimumFn => probes.min_by_key(|&probe| members(probe)),
            Algorithm::MaximumFp | Algorithm::ImprovedMaximumFp => {
                probes.min_by_key(|&probe| Reverse(positives(probe)))
            }
            // v_A / v_B compared without rounding: both counts are below 2^32.
            Algorithm::Ratio | Algorithm::ImprovedRatio => {
                probes.min_by(|&a, &b| (members(a) * positives(b)).cmp(&(members(b) * positives(a))))
            }
            Algorithm::Random => Some(0),
        };
        best.expect("a key has at least one probe")
    }

    /// The bit at `position` is being cleared. The simple algorithms would zero its counts now; nobody reads
    /// them again, because no key that uses it hits any more.
    pub(super) fn cleared(&mut self, index: &Index, position: u64) {
        if let Some(slot) = index.get(position) {
            self.members.lose(slot);
            self.false_positives.lose(slot);
        }
    }
}

/// How many pairs of an element and a probe fall on each slot.
pub(super) struct Counts {
    per_slot: Vec<u32>,
    /// Who they are; the improved algorithms alone need to know.
    pub(super) lists: Option<Lists>,
}

/// Which element uses which slots and the reverse, each a list of lists in one vector.
///
/// Nothing is ever taken out of a list: an element is marked as lost instead. A slot's list is walked once, when
/// its bit is cleared, so that the lost elements met on all those walks are at most k times the lost ones.
#[derive(Default)]
pub(super) struct Lists {
    /// Slots, element after element.
    slots: Vec<u32>,
    /// Where each element's slots end.
    ends: Vec<u32>,
    /// Elements, slot after slot.
    elements: Vec<u32>,
    /// Where each slot's elements end.
    slot_ends: Vec<u32>,
    lost: Vec<bool>,
    /// Elements met and counts lowered so far.
    #[cfg(test)]
    pub(super) work: u64,
}

impl Counts {
    /// One element's slots, repeats included. One without any is forgotten.
    fn add(&mut self, slots: impl Iterator<Item = u32>) {
        let mut used = false;
        for slot in slots {
            self.per_slot[slot as usize] += 1;
            if let Some(lists) = &mut self.lists {
                lists.slots.push(slot);
            }
            used = true;
        }
        if let (Some(lists), true) = (&mut self.lists, used) {
            lists.ends.push(lists.slots.len() as u32);
        }
    }

    /// Turns the elements' slots into the slots' elements, by counting sort.
    fn list(&mut self) {
        let Some(lists) = &mut self.lists else { return };
        // First where each slot's list begins; filling it moves that on to where it ends.
        let mut begin = 0;
        for &count in &self.per_slot {
            lists.slot_ends.push(begin);
            begin += count;
        }
        lists.elements.resize(lists.slots.len(), 0);
        let mut start = 0;
        for (element, &end) in (0..).zip(&lists.ends) {
            for &slot in &lists.slots[start as usize..end as usize] {
                let at = &mut lists.slot_ends[slot as usize];
                lists.elements[*at as usize] = element;
                *at += 1;
            }
            start = end;
        }
        lists.lost.resize(lists.ends.len(), false);
    }

    /// Whoever uses `slot` no longer counts anywhere.
    fn lose(&mut self, slot: u32) {
        let Some(lists) = &mut self.lists else { return };
        for &element in &lists.elements[span(&lists.slot_ends, slot)] {
            #[cfg(test)]
            {
                lists.work += 1;
            }
            if std::mem::replace(&mut lists.lost[element as usize], true) {
                continue;
            }
            for &slot in &lists.slots[span(&lists.ends, element)] {
                self.per_slot[slot as usize] -= 1;
                #[cfg(test)]
                {
                    lists.work += 1;
                }
            }
        }
    }
}

impl Lists {
    /// Elements lost so far.
    #[cfg(test)]
    pub(super) fn lost(&self) -> u64 {
        self.lost.iter().filter(|&&lost| lost).count() as u64
    }

    /// Elements that take memory.
    #[cfg(test)]
    pub(super) fn elements_recorded(&self) -> usize {
        self.ends.len()
    }
}

/// Where list `number` lies.
fn span(ends: &[u32], number: u32) -> std::ops::Range<usize> {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    start as usize..ends[number] as usize
}
