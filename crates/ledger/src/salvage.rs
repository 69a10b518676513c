//! A journal that lost records which a snapshot knows: what the snapshot's tallies say of them stays.
//!
//! Flipped bits or a lost file can make the journal end before a snapshot that is whole. Then the tallies of the
//! snapshot are all that is left of those records. They go on counting until the last of them would have expired. What
//! only records tell is gone: `explain` does not know who spoke, nobody's opinions can be taken back one by one, and
//! generations of lost records do not age out one by one. An opinion of full weight ([`POINTS_MAX`]), as the operator
//! has and nobody can earn, replaces such a tally where it contradicts it.
//!
//! So while there are lost records, a tally that is taken from the journal is the journal's and what it had
//! beyond that before ([`Lost`]): else the first opinion of a peer would erase what the operator said.

use crate::journal::horizon::NextNumbers;
use crate::journal::{Journal, JournalError};
use crate::memory::Memory;
use crate::record::{Opinion, WeighedOpinion};
use crate::sum::SignatureSum;
use crate::tally::Tally;
use crate::trust::POINTS_MAX;
use seenit_filter::hash::Hash128;

/// In `meta`: the generation in which records were found to be lost; 0 where that is over.
const LOST_AT: &str = "records_lost_at";

/// Whether tallies know records that the journal does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Salvage {
    /// The journal has all of them.
    NotNeeded,
    /// Records were lost in this generation.
    Since(u64),
    /// The last of those that were lost has expired.
    Over,
}

impl Salvage {
    /// What an earlier start found.
    pub(crate) fn read(journal: &Journal, now: u64, record_generations: u64) -> Result<Self, JournalError> {
        Ok(match journal.number(LOST_AT)?.unwrap_or(0) {
            0 => Salvage::NotNeeded,
            lost if now >= lost.saturating_add(record_generations) => Salvage::Over,
            lost => Salvage::Since(lost),
        })
    }

    /// Keeps it for later starts. Where nothing rests on lost records, their numbers count as given: a later start must
    /// not take the snapshot that knows these numbers for one that knows more than the journal.
    pub(crate) fn keep(self, journal: &Journal, next: NextNumbers) -> Result<(), JournalError> {
        let mut batch = journal.batch();
        match self {
            Salvage::Since(lost) => batch.number(LOST_AT, lost),
            Salvage::NotNeeded | Salvage::Over => {
                batch.number(LOST_AT, 0);
                batch.forget_lost()?;
                batch.number("last", next.own - 1);
                batch.number("heard", next.heard - 1);
            }
        }
        batch.commit()
    }
}

/// What lost records add to what the journal knows of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// So much.
    Known(Tally),
    /// Nobody can tell, because the journal had later records of it already when the tally was asked, and has
    /// not kept it: the tally keeps at least what it has.
    Unknown,
}

impl Lost {
    /// What a tally has beyond `before`: all that the journal knew of the signature when both were of one
    /// moment.
    pub(crate) fn beyond(memory: &Memory, hash: Hash128, before: &SignatureSum) -> Self {
        Lost::Known(memory.tally(hash).beyond(&before.tally))
    }

    /// Nothing, or nothing any more.
    pub(crate) fn nothing() -> Self {
        Lost::Known(Tally::default())
    }

    /// What the journal kept of it, where nobody could tell.
    pub(crate) fn or_kept(
        self,
        memory: &Memory,
        journal: &Journal,
        hash: Hash128,
    ) -> Result<Self, JournalError> {
        if self != Lost::Unknown || !memory.has_lost_records {
            return Ok(self);
        }
        Ok(journal.lost(hash)?.map_or(Lost::Unknown, Lost::Known))
    }

    /// The tally of a signature of which the journal knows `known`, and which was `present` until now.
    pub(crate) fn with(&self, present: &Tally, known: &Tally) -> Tally {
        match self {
            Lost::Known(lost) => known.with(lost),
            Lost::Unknown => known.with(&present.beyond(known)),
        }
    }
}

/// What an operator should know of lost records.
pub(crate) fn told(last: u64, position: u64) -> String {
    let lost = position.saturating_sub(last);
    format!(
        "the journal lost {lost} records that the snapshot knows: verdicts about their messages stay until they \
         expire, but `explain` does not know who reported them, and those reports cannot be withdrawn; restore a \
         backup to have them back, or run `seenit rebuild` to go on without them"
    )
}

/// Whether a tally is to be taken from the journal because an opinion contradicts what lost records said.
pub(crate) fn is_contradicted(memory: &Memory, hash: Hash128, said: WeighedOpinion) -> bool {
    if !memory.has_lost_records || said.weight < POINTS_MAX {
        return false;
    }
    let tally = memory.tally(hash);
    match said.opinion {
        Opinion::Spam => tally.ham > 0,
        Opinion::Ham => tally.spam > 0,
        Opinion::None => false,
    }
}
