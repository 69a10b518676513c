//! A journal that failed is opened again.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use super::{Writer, free_bytes};
use crate::age::fold_bulk;
use crate::error::{Cause, OpenError, WriteError};
use crate::follow::Following;
use crate::held;
use crate::journal::Journal;
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
                let journal = Arc::new(journal);
                *shared.journal.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&journal));
                let summed = self.sum_up(&journal);
                let mut state = shared.state();
                if summed.is_ok() {
                    state.recovery.push("the journal failed and was opened again".into());
                }
                state.refused = summed.err();
            }
            Err(error) => shared.state().refused = Some(WriteError::Journal(Cause::new(error))),
        }
    }

    fn opened_again(&mut self, shared: &Shared, path: &std::path::Path) -> Result<Journal, OpenError> {
        let journal = Journal::open(path)?;
        journal.ensure(self.calendar.generation())?;
        journal.hide_before(self.horizon.before);
        // First everything that can fail, then what cannot.
        let mut records = Vec::new();
        let mut heard = Vec::new();
        for generation in journal.generations() {
            let read = journal.each_record(generation, self.next, |_, record| {
                records.push((generation, record));
                Ok(())
            });
            read?;
            let read = journal.each_heard(generation, self.next_heard, |_, _, body| {
                heard.push((generation, body));
                Ok(())
            });
            read?;
        }
        let last = journal.last_number()?;
        let last_heard = journal.last_heard()?;
        let reporters = crate::open_reporters::reporters(&journal, &shared.config);
        let reporters = reporters?;
        // What the batch that failed had noted is there or not: the journal knows.
        let shares = journal.shares(self.horizon.before)?;
        let weightless = journal.weightless_since(self.horizon.before)?;
        let held = held::sizes(&journal.link_now())?;
        // A change of peers whose commit failed may be in the journal. Memory counts by the table before it.
        let stored = journal.peers();
        let is_changed = stored.tag != self.peers.tag;
        if is_changed {
            journal.count_peers(Arc::clone(&self.peers));
        }
        let threshold = shared.config.bulk_threshold;
        fold_bulk(&shared.memory, &journal, self.calendar.generation(), threshold)?;
        self.shares = shares;
        shared.memory.put_weightless(weightless);
        let mut following = Following::new(&shared.memory, journal.peers(), &mut self.unsummed);
        heard.iter().for_each(|(generation, body)| following.replay_heard(*generation, body));
        records.iter().for_each(|(generation, record)| following.replay(*generation, record));
        self.next = self.next.max(last + 1);
        self.next_heard = self.next_heard.max(last_heard + 1);
        // Of what peers saw, memory may lack what a commit brought that seemed to fail.
        self.held = held;
        self.is_rebuild_due = true;
        if is_changed {
            let followed = self.follow(&journal, &self.peers, &stored);
            self.peers = stored;
            // Memory has followed in part only: no snapshot is taken of that.
            followed.inspect_err(|_| self.is_unsure = true)?;
        }
        shared.heard.store(self.next_heard - 1, Relaxed);
        shared.last.store(self.next - 1, Relaxed);
        let reporters = reporters.into_iter().map(|one| (one.id, one));
        *shared.reporters.write().unwrap_or_else(PoisonError::into_inner) = reporters.collect();
        Ok(journal)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::config::LedgerConfig;
    use crate::journal::heard::{HeardBody, Origin};
    use crate::journal::row_key;
    use crate::open::{Tallies, open};
    use crate::record::{Record, Verb};
    use crate::reporter::ReporterId;
    use crate::signature::Case;
    use crate::testing::peer as peer_of;
    use seenit_link::store::PeerSite;
    use seenit_sites::roster::Caps;

    fn case() -> Case {
        let mut case = Case::new();
        case.push(seenit_signature::Kind::Pyzor, &[7; 20]).expect("a digest");
        case.push(seenit_signature::Kind::Near1, &[9; 256]).expect("shingles");
        case
    }

    fn peer(slot: u16, spam: u32) -> PeerSite {
        peer_of(slot, Caps { spam, ham: 10, seen: 0 })
    }

    /// Commits a report of a peer as a writer does whose commit is durable and says that it failed.
    fn commit_unheard(writer: &Writer, slot: u16) {
        let shared = &writer.shared;
        let generation = writer.calendar.generation();
        let journal = shared.journal().expect("open");
        let mut stage = writer.new_stage(&journal, shared);
        let reporter = ReporterId::of_peer(slot, 3);
        let verb = Verb::Report;
        let time = writer.calendar.secs();
        let record = Record { verb, reporter, weight: 10, time, count: 0, case: case(), befores: Vec::new() };
        let origin = Origin { slot, incarnation: 5, sequence: 1 };
        stage.hear(generation, origin, HeardBody::Counted(record)).expect("staged");
        stage.commit().expect("durable");
    }

    fn spam(writer: &Writer) -> (u32, u64) {
        let memory = &writer.shared.memory;
        let hash = memory.keys_of(&case())[0].hash;
        (memory.tally(hash).spam, memory.near.texts(seenit_signature::Kind::Near1)[0])
    }

    #[test]
    fn what_was_heard_and_who_counts_is_taken_over_after_a_commit_that_seemed_to_fail() {
        let (folder, (_jobs, receiver)) = (tempfile::tempdir().expect("a folder"), mpsc::channel());
        let small =
            LedgerConfig { capacity: 1000, seen_capacity: 1000, free_bytes_min: 0, ..Default::default() };
        let clock = Arc::new(SystemClock::default());
        let (_lock, mut writer) =
            open(folder.path(), small, clock, Tallies::OfSnapshot, receiver).expect("a writer");
        writer.set_peers(&[peer(1, 7), peer(2, 7)]).expect("durable");
        commit_unheard(&writer, 1);
        assert_eq!(spam(&writer), (0, 0));
        writer.reopen();
        assert_eq!((spam(&writer), writer.next_heard), ((7, 1), 2));
        commit_unheard(&writer, 2);
        {
            let journal = writer.shared.journal().expect("open");
            let mut batch = journal.batch();
            let left = [crate::peers::table::JournalPeer::from(&peer(2, 4))];
            let changed = journal.peers().changed_to(&left, [0xee; 32]).expect("a table");
            batch.peers(&changed).expect("staged");
            batch.commit().expect("durable");
        }
        writer.reopen();
        assert_eq!((spam(&writer), writer.next_heard), ((4, 0), 3));
        let journal = writer.shared.journal().expect("open");
        let hash = writer.shared.memory.keys_of(&case())[0].hash;
        let gone = row_key(hash, ReporterId::of_peer(1, 3));
        assert_eq!((journal.newest_row(&gone).expect("readable"), writer.is_unsure), (None, false));
    }
}
