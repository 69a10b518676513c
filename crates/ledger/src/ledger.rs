//! The ledger: what a site remembers, behind a few verbs.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use seenit_filter::hash::{Hash128, KeyHasher};
use seenit_signature::Kind;

use crate::anonymous::ClientNetwork;
use crate::answers::{Receipt, Sightings, Stats, Write};
use crate::appoint::Appointment;
use crate::clock::Clock;
use crate::config::LedgerConfig;
use crate::doubt::FilterName;
use crate::error::{OpenError, WriteError};
use crate::identity::FolderLock;
use crate::journal::RecordNumber;
use crate::journal::heard::Uncounted;
use crate::open::{self, Tallies};
use crate::probe::{self, Prober};
use crate::record::{RecordId, Verb};
use crate::reporter::{OPERATOR, Reporter, ReporterId, Standing};
use crate::seen::{NoRoom, RECIPIENTS_MAX};
use crate::shared::Shared;
use crate::signature::{Case, SignatureRef};
use crate::verdict::{Answer, Judgement};
use crate::writer::{Job, QUEUE_MAX, Reply, free_bytes};

/// The most cases of one write: a batch of a busy site, and no more than a commit takes.
pub const CASES_MAX: usize = 1000;

/// The share of a capacity from which it is an alarm.
const FILL_ALARM: f64 = 0.9;

/// How long an estimate of seen signatures is good for: it goes over the whole filter.
const FILL_AGE: Duration = Duration::from_secs(10);

/// What is said for as long as tallies know records that the journal has lost.
const LOST_RECORDS: &str = "the journal has lost records: verdicts about their messages come from the snapshot alone \
     and cannot be explained or withdrawn until they expire; restore a backup, or run `seenit rebuild` to go on \
     without them";

/// A site's memory. Cheap to share: put it into an `Arc`. Dropping it journals what is left and takes a snapshot.
pub struct Ledger {
    pub(crate) shared: Arc<Shared>,
    jobs: SyncSender<Job>,
    writer: Mutex<Option<JoinHandle<()>>>,
    pub(crate) prober: Mutex<Prober>,
    _lock: FolderLock,
}

impl Ledger {
    /// Opens the ledger in a folder, or begins one. Starts the thread that writes.
    pub fn open(folder: &Path, config: LedgerConfig, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ledger::start(folder, config, clock, Tallies::OfSnapshot)
    }

    /// The same with tallies made anew from the journal.
    pub(crate) fn open_anew(
        folder: &Path,
        config: LedgerConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        Ledger::start(folder, config, clock, Tallies::Anew)
    }

    fn start(
        folder: &Path,
        config: LedgerConfig,
        clock: Arc<dyn Clock>,
        tallies: Tallies,
    ) -> Result<Self, OpenError> {
        let (sender, receiver) = mpsc::sync_channel(QUEUE_MAX);
        let (lock, writer) = open::open(folder, config, clock, tallies, receiver)?;
        let shared = Arc::clone(&writer.shared);
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).map_err(|error| OpenError::file(folder)(std::io::Error::other(error)))?;
        let mut prober = Prober::new(u64::from_le_bytes(seed));
        // What an earlier release left may hold too much: that is known before the first answer.
        prober.round(&shared.memory, shared.generation());
        let thread = std::thread::Builder::new().name("ledger".into()).spawn(move || writer.run());
        let thread = thread.map_err(OpenError::file(folder))?;
        let writer = Mutex::new(Some(thread));
        let prober = Mutex::new(prober);
        Ok(Ledger { shared, jobs: sender, writer, prober, _lock: lock })
    }

    /// Has this called, on the thread that writes, when there are new records or sightings of this site. Only the
    /// first caller is heard.
    pub fn on_growth(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.shared.on_growth.set(Box::new(wake));
    }

    /// Judges a message by all its signatures; the journal is asked for details of what is known.
    pub fn check(&self, case: &Case) -> Judgement {
        self.shared.judge(self.shared.journal().as_deref()).message(case)
    }

    /// The same from memory alone: nothing waits for the disk. The reasons do not say how many reporters there are.
    pub fn check_in_memory(&self, case: &Case) -> Judgement {
        self.shared.judge(None).message(case)
    }

    /// Judges signatures one by one, from memory alone.
    ///
    /// # Panics
    /// When `given` is not as long as `signatures`.
    pub fn check_many(&self, signatures: &[SignatureRef<'_>], given: &mut [Answer]) {
        assert_eq!(signatures.len(), given.len(), "one answer a signature");
        self.shared.judge(None).signatures(signatures, given);
    }

    /// Counts that `recipients` more got these messages. Accepted, not yet durable: a crash costs at most the
    /// interval of deltas and the time that one takes. A message is not counted where the counts have no room
    /// for one of its signatures; others are counted all the same. Each signature is looked at by itself before
    /// any is counted, so where the last room is taken at that moment, a message is counted with some of its
    /// signatures, and refused.
    pub fn see(&self, cases: &[Case], recipients: u64) -> Result<(), WriteError> {
        self.writable()?;
        let refused: Vec<NoRoom> =
            cases.iter().filter_map(|case| self.count_case(case, recipients).err()).collect();
        refused.last().map_or(Ok(()), |last| Err(seen_full(*last, refused.len(), cases.len())))
    }

    /// The same of one signature, and says how many got it by now, these included.
    pub fn see_one(&self, signature: SignatureRef<'_>, recipients: u64) -> Result<u64, WriteError> {
        self.writable()?;
        let hash = self.shared.memory.sip.hash(&signature);
        self.count(signature, hash, recipients).map_err(|no_room| seen_full(no_room, 1, 1))
    }

    fn count_case(&self, case: &Case, recipients: u64) -> Result<(), NoRoom> {
        let shared = &*self.shared;
        let generation = self.shared.generation();
        let counted: Vec<(SignatureRef<'_>, Hash128)> = {
            let exact = case.iter().filter(|one| one.kind().is_exact());
            exact.map(|signature| (signature, shared.memory.sip.hash(&signature))).collect()
        };
        counted.iter().try_for_each(|(one, hash)| shared.memory.seen.check(generation, *one, *hash))?;
        counted.iter().try_for_each(|(one, hash)| self.count(*one, *hash, recipients).map(|_| ()))
    }

    /// Somebody of a network without an account says that they got these messages. It is a reason and counts nobody.
    pub fn see_by_anonymous<'a>(
        &self,
        signatures: impl Iterator<Item = SignatureRef<'a>>,
        network: ClientNetwork,
    ) {
        let memory = &self.shared.memory;
        let generation = self.shared.generation();
        for signature in signatures.filter(|one| one.kind().is_exact()) {
            let hash = memory.sip.hash(&signature);
            if !memory.degenerate.contains(&hash) {
                memory.anonymous.see(&memory.sip, generation, hash, network);
            }
        }
    }

    /// Counts recipients. Digests of nothing are not counted.
    fn count(&self, signature: SignatureRef<'_>, hash: Hash128, recipients: u64) -> Result<u64, NoRoom> {
        let shared = &*self.shared;
        let generation = self.shared.generation();
        if shared.memory.degenerate.contains(&hash) {
            return Ok(0);
        }
        let recipients = recipients.min(RECIPIENTS_MAX);
        let count = shared.memory.seen.add(generation, signature, hash, recipients)?;
        if shared.memory.doubts.is_in_doubt(FilterName::Seen) {
            // What others counted is not told: it may be another message's.
            return Ok(recipients);
        }
        let seen = count.value.saturating_sub(shared.memory.forgotten_count(hash));
        let is_bulk = signature.kind().names_message() && seen >= shared.config.bulk_threshold;
        if is_bulk && !shared.memory.is_promoted(generation, hash) {
            self.promote(signature, hash);
        }
        Ok(seen)
    }

    /// Whether counts of recipients are believed: not while their false-positive rate is beyond its promise.
    pub fn believes_counts(&self) -> bool {
        !self.shared.memory.doubts.is_in_doubt(FilterName::Seen)
    }

    /// How often a signature was seen, from memory alone.
    pub fn sightings(&self, signature: SignatureRef<'_>) -> Sightings {
        let memory = &self.shared.memory;
        let hash = memory.sip.hash(&signature);
        let marks = memory.tally(hash).marks;
        let recipients = memory.believed_count(signature, hash);
        Sightings { recipients, many: marks.many, forgotten: marks.forgotten }
    }

    /// Asks for a bulk mark, once. When too many wait it is asked for by the next who sees it.
    fn promote(&self, signature: SignatureRef<'_>, hash: Hash128) {
        // Beyond its capacity the filter would take absent keys for bulk; the count still says what was seen.
        if self.shared.promoted.load(Relaxed) >= self.shared.config.bulk_capacity {
            return;
        }
        let mut promoting = self.shared.promoting.lock().unwrap_or_else(PoisonError::into_inner);
        if promoting.len() >= QUEUE_MAX || !promoting.insert(hash) {
            return;
        }
        let mut case = Case::new();
        // One signature fits any case.
        let _ = case.add(signature);
        if self.jobs.try_send(Job::Promote(case)).is_err() {
            promoting.remove(&hash);
        }
    }

    /// Hands a write to the journal; `done` is called when it is durable, or refused. It must not block.
    pub fn write(&self, mut write: Write, done: impl FnOnce(Result<Receipt, WriteError>) + Send + 'static) {
        let cases = write.cases.len();
        if cases > CASES_MAX {
            return done(Err(WriteError::TooMany { cases, most: CASES_MAX }));
        }
        let usable = |case| self.shared.usable(Cow::Owned(case)).into_owned();
        write.cases = write.cases.into_iter().map(usable).collect();
        if cases == 0 || write.cases.iter().any(Case::is_empty) {
            return done(Err(WriteError::Empty));
        }
        if let Err(TrySendError::Full(Job::Write(_, reply))) =
            self.jobs.try_send(Job::Write(write, Reply::new(done)))
        {
            reply.answer(Err(WriteError::Busy { waiting: QUEUE_MAX }));
        }
    }

    /// The same, and waits.
    pub fn write_and_wait(&self, write: Write) -> Result<Receipt, WriteError> {
        let (sender, receiver) = mpsc::channel();
        self.write(write, move |result| {
            // Nobody waits any more only when this thread is gone.
            let _ = sender.send(result);
        });
        receiver.recv().unwrap_or(Err(WriteError::Closed))
    }

    /// What a record did, and what holds now. `None` for records that are not known (any more). One that a later
    /// incarnation of the folder has taken over is found by the name it had before, too; the receipt has its present
    /// name.
    pub fn receipt(&self, id: RecordId) -> Option<Receipt> {
        let shared = &*self.shared;
        if shared.record_id(id.number).site != id.site || !shared.identity().names(id.incarnation, id.number)
        {
            return None;
        }
        let (_, record) = shared.journal()?.record(RecordNumber(id.number)).ok()??;
        let mut keys = shared.memory.keys_of(&record.case);
        keys.retain(|key| !key.is_shingle());
        let is_known = |key: &&crate::keys::Key| shared.memory.is_known(**key);
        let matched = keys.iter().filter(is_known).count() as u64;
        Some(shared.receipt(id.number, record.verb, 1, matched, &keys))
    }

    /// Signatures that anybody said anything of.
    pub fn signatures(&self) -> u64 {
        self.shared.memory.table.len()
    }

    /// Synced commits of the journal since it was opened.
    pub fn commits(&self) -> u64 {
        self.shared.journal().map_or(0, |journal| journal.commits())
    }

    /// How the ledger is doing.
    pub fn stats(&self) -> Stats {
        let shared = &*self.shared;
        let config = &self.shared.config;
        let (seen, seen_rate) = self.seen_fill();
        let journal = shared.journal();
        let free_bytes = free_bytes(&shared.folder).unwrap_or(0);
        let [near_spam, near_ham] = shared.memory.near.texts(Kind::Near1);
        let state = shared.state().clone();
        let fullness = shared.fullness();
        let uncounted = |why| state.uncounted.of(shared.generation(), why);
        let mut stats = Stats {
            site: hex::encode(shared.identity().site()),
            incarnation: shared.identity().incarnation().id,
            generation: shared.generation(),
            records: shared.last.load(Relaxed),
            heard: shared.heard.load(Relaxed),
            heard_beyond_share: uncounted(Uncounted::Share),
            heard_beyond_capacity: uncounted(Uncounted::Full),
            heard_unreadable: uncounted(Uncounted::Unreadable),
            signatures: shared.memory.table.len(),
            capacity: config.capacity,
            kept_generations: fullness.kept_generations,
            full_in_days: fullness.full_in_days,
            is_full: state.full.is_some(),
            tally_rate: shared.memory.table.present_rate(),
            seen,
            seen_capacity: config.seen_capacity,
            seen_rate,
            bulk: shared.bulk.load(Relaxed),
            near_spam,
            near_ham,
            near_threshold: shared.memory.near.threshold(Kind::Near1, config),
            near_threshold_proposed: shared.memory.near.proposed(),
            memory_bytes: shared.memory.memory_bytes(),
            journal_bytes: journal.map_or(0, |journal| journal.disk_bytes()),
            free_bytes,
            reporters: shared.reporters.read().unwrap_or_else(PoisonError::into_inner).len() as u64,
            snapshot_age_secs: state.snapshot_secs.map(|then| shared.clock.now_secs().saturating_sub(then)),
            writes_refused: state.refusal().map(|why| why.to_string()),
            filters: self.filter_rates(),
            alarms: Vec::new(),
            recovery: state.recovery.clone(),
        };
        stats.alarms = fullness.alarms;
        stats.alarms.extend(alarms(&stats, config, shared.promoted.load(Relaxed), shared.texts()));
        stats.alarms.extend(stats.filters.iter().filter_map(probe::alarm).collect::<Vec<_>>());
        stats.alarms.extend(self.uncounted_sightings());
        stats.alarms.extend(shared.memory.has_lost_records.then(|| LOST_RECORDS.to_owned()));
        stats.alarms.extend(state.clock);
        stats.alarms.extend(state.restart);
        stats.alarms.extend(shared.stuck().map(|why| why.to_string()));
        let failed = state.snapshot_failed.map(|why| format!("the last snapshot could not be taken: {why}"));
        stats.alarms.extend(failed);
        stats
    }

    /// Says that sightings find no room.
    fn uncounted_sightings(&self) -> Vec<String> {
        let seen = &self.shared.memory.seen;
        let generation = self.shared.generation();
        let mut alarms = Vec::new();
        match seen.refused(generation) {
            0 => {}
            refused => alarms.push(format!(
                "sightings are not counted: {refused} of this generation were refused, because its counts are full; \
                 raise `seen_capacity` and restart"
            )),
        }
        match seen.peers_refused(generation) {
            0 => {}
            refused => alarms.push(format!(
                "not all that other sites saw is counted: {refused} sightings of this generation found no room; raise \
                 `peers_capacity` and restart"
            )),
        }
        alarms
    }

    fn seen_fill(&self) -> (u64, f64) {
        let known = self.shared.state().seen_fill;
        if let Some((_, keys, rate)) = known.filter(|(then, _, _)| then.elapsed() < FILL_AGE) {
            return (keys, rate);
        }
        let (keys, rate) = self.shared.memory.seen.fill();
        self.shared.state().seen_fill = Some((Instant::now(), keys, rate));
        (keys, rate)
    }

    /// Whether writes are taken, and why not.
    pub fn writable(&self) -> Result<(), WriteError> {
        self.shared.state().refusal().map_or(Ok(()), Err)
    }

    /// The reporter with a name.
    pub fn reporter(&self, name: &str) -> Option<Reporter> {
        self.reporters().into_iter().find(|reporter| reporter.name == name)
    }

    /// What a reporter's opinion weighs; nothing where there is no such reporter.
    pub fn weight_of(&self, reporter: ReporterId) -> u8 {
        self.shared.reporter(reporter).map_or(0, |reporter| reporter.weight)
    }

    /// Whether the operator knows nothing of a reporter: it registered itself, or the operator made it a stranger.
    pub fn is_stranger(&self, reporter: ReporterId) -> bool {
        self.shared.reporter(reporter).is_none_or(|reporter| reporter.standing == Standing::Stranger)
    }

    /// What a reporter is called.
    pub fn name_of(&self, reporter: ReporterId) -> Option<String> {
        self.shared.reporter(reporter).map(|reporter| reporter.name)
    }

    /// All reporters, by number.
    pub fn reporters(&self) -> Vec<Reporter> {
        let mut reporters: Vec<Reporter> = self.shared.reporters().into_values().collect();
        reporters.sort_by_key(|reporter| reporter.id);
        reporters
    }

    /// Adds a reporter with the default weight of accounts, or a fixed one; durable when it returns. An existing one is
    /// changed where a weight is given, or where it was a stranger.
    pub fn put_reporter(&self, name: &str, weight: Option<u8>) -> Result<Reporter, WriteError> {
        self.appoint(name, weight.map_or(Appointment::ByHand, Appointment::Fixed))
    }

    /// Adds a stranger, whose opinion weighs nothing until the operator says otherwise. Durable when it returns. An
    /// existing reporter stays as it is.
    pub fn admit_reporter(&self, name: &str) -> Result<Reporter, WriteError> {
        self.appoint(name, Appointment::Newcomer)
    }

    /// Gives a reporter a standing, and the weight that this begins with; durable when it returns.
    pub fn set_standing(&self, name: &str, standing: Standing) -> Result<Reporter, WriteError> {
        self.appoint(name, Appointment::Standing(standing))
    }

    fn appoint(&self, name: &str, appointment: Appointment) -> Result<Reporter, WriteError> {
        self.ask_and_wait(|reply| Job::PutReporter { name: name.to_owned(), appointment, reply })
    }

    /// Takes back everything a reporter said, and gives its opinion no weight from now on; the operator keeps its
    /// weight. Returns the number of records that were taken back.
    pub fn undo_reporter(&self, name: &str) -> Result<u64, WriteError> {
        let reporter = self.reporter(name).ok_or_else(|| WriteError::Reporter(name.to_owned()))?;
        if reporter.id != OPERATOR {
            self.put_reporter(name, Some(0))?;
        }
        let journal =
            self.shared.journal().ok_or_else(|| WriteError::Journal("it is being opened".into()))?;
        let mut cases = Vec::new();
        let mut undone = 0;
        for generation in journal.generations() {
            let read = journal.each_record(generation, 0, |_, record| {
                if record.reporter == reporter.id && matches!(record.verb, Verb::Report | Verb::Revoke) {
                    cases.push(record.case);
                }
                if cases.len() == CASES_MAX {
                    undone += self.withdraw(reporter.id, std::mem::take(&mut cases)).map_err(broken)?;
                }
                Ok(())
            });
            read?;
        }
        Ok(undone + self.withdraw(reporter.id, cases)?)
    }

    fn withdraw(&self, reporter: ReporterId, cases: Vec<Case>) -> Result<u64, WriteError> {
        if cases.is_empty() {
            return Ok(0);
        }
        let receipt = self.write_and_wait(Write { verb: Verb::Withdraw, reporter, cases })?;
        Ok(receipt.records.into())
    }

    /// Feeds known-good messages: no report makes them spam. Returns the last receipt.
    pub fn protect(&self, cases: Vec<Case>) -> Result<Receipt, WriteError> {
        self.write_and_wait(Write { verb: Verb::Protect, reporter: OPERATOR, cases })
    }

    /// Accepts the present time after a jump of the clock: what should have expired may expire now. Where the clock is
    /// behind what was confirmed by mistake, what that hid counts again after a restart.
    pub fn confirm_clock(&self) -> Result<(), WriteError> {
        self.ask(Job::ConfirmClock)
    }

    /// Writes a snapshot now.
    pub fn snapshot(&self) -> Result<(), WriteError> {
        self.ask_and_wait(Job::Snapshot)
    }

    /// Journals what is left, takes a snapshot, and ends the thread that writes. Later writes are refused.
    pub fn close(&self) {
        self.shared.state().is_closed = true;
        // A thread that is gone needs no telling.
        let _ = self.ask(Job::Close);
        let thread = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    pub(crate) fn ask(&self, job: Job) -> Result<(), WriteError> {
        self.jobs.send(job).map_err(|_| WriteError::Closed)
    }

    /// Hands a job to the writer and waits until it is done or refused.
    pub(crate) fn ask_and_wait<T: Send + 'static>(
        &self,
        job: impl FnOnce(Reply<T>) -> Job,
    ) -> Result<T, WriteError> {
        let (sender, receiver) = mpsc::channel();
        self.ask(job(Reply::new(move |result| {
            // Nobody waits any more only when this thread is gone.
            let _ = sender.send(result);
        })))?;
        receiver.recv().unwrap_or(Err(WriteError::Closed))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.close();
    }
}

/// Why messages were not counted, in words.
fn seen_full(no_room: NoRoom, refused: usize, messages: usize) -> WriteError {
    let NoRoom { held, most } = no_room;
    WriteError::SeenFull { refused, messages, held, most }
}

fn broken(error: WriteError) -> crate::journal::JournalError {
    crate::journal::JournalError::rows(error)
}

/// What an operator should look at, before a promise is broken.
fn alarms(stats: &Stats, config: &LedgerConfig, promoted: u64, texts: u64) -> Vec<String> {
    let mut alarms = Vec::new();
    let mut fill = |what: &str, held: u64, capacity: u64, remedy: &str| {
        if held as f64 > FILL_ALARM * capacity as f64 {
            alarms.push(format!("{held} {what} of {capacity}: {remedy}"));
        }
    };
    if stats.alarms.is_empty() {
        fill(
            "signatures",
            stats.signatures,
            stats.capacity,
            "set [ledger] capacity higher and restart the server",
        );
    }
    fill("seen signatures", stats.seen, stats.seen_capacity, "raise `seen_capacity` and restart");
    fill(
        "bulk signatures of this generation",
        promoted,
        config.bulk_capacity,
        "beyond that no more are marked, and only their counts say that they are bulk; raise `bulk_capacity`",
    );
    fill(
        "texts",
        texts,
        config.near_capacity,
        "beyond that more good texts are taken for replicas of spam by accident; set [ledger] near_capacity \
         higher and restart the server",
    );
    if stats.seen_rate > config.rate {
        let rate = stats.seen_rate;
        let promise = config.rate;
        alarms.push(format!(
            "the false-positive rate of seen counts is {rate:.1e}, more than the promised {promise:.1e}"
        ));
    }
    let uncounted = [
        (stats.heard_beyond_share, "their site has had its share of new signatures (`reporter_percent`)"),
        (
            stats.heard_beyond_capacity,
            "the tally is full: set [ledger] capacity higher and restart the server",
        ),
        (
            stats.heard_unreadable,
            "they cannot be read: a site runs another version, or sends what it should not",
        ),
    ];
    for (records, why) in uncounted.iter().filter(|(records, _)| *records > 0) {
        alarms.push(format!("{records} records of other sites were not counted in this generation: {why}"));
    }
    alarms.extend(stats.writes_refused.iter().map(|why| format!("writes are refused: {why}")));
    alarms
}
