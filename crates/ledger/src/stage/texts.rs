//! Texts beyond the share of their reporter: what was said of them is kept, and their shingles count for nothing.

use seenit_signature::near::SHINGLES;

use super::Stage;
use crate::journal::JournalError;
use crate::keys::Key;
use crate::record::Verb;
use crate::reporter::Reporter;
use crate::trust::shingle_units;

impl Stage<'_> {
    /// Makes those texts void for which their reporter has no room left. One that its reporter spoke of before has its
    /// room.
    pub(super) fn void_texts(
        &mut self,
        verb: Verb,
        reporter: &Reporter,
        keys: &[Key],
        voids: &mut [bool],
    ) -> Result<(), JournalError> {
        let is_opinion = matches!(verb, Verb::Report | Verb::Revoke);
        let Some(room) =
            self.text_room.filter(|_| is_opinion && shingle_units(reporter.id, reporter.weight) > 0)
        else {
            return Ok(());
        };
        let mut left = room;
        for (place, key) in keys.iter().enumerate().filter(|(_, key)| key.is_text) {
            let shingles = &mut voids[place..place + SHINGLES];
            let is_counted = self.row_on(*key, reporter.id)?.is_some_and(|row| row.weight > 0);
            if is_counted || shingles.iter().all(|is_void| *is_void) {
                continue;
            }
            if left == 0 {
                shingles.fill(true);
            } else {
                left -= 1;
            }
        }
        self.texts_added += room - left;
        self.text_room = Some(left);
        Ok(())
    }
}
