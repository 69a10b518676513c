//! Staging what was heard from peers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use seenit_filter::hash::Hash128;

use super::{Stage, many_taken_back, row_after, whose};
use crate::follow::{KeyChange, Mark};
use crate::journal::heard::{HeardBody, Origin};
use crate::journal::{JournalError, RecordNumber, Row, RowKey, row_key};
use crate::keys::Key;
use crate::memory::{BULK_GENERATIONS, Memory};
use crate::open::BulkMarks;
use crate::peers::table::Peers;
use crate::record::{Before, Record, Verb, WeighedOpinion};
use crate::reporter::ReporterId;
use crate::salvage::Lost;
use crate::sum::signature_sum;
use crate::tally::Tally;

/// What a batch keeps of peers' records while it is made.
pub(crate) struct Hearing {
    pub(crate) peers: Arc<Peers>,
    pub(crate) heard: HeardOutcome,
    /// Rows of peers that this batch writes.
    rows: HashMap<(u64, RowKey), Row>,
    /// Peers' last opinions on shingles, and their generations.
    voices: HashMap<RowKey, (u64, Row)>,
}

/// What memory takes over of peers' records.
#[derive(Default)]
pub(crate) struct HeardOutcome {
    /// The serial number of the next record that is heard.
    pub(crate) next: u64,
    /// Bulk marks of peers that are believed.
    pub(crate) promoted: HashSet<(u64, Hash128)>,
}

impl HeardOutcome {
    /// How many of the bulk marks memory does not have yet.
    pub(crate) fn new_marks(&self, memory: &Memory, now: u64) -> BulkMarks {
        let mut marks = BulkMarks { today: 0, all: 0 };
        for (generation, _) in self.promoted.iter().filter(|(of, hash)| !memory.is_promoted(*of, *hash)) {
            marks.today += u64::from(*generation == now);
            marks.all += 1;
        }
        marks
    }
}

/// What a record would add to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gain {
    pub(crate) signatures: u64,
    pub(crate) texts: u64,
    pub(crate) bulk: u64,
}

impl Hearing {
    pub(super) fn new(peers: Arc<Peers>, next: u64) -> Self {
        let heard = HeardOutcome { next, ..HeardOutcome::default() };
        Hearing { peers, heard, rows: HashMap::new(), voices: HashMap::new() }
    }
}

impl Stage<'_> {
    /// Bulk marks of peers that this batch adds to this generation's.
    pub(crate) fn promoted(&self) -> u64 {
        let of_today = |(generation, _): &&(u64, Hash128)| *generation == self.generation;
        self.hearing.heard.promoted.iter().filter(of_today).count() as u64
    }

    /// What a record of a peer would add to memory.
    pub(crate) fn gain(&self, generation: u64, record: &Record) -> Gain {
        let memory = self.memory;
        let hearing = &self.hearing;
        let mut gain = Gain::default();
        for key in memory.keys_of(&record.case) {
            match record.verb {
                Verb::Withdraw => {}
                Verb::Promote => {
                    let is_there = memory.is_promoted(generation, key.hash)
                        || hearing.heard.promoted.contains(&(generation, key.hash));
                    gain.bulk += u64::from(!is_there);
                }
                _ if key.is_shingle() => {
                    gain.texts +=
                        u64::from(key.is_text && record.shingle_units() > 0 && !memory.is_known(key));
                }
                _ => gain.signatures += u64::from(self.is_new(key)),
            }
        }
        gain
    }

    /// What lost records add to the signatures that this batch may take from the journal: what the tallies have
    /// beyond the journal before the commit. It is staged, too. An opinion of full weight that contradicts lost
    /// records ends what they say.
    pub(crate) fn lost(&mut self) -> Result<HashMap<Hash128, Lost>, JournalError> {
        let memory = self.memory;
        let mut lost = HashMap::<Hash128, Tally>::new();
        if !memory.has_lost_records {
            return Ok(HashMap::new());
        }
        let asked: HashSet<Hash128> = {
            let changes = self.changes.iter().filter(|change| change.may_need_its_sum(memory));
            changes.map(|change| change.key.hash).collect()
        };
        // Of most signatures nobody has said anything: then the journal need not be read.
        for hash in asked.into_iter().filter(|hash| memory.table.get(*hash) != 0) {
            lost.insert(hash, memory.tally(hash).beyond(&signature_sum(self.journal, hash)?.tally));
        }
        for change in self.changes.iter().filter(|change| change.ends_lost(memory)) {
            lost.insert(change.key.hash, Tally::default());
        }
        for change in &self.changes {
            let marks = lost.get_mut(&change.key.hash).map(|tally| &mut tally.marks);
            match (change.mark, marks) {
                (Some(Mark::Protected(false)), Some(marks)) => marks.protected = false,
                (Some(Mark::Forgotten(_)), Some(marks)) => marks.many = false,
                _ => {}
            }
        }
        lost.iter().for_each(|(hash, tally)| self.batch.lost(*hash, tally));
        Ok(lost.into_iter().map(|(hash, tally)| (hash, Lost::Known(tally))).collect())
    }

    /// Stages what was heard. The record of a body that is counted gets its befores here.
    pub(crate) fn hear(
        &mut self,
        generation: u64,
        origin: Origin,
        mut body: HeardBody,
    ) -> Result<(), JournalError> {
        self.journal.ensure_heard(generation)?;
        let serial = self.hearing.heard.next;
        if let HeardBody::Counted(record) = &mut body {
            let number = RecordNumber::of_heard(serial, record.reporter);
            self.count_heard(generation, number, record)?;
        }
        self.batch.heard(generation, serial, origin, &body)?;
        self.hearing.heard.next += 1;
        Ok(())
    }

    fn count_heard(
        &mut self,
        generation: u64,
        number: RecordNumber,
        record: &mut Record,
    ) -> Result<(), JournalError> {
        let slot = record.reporter.slot().unwrap_or(0);
        let keys = self.memory.keys_of(&record.case);
        if record.verb == Verb::Forget {
            record.count = self.seen_count(&record.case);
        }
        for key in keys {
            let before = match record.verb {
                Verb::Promote => self.promotion(generation, slot, key.hash),
                _ if key.is_shingle() => self.voice(generation, number, record, key)?,
                _ => self.opinion(generation, number, record, key)?,
            };
            record.befores.push(before);
        }
        Ok(())
    }

    /// A peer's bulk mark. It is kept in any case, and counts while the peer is believed.
    fn promotion(&mut self, generation: u64, slot: u16, hash: Hash128) -> Before {
        let is_believed = self.hearing.peers.believes_bulk(slot, self.config.bulk_threshold);
        if generation + BULK_GENERATIONS > self.generation {
            self.batch.bulk(generation, hash, slot);
            if is_believed {
                self.hearing.heard.promoted.insert((generation, hash));
            }
        }
        Before::default()
    }

    /// A peer's opinion on a signature.
    fn opinion(
        &mut self,
        generation: u64,
        number: RecordNumber,
        record: &Record,
        key: Key,
    ) -> Result<Before, JournalError> {
        let is_known = self.memory.is_known(key);
        let row = self.heard_row(generation, number, record, key, is_known)?;
        if let Some((row_key, row)) = many_taken_back(record, key, number) {
            self.put_heard_row(generation, row_key, row)?;
        }
        let before = Before { counted: row.is_some_and(|(_, counted)| counted), ..Before::default() };
        let is_fresh = self.is_new(key);
        if is_fresh && record.verb.adds() {
            self.fresh.insert(key.hash);
        }
        // Of a signature that nobody knew the opinion is all there is, unless the same reporter has taken it back
        // since; marks are the journal's to tell.
        let is_plain = matches!(record.verb, Verb::Report | Verb::Revoke | Verb::Withdraw);
        let is_all = is_fresh && is_plain && !self.is_followed(generation, key.hash, record.reporter)?;
        let change = KeyChange::of(generation, record, key, before);
        self.changes.push(KeyChange { is_asked: !is_all, mark: None, ..change });
        Ok(before)
    }

    /// Whether a reporter said something of a key in a later generation.
    fn is_followed(
        &self,
        generation: u64,
        hash: Hash128,
        reporter: ReporterId,
    ) -> Result<bool, JournalError> {
        if generation == self.generation {
            return Ok(false);
        }
        let newest = self.journal.newest_row(&row_key(hash, reporter))?;
        Ok(newest.is_some_and(|(newest, _)| newest > generation))
    }

    /// A peer's opinion on a shingle. A record whose opinion is not the last one changes nothing: what it says is what
    /// was said before, then.
    fn voice(
        &mut self,
        generation: u64,
        number: RecordNumber,
        record: &Record,
        key: Key,
    ) -> Result<Before, JournalError> {
        let row_id = row_key(key.hash, whose(record.verb, record.reporter, true));
        let is_known = self.memory.is_known(key) || generation < self.generation;
        let last = match self.hearing.voices.get(&row_id) {
            Some(&last) => Some(last),
            None if is_known => self.journal.newest_row(&row_id)?,
            None => None,
        };
        let row = self.heard_row(generation, number, record, key, is_known)?.map(|(row, _)| row);
        let row = row.filter(|_| last.is_none_or(|(newest, _)| newest <= generation));
        let before = match row {
            Some(_) => last.map_or(WeighedOpinion::NONE, |(_, last)| last.weighed()),
            None => record.says_of(true, Before::default()),
        };
        if let Some(row) = row {
            self.hearing.voices.insert(row_id, (generation, row));
        }
        let WeighedOpinion { opinion, weight } = before;
        let before = Before { opinion, weight, ..Before::default() };
        self.changes.push(KeyChange::of(generation, record, key, before));
        Ok(before)
    }

    /// Stages the row of a key, and says whether the record counts in raw totals. None where a reporter of this site
    /// said something later.
    fn heard_row(
        &mut self,
        generation: u64,
        number: RecordNumber,
        record: &Record,
        key: Key,
        is_known: bool,
    ) -> Result<Option<(Row, bool)>, JournalError> {
        let row_id = row_key(key.hash, whose(record.verb, record.reporter, key.is_shingle()));
        let today = match self.hearing.rows.get(&(generation, row_id)) {
            Some(&row) => Some(row),
            None if is_known => self.journal.row(generation, &row_id)?,
            None => None,
        };
        if number.returned_serial().is_some() {
            let is_staged = self.rows.get(&row_id).is_some_and(|(staged, _)| *staged == generation);
            let known = today.filter(|_| is_known);
            if is_staged || known.map_or(Ok(false), |row| self.journal.is_said_later(&row, record))? {
                return Ok(None);
            }
        }
        let (row, counted) = row_after(today, record, key, false, number, self.config.raw_max);
        self.put_heard_row(generation, row_id, row)?;
        Ok(Some((row, counted)))
    }

    fn put_heard_row(&mut self, generation: u64, row_id: RowKey, row: Row) -> Result<(), JournalError> {
        self.batch.row(generation, &row_id, &row)?;
        self.hearing.rows.insert((generation, row_id), row);
        Ok(())
    }
}
