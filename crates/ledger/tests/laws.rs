//! The tallies are the fold of the live records: whatever was said by whom in whatever order, memory says what a naive
//! reading of all that was said says; and so do memory from a snapshot, from a replay after a kill, and from a rebuild.

mod common;

use std::collections::BTreeMap;

use common::*;
use proptest::prelude::*;
use seenit_ledger::{Answer, Ledger, LedgerConfig, ReporterId, Verb};

/// Generations that records are kept in this test.
const KEPT: u64 = 3;

/// The limit of raw totals in this test.
const RAW_MAX: u32 = 100;

#[derive(Clone, Debug)]
enum Step {
    Say {
        verb: Verb,
        reporter: usize,
        signature: u64,
        times: u32,
    },
    /// A day goes by.
    Day,
    Snapshot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verb = prop_oneof![4 => Just(Verb::Report), 2 => Just(Verb::Revoke), 1 => Just(Verb::Withdraw)];
    let times = prop_oneof![9 => Just(1u32), 1 => Just(60)];
    let say = (verb, 0..WEIGHTS.len(), 0..5u64, times)
        .prop_map(|(verb, reporter, signature, times)| Step::Say { verb, reporter, signature, times });
    prop::collection::vec(prop_oneof![12 => say, 2 => Just(Step::Day), 1 => Just(Step::Snapshot)], 1..50)
}

/// Weights of the reporters. The first two are vouched for, and the first is the operator.
const WEIGHTS: [u8; 4] = [10, 10, 4, 0];

/// The operator's place among them.
const OPERATOR_AT: usize = 0;

/// What somebody said of a signature on a day, with the weight it had then.
#[derive(Clone, Copy)]
struct Said {
    day: u64,
    reporter: usize,
    signature: u64,
    verb: Verb,
    weight: u8,
}

/// Everything that was said, read naively.
#[derive(Default)]
struct Naive {
    day: u64,
    said: Vec<Said>,
}

impl Naive {
    fn live(&self, signature: u64) -> impl DoubleEndedIterator<Item = &Said> {
        self.said.iter().filter(move |one| one.signature == signature && one.day + KEPT > self.day)
    }

    /// Whom nobody vouches for says nothing against the operator.
    fn say(&mut self, verb: Verb, reporter: usize, signature: u64) {
        let operators = self.live(signature).rev().find(|one| one.reporter == OPERATOR_AT);
        let opposite = match verb {
            Verb::Report => Some(Verb::Revoke),
            Verb::Revoke => Some(Verb::Report),
            _ => None,
        };
        let is_void = WEIGHTS[reporter] < 5 && operators.is_some_and(|one| Some(one.verb) == opposite);
        let weight = if is_void { 0 } else { WEIGHTS[reporter] };
        self.said.push(Said { day: self.day, reporter, signature, verb, weight });
    }

    fn answer(&self, signature: u64) -> (u32, u32, u32, u32) {
        let mut last = BTreeMap::new();
        let mut raw: BTreeMap<(u64, usize, bool), u32> = BTreeMap::new();
        for one in self.live(signature) {
            last.insert(one.reporter, one);
            // What weighs nothing takes no room, so it is not counted, either.
            if one.verb != Verb::Withdraw && one.weight > 0 {
                let count = raw.entry((one.day, one.reporter, one.verb == Verb::Report)).or_default();
                *count = (*count + 1).min(RAW_MAX);
            }
        }
        let weight =
            |verb| last.values().filter(|one| one.verb == verb).map(|one| u32::from(one.weight)).sum();
        let total = |spam| raw.iter().filter(|((_, _, one), _)| *one == spam).map(|(_, count)| count).sum();
        (weight(Verb::Report), weight(Verb::Revoke), total(true), total(false))
    }
}

fn says(ledger: &Ledger, signature: u64) -> (u32, u32, u32, u32) {
    let (case, mut answers) = (exact(signature), [Answer::default()]);
    let signature = case.iter().next().expect("one");
    ledger.check_many(&[signature], &mut answers);
    let Answer { weight, against, raw, raw_against, .. } = answers[0];
    (weight.into(), against.into(), raw.into(), raw_against.into())
}

fn compare(ledger: &Ledger, naive: &Naive, when: &str) -> Result<(), TestCaseError> {
    for signature in 0..5 {
        let (said, expected) = (says(ledger, signature), naive.answer(signature));
        prop_assert_eq!(said, expected, "signature {} {}", signature, when);
    }
    Ok(())
}

fn small() -> LedgerConfig {
    LedgerConfig {
        record_generations: KEPT,
        raw_max: RAW_MAX,
        capacity: 1000,
        seen_capacity: 1000,
        ..config()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_is_what_was_said(steps in steps()) {
        let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
        let ledger = open_with(folder.path(), &hands, small());
        let mut reporters: Vec<ReporterId> = WEIGHTS.iter().enumerate()
            .map(|(number, &weight)| ledger.put_reporter(&format!("r{number}"), Some(weight)).expect("durable").id)
            .collect();
        reporters[OPERATOR_AT] = seenit_ledger::OPERATOR;
        let mut naive = Naive::default();
        for step in &steps {
            match *step {
                Step::Say { verb, reporter, signature, times } => {
                    let cases = vec![exact(signature); times as usize];
                    let write = seenit_ledger::Write { verb, reporter: reporters[reporter], cases };
                    ledger.write_and_wait(write).expect("durable");
                    (0..times).for_each(|_| naive.say(verb, reporter, signature));
                }
                Step::Day => {
                    hands.pass(DAY);
                    settle(&ledger);
                    naive.day += 1;
                }
                Step::Snapshot => ledger.snapshot().expect("a snapshot"),
            }
        }
        compare(&ledger, &naive, "while running")?;
        let killed = private_folder();
        copy_all(folder.path(), killed.path());
        compare(&open_with(killed.path(), &hands, small()), &naive, "after a kill")?;
        drop(ledger);
        compare(&open_with(folder.path(), &hands, small()), &naive, "after a restart")?;
        seenit_ledger::rebuild(folder.path(), small(), hands.clone(), || ()).expect("rebuilt");
        compare(&open_with(folder.path(), &hands, small()), &naive, "after a rebuild")?;
    }
}

/// A word that has expired and is not yet deleted is no word before the next.
#[test]
fn a_word_said_again_after_it_expired_weighs_again() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, small());
    let other = ledger.put_reporter("other", Some(1)).expect("durable").id;
    write(&ledger, Verb::Report, seenit_ledger::OPERATOR, exact(0)).expect("durable");
    for _ in 0..KEPT {
        hands.pass(DAY);
        settle(&ledger);
    }
    write(&ledger, Verb::Report, other, exact(0)).expect("durable");
    write(&ledger, Verb::Report, seenit_ledger::OPERATOR, exact(0)).expect("durable");
    assert_eq!(says(&ledger, 0), (11, 0, 2, 0));
}

/// Counts beyond what the tally's bits hold are taken from the journal, which must not know what is being hidden.
#[test]
fn a_full_tally_ages_out_like_any_other() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, LedgerConfig { raw_max: 5000, ..small() });
    for _ in 0..2 {
        let cases = vec![exact(0); 600];
        let write = seenit_ledger::Write { verb: Verb::Report, reporter: seenit_ledger::OPERATOR, cases };
        ledger.write_and_wait(write).expect("durable");
    }
    assert_eq!(says(&ledger, 0), (10, 0, 1023, 0), "at least");
    for _ in 0..KEPT {
        hands.pass(DAY);
        settle(&ledger);
    }
    assert_eq!(says(&ledger, 0), (0, 0, 0, 0));
    assert_eq!(ledger.stats().signatures, 0);
}

#[test]
fn days_without_a_word_are_no_loss() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, small());
    write(&ledger, Verb::Report, seenit_ledger::OPERATOR, exact(0)).expect("durable");
    for _ in 0..KEPT + 4 {
        hands.pass(DAY);
        settle(&ledger);
    }
    let before = ledger.stats().incarnation;
    drop(ledger);
    let again = open_with(folder.path(), &hands, small());
    assert_eq!((again.stats().recovery, again.stats().incarnation), (Vec::new(), before));
    assert_eq!(write(&again, Verb::Report, seenit_ledger::OPERATOR, exact(1)).expect("durable").id.number, 2);
}
