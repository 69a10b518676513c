//! A run's world: a filter, its members, its false positives; and copies of the filter, retouched.

use seenit_filter::hash::{Hash128, SipKey};
use seenit_filter::random::SplitMix;
use seenit_filter::retouch::{Known, Plan, Weighing};
use seenit_filter::{Filter, Flat, HugePages};

use super::{BETAS, Case};
use crate::bench::LabError;

/// Hash functions, in the paper as here.
pub(super) const K: u32 = 5;

/// How large a world is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    /// N, all keys.
    pub(super) universe: usize,
    /// n, the keys in the filter.
    pub(super) members: usize,
    /// m, its bits.
    pub(super) bits: u64,
}

impl Size {
    /// The paper's.
    pub(super) const PAPER: Size = Size { universe: 2_000_000, members: 10_000, bits: 100_000 };

    /// A tenth of everything: members and false positives lie as thick on the bits as in the paper's, so all
    /// shares, and chi, are the same on average, and all numbers a tenth.
    pub(super) const TENTH: Size = Size { universe: 200_000, members: 1000, bits: 10_000 };

    /// This size as a share of the paper's.
    pub(super) fn scale(&self) -> f64 {
        self.members as f64 / Size::PAPER.members as f64
    }
}

/// A filter, its members, and its false positives in an order that says nothing.
pub(super) struct World {
    pub(super) size: Size,
    pub(super) filter: Filter<Flat>,
    pub(super) members: Vec<Hash128>,
    pub(super) positives: Vec<Hash128>,
}

/// What retouching one copy did.
pub(super) struct Retouching {
    pub(super) b: f64,
    pub(super) b_side: f64,
    pub(super) a_lost: f64,
    pub(super) bits_cleared: f64,
    /// `df_P`.
    pub(super) gone: f64,
    /// `df_N`.
    pub(super) lost: f64,
}

impl World {
    /// Hashes are drawn at random, as in the paper: the positions of a key are independent and uniform.
    pub(super) fn new(size: Size, rng: &mut SplitMix) -> Result<World, LabError> {
        let mut filter = empty(Flat::new(size.bits, K)?)?;
        let members: Vec<Hash128> = (0..size.members).map(|_| rng.hash()).collect();
        members.iter().for_each(|&member| filter.insert(member));
        let strangers = (size.members..size.universe).map(|_| rng.hash());
        let positives = strangers.filter(|&hash| filter.contains(hash)).collect();
        Ok(World { size, filter, members, positives })
    }

    /// The share of strangers that hit.
    pub(super) fn rate(&self) -> f64 {
        self.positives.len() as f64 / (self.size.universe - self.size.members) as f64
    }

    /// A copy of the filter to be spoilt.
    pub(super) fn copy(&self) -> Result<Filter<Flat>, LabError> {
        let mut copy = empty(*self.filter.layout())?;
        copy.union(&self.filter).expect("of one kind");
        Ok(copy)
    }

    /// A copy, from which the first `beta` of the false positives are removed.
    pub(super) fn retouched(&self, case: &Case, seed: u64) -> Result<Retouching, LabError> {
        let first = (self.positives.len() as f64 * BETAS[case.beta]).round() as usize;
        let (remove, others) = self.positives.split_at(first);
        let known = Known { members: Some(&self.members), others: Some(others) };
        let weighing = case.weighing.unwrap_or(Weighing::Removed);
        let plan = Plan { remove, algorithm: case.algorithm, weighing, seed, known };
        let done = self.copy()?.retouch(&plan, |_| ())?;
        let known = "members and false positives are known, and there are some";
        Ok(Retouching {
            b: done.removed as f64,
            b_side: done.side_effects.expect(known) as f64,
            a_lost: done.false_negatives.expect(known) as f64,
            bits_cleared: done.bits_cleared as f64,
            gone: done.false_positives_share().expect(known),
            lost: done.false_negatives_share().expect(known),
        })
    }
}

/// An empty filter. Nobody will keep it, so its key does not matter.
pub(super) fn empty(layout: Flat) -> Result<Filter<Flat>, LabError> {
    Ok(Filter::new(layout, None, SipKey::public().fingerprint(), HugePages::Default)?)
}
