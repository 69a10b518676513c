//! Aging, and making memory anew from the journal: both go through the rows of the index.

use std::collections::{BTreeMap, HashMap, HashSet};

use seenit_filter::hash::Hash128;
use seenit_signature::Kind;

use crate::exact::{exact_of, last_words, live_rows};
use crate::journal::heard::{Body, returned_serial, row_number};
use crate::journal::{Journal, JournalError, LASTING, Row, Said, is_mark, row_key};
use crate::keys::Key;
use crate::memory::{BULK_GENERATIONS, Effect, Memory};
use crate::protection;
use crate::record::{Opinion, Record, Verb};
use crate::reporter::ReporterId;
use crate::salvage::Lost;
use crate::stage::{many_taken_back, row_after, whose};

/// Makes empty tallies of all live rows; `progress` hears of each. Says of how many signatures each generation has the
/// newest rows.
pub(crate) fn fold(
    memory: &Memory,
    journal: &Journal,
    mut progress: impl FnMut(),
) -> Result<Ages, JournalError> {
    let (peers, mut ages) = (journal.peers(), Ages::default());
    journal.each_key(|hash, rows| {
        rows.iter().for_each(|_| progress());
        if rows.iter().any(|(_, _, row)| row.is_shingle) {
            for (reporter, row) in last_words(rows) {
                let now = peers.weigh(reporter, (row.opinion, row.weight), true);
                memory.near.change(key_of(hash, &row), (Opinion::None, 0), now);
            }
        } else {
            let exact = exact_of(rows, &peers);
            memory.put_exact(hash, &exact, Lost::nothing());
            if exact.tally.pack() != 0 {
                ages.add(rows);
            }
        }
        Ok(())
    })?;
    Ok(ages)
}

/// How many signatures are as old as what: by the generation of their newest row.
#[derive(Debug, Default)]
pub(crate) struct Ages(BTreeMap<u64, u64>);

impl Ages {
    fn add(&mut self, rows: &[Said]) {
        // A protection that was undone has a row, too, and says nothing any more.
        let speaking = rows.iter().find(|(_, _, row)| row.opinion != Opinion::None);
        if let Some((newest, ..)) = speaking.or(rows.first()) {
            *self.0.entry(*newest).or_default() += 1;
        }
    }

    /// Signatures of each generation, protections in the last one there can be.
    pub(crate) fn by_generation(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(&generation, &signatures)| (generation, signatures))
    }

    /// The first generation that counts where the tally has room for `capacity` signatures: 0 where all fit. The
    /// present one, `now`, and protections count in any case.
    pub(crate) fn first_that_fits(&self, capacity: u64, now: u64) -> u64 {
        let mut held: u64 = self.0.values().sum();
        if held <= capacity {
            return 0;
        }
        for (&generation, signatures) in self.0.range(..now) {
            held -= signatures;
            if held <= low_water(capacity) {
                return generation + 1;
            }
        }
        now
    }
}

/// Where forgetting ends, once the tally is full: a twentieth of it is free then, so that it is not full again with the
/// next write. A generation is seldom less.
pub(crate) fn low_water(capacity: u64) -> u64 {
    capacity - capacity / 20
}

/// Takes back what a generation that is too old now still adds to the tallies. Exact tallies are without it from the
/// beginning. Of most signatures a row is all that the tally has, and no newer generation is asked for it: writes wait
/// meanwhile.
pub(crate) fn hide(memory: &Memory, journal: &Journal, generation: u64) -> Result<(), JournalError> {
    let newer: Vec<u64> =
        journal.generations().into_iter().filter(|&one| one > generation && one != LASTING).collect();
    journal.hide_before(generation + 1);
    let mut settled = HashSet::new();
    journal.each_row(generation, |hash, reporter, row| {
        let is_lone = !row.is_shingle && !is_mark(reporter) && memory.tally(hash).is_all_of(&row);
        let is_last = is_lone || !has_newer(journal, &newer, hash, reporter)?;
        remove_row(memory, journal, hash, (generation, reporter, row), is_last, &mut settled)
    })
}

fn has_newer(
    journal: &Journal,
    newer: &[u64],
    hash: Hash128,
    reporter: ReporterId,
) -> Result<bool, JournalError> {
    let key = row_key(hash, reporter);
    for &generation in newer {
        if journal.row(generation, &key)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The key of a row. Of a signature the kind does not matter here: any but the shingles'.
pub(crate) fn key_of(hash: Hash128, row: &Row) -> Key {
    let kind = match (row.is_shingle, row.is_rspamd) {
        (false, _) => Kind::Exact1,
        (true, false) => Kind::Near1,
        (true, true) => Kind::RspamdNear,
    };
    Key { hash, kind, is_text: row.is_text }
}

/// Takes a row that is hidden by now out of the tallies.
fn remove_row(
    memory: &Memory,
    journal: &Journal,
    hash: Hash128,
    said: Said,
    is_last: bool,
    settled: &mut HashSet<Hash128>,
) -> Result<(), JournalError> {
    let (_, reporter, row) = said;
    if (reporter.slot().is_some() || is_mark(reporter)) && !row.is_shingle {
        return settle(memory, journal, hash, said, settled);
    }
    let before = if is_last { (row.opinion, row.weight) } else { (Opinion::None, 0) };
    // A peer's row that comes here is its voice on a shingle.
    let is_peers = reporter.slot().is_some();
    let before = if is_peers { journal.peers().weigh(reporter, before, true) } else { before };
    let raw = (-i32::from(row.raw_spam), -i32::from(row.raw_ham));
    let effect = Effect { before, now: (Opinion::None, 0), raw };
    if settled.contains(&hash) || memory.apply(key_of(hash, &row), effect) {
        return Ok(());
    }
    settle(memory, journal, hash, said, settled)
}

/// Takes over what the journal knows of a signature: what a peer's opinion adds depends on all others of that peer, and
/// whether a mark still stands on all who set it.
fn settle(
    memory: &Memory,
    journal: &Journal,
    hash: Hash128,
    (generation, reporter, _): Said,
    settled: &mut HashSet<Hash128>,
) -> Result<(), JournalError> {
    if !settled.insert(hash) {
        return Ok(());
    }
    let (mut rows, peers, mut lost) = (live_rows(journal, hash)?, journal.peers(), Lost::nothing());
    let now = exact_of(&rows, &peers);
    if memory.has_lost_records {
        // Rows go reporter by reporter: those of lower numbers are out of the tally already.
        let hidden = journal.rows_of(generation, hash, usize::MAX)?.into_iter();
        let left = hidden.filter(|(whose, _)| *whose >= reporter);
        rows.extend(left.map(|(whose, row)| (generation, whose, row)));
        lost = Lost::beyond(memory, hash, &exact_of(&rows, &peers));
    }
    memory.put_exact(hash, &now, lost);
    Ok(())
}

/// Marks in memory what the journal knows as bulk.
pub(crate) fn fold_bulk(
    memory: &Memory,
    journal: &Journal,
    now: u64,
    threshold: u64,
) -> Result<(), JournalError> {
    journal.each_believed_bulk(threshold, |generation, hash| {
        if generation <= now && generation + BULK_GENERATIONS > now {
            memory.promote(generation, hash);
        }
    })
}

/// Makes the index anew from the log, record by record; `progress` hears of each.
pub(crate) fn reindex(
    memory: &Memory,
    journal: &Journal,
    raw_max: u32,
    mut progress: impl FnMut(),
) -> Result<(), JournalError> {
    /// Records between commits: memory stays small, and a run that is cut off is begun again anyway.
    const RECORDS: usize = 1000;
    set_reindexing(journal, true)?;
    for generation in journal.generations() {
        journal.clear_index(generation)?;
        if generation == LASTING {
            protection::index(journal, &memory.sip, &mut progress)?;
            continue;
        }
        let mut pending: Vec<(u64, Record)> = Vec::new();
        journal.each_record(generation, 0, |number, record| {
            progress();
            pending.push((number, record));
            if pending.len() == RECORDS {
                index_records(memory, journal, generation, raw_max, &std::mem::take(&mut pending))?;
            }
            Ok(())
        })?;
        index_records(memory, journal, generation, raw_max, &std::mem::take(&mut pending))?;
        journal.each_heard(generation, 0, |serial, _, body| {
            progress();
            if let Body::Counted(record) = body {
                pending.push((row_number(serial, record.reporter), record));
            }
            if pending.len() == RECORDS {
                index_records(memory, journal, generation, raw_max, &std::mem::take(&mut pending))?;
            }
            Ok(())
        })?;
        index_records(memory, journal, generation, raw_max, &pending)?;
    }
    set_reindexing(journal, false)
}

/// Whether the index was being made anew when the process ended: it is not to be used then.
pub(crate) fn is_reindexing(journal: &Journal) -> Result<bool, JournalError> {
    Ok(journal.number("reindexing")?.unwrap_or(0) > 0)
}

fn set_reindexing(journal: &Journal, is_under_way: bool) -> Result<(), JournalError> {
    let mut batch = journal.batch();
    batch.number("reindexing", is_under_way.into());
    batch.commit()
}

fn index_records(
    memory: &Memory,
    journal: &Journal,
    generation: u64,
    raw_max: u32,
    records: &[(u64, Record)],
) -> Result<(), JournalError> {
    let mut rows = HashMap::new();
    for (number, record) in records.iter().filter(|(_, record)| record.verb != Verb::Promote) {
        for (key, before) in memory.keys_of(&record.case).into_iter().zip(&record.befores) {
            // What weighs nothing was not counted; older releases did.
            let is_weighty = record.weight > 0 && !before.void;
            let raw_max = if is_weighty || before.counted { raw_max } else { 0 };
            let row_key = row_key(key.hash, whose(record.verb, record.reporter, key.is_shingle()));
            let today = match rows.get(&row_key) {
                Some(row) => Some(*row),
                None => journal.row(generation, &row_key)?,
            };
            if let Some(row) = today.filter(|_| returned_serial(*number).is_some())
                && journal.is_said_later(&row, record)?
            {
                continue;
            }
            rows.insert(row_key, row_after(today, record, key, before.void, *number, raw_max).0);
            rows.extend(many_taken_back(record, key, *number));
        }
    }
    let mut batch = journal.batch();
    for (key, row) in &rows {
        batch.row(generation, key, row)?;
    }
    batch.commit()
}
