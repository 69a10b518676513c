//! The bin filter: keys with weights, one filter per class of weight, and lookups that return the weight
//! credited.
//!
//! Keys are sorted by weight and cut into a few consecutive *bins*. A bin credits each of its keys with their
//! mean weight, and has a flat filter of its own. One hash of a word asks all bins; the hits add up. Heavy
//! bins get more bits a key than light ones, since their false hits cost more.
//!
//! ```
//! use seenit_filter::bins::{BinFilter, Goal, Plan, Weights};
//! use seenit_filter::hash::{KeyHasher, SipKey};
//!
//! # fn main() -> Result<(), seenit_filter::BinError> {
//! let key = SipKey::derive(b"a secret");
//! let words: Vec<[u8; 4]> = (0..300u32).map(u32::to_le_bytes).collect();
//! let weights = Weights::new(&(0..300).map(|i| f64::from(i) / 100.0).collect::<Vec<_>>())?;
//! let plan = Plan::best(Goal::Invalidation, &weights, 5, 3000)?;
//! let filter = BinFilter::build(&key, key.fingerprint(), &words, &weights, &plan)?;
//! let credit = filter.credit(key.hash(&words[299]));
//! assert!(credit.weight > 2.0 && credit.fired & 1 == 1);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Plan`] is cuts and bits. [`best_cuts`] finds optimal cuts, [`anneal`] the paper's; a [`Goal`] says
//! what is minimised and splits the memory; [`compare`] sets a plan beside its two rivals. Costs are in
//! [`maths::bins`](crate::maths::bins).
//!
//! # Which plan
//!
//! Split the memory with [`Goal::AbsentCredit`], whatever the cuts. Of 3,000 evenly spaced weights up to 5,
//! in 10 bins of 30,000 bits in all (*best* cuts are those with the least invalidation cost; deviation and false
//! hits are the two parts of the member error, see [`Standing`]):
//!
//! | cuts | memory split by | absent key credit | any fires | deviation | false hits |
//! |---|---|---|---|---|---|
//! | best | invalidation cost | 0.137 | 36.5 % | 0.202 | 0.122 |
//! | best | absent key credit | 0.110 | 14.5 % | 0.202 | 0.092 |
//! | best | one common rate | 0.115 | 8.0 % | 0.202 | 0.094 |
//! | even | absent key credit | 0.157 | 12.7 % | 0.125 | 0.141 |
//! | even | one common rate | 0.205 | 7.9 % | 0.125 | 0.185 |
//! | none | one filter, mean weight | 0.020 | 0.8 % | 1.250 | 0.000 |
//!
//! The invalidation cost charges a bin's rate once a member, so small light bins get too little: absent keys are
//! credited with more than at one common rate. No bins at all are best for absent keys and useless for members. With
//! a third of a bit a key, the size of the paper's experiment, ten bins are worth no more than one filter that
//! holds the heaviest keys only.
//!
//! # Source
//!
//! "Optimization of Bloom filter using simulated annealing for spam filtering", whose cost, cuts and Table 1
//! are here.

mod anneal;
mod compare;
mod cuts;
mod split;
#[cfg(test)]
mod tests;
mod weights;

pub use anneal::{Annealed, Schedule, Shift, anneal};
pub use compare::{Comparison, Standing, compare};
pub use cuts::{BestCuts, KEYS_CUT_MAX, best_cuts};
pub use split::whole_bits;
pub use weights::Weights;

use crate::error::BinError;
use crate::filter::Filter;
use crate::hash::{BATCH_KEYS, Hash128, KeyFingerprint, KeyHasher};
use crate::layout::{Flat, Layout, MAX_BITS, within};
use crate::maths::bins::{Bin, best_k};
use crate::memory::HugePages;
use crate::pipeline::Pipeline;
use crate::simd::Simd;

/// The most bins: one bit of [`Credit::fired`] each. With uniform weights 64 bins are within 1 % of what any
/// number gains.
pub const BINS_MAX: usize = 64;

/// The most keys: they are sorted in memory, and ranks are kept in 32 bits.
pub(crate) const KEYS_MAX: u64 = 1 << 31;

/// The largest weight: sums over all keys stay exact enough to tell bins apart. Ratios of frequencies are to
/// be capped far below it.
pub(crate) const WEIGHT_MAX: f64 = 1e9;

/// What the memory is split for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The paper's way: equal bits for every bin, judged by the invalidation cost `sum n_i w_i f_i`.
    EqualBits,
    /// The split with the least invalidation cost.
    Invalidation,
    /// The split with the least `sum w_i f_i`, the weight an absent key is credited with.
    ///
    /// For choosing cuts it is a poor guide when taken alone: one bin for almost all keys is its favourite.
    AbsentCredit,
}

/// Cuts and the bits of each bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    cuts: Vec<usize>,
    bits: Vec<u64>,
}

impl Plan {
    /// Bins that end at `cuts`, ranks by falling weight, with `bits` bits each. Some may have none, not all.
    pub fn new(cuts: Vec<usize>, bits: Vec<u64>) -> Result<Self, BinError> {
        check_cuts(&cuts)?;
        if bits.len() != cuts.len() {
            return Err(BinError::Count { what: "sizes", found: bits.len(), expected: cuts.len() });
        }
        within("bits", bits.iter().fold(0, |sum: u64, &bits| sum.saturating_add(bits)), MAX_BITS)?;
        Ok(Plan { cuts, bits })
    }

    /// The best cuts at ideal rates, and then the best whole bits for real filters.
    pub fn best(goal: Goal, weights: &Weights, bins: usize, bits: u64) -> Result<Self, BinError> {
        let cuts = best_cuts(goal, weights, bins, bits)?.cuts;
        Plan::for_cuts(goal, weights, cuts, bits)
    }

    /// These cuts, and the best whole bits for real filters.
    pub fn for_cuts(goal: Goal, weights: &Weights, cuts: Vec<usize>, bits: u64) -> Result<Self, BinError> {
        within("bits", bits, MAX_BITS)?;
        check_cuts(&cuts)?;
        check_keys(&cuts, weights)?;
        let split = goal.real_split(&weights.bins(&cuts), bits);
        Plan::new(cuts, split)
    }

    /// Where each bin ends.
    pub fn cuts(&self) -> &[usize] {
        &self.cuts
    }

    /// The bits of each bin.
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// The bits of all bins.
    pub fn total_bits(&self) -> u64 {
        self.bits.iter().sum()
    }
}

/// Refuses no bins, too many, and empty ones.
fn check_cuts(cuts: &[usize]) -> Result<(), BinError> {
    within("bins", cuts.len() as u64, BINS_MAX as u64)?;
    match weights::ranges(cuts).enumerate().find(|(_, (from, to))| from >= to) {
        Some((index, (_, cut))) => Err(BinError::Cut { index, cut }),
        None => Ok(()),
    }
}

/// Refuses weights of more or fewer keys than were cut.
fn check_keys(cuts: &[usize], weights: &Weights) -> Result<(), BinError> {
    let expected = cuts.last().copied().unwrap_or(0);
    if weights.keys() != expected {
        return Err(BinError::Count { what: "weights", found: weights.keys(), expected });
    }
    Ok(())
}

/// What a word is credited with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Credit {
    /// The sum of the mean weights of the bins that fired.
    pub weight: f64,
    /// Bit i is set if bin i fired; bin 0 is the heaviest.
    pub fired: u64,
}

/// One flat filter per class of weight.
///
/// Each filter has the bits its plan says, but memory comes in pages of 4 KiB, one at least for each bin.
#[derive(Debug)]
pub struct BinFilter {
    bins: Vec<Kept>,
    dropped_keys: u64,
    simd: Simd,
}

/// A bin that has bits.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its place in the plan.
    pub(crate) place: usize,
    pub(crate) bin: Bin,
    pub(crate) filter: Filter<Flat>,
}

impl BinFilter {
    /// Puts `keys` into the bins of `plan`; `weights` are theirs, and `fingerprint` that of the hasher's key.
    ///
    /// A bin without bits would answer yes to everything, so it is dropped: its keys are not found, and
    /// [`dropped_keys`](Self::dropped_keys) counts them. A plan has some bits, so some bin stays.
    pub fn build<K, H: KeyHasher<K>>(
        hasher: &H,
        fingerprint: KeyFingerprint,
        keys: &[K],
        weights: &Weights,
        plan: &Plan,
    ) -> Result<Self, BinError> {
        check_keys(&plan.cuts, weights)?;
        if keys.len() != weights.keys() {
            return Err(BinError::Count { what: "keys", found: keys.len(), expected: weights.keys() });
        }
        let mut built = BinFilter::empty(fingerprint, &weights.bins(&plan.cuts), &plan.bits)?;
        for (place, (from, to)) in weights::ranges(&plan.cuts).enumerate() {
            for &key in &weights.order()[from..to] {
                built.insert(place, hasher.hash(&keys[key]));
            }
        }
        Ok(built)
    }

    /// Empty filters of `bits` bits each for bins that somebody else cut; their keys are to be
    /// [inserted](Self::insert). Weights may be negative here: credit is then taken away. A bin without bits is
    /// dropped.
    pub fn empty(fingerprint: KeyFingerprint, bins: &[Bin], bits: &[u64]) -> Result<Self, BinError> {
        within("bins", bins.len() as u64, BINS_MAX as u64)?;
        if bits.len() != bins.len() {
            return Err(BinError::Count { what: "sizes", found: bits.len(), expected: bins.len() });
        }
        within("bits", bits.iter().fold(0, |sum: u64, &bits| sum.saturating_add(bits)), MAX_BITS)?;
        let mut empty = BinFilter { bins: Vec::new(), dropped_keys: 0, simd: Simd::detect() };
        for (place, (&bin, &bits)) in bins.iter().zip(bits).enumerate() {
            if bits == 0 {
                empty.dropped_keys += bin.keys;
                continue;
            }
            let layout = Flat::new(bits, best_k(bin.keys, bits))?;
            let filter = Filter::new(layout, None, fingerprint, HugePages::Default)?;
            empty.bins.push(Kept { place, bin, filter });
        }
        Ok(empty)
    }

    /// Puts a key into the bin at `place`; nothing happens where that bin was dropped.
    pub fn insert(&mut self, place: usize, hash: Hash128) {
        if let Ok(found) = self.bins.binary_search_by_key(&place, |kept| kept.place) {
            self.bins[found].filter.insert(hash_for(place, hash));
        }
    }

    /// The bins that have bits, heaviest first: keys and mean weight, and the filter that holds them.
    pub fn bins(&self) -> impl Iterator<Item = (Bin, &Filter<Flat>)> {
        self.bins.iter().map(|kept| (kept.bin, &kept.filter))
    }

    /// The places of these bins in the plan.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.bins.iter().map(|kept| kept.place)
    }

    /// The bins that have bits, with their places.
    pub(crate) fn kept(&self) -> &[Kept] {
        &self.bins
    }

    /// Of bins by rising place; at least one.
    pub(crate) fn of_kept(bins: Vec<Kept>) -> Self {
        BinFilter { bins, dropped_keys: 0, simd: Simd::detect() }
    }

    /// The keys of bins that got no bits: they are not found.
    pub fn dropped_keys(&self) -> u64 {
        self.dropped_keys
    }

    /// What the word with this hash is credited with. A member of a bin with bits gets at least its bin's
    /// weight.
    pub fn credit(&self, hash: Hash128) -> Credit {
        let mut credit = Credit::default();
        for kept in &self.bins {
            if kept.filter.contains(hash_for(kept.place, hash)) {
                kept.add_to(&mut credit);
            }
        }
        credit
    }

    /// [`credit`](Self::credit) of many words at once: each is hashed once, and asks bin after bin while its
    /// hash is at hand.
    ///
    /// # Panics
    /// When `credits` is not as long as `keys`.
    pub fn credit_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], credits: &mut [Credit]) {
        assert_eq!(keys.len(), credits.len(), "one answer a key");
        let mut pipeline = Pipeline::new(hasher, keys);
        let mut rest = credits;
        while pipeline.advance() {
            let (batch, others) = rest.split_at_mut(pipeline.current().len());
            self.credit_batch(pipeline.current(), batch);
            rest = others;
        }
    }

    /// Fetches the next bin's lines while it probes one.
    fn credit_batch(&self, hashes: &[Hash128], credits: &mut [Credit]) {
        credits.fill(Credit::default());
        let mut found = [false; BATCH_KEYS];
        let found = &mut found[..hashes.len()];
        let mut ahead = [Hash128::default(); BATCH_KEYS];
        let ahead = &mut ahead[..hashes.len()];
        let mut current = [Hash128::default(); BATCH_KEYS];
        let current = &mut current[..hashes.len()];
        let fetch = |kept: Option<&Kept>, ahead: &mut [Hash128]| {
            if let Some(kept) = kept {
                ahead.iter_mut().zip(hashes).for_each(|(mine, &hash)| *mine = hash_for(kept.place, hash));
                kept.filter.layout().prefetch_lookups(kept.filter.words(), ahead);
            }
        };
        fetch(self.bins.first(), ahead);
        for (i, kept) in self.bins.iter().enumerate() {
            current.copy_from_slice(ahead);
            fetch(self.bins.get(i + 1), ahead);
            kept.filter.layout().contains_batch(self.simd, kept.filter.words(), current, found);
            for (credit, _) in credits.iter_mut().zip(found.iter()).filter(|(_, found)| **found) {
                kept.add_to(credit);
            }
        }
    }
}

impl Kept {
    fn add_to(&self, credit: &mut Credit) {
        credit.weight += self.bin.weight;
        credit.fired |= 1 << self.place;
    }
}

/// A word's hash in bin `place`.
///
/// Bins of one size would be asked at the same positions, and a small pair of bins with many set bits in
/// common would fire together. Other bits of `lo` flipped for each bin make other positions.
#[inline(always)]
fn hash_for(place: usize, hash: Hash128) -> Hash128 {
    Hash128 { lo: hash.lo ^ (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15), hi: hash.hi }
}
