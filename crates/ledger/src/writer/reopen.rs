//! A journal that failed is opened again.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use super::{Writer, free_bytes};
use crate::error::WriteError;
use crate::journal::{Journal, JournalError};
use crate::replay::Replay;
use crate::shared::Shared;

impl Writer {
    /// Opens the journal again after a failure, and takes over what it has and memory does not.
    pub(super) fn reopen(&mut self) {
        let shared = Arc::clone(&self.shared);
        if free_bytes(&shared.folder).is_some_and(|free| free < shared.config.free_bytes_min) {
            return;
        }
        // Nobody waits for the store: without it, checks are answered from memory.
        let taken = shared.journal.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(journal)) = taken.map(Arc::try_unwrap) {
            // Others still read it; it is tried again later.
            *shared.journal.write().unwrap_or_else(PoisonError::into_inner) = Some(journal);
            return;
        }
        match self.opened_again(&shared, &shared.folder.join(crate::open::JOURNAL_FOLDER)) {
            Ok(journal) => {
                *shared.journal.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(journal));
                let mut state = shared.state();
                state.refused = None;
                state.recovery.push("the journal failed and was opened again".into());
            }
            Err(why) => shared.state().refused = Some(WriteError::Journal(why)),
        }
    }

    fn opened_again(&mut self, shared: &Shared, path: &std::path::Path) -> Result<Journal, String> {
        let journal = Journal::open(path).map_err(|error| error.to_string())?;
        let text = |error: JournalError| error.to_string();
        journal.ensure(self.calendar.generation()).map_err(text)?;
        journal.hide_before(self.hidden_before);
        // First everything that can fail, then what cannot.
        let (mut records, mut heard) = (Vec::new(), Vec::new());
        for generation in journal.generations() {
            let read = journal.each_record(generation, self.next, |_, record| {
                records.push((generation, record));
                Ok(())
            });
            read.map_err(text)?;
            let read = journal.each_heard(generation, self.next_heard, |_, _, body| {
                heard.push((generation, body));
                Ok(())
            });
            read.map_err(text)?;
        }
        let last = journal.last_number().map_err(text)?;
        let last_heard = journal.last_heard().map_err(text)?;
        let reporters =
            crate::open::reporters(&journal, &shared.config).map_err(|error| error.to_string())?;
        // A change of peers whose commit failed may be in the journal. Memory counts by the table before it.
        let stored = journal.peers();
        let is_changed = stored.tag != self.peers.tag;
        if is_changed {
            journal.count_peers(Arc::clone(&self.peers));
        }
        let (now, threshold) = (self.calendar.generation(), shared.config.bulk_threshold);
        let mut replay = Replay::new(&shared.memory, &journal, now, threshold);
        heard.iter().for_each(|(generation, body)| replay.heard(*generation, body));
        records.iter().for_each(|(generation, record)| replay.own(*generation, record));
        self.next = self.next.max(last + 1);
        self.next_heard = self.next_heard.max(last_heard + 1);
        let mut followed = replay.finish();
        if is_changed {
            followed = followed.and_then(|()| self.follow(&journal, (&self.peers, &stored)));
            self.peers = stored;
        }
        // Memory has followed in part only: no snapshot is taken of that.
        followed.map_err(text).inspect_err(|_| self.is_unsure = true)?;
        shared.heard.store(self.next_heard - 1, Relaxed);
        shared.last.store(self.next - 1, Relaxed);
        let reporters = reporters.into_iter().map(|one| (one.id, one));
        *shared.reporters.write().unwrap_or_else(PoisonError::into_inner) = reporters.collect();
        Ok(journal)
    }
}
