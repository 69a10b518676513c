//! Memory follows the journal, change by change: the fast way to what `sum` defines.
//!
//! Everything that changes what memory holds of a key comes through here: a commit, a replay of records that memory
//! does not know (after a snapshot, or after the journal failed), a generation that ages out, and a new table of peers.

use std::collections::HashMap;
use std::sync::Arc;

use seenit_filter::hash::Hash128;

use crate::journal::heard::HeardBody;
use crate::journal::{Journal, JournalError, KeyRow, LASTING, is_mark};
use crate::keys::Key;
use crate::memory::Memory;
use crate::near::Units;
use crate::peers::table::Peers;
use crate::record::{Before, Opinion, Record, Verb, WeighedOpinion};
use crate::reporter::ReporterId;
use crate::salvage::{self, Lost};
use crate::sum::{live_rows, shingle_sum_of, signature_sum, signature_sum_of};
use crate::tally::{Change, Forgotten};
use crate::trust::POINTS_MAX;

#[cfg(test)]
mod tests;

/// What a record does to one of its keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyChange {
    pub(crate) key: Key,
    /// Whose opinion it is.
    pub(crate) reporter: ReporterId,
    pub(crate) before: WeighedOpinion,
    pub(crate) now: WeighedOpinion,
    /// Whether it counts in raw totals.
    pub(crate) is_counted: bool,
    pub(crate) mark: Option<Mark>,
    /// Whether the journal must be asked what it comes to: of a peer all opinions together count up to its caps.
    pub(crate) is_asked: bool,
}

/// What a mark of memory becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    Protected(bool),
    Many,
    Forgotten(Forgotten),
    Bulk { generation: u64 },
}

impl KeyChange {
    /// Of a record of this generation on one of its keys.
    pub(crate) fn of(generation: u64, record: &Record, key: Key, before: Before) -> Self {
        // What another message protects stays protected.
        let mark = match record.verb {
            _ if key.is_shingle() => None,
            Verb::Protect => Some(Mark::Protected(true)),
            Verb::Unprotect => Some(Mark::Protected(before.opinion == Opinion::Ham)),
            Verb::Many => Some(Mark::Many),
            Verb::Forget => Some(Mark::Forgotten(Forgotten { generation, count: record.count })),
            Verb::Promote => Some(Mark::Bulk { generation }),
            Verb::Report | Verb::Revoke | Verb::Withdraw => None,
        };
        KeyChange {
            key,
            reporter: record.reporter,
            before: before.weighed(),
            now: record.says_of(key.is_shingle(), before),
            is_counted: before.counted && matches!(record.verb, Verb::Report | Verb::Revoke),
            mark,
            is_asked: false,
        }
    }

    /// Whether only the journal knows what it comes to. After an own forget peers' marks may still stand.
    fn is_asked_by(&self, peers: &Peers) -> bool {
        self.is_asked || matches!(self.mark, Some(Mark::Forgotten(_))) && !peers.is_empty()
    }

    /// Whether it may take its signature's sum from the journal, so that what lost records add must be known before.
    pub(crate) fn may_need_its_sum(&self, memory: &Memory) -> bool {
        let is_full = self.now.weight >= POINTS_MAX || memory.tally(self.key.hash).is_saturated();
        !self.key.is_shingle() && (is_full || self.is_asked || self.mark.is_some())
    }

    /// Whether it contradicts what lost records said of its signature, and so ends that.
    pub(crate) fn ends_lost(&self, memory: &Memory) -> bool {
        !self.key.is_shingle() && !self.is_asked && salvage::is_contradicted(memory, self.key.hash, self.now)
    }
}

/// Signatures whose tallies are wrong until the journal has said what they are, and what lost records add.
#[derive(Debug, Default)]
pub(crate) struct Unsummed(HashMap<Hash128, Lost>);

impl Unsummed {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes over what lost records add to those signatures, where it is known.
    pub(crate) fn add_lost(&mut self, known: &HashMap<Hash128, Lost>) {
        for (hash, lost) in &mut self.0 {
            *lost = known.get(hash).copied().unwrap_or(*lost);
        }
    }

    /// Takes the sums from the journal. What cannot be read stays unsummed.
    pub(crate) fn sum_up(&mut self, memory: &Memory, journal: &Journal) -> Result<(), JournalError> {
        let mut failed = None;
        let read = |hash, lost: Lost| -> Result<_, JournalError> {
            Ok((signature_sum(journal, hash)?, lost.or_kept(memory, journal, hash)?))
        };
        self.0.retain(|&hash, lost| match read(hash, *lost) {
            Ok((sum, lost)) => {
                memory.put_sum(hash, &sum, lost);
                false
            }
            Err(error) => {
                failed.get_or_insert(error);
                true
            }
        });
        failed.map_or(Ok(()), Err)
    }
}

/// Memory on its way after the journal.
pub(crate) struct Following<'a> {
    memory: &'a Memory,
    peers: Arc<Peers>,
    unsummed: &'a mut Unsummed,
}

impl<'a> Following<'a> {
    pub(crate) fn new(memory: &'a Memory, peers: Arc<Peers>, unsummed: &'a mut Unsummed) -> Self {
        Following { memory, peers, unsummed }
    }

    /// Makes a change, or notes its signature as unsummed where the bits in memory do not tell what it comes to.
    pub(crate) fn change(&mut self, change: &KeyChange) {
        let KeyChange { key, reporter, before, now, .. } = *change;
        let Following { memory, peers, unsummed } = self;
        if key.is_shingle() {
            let units = |said| Units::of(peers.weigh_shingle(reporter, said), key.is_text);
            return memory.near.change(key.hash, key.kind, units(before), units(now));
        }
        let weigh = |said| peers.weigh(reporter, said);
        let by = Change::of(weigh(before), weigh(now), change.is_counted);
        let is_known = || unsummed.0.contains_key(&key.hash) || memory.change(key.hash, by);
        if change.ends_lost(memory) {
            unsummed.0.insert(key.hash, Lost::nothing());
        } else if change.is_asked_by(peers) || !is_known() {
            unsummed.0.entry(key.hash).or_insert(Lost::Unknown);
        }
        if let Some(mark) = change.mark {
            memory.mark(key.hash, mark);
        }
    }

    /// A record of this site that memory does not know.
    pub(crate) fn replay(&mut self, generation: u64, record: &Record) {
        for (key, &before) in self.memory.keys_of(&record.case).into_iter().zip(&record.befores) {
            self.change(&KeyChange::of(generation, record, key, before));
        }
    }

    /// A record of a peer that memory does not know. Its bulk marks are the journal's to tell (`fold_bulk`).
    pub(crate) fn replay_heard(&mut self, generation: u64, body: &HeardBody) {
        if let HeardBody::Counted(record) = body
            && record.verb != Verb::Promote
        {
            for (key, &before) in self.memory.keys_of(&record.case).into_iter().zip(&record.befores) {
                if key.is_shingle() {
                    self.change(&KeyChange::of(generation, record, key, before));
                } else {
                    self.unsummed.0.entry(key.hash).or_insert(Lost::Unknown);
                }
            }
        }
    }
}

/// Takes back what a generation that is too old now still adds to memory. The journal's sums are without it from the
/// beginning. Of most signatures a row is all that the tally has, and no newer generation is asked for it: writes wait
/// meanwhile.
pub(crate) fn hide(memory: &Memory, journal: &Journal, generation: u64) -> Result<(), JournalError> {
    assert_ne!(generation, LASTING, "protections last until they are undone");
    let peers = journal.peers();
    journal.hide_before(generation + 1);
    let is_last = |hash, reporter| journal.has_no_newer_row(generation, hash, reporter);
    journal.each_key_in(vec![generation], |hash, rows| {
        let Some(first) = rows.first() else {
            return Ok(());
        };
        if first.row.is_shingle {
            for KeyRow { reporter, row, .. } in rows {
                if is_last(hash, *reporter)? {
                    let units = Units::of(peers.weigh_shingle(*reporter, row.weighed()), row.is_text);
                    memory.near.change(hash, row.shingle_kind(), units, Units::default());
                }
            }
            return Ok(());
        }
        // Of a peer's opinions and of marks only the journal knows what is left.
        let mut left = Some(memory.tally(hash));
        for KeyRow { reporter, row, .. } in rows {
            let is_plain = reporter.slot().is_none() && !is_mark(*reporter);
            let Some(tally) = left.filter(|_| is_plain) else {
                left = None;
                break;
            };
            let said = if tally.is_all_of(row) || is_last(hash, *reporter)? {
                row.weighed()
            } else {
                WeighedOpinion::NONE
            };
            left = tally.changed(Change::back(said, row));
        }
        match left {
            Some(left) => memory.put(hash, left),
            None => {
                let mut rows_before = live_rows(journal, hash)?;
                let now = signature_sum_of(&rows_before, &peers);
                rows_before.extend_from_slice(rows);
                let lost = Lost::beyond(memory, hash, &signature_sum_of(&rows_before, &peers));
                memory.put_sum(hash, &now, lost);
            }
        }
        Ok(())
    })
}

/// Takes over the sum of a key's live rows, where memory held their sum by another table of peers; or nothing, where
/// that is none. Says whether a tally is held since.
pub(crate) fn put_key(
    memory: &Memory,
    hash: Hash128,
    rows: &[KeyRow],
    before: Option<&Peers>,
    now: &Peers,
) -> bool {
    if let Some(shingle) = rows.iter().find(|one| one.row.is_shingle) {
        let units = before.map_or_else(Units::default, |peers| shingle_sum_of(rows, peers));
        memory.near.change(hash, shingle.row.shingle_kind(), units, shingle_sum_of(rows, now));
        return false;
    }
    let before = before.map_or_else(Default::default, |peers| signature_sum_of(rows, peers));
    let sum = signature_sum_of(rows, now);
    memory.put_sum(hash, &sum, Lost::beyond(memory, hash, &before));
    sum.tally.pack() != 0
}
