//! Who may take how much room: nobody but those whom the operator vouches for fills memory.
//!
//! 1. Those whom the operator vouches for, and the operator, take as much of the tally as there is.
//! 2. Everybody else may have added `reporter_percent` of it, over all generations that are kept: records last for all
//!    of them. That survives a restart, because the journal keeps it. All of them together add at most
//!    [`OTHERS_PERCENT`] in one generation; the rest is there for those whom the operator vouches for, since only
//!    generations before the present one can be forgotten.
//! 3. Opinions that weigh nothing take no room in the tally. They are journalled, all of them together up to the share
//!    of one account; those of an account that has weight, and that the operator overrules, are part of its own share.
//! 4. The same for texts, of `near_capacity`: what is beyond the share of an account, or beyond what all of them have
//!    together, is taken, and gives no shingle a unit. Their filters refuse nothing, and too full they would leave the
//!    whole site without an opinion of replicas.
//! 5. Whoever says the same again and again takes no room in memory, and fills the disk. So those whom nobody vouches
//!    for *name* at most [`NAMED_PER_SHARE`] times as many keys in one generation as they may add signatures.
//! 6. A peer may add `reporter_percent` in one generation.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use seenit_signature::near::SHINGLES;

use crate::config::LedgerConfig;
use crate::record::Verb;
use crate::reporter::{OPERATOR, Reporter, ReporterId};
use crate::signature::{Case, SignatureRef};

/// What all whom nobody vouches for may add together in one generation, in percent of the capacity.
const OTHERS_PERCENT: u32 = 80;

/// Keys that a holder may name in one generation, new ones or not, for each signature that it may add: honest reporters
/// say the same of a campaign several times.
const NAMED_PER_SHARE: u64 = 4;

/// What there are shares of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Share {
    /// Room in the tally.
    Signatures,
    /// Room in the filters of shingles.
    Texts,
    /// Room in the filter of what is bulk; for peers alone.
    Bulk,
    /// Room on the disk: signatures and shingles in records, new ones or not. For own reporters alone.
    Named,
}

/// All whose opinions weigh nothing, as one holder of a share: whoever wants to be many is.
pub(crate) const WEIGHTLESS: ReporterId = ReporterId(0);

/// What was added, by who did and in which generation. There are no more holders than reporters, or three times the
/// peers, and no more generations than are kept.
#[derive(Clone)]
pub(crate) struct Shares<K> {
    added: HashMap<K, BTreeMap<u64, u64>>,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Shares { added: HashMap::new() }
    }
}

impl<K: Eq + Hash> Shares<K> {
    /// What somebody has added since a generation began.
    pub(crate) fn added(&self, since: u64, who: K) -> u64 {
        self.added.get(&who).map_or(0, |added| added.range(since..).map(|(_, added)| added).sum())
    }

    /// Notes that it added some more. Says what it has added in that generation by now.
    pub(crate) fn add(&mut self, generation: u64, who: K, more: u64) -> u64 {
        let added = self.added.entry(who).or_default().entry(generation).or_default();
        *added += more;
        *added
    }

    /// What all of whom this is true have added since a generation began.
    pub(crate) fn added_by(&self, since: u64, counts: impl Fn(&K) -> bool) -> u64 {
        let added =
            |(_, added): (&K, &BTreeMap<u64, u64>)| added.range(since..).map(|(_, one)| one).sum::<u64>();
        self.added.iter().filter(|(who, _)| counts(who)).map(added).sum()
    }

    /// Forgets what was added before a generation.
    pub(crate) fn forget_before(&mut self, generation: u64) {
        for added in self.added.values_mut() {
            *added = added.split_off(&generation);
        }
        self.added.retain(|_, added| !added.is_empty());
    }
}

/// Whether the operator vouches for it: its room has no limit but the capacity.
pub(crate) fn is_vouched(reporter: &Reporter) -> bool {
    reporter.id == OPERATOR || reporter.is_vouched()
}

/// Whether what it says takes room in the tally.
pub(crate) fn takes_room(verb: Verb, reporter: ReporterId, weight: u8) -> bool {
    let is_opinion = matches!(verb, Verb::Report | Verb::Revoke);
    !is_opinion || weight > 0 || reporter == OPERATOR
}

/// What one reporter may have added to what is kept.
pub(crate) fn most(config: &LedgerConfig, reporter: &Reporter) -> u64 {
    if is_vouched(reporter) { u64::MAX } else { of(config.capacity, config.reporter_percent) }
}

/// The keys that cases name: one a signature, and the shingles of a text.
pub(crate) fn named(cases: &[Case]) -> u64 {
    let keys = |signature: SignatureRef<'_>| if signature.kind().is_near() { SHINGLES as u64 } else { 1 };
    cases.iter().flat_map(Case::iter).map(keys).sum()
}

/// The keys that one reporter may name in one generation.
pub(crate) fn named_max(config: &LedgerConfig, reporter: &Reporter) -> u64 {
    most(config, reporter).saturating_mul(NAMED_PER_SHARE)
}

/// What all whom nobody vouches for may add together in one generation.
pub(crate) fn of_others(config: &LedgerConfig) -> u64 {
    of(config.capacity, OTHERS_PERCENT)
}

/// The texts that one whom nobody vouches for may have added to those that are kept.
pub(crate) fn texts_max(config: &LedgerConfig) -> u64 {
    of(config.near_capacity, config.reporter_percent)
}

/// The same of all of them together.
pub(crate) fn texts_of_others(config: &LedgerConfig) -> u64 {
    of(config.near_capacity, OTHERS_PERCENT)
}

/// What a peer may add in a generation of what there is room for `capacity`.
pub(crate) fn of_peer(config: &LedgerConfig, capacity: u64) -> u64 {
    of(capacity, config.reporter_percent)
}

fn of(capacity: u64, percent: u32) -> u64 {
    (u128::from(capacity) * u128::from(percent) / 100) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_what_was_added_in_all_generations_that_are_kept() {
        let mut shares = Shares::default();
        assert_eq!(shares.add(5, "one", 3), 3);
        assert_eq!(shares.add(5, "one", 2), 5);
        shares.add(6, "one", 10);
        shares.add(6, "other", 7);
        assert_eq!([0, 5, 6, 7].map(|since| shares.added(since, "one")), [15, 15, 10, 0]);
        assert_eq!(shares.added_by(6, |who| *who != "one"), 7);
        shares.forget_before(6);
        assert_eq!((shares.added(0, "one"), shares.added(0, "other")), (10, 7));
        shares.forget_before(7);
        assert!(shares.added.is_empty());
    }
}
