//! What only lost records say of signatures that were spoken of since: see `salvage`. It is kept in the commits that
//! speak of them, so that a replay can tell it from what the journal knows.

use seenit_filter::hash::Hash128;

use super::{Journal, JournalBatch, JournalError, hash_bytes, odd_row};
use crate::tally::Tally;

/// What its rows in `meta` begin with; the hash follows (16 bytes).
const PREFIX: &[u8] = b"lost-";

fn key(hash: Hash128) -> Vec<u8> {
    [PREFIX, &hash_bytes(hash)].concat()
}

impl Journal {
    pub(crate) fn lost(&self, hash: Hash128) -> Result<Option<Tally>, JournalError> {
        let Some(value) = self.meta.get(key(hash))? else {
            return Ok(None);
        };
        let word = value.as_ref().try_into().map_err(|_| odd_row())?;
        Ok(Some(Tally::unpack(u64::from_be_bytes(word))))
    }
}

impl JournalBatch<'_> {
    pub(crate) fn lost(&mut self, hash: Hash128, lost: &Tally) {
        self.batch.insert(&self.journal.meta, key(hash), lost.pack().to_be_bytes());
    }

    /// Deletes all of it.
    pub(crate) fn forget_lost(&mut self) -> Result<(), JournalError> {
        for item in self.journal.meta.prefix(PREFIX) {
            self.batch.remove(&self.journal.meta, item.key()?);
        }
        Ok(())
    }
}
