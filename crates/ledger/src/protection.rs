//! Protections are counted: a key is protected as long as one message that protects it is left.
//!
//! A message is the set of its signatures. A row of its own says whether it is protected, so that to protect it twice
//! counts once, and to undo what was never protected takes nothing away. Each key has a row with the number of
//! messages that protect it. All these rows lie in the generation that does not age, and follow from its log alone.

use std::collections::HashMap;

use seenit_filter::hash::{Hash128, SipKey};
use seenit_signature::Kind;

use crate::journal::{
    Journal, JournalError, LASTING, PROTECTED_MESSAGE, PROTECTION, RecordNumber, Row, RowKey, row_key,
};
use crate::keys::{Key, keys_of};
use crate::record::{Before, Opinion, Record, Verb};
use crate::signature::{Case, SignatureRef};

/// Where `meta` says that the rows of protections are counts, and that messages have keys without Razor's parts.
/// Folders of older versions do not have it.
const COUNTED: &str = "protections-counted-2";

/// Records between commits of rows that are made anew: memory stays small.
const TOGETHER: usize = 1000;

/// What a record says of a message that others have said already, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is protected from now on.
    Begins,
    /// It is protected no longer.
    Ends,
    /// It is what it was.
    Stays,
}

/// What a record changes.
pub(crate) struct Changes {
    pub(crate) turn: Turn,
    /// The rows that it leaves.
    pub(crate) rows: HashMap<RowKey, Row>,
    /// For each key what the record keeps of the time before it.
    pub(crate) befores: Vec<Before>,
}

/// Whether a record says something of protections.
pub(crate) fn is_protection(verb: Verb) -> bool {
    matches!(verb, Verb::Protect | Verb::Unprotect)
}

/// The key of a message: of its signatures in the order of their bytes, after a zero, which is the number of no kind.
/// Razor's engine 4 is left out where there are others: older versions kept one for each part.
pub(crate) fn message_hash(case: &Case, sip: &SipKey) -> Hash128 {
    let is_razor = |signature: &SignatureRef<'_>| signature.kind() == Kind::RazorE4;
    let is_razor_alone = case.iter().all(|signature| is_razor(&signature));
    let counts = |signature: &SignatureRef<'_>| is_razor_alone || !is_razor(signature);
    let mut signatures: Vec<&[u8]> = case.iter().filter(counts).map(SignatureRef::bytes).collect();
    signatures.sort_unstable();
    let mut bytes = vec![0];
    signatures.iter().for_each(|signature| bytes.extend_from_slice(signature));
    sip.hash_bytes(&bytes)
}

/// Works out what a record changes. `read` gives a row of the generation that does not age, as it was before.
pub(crate) fn follow(
    record: &Record,
    number: RecordNumber,
    message: Hash128,
    keys: &[Key],
    mut read: impl FnMut(&RowKey) -> Result<Option<Row>, JournalError>,
) -> Result<Changes, JournalError> {
    let message = row_key(message, PROTECTED_MESSAGE);
    let is_protected = read(&message)?.is_some_and(|row| row.opinion == Opinion::Ham);
    let turn = match (record.verb, is_protected) {
        (Verb::Protect, false) => Turn::Begins,
        (Verb::Unprotect, true) => Turn::Ends,
        _ => Turn::Stays,
    };
    let mut rows = HashMap::new();
    if turn != Turn::Stays {
        let opinion = if turn == Turn::Begins { Opinion::Ham } else { Opinion::None };
        rows.insert(message, Row { opinion, number, ..Row::default() });
    }
    let mut befores = Vec::with_capacity(keys.len());
    for &key in keys {
        let row_key = row_key(key.hash, PROTECTION);
        let today = match rows.get(&row_key) {
            Some(row) => Some(*row),
            None => read(&row_key)?,
        };
        let (row, before) = row_after(today.unwrap_or_default(), record, key, number, turn);
        befores.push(before);
        // Where nothing was and nothing is, there is no row.
        if today.is_some() || row.opinion != Opinion::None {
            rows.insert(row_key, row);
        }
    }
    Ok(Changes { turn, rows, befores })
}

/// The row of a key after a record, and what the record keeps of the time before.
fn row_after(today: Row, record: &Record, key: Key, number: RecordNumber, turn: Turn) -> (Row, Before) {
    let is_shingle = key.is_shingle();
    let none = Before::default();
    let before = Before { opinion: today.opinion, weight: today.weight, ..none };
    // A count that could be full would have to stay so: 2^64 messages are never protected.
    let count = match turn {
        Turn::Begins => today.count.saturating_add(1),
        Turn::Ends => today.count.saturating_sub(1),
        Turn::Stays => today.count,
    };
    if record.verb == Verb::Protect {
        let weight = if is_shingle { record.says_of(true, before).weight } else { 0 };
        let row = Row { opinion: Opinion::Ham, weight, number, count, ..row_of(key) };
        return (row, if is_shingle { before } else { none });
    }
    let is_ended = turn == Turn::Ends && count == 0;
    let row = if is_ended { Row { number, ..row_of(key) } } else { Row { count, ..today } };
    let before = match (is_shingle, is_ended) {
        (true, true) => before,
        (true, false) => none,
        (false, _) => Before { opinion: row.opinion, ..none },
    };
    (row, before)
}

/// A row of a key that says nothing yet.
fn row_of(key: Key) -> Row {
    let is_rspamd = key.kind == Kind::RspamdNear;
    Row { is_shingle: key.is_shingle(), is_text: key.is_text, is_rspamd, ..Row::default() }
}

/// Makes the rows of a folder that an older version wrote: there a row said only what the last record said. A run that
/// is cut off is begun again by the next start. Says how many records ended a protection then and end none now: they
/// named a part of a message that was protected as a whole.
pub(crate) fn count_once(journal: &Journal, sip: &SipKey) -> Result<u64, JournalError> {
    if journal.number(COUNTED)?.is_some() {
        return Ok(0);
    }
    journal.clear_index(LASTING)?;
    let without_effect = index(journal, sip, || ())?;
    let mut batch = journal.batch();
    batch.number(COUNTED, 1);
    batch.commit()?;
    Ok(without_effect)
}

/// Makes the rows of protections from the log; `progress` hears of every record. Says how many records end no
/// protection although that is what they say.
pub(crate) fn index(
    journal: &Journal,
    sip: &SipKey,
    mut progress: impl FnMut(),
) -> Result<u64, JournalError> {
    let mut rows: HashMap<RowKey, Row> = HashMap::new();
    let mut records = 0;
    let mut without_effect = 0;
    journal.each_record(LASTING, 0, |number, record| {
        progress();
        let message = message_hash(&record.case, sip);
        let changes = follow(&record, RecordNumber(number), message, &keys_of(&record.case, sip), |key| {
            match rows.get(key) {
                Some(row) => Ok(Some(*row)),
                None => journal.row(LASTING, key),
            }
        })?;
        rows.extend(changes.rows);
        records += 1;
        without_effect += u64::from(record.verb == Verb::Unprotect && changes.turn == Turn::Stays);
        if records % TOGETHER == 0 { put(journal, &std::mem::take(&mut rows)) } else { Ok(()) }
    })?;
    put(journal, &rows)?;
    Ok(without_effect)
}

fn put(journal: &Journal, rows: &HashMap<RowKey, Row>) -> Result<(), JournalError> {
    let mut batch = journal.batch();
    for (key, row) in rows {
        batch.row(LASTING, key, row)?;
    }
    batch.commit()
}
