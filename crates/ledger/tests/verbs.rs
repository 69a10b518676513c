//! The verbs, one by one, on a real ledger in a folder of its own.

mod common;

use common::*;
use seenit_ledger::reporter::{OPERATOR, ReporterId};
use seenit_ledger::{Answer, Ledger, LedgerConfig, Verb, Verdict, WriteError};
use seenit_signature::Kind;

fn verdict(ledger: &seenit_ledger::Ledger, case: &seenit_ledger::Case) -> Verdict {
    ledger.check(case).verdict
}

#[test]
fn one_local_report_lists_and_one_revocation_clears() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Unknown);
    let receipt = write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    assert_eq!((receipt.records, receipt.matched), (1, 0));
    let judgement = ledger.check(&case(1));
    assert_eq!(judgement.verdict, Verdict::Spam);
    let reason = &judgement.reasons[0];
    assert_eq!((reason.weight, reason.against, reason.raw), (10, 0, 1));
    assert_eq!((reason.reporters, reason.generation), (Some(1), Some(FIRST_DAY)));
    assert_eq!(verdict(&ledger, &case(2)), Verdict::Unknown, "the link alone lists nothing");

    let receipt = write(&ledger, Verb::Revoke, OPERATOR, case(1)).expect("durable");
    assert_eq!((receipt.matched, receipt.cleared, receipt.remaining), (3, 3, 0));
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Ham, "the last word of the one reporter");
    assert_eq!(ledger.receipt(receipt.id).expect("known"), seenit_ledger::Receipt { records: 1, ..receipt });
}

#[test]
fn the_shingles_of_rspamd_are_a_space_of_their_own_also_after_a_restart() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let config = config();
    let rspamd = |number, changed| shingles(Kind::RspamdNear, number, changed);
    let ledger = open_with(folder.path(), &hands, config.clone());
    write(&ledger, Verb::Report, OPERATOR, rspamd(7, 0)).expect("durable");
    let sayings = |ledger: &Ledger| {
        let asked = [rspamd(7, 6), rspamd(7, 7), rspamd(7, 15), rspamd(7, 16), near(7, 0)];
        asked.map(|case| verdict(ledger, &case) == Verdict::Spam)
    };
    assert_eq!(sayings(&ledger), [true, false, false, false, false], "from 26 on while no ham is known");
    write(&ledger, Verb::Revoke, OPERATOR, near(8, 0)).expect("durable");
    assert_eq!(sayings(&ledger), [true, false, false, false, false], "that ham is none of rspamd's");
    write(&ledger, Verb::Revoke, OPERATOR, rspamd(8, 0)).expect("durable");
    assert_eq!(sayings(&ledger), [true, true, true, false, false], "from 17 on");
    assert_eq!((ledger.stats().near_spam, ledger.stats().near_ham), (0, 1), "of near1 alone");
    drop(ledger);
    let again = open_with(folder.path(), &hands, config.clone());
    assert_eq!(sayings(&again), [true, true, true, false, false], "from the snapshot");
    drop(again);
    let larger = LedgerConfig { near_capacity: 2 * config.near_capacity, ..config };
    let anew = open_with(folder.path(), &hands, larger);
    assert_eq!(sayings(&anew), [true, true, true, false, false], "from the rows of the journal");
    assert_eq!((anew.stats().near_spam, anew.stats().near_ham), (0, 1));
}

#[test]
fn a_withdrawal_leaves_nothing_said() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, near(7, 0)).expect("durable");
    assert_eq!(verdict(&ledger, &near(7, 3)), Verdict::Spam, "29 of 32");
    assert_eq!(verdict(&ledger, &near(7, 10)), Verdict::Unknown, "22 of 32, while little ham is known");
    write(&ledger, Verb::Withdraw, OPERATOR, pyzor(1)).expect("durable");
    write(&ledger, Verb::Withdraw, OPERATOR, near(7, 0)).expect("durable");
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Unknown, "the whole case is withdrawn");
    assert_eq!(verdict(&ledger, &near(7, 0)), Verdict::Unknown);
    assert!(ledger.check(&near(7, 0)).reasons.is_empty());
}

#[test]
fn two_of_half_weight_must_agree_and_a_word_counts_once() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let one = ledger.put_reporter("one", Some(5)).expect("durable").id;
    let two = ledger.put_reporter("two", Some(5)).expect("durable").id;
    for _ in 0..3 {
        write(&ledger, Verb::Report, one, case(1)).expect("durable");
        assert_eq!(verdict(&ledger, &case(1)), Verdict::Unknown);
    }
    let judgement = ledger.check(&case(1));
    assert_eq!((judgement.reasons[0].weight, judgement.reasons[0].raw), (5, 3), "the total counts repeats");
    write(&ledger, Verb::Report, two, exact(1)).expect("durable");
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Spam);
    write(&ledger, Verb::Report, one, near(9, 0)).expect("durable");
    assert_eq!(verdict(&ledger, &near(9, 0)), Verdict::Unknown, "beyond this machine a shingle needs two");
    write(&ledger, Verb::Report, one, near(9, 1)).expect("durable");
    assert_eq!(
        verdict(&ledger, &near(9, 0)),
        Verdict::Unknown,
        "the same one with another copy is still one"
    );
    write(&ledger, Verb::Report, two, near(9, 0)).expect("durable");
    assert_eq!(verdict(&ledger, &near(9, 0)), Verdict::Spam);
}

#[test]
fn a_revocation_of_one_exact_signature_revokes_its_case_and_a_link_does_not() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(10)).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, case(11)).expect("durable");
    let mut link = seenit_ledger::Case::new();
    link.push(seenit_signature::Kind::Url1, &digest::<20>(1 + (1 << 50))).expect("a digest");
    write(&ledger, Verb::Revoke, OPERATOR, link).expect("durable");
    assert_eq!(verdict(&ledger, &exact(10)), Verdict::Spam, "never from a link");
    write(&ledger, Verb::Revoke, OPERATOR, pyzor(10)).expect("durable");
    assert_eq!(verdict(&ledger, &exact(10)), Verdict::Ham);
    assert_eq!(verdict(&ledger, &exact(11)), Verdict::Spam, "another case");
}

#[test]
fn the_weight_of_many_outlives_one_revocation() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    for name in ["a", "b", "c", "d", "e"] {
        let reporter = ledger.put_reporter(name, Some(10)).expect("durable").id;
        write(&ledger, Verb::Report, reporter, case(1)).expect("durable");
    }
    let other = ledger.put_reporter("f", Some(10)).expect("durable").id;
    let receipt = write(&ledger, Verb::Revoke, other, exact(1)).expect("durable");
    assert_eq!(
        (receipt.cleared, receipt.remaining),
        (1, 2),
        "50 points are more than 4 times 10; the link was unlisted"
    );
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Spam);
    write(&ledger, Verb::Revoke, OPERATOR, exact(1)).expect("durable");
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Unknown, "50 are not more than 4 times 20");
}

#[test]
fn what_is_protected_no_report_makes_spam() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    ledger.protect(vec![case(1), near(5, 0)]).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, near(5, 0)).expect("durable");
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Ham);
    assert_eq!(verdict(&ledger, &near(5, 0)), Verdict::Unknown, "good shingles are no evidence");
    write(&ledger, Verb::Unprotect, OPERATOR, case(1)).expect("durable");
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Spam);
}

#[test]
fn twenty_recipients_make_bulk_and_a_forgotten_count_begins_anew() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    ledger.see(&[case(1)], 19).expect("accepted");
    assert_eq!(verdict(&ledger, &case(1)), Verdict::Unknown);
    ledger.see(&[case(1)], 1).expect("accepted");
    ledger.snapshot().expect("the promotion is written before");
    let judgement = ledger.check(&case(1));
    assert_eq!((judgement.verdict, judgement.reasons[0].seen), (Verdict::Bulk, Some(20)));
    let mut answers = [Answer::default()];
    ledger.check_many(&[exact(1).iter().next().expect("one")], &mut answers);
    assert_eq!(answers[0].verdict, Verdict::Bulk);

    ledger.see(&[case(2)], 15).expect("accepted");
    write(&ledger, Verb::Forget, OPERATOR, case(2)).expect("durable");
    ledger.see(&[case(2)], 6).expect("accepted");
    ledger.snapshot().expect("a promotion would be written");
    assert_eq!(verdict(&ledger, &case(2)), Verdict::Unknown, "6, not 21");
    write(&ledger, Verb::Many, OPERATOR, case(3)).expect("durable");
    assert_eq!(verdict(&ledger, &case(3)), Verdict::Bulk);
}

#[test]
fn what_is_forgotten_is_not_many_any_more_and_stays_so() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let one = exact(1);
    let sightings = |ledger: &seenit_ledger::Ledger| {
        let found = ledger.sightings(one.iter().next().expect("one"));
        (found.recipients, found.many, found.forgotten)
    };
    assert_eq!(ledger.see_one(one.iter().next().expect("one"), 7), Ok(7));
    write(&ledger, Verb::Many, OPERATOR, one.clone()).expect("durable");
    assert_eq!(sightings(&ledger), (7, true, false));
    hands.pass(DAY);
    settle(&ledger);
    write(&ledger, Verb::Forget, OPERATOR, one.clone()).expect("durable");
    assert_eq!(sightings(&ledger), (0, false, true));
    drop(ledger);
    let clock: std::sync::Arc<dyn seenit_ledger::Clock> = hands.clone();
    seenit_ledger::rebuild(folder.path(), config(), clock, || {}).expect("made anew");
    let ledger = open(folder.path(), &hands);
    assert_eq!(sightings(&ledger), (0, false, true));
    write(&ledger, Verb::Many, OPERATOR, one.clone()).expect("durable");
    assert_eq!(sightings(&ledger), (0, true, true));
}

#[test]
fn everything_a_reporter_said_can_be_taken_back() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let rogue = ledger.put_reporter("rogue", Some(10)).expect("durable").id;
    for number in 0..30 {
        write(&ledger, Verb::Report, rogue, case(1000 * number)).expect("durable");
    }
    write(&ledger, Verb::Report, OPERATOR, case(0)).expect("durable");
    assert_eq!(verdict(&ledger, &case(29_000)), Verdict::Spam);
    assert_eq!(ledger.undo_reporter("rogue"), Ok(30));
    assert_eq!(verdict(&ledger, &case(29_000)), Verdict::Unknown);
    assert_eq!(verdict(&ledger, &case(0)), Verdict::Spam, "another said so, too");
    assert_eq!(ledger.undo_reporter("nobody"), Err(WriteError::Reporter("nobody".into())));
}

#[test]
fn digests_of_nothing_are_nobodys() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let empty = seenit_signature::sign(b"", &Default::default());
    let pyzor =
        empty.iter().find(|one| one.kind == seenit_signature::Kind::Pyzor).expect("a digest of nothing");
    let mut case = seenit_ledger::Case::new();
    case.push(pyzor.kind, &pyzor.digest.to_bytes()).expect("a digest");
    assert_eq!(write(&ledger, Verb::Report, OPERATOR, case.clone()), Err(WriteError::Empty));
    assert_eq!(verdict(&ledger, &case), Verdict::NoOpinion);
}

#[test]
fn raw_totals_end_at_their_limit_and_a_full_ledger_says_so() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let config = LedgerConfig { raw_max: 100, capacity: 1000, ..config() };
    let ledger = open_with(folder.path(), &hands, config);
    for _ in 0..110 {
        write(&ledger, Verb::Report, OPERATOR, exact(1)).expect("durable");
    }
    assert_eq!(ledger.check(&exact(1)).reasons[0].raw, 100);
    let mut number = 2;
    let refused = loop {
        number += 1;
        assert!(number < 1100);
        if let Err(error) = write(&ledger, Verb::Report, OPERATOR, exact(number)) {
            break error;
        }
    };
    assert_eq!(refused, WriteError::Full { held: 1000, capacity: 1000 });
    assert_eq!(verdict(&ledger, &exact(500)), Verdict::Spam, "reads go on");
    write(&ledger, Verb::Revoke, OPERATOR, exact(500)).expect("revocations go on");
    assert!(ledger.stats().alarms.iter().any(|alarm| alarm.contains("1000 of 1000 signatures")));
}

/// One account with many signatures to its name must not be able to end everybody's writing.
#[test]
fn nobody_fills_the_ledger_alone() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let config = LedgerConfig { capacity: 1000, reporter_percent: 10, ..config() };
    let ledger = open_with(folder.path(), &hands, config.clone());
    let greedy = ledger.put_reporter("greedy", None).expect("durable").id;
    for number in 0..100 {
        write(&ledger, Verb::Report, greedy, exact(number)).expect("durable");
    }
    let refused = write(&ledger, Verb::Report, greedy, exact(100)).expect_err("its share is used up");
    assert_eq!(refused, WriteError::Share { reporter: "greedy".into(), added: 100, most: 100 });
    write(&ledger, Verb::Revoke, greedy, exact(7)).expect("what is known can be spoken of");
    write(&ledger, Verb::Report, OPERATOR, exact(100)).expect("others go on");
    write(&ledger, Verb::Report, greedy, exact(100)).expect("known by now");
    hands.pass(DAY);
    settle(&ledger);
    let share = |ledger: &Ledger| match write(ledger, Verb::Report, greedy, exact(101)) {
        Err(WriteError::Share { added, .. }) => added,
        other => panic!("{other:?}"),
    };
    assert_eq!(share(&ledger), 100, "records last longer than a generation, and so does the share");
    drop(ledger);
    let ledger = open_with(folder.path(), &hands, config);
    assert_eq!(share(&ledger), 100, "a restart forgets nothing of it");
    let vouched = ledger.put_reporter("vouched", Some(10)).expect("durable").id;
    for number in 1000..1200 {
        write(&ledger, Verb::Report, vouched, exact(number)).expect("no limit but the capacity");
    }
    for _ in 0..30 {
        hands.pass(DAY);
        settle(&ledger);
    }
    write(&ledger, Verb::Report, greedy, exact(101)).expect("what it added has expired");
}

/// What is said again takes no room in memory, but each time a record on the disk.
#[test]
fn nobody_fills_the_disk_by_saying_the_same_again_and_again() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let config = LedgerConfig { capacity: 1000, reporter_percent: 1, ..config() };
    let ledger = open_with(folder.path(), &hands, config.clone());
    let known = ledger.put_reporter("known", None).expect("durable").id;
    let strangers = ["one", "other"].map(|name| ledger.admit_reporter(name).expect("durable").id);
    let said = |ledger: &Ledger, who: &[ReporterId]| {
        let again = |number: usize| write(ledger, Verb::Report, who[number % who.len()], exact(1)).err();
        (0..100).find_map(|number| Some((number, again(number)?)))
    };
    let (records, refused) = said(&ledger, &[known]).expect("there is a limit");
    assert_eq!((records, refused), (40, WriteError::Named { reporter: "known".into(), named: 40, most: 40 }));
    let (records, refused) = said(&ledger, &strangers).expect("there is a limit");
    assert_eq!(records, 40, "all of them together");
    assert!(refused.is_too_much(), "{refused}");
    assert_eq!(said(&ledger, &[OPERATOR]), None, "the operator has none");
    drop(ledger);
    let ledger = open_with(folder.path(), &hands, config);
    assert_eq!(said(&ledger, &[known]).expect("a restart forgets nothing").0, 0);
    hands.pass(DAY);
    settle(&ledger);
    assert_eq!(said(&ledger, &[known]).expect("there is a limit").0, 40, "another day");
}

/// The filters of shingles refuse nothing. Too full they would leave the whole site without an opinion of replicas.
#[test]
fn nobody_fills_the_filters_of_shingles_alone() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let sizes = LedgerConfig { capacity: 100_000, near_capacity: 1000, ..config() };
    let config = LedgerConfig { account_weight: 6, reporter_percent: 10, ..sizes };
    let ledger = open_with(folder.path(), &hands, config.clone());
    let accounts = ["one", "two"].map(|name| ledger.put_reporter(name, None).expect("durable").id);
    for number in 0..150 {
        for account in accounts {
            write(&ledger, Verb::Report, account, near(number, 0)).expect("what was said is kept");
        }
    }
    let replicas = |ledger: &Ledger| {
        let is_replica = |number: &u64| verdict(ledger, &near(*number, 0)) == Verdict::Spam;
        (0..150).filter(is_replica).count()
    };
    assert_eq!(replicas(&ledger), 100, "a tenth of the capacity");
    write(&ledger, Verb::Report, accounts[0], near(7, 0)).expect("said again");
    write(&ledger, Verb::Report, OPERATOR, near(149, 0)).expect("durable");
    assert_eq!(replicas(&ledger), 101, "the operator has no limit");
    drop(ledger);
    seenit_ledger::rebuild(folder.path(), config.clone(), hands.clone(), || ()).expect("rebuilt");
    let ledger = open_with(folder.path(), &hands, config);
    assert_eq!(replicas(&ledger), 101, "made anew");
    write(&ledger, Verb::Report, accounts[0], near(200, 0)).expect("kept");
    write(&ledger, Verb::Report, accounts[1], near(200, 0)).expect("kept");
    assert_eq!(verdict(&ledger, &near(200, 0)), Verdict::Unknown, "a restart forgets nothing of the share");
}

/// The last fifth of a generation is for those whom the operator vouches for: only older ones can be forgotten.
#[test]
fn accounts_that_nobody_vouches_for_leave_a_reserve() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let config = LedgerConfig { capacity: 1000, reporter_percent: 50, ..config() };
    let ledger = open_with(folder.path(), &hands, config);
    let many = |name: &str, from: u64| {
        let account = ledger.put_reporter(name, None).expect("durable").id;
        (from..from + 500).find_map(|number| write(&ledger, Verb::Report, account, exact(number)).err())
    };
    assert_eq!(many("one", 0), None);
    assert_eq!(many("other", 1000), Some(WriteError::Reserved { added: 800, most: 800 }));
    for number in 5000..5200 {
        write(&ledger, Verb::Report, OPERATOR, exact(number)).expect("the reserve");
    }
}

#[test]
fn all_whose_word_weighs_nothing_have_one_share_together_and_take_no_room() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let config = LedgerConfig { capacity: 1000, ..config() };
    let ledger = open_with(folder.path(), &hands, config);
    for (name, from) in [("one", 0), ("other", 50)] {
        let newcomer = ledger.admit_reporter(name).expect("durable").id;
        for number in from..from + 50 {
            write(&ledger, Verb::Report, newcomer, exact(number)).expect("durable");
        }
    }
    let third = ledger.admit_reporter("third").expect("durable").id;
    let refused = write(&ledger, Verb::Report, third, exact(100)).expect_err("used up by the others");
    assert_eq!(refused, WriteError::Share { reporter: "third".into(), added: 100, most: 100 });
    assert_eq!(ledger.stats().signatures, 0, "the tally holds nothing of it");
    // What a weighty opinion puts there is counted without theirs, now and after everything is made anew.
    write(&ledger, Verb::Report, OPERATOR, exact(7)).expect("durable");
    let said = |ledger: &Ledger| {
        let reason = ledger.check(&exact(7)).reasons.swap_remove(0);
        (ledger.stats().signatures, reason.weight, reason.raw)
    };
    assert_eq!(said(&ledger), (1, 10, 1));
    drop(ledger);
    let config = LedgerConfig { capacity: 1000, ..common::config() };
    seenit_ledger::rebuild(folder.path(), config.clone(), hands.clone(), || ()).expect("rebuilt");
    assert_eq!(said(&open_with(folder.path(), &hands, config)), (1, 10, 1));
}

#[test]
fn words_without_weight_make_no_good_texts_known() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let nobody = ledger.put_reporter("nobody", Some(0)).expect("durable").id;
    for number in 0..5 {
        write(&ledger, Verb::Revoke, nobody, near(number, 0)).expect("durable");
        write(&ledger, Verb::Revoke, OPERATOR, near(number + 100, 0)).expect("durable");
        write(&ledger, Verb::Revoke, OPERATOR, near(number + 100, 0)).expect("durable");
    }
    assert_eq!((ledger.stats().near_ham, ledger.stats().near_spam), (5, 0));
}
