//! Explanations: one entry for each record, with dates and names, whatever number of signatures it has.

mod common;

use common::*;
use seenit_ledger::{Case, OPERATOR, Verb, Verdict};
use seenit_signature::Kind;

#[test]
fn a_report_is_one_entry_with_its_date_and_not_one_for_each_signature() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let desk = ledger.put_reporter("desk", Some(10)).expect("durable").id;
    let first = write(&ledger, Verb::Report, desk, case(1)).expect("durable").id;
    hands.pass(DAY);
    settle(&ledger);
    let second = write(&ledger, Verb::Report, OPERATOR, case(2)).expect("durable").id;
    let told = ledger.explain_message(&case(1));
    assert_eq!(told.judgement.verdict, Verdict::Spam);
    let reports: Vec<_> = told.reports.iter().map(|one| (one.record, one.reporter.as_str())).collect();
    assert_eq!(reports, [(second, "operator"), (first, "desk")], "the newest first");
    assert_eq!(told.reports[0].time, "2024-10-05T00:00:00Z");
    assert_eq!((&told.reports[0].kinds[..], told.reports[0].weight), (&[Kind::Url1][..], 10));
    assert_eq!(told.reports[1].kinds, [Kind::Exact1, Kind::Pyzor, Kind::Url1]);
    assert_eq!((told.signatures.len(), told.more, told.protected_by.len()), (3, false, 0));
    assert_eq!(told.signatures[0].opinions[0].time, "2024-10-04T00:00:00Z");
}

#[test]
fn a_replica_is_explained_by_the_report_of_the_text_that_it_resembles() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let report = write(&ledger, Verb::Report, OPERATOR, near(5, 0)).expect("durable").id;
    write(&ledger, Verb::Report, OPERATOR, near(6, 0)).expect("durable");
    let told = ledger.explain_message(&near(5, 3));
    let records: Vec<_> = told.reports.iter().map(|one| (one.record, &one.kinds[..])).collect();
    assert_eq!((told.judgement.verdict, records), (Verdict::Spam, vec![(report, &[Kind::Near1][..])]));
}

#[test]
fn who_protects_a_message_is_said_and_not_who_did_once() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let first = ledger.protect(vec![case(1)]).expect("durable").id;
    hands.pass(DAY);
    settle(&ledger);
    let second = ledger.protect(vec![case(2)]).expect("durable").id;
    let link = |of: &Case| ledger.explain(of.iter().nth(2).expect("a link")).protected_by.expect("protected");
    assert_eq!((link(&case(3)).record, link(&case(3)).messages), (second, 2), "the newest");
    write(&ledger, Verb::Unprotect, OPERATOR, case(2)).expect("durable");
    let told = link(&case(3));
    assert_eq!((told.record, told.messages, told.reporter.as_str()), (first, 1, "operator"));
    assert_eq!(told.time, "2024-10-04T00:00:00Z");
    let told = ledger.explain_message(&case(1));
    assert_eq!(told.protected_by.len(), 1);
    assert_eq!(told.protected_by[0].kinds, [Kind::Exact1, Kind::Pyzor, Kind::Url1]);
}
