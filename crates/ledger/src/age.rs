//! Making memory and the index anew from the journal, and how old what it says is.

use std::collections::{BTreeMap, HashMap};

use crate::follow::put_key;
use crate::journal::heard::HeardBody;
use crate::journal::{Journal, JournalError, KeyRow, LASTING, RecordNumber, row_key};
use crate::memory::{BULK_GENERATIONS, Memory};
use crate::protection;
use crate::record::{Opinion, Record, Verb};
use crate::stage::{many_taken_back, row_after, whose};

/// Makes empty tallies of all live rows; `progress` hears of each. Says of how many signatures each generation has the
/// newest rows.
pub(crate) fn fold(
    memory: &Memory,
    journal: &Journal,
    mut progress: impl FnMut(),
) -> Result<Ages, JournalError> {
    let peers = journal.peers();
    let mut ages = Ages::default();
    journal.each_key(|hash, rows| {
        rows.iter().for_each(|_| progress());
        if put_key(memory, hash, rows, None, &peers) {
            ages.add(rows);
        }
        Ok(())
    })?;
    Ok(ages)
}

/// How many signatures are as old as what: by the generation of their newest row.
#[derive(Debug, Default)]
pub(crate) struct Ages(BTreeMap<u64, u64>);

impl Ages {
    fn add(&mut self, rows: &[KeyRow]) {
        // A protection that was undone has a row, too, and says nothing any more.
        let speaking = rows.iter().find(|one| one.row.opinion != Opinion::None);
        if let Some(newest) = speaking.or(rows.first()) {
            *self.0.entry(newest.generation).or_default() += 1;
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
        let mut pending: Vec<(RecordNumber, Record)> = Vec::new();
        journal.each_record(generation, 0, |number, record| {
            progress();
            pending.push((RecordNumber(number), record));
            if pending.len() == RECORDS {
                index_records(memory, journal, generation, raw_max, &std::mem::take(&mut pending))?;
            }
            Ok(())
        })?;
        index_records(memory, journal, generation, raw_max, &std::mem::take(&mut pending))?;
        journal.each_heard(generation, 0, |serial, _, body| {
            progress();
            if let HeardBody::Counted(record) = body {
                pending.push((RecordNumber::of_heard(serial, record.reporter), record));
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
    records: &[(RecordNumber, Record)],
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
            if let Some(row) = today.filter(|_| number.returned_serial().is_some())
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
