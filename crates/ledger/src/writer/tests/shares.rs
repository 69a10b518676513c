//! Shares, and opinions that weigh nothing: what becomes of them when a commit fails or the horizon moves.

use super::*;

/// A disk that hesitates makes clients try again: that must not use up anybody's share.
#[test]
fn what_a_failed_commit_was_to_add_is_no_part_of_anybodys_share() {
    let mut bench = Bench::new();
    let (for_known, told) = reply();
    let appointment = Appointment::ByHand;
    bench.work(vec![Job::PutReporter { name: "known".into(), appointment, reply: for_known }]);
    let known = told.try_recv().expect("an answer").expect("durable").id;
    let generation = bench.writer.calendar.generation();
    let damaged = one(Kind::Pyzor, 1);
    bench.write(Verb::Report, LOCAL, damaged.clone()).expect("durable");
    bench.writer.set_peers(&[peer(1, Caps { spam: 10, ham: 10, seen: 0 })]).expect("durable");
    let time = bench.writer.calendar.secs();
    let verb = Verb::Report;
    let reporter = ReporterId(3);
    let case = one(Kind::Pyzor, 9);
    let record =
        Record { verb, reporter, weight: 10, time, count: 0, case, befores: Vec::new() }.travelling();
    let row = bench.row_of(LOCAL, &damaged);
    for _ in 0..3 {
        let sound = bench.damage_row(&row);
        let new = [2, 3].map(|number| write(Verb::Report, known, one(Kind::Pyzor, number)));
        let (for_link, linked) = reply();
        let mut jobs = vec![Job::Link(Box::new(heard(1, vec![record.clone()])), for_link)];
        let mut told = Vec::new();
        for (job, answer) in new.into_iter().chain([write(Verb::Report, LOCAL, damaged.clone())]) {
            jobs.push(job);
            told.push(answer);
        }
        bench.work(jobs);
        assert!(told.iter().all(|told| told.try_recv().expect("an answer").is_err()));
        linked.try_recv().expect("an answer").expect_err("the whole batch is refused");
        bench.mend_row(&row, &sound);
        bench.writer.reopen();
    }
    let added = |bench: &Bench| {
        let of_peer = bench.writer.peer_shares.added(generation, (1, Share::Signatures));
        (bench.writer.shares.added(generation, (known, Share::Signatures)), of_peer)
    };
    assert_eq!(added(&bench), (0, 0));
    let new = [2, 3].map(|number| write(Verb::Report, known, one(Kind::Pyzor, number)));
    let (jobs, told): (Vec<Job>, Vec<_>) = new.into_iter().unzip();
    bench.work(jobs);
    assert!(told.iter().all(|told| told.try_recv().expect("an answer").is_ok()));
    assert_eq!(added(&bench), (2, 0), "writes of one batch see each other");
    bench.writer.reopen();
    assert_eq!(added(&bench), (2, 0));
}

/// Strangers who fill a share again after each early forgetting would else be kept thirty times.
#[test]
fn opinions_of_no_weight_are_forgotten_with_the_generations_that_make_room() {
    let mut bench = Bench::new();
    let (reply, told) = reply();
    let appointment = Appointment::Newcomer;
    bench.work(vec![Job::PutReporter { name: "stranger".into(), appointment, reply }]);
    let stranger = told.try_recv().expect("an answer").expect("durable").id;
    let case = one(Kind::Pyzor, 1);
    bench.write(Verb::Report, stranger, case.clone()).expect("durable");
    let shared = Arc::clone(&bench.writer.shared);
    let journal = bench.journal();
    let key = shared.memory.keys_of(&case)[0];
    let now = bench.writer.calendar.generation();
    let kept = |since| journal.weightless_since(since).expect("readable").len();
    assert!(shared.memory.is_spoken_of(key));
    assert_eq!((kept(0), bench.writer.shares.added(0, (share::WEIGHTLESS, Share::Signatures))), (1, 1));
    bench.writer.move_horizon(&shared, &journal, now + 1, true).expect("durable");
    assert!(!shared.memory.is_spoken_of(key));
    assert_eq!((kept(0), bench.writer.shares.added(0, (share::WEIGHTLESS, Share::Signatures))), (0, 0));
}

#[test]
fn opinions_of_no_weight_from_before_the_horizon_are_deleted_at_a_start() {
    let bench = Bench::new();
    let case = one(Kind::Pyzor, 1);
    let key = bench.writer.shared.memory.keys_of(&case)[0];
    let now = bench.writer.calendar.generation();
    {
        let journal = bench.journal();
        let mut batch = journal.batch();
        // What an earlier release left, and one that still counts.
        batch.weightless(now - 40, key.hash);
        batch.weightless(now, bench.writer.shared.memory.keys_of(&one(Kind::Pyzor, 2))[0].hash);
        batch.commit().expect("durable");
    }
    let Bench { writer, _lock, _folder: folder, .. } = bench;
    let config = writer.shared.config.clone();
    let clock = Arc::clone(&writer.shared.clock);
    drop((writer, _lock));
    let (_lock, writer) =
        open(folder.path(), config, clock, Tallies::OfSnapshot, mpsc::channel().1).expect("a writer");
    assert!(!writer.shared.memory.is_spoken_of(key));
    let journal = writer.shared.journal().expect("open");
    assert_eq!(journal.weightless_since(0).expect("readable").len(), 1);
}
