//! Staging protections: their rows are counts, and lie in the generation that does not age.

use super::{Stage, Staged};
use crate::journal::{JournalError, LASTING, PROTECTED_MESSAGE, RecordNumber, row_key};
use crate::keys::Key;
use crate::protection::{Turn, follow, is_protection, message_hash};
use crate::record::{Before, Opinion, Record, Verb};
use crate::signature::Case;

impl Stage<'_> {
    /// The case of the record that protects this message, so that its end takes back what it protected, whichever
    /// signatures a version makes of a message; the case itself where nothing protects it.
    pub(super) fn as_protected(&self, case: Case) -> Result<Case, JournalError> {
        let message = row_key(message_hash(&case, &self.memory.sip), PROTECTED_MESSAGE);
        let row = match self.rows.get(&message) {
            // What was protected in this very batch was protected by this version.
            Some(_) => None,
            None => self.journal.row(LASTING, &message)?,
        };
        let Some(row) = row.filter(|row| row.opinion == Opinion::Ham) else {
            return Ok(case);
        };
        Ok(self.journal.record(row.number)?.map_or(case, |(_, record)| record.case))
    }

    /// Stages the rows of a record that protects a message or ends that, and says for each key what the record keeps
    /// of the time before; nothing for any other record. Rows are read whatever memory knows: it does not know shingles
    /// that weigh nothing, and they are counted.
    pub(super) fn protection(
        &mut self,
        record: &Record,
        number: RecordNumber,
        keys: &[Key],
        staged: &mut Staged,
    ) -> Result<Vec<Before>, JournalError> {
        if !is_protection(record.verb) {
            return Ok(Vec::new());
        }
        let message = message_hash(&record.case, &self.memory.sip);
        let changes = follow(record, number, message, keys, |key| match self.rows.get(key) {
            Some((_, row)) => Ok(Some(*row)),
            None => self.journal.row(LASTING, key),
        })?;
        for (key, row) in changes.rows {
            self.batch.row(LASTING, &key, &row)?;
            self.rows.insert(key, (LASTING, row));
        }
        let told = staged.protection.get_or_insert_default();
        match changes.turn {
            Turn::Stays => told.unchanged += 1,
            Turn::Begins | Turn::Ends => told.changed += 1,
        }
        for (key, before) in keys.iter().zip(&changes.befores).filter(|(key, _)| !key.is_shingle()) {
            // Only the end of a protection keeps this: see `record`.
            told.still_protected += u64::from(before.opinion == Opinion::Ham);
            if record.verb == Verb::Protect && self.is_new(*key) {
                self.fresh.insert(key.hash);
            }
        }
        Ok(changes.befores)
    }
}
