//! A tally that is full: the oldest records are forgotten first, and new ones are taken.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::*;
use proptest::prelude::*;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::{Ledger, LedgerConfig, Verb, Verdict, Write, WriteError};

/// Signatures that are reported on each day.
const A_DAY: u64 = 150;

/// Signatures that are protected on the first day.
const GOOD: std::ops::Range<u64> = 900_000..900_020;

fn small() -> LedgerConfig {
    LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() }
}

fn of_day(day: u64) -> std::ops::Range<u64> {
    day * 1000..day * 1000 + A_DAY
}

fn report_day(ledger: &Ledger, day: u64) {
    let cases = of_day(day).map(exact).collect();
    let written = ledger.write_and_wait(Write { verb: Verb::Report, reporter: OPERATOR, cases });
    written.unwrap_or_else(|error| panic!("day {day}: {error}"));
}

/// The days of which all signatures are spam; of the others none is.
fn remembered(ledger: &Ledger, days: u64) -> Vec<u64> {
    let is_spam = |number: u64| ledger.check(&exact(number)).verdict == Verdict::Spam;
    let mut remembered = Vec::new();
    for day in 0..days {
        let spam = of_day(day).filter(|number| is_spam(*number)).count() as u64;
        assert!(spam == 0 || spam == A_DAY, "day {day} is remembered in part: {spam}");
        remembered.extend((spam > 0).then_some(day));
    }
    remembered
}

/// A tally of 1000 signatures that gets 150 new ones on each of twelve days.
fn filled(folder: &Path, hands: &Arc<Hands>) -> Ledger {
    let ledger = open_with(folder, hands, small());
    ledger.protect(GOOD.map(exact).collect()).expect("durable");
    for day in 0..12 {
        if day > 0 {
            next_day(&ledger, hands);
        }
        report_day(&ledger, day);
    }
    ledger
}

/// A day passes, and no snapshot is asked for.
fn next_day(ledger: &Ledger, hands: &Arc<Hands>) {
    let day = ledger.stats().generation;
    hands.pass(DAY);
    while ledger.stats().generation == day {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// The folder as a kill would leave it now.
fn killed(folder: &Path, ledger: &Ledger) -> tempfile::TempDir {
    // Whatever was asked for before is durable then. A snapshot may still get its name: `copy_all` knows of that.
    ledger.put_reporter("last", Some(1)).expect("durable");
    let copy = private_folder();
    copy_all(folder, copy.path());
    copy
}

#[test]
fn at_capacity_new_reports_are_taken_and_the_oldest_are_forgotten_first() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = filled(folder.path(), &hands);
    let days = remembered(&ledger, 12);
    assert_eq!(days, (12 - days.len() as u64..12).collect::<Vec<_>>(), "the newest days");
    assert!(days.len() >= 5, "{days:?}");
    let is_ham = |ledger: &Ledger, number: u64| ledger.check(&exact(number)).verdict == Verdict::Ham;
    assert!(GOOD.into_iter().all(|number| is_ham(&ledger, number)), "protections stay");

    let stats = ledger.stats();
    assert_eq!(stats.kept_generations, days.len() as u64);
    let told = format!("records are kept for {} days, not 30", days.len());
    assert!(stats.alarms.iter().any(|alarm| alarm.starts_with(&told)), "{:?}", stats.alarms);
    assert_eq!(ledger.ready().expect("reports are taken").len(), 1);

    let copy = killed(folder.path(), &ledger);
    let again = open_with(copy.path(), &hands, small());
    assert_eq!(remembered(&again, 12), days, "after a kill");
    assert!(GOOD.into_iter().all(|number| is_ham(&again, number)), "after a kill");
    drop(ledger);
    let again = open_with(folder.path(), &hands, small());
    assert_eq!(remembered(&again, 12), days, "after a restart");
    assert_eq!(again.stats().kept_generations, days.len() as u64, "after a restart");
    drop(again);
    seenit_ledger::rebuild(folder.path(), small(), hands.clone(), || ()).expect("rebuilt");
    let again = open_with(folder.path(), &hands, small());
    assert_eq!(remembered(&again, 12), days, "after a rebuild of the same size");
}

#[test]
fn a_larger_capacity_brings_back_what_was_forgotten_early() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    drop(filled(folder.path(), &hands));
    let larger = LedgerConfig { capacity: 5000, ..small() };
    // A restart is enough, as the alarm says, and a rebuild does no more.
    let restarted = open_with(folder.path(), &hands, larger.clone());
    assert_eq!(remembered(&restarted, 12), (0..12).collect::<Vec<_>>());
    drop(restarted);
    seenit_ledger::rebuild(folder.path(), larger.clone(), hands.clone(), || ()).expect("rebuilt");
    let again = open_with(folder.path(), &hands, larger);
    assert_eq!(remembered(&again, 12), (0..12).collect::<Vec<_>>());
    assert_eq!((again.stats().kept_generations, again.stats().alarms), (30, Vec::new()));
    drop(again);
    // And back: what does not fit is forgotten by age, not by chance.
    let again = open_with(folder.path(), &hands, small());
    let days = remembered(&again, 12);
    assert_eq!(days, (12 - days.len() as u64..12).collect::<Vec<_>>());
    assert!(days.len() >= 5, "{days:?}");
}

#[test]
fn a_day_that_fills_the_tally_alone_is_refused_loudly_until_the_next_day() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, small());
    let mut full = None;
    for number in 0..1100 {
        match write(&ledger, Verb::Report, OPERATOR, exact(number)) {
            Ok(_) => assert!(full.is_none(), "{number} is taken after one that was refused"),
            Err(error) => full = Some(error),
        }
    }
    assert!(matches!(full, Some(WriteError::Full { held: 1000, capacity: 1000 })), "{full:?}");
    assert!(matches!(ledger.ready(), Err(WriteError::Full { .. })));
    let alarms = ledger.stats().alarms;
    assert!(alarms.iter().any(|alarm| alarm.starts_with("reports are refused")), "{alarms:?}");
    assert!(!alarms.iter().any(|alarm| alarm.contains("is full in")), "it is full now: {alarms:?}");
    assert_eq!(ledger.see(&[exact(5)], 1), Ok(()), "what is seen is counted all the same");
    next_day(&ledger, &hands);
    assert!(ledger.ready().is_ok(), "there is something to be forgotten now");
    write(&ledger, Verb::Report, OPERATOR, exact(5000)).expect("the day before is forgotten");
    assert_eq!(ledger.check(&exact(5000)).verdict, Verdict::Spam);
    assert_eq!(ledger.check(&exact(1)).verdict, Verdict::Unknown);
}

/// All whom nobody vouches for may add 80 % in one generation: what is beyond that is refused, and costs nothing.
#[test]
fn what_is_refused_makes_nobody_forget() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, small());
    report_day(&ledger, 0);
    next_day(&ledger, &hands);
    let report = |account: u64, many: u64| {
        let reporter = ledger.put_reporter(&format!("mx{account}"), None).expect("durable").id;
        let cases = (account * 1000..account * 1000 + many).map(exact).collect();
        ledger.write_and_wait(Write { verb: Verb::Report, reporter, cases })
    };
    for account in 1..=8 {
        report(account, 100).expect("within its share");
    }
    let refused = report(9, 60).expect_err("beyond the share of all accounts");
    assert!(matches!(refused, WriteError::Reserved { added: 800, most: 800 }), "{refused}");
    assert_eq!(remembered(&ledger, 1), [0]);
}

#[test]
fn a_tally_that_will_be_full_is_an_alarm_days_before() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, LedgerConfig { capacity: 2000, ..small() });
    let mut warned = None;
    for day in 0..14 {
        if day > 0 {
            next_day(&ledger, &hands);
        }
        report_day(&ledger, day);
        let stats = ledger.stats();
        let alarm = stats.alarms.iter().find(|alarm| alarm.contains("full in about"));
        if warned.is_none() && alarm.is_some() {
            warned = Some((day, stats.full_in_days.expect("a forecast")));
        }
    }
    let (day, days) = warned.expect("an alarm");
    assert!(day <= 8 && (4.0..=7.0).contains(&days), "on day {day}: full in {days} days");
    let alarms = ledger.stats().alarms;
    assert!(alarms.iter().any(|alarm| alarm.contains("set [ledger] capacity to ")), "{alarms:?}");
    assert_eq!(remembered(&ledger, 14).len(), 13, "the first day made room");
}

#[test]
fn a_steady_site_below_its_capacity_is_no_alarm() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let steady = LedgerConfig { record_generations: 5, ..small() };
    let ledger = open_with(folder.path(), &hands, steady);
    for day in 0..8 {
        if day > 0 {
            next_day(&ledger, &hands);
        }
        report_day(&ledger, day);
    }
    assert_eq!((ledger.stats().full_in_days, ledger.stats().alarms), (None, Vec::new()));
}

#[test]
fn what_a_peer_says_is_counted_when_the_tally_is_full() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = filled(folder.path(), &hands);
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    let (mut sequence, today) = (1, ledger.stats().generation);
    let mut hear = |from: u64, day: u64| {
        let records: Vec<_> =
            (from..from + 90).map(|number| said(Verb::Report, 3, 10, day, exact(number))).collect();
        sequence += 90;
        ledger.commit_link(heard(1, sequence - 90, records)).expect("durable");
    };
    hear(700_000, today);
    assert_eq!(ledger.check(&exact(700_089)).verdict, Verdict::Spam);
    assert_eq!(ledger.stats().heard_beyond_capacity, 0);
    let before = remembered(&ledger, 12);
    // What is older than anything that is kept makes nobody forget.
    hear(800_000, FIRST_DAY);
    assert_eq!(remembered(&ledger, 12), before);
}

/// A word that is said again after the one before has expired counts once, after a kill, too. A replay from a snapshot
/// before that cannot tell: tallies come from the rows of the journal then.
#[test]
fn a_word_said_again_after_it_expired_counts_once_after_a_kill() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let kept = LedgerConfig { record_generations: 3, snapshot_secs: 86_400, ..config() };
    let ledger = open_with(folder.path(), &hands, kept.clone());
    write(&ledger, Verb::Report, OPERATOR, exact(0)).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, near(1, 0)).expect("durable");
    next_day(&ledger, &hands);
    next_day(&ledger, &hands);
    ledger.snapshot().expect("a snapshot");
    next_day(&ledger, &hands);
    write(&ledger, Verb::Report, OPERATOR, exact(0)).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, near(1, 0)).expect("durable");
    let says = |ledger: &Ledger| (ledger.check(&exact(0)), ledger.stats().near_spam);
    let expected = says(&ledger);
    assert_eq!((expected.0.reasons[0].weight, expected.0.reasons[0].raw, expected.1), (10, 1, 1));
    // Whatever snapshot there is: none of them may be missed.
    for snapshots in 0..3 {
        let copy = killed(folder.path(), &ledger);
        if snapshots > 0 {
            let [newest, previous] = ["snapshot", "snapshot.previous"].map(|name| copy.path().join(name));
            std::fs::rename(previous, newest).unwrap_or_default();
        }
        let again = open_with(copy.path(), &hands, kept.clone());
        assert_eq!(says(&again), expected);
        ledger.snapshot().expect("a snapshot");
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Somebody reports signatures from a number on.
    Report {
        reporter: usize,
        from: u64,
        many: u64,
    },
    Revoke {
        reporter: usize,
        from: u64,
    },
    Protect {
        from: u64,
    },
    Day,
    Snapshot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let report = (0..3usize, 0..40u64, 20..120u64).prop_map(|(reporter, from, many)| Step::Report {
        reporter,
        from: from * 50,
        many,
    });
    let revoke =
        (0..3usize, 0..40u64).prop_map(|(reporter, from)| Step::Revoke { reporter, from: from * 50 });
    let protect = (0..40u64).prop_map(|from| Step::Protect { from: from * 50 });
    let step =
        prop_oneof![8 => report, 2 => revoke, 1 => protect, 4 => Just(Step::Day), 1 => Just(Step::Snapshot)];
    prop::collection::vec(step, 15..40)
}

/// What a ledger says of everything: weights on both sides, raw totals.
fn sayings(ledger: &Ledger) -> Vec<seenit_ledger::Answer> {
    let cases: Vec<_> = (0..2200).map(exact).collect();
    let signatures: Vec<_> = cases.iter().flat_map(|case| case.iter()).collect();
    let mut answers = vec![Default::default(); signatures.len()];
    ledger.check_many(&signatures, &mut answers);
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_full_tally_is_the_fold_of_the_records_that_are_kept(steps in steps()) {
        let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
        let ledger = open_with(folder.path(), &hands, small());
        let mut reporters = vec![OPERATOR];
        for name in ["one", "two"] {
            reporters.push(ledger.put_reporter(name, Some(7)).expect("durable").id);
        }
        let say = |verb, reporter: usize, numbers: std::ops::Range<u64>| {
            let write = Write { verb, reporter: reporters[reporter], cases: numbers.map(exact).collect() };
            match ledger.write_and_wait(write) {
                Ok(_) | Err(WriteError::Share { .. } | WriteError::Full { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        };
        for step in &steps {
            match *step {
                Step::Report { reporter, from, many } => say(Verb::Report, reporter, from..from + many),
                Step::Revoke { reporter, from } => say(Verb::Revoke, reporter, from..from + 20),
                Step::Protect { from } => say(Verb::Protect, 0, from..from + 5),
                Step::Day => next_day(&ledger, &hands),
                Step::Snapshot => ledger.snapshot().expect("a snapshot"),
            }
            prop_assert!(ledger.signatures() <= 1000);
        }
        let expected = sayings(&ledger);
        let copy = killed(folder.path(), &ledger);
        prop_assert!(sayings(&open_with(copy.path(), &hands, small())) == expected, "after a kill");
        let copy = killed(folder.path(), &ledger);
        for name in ["snapshot", "snapshot.previous"] {
            let _ = std::fs::remove_file(copy.path().join(name));
        }
        prop_assert!(sayings(&open_with(copy.path(), &hands, small())) == expected, "without snapshots");
        drop(ledger);
        prop_assert!(sayings(&open_with(folder.path(), &hands, small())) == expected, "after a restart");
        seenit_ledger::rebuild(folder.path(), small(), hands.clone(), || ()).expect("rebuilt");
        prop_assert!(sayings(&open_with(folder.path(), &hands, small())) == expected, "after a rebuild");
    }
}
