//! A link, a host or a part is a piece of a message. Good mail shares pieces with spam, so a piece that is
//! known to be good keeps other pieces from making a message spam, and never makes it ham.

mod common;

use common::*;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::verdict::Rule;
use seenit_ledger::{Answer, Case, Ledger, LedgerConfig, Verb, Verdict};
use seenit_signature::Kind;

/// A case of these pieces, each a kind and the number of its digest.
fn pieces(pieces: &[(Kind, u64)]) -> Case {
    let mut case = Case::new();
    for &(kind, number) in pieces {
        match kind {
            Kind::RazorE8 => case.push(kind, &digest::<8>(number)),
            _ => case.push(kind, &digest::<20>(number)),
        }
        .expect("a digest");
    }
    case
}

fn answer(ledger: &Ledger, case: &Case) -> Answer {
    let mut answers = [Answer::default()];
    ledger.check_many(&[case.iter().next().expect("one")], &mut answers);
    answers[0]
}

/// One report lists a link, so that tests need not be many reporters.
fn lists_links() -> LedgerConfig {
    LedgerConfig { quorum_shared: 10, ..config() }
}

#[test]
fn a_protected_link_host_or_part_does_not_make_spam_ham() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    for (kind, number) in [(Kind::Url1, 1), (Kind::RazorE8, 2), (Kind::Part1, 3), (Kind::RazorE4, 4)] {
        let good = pieces(&[(Kind::Exact1, 100 + number), (kind, number)]);
        ledger.protect(vec![good.clone()]).expect("durable");
        assert_eq!(ledger.check(&good).verdict, Verdict::Ham, "the protected message itself");
        let spam = pieces(&[(Kind::Exact1, 200 + number), (kind, number)]);
        let judgement = ledger.check(&spam);
        assert_eq!(judgement.verdict, Verdict::Unknown, "{kind}: another message");
        let reason = &judgement.reasons[0];
        assert_eq!((reason.verdict, reason.rule), (Verdict::Unknown, Rule::Protected), "{kind}");
        let alone = answer(&ledger, &pieces(&[(kind, number)]));
        let told = (alone.verdict, alone.protected, alone.good);
        assert_eq!(told, (Verdict::Unknown, true, true), "{kind}: one by one");
    }
}

#[test]
fn a_revoked_link_host_or_part_does_not_make_spam_ham() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, lists_links());
    for (kind, number) in [(Kind::Url1, 1), (Kind::RazorE8, 2), (Kind::Part1, 3), (Kind::RazorE4, 4)] {
        let good = pieces(&[(Kind::Exact1, 100 + number), (kind, number)]);
        write(&ledger, Verb::Revoke, OPERATOR, good.clone()).expect("durable");
        assert_eq!(ledger.check(&good).verdict, Verdict::Ham, "the revoked message itself");
        let spam = pieces(&[(Kind::Exact1, 200 + number), (kind, number)]);
        let judgement = ledger.check(&spam);
        assert_eq!(judgement.verdict, Verdict::Unknown, "{kind}");
        let reason = &judgement.reasons[0];
        assert_eq!((reason.verdict, reason.rule, reason.against), (Verdict::Unknown, Rule::Revoked, 10));
    }
}

#[test]
fn a_link_that_is_known_to_be_good_still_keeps_other_links_from_making_spam() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, lists_links());
    write(&ledger, Verb::Report, OPERATOR, pieces(&[(Kind::Url1, 1)])).expect("durable");
    let both = pieces(&[(Kind::Url1, 1), (Kind::Url1, 2)]);
    assert_eq!(ledger.check(&both).verdict, Verdict::Spam);
    ledger.protect(vec![pieces(&[(Kind::Url1, 2)])]).expect("durable");
    assert_eq!(ledger.check(&both).verdict, Verdict::Unknown, "protected");
    write(&ledger, Verb::Unprotect, OPERATOR, pieces(&[(Kind::Url1, 2)])).expect("durable");
    assert_eq!(ledger.check(&both).verdict, Verdict::Spam, "protected no longer");
    write(&ledger, Verb::Revoke, OPERATOR, pieces(&[(Kind::Url1, 2)])).expect("durable");
    assert_eq!(ledger.check(&both).verdict, Verdict::Unknown, "revoked");
    let named = pieces(&[(Kind::Exact1, 7), (Kind::Url1, 2)]);
    write(&ledger, Verb::Report, OPERATOR, pieces(&[(Kind::Exact1, 7)])).expect("durable");
    assert_eq!(ledger.check(&named).verdict, Verdict::Spam, "what names one message decides before");
}

#[test]
fn a_protected_host_is_never_spam_to_who_asks_for_it_alone() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, lists_links());
    let host = pieces(&[(Kind::RazorE8, 1)]);
    ledger.protect(vec![host.clone()]).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, host.clone()).expect("durable");
    assert_eq!((answer(&ledger, &host).verdict, answer(&ledger, &host).good), (Verdict::Unknown, true));
    write(&ledger, Verb::Unprotect, OPERATOR, host.clone()).expect("durable");
    assert_eq!(answer(&ledger, &host).verdict, Verdict::Spam);
}

#[test]
fn ten_points_against_none_are_below_the_quorum_and_not_disputed() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let link = pieces(&[(Kind::Url1, 1)]);
    let rule = |ledger: &Ledger| {
        let reason = ledger.check(&link).reasons.swap_remove(0);
        (reason.rule, reason.weight, reason.against, reason.quorum)
    };
    let other = ledger.put_reporter("other", Some(10)).expect("durable").id;
    write(&ledger, Verb::Report, other, link.clone()).expect("durable");
    assert_eq!(rule(&ledger), (Rule::BelowQuorum, 10, 0, 100));
    write(&ledger, Verb::Revoke, OPERATOR, link.clone()).expect("durable");
    assert_eq!(rule(&ledger), (Rule::Disputed, 10, 10, 100));
    write(&ledger, Verb::Withdraw, other, link.clone()).expect("durable");
    assert_eq!(rule(&ledger), (Rule::BelowQuorum, 0, 10, 100));
}

#[test]
fn what_weighs_nothing_is_below_the_quorum_and_not_unheard() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let newcomer = ledger.admit_reporter("newcomer").expect("durable").id;
    write(&ledger, Verb::Report, newcomer, exact(1)).expect("durable");
    let judgement = ledger.check(&exact(1));
    assert_eq!(judgement.verdict, Verdict::Unknown);
    let reason = &judgement.reasons[0];
    assert_eq!((reason.rule, reason.weight, reason.raw), (Rule::BelowQuorum, 0, 1));
}
