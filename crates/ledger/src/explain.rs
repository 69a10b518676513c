//! Explanations: what a message is, who said what of it and when, and who protects it.

use std::collections::{BTreeMap, HashMap, HashSet};

use seenit_filter::hash::{Hash128, KeyHasher};
use seenit_signature::Kind;

use crate::answers::{Explanation, MessageExplanation, ProtectedBy, Spoken, Statement};
use crate::date::rfc3339;
use crate::journal::{
    Journal, JournalError, KeyRow, LASTING, PROTECTED_MESSAGE, PROTECTION, RecordNumber, Row, is_mark,
    row_key,
};
use crate::judge::RESEMBLES_MIN;
use crate::keys::shingle_hashes;
use crate::ledger::Ledger;
use crate::protection::message_hash;
use crate::record::{Opinion, Record, Verb};
use crate::reporter::ReporterId;
use crate::signature::{Case, SignatureRef};

/// Opinions of one signature and records of one message that an explanation lists: more than anybody reads.
const LISTED_MAX: usize = 100;

/// Protections that are looked through, the newest first, for one that still stands: some milliseconds.
const PROTECTIONS_MAX: usize = 10_000;

/// Which record: of a peer, or of this site; and its number.
type RecordKey = (bool, RecordNumber);

impl Ledger {
    /// What the journal knows of a signature.
    pub fn explain(&self, signature: SignatureRef<'_>) -> Explanation {
        let shared = &*self.shared;
        let journal = self.shared.journal();
        let mut case = Case::new();
        // One signature fits any case.
        let _ = case.add(signature);
        let mut opinions = Vec::new();
        let mut more = false;
        let mut spoken = HashSet::new();
        let hash = shared.memory.sip.hash(&signature);
        if let Some(journal) = &journal {
            let rows = rows_of(journal, hash).unwrap_or_default();
            for KeyRow { generation, reporter, row } in rows {
                if !spoken.insert(reporter) {
                    continue;
                }
                if opinions.len() == LISTED_MAX {
                    more = true;
                    break;
                }
                opinions.extend(self.spoken(journal, reporter, &row, generation));
            }
        }
        let protected_by = journal.as_ref().and_then(|journal| self.protected_by(journal, signature).ok()?);
        Explanation {
            kind: signature.kind(),
            digest: hex::encode(signature.digest()),
            judgement: self.check(&case),
            opinions,
            more,
            protected_by,
        }
    }

    /// What the journal knows of a message: what it is, one entry for each record that speaks of it, and what is known
    /// of each signature.
    pub fn explain_message(&self, case: &Case) -> MessageExplanation {
        let mut records: HashMap<RecordKey, ReporterId> = HashMap::new();
        let journal = self.shared.journal();
        for (journal, signature) in journal.iter().flat_map(|one| case.iter().map(move |it| (one, it))) {
            // What cannot be read is not listed; that the journal fails is an alarm of its own.
            let found = self.records_of(journal, signature).unwrap_or_default();
            records.extend(found);
        }
        let mut newest: Vec<(RecordKey, ReporterId)> = records.into_iter().collect();
        newest.sort_by_key(|((_, number), _)| std::cmp::Reverse(*number));
        let more = newest.len() > LISTED_MAX;
        // No more records are read than may be listed. Own ones and those of peers are numbered apart.
        let mut read = [0; 2];
        newest.retain(|((is_heard, _), _)| {
            let number = &mut read[usize::from(*is_heard)];
            *number += 1;
            *number <= LISTED_MAX
        });
        let said = |&((_, number), reporter): &(RecordKey, ReporterId)| {
            let (name, id, record) = self.shared.said_in(journal.as_deref()?, reporter, number)?;
            let kinds = shared_kinds(case, &record.case);
            let entry = Statement {
                record: id,
                verb: record.verb,
                reporter: name,
                time: rfc3339(record.time),
                weight: record.weight,
                kinds,
            };
            Some((record.time, number, entry))
        };
        let mut reports: Vec<(u64, RecordNumber, Statement)> = newest.iter().filter_map(said).collect();
        reports.sort_by_key(|(time, number, _)| std::cmp::Reverse((*time, *number)));
        let signatures: Vec<Explanation> = case.iter().map(|one| self.explain(one)).collect();
        MessageExplanation {
            judgement: self.check(case),
            reports: reports.into_iter().take(LISTED_MAX).map(|(_, _, said)| said).collect(),
            more,
            protected_by: together(&signatures),
            signatures,
        }
    }

    /// A reporter's last opinion; nothing where it is of a peer that is gone.
    fn spoken(&self, journal: &Journal, reporter: ReporterId, row: &Row, generation: u64) -> Option<Spoken> {
        let (name, id, record) = self.shared.said_in(journal, reporter, row.number)?;
        let raw = u32::from(if row.opinion == Opinion::Ham { row.raw_ham } else { row.raw_spam });
        let time = rfc3339(record.time);
        let opinion = row.opinion;
        let weight = row.weight;
        Some(Spoken { reporter: name, opinion, weight, raw, generation, record: id, time })
    }

    /// The records that speak of a signature, and whose they are. A text is spoken of by those that share as many
    /// shingles as make a resemblance.
    fn records_of(
        &self,
        journal: &Journal,
        signature: SignatureRef<'_>,
    ) -> Result<Vec<(RecordKey, ReporterId)>, JournalError> {
        let memory = &self.shared.memory;
        let is_near = signature.kind().is_near();
        let hashes = match is_near {
            true => shingle_hashes(signature, &memory.sip).to_vec(),
            false => vec![memory.sip.hash(&signature)],
        };
        let mut found: BTreeMap<RecordKey, (ReporterId, u32)> = BTreeMap::new();
        for hash in hashes {
            for KeyRow { reporter, row, .. } in rows_of(journal, hash)? {
                let key = (reporter.slot().is_some(), row.number);
                found.entry(key).or_insert((reporter, 0)).1 += 1;
            }
        }
        let least = if is_near { RESEMBLES_MIN } else { 1 };
        let enough = found.into_iter().filter(|(_, (_, times))| *times >= least);
        Ok(enough.map(|(key, (reporter, _))| (key, reporter)).collect())
    }

    /// Who protects a signature: the newest record whose message is still protected, and how many messages there are.
    fn protected_by(
        &self,
        journal: &Journal,
        signature: SignatureRef<'_>,
    ) -> Result<Option<ProtectedBy>, JournalError> {
        let hash = self.shared.memory.sip.hash(&signature);
        let row = journal.row(LASTING, &row_key(hash, PROTECTION))?;
        let Some(row) = row.filter(|row| row.opinion == Opinion::Ham) else {
            return Ok(None);
        };
        let stands = |record: &Record| -> Result<bool, JournalError> {
            let is_of_it = record.verb == Verb::Protect && record.case.iter().any(|one| one == signature);
            if !is_of_it {
                return Ok(false);
            }
            let message = message_hash(&record.case, &self.shared.memory.sip);
            let row = journal.row(LASTING, &row_key(message, PROTECTED_MESSAGE))?;
            Ok(row.is_some_and(|row| row.opinion == Opinion::Ham))
        };
        let newest = match journal.record(row.number)? {
            Some((_, record)) if stands(&record)? => Some((row.number, record)),
            _ => {
                let newest = journal.newest_record(LASTING, PROTECTIONS_MAX, stands)?;
                newest.map(|(number, record)| (RecordNumber(number), record))
            }
        };
        let Some((number, record)) = newest else {
            return Ok(None);
        };
        let said = self.shared.said_in(journal, record.reporter, number);
        Ok(said.map(|(reporter, id, record)| ProtectedBy {
            record: id,
            reporter,
            time: rfc3339(record.time),
            kinds: vec![signature.kind()],
            messages: row.count,
        }))
    }
}

/// The opinions on a key, of the generations that count, the newest first; marks are nobody's opinions.
fn rows_of(journal: &Journal, hash: Hash128) -> Result<Vec<KeyRow>, JournalError> {
    let mut rows = Vec::new();
    for generation in journal.live() {
        let found = journal.rows_of(generation, hash, LISTED_MAX)?.into_iter();
        rows.extend(found.filter(|one| !is_mark(one.reporter)));
    }
    Ok(rows)
}

/// The kinds of the signatures that a message shares with a record, each once, in the message's order. Texts need not
/// be equal to be alike.
fn shared_kinds(case: &Case, said: &Case) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for signature in case.iter() {
        let is_alike = |one: SignatureRef<'_>| {
            one == signature || (one.kind() == signature.kind() && signature.kind().is_near())
        };
        let kind = signature.kind();
        if said.iter().any(is_alike) && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// One entry for each record that protects some of the signatures.
fn together(signatures: &[Explanation]) -> Vec<ProtectedBy> {
    let mut all: Vec<ProtectedBy> = Vec::new();
    for one in signatures.iter().filter_map(|signature| signature.protected_by.as_ref()) {
        match all.iter_mut().find(|known| known.record == one.record) {
            Some(known) => {
                known.messages = known.messages.max(one.messages);
                for kind in &one.kinds {
                    if !known.kinds.contains(kind) {
                        known.kinds.push(*kind);
                    }
                }
            }
            None => all.push(one.clone()),
        }
    }
    all
}
