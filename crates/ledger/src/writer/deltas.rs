//! Deltas of seen counts on their way into the journal and out of it.
//!
//! To copy all cells and compare them takes long where there are many. So that happens on a thread of its
//! own, and writes do not wait for it. A tick begins a *gathering* where something was counted; when it is
//! done the writer is woken, and commits what was found. There is one at a time, so that numbers of deltas
//! follow each other. Whoever needs all counts in the journal at once waits for it, and makes the rest on the
//! writer's thread.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::JoinHandle;

use super::snapshots::Collect;
use super::{Job, Writer, journal_error};
use crate::journal::{Journal, JournalError};
use crate::open_seen::FORGOTTEN_IN;
use crate::pulse::Step;
use crate::seen::Delta;
use crate::shared::Shared;

/// How often the highest time is kept when nothing else is written.
const HIGH_SECS: u64 = 60;

/// Which deltas a tick makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deltas {
    /// On a thread of their own; they are journalled when they are done.
    Gather,
    /// All, before anything else happens.
    Now,
}

/// Deltas in the making.
pub(crate) struct Gathering {
    thread: JoinHandle<Result<Vec<Delta>, JournalError>>,
    /// Set before the writer is woken: the thread itself may end a little later.
    is_done: Arc<AtomicBool>,
}

impl Gathering {
    fn is_done(&self) -> bool {
        self.is_done.load(Acquire) || self.thread.is_finished()
    }
}

impl Writer {
    /// Begins to gather deltas, unless that is under way or nothing was counted.
    pub(super) fn begin_gathering(
        &mut self,
        shared: &Arc<Shared>,
        journal: &Journal,
    ) -> Result<(), JournalError> {
        if self.gathering.is_some() {
            return Ok(());
        }
        if !shared.memory.seen.is_changed() {
            return self.commit_deltas(shared, journal, Vec::new());
        }
        let (of, is_done, wake) = (Arc::clone(shared), Arc::new(AtomicBool::new(false)), self.wake.clone());
        let done = Arc::clone(&is_done);
        let gather = move || {
            let deltas = of.memory.seen.deltas();
            done.store(true, Release);
            if let Some(wake) = wake {
                // Where its queue is full, the writer is awake.
                let _ = wake.try_send(Job::Gathered);
            }
            deltas
        };
        match std::thread::Builder::new().name("deltas".into()).spawn(gather) {
            Ok(thread) => self.gathering = Some(Gathering { thread, is_done }),
            // The system has no thread to give: writes wait this once.
            Err(_) => return self.journal_deltas(shared, journal),
        }
        Ok(())
    }

    /// Journals what a gathering has found. What failed is in the state, and said again by the next delta.
    pub(super) fn collect_deltas(&mut self, collect: Collect) {
        let shared = Arc::clone(&self.shared);
        let Some(gathered) = self.gathered(&shared, collect) else {
            return;
        };
        let committed = match (gathered, self.writable(&shared)) {
            (Ok(deltas), Ok(journal)) => self.commit_deltas(&shared, &journal, deltas),
            (Ok(deltas), Err(_)) => {
                deltas.iter().for_each(|delta| shared.memory.seen.not_journalled(delta));
                Ok(())
            }
            (Err(error), _) => Err(error),
        };
        if let Err(error) = committed {
            shared.state().refused = Some(journal_error(error));
        }
    }

    /// Journals everything that was counted until now.
    pub(crate) fn journal_deltas(&mut self, shared: &Shared, journal: &Journal) -> Result<(), JournalError> {
        if let Some(gathered) = self.gathered(shared, Collect::Wait) {
            self.commit_deltas(shared, journal, gathered?)?;
        }
        let rest = shared.memory.seen.deltas()?;
        self.commit_deltas(shared, journal, rest)
    }

    /// What a gathering has found, where there is one to collect.
    fn gathered(&mut self, shared: &Shared, collect: Collect) -> Option<Result<Vec<Delta>, JournalError>> {
        let is_there = |one: &mut Gathering| collect == Collect::Wait || one.is_done();
        let gathering = self.gathering.take_if(is_there)?;
        shared.begin(Step::Tick);
        Some(gathering.thread.join().unwrap_or_else(|_| {
            // What it had looked at counts as told: it is looked at again.
            shared.memory.seen.look_again();
            Err(JournalError::Rows("the thread that makes deltas of seen counts panicked".into()))
        }))
    }

    /// Makes deltas durable, and with them how late it is. Without any, the time is kept now and then.
    fn commit_deltas(
        &mut self,
        shared: &Shared,
        journal: &Journal,
        deltas: Vec<Delta>,
    ) -> Result<(), JournalError> {
        let secs = self.calendar.secs();
        if deltas.is_empty() && secs < self.kept_secs + HIGH_SECS {
            return Ok(());
        }
        let mut batch = journal.batch();
        // Nobody begins another life before the deltas of the present one are collected.
        let incarnation = shared.identity().incarnation().id;
        for delta in &deltas {
            batch.delta(incarnation, delta.generation, delta.sequence, &delta.bytes);
        }
        batch.number("high", secs);
        if let Err(error) = batch.commit() {
            deltas.iter().for_each(|delta| shared.memory.seen.not_journalled(delta));
            return Err(error);
        }
        self.kept_secs = secs;
        deltas.into_iter().for_each(|delta| shared.memory.seen.journalled(delta));
        Ok(())
    }

    /// Deltas that both snapshots have are not needed any more.
    pub(crate) fn forget_deltas(&self, shared: &Shared, journal: &Journal) -> Result<(), JournalError> {
        let Some(previous) = &self.heads[1] else {
            return Ok(());
        };
        let oldest = shared.generation().saturating_sub(shared.config.seen_generations);
        let mut batch = journal.batch();
        let lives: Vec<u64> = shared.identity().incarnations().iter().map(|life| life.id).collect();
        for incarnation in lives {
            journal.each_delta(incarnation, |generation, sequence, _| {
                let has = previous.seen.iter().any(|&(known, last)| known == generation && sequence <= last);
                let is_taken =
                    incarnation < previous.incarnation || incarnation == previous.incarnation && has;
                if is_taken || generation < oldest {
                    batch.remove_delta(incarnation, generation, sequence);
                    batch.number(FORGOTTEN_IN, incarnation);
                }
                Ok(())
            })?;
        }
        batch.commit()
    }
}
