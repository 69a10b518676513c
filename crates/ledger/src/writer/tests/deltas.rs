//! Deltas of seen counts are made beside the writer, one after the other.

use super::*;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The numbers of the deltas that are journalled, of all generations.
fn deltas_in(shared: &Shared) -> Vec<u64> {
    let (journal, incarnation) = (shared.journal().expect("open"), shared.identity().incarnation().id);
    let mut numbers = Vec::new();
    let read = journal.each_delta(incarnation, |_, sequence, _| {
        numbers.push(sequence);
        Ok(())
    });
    read.expect("readable");
    numbers
}

impl Bench {
    fn see(&self, case: &Case, recipients: u64) {
        let (memory, generation) = (&self.writer.shared.memory, self.writer.calendar.generation());
        let (signature, hash) = (case.iter().next().expect("one"), memory.keys_of(case)[0].hash);
        memory.seen.add(generation, (signature, hash), recipients).expect("room");
    }

    fn seen(&self, case: &Case) -> u64 {
        let memory = &self.writer.shared.memory;
        memory.seen_count(case.iter().next().expect("one"), memory.keys_of(case)[0].hash).value
    }

    /// What is left after the writer was killed.
    fn killed(self) -> Self {
        let Bench { writer, _lock, _folder, .. } = self;
        let (config, clock) = (writer.shared.config.clone(), Arc::clone(&writer.shared.clock));
        drop((writer, _lock));
        let (jobs, receiver) = mpsc::channel();
        let opened = open(_folder.path(), config, clock, Tallies::OfSnapshot, receiver);
        let (_lock, writer) = opened.expect("a writer");
        Bench { writer, jobs, _lock, _folder }
    }
}

#[test]
fn a_report_is_answered_while_a_delta_is_gathered() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = LedgerConfig {
        capacity: 1000,
        seen_capacity: 1000,
        free_bytes_min: 0,
        delta_millis: 10,
        ..Default::default()
    };
    let ledger = Ledger::open(folder.path(), config, Arc::new(SystemClock::default())).expect("a ledger");
    let until = |what: &str, is_true: &dyn Fn() -> bool| {
        let patience = Instant::now() + PATIENCE;
        while !is_true() {
            assert!(Instant::now() < patience, "not in time: {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let seen = &ledger.shared.memory.seen;
    // Whoever looks at cells as the last delta left them keeps the next one waiting.
    let looked = seen.each_journalled(|_, _, _| {
        ledger.see(&[one(Kind::Pyzor, 1)], 3).expect("accepted");
        until("a delta is begun", &|| !seen.is_changed());
        let (sender, told) = mpsc::channel();
        let report = Write { verb: Verb::Report, reporter: LOCAL, cases: vec![one(Kind::Pyzor, 2)] };
        ledger.write(report, move |result| sender.send(result).expect("the test waits"));
        told.recv_timeout(PATIENCE).expect("an answer meanwhile").expect("durable");
        assert!(deltas_in(&ledger.shared).is_empty());
        Ok::<(), WriteError>(())
    });
    looked.expect("looked at");
    until("the delta is journalled", &|| deltas_in(&ledger.shared) == [1]);
}

#[test]
fn what_is_counted_while_a_delta_is_gathered_is_in_the_next_one() {
    let mut bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    bench.see(&case, 3);
    bench.writer.tick(Deltas::Gather);
    let begun = |bench: &Bench| !bench.writer.shared.memory.seen.is_changed();
    while !begun(&bench) {
        std::thread::yield_now();
    }
    bench.see(&case, 4);
    bench.writer.tick(Deltas::Gather);
    assert!(!begun(&bench), "there is one at a time");
    bench.writer.tick(Deltas::Now);
    assert!(begun(&bench) && bench.writer.gathering.is_none());
    assert_eq!(deltas_in(&bench.writer.shared), [1, 2]);
    bench.see(&case, 5);
    bench.writer.tick(Deltas::Gather);
    bench.snapshot().expect("a snapshot waits for what is gathered");
    assert_eq!(deltas_in(&bench.writer.shared), [1, 2, 3]);
    bench.see(&case, 6);
    bench.writer.tick(Deltas::Gather);
    bench.writer.collect_deltas(Collect::Wait);
    let bench = bench.killed();
    assert_eq!(bench.seen(&case), 18, "nothing is lost, and nothing told twice");
}

#[test]
fn a_delta_that_cannot_be_journalled_is_said_again_by_the_next_one() {
    let mut bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    bench.see(&case, 3);
    bench.writer.tick(Deltas::Gather);
    let shared = Arc::clone(&bench.writer.shared);
    shared.state().refused = Some(WriteError::Journal("it failed".into()));
    bench.writer.collect_deltas(Collect::Wait);
    assert!(shared.memory.seen.is_changed());
    assert!(deltas_in(&shared).is_empty());
    shared.state().refused = None;
    bench.writer.tick(Deltas::Gather);
    bench.writer.collect_deltas(Collect::Wait);
    assert_eq!(deltas_in(&shared), [1]);
    drop(shared);
    assert_eq!(bench.killed().seen(&case), 3);
}

#[test]
fn another_incarnation_begins_after_the_deltas_of_the_present_one_are_journalled() {
    let mut bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    bench.see(&case, 3);
    bench.writer.tick(Deltas::Gather);
    let first = bench.writer.shared.identity().incarnation().id;
    bench.writer.change_life(LifeChange::Agree { network: [1; 32], terms: Vec::new() }).expect("a life");
    let mut numbers = Vec::new();
    let read = bench.journal().each_delta(first, |_, sequence, _| {
        numbers.push(sequence);
        Ok(())
    });
    read.expect("readable");
    assert_eq!((numbers, deltas_in(&bench.writer.shared)), (vec![1], Vec::new()));
    assert_eq!(bench.seen(&case), 3);
}

#[test]
fn the_time_is_kept_where_nothing_is_counted() {
    let mut bench = Bench::new();
    bench.writer.kept_secs = 0;
    bench.writer.tick(Deltas::Gather);
    let kept = bench.journal().number("high").expect("readable");
    assert_eq!(kept, Some(bench.writer.kept_secs));
    assert_eq!(kept, Some(bench.writer.calendar.secs()));
}
