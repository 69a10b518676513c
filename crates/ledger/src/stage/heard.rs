//! Staging what was heard from peers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use seenit_filter::hash::Hash128;

use super::{Mark, Stage, many_taken_back, row_after, whose};
use crate::exact::exact;
use crate::journal::heard::{Body, Origin, returned_serial, row_number};
use crate::journal::{JournalError, Row, RowKey, row_key};
use crate::keys::Key;
use crate::memory::{BULK_GENERATIONS, Effect, Memory, units_of};
use crate::open::BulkMarks;
use crate::peers::table::Peers;
use crate::record::{Before, Opinion, Record, Verb};
use crate::reporter::ReporterId;
use crate::salvage::{self, Lost};
use crate::tally::Tally;
use crate::trust::POINTS_MAX;

/// What a batch keeps of peers' records while it is made.
pub(crate) struct Hearing {
    pub(crate) peers: Arc<Peers>,
    pub(crate) heard: Heard,
    /// Rows of peers that this batch writes.
    rows: HashMap<(u64, RowKey), Row>,
    /// Peers' last opinions on shingles, and their generations.
    voices: HashMap<RowKey, (u64, Row)>,
}

/// What memory takes over of peers' records.
#[derive(Default)]
pub(crate) struct Heard {
    /// The serial number of the next record that is heard.
    pub(crate) next: u64,
    /// Signatures whose tallies are to be taken from the journal: caps hold for all opinions of a peer together.
    pub(crate) exact: HashSet<Hash128>,
    /// Bulk marks of peers that are believed.
    pub(crate) promoted: HashSet<(u64, Hash128)>,
}

impl Heard {
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
        let heard = Heard { next, ..Heard::default() };
        Hearing { peers, heard, rows: HashMap::new(), voices: HashMap::new() }
    }

    /// After an own forget it is the journal that knows what peers' marks still stand.
    pub(super) fn note_own(&mut self, verb: Verb, hash: Hash128) {
        if verb == Verb::Forget && !self.peers.is_empty() {
            self.heard.exact.insert(hash);
        }
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
        let (memory, hearing, mut gain) = (self.memory, &self.hearing, Gain::default());
        for key in memory.keys_of(&record.case) {
            match record.verb {
                Verb::Withdraw => {}
                Verb::Promote => {
                    let is_there = memory.is_promoted(generation, key.hash)
                        || hearing.heard.promoted.contains(&(generation, key.hash));
                    gain.bulk += u64::from(!is_there);
                }
                _ if key.is_shingle() => {
                    gain.texts += u64::from(key.is_text && units_of(record) > 0 && !memory.is_known(key));
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
        let (memory, mut lost) = (self.memory, HashMap::<Hash128, Tally>::new());
        if !memory.has_lost_records {
            return Ok(HashMap::new());
        }
        let is_asked = |(key, effect): &&(Key, Effect)| {
            !key.is_shingle() && (effect.now.1 >= POINTS_MAX || memory.tally(key.hash).is_saturated())
        };
        let own = self.effects.iter().filter(is_asked).map(|(key, _)| key.hash);
        let marked = self.marks.iter().map(|(hash, _)| *hash);
        let mut asked: HashSet<Hash128> = self.hearing.heard.exact.iter().copied().collect();
        asked.extend(own.chain(marked));
        // Of most signatures nobody has said anything: then the journal need not be read.
        for hash in asked.into_iter().filter(|hash| memory.table.get(*hash) != 0) {
            lost.insert(hash, memory.tally(hash).beyond(&exact(self.journal, hash)?.tally));
        }
        for (key, effect) in self.effects.iter().filter(is_asked) {
            if salvage::is_contradicted(memory, key.hash, effect) {
                lost.insert(key.hash, Tally::default());
            }
        }
        for (hash, mark) in &self.marks {
            let marks = lost.get_mut(hash).map(|tally| &mut tally.marks);
            match (mark, marks) {
                (Mark::Protected(false), Some(marks)) => marks.protected = false,
                (Mark::Forgotten(_), Some(marks)) => marks.many = false,
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
        mut body: Body,
    ) -> Result<(), JournalError> {
        self.journal.ensure_heard(generation)?;
        let serial = self.hearing.heard.next;
        if let Body::Counted(record) = &mut body {
            let number = row_number(serial, record.reporter);
            self.count_heard(generation, number, record)?;
        }
        self.batch.heard(generation, serial, origin, &body)?;
        self.hearing.heard.next += 1;
        Ok(())
    }

    fn count_heard(&mut self, generation: u64, number: u64, record: &mut Record) -> Result<(), JournalError> {
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
        number: u64,
        record: &Record,
        key: Key,
    ) -> Result<Before, JournalError> {
        let is_known = self.memory.is_known(key);
        let counted = self.heard_row(generation, number, record, key, is_known)?.1;
        if let Some((row_key, row)) = many_taken_back(record, key, number) {
            self.put_heard_row(generation, row_key, row)?;
        }
        let before = Before { counted, ..Before::default() };
        let is_fresh = self.is_new(key);
        if is_fresh && record.verb.adds() {
            self.fresh.insert(key.hash);
        }
        // Of a signature that nobody knew the opinion is all there is, unless the same reporter has taken it back
        // since; marks are the journal's to tell.
        let is_plain = matches!(record.verb, Verb::Report | Verb::Revoke | Verb::Withdraw);
        if is_fresh && is_plain && !self.is_followed(generation, key.hash, record.reporter)? {
            let mut effect = Effect::of(record, before, false);
            effect.now = self.hearing.peers.weigh(record.reporter, effect.now, false);
            self.effects.push((key, effect));
        } else {
            self.hearing.heard.exact.insert(key.hash);
        }
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
        number: u64,
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
        let (row, _) = self.heard_row(generation, number, record, key, is_known)?;
        let said = match last {
            Some((newer, _)) if newer > generation => (row.opinion, row.weight),
            Some((_, last)) => (last.opinion, last.weight),
            None => (Opinion::None, 0),
        };
        if last.is_none_or(|(newest, _)| newest <= generation) {
            self.hearing.voices.insert(row_id, (generation, row));
        }
        let weigh = |said| self.hearing.peers.weigh(record.reporter, said, true);
        let effect = Effect { before: weigh(said), now: weigh((row.opinion, row.weight)), raw: (0, 0) };
        self.effects.push((key, effect));
        Ok(Before { opinion: said.0, weight: said.1, ..Before::default() })
    }

    /// Stages the row of a key, and says whether the record counts in raw totals.
    fn heard_row(
        &mut self,
        generation: u64,
        number: u64,
        record: &Record,
        key: Key,
        is_known: bool,
    ) -> Result<(Row, bool), JournalError> {
        let row_id = row_key(key.hash, whose(record.verb, record.reporter, key.is_shingle()));
        let today = match self.hearing.rows.get(&(generation, row_id)) {
            Some(&row) => Some(row),
            None if is_known => self.journal.row(generation, &row_id)?,
            None => None,
        };
        if returned_serial(number).is_some() {
            let staged = self.rows.get(&row_id).filter(|(staged, _)| *staged == generation);
            if let Some((_, row)) = staged {
                return Ok((*row, false));
            }
            if let Some(row) = today.filter(|_| is_known)
                && self.journal.is_said_later(&row, record)?
            {
                return Ok((row, false));
            }
        }
        let (row, counted) = row_after(today, record, key, false, number, self.config.raw_max);
        self.put_heard_row(generation, row_id, row)?;
        Ok((row, counted))
    }

    fn put_heard_row(&mut self, generation: u64, row_id: RowKey, row: Row) -> Result<(), JournalError> {
        self.batch.row(generation, &row_id, &row)?;
        self.hearing.rows.insert((generation, row_id), row);
        Ok(())
    }
}
