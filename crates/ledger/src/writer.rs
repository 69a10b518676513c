//! The one thread that writes: it gathers what waits, journals it in one commit, changes memory, and answers.
//!
//! Between writes it looks at the clock, journals deltas of sightings, lets generations age, and takes snapshots;
//! threads of their own publish the snapshots and add up what lies in the log (`work`).
//! When the journal fails, writes are refused and reads go on; the journal is opened again when it may work.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use seenit_filter::hash::Hash128;
use seenit_link::store::{Committed, HeldStream};

use crate::answers::{Receipt, Write};
use crate::appoint::{Added, put_reporter};
use crate::clock::{Calendar, Trust};
use crate::error::WriteError;
use crate::follow::Unsummed;
use crate::held::HeldBytes;
use crate::identity::HighMark;
use crate::journal::horizon::{Horizon, NextNumbers};
use crate::journal::{Journal, JournalError};
use crate::peers::table::Peers;
use crate::record::Verb;
use crate::reporter::{Reporter, ReporterId};
use crate::share::{self, Share, Shares};
use crate::shared::Shared;
use crate::signature::Case;
use crate::snapshot::Head;
use crate::stage::{Moment, Stage, Staged};
use crate::writer_progress::WriterStep;

mod deltas;
mod full_tally;
mod hear;
mod job;
mod new_generation;
mod reopen;
mod shares;
mod snapshots;
#[cfg(test)]
mod tests;
mod work;

use hear::HeardNow;
pub(crate) use hear::count_sightings;
pub(crate) use job::{Job, Reply};
pub(crate) use new_generation::TALLIES_ANEW;
use snapshots::Collect;
pub(crate) use snapshots::Publishing;
pub(crate) use work::{Working, added_up};

/// Jobs that wait at most; beyond that a client is told to try again.
pub(crate) const QUEUE_MAX: usize = 4096;

/// Jobs of one commit: what gathers while the one before is synced, and no more than fit a few megabytes.
const JOBS_MAX: usize = 1024;

/// Bytes of signatures in one commit, all jobs but the last together: what is staged takes some thirty times as much.
const SIGNATURE_BYTES_MAX: usize = 1 << 20;

/// How often a journal that failed is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The writer's own state.
pub(crate) struct Writer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) jobs: Receiver<Job>,
    pub(crate) calendar: Calendar,
    /// The number of the next record.
    pub(crate) next: u64,
    /// Where the tallies begin.
    pub(crate) horizon: Horizon,
    /// The heads of the last snapshot and of the one before.
    pub(crate) heads: [Option<Head>; 2],
    /// The last snapshot is of this process: what it says, memory said.
    pub(crate) last_is_ours: bool,
    pub(crate) publishing: Option<Publishing>,
    /// What a thread of its own adds up.
    pub(crate) working: Option<Working>,
    /// What is kept of peers' sightings.
    pub(crate) held: HashMap<HeldStream, HeldBytes>,
    /// The peer sums count by other caps than the table of peers has, or do not count all that is kept.
    pub(crate) is_rebuild_due: bool,
    /// The highest time that is kept in the journal.
    pub(crate) kept_secs: u64,
    pub(crate) mark: HighMark,
    pub(crate) shares: Shares<(ReporterId, Share)>,
    pub(crate) peer_shares: Shares<(u16, Share)>,
    /// The serial number of the next record that is heard from a peer.
    pub(crate) next_heard: u64,
    /// The peers that memory counts by.
    pub(crate) peers: Arc<Peers>,
    /// A generation was hidden in part only: no snapshot is taken of that, so that a restart makes it right.
    pub(crate) is_unsure: bool,
    pub(crate) unsummed: Unsummed,
    /// The horizon has moved: until there is a snapshot, a start after a kill would make tallies anew.
    pub(crate) is_snapshot_due: bool,
}

/// Jobs that were staged, waiting for the commit.
#[derive(Default)]
struct Waiting {
    writes: Vec<(Staged, Verb, Reply<Receipt>)>,
    added: Vec<Added>,
    linked: Vec<(HeardNow, Reply<Committed>)>,
    /// Why the journal failed while they were staged: nothing of the batch is committed.
    failed: Option<WriteError>,
}

impl Writer {
    /// Works until the ledger is closed.
    pub(crate) fn run(mut self) {
        let interval = Duration::from_millis(self.shared.config.delta_millis);
        let mut next_tick = Instant::now() + interval;
        let mut next_snapshot = self.snapshot_time();
        let mut retry = Instant::now();
        loop {
            self.shared.progress.rest();
            let wait = next_tick.saturating_duration_since(Instant::now());
            match self.jobs.recv_timeout(wait) {
                Ok(job) => {
                    if !self.work(job) {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = Instant::now();
            if now >= next_tick {
                self.tick();
                self.work_aside();
                next_tick = Instant::now() + interval;
            }
            self.collect_snapshot(Collect::IfDone);
            if (now >= next_snapshot || self.is_snapshot_due) && self.publishing.is_none() {
                self.is_snapshot_due = false;
                self.snapshot_if_changed();
                next_snapshot = self.snapshot_time();
            }
            if self.is_broken() && now >= retry {
                self.shared.begin(WriterStep::Reopen);
                self.reopen();
                retry = Instant::now() + RETRY;
            }
        }
        self.collect_snapshot(Collect::Wait);
        self.stop_working();
        self.tick();
        self.snapshot_if_changed();
        self.collect_snapshot(Collect::Wait);
    }

    fn snapshot_time(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.shared.config.snapshot_secs)
    }

    fn is_broken(&self) -> bool {
        matches!(self.shared.state().refused, Some(WriteError::Journal(_)))
    }

    /// Works through the first job and all others that wait. False when the ledger is to be closed.
    fn work(&mut self, first: Job) -> bool {
        self.shared.begin(WriterStep::Commit);
        let mut bytes = signature_bytes(&first);
        let mut jobs = vec![first];
        while jobs.len() < JOBS_MAX && bytes < SIGNATURE_BYTES_MAX {
            match self.jobs.try_recv() {
                Ok(job) => {
                    bytes += signature_bytes(&job);
                    jobs.push(job);
                }
                Err(_) => break,
            }
        }
        let is_closing = jobs.iter().any(|job| matches!(job, Job::Close));
        let mut later = Vec::new();
        self.commit(jobs, &mut later);
        for job in later {
            match job {
                Job::Snapshot(reply) => {
                    self.collect_snapshot(Collect::Wait);
                    self.tick();
                    self.snapshot(reply);
                }
                Job::SetPeers(peers, reply) => {
                    self.shared.begin(WriterStep::Peers);
                    reply.answer(self.set_peers(&peers));
                }
                Job::ConfirmClock => {
                    self.confirm_clock();
                    self.tick();
                }
                Job::ChangeIncarnation(change, reply) => {
                    self.shared.begin(WriterStep::Incarnation);
                    reply.answer(self.change_incarnation(change));
                }
                _ => {}
            }
        }
        !is_closing
    }

    /// Stages all writes of `jobs`, commits them, and answers. What is no write goes to `later`.
    fn commit(&mut self, jobs: Vec<Job>, later: &mut Vec<Job>) {
        let shared = Arc::clone(&self.shared);
        let promoted = promoted_by(&shared, &jobs);
        let journal = match self.writable(&shared) {
            Ok(journal) => journal,
            Err(error) => {
                forget_promoting(&shared, &promoted);
                return refuse_all(jobs, &error, later);
            }
        };
        if let Err(error) = self.make_room(&shared, &journal, &jobs) {
            let error = WriteError::from(error);
            shared.state().refused = Some(error.clone());
            forget_promoting(&shared, &promoted);
            return refuse_all(jobs, &error, later);
        }
        // Only this thread changes them, after the commit.
        let known = shared.reporters.read().unwrap_or_else(PoisonError::into_inner);
        let generation = self.calendar.generation();
        let mut stage = self.new_stage(&journal, &shared);
        let mut waiting = Waiting::default();
        // What was heard adds to a share only where it is committed. Own shares come from the journal (`reopen`).
        let is_heard = jobs.iter().any(|job| matches!(job, Job::Link(..)));
        let peer_shares = is_heard.then(|| self.peer_shares.clone());
        for job in jobs {
            match &waiting.failed {
                None => self.stage_job(&mut stage, job, &known, &mut waiting, later),
                Some(error) => refuse(job, error, later),
            }
        }
        drop(known);
        let added_now = stage.added();
        let outcome = match waiting.failed.take() {
            Some(error) => Err(error),
            // What lost records add can be told only before the journal knows more.
            None => stage.lost().and_then(|lost| Ok((stage.commit()?, lost))).map_err(WriteError::from),
        };
        match outcome {
            Ok((outcome, lost)) => {
                let marks = outcome.heard.new_marks(&shared.memory, generation);
                outcome.apply(&shared.memory, journal.peers(), &mut self.unsummed);
                self.unsummed.add_lost(&lost);
                let summed = self.sum_up(&journal);
                let is_after = outcome.next >= self.next && outcome.heard.next >= self.next_heard;
                assert!(is_after, "numbers of records are never given twice");
                (self.next, self.next_heard) = (outcome.next, outcome.heard.next);
                shared.promoted.fetch_add(promoted.len() as u64 + marks.today, Relaxed);
                shared.bulk.fetch_add(promoted.len() as u64 + marks.all, Relaxed);
                shared.growth().add(generation, added_now);
                let last_before = shared.last.swap(self.next - 1, Relaxed);
                shared.heard.store(self.next_heard - 1, Relaxed);
                if let Err(error) = summed {
                    shared.state().refused = Some(error);
                }
                shared.reporters.write().unwrap_or_else(PoisonError::into_inner).extend(outcome.reporters);
                self.count_heard(&shared, &waiting.linked);
                waiting.answer(&shared);
                if last_before < self.next - 1 {
                    shared.has_grown();
                }
            }
            Err(error) => {
                if let Some(before) = peer_shares {
                    self.peer_shares = before;
                }
                shared.state().refused = Some(error.clone());
                waiting.refuse(&error);
            }
        }
        forget_promoting(&shared, &promoted);
    }

    fn new_stage<'a>(&self, journal: &'a Journal, shared: &'a Shared) -> Stage<'a> {
        let moment = Moment { generation: self.calendar.generation(), secs: self.calendar.secs() };
        let next = NextNumbers { own: self.next, heard: self.next_heard };
        Stage::new(journal, &shared.memory, &shared.config, moment, next)
    }

    /// Stages one job of a batch. What is refused is answered; what is no write goes to `later`.
    fn stage_job(
        &mut self,
        stage: &mut Stage<'_>,
        job: Job,
        known: &HashMap<ReporterId, Reporter>,
        waiting: &mut Waiting,
        later: &mut Vec<Job>,
    ) {
        let shared = Arc::clone(&self.shared);
        match job {
            Job::Write(write, reply) => match self.stage(stage, write, known) {
                Ok((staged, verb)) => waiting.writes.push((staged, verb, reply)),
                Err(problem) => waiting.failed = problem.tell(reply),
            },
            Job::Promote(case) => {
                waiting.failed = stage_promotion(stage, case, known).err().map(WriteError::from);
            }
            Job::PutReporter { name, appointment, reply } => {
                match put_reporter(&shared, stage, known, &waiting.added, &name, appointment) {
                    Ok(reporter) => waiting.added.push((reporter, reply)),
                    Err(error) => reply.answer(Err(error)),
                }
            }
            Job::Link(batch, reply) => match self.hear(stage, *batch) {
                Ok(heard) => waiting.linked.push((heard, reply)),
                Err(problem) => waiting.failed = problem.tell(reply),
            },
            other => later.push(other),
        }
    }

    fn stage(
        &mut self,
        stage: &mut Stage<'_>,
        write: Write,
        known: &HashMap<ReporterId, Reporter>,
    ) -> Result<(Staged, Verb), Problem> {
        let reporter = known.get(&write.reporter);
        let reporter =
            reporter.ok_or_else(|| WriteError::Reporter(format!("number {}", write.reporter.0)))?;
        let table = &self.shared.memory.table;
        let held = self.shared.memory.table.len() + stage.added();
        self.check_named(reporter, &write)?;
        if !share::takes_room(write.verb, reporter.id, reporter.weight) {
            return self.stage_weightless(stage, write, reporter, known);
        }
        if write.verb.adds() {
            self.check_share(stage, reporter, &write.cases, known)?;
            let room = table.capacity().saturating_sub(held);
            if held + stage.new_signatures(&write.cases, room) > table.capacity() {
                let error = WriteError::Full { held, capacity: table.capacity() };
                self.note_full(&error);
                return Err(error.into());
            }
        }
        let before = stage.kept();
        let named = share::named(&write.cases);
        stage.text_room = self.text_room(reporter, known);
        let staged = stage.write(write.verb, reporter, write.cases, known)?;
        self.note_share(stage, reporter.id, Share::Signatures, stage.kept() - before);
        self.note_texts(stage, reporter);
        self.note_named(stage, write.verb, reporter, named);
        Ok((staged, write.verb))
    }

    /// Takes over from the journal what full tallies cannot tell by their bits, and what peers' opinions count for.
    /// What cannot be read stays noted: until it is right, writes are refused and no snapshot is taken.
    fn sum_up(&mut self, journal: &Journal) -> Result<(), WriteError> {
        self.unsummed.sum_up(&self.shared.memory, journal).map_err(|error| {
            let why = format!(
                "the reports of {} signatures cannot be read: {error}; if that lasts, stop the server and run \
                 `seenit rebuild`",
                self.unsummed.len()
            );
            WriteError::Journal(why.into())
        })
    }

    /// The journal, where writes are taken.
    pub(crate) fn writable(&self, shared: &Shared) -> Result<Arc<Journal>, WriteError> {
        let floor = shared.config.free_bytes_min;
        let free = free_bytes(&shared.folder);
        let mut state = shared.state();
        match (&state.refused, free) {
            (Some(WriteError::Journal(why)), _) => return Err(WriteError::Journal(why.clone())),
            (_, Some(free)) if free < floor => {
                let error = WriteError::DiskLow { free, floor };
                state.refused = Some(error.clone());
                return Err(error);
            }
            _ => state.refused = None,
        }
        drop(state);
        shared.journal().ok_or_else(|| WriteError::Journal("it is being opened".into()))
    }

    /// The clock, deltas, aging.
    pub(crate) fn tick(&mut self) {
        let shared = Arc::clone(&self.shared);
        shared.begin(WriterStep::Tick);
        let trust = self.calendar.tick(&*shared.clock);
        shared.state().clock = match trust {
            Trust::Believed => None,
            Trust::Behind(secs) => Some(format!(
                "the clock is {secs} s behind what it was: time stands still until it has caught up"
            )),
            Trust::Leapt(secs) => Some(format!(
                "the clock leapt ahead by {secs} s: nothing expires until `seenit clock confirm`"
            )),
        };
        let Ok(journal) = self.writable(&shared) else {
            return;
        };
        self.note_room();
        let result = self.turn(&shared, &journal).and_then(|()| self.journal_deltas(&shared, &journal));
        let result = result.and_then(|()| Ok(self.mark.raise(self.next - 1)?));
        if let Err(error) = result {
            shared.state().refused = Some(error.into());
        }
    }
}

/// Why a write is not staged.
enum Problem {
    Refused(WriteError),
    Journal(JournalError),
}

impl Problem {
    /// Tells whoever waits; what the journal failed with is the whole batch's problem.
    fn tell<T>(self, reply: Reply<T>) -> Option<WriteError> {
        match self {
            Problem::Refused(error) => {
                reply.answer(Err(error));
                None
            }
            Problem::Journal(error) => {
                let error = WriteError::from(error);
                reply.answer(Err(error.clone()));
                Some(error)
            }
        }
    }
}

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        Problem::Refused(error)
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        Problem::Journal(error)
    }
}

fn signature_bytes(job: &Job) -> usize {
    match job {
        Job::Write(write, _) => write.cases.iter().map(|case| case.bytes().len()).sum(),
        Job::Link(batch, _) => batch.heard.iter().flat_map(|heard| &heard.items).map(Vec::len).sum(),
        _ => 0,
    }
}

/// The signatures whose promotion is among these jobs.
fn promoted_by(shared: &Shared, jobs: &[Job]) -> Vec<Hash128> {
    let case = |job: &Job| match job {
        Job::Promote(case) => shared.memory.keys_of(case),
        _ => Vec::new(),
    };
    jobs.iter().flat_map(case).map(|key| key.hash).collect()
}

/// Memory knows them now; or they were refused, and whoever sees them next asks again.
fn forget_promoting(shared: &Shared, promoted: &[Hash128]) {
    let mut promoting = shared.promoting.lock().unwrap_or_else(PoisonError::into_inner);
    promoted.iter().for_each(|hash| {
        promoting.remove(hash);
    });
}

fn refuse_all(jobs: Vec<Job>, error: &WriteError, later: &mut Vec<Job>) {
    jobs.into_iter().for_each(|job| refuse(job, error, later));
}

/// Refuses a job that would write; any other goes to `later`, where it is answered.
fn refuse(job: Job, error: &WriteError, later: &mut Vec<Job>) {
    match job {
        Job::Write(_, reply) => reply.answer(Err(error.clone())),
        Job::PutReporter { reply, .. } => reply.answer(Err(error.clone())),
        Job::Link(_, reply) => reply.answer(Err(error.clone())),
        Job::SetPeers(_, reply) => reply.answer(Err(error.clone())),
        Job::Promote(_) => {}
        other => later.push(other),
    }
}

impl Waiting {
    /// Everything is durable.
    fn answer(self, shared: &Shared) {
        for (staged, verb, reply) in self.writes {
            let Staged { first, records, matched, keys, protection } = staged;
            reply.answer(Ok(Receipt { protection, ..shared.receipt(first, verb, records, matched, &keys) }));
        }
        self.added.into_iter().for_each(|(reporter, reply)| reply.answer(Ok(reporter)));
        self.linked.into_iter().for_each(|(heard, reply)| reply.answer(Ok(heard.committed)));
    }

    /// Nothing is.
    fn refuse(self, error: &WriteError) {
        self.writes.into_iter().for_each(|(_, _, reply)| reply.answer(Err(error.clone())));
        self.added.into_iter().for_each(|(_, reply)| reply.answer(Err(error.clone())));
        self.linked.into_iter().for_each(|(_, reply)| reply.answer(Err(error.clone())));
    }
}

fn stage_promotion(
    stage: &mut Stage<'_>,
    case: Case,
    known: &HashMap<ReporterId, Reporter>,
) -> Result<Staged, JournalError> {
    let local = known.get(&crate::reporter::LOCAL);
    let local = local.ok_or_else(|| JournalError::Rows("there is no reporter `local`".into()))?;
    stage.write(Verb::Promote, local, vec![case], known)
}

/// Bytes that are free where a folder lies.
pub(crate) fn free_bytes(folder: &std::path::Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
