//! What writes will do, worked out before they are journalled: records, rows, and what they change in memory.
//!
//! The writer stages all writes that wait, commits them in one batch, and only then changes memory and answers. A write
//! later in the batch sees the rows of those before it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use seenit_filter::hash::Hash128;
use seenit_signature::Kind;

use crate::answers::ProtectionReceipt;
use crate::config::LedgerConfig;
use crate::follow::{Following, KeyChange, Unsummed};
use crate::journal::heard::HeardBody;
use crate::journal::horizon::NextNumbers;
use crate::journal::{
    FORGETTING, Journal, JournalBatch, JournalError, KeyRow, LASTING, MANY, RecordNumber, Row, RowKey,
    is_mark, row_key,
};
use crate::keys::{Key, shingle_hashes};
use crate::memory::Memory;
use crate::peers::table::Peers;
use crate::record::{Before, Opinion, Record, Verb, WeighedOpinion};
use crate::reporter::{Reporter, ReporterId};
use crate::share;
use crate::signature::Case;
use crate::trust::{POINTS_MAX, TRUSTED_MIN};

mod heard;
mod protect;
mod rows;
mod settle;
mod texts;

use heard::{HeardOutcome, Hearing};

/// Records whose cases a revocation takes along.
const CASES_MAX: usize = 32;

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

/// When a batch is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) generation: u64,
    pub(crate) secs: u64,
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
    pub(crate) batch: JournalBatch<'a>,
    reporters: HashMap<ReporterId, Reporter>,
    rows: HashMap<RowKey, (u64, Row)>,
    /// Rows of keys that were read for this batch.
    journalled: HashMap<Hash128, Vec<KeyRow>>,
    /// The links, hosts and parts of this batch's records, which cannot be read yet.
    pieces: HashMap<RecordNumber, HashSet<Hash128>>,
    /// Who spoke of a signature in this batch.
    speakers: HashMap<Hash128, Vec<ReporterId>>,
    changes: Vec<KeyChange>,
    good_texts: Vec<u32>,
    /// Signatures that only opinions of no weight are about.
    weightless: HashSet<Hash128>,
    /// Signatures that the tally does not hold yet, and that this batch adds.
    fresh: HashSet<Hash128>,
    hearing: Hearing,
    /// Texts whose shingles may yet count of whoever writes; `None` where there is no limit.
    pub(crate) text_room: Option<u64>,
    /// Texts whose shingles count since that was set.
    pub(crate) texts_added: u64,
}

/// What memory takes over once the batch is durable.
pub(crate) struct Outcome {
    pub(crate) next: u64,
    pub(crate) reporters: HashMap<ReporterId, Reporter>,
    generation: u64,
    changes: Vec<KeyChange>,
    good_texts: Vec<u32>,
    weightless: HashSet<Hash128>,
    pub(crate) heard: HeardOutcome,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(
        journal: &'a Journal,
        memory: &'a Memory,
        config: &'a LedgerConfig,
        moment: Moment,
        next: NextNumbers,
    ) -> Self {
        Stage {
            journal,
            memory,
            config,
            generation: moment.generation,
            time: moment.secs,
            next: next.own,
            batch: journal.batch(),
            reporters: HashMap::new(),
            rows: HashMap::new(),
            journalled: HashMap::new(),
            pieces: HashMap::new(),
            speakers: HashMap::new(),
            changes: Vec::new(),
            good_texts: Vec::new(),
            weightless: HashSet::new(),
            fresh: HashSet::new(),
            hearing: Hearing::new(journal.peers(), next.heard),
            text_room: None,
            texts_added: 0,
        }
    }

    /// New signatures that this batch adds to the tally.
    pub(crate) fn added(&self) -> u64 {
        self.fresh.len() as u64
    }

    /// Those, and the signatures that it keeps beside the tally because only opinions of no weight are about them.
    pub(crate) fn kept(&self) -> u64 {
        self.added() + self.weightless.len() as u64
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

    /// Signatures of these cases of which nothing is kept, be it what weighs nothing.
    pub(crate) fn unspoken_of(&self, cases: &[Case]) -> u64 {
        let keys = cases.iter().flat_map(|case| self.memory.keys_of(case));
        let new: HashSet<Hash128> =
            keys.filter(|key| self.is_unspoken_of(*key)).map(|key| key.hash).collect();
        new.len() as u64
    }

    fn is_unspoken_of(&self, key: Key) -> bool {
        let is_in_batch = self.fresh.contains(&key.hash) || self.weightless.contains(&key.hash);
        !key.is_shingle() && !is_in_batch && !self.memory.is_spoken_of(key)
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
            // Before the case grows: what was said decides who was right.
            self.settle(verb, reporter, &keys, known)?;
            let case = match verb {
                Verb::Revoke => {
                    let peers = Arc::clone(&self.hearing.peers);
                    let counts = |whose: ReporterId, row: &Row| {
                        whose == id || is_revoked_whole(whose, row, known, &peers)
                    };
                    self.together(case, id, Kind::names_message, counts)?
                }
                Verb::Withdraw => self.together(case, id, Kind::is_exact, |reporter, _| reporter == id)?,
                Verb::Unprotect => self.as_protected(case)?,
                _ => case,
            };
            let keys = if case.len() == signatures { keys } else { self.memory.keys_of(&case) };
            // After it has grown: no signature that a record takes along gets around the operator.
            let mut voids = self.voids(verb, reporter, &keys)?;
            self.void_texts(verb, reporter, &keys, &mut voids)?;
            // An earlier case of this write may have cost its reporter some weight.
            let weight = self.reporters.get(&id).unwrap_or(reporter).weight;
            let count = if verb == Verb::Forget { self.seen_count(&case) } else { 0 };
            let time = self.time;
            let befores = Vec::new();
            let record = Record { verb, reporter: id, weight, time, count, case, befores };
            self.record(record, &keys, &voids, &mut staged)?;
        }
        if !matches!(verb, Verb::Promote) {
            let entry = self.reporters.entry(reporter.id).or_insert_with(|| reporter.clone());
            entry.records += u64::from(staged.records);
        }
        Ok(staged)
    }

    /// A reporter as this batch leaves it; `None` where the batch does not change it.
    pub(crate) fn reporter(&self, id: ReporterId) -> Option<&Reporter> {
        self.reporters.get(&id)
    }

    /// Stages a reporter's new state.
    pub(crate) fn put_reporter(&mut self, reporter: Reporter) {
        self.reporters.insert(reporter.id, reporter);
    }

    fn record(
        &mut self,
        mut record: Record,
        keys: &[Key],
        voids: &[bool],
        staged: &mut Staged,
    ) -> Result<(), JournalError> {
        debug_assert!(record.weight <= POINTS_MAX, "an opinion weighs 0 to 10 points");
        let verb = record.verb;
        let number = RecordNumber(self.next);
        let generation = self.generation_of(verb);
        let is_text_void = keys.iter().zip(voids).any(|(key, is_void)| key.is_shingle() && *is_void);
        if matches!(verb, Verb::Revoke | Verb::Protect) && record.shingle_units() > 0 && !is_text_void {
            self.note_good_texts(&record.case);
        }
        let protection = self.protection(&record, number, keys, staged)?;
        for (place, (&key, &is_void)) in keys.iter().zip(voids).enumerate() {
            let is_known = self.memory.is_known(key);
            staged.matched += u64::from(is_known && !key.is_shingle());
            let before = match protection.get(place) {
                Some(before) => *before,
                None => self.row(&record, key, is_void, number, generation)?,
            };
            record.befores.push(before);
            if !key.is_shingle() {
                if let Some((row_key, row)) = many_taken_back(&record, key, number) {
                    self.batch.row(generation, &row_key, &row)?;
                    self.rows.insert(row_key, (generation, row));
                }
                staged.keys.push(key);
            }
            // A protection lies in the generation that does not age, and is a mark of any.
            self.changes.push(KeyChange::of(self.generation, &record, key, before));
        }
        self.batch.record(generation, number.0, &record)?;
        self.pieces.insert(number, settle::pieces_of(keys));
        self.next += 1;
        staged.records += 1;
        Ok(())
    }

    /// Stages the row of a key, and says what stood there before.
    fn row(
        &mut self,
        record: &Record,
        key: Key,
        is_void: bool,
        number: RecordNumber,
        generation: u64,
    ) -> Result<Before, JournalError> {
        let verb = record.verb;
        let is_known = self.memory.is_known(key);
        if verb == Verb::Promote {
            self.batch.bulk(self.generation, key.hash, 0);
            return Ok(Before::default());
        }
        let whose = whose(verb, record.reporter, key.is_shingle());
        let row_key = row_key(key.hash, whose);
        let known = match self.rows.get(&row_key) {
            Some(&row) => Some(row),
            None if is_known => self.newest_row(key.hash, whose)?,
            None => None,
        };
        let takes_room = share::takes_room(verb, record.reporter, record.weight) && !is_void;
        if !is_known && !key.is_shingle() && verb.adds() && takes_room {
            self.fresh.insert(key.hash);
        }
        if !takes_room && self.is_unspoken_of(key) {
            self.batch.weightless(generation, key.hash);
            self.weightless.insert(key.hash);
        }
        let before = known.map_or(WeighedOpinion::NONE, |(_, row)| row.weighed());
        let today = known.filter(|(known, _)| *known == generation).map(|(_, row)| row);
        // What weighs nothing is not counted, either: else it would take room in the tally.
        let raw_max = if takes_room { self.config.raw_max } else { 0 };
        let (row, counted) = row_after(today, record, key, is_void, number, raw_max);
        self.batch.row(generation, &row_key, &row)?;
        self.rows.insert(row_key, (generation, row));
        if key.kind.is_exact() {
            self.speakers.entry(key.hash).or_default().push(whose);
        }
        // What a mark was before is no weight of a signature.
        let is_mark = is_mark(whose) && !key.is_shingle();
        let WeighedOpinion { opinion, weight } = if is_mark { WeighedOpinion::NONE } else { before };
        Ok(Before { opinion, weight, counted, void: is_void })
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

    /// The case with the signatures of all reports that share a key with it whose kind `binds` them together, where the
    /// report counts for `me`. What was reported together is revoked together, and a part binds nothing: who
    /// clears a newsletter clears the logo in it, and not the spam that the logo was in.
    fn together(
        &mut self,
        case: Case,
        me: ReporterId,
        binds: impl Fn(Kind) -> bool,
        counts: impl Fn(ReporterId, &Row) -> bool,
    ) -> Result<Case, JournalError> {
        let mut numbers = HashSet::new();
        for key in self.memory.keys_of(&case) {
            if binds(key.kind) && self.memory.is_known(key) {
                for KeyRow { reporter, row, .. } in self.earlier_rows(key.hash, me)? {
                    let is_bound = counts(reporter, &row) && !is_mark(reporter);
                    if is_bound && row.opinion == Opinion::Spam && numbers.len() < CASES_MAX {
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
    fn case_of(&self, is_heard: bool, number: RecordNumber) -> Result<Option<Case>, JournalError> {
        if !is_heard {
            return Ok(self.journal.record(number)?.map(|(_, record)| record.case));
        }
        Ok(match self.journal.heard(number.0)? {
            Some((_, HeardBody::Counted(record))) => Some(record.case),
            _ => None,
        })
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
            changes: self.changes,
            good_texts: self.good_texts,
            weightless: self.weightless,
            heard: self.hearing.heard,
        })
    }
}

impl Outcome {
    /// Memory follows the journal, but for signatures whose tallies the journal must be asked for now.
    pub(crate) fn apply(&self, memory: &Memory, peers: Arc<Peers>, unsummed: &mut Unsummed) {
        let mut following = Following::new(memory, peers, unsummed);
        self.changes.iter().for_each(|change| following.change(change));
        self.good_texts.iter().for_each(|&matched| memory.near.note_ham(matched));
        self.weightless.iter().for_each(|&hash| memory.note_weightless(self.generation, hash));
        for &(generation, hash) in &self.heard.promoted {
            memory.promote(generation, hash);
        }
    }
}

/// Whether a revocation takes along everything that was reported with this row: where the operator vouches for its
/// reporter, or lets its site decide as much. Others could report good mail together with spam, so that clearing the
/// one clears the other.
fn is_revoked_whole(
    whose: ReporterId,
    row: &Row,
    known: &HashMap<ReporterId, Reporter>,
    peers: &Peers,
) -> bool {
    match whose.slot() {
        Some(slot) => peers.cap(slot, Opinion::Spam).min(row.weight.into()) >= TRUSTED_MIN.into(),
        None => known.get(&whose).is_some_and(Reporter::is_vouched),
    }
}

/// The row of a key after a record, which may be void on it, and whether the record counts in raw totals. `today` is
/// the row that the same generation had before.
pub(crate) fn row_after(
    today: Option<Row>,
    record: &Record,
    key: Key,
    is_void: bool,
    number: RecordNumber,
    raw_max: u32,
) -> (Row, bool) {
    let before = Before { void: is_void, ..Before::default() };
    let said = match record.verb {
        Verb::Many | Verb::Forget if !key.is_shingle() => WeighedOpinion::new(Opinion::Ham, 0),
        _ => record.says_of(key.is_shingle(), before),
    };
    let mut row = Row {
        opinion: said.opinion,
        weight: said.weight,
        is_shingle: key.is_shingle(),
        is_text: key.is_text,
        is_rspamd: key.kind == Kind::RspamdNear,
        number,
        count: record.count,
        ..today.unwrap_or_default()
    };
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
pub(crate) fn many_taken_back(record: &Record, key: Key, number: RecordNumber) -> Option<(RowKey, Row)> {
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
