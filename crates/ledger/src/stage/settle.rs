//! Settling: what a vouched opinion does to others who spoke of the same message. The rule is in `trust`.
//!
//! Two opinions are about one message where they share a digest of its whole body; or the digest of its words, if who
//! is judged names no link, host or part that the other did not. A sender can make spam that has the Pyzor digest of a
//! newsletter, phishing has the words of a bank's mail and a link of its own, and a thousand messages have one footer:
//! who reported the one did not lie about the other. Where one of the two names neither body nor words, as clients of
//! Pyzor, Razor and rspamd do, all that it names must be the other's, too.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use seenit_filter::hash::Hash128;
use seenit_signature::{Class, Proof};

use super::Stage;
use crate::config::LedgerConfig;
use crate::journal::{JournalError, KeyRow, RecordNumber, Row, is_mark, row_key};
use crate::keys::Key;
use crate::record::{Opinion, Verb};
use crate::reporter::{OPERATOR, Reporter, ReporterId};
use crate::sum::signature_sum;
use crate::trust::{confirm, refute};

/// What somebody said of a signature of a message.
#[derive(Clone, Copy)]
struct PastOpinion {
    opinion: Opinion,
    /// Its record: a higher number was said later.
    number: RecordNumber,
    /// Whether the signature proves that the record is about this message.
    is_proof: bool,
}

/// What a record of the operator and the opposite opinion of somebody else have in common.
#[derive(Default)]
struct Contradicted {
    /// Whether they share a signature that proves that both are about one message.
    is_proved: bool,
    /// Whether this opinion was said of such a signature before.
    is_proof_repeated: bool,
    /// Whether they share a signature of which it was not said before.
    is_new: bool,
}

/// The opinions of all who spoke of a message.
type PastOpinions = HashMap<ReporterId, PastOpinion>;

/// What a verb says of a message; `None` where it is no opinion.
fn opinion_of(verb: Verb) -> Option<Opinion> {
    match verb {
        Verb::Report => Some(Opinion::Spam),
        Verb::Revoke => Some(Opinion::Ham),
        _ => None,
    }
}

impl Stage<'_> {
    /// Moves weights before an opinion is staged: of others where a vouched reporter says it, of its own reporter where
    /// it contradicts the operator.
    pub(super) fn settle(
        &mut self,
        verb: Verb,
        reporter: &Reporter,
        keys: &[Key],
        known: &HashMap<ReporterId, Reporter>,
    ) -> Result<(), JournalError> {
        let Some(opinion) = opinion_of(verb) else {
            return Ok(());
        };
        if reporter.is_vouched() {
            return self.settle_others(reporter.id, opinion, keys, known);
        }
        if self.is_refuted_by_operator(reporter.id, opinion, keys)? {
            self.change_reporter(reporter.id, known, refute);
        }
        Ok(())
    }

    /// For each key, whether this reporter's opinion weighs nothing on it.
    ///
    /// Where nobody vouches for the reporter, the operator's opinion stands: on each signature by itself, so that
    /// neither made-up signatures beside it nor those that a revocation takes along change anything. Links and hosts
    /// are everybody's: that spam has one says nothing of good mail that has it.
    pub(super) fn voids(
        &self,
        verb: Verb,
        reporter: &Reporter,
        keys: &[Key],
    ) -> Result<Vec<bool>, JournalError> {
        let Some(opinion) = opinion_of(verb).filter(|_| reporter.id != OPERATOR) else {
            return Ok(vec![false; keys.len()]);
        };
        let is_void = |key: &Key| {
            let is_overruled = !reporter.is_vouched() && self.is_overruled(*key, opinion)?;
            Ok(is_overruled || self.may_be_counted_already(*key, opinion, reporter.id)?)
        };
        keys.iter().map(is_void).collect()
    }

    /// Whether the operator's last opinion on a signature is the opposite one.
    fn is_overruled(&self, key: Key, opinion: Opinion) -> Result<bool, JournalError> {
        if matches!(key.kind.class(), Class::Shared | Class::Label) {
            return Ok(false);
        }
        let operators = self.row_on(key, OPERATOR)?;
        Ok(operators.is_some_and(|row| row.opinion == opinion.opposite()))
    }

    /// Whether the tally may count this opinion from a record that was lost: it holds more on that side than the
    /// journal explains, and the journal has nothing of this reporter that weighs anything.
    fn may_be_counted_already(
        &self,
        key: Key,
        opinion: Opinion,
        me: ReporterId,
    ) -> Result<bool, JournalError> {
        if !self.memory.has_lost_records || key.is_shingle() {
            return Ok(false);
        }
        if self.row_on(key, me)?.is_some_and(|own| own.weight > 0) {
            return Ok(false);
        }
        let held = self.memory.tally(key.hash);
        let explained = signature_sum(self.journal, key.hash)?.tally;
        Ok(match opinion {
            Opinion::Spam => held.spam > explained.spam,
            Opinion::Ham => held.ham > explained.ham,
            Opinion::None => false,
        })
    }

    /// A vouched opinion: those who said the same are confirmed, where no vouched one was there before; those who said
    /// the opposite are refuted, where that has not happened for this message yet. It has where a vouched reporter
    /// contradicted them after they spoke, or the operator did at any time: who contradicts the operator is refuted at
    /// once.
    fn settle_others(
        &mut self,
        me: ReporterId,
        opinion: Opinion,
        keys: &[Key],
        known: &HashMap<ReporterId, Reporter>,
    ) -> Result<(), JournalError> {
        let pasts = self.past_opinions(me, keys)?;
        let is_vouched = |id: &ReporterId| known.get(id).is_some_and(Reporter::is_vouched);
        let vouched: PastOpinions =
            pasts.iter().filter(|(id, _)| is_vouched(id)).map(|(id, one)| (*id, *one)).collect();
        for (id, past) in pasts {
            // Two whom the operator vouches for do not judge each other.
            if id == me || (me != OPERATOR && is_vouched(&id)) {
                continue;
            }
            let refutes = |(id, other): (&ReporterId, &PastOpinion)| {
                other.opinion == opinion && (*id == OPERATOR || other.number > past.number)
            };
            if past.opinion != opinion && !vouched.iter().any(refutes) {
                self.change_reporter(id, known, refute);
            } else if past.opinion == opinion && vouched.is_empty() {
                self.change_reporter(id, known, confirm);
            }
        }
        Ok(())
    }

    /// Whether somebody who says this contradicts what the operator said of the same message, for the first time.
    fn is_refuted_by_operator(
        &self,
        me: ReporterId,
        opinion: Opinion,
        keys: &[Key],
    ) -> Result<bool, JournalError> {
        let named = exact_of(keys);
        let my_pieces = pieces_of(keys);
        // By record of the operator's.
        let mut contradicted: HashMap<RecordNumber, Contradicted> = HashMap::new();
        for key in &named {
            let operators = self.row_on(*key, OPERATOR)?.filter(|row| row.opinion == opinion.opposite());
            let Some(operators) = operators else {
                continue;
            };
            let is_repeated = self.row_on(*key, me)?.is_some_and(|own| own.opinion == opinion);
            let message = contradicted.entry(operators.number).or_default();
            let is_proof = match key.kind.proof() {
                Proof::None => false,
                Proof::Words => {
                    let theirs = self.pieces_in(operators.number)?;
                    theirs.is_some_and(|theirs| my_pieces.is_subset(&theirs))
                }
                Proof::Body => true,
            };
            if is_proof {
                message.is_proved = true;
                message.is_proof_repeated |= is_repeated;
            }
            message.is_new |= !is_repeated;
        }
        for (number, message) in contradicted {
            let is_lie = match message.is_proved {
                true => !message.is_proof_repeated,
                false => message.is_new && self.is_about(number, &named)?,
            };
            if is_lie {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A reporter's last opinion on a signature, this batch's included.
    pub(super) fn row_on(&self, key: Key, reporter: ReporterId) -> Result<Option<Row>, JournalError> {
        if let Some((_, row)) = self.rows.get(&row_key(key.hash, reporter)) {
            return Ok(Some(*row));
        }
        let is_known = self.memory.is_known(key);
        let newest = if is_known { self.newest_row(key.hash, reporter)? } else { None };
        Ok(newest.map(|(_, row)| row))
    }

    /// The last opinions of all own reporters on a message. Peers' opinions settle nobody here, nor are they settled.
    fn past_opinions(&mut self, me: ReporterId, keys: &[Key]) -> Result<PastOpinions, JournalError> {
        let named = exact_of(keys);
        let my_pieces = pieces_of(keys);
        let mut all: HashMap<ReporterId, Vec<PastOpinion>> = HashMap::new();
        for key in &named {
            for (reporter, row) in self.last_rows(*key, me)? {
                if row.opinion == Opinion::None || is_mark(reporter) || reporter.slot().is_some() {
                    continue;
                }
                let is_proof = match key.kind.proof() {
                    Proof::None => false,
                    Proof::Words => {
                        let theirs = self.pieces_in(row.number)?;
                        theirs.is_some_and(|theirs| theirs.is_subset(&my_pieces))
                    }
                    Proof::Body => true,
                };
                let past = PastOpinion { opinion: row.opinion, number: row.number, is_proof };
                all.entry(reporter).or_default().push(past);
            }
        }
        let mut about = PastOpinions::new();
        for (reporter, mut pasts) in all {
            // What proves that it is this message counts first, then what was said last.
            pasts.sort_by_key(|one| Reverse((one.is_proof, one.number)));
            pasts.dedup_by_key(|one| one.number);
            for past in pasts {
                if past.is_proof || self.is_about(past.number, &named)? {
                    about.insert(reporter, past);
                    break;
                }
            }
        }
        Ok(about)
    }

    /// Whether a record and a message with these signatures, which share nothing that proves it, are about one message
    /// all the same: all that one of them names is the other's.
    fn is_about(&self, number: RecordNumber, message: &[Key]) -> Result<bool, JournalError> {
        // A record of this batch cannot be read yet: nobody is judged by it.
        let Some(case) = self.case_of(false, number)? else {
            return Ok(false);
        };
        let record = exact_of(&self.memory.keys_of(&case));
        Ok(is_within(&record, message) || is_within(message, &record))
    }

    /// The links, hosts and parts that a record names, this batch's included; `None` where the record is lost, by which
    /// nobody is judged.
    fn pieces_in(&self, number: RecordNumber) -> Result<Option<HashSet<Hash128>>, JournalError> {
        if let Some(pieces) = self.pieces.get(&number) {
            return Ok(Some(pieces.clone()));
        }
        let case = self.case_of(false, number)?;
        Ok(case.map(|case| pieces_of(&self.memory.keys_of(&case))))
    }

    /// The last row of each reporter on a signature, this batch's included.
    fn last_rows(&mut self, key: Key, me: ReporterId) -> Result<HashMap<ReporterId, Row>, JournalError> {
        let mut last = HashMap::new();
        if self.memory.is_spoken_of(key) {
            // Newest generation first.
            for KeyRow { reporter, row, .. } in self.earlier_rows(key.hash, me)? {
                last.entry(reporter).or_insert(row);
            }
        }
        for &reporter in self.speakers.get(&key.hash).into_iter().flatten() {
            if let Some((_, row)) = self.rows.get(&row_key(key.hash, reporter)) {
                last.insert(reporter, *row);
            }
        }
        Ok(last)
    }

    /// Stages a change of a reporter by a rule of trust.
    fn change_reporter(
        &mut self,
        id: ReporterId,
        known: &HashMap<ReporterId, Reporter>,
        by: fn(&mut Reporter, u64, &LedgerConfig),
    ) {
        if let Some(reporter) = self.reporters.get(&id).or_else(|| known.get(&id)) {
            let mut reporter = reporter.clone();
            by(&mut reporter, self.generation, self.config);
            self.reporters.insert(id, reporter);
        }
    }
}

/// Signatures that say what somebody wrote or attached: links, hosts and shingles judge nobody.
fn exact_of(keys: &[Key]) -> Vec<Key> {
    keys.iter().copied().filter(|key| key.kind.is_exact()).collect()
}

/// What a message carries beside its words: links, hosts and parts.
pub(super) fn pieces_of(keys: &[Key]) -> HashSet<Hash128> {
    keys.iter().filter(|key| key.kind.class().is_piece()).map(|key| key.hash).collect()
}

/// Whether signatures prove no message, and all of them are the other's, too.
fn is_within(one: &[Key], other: &[Key]) -> bool {
    let others: HashSet<Hash128> = other.iter().map(|key| key.hash).collect();
    !one.is_empty() && one.iter().all(|key| key.kind.proof() == Proof::None && others.contains(&key.hash))
}
