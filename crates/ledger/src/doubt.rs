//! Filters whose present false-positive rate is beyond what they promise: what rests on them is no opinion.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The filters that answers rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterName {
    /// The table of what was reported and revoked.
    Tally,
    /// The counts of recipients.
    Seen,
    /// The marks of what is bulk.
    Bulk,
    /// The shingles of texts.
    Near,
}

impl FilterName {
    pub(crate) const ALL: [FilterName; 4] =
        [FilterName::Tally, FilterName::Seen, FilterName::Bulk, FilterName::Near];

    /// How it is spelt.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            FilterName::Tally => "tally",
            FilterName::Seen => "seen",
            FilterName::Bulk => "bulk",
            FilterName::Near => "near",
        }
    }
}

/// Which filters are in doubt. The prober sets it, every answer looks at it.
#[derive(Debug, Default)]
pub(crate) struct Doubts([AtomicBool; FilterName::ALL.len()]);

impl Doubts {
    #[inline]
    pub(crate) fn is_in_doubt(&self, filter: FilterName) -> bool {
        self.0[filter as usize].load(Relaxed)
    }

    pub(crate) fn put(&self, filter: FilterName, is_in_doubt: bool) {
        self.0[filter as usize].store(is_in_doubt, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LedgerConfig;
    use crate::follow::{Following, KeyChange, Unsummed};
    use crate::judge::Judge;
    use crate::memory::Memory;
    use crate::peers::table::Peers;
    use crate::record::{Before, Record, Verb};
    use crate::reporter::OPERATOR;
    use crate::signature::Case;
    use crate::verdict::{Rule, Verdict};
    use seenit_signature::Kind;
    use seenit_signature::near::SHINGLES;

    /// A text of which the first shingles are another text's own, and a link.
    fn text_with_link(own: usize) -> Case {
        let shingle = |slot: usize| if slot < own { 1000 + slot as u64 } else { slot as u64 };
        let shingles: Vec<u8> = (0..SHINGLES).flat_map(|slot| shingle(slot).to_le_bytes()).collect();
        let mut case = Case::new();
        case.push(Kind::Near1, &shingles).expect("shingles");
        case.push(Kind::Url1, &[7; 20]).expect("a link");
        case
    }

    /// Beside a link that spam has, half a replica makes spam: so it must not be what a filter in doubt says.
    #[test]
    fn half_a_replica_by_a_filter_in_doubt_makes_no_link_decide() {
        let config = LedgerConfig { quorum_shared: 10, ..LedgerConfig::default() };
        let memory = Memory::new(&config, [7; 16]).expect("fits");
        let spam = text_with_link(0);
        let keys = memory.keys_of(&spam);
        let verb = Verb::Report;
        let reporter = OPERATOR;
        let record =
            Record { verb, reporter, weight: 10, time: 0, count: 0, case: spam, befores: Vec::new() };
        let mut unsummed = Unsummed::default();
        let mut following = Following::new(&memory, Peers::default().into(), &mut unsummed);
        for key in keys {
            following.change(&KeyChange::of(1, &record, key, Before::default()));
        }
        let judge = Judge { memory: &memory, config: &config, generation: 1, journal: None };
        let half = text_with_link(SHINGLES - 13);
        assert_eq!(judge.message(&half).verdict, Verdict::Spam);
        memory.doubts.put(FilterName::Near, true);
        let judgement = judge.message(&half);
        assert_eq!(judgement.verdict, Verdict::NoOpinion);
        assert_eq!(judgement.reasons[0].rule, Rule::Overfull);
        let less = judge.message(&text_with_link(SHINGLES - 12));
        assert_eq!(less.verdict, Verdict::Unknown, "less than half is no witness anyway");
    }
}
