//! Retouching: absent keys that hit a filter are taken out of it by clearing bits, at a price in members.
//!
//! An absent key that hits stops to hit as soon as one of its bits is cleared. Every member that uses the bit is lost
//! with it, and so is every other absent key that hits through it: a *side effect*, this one welcome. Which bit to
//! clear is the whole question, and an [`Algorithm`] answers it. All of them take the keys to remove in order
//! and clear one bit of each that still hits:
//!
//! | algorithm | clears, of the key's bits, |
//! |---|---|
//! | [`Random`](Algorithm::Random) | any |
//! | [`MinimumFn`](Algorithm::MinimumFn) | the one with the fewest members: `v_A` smallest |
//! | [`MaximumFp`](Algorithm::MaximumFp) | the one with the most false positives: `v_B` largest |
//! | [`Ratio`](Algorithm::Ratio) | the one where `v_A / v_B` is smallest |
//!
//! `v_A[i]` counts the pairs of a member and a probe that fall on bit i, `v_B[i]` the same of false positives; which
//! false positives, [`Weighing`] says. Among equals the first in the order of probes is taken. The simple algorithms
//! count once. The *improved* ones keep the counts exact: whoever uses a cleared bit is lost, and no longer
//! counts anywhere.
//!
//! **Cost.** Only bits of keys to remove are ever weighed, so only those are counted: memory goes with the keys to
//! remove and with the members that share a bit with one of them, never with the size of the filter. Beyond
//! counting, an improved algorithm takes time in proportion to the probes of the elements that are lost.
//!
//! **The price.** With `df_P` the share of false positives that disappear and `df_N` the share of members that are
//! lost, `chi = df_P / df_N` says what a lost member buys. [`Filter::clear_random`] clears bits without
//! looking: an element survives s cleared bits of `p_1 m` set ones with probability `(1 - s/(p_1 m))^k`, member or
//! not, so chi is 1. The algorithms above do better.
//!
//! A retouched filter is no longer free of false negatives, and [says so](Filter::cleared_bits), also in its file.

mod algorithm;
mod weights;
#[cfg(test)]
mod work;

pub use algorithm::Algorithm;

use crate::error::RetouchError;
use crate::filter::Filter;
use crate::hash::Hash128;
use crate::layout::Layout;
use crate::random::SplitMix;
use weights::{Index, Weights};

/// The most pairs of an element and a probe in one set: they are counted and numbered in 32 bits. That is half a
/// thousand million members of a line filter.
pub(crate) const PAIRS_MAX: u64 = u32::MAX as u64;

/// Elements between two calls to `progress`.
const STRIDE: usize = 4096;

/// Which false positives `v_B` counts.
///
/// The paper's pseudo-code counts those to be removed; its tables come out only when all that are known are
/// counted. The two are one when all that are known are to be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighing {
    /// Those to be removed.
    #[default]
    Removed,
    /// All that are known: those to be removed and the others.
    AllKnown,
}

/// What the caller knows about the filter besides the keys to remove; `None` is "not known", and is reported so.
///
/// Each element should be given once: one that is given twice counts twice. What does not hit is passed over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The keys that were inserted: the paper's A.
    pub members: Option<&'a [Hash128]>,
    /// Absent keys that hit and are not to be removed: the paper's F_P without its B.
    pub others: Option<&'a [Hash128]>,
}

/// What to remove, and how.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The keys to remove, in order: the paper's B, once those that do not hit are passed over.
    pub remove: &'a [Hash128],
    /// How bits are chosen.
    pub algorithm: Algorithm,
    /// Which false positives weigh.
    pub weighing: Weighing,
    /// The seed of [`Algorithm::Random`]; the others do without.
    pub seed: u64,
    /// What else is known.
    pub known: Known<'a>,
}

/// What retouching did. `None` is what cannot be told from what was known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retouched {
    /// Bits cleared.
    pub bits_cleared: u64,
    /// Keys to remove that hit before; none does now.
    pub removed: u64,
    /// Keys to remove that did not hit in the first place.
    pub already_absent: u64,
    /// False positives known before, those to be removed included.
    pub false_positives: Option<u64>,
    /// Known false positives that disappeared though nobody asked for it.
    pub side_effects: Option<u64>,
    /// Members that hit before.
    pub members: Option<u64>,
    /// Members among those that do not hit any more.
    pub false_negatives: Option<u64>,
}

impl Retouched {
    /// `df_P`: the share of the known false positives that disappeared.
    pub fn false_positives_share(&self) -> Option<f64> {
        share(self.removed + self.side_effects?, self.false_positives?)
    }

    /// `df_N`: the share of the members that were lost.
    pub fn false_negatives_share(&self) -> Option<f64> {
        share(self.false_negatives?, self.members?)
    }

    /// `chi = df_P / df_N`; `None` also when no member was lost.
    pub fn chi(&self) -> Option<f64> {
        let lost = self.false_negatives_share().filter(|&lost| lost > 0.0)?;
        Some(self.false_positives_share()? / lost)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl<L: Layout, S: AsRef<[u64]> + AsMut<[u64]>> Filter<L, S> {
    /// Takes keys out by clearing bits; `progress` hears now and then of so many elements more.
    ///
    /// Afterwards no key of `plan.remove` hits. A plan that cannot be carried out changes nothing.
    pub fn retouch(
        &mut self,
        plan: &Plan<'_>,
        mut progress: impl FnMut(u64),
    ) -> Result<Retouched, RetouchError> {
        self.check(plan)?;
        let removed: Vec<Hash128> = self.hits(plan.remove).collect();
        let mut index = Index::new(self.layout(), &removed);
        let mut weights = self.weights(plan, &removed, &index, &mut progress);
        let before = Census::of(self, &plan.known, removed.len() as u64);
        let mut cleared = 0;
        let mut rng = SplitMix(plan.seed);
        for stride in removed.chunks(STRIDE) {
            for &hash in stride {
                if self.contains(hash) {
                    let probe = match plan.algorithm {
                        Algorithm::Random => rng.below(self.layout().probes() as u64) as usize,
                        _ => weights.choose(index.slots_of(self.layout(), hash)),
                    };
                    let position = self.layout().position(hash, probe);
                    weights.cleared(&index, position);
                    self.clear(position);
                    cleared += 1;
                }
            }
            progress(stride.len() as u64);
        }
        let already_absent = (plan.remove.len() - removed.len()) as u64;
        Ok(Retouched { already_absent, ..before.compare(self, &plan.known, cleared) })
    }

    /// Clears `bits` of the set bits, each set of so many being equally likely, or all when there are no more.
    ///
    /// The false positives among `known.others` that disappear are side effects: nobody asked for them by name.
    pub fn clear_random(&mut self, bits: u64, seed: u64, known: &Known<'_>) -> Retouched {
        let before = Census::of(self, known, 0);
        let mut rng = SplitMix(seed);
        let mut left = self.fill().ones;
        let bits = bits.min(left);
        let mut wanted = bits;
        for word in 0..self.words().len() {
            // Selection in one pass: a set bit is taken with the odds `wanted / left`.
            let mut ones = self.words()[word];
            while ones != 0 && wanted > 0 {
                let bit = ones.trailing_zeros();
                ones &= ones - 1;
                if rng.below(left) < wanted {
                    self.clear(word as u64 * 64 + u64::from(bit));
                    wanted -= 1;
                }
                left -= 1;
            }
        }
        before.compare(self, known, bits)
    }

    /// The counts that the algorithm weighs, and no others.
    fn weights(
        &self,
        plan: &Plan<'_>,
        removed: &[Hash128],
        index: &Index,
        progress: &mut impl FnMut(u64),
    ) -> Weights {
        let mut weights = Weights::new(plan.algorithm, index);
        let mut count = |side: weights::Side, hashes: &[Hash128]| {
            for stride in hashes.chunks(STRIDE) {
                weights.count(side, self.layout(), index, self.hits(stride));
                progress(stride.len() as u64);
            }
        };
        if plan.algorithm.weighs_members() {
            count(weights::Side::Members, plan.known.members.unwrap_or_default());
        }
        if plan.algorithm.weighs_false_positives() {
            count(weights::Side::FalsePositives, removed);
            if plan.weighing == Weighing::AllKnown {
                count(weights::Side::FalsePositives, plan.known.others.unwrap_or_default());
            }
        }
        weights.counted();
        weights
    }

    fn check(&self, plan: &Plan<'_>) -> Result<(), RetouchError> {
        let members = plan.known.members;
        let others = plan.known.others;
        if plan.algorithm.weighs_members() && members.is_none() {
            return Err(RetouchError::NoMembers(plan.algorithm.as_str()));
        }
        let weighs_others = plan.algorithm.weighs_false_positives() && plan.weighing == Weighing::AllKnown;
        if weighs_others && others.is_none() {
            return Err(RetouchError::NoFalsePositives(plan.algorithm.as_str()));
        }
        let len = |set: Option<&[Hash128]>| set.map_or(0, <[Hash128]>::len) as u64;
        let largest = len(members).max(len(others) + plan.remove.len() as u64);
        check_size(largest, self.layout().probes() as u64)
    }

    /// Those of `hashes` that hit.
    fn hits<'a>(&'a self, hashes: &'a [Hash128]) -> impl Iterator<Item = Hash128> + 'a {
        hashes.iter().copied().filter(|&hash| self.contains(hash))
    }

    fn count_hits(&self, hashes: Option<&[Hash128]>) -> Option<u64> {
        hashes.map(|hashes| self.hits(hashes).count() as u64)
    }
}

fn check_size(elements: u64, probes: u64) -> Result<(), RetouchError> {
    let limit = PAIRS_MAX / probes;
    if elements > limit { Err(RetouchError::TooMany { elements, limit }) } else { Ok(()) }
}

/// Who hit before anything was cleared.
struct Census {
    removed: u64,
    others: Option<u64>,
    members: Option<u64>,
}

impl Census {
    fn of<L: Layout, S: AsRef<[u64]> + AsMut<[u64]>>(
        filter: &Filter<L, S>,
        known: &Known<'_>,
        removed: u64,
    ) -> Self {
        Census { removed, others: filter.count_hits(known.others), members: filter.count_hits(known.members) }
    }

    /// What changed since, when so many bits were cleared.
    fn compare<L: Layout, S: AsRef<[u64]> + AsMut<[u64]>>(
        &self,
        filter: &Filter<L, S>,
        known: &Known<'_>,
        bits_cleared: u64,
    ) -> Retouched {
        let gone = |before: Option<u64>, set| Some(before? - filter.count_hits(set)?);
        Retouched {
            bits_cleared,
            removed: self.removed,
            already_absent: 0,
            false_positives: self.others.map(|others| self.removed + others),
            side_effects: gone(self.others, known.others),
            members: self.members,
            false_negatives: gone(self.members, known.members),
        }
    }
}
