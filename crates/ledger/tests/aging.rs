//! Time: what ages out, what lasts, and what a clock that jumps must not do.

mod common;

use std::sync::atomic::Ordering::SeqCst;

use common::*;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::{LedgerConfig, Verb, Verdict};

#[test]
fn records_count_for_thirty_days_and_protections_last() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, case(2000)).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, near(3, 0)).expect("durable");
    ledger.protect(vec![case(4000)]).expect("durable");
    for _ in 0..29 {
        hands.pass(DAY);
        settle(&ledger);
    }
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Spam);
    write(&ledger, Verb::Report, OPERATOR, case(2000)).expect("said again on the last day");
    hands.pass(DAY);
    settle(&ledger);
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Unknown);
    assert_eq!(ledger.check(&near(3, 0)).verdict, Verdict::Unknown);
    let again = ledger.check(&case(2000));
    assert_eq!((again.verdict, again.reasons[0].weight, again.reasons[0].raw), (Verdict::Spam, 10, 1));
    assert_eq!(ledger.check(&case(4000)).verdict, Verdict::Ham);
    // The same after a restart, from the snapshot and from the journal.
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Unknown);
    assert_eq!(ledger.check(&case(2000)).reasons[0].weight, 10);
    assert_eq!(ledger.check(&case(4000)).verdict, Verdict::Ham);
    let larger = LedgerConfig { capacity: 20_000, ..config() };
    drop(ledger);
    let ledger = open_with(folder.path(), &hands, larger);
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Unknown);
    assert_eq!(ledger.check(&case(2000)).reasons[0].weight, 10);
    assert_eq!(ledger.stats().signatures, 6);
}

#[test]
fn seen_counts_are_of_three_days_and_bulk_of_a_month() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    ledger.see(&[case(1)], 19).expect("accepted");
    ledger.see(&[case(2000)], 30).expect("accepted");
    settle(&ledger);
    hands.pass(2 * DAY - 10);
    // Two days at once would be a leap: the ledger sees the first of them pass.
    settle(&ledger);
    for _ in 0..2 {
        hands.pass(DAY);
        settle(&ledger);
    }
    ledger.see(&[case(1)], 5).expect("accepted");
    settle(&ledger);
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Unknown, "19 of them are too long ago");
    assert_eq!(ledger.check(&case(2000)).verdict, Verdict::Bulk);
    for _ in 0..27 {
        hands.pass(DAY);
        settle(&ledger);
    }
    assert_eq!(ledger.check(&case(2000)).verdict, Verdict::Unknown);
}

#[test]
fn a_clock_that_leaps_wipes_nothing_until_it_is_confirmed() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    hands.now.store(25_000 * DAY, SeqCst);
    settle(&ledger);
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Spam);
    assert_eq!(ledger.stats().generation, FIRST_DAY);
    assert!(ledger.stats().alarms.iter().any(|alarm| alarm.contains("leapt ahead")));
    // A restart in that state wipes nothing either.
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    settle(&ledger);
    assert_eq!((ledger.check(&case(1)).verdict, ledger.stats().generation), (Verdict::Spam, FIRST_DAY));
    // The clock comes back.
    hands.now.store(FIRST_DAY * DAY + 100, SeqCst);
    settle(&ledger);
    assert!(ledger.stats().alarms.is_empty(), "{:?}", ledger.stats().alarms);
    // And back beyond what was: time stands still.
    hands.now.store(5 * DAY, SeqCst);
    settle(&ledger);
    assert_eq!(ledger.stats().generation, FIRST_DAY);
    assert!(ledger.stats().alarms.iter().any(|alarm| alarm.contains("behind")));
    // A leap that is true.
    hands.now.store((FIRST_DAY + 100) * DAY, SeqCst);
    settle(&ledger);
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Spam);
    ledger.confirm_clock().expect("asked");
    settle(&ledger);
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Unknown);
    assert_eq!(ledger.stats().generation, FIRST_DAY + 100);
}

#[test]
fn a_forgotten_count_is_subtracted_only_while_it_is_counted() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    ledger.see(&[exact(1)], 15).expect("accepted");
    write(&ledger, Verb::Forget, OPERATOR, exact(1)).expect("durable");
    ledger.see(&[exact(1)], 2).expect("accepted");
    assert_eq!(ledger.check(&exact(1)).reasons[0].seen, Some(2));
    for _ in 0..3 {
        hands.pass(DAY);
        settle(&ledger);
    }
    ledger.see(&[exact(1)], 6).expect("accepted");
    assert_eq!(ledger.check(&exact(1)).reasons[0].seen, Some(6));
}

/// Tallies that are made anew go through the newest rows first: an older row of the same mark took it away.
#[test]
fn many_said_on_two_days_outlives_tallies_that_are_made_anew() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    for _ in 0..2 {
        write(&ledger, Verb::Many, OPERATOR, exact(1)).expect("durable");
        hands.pass(DAY);
        settle(&ledger);
    }
    assert_eq!(ledger.check(&exact(1)).verdict, Verdict::Bulk);
    drop(ledger);
    seenit_ledger::rebuild(folder.path(), config(), hands.clone(), || ()).expect("rebuilt");
    assert_eq!(open(folder.path(), &hands).check(&exact(1)).verdict, Verdict::Bulk);
}
