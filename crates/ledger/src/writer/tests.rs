//! What the writer does when the journal fails it, and how it counts what a batch adds.

use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::{self, Receiver, Sender};

use seenit_signature::Kind;

use super::*;
use crate::appoint::Appointment;
use crate::clock::SystemClock;
use crate::config::LedgerConfig;
use crate::incarnations::IncarnationChange;
use crate::journal::{Row, RowKey, row_key};
use crate::ledger::Ledger;
use crate::open::{Tallies, open};
use crate::record::Record;
use crate::reporter::{LOCAL, OPERATOR};
use crate::signature::Case;
use crate::testing::{heard, peer};
use seenit_link::store::{LinkBatch, Store};
use seenit_sites::roster::Caps;

mod deltas;
mod shares;

/// A writer without its thread: tests hand it jobs themselves.
struct Bench {
    writer: Writer,
    jobs: Sender<Job>,
    _lock: crate::identity::FolderLock,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let (folder, (jobs, receiver)) = (tempfile::tempdir().expect("a folder"), mpsc::channel());
        let small =
            LedgerConfig { capacity: 1000, seen_capacity: 1000, free_bytes_min: 0, ..Default::default() };
        let clock = Arc::new(SystemClock::default());
        let (lock, writer) =
            open(folder.path(), small, clock, Tallies::OfSnapshot, receiver).expect("a writer");
        Bench { writer, jobs, _lock: lock, _folder: folder }
    }

    fn journal(&self) -> Arc<Journal> {
        self.writer.shared.journal().expect("open")
    }

    /// Hands over jobs that all wait when the writer comes to them: one batch.
    fn work(&mut self, jobs: Vec<Job>) {
        let mut jobs = jobs.into_iter();
        let first = jobs.next().expect("a job");
        jobs.for_each(|job| self.jobs.send(job).expect("the writer lives"));
        assert!(self.writer.work(first));
    }

    fn write(&mut self, verb: Verb, reporter: ReporterId, case: Case) -> Result<Receipt, WriteError> {
        let (job, told) = write(verb, reporter, case);
        self.work(vec![job]);
        told.try_recv().expect("an answer")
    }

    fn snapshot(&mut self) -> Result<(), WriteError> {
        let (reply, told) = reply();
        self.work(vec![Job::Snapshot(reply)]);
        let result = told.recv().expect("an answer");
        self.writer.collect_snapshot(Collect::Wait);
        result
    }

    fn appoint(&mut self, name: String) -> ReporterId {
        let (reply, told) = reply();
        self.work(vec![Job::PutReporter { name, appointment: Appointment::Fixed(10), reply }]);
        told.try_recv().expect("an answer").expect("durable").id
    }

    /// The place of a reporter's row on the only signature of a case.
    fn row_of(&self, reporter: ReporterId, case: &Case) -> RowKey {
        row_key(self.writer.shared.memory.keys_of(case)[0].hash, reporter)
    }

    /// Damages a row, and says what it was.
    fn damage_row(&self, key: &RowKey) -> Row {
        let journal = self.journal();
        let generation = self.writer.calendar.generation();
        let sound = journal.row(generation, key).expect("readable").expect("a row");
        journal.damage_row(generation, key).expect("damaged");
        sound
    }

    fn mend_row(&self, key: &RowKey, sound: &Row) {
        let journal = self.journal();
        let mut batch = journal.batch();
        batch.row(self.writer.calendar.generation(), key, sound).expect("staged");
        batch.commit().expect("durable");
    }

    /// A link that 52 reporters with ten points each reported: more than a tally holds. Who they are.
    fn fill_tally(&mut self, link: &Case) -> Vec<ReporterId> {
        let reporters: Vec<ReporterId> = (0..52).map(|number| self.appoint(format!("r{number}"))).collect();
        for &reporter in &reporters {
            self.write(Verb::Report, reporter, link.clone()).expect("durable");
        }
        assert_eq!(self.spam(link), 511, "520 points fill nine bits");
        reporters
    }

    fn spam(&self, case: &Case) -> u32 {
        let memory = &self.writer.shared.memory;
        memory.tally(memory.keys_of(case)[0].hash).spam
    }
}

fn reply<T: Send + 'static>() -> (Reply<T>, Receiver<Result<T, WriteError>>) {
    let (sender, receiver) = mpsc::channel();
    (Reply::new(move |result| sender.send(result).expect("the test waits")), receiver)
}

fn write(verb: Verb, reporter: ReporterId, case: Case) -> (Job, Receiver<Result<Receipt, WriteError>>) {
    let (reply, told) = reply();
    (Job::Write(Write { verb, reporter, cases: vec![case] }, reply), told)
}

fn one(kind: Kind, number: u16) -> Case {
    let mut case = Case::new();
    let mut digest = [0x5a; 20];
    digest[..2].copy_from_slice(&number.to_le_bytes());
    case.push(kind, &digest).expect("a digest");
    case
}

#[test]
fn a_batch_whose_staging_fails_answers_every_job() {
    let mut bench = Bench::new();
    let peer = peer(1, Caps { spam: 10, ham: 10, seen: 0 });
    bench.writer.set_peers(&[peer]).expect("durable");
    let known = one(Kind::Pyzor, 1);
    let said = Record {
        verb: Verb::Report,
        reporter: ReporterId(3),
        weight: 10,
        time: bench.writer.calendar.secs(),
        count: 0,
        case: known.clone(),
        befores: Vec::new(),
    };
    let link = || Box::new(heard(1, vec![said.clone().travelling()]));
    bench.write(Verb::Report, LOCAL, known.clone()).expect("durable");
    let (told_link, told) = reply();
    bench.work(vec![Job::Link(link(), told_link)]);
    told.try_recv().expect("an answer").expect("durable");
    let rows = [bench.row_of(LOCAL, &known), bench.row_of(ReporterId::of_peer(1, 3), &known)];
    // Once the journal fails at a report, once at what was heard: both come first in their batch.
    for damaged in rows {
        let sound = bench.damage_row(&damaged);
        let (report, reported) = write(Verb::Report, LOCAL, known.clone());
        let (other, told_other) = write(Verb::Report, OPERATOR, one(Kind::Pyzor, 2));
        let ((for_link, linked), (for_peers, peers)) = (reply(), reply());
        let ((for_reporter, appointed), (for_snapshot, snapshot)) = (reply(), reply());
        let (for_incarnation, incarnation) = reply();
        let name = "new".to_owned();
        bench.work(vec![
            Job::Link(link(), for_link),
            report,
            other,
            Job::PutReporter { name, appointment: Appointment::ByHand, reply: for_reporter },
            Job::SetPeers(Vec::new(), for_peers),
            Job::Snapshot(for_snapshot),
            Job::ChangeIncarnation(IncarnationChange::Leave, for_incarnation),
        ]);
        let is_refused = |error: Option<WriteError>| matches!(error, Some(WriteError::Journal(_)));
        assert!(is_refused(reported.try_recv().expect("the report is answered").err()));
        assert!(is_refused(told_other.try_recv().expect("the other report is answered").err()));
        assert!(is_refused(appointed.try_recv().expect("the reporter is answered").err()));
        assert!(is_refused(linked.try_recv().expect("the link is answered").err()));
        for told in [peers, snapshot, incarnation] {
            assert!(is_refused(told.try_recv().expect("every job is answered").err()));
        }
        bench.mend_row(&damaged, &sound);
        bench.writer.reopen();
        bench.write(Verb::Report, OPERATOR, one(Kind::Pyzor, 3)).expect("it goes on");
    }
}

#[test]
fn jobs_that_wait_when_the_writer_ends_are_told_that_it_is_closed() {
    let bench = Bench::new();
    let (job, told) = write(Verb::Report, LOCAL, one(Kind::Pyzor, 1));
    bench.jobs.send(job).expect("the writer lives");
    drop(bench);
    assert_eq!(told.try_recv().expect("an answer").err(), Some(WriteError::Closed));
}

/// A spam weight fills its bits, and something is taken from it: only the journal knows what is left.
#[test]
fn a_full_tally_that_the_journal_cannot_tell_is_never_in_a_snapshot_and_is_tried_until_it_is_right() {
    let mut bench = Bench::new();
    let link = one(Kind::Url1, 1);
    let reporters = bench.fill_tally(&link);
    let damaged = bench.row_of(reporters[0], &link);
    let sound = bench.damage_row(&damaged);
    bench.write(Verb::Withdraw, reporters[1], link.clone()).expect("it is durable all the same");
    for _ in 0..2 {
        let refused = bench.write(Verb::Report, LOCAL, one(Kind::Url1, 2)).expect_err("refused").to_string();
        assert!(refused.contains("the reports of 1 signatures cannot be read"), "{refused}");
        bench.snapshot().expect_err("a wrong tally is in no snapshot");
        bench.writer.reopen();
    }
    bench.mend_row(&damaged, &sound);
    bench.writer.reopen();
    assert_eq!(bench.spam(&link), 510);
    bench.write(Verb::Report, LOCAL, one(Kind::Url1, 2)).expect("writes are taken again");
    bench.snapshot().expect("and so are snapshots");
}

#[test]
fn a_start_that_cannot_read_what_a_full_tally_counts_for_is_refused() {
    let mut bench = Bench::new();
    let link = one(Kind::Url1, 1);
    let reporters = bench.fill_tally(&link);
    bench.snapshot().expect("a snapshot");
    bench.damage_row(&bench.row_of(reporters[0], &link));
    bench.write(Verb::Withdraw, reporters[1], link).expect("it is durable");
    let Bench { writer, _lock, _folder: folder, .. } = bench;
    let config = writer.shared.config.clone();
    let clock = Arc::clone(&writer.shared.clock);
    drop((writer, _lock));
    let again = open(folder.path(), config, clock, Tallies::OfSnapshot, mpsc::channel().1);
    let refused = again.err().expect("the replay cannot tell what is left").to_string();
    assert!(refused.contains("the journal is damaged"), "{refused}");
}

#[test]
fn a_new_signature_that_two_report_in_one_batch_is_counted_once() {
    let mut bench = Bench::new();
    let room = bench.writer.shared.memory.table.capacity() as u16;
    for number in 1..room {
        bench.write(Verb::Report, OPERATOR, one(Kind::Pyzor, number)).expect("durable");
    }
    let named = bench.appoint("named".into());
    // Room for one more: the same new signature of two reporters, and of two cases of one write, is one.
    let last = one(Kind::Pyzor, room);
    let ((first, one_told), (second, other_told)) =
        (write(Verb::Report, named, last.clone()), write(Verb::Report, LOCAL, last.clone()));
    let (reply, twice_told) = reply();
    let cases = vec![last.clone(), last.clone()];
    let twice = Job::Write(Write { verb: Verb::Report, reporter: OPERATOR, cases }, reply);
    bench.work(vec![twice, first, second]);
    for told in [twice_told, one_told, other_told] {
        told.try_recv().expect("an answer").expect("there is room");
    }
    assert_eq!(bench.spam(&last), 22, "10, 10, and 2 of `local`");
    let generation = bench.writer.calendar.generation();
    assert_eq!(bench.writer.shares.added(generation, (OPERATOR, Share::Signatures)), u64::from(room));
    assert_eq!(bench.writer.shares.added(generation, (named, Share::Signatures)), 0, "it added nothing");
    // What only takes back adds nothing.
    bench.write(Verb::Withdraw, named, one(Kind::Pyzor, room + 1)).expect("durable");
    assert_eq!(bench.writer.shares.added(generation, (named, Share::Signatures)), 0);
}

#[test]
fn a_snapshot_is_not_written_again_while_nothing_changes() {
    let mut bench = Bench::new();
    let taken = |bench: &mut Bench| {
        bench.writer.tick();
        bench.writer.snapshot_if_changed();
        bench.writer.collect_snapshot(Collect::Wait);
        let file = bench.writer.shared.folder.join("snapshot");
        let file = std::fs::metadata(file).expect("a snapshot");
        // The number of a file that was removed may be given again at once.
        (MetadataExt::ino(&file), file.modified().expect("a time"))
    };
    let mut last = taken(&mut bench);
    assert_eq!(taken(&mut bench), last, "nothing has changed");
    assert_eq!(bench.writer.shared.state().snapshot_failed, None);
    let mut is_another = |bench: &mut Bench, what: &str| {
        let next = taken(bench);
        assert_ne!(next, last, "{what}");
        last = next;
        assert_eq!(taken(bench), last, "nothing since: {what}");
    };
    bench.write(Verb::Report, LOCAL, one(Kind::Pyzor, 1)).expect("durable");
    is_another(&mut bench, "a record");
    let peer = peer(1, Caps { spam: 10, ham: 10, seen: 0 });
    bench.writer.set_peers(&[peer]).expect("durable");
    is_another(&mut bench, "peers");
    bench.writer.horizon.before += 1;
    is_another(&mut bench, "a generation that is hidden");
    let change = IncarnationChange::Agree { network: [1; 32], keys: Vec::new() };
    bench.writer.change_incarnation(change).expect("an incarnation");
    is_another(&mut bench, "an incarnation");
    std::fs::remove_file(bench.writer.shared.folder.join("snapshot")).expect("removed");
    is_another(&mut bench, "a file that is gone");
    bench.snapshot().expect("whoever asks for one gets it");
    assert_ne!(taken(&mut bench), last);
}

#[test]
fn stats_know_the_number_of_bulk_marks_without_reading_the_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let config =
        LedgerConfig { capacity: 1000, seen_capacity: 1000, free_bytes_min: 0, ..Default::default() };
    let open =
        || Ledger::open(folder.path(), config.clone(), Arc::new(SystemClock::default())).expect("a ledger");
    let ledger = open();
    let peer = peer(1, Caps { spam: 10, ham: 10, seen: 20 });
    ledger.commit(LinkBatch { peers: Some(vec![peer]), ..LinkBatch::default() }).expect("durable");
    // Two signatures are bulk here; a peer says the same of one of them, and of a third, twice.
    ledger.see(&[one(Kind::Pyzor, 1), one(Kind::Pyzor, 2)], 20).expect("accepted");
    ledger.snapshot().expect("promotions are written before");
    let time = crate::clock::Clock::now_secs(&SystemClock::default());
    let verb = Verb::Promote;
    let reporter = ReporterId(3);
    let promoted = |number| {
        let case = one(Kind::Pyzor, number);
        Record { verb, reporter, weight: 10, time, count: 0, case, befores: Vec::new() }.travelling()
    };
    for _ in 0..2 {
        ledger.commit(heard(1, vec![promoted(1), promoted(3)])).expect("durable");
    }
    let journal = ledger.shared.journal.write().expect("nobody panicked").take();
    assert_eq!(ledger.stats().bulk, 3);
    *ledger.shared.journal.write().expect("nobody panicked") = journal;
    drop(ledger);
    assert_eq!(open().stats().bulk, 3, "a start counts them");
}

/// An account that signs in again while it is refuted would else keep its weight.
#[test]
fn what_a_batch_settles_is_not_undone_by_an_appointment_in_the_same_batch() {
    let mut bench = Bench::new();
    let by_hand = || {
        let (reply, told) = reply();
        (Job::PutReporter { name: "known".into(), appointment: Appointment::ByHand, reply }, told)
    };
    let (job, told) = by_hand();
    bench.work(vec![job]);
    let known = told.try_recv().expect("an answer").expect("durable");
    let lie = one(Kind::Pyzor, 1);
    bench.write(Verb::Report, known.id, lie.clone()).expect("durable");
    let (refutation, _durable) = write(Verb::Revoke, OPERATOR, lie);
    let (again, told) = by_hand();
    bench.work(vec![refutation, again]);
    let after = told.try_recv().expect("an answer").expect("durable");
    assert_eq!((after.refuted, after.weight), (1, known.weight / 2));
}
