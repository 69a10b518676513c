//! The writer's part in snapshots: when one is due, and what of it writes wait for.
//!
//! Writes wait while memory is copied into a file that has no name yet: nobody may change it meanwhile. The rest
//! happens on a thread of its own: bulk marks are read from the journal, the file is synced and gets its name. A
//! snapshot that would say what the last one says is not taken, unless somebody asks for it.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use super::{Reply, Writer};
use crate::error::{Cause, WriteError};
use crate::journal::{Journal, hash_bytes};
use crate::shared::Shared;
use crate::snapshot::{Contents, Copied, FILES, Head, Taken};
use crate::writer_progress::WriterStep;

/// A snapshot on its way to the disk; its head when it is there. What failed is in the state.
pub(crate) struct Publishing(JoinHandle<Option<Head>>);

/// What the thread that publishes is handed, once memory is copied.
struct Handed {
    copied: Copied,
    journal: Arc<Journal>,
    reply: Reply<()>,
}

/// Whether to wait for what another thread makes for the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collect {
    Wait,
    IfDone,
}

impl Writer {
    /// Takes a snapshot that somebody waits for.
    pub(super) fn snapshot(&mut self, reply: Reply<()>) {
        self.begin_snapshot(true, reply);
    }

    /// Takes a snapshot, unless the last one says all of it. A failure is in the state, for `stats` and alarms; the
    /// journal has everything.
    pub(super) fn snapshot_if_changed(&mut self) {
        self.begin_snapshot(false, Reply::new(|_| {}));
    }

    fn begin_snapshot(&mut self, is_asked: bool, reply: Reply<()>) {
        let shared = Arc::clone(&self.shared);
        shared.begin(WriterStep::Snapshot);
        let journal = match self.writable(&shared) {
            Ok(journal) => journal,
            Err(error) => return reply.answer(Err(error)),
        };
        debug_assert_eq!(self.unsummed.len(), 0, "memory never says what the journal does not know");
        let contents = match self.contents(&shared) {
            Ok(contents) => contents,
            Err(why) => return note(&shared, Err(why.into()), reply),
        };
        if !is_asked && self.is_in_last(&shared, &contents) {
            return note(&shared, Ok(self.calendar.secs()), reply);
        }
        // The thread is there before memory is copied: nothing that can fail comes after.
        let (sender, receiver) = mpsc::channel();
        let publishing = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("snapshot".into());
        let thread = match thread.spawn(move || publish(&publishing, &receiver)) {
            Ok(thread) => thread,
            Err(error) => return note(&shared, Err(Cause::new(error)), reply),
        };
        self.publishing = Some(Publishing(thread));
        match contents.copy(&shared.folder, &shared.memory) {
            // A thread that is gone drops the reply, which answers.
            Ok(copied) => drop(sender.send(Handed { copied, journal, reply })),
            Err(error) => note(&shared, Err(Cause::new(error)), reply),
        }
    }

    /// What a snapshot would say now.
    fn contents(&self, shared: &Shared) -> Result<Contents, String> {
        if self.is_unsure {
            return Err("the journal failed while a generation aged: restart the server".into());
        }
        let taken = Taken {
            position: self.next - 1,
            generation: self.calendar.generation(),
            hidden_before: self.horizon.before,
            time: self.calendar.secs(),
            incarnation: shared.identity().incarnation().id,
            heard: self.next_heard - 1,
            peers: self.peers.tag,
            horizon: self.horizon.serial(),
            added: shared.growth().by_generation(),
        };
        Ok(Contents::new(&shared.config, &shared.memory, taken))
    }

    /// Whether the last snapshot, if nobody has removed it, says all of it.
    fn is_in_last(&self, shared: &Shared, contents: &Contents) -> bool {
        let last = self.heads[0].as_ref().filter(|_| self.last_is_ours);
        last.is_some_and(|last| contents.is_in(last)) && shared.folder.join(FILES[0]).exists()
    }

    /// Takes note of a snapshot that has its name now: generations that only older ones knew can go.
    pub(super) fn collect_snapshot(&mut self, collect: Collect) {
        let is_there = |one: &mut Publishing| collect == Collect::Wait || one.0.is_finished();
        let Some(Publishing(thread)) = self.publishing.take_if(is_there) else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        shared.begin(WriterStep::Snapshot);
        let head = match thread.join() {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(_) => {
                shared.state().snapshot_failed = Some("the thread that publishes it panicked".into());
                return;
            }
        };
        self.heads = [Some(head), self.heads[0].take()];
        self.last_is_ours = true;
    }
}

/// The thread that publishes: what is left to do once memory is copied.
fn publish(shared: &Shared, handed: &mpsc::Receiver<Handed>) -> Option<Head> {
    // Without a copy there is nothing to publish, and the writer has said why.
    let Handed { copied, journal, reply } = handed.recv().ok()?;
    let mut bulk = Vec::new();
    let read = journal.each_believed_bulk(shared.config.bulk_threshold, |generation, hash| {
        bulk.extend(generation.to_be_bytes());
        bulk.extend(hash_bytes(hash));
    });
    // A journal that failed is opened again only when nobody reads it.
    drop(journal);
    let read = read.map_err(Cause::new);
    let head = read.and_then(|()| copied.publish(&shared.folder, &bulk).map_err(Cause::new));
    note(shared, head.as_ref().map(|head| head.time).map_err(Clone::clone), reply);
    head.ok()
}

/// Notes until when a snapshot has everything, or why there is none, and tells whoever waits.
fn note(shared: &Shared, result: Result<u64, Cause>, reply: Reply<()>) {
    match result {
        Ok(secs) => {
            let mut state = shared.state();
            (state.snapshot_secs, state.snapshot_failed) = (Some(secs), None);
            drop(state);
            reply.answer(Ok(()));
        }
        Err(why) => {
            shared.state().snapshot_failed = Some(why.to_string());
            reply.answer(Err(WriteError::Journal(why)));
        }
    }
}
