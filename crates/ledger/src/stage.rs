//! What writes will do, worked out before they are journalled: records, rows, and what they change in memory.
//!
//! The writer stages all writes that wait, commits them in one batch, and only then changes memory and answers. A write
//! later in the batch sees the rows of those before it.

use std::collections::{HashMap, HashSet};

use seenit_filter::hash::Hash128;
use seenit_signature::Kind;

use crate::answers::ProtectionReceipt;
use crate::config::LedgerConfig;
use crate::journal::heard::Body;
use crate::journal::{
    Batch, FORGETTING, Journal, JournalError, LASTING, MANY, Row, RowKey, is_mark, row_key,
};
use crate::keys::{Key, shingle_hashes};
use crate::memory::{Effect, Memory, units_of};
use crate::record::{Before, Record, Verb, Word};
use crate::reporter::{Reporter, ReporterId};
use crate::signature::Case;
use crate::trust::{TRUSTED_MIN, settle};

mod heard;
mod protect;

use heard::{Heard, Hearing};

/// Rows of one key that are looked at to find cases and earlier words: a signature that more reporters spoke of has
/// been settled long ago.
const ROWS_MAX: usize = 64;

/// Records whose cases a revocation takes along.
const CASES_MAX: usize = 32;

/// What a mark of memory becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    Protected(bool),
    Many,
    Forgotten(u64),
    Bulk,
}

/// What came of one write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staged {
    /// The number of its first record.
    pub(crate) first: u64,
    pub(crate) records: u32,
    /// Signatures that were known before.
    pub(crate) matched: u64,
    /// The signatures of its records.
    pub(crate) keys: Vec<Key>,
    /// What it did to protections.
    pub(crate) protection: Option<ProtectionReceipt>,
}

/// A batch of writes in the making.
pub(crate) struct Stage<'a> {
    pub(crate) journal: &'a Journal,
    pub(crate) memory: &'a Memory,
    pub(crate) config: &'a LedgerConfig,
    pub(crate) generation: u64,
    pub(crate) time: u64,
    /// The number of the next record.
    pub(crate) next: u64,
    pub(crate) batch: Batch<'a>,
    reporters: HashMap<ReporterId, Reporter>,
    rows: HashMap<RowKey, (u64, Row)>,
    /// Rows of keys that were read for this batch.
    journalled: HashMap<Hash128, Vec<(u64, ReporterId, Row)>>,
    /// Keys that a trusted word of this batch has settled.
    settled: HashSet<Hash128>,
    effects: Vec<(Key, Effect)>,
    marks: Vec<(Hash128, Mark)>,
    good_texts: Vec<u32>,
    /// Signatures that the tally does not hold yet, and that this batch adds.
    fresh: HashSet<Hash128>,
    hearing: Hearing,
}

/// What memory takes over once the batch is durable.
pub(crate) struct Outcome {
    pub(crate) next: u64,
    pub(crate) reporters: HashMap<ReporterId, Reporter>,
    generation: u64,
    effects: Vec<(Key, Effect)>,
    marks: Vec<(Hash128, Mark)>,
    good_texts: Vec<u32>,
    pub(crate) heard: Heard,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(
        (journal, memory, config): (&'a Journal, &'a Memory, &'a LedgerConfig),
        (generation, time): (u64, u64),
        (next, next_heard): (u64, u64),
    ) -> Self {
        Stage {
            journal,
            memory,
            config,
            generation,
            time,
            next,
            batch: journal.batch(),
            reporters: HashMap::new(),
            rows: HashMap::new(),
            journalled: HashMap::new(),
            settled: HashSet::new(),
            effects: Vec::new(),
            marks: Vec::new(),
            good_texts: Vec::new(),
            fresh: HashSet::new(),
            hearing: Hearing::new(journal.peers(), next_heard),
        }
    }

    /// New signatures that this batch adds to the tally.
    pub(crate) fn added(&self) -> u64 {
        self.fresh.len() as u64
    }

    /// How many signatures these cases would add to the tally; 0 where there is room for all of them anyway.
    pub(crate) fn new_signatures(&self, cases: &[Case], room: u64) -> u64 {
        let signatures: usize = cases.iter().map(Case::len).sum();
        if signatures as u64 <= room {
            return 0;
        }
        let keys = cases.iter().flat_map(|case| self.memory.keys_of(case));
        let new: HashSet<Hash128> = keys.filter(|key| self.is_new(*key)).map(|key| key.hash).collect();
        new.len() as u64
    }

    /// Whether a key is a signature that neither the tally nor this batch has.
    fn is_new(&self, key: Key) -> bool {
        !key.is_shingle() && !self.memory.is_known(key) && !self.fresh.contains(&key.hash)
    }

    /// Stages one record for each case. `known` gives the reporters as they are.
    pub(crate) fn write(
        &mut self,
        verb: Verb,
        reporter: &Reporter,
        cases: Vec<Case>,
        known: &HashMap<ReporterId, Reporter>,
    ) -> Result<Staged, JournalError> {
        let mut staged = Staged { first: self.next, ..Staged::default() };
        let id = reporter.id;
        // Each signature has a count of its own to be forgotten.
        let cases = if verb == Verb::Forget { cases.iter().flat_map(Case::singles).collect() } else { cases };
        let all_keys: Vec<Vec<Key>> = cases.iter().map(|case| self.memory.keys_of(case)).collect();
        self.memory.warm(&all_keys);
        for (case, keys) in cases.into_iter().zip(all_keys) {
            let signatures = case.len();
            let case = match verb {
                Verb::Revoke => self.whole(case, id, |_| true)?,
                Verb::Withdraw => self.whole(case, id, |reporter| reporter == id)?,
                _ => case,
            };
            let weight = self.reporters.get(&id).unwrap_or(reporter).weight;
            let keys = if case.len() == signatures { keys } else { self.memory.keys_of(&case) };
            if matches!(verb, Verb::Report | Verb::Revoke) && weight >= TRUSTED_MIN {
                self.settle_earlier(id, word_of(verb), &keys, known)?;
            }
            self.record(verb, (id, weight), case, keys, &mut staged)?;
        }
        if !matches!(verb, Verb::Promote) {
            let entry = self.reporters.entry(reporter.id).or_insert_with(|| reporter.clone());
            entry.records += u64::from(staged.records);
        }
        Ok(staged)
    }

    /// Stages a reporter's new state.
    pub(crate) fn put_reporter(&mut self, reporter: Reporter) {
        self.reporters.insert(reporter.id, reporter);
    }

    fn record(
        &mut self,
        verb: Verb,
        (id, weight): (ReporterId, u8),
        case: Case,
        keys: Vec<Key>,
        staged: &mut Staged,
    ) -> Result<(), JournalError> {
        let (number, generation) = (self.next, self.generation_of(verb));
        let count = if verb == Verb::Forget { self.seen_count(&case) } else { 0 };
        let mut record =
            Record { verb, reporter: id, weight, time: self.time, count, case, befores: Vec::new() };
        if matches!(verb, Verb::Revoke | Verb::Protect) && units_of(&record) > 0 {
            self.note_good_texts(&record.case);
        }
        let protection = self.protection(&record, number, &keys, staged)?;
        for (place, &key) in keys.iter().enumerate() {
            let is_known = self.memory.is_known(key);
            staged.matched += u64::from(is_known && !key.is_shingle());
            let before = match protection.get(place) {
                Some(before) => *before,
                None => self.row(verb, &record, key, (number, generation), is_known)?,
            };
            record.befores.push(before);
            let effect = Effect::of(&record, before, key.is_shingle());
            if !key.is_shingle() {
                if let Some((row_key, row)) = many_taken_back(&record, key, number) {
                    self.batch.row(generation, &row_key, &row)?;
                    self.rows.insert(row_key, (generation, row));
                }
                self.marks.extend(mark_of(&record, before).map(|mark| (key.hash, mark)));
                self.hearing.note_own(verb, key.hash);
                staged.keys.push(key);
            }
            self.effects.push((key, effect));
        }
        self.batch.record(generation, number, &record)?;
        self.next += 1;
        staged.records += 1;
        Ok(())
    }

    /// Stages the row of a key, and says what stood there before.
    fn row(
        &mut self,
        verb: Verb,
        record: &Record,
        key: Key,
        (number, generation): (u64, u64),
        is_known: bool,
    ) -> Result<Before, JournalError> {
        if verb == Verb::Promote {
            self.batch.bulk(self.generation, key.hash, 0);
            return Ok(Before { word: Word::None, weight: 0, counted: false });
        }
        let whose = whose(verb, record.reporter, key.is_shingle());
        let row_key = row_key(key.hash, whose);
        let known = match self.rows.get(&row_key) {
            Some(&row) => Some(row),
            None if is_known => self.newest_row(key.hash, whose)?,
            None => None,
        };
        if !is_known && !key.is_shingle() && verb.adds() {
            self.fresh.insert(key.hash);
        }
        let before = known.map_or((Word::None, 0), |(_, row)| (row.word, row.weight));
        let today = known.filter(|(known, _)| *known == generation).map(|(_, row)| row);
        let (row, counted) = row_after(today, record, key, number, self.config.raw_max);
        self.batch.row(generation, &row_key, &row)?;
        self.rows.insert(row_key, (generation, row));
        // What a mark was before is no weight of a signature.
        let is_mark = is_mark(whose) && !key.is_shingle();
        let (word, weight) = if is_mark { (Word::None, 0) } else { before };
        Ok(Before { word, weight, counted })
    }

    /// A forget subtracts what the signature counts now.
    fn seen_count(&self, case: &Case) -> u64 {
        let count = |one| self.memory.seen.count(one, self.memory.sip.hash_bytes(one.bytes())).value;
        case.iter().next().map_or(0, count)
    }

    fn note_good_texts(&mut self, case: &Case) {
        for text in case.iter().filter(|signature| signature.kind() == Kind::Near1) {
            let matched = self.memory.near.matched(&shingle_hashes(text, &self.memory.sip));
            self.good_texts.push(matched);
        }
    }

    fn generation_of(&self, verb: Verb) -> u64 {
        match verb {
            Verb::Protect | Verb::Unprotect => LASTING,
            _ => self.generation,
        }
    }

    /// The case with the signatures of all cases that share one of its exact ones, where those who reported them
    /// count for `me`. What was reported together is revoked together.
    fn whole(
        &mut self,
        case: Case,
        me: ReporterId,
        counts: impl Fn(ReporterId) -> bool,
    ) -> Result<Case, JournalError> {
        let mut numbers = HashSet::new();
        for key in self.memory.keys_of(&case) {
            if key.kind.is_exact() && self.memory.is_known(key) {
                for (_, reporter, row) in self.earlier_rows(key.hash, me)? {
                    let is_asked = counts(reporter) && !is_mark(reporter);
                    if is_asked && row.word == Word::Spam && numbers.len() < CASES_MAX {
                        numbers.insert((reporter.slot().is_some(), row.number));
                    }
                }
            }
        }
        let mut whole = case;
        for (is_heard, number) in numbers {
            let Some(reported) = self.case_of(is_heard, number)? else {
                continue;
            };
            for signature in reported.iter() {
                // A full case takes no more: what is beyond it stays as it is.
                if whole.add(signature).is_err() {
                    break;
                }
            }
        }
        Ok(whole)
    }

    /// The case of a record, of this site's own or one that was heard.
    fn case_of(&self, is_heard: bool, number: u64) -> Result<Option<Case>, JournalError> {
        if !is_heard {
            return Ok(self.journal.record(number)?.map(|(_, record)| record.case));
        }
        Ok(match self.journal.heard(number)? {
            Some((_, Body::Counted(record))) => Some(record.case),
            _ => None,
        })
    }

    /// The rows of a key, newest generation first, of this batch before any.
    fn earlier_rows(
        &mut self,
        hash: Hash128,
        me: ReporterId,
    ) -> Result<Vec<(u64, ReporterId, Row)>, JournalError> {
        let mut rows = match self.journalled.get(&hash) {
            Some(rows) => rows.clone(),
            None => self.read_rows(hash, me)?,
        };
        for (_, reporter, row) in &mut rows {
            if let Some((_, newer)) = self.rows.get(&row_key(hash, *reporter)) {
                *row = *newer;
            }
        }
        Ok(rows)
    }

    /// Reads the rows of a key, once a batch: a look into the journal takes longer than all the rest.
    fn read_rows(
        &mut self,
        hash: Hash128,
        me: ReporterId,
    ) -> Result<Vec<(u64, ReporterId, Row)>, JournalError> {
        let mut rows = Vec::from_iter(self.lone_row(hash, me)?);
        if rows.is_empty() {
            for generation in self.journal.live() {
                let found = self.journal.rows_of(generation, hash, ROWS_MAX)?;
                rows.extend(found.into_iter().map(|(reporter, row)| (generation, reporter, row)));
                if rows.len() >= ROWS_MAX {
                    break;
                }
            }
        }
        self.journalled.insert(hash, rows.clone());
        Ok(rows)
    }

    /// The reporter's own row, where the tally has nothing but it: all there is to read then. One row by its name is
    /// looked for in those few tables whose filters know it, all rows of a key in every table.
    fn lone_row(
        &self,
        hash: Hash128,
        me: ReporterId,
    ) -> Result<Option<(u64, ReporterId, Row)>, JournalError> {
        let tally = self.memory.tally(hash);
        if tally.is_saturated() || tally.spam.min(tally.ham) > 0 {
            return Ok(None);
        }
        let newest = self.journal.newest_row(&row_key(hash, me))?.filter(|(_, row)| tally.is_all_of(row));
        Ok(newest.map(|(generation, row)| (generation, me, row)))
    }

    /// A reporter's newest row on a key before this batch, and its generation.
    fn newest_row(&self, hash: Hash128, reporter: ReporterId) -> Result<Option<(u64, Row)>, JournalError> {
        match self.journalled.get(&hash).filter(|rows| rows.len() < ROWS_MAX) {
            Some(rows) => {
                let own = rows.iter().find(|(_, whose, _)| *whose == reporter);
                Ok(own.map(|&(generation, _, row)| (generation, row)))
            }
            None => self.journal.newest_row(&row_key(hash, reporter)),
        }
    }

    /// A trusted word: those who spoke before are confirmed or refuted, unless a trusted one spoke already, be it the
    /// same: who says a thing twice confirms nobody twice.
    fn settle_earlier(
        &mut self,
        me: ReporterId,
        word: Word,
        keys: &[Key],
        known: &HashMap<ReporterId, Reporter>,
    ) -> Result<(), JournalError> {
        let (mut heard, memory) = (HashSet::from([me]), self.memory);
        for key in keys.iter().filter(|key| key.kind.is_exact() && memory.is_known(**key)) {
            if !self.settled.insert(key.hash) {
                continue;
            }
            let mut rows = self.earlier_rows(key.hash, me)?;
            // Peers' words settle nobody's trust here, nor are they settled.
            let is_own = |reporter: ReporterId| !is_mark(reporter) && reporter.slot().is_none();
            rows.retain(|(_, reporter, row)| row.word != Word::None && is_own(*reporter));
            if rows.iter().any(|(_, _, row)| row.weight >= TRUSTED_MIN) {
                continue;
            }
            for (_, reporter, row) in rows {
                if !heard.insert(reporter) {
                    continue;
                }
                if let Some(earlier) = self.reporters.get(&reporter).or_else(|| known.get(&reporter)) {
                    let mut earlier = earlier.clone();
                    settle(&mut earlier, row.word, word);
                    self.reporters.insert(reporter, earlier);
                }
            }
        }
        Ok(())
    }

    /// Makes everything durable.
    pub(crate) fn commit(mut self) -> Result<Outcome, JournalError> {
        for reporter in self.reporters.values() {
            self.batch.reporter(reporter)?;
        }
        if !self.batch.is_empty() {
            self.batch.commit()?;
        }
        Ok(Outcome {
            next: self.next,
            reporters: self.reporters,
            generation: self.generation,
            effects: self.effects,
            marks: self.marks,
            good_texts: self.good_texts,
            heard: self.hearing.heard,
        })
    }
}

impl Outcome {
    /// Memory follows the journal, but for signatures whose tallies the journal must be asked for now: those.
    #[must_use]
    pub(crate) fn apply(&self, memory: &Memory) -> HashSet<Hash128> {
        let mut unsettled = self.heard.exact.clone();
        for &(key, effect) in &self.effects {
            if !unsettled.contains(&key.hash) && !memory.apply(key, effect) {
                unsettled.insert(key.hash);
            }
        }
        for &(hash, mark) in &self.marks {
            apply_mark(memory, self.generation, hash, mark);
        }
        self.good_texts.iter().for_each(|&matched| memory.near.note_ham(matched));
        for &(generation, hash) in &self.heard.promoted {
            memory.promote(generation, hash);
        }
        unsettled
    }
}

/// The mark that a record sets on a signature of its case. What another message protects stays protected.
pub(crate) fn mark_of(record: &Record, before: Before) -> Option<Mark> {
    match record.verb {
        Verb::Protect => Some(Mark::Protected(true)),
        Verb::Unprotect => Some(Mark::Protected(before.word == Word::Ham)),
        Verb::Many => Some(Mark::Many),
        Verb::Forget => Some(Mark::Forgotten(record.count)),
        Verb::Promote => Some(Mark::Bulk),
        Verb::Report | Verb::Revoke | Verb::Withdraw => None,
    }
}

pub(crate) fn apply_mark(memory: &Memory, generation: u64, hash: Hash128, mark: Mark) {
    match mark {
        Mark::Protected(is_protected) => memory.mark(hash, |marks| marks.protected = is_protected),
        Mark::Many => memory.mark(hash, |marks| marks.many = true),
        Mark::Forgotten(count) => {
            memory.mark(hash, |marks| (marks.forgotten, marks.many) = (true, false));
            memory.forget(hash, generation, count);
        }
        Mark::Bulk => memory.promote(generation, hash),
    }
}

fn word_of(verb: Verb) -> Word {
    match verb {
        Verb::Report => Word::Spam,
        Verb::Revoke => Word::Ham,
        _ => Word::None,
    }
}

/// The row of a key after a record, and whether the record counts in raw totals. `today` is the row that the same
/// generation had before.
pub(crate) fn row_after(
    today: Option<Row>,
    record: &Record,
    key: Key,
    number: u64,
    raw_max: u32,
) -> (Row, bool) {
    let mut row = today.unwrap_or_default();
    let before = Before { word: Word::None, weight: 0, counted: false };
    (row.word, row.weight) = match record.verb {
        Verb::Many | Verb::Forget if !key.is_shingle() => (Word::Ham, 0),
        _ => Effect::of(record, before, key.is_shingle()).now,
    };
    (row.is_shingle, row.is_text) = (key.is_shingle(), key.is_text);
    row.is_rspamd = key.kind == Kind::RspamdNear;
    (row.number, row.count) = (number, record.count);
    let raw = match record.verb {
        Verb::Report => &mut row.raw_spam,
        Verb::Revoke => &mut row.raw_ham,
        _ => return (row, false),
    };
    let counted = u32::from(*raw) < raw_max && !key.is_shingle();
    *raw += u16::from(counted);
    (row, counted)
}

/// A forgotten count begins at zero, so a forget takes its site's MANY back as well: the row that says so.
pub(crate) fn many_taken_back(record: &Record, key: Key, number: u64) -> Option<(RowKey, Row)> {
    let is_taken_back = record.verb == Verb::Forget && !key.is_shingle();
    let many = whose(Verb::Many, record.reporter, false);
    is_taken_back.then(|| (row_key(key.hash, many), Row { number, ..Row::default() }))
}

/// Whose row a verb writes: marks have rows of their own, and a peer has one voice on a shingle.
pub(crate) fn whose(verb: Verb, reporter: ReporterId, is_shingle: bool) -> ReporterId {
    match (reporter.slot(), verb) {
        (Some(slot), _) if is_shingle => ReporterId::voice_of(slot),
        (Some(slot), Verb::Many) => ReporterId::many_of(slot),
        (Some(slot), Verb::Forget) => ReporterId::forgetting_of(slot),
        (None, Verb::Many) => MANY,
        (None, Verb::Forget) => FORGETTING,
        _ => reporter,
    }
}
