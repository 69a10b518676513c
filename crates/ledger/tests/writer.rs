//! The thread that writes, seen from outside: whether it gets on, what it answers, how it ends.

mod common;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::*;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::{Verb, Verdict, Write, WriteError};

#[test]
fn a_closed_ledger_stays_closed_after_its_last_tick() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    ledger.close();
    assert_eq!(ledger.writable(), Err(WriteError::Closed));
    assert_eq!(ledger.see(&[case(2)], 3), Err(WriteError::Closed), "nobody would journal it");
    assert_eq!(write(&ledger, Verb::Report, OPERATOR, case(3)), Err(WriteError::Closed));
    assert_eq!(ledger.snapshot(), Err(WriteError::Closed));
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Spam, "checks go on");
}

#[test]
fn a_writer_that_is_stuck_is_not_ready_and_is_ready_again_when_it_goes_on() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    assert_eq!(ledger.ready(), Ok(Vec::new()));
    let ((entered, has_entered), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
    ledger.write(Write { verb: Verb::Report, reporter: OPERATOR, cases: vec![case(1)] }, move |_| {
        entered.send(()).expect("the test waits");
        // It is given free when the test drops its end.
        let _ = released.recv();
    });
    has_entered.recv().expect("the writer answers");
    assert_eq!(ledger.ready(), Ok(Vec::new()), "it has only begun");
    hands.pass(11);
    let stuck = ledger.ready().expect_err("stuck");
    assert!(matches!(stuck, WriteError::Stuck { secs: 11, .. }), "{stuck}");
    assert!(ledger.stats().alarms.contains(&stuck.to_string()), "{:?}", ledger.stats().alarms);
    assert_eq!(ledger.writable(), Ok(()), "nothing is refused: it waits");
    drop(release);
    let long = Instant::now() + Duration::from_secs(60);
    while ledger.ready().is_err() {
        assert!(Instant::now() < long, "still stuck: {:?}", ledger.ready());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!ledger.stats().alarms.iter().any(|alarm| alarm.contains("busy with")));
}
