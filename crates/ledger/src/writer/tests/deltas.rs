//! Deltas of sightings on their way into the journal.

use super::*;
use crate::incarnations::IncarnationChange;
use crate::journal::sightings::SightingsRow;
use crate::own_chain::OwnChain;
use crate::own_log::OwnLog;
use seenit_filter::sightings::{Structure, decode, encode};
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation};

/// The numbers of the deltas that are journalled in an incarnation, of all generations.
fn deltas_of(journal: &Journal, incarnation: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    let read = journal.each_sightings(|row, bytes| {
        assert!(decode(bytes).is_ok());
        if row.stream.incarnation == incarnation {
            numbers.push(row.sequence);
        }
        Ok(())
    });
    read.expect("readable");
    numbers
}

impl Bench {
    fn see(&self, case: &Case, recipients: u64) {
        let memory = &self.writer.shared.memory;
        let generation = self.writer.calendar.generation();
        let signature = case.iter().next().expect("one");
        let hash = memory.keys_of(case)[0].hash;
        memory.seen.add(generation, signature, hash, recipients).expect("room");
    }

    fn seen(&self, case: &Case) -> u64 {
        let memory = &self.writer.shared.memory;
        memory.seen_count(case.iter().next().expect("one"), memory.keys_of(case)[0].hash).value
    }

    fn deltas(&self) -> Vec<u64> {
        deltas_of(&self.journal(), self.writer.shared.identity().incarnation().id)
    }

    /// What is left after the writer was killed, opened with another structure.
    fn killed(self, seen: Structure) -> Self {
        let Bench { writer, _lock, _folder, .. } = self;
        let config = writer.shared.config.clone();
        let clock = Arc::clone(&writer.shared.clock);
        drop((writer, _lock));
        let (jobs, receiver) = mpsc::channel();
        let config = LedgerConfig { seen, ..config };
        let opened = open(_folder.path(), config, clock, Tallies::OfSnapshot, receiver);
        let (_lock, writer) = opened.expect("a writer");
        Bench { writer, jobs, _lock, _folder }
    }
}

#[test]
fn every_tick_journals_what_was_counted_and_nothing_twice() {
    let mut bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    bench.writer.tick();
    assert!(bench.deltas().is_empty(), "nothing to say");
    bench.see(&case, 3);
    bench.writer.tick();
    bench.see(&case, 4);
    bench.writer.tick();
    bench.writer.tick();
    assert_eq!(bench.deltas(), [1, 2]);
    bench.see(&case, 5);
    bench.snapshot().expect("a snapshot");
    assert_eq!(bench.deltas(), [1, 2, 3]);
    bench.see(&case, 6);
    let mut bench = bench.killed(Structure::Filter);
    assert_eq!(bench.seen(&case), 12, "a kill costs what no delta has");
    bench.see(&case, 1);
    bench.writer.tick();
    assert_eq!(bench.deltas(), [1, 2, 3, 4]);
    assert_eq!(bench.killed(Structure::Table).seen(&case), 13);
}

#[test]
fn a_delta_that_cannot_be_journalled_is_pending_again() {
    let mut bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    bench.see(&case, 3);
    let shared = Arc::clone(&bench.writer.shared);
    let taken = shared.memory.seen.take();
    assert!(!shared.memory.seen.is_changed());
    taken.iter().for_each(|taken| taken.own.put_back(&taken.sightings));
    assert!(shared.memory.seen.is_changed() && bench.deltas().is_empty());
    bench.see(&case, 2);
    bench.writer.tick();
    assert_eq!(bench.deltas(), [1]);
    drop((shared, taken));
    assert_eq!(bench.killed(Structure::Table).seen(&case), 5);
}

#[test]
fn another_incarnation_begins_after_the_deltas_of_the_present_one_are_journalled() {
    let mut bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    bench.see(&case, 3);
    let first = bench.writer.shared.identity().incarnation().id;
    let change = IncarnationChange::Agree { network: [1; 32], keys: Vec::new() };
    bench.writer.change_incarnation(change).expect("an incarnation");
    assert_eq!((deltas_of(&bench.journal(), first), bench.deltas()), (vec![1], Vec::new()));
    assert_eq!(bench.seen(&case), 3);
}

#[test]
fn the_time_is_kept_where_nothing_is_counted() {
    let mut bench = Bench::new();
    bench.writer.kept_secs = 0;
    bench.writer.tick();
    let kept = bench.journal().number("high").expect("readable");
    assert_eq!(kept, Some(bench.writer.kept_secs));
    assert_eq!(kept, Some(bench.writer.calendar.secs()));
}

/// The oldest of many deltas are added up; those after them stay, and the chain goes on from a value that is kept.
#[test]
fn many_deltas_are_added_up_and_nothing_is_lost() {
    const DELTAS: u64 = 16_385;
    let mut bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    bench.see(&case, 1);
    bench.writer.tick();
    let shared = Arc::clone(&bench.writer.shared);
    let journal = bench.journal();
    let stream = *shared.own_logs().keys().next().expect("a stream");
    let mut first = Vec::new();
    journal
        .sightings_from(stream, 1, |_, bytes| {
            first = bytes.to_vec();
            Ok(false)
        })
        .expect("readable");
    let mut fingerprint = decode(&first).expect("a delta")[0];
    let mut batch = journal.batch();
    for sequence in 2..=DELTAS {
        fingerprint.count = sequence;
        let bytes = encode(&[fingerprint]).expect("a delta");
        batch.sightings(SightingsRow::delta(stream, sequence), &bytes);
    }
    batch.commit().expect("durable");
    shared.own_logs().insert(stream, OwnLog { last: DELTAS, base: 0 });
    let incarnation = Incarnation(stream.incarnation);
    let generation = Generation(stream.generation);
    let chain = || OwnChain::new(&shared, incarnation, Stream::Sightings { generation });
    let value = chain().value_at(&journal, DELTAS - 5).expect("readable").expect("all items are there");
    while shared.own_logs()[&stream].base == 0 {
        bench.writer.work_aside();
        std::thread::yield_now();
    }
    assert_eq!(shared.own_logs()[&stream], OwnLog { last: DELTAS, base: DELTAS - 8192 });
    let (run, end) = chain().run(&journal, 0, usize::MAX).expect("readable");
    assert_eq!((run.after.0, run.items.len()), (DELTAS - 8192, 8192));
    assert_eq!(end.map(|end| end.sequence.0), Some(DELTAS));
    assert_eq!(
        chain().value_at(&journal, DELTAS - 5).expect("readable"),
        Some(value),
        "the chain is the same"
    );
    drop((shared, journal));
    let mut bench = bench.killed(Structure::Table);
    assert_eq!(bench.seen(&case), DELTAS);
    bench.see(&case, 1);
    bench.writer.tick();
    assert_eq!(bench.writer.shared.own_logs()[&stream].last, DELTAS + 1);
}
