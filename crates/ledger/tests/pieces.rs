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
            Kind::DccBody => case.push(kind, &digest::<16>(number)),
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

/// A sender can put the lines that Pyzor reads into its spam.
#[test]
fn a_digest_borrowed_from_a_newsletter_neither_makes_spam_ham_nor_keeps_it_from_being_listed() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let newsletter = pieces(&[(Kind::Exact1, 1), (Kind::Pyzor, 7)]);
    let desk = ledger.put_reporter("desk", Some(10)).expect("durable").id;
    let spam = pieces(&[(Kind::Exact1, 2), (Kind::Pyzor, 7)]);
    write(&ledger, Verb::Revoke, OPERATOR, newsletter.clone()).expect("durable");
    assert_eq!(ledger.check(&newsletter).verdict, Verdict::Ham);
    assert_eq!(ledger.check(&spam).verdict, Verdict::Unknown, "it is not the newsletter");
    assert_eq!(
        ledger.check(&pieces(&[(Kind::Pyzor, 7)])).verdict,
        Verdict::Ham,
        "all that Pyzor's client knows"
    );
    write(&ledger, Verb::Report, desk, spam.clone()).expect("durable");
    assert_eq!(ledger.check(&spam).verdict, Verdict::Spam);
    assert_eq!(
        ledger.check(&newsletter).verdict,
        Verdict::Ham,
        "its own digest is good, and the other disputed"
    );
}

/// Phishing has the words of a bank's mail, and a link or a number to call of its own, which are no words.
#[test]
fn phishing_with_the_words_of_good_mail_is_neither_ham_nor_makes_that_mail_spam() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let mail =
        |words, body, link| pieces(&[(Kind::Exact1, words), (Kind::DccBody, body), (Kind::Url1, link)]);
    let desk = ledger.put_reporter("desk", Some(10)).expect("durable").id;
    let (protected, cleared) = (mail(1, 1, 1), mail(2, 2, 1));
    ledger.protect(vec![protected.clone()]).expect("durable");
    write(&ledger, Verb::Revoke, OPERATOR, cleared.clone()).expect("durable");
    for (good, words) in [(protected, 1), (cleared, 2)] {
        assert_eq!(ledger.check(&good).verdict, Verdict::Ham);
        let (linked, called) = (mail(words, 10 * words, 2), mail(words, 10 * words + 1, 1));
        for (phishing, changed) in [(linked, "the link"), (called, "the number")] {
            assert_eq!(ledger.check(&phishing).verdict, Verdict::Unknown, "{changed}");
            write(&ledger, Verb::Report, desk, phishing.clone()).expect("durable");
            assert_ne!(ledger.check(&phishing).verdict, Verdict::Ham, "{changed}, reported");
            assert_ne!(ledger.check(&good).verdict, Verdict::Spam, "{changed}: the mail itself");
        }
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

/// Six good messages were called spam in the lab: people had honestly reported spam that linked to the same portal.
#[test]
fn a_link_host_or_part_alone_makes_no_message_spam_however_often_it_was_reported() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, lists_links());
    for (kind, number) in [(Kind::Url1, 1), (Kind::RazorE8, 2), (Kind::Part1, 3)] {
        write(&ledger, Verb::Report, OPERATOR, pieces(&[(Kind::Exact1, 200 + number), (kind, number)]))
            .expect("durable");
        let judgement = ledger.check(&pieces(&[(Kind::Exact1, 100 + number), (kind, number)]));
        assert_eq!(judgement.verdict, Verdict::Unknown, "{kind}: another message");
        let reason = &judgement.reasons[0];
        assert_eq!(
            (reason.verdict, reason.rule),
            (Verdict::Spam, Rule::Reported),
            "{kind}: the reason is told"
        );
        assert_eq!(answer(&ledger, &pieces(&[(kind, number)])).verdict, Verdict::Spam, "{kind}: asked alone");
    }
}

/// A text that is half a replica of spam, and a link that spam has, are two witnesses. A common footer is none.
#[test]
fn a_link_beside_half_a_replica_of_spam_makes_it_spam() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, lists_links());
    let with_link = |case: &Case, number: u64| {
        let mut both = case.clone();
        both.push(Kind::Url1, &digest::<20>(number)).expect("a digest");
        both
    };
    // Of 32 shingles 13 are known: half of the 26 that make a replica while little good mail is known.
    let (spam, resembling, another) = (near(1, 0), near(1, 19), near(2, 0));
    write(&ledger, Verb::Report, OPERATOR, with_link(&spam, 1)).expect("durable");
    assert_eq!(ledger.check(&with_link(&resembling, 1)).verdict, Verdict::Spam);
    assert_eq!(ledger.check(&with_link(&resembling, 2)).verdict, Verdict::Unknown, "another link");
    assert_eq!(ledger.check(&with_link(&near(1, 20), 1)).verdict, Verdict::Unknown, "12 shingles");
    assert_eq!(ledger.check(&with_link(&another, 1)).verdict, Verdict::Unknown, "another text");
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
fn what_weighs_nothing_takes_no_room_and_is_no_reason() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let newcomer = ledger.admit_reporter("newcomer").expect("durable").id;
    write(&ledger, Verb::Report, newcomer, exact(1)).expect("durable");
    let judgement = ledger.check(&exact(1));
    assert_eq!(judgement.verdict, Verdict::Unknown);
    assert!(judgement.reasons.is_empty(), "{judgement:?}");
}

#[test]
fn a_part_of_reported_spam_lists_nothing_and_clearing_it_leaves_the_spam_spam() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let spam = pieces(&[(Kind::Exact1, 1), (Kind::Part1, 9)]);
    let newsletter = pieces(&[(Kind::Exact1, 2), (Kind::Part1, 9)]);
    write(&ledger, Verb::Report, OPERATOR, spam.clone()).expect("durable");
    assert_eq!(ledger.check(&spam).verdict, Verdict::Spam);
    let judgement = ledger.check(&newsletter);
    assert_eq!(judgement.verdict, Verdict::Unknown);
    let reason = &judgement.reasons[0];
    assert_eq!((reason.rule, reason.weight, reason.quorum), (Rule::BelowQuorum, 10, 100));
    write(&ledger, Verb::Revoke, OPERATOR, newsletter.clone()).expect("durable");
    assert_eq!(ledger.check(&newsletter).verdict, Verdict::Ham);
    assert_eq!(ledger.check(&spam).verdict, Verdict::Spam, "a part binds nothing, and a good one is no veto");
    write(&ledger, Verb::Withdraw, OPERATOR, pieces(&[(Kind::Part1, 9)])).expect("durable");
    assert_eq!(ledger.check(&spam).verdict, Verdict::Spam, "its last word on the part was another");
}

#[test]
fn ten_reporters_list_a_part_and_one_who_is_trusted_keeps_it_unlisted() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let part = pieces(&[(Kind::Part1, 9)]);
    for number in 0..10 {
        assert_eq!(ledger.check(&part).verdict, Verdict::Unknown, "{number} reports");
        let reporter = ledger.put_reporter(&format!("mx{number}"), Some(10)).expect("durable").id;
        write(&ledger, Verb::Report, reporter, part.clone()).expect("durable");
    }
    assert_eq!(ledger.check(&part).verdict, Verdict::Spam);
    let trusted = ledger.put_reporter("trusted", Some(5)).expect("durable").id;
    write(&ledger, Verb::Revoke, trusted, part.clone()).expect("durable");
    assert_eq!(ledger.check(&part).verdict, Verdict::Unknown);
}

/// A message of these texts, as rspamd knows them.
fn texts(digests: &[u8]) -> Case {
    let mut case = Case::new();
    digests.iter().for_each(|byte| case.push(Kind::Rspamd, &[*byte; 64]).expect("a digest"));
    case
}

#[test]
fn texts_decide_where_all_of_them_were_reported_and_a_footer_beside_another_text_does_not() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, texts(&[1, 9])).expect("durable");
    let verdict = |digests: &[u8]| ledger.check(&texts(digests)).verdict;
    assert_eq!([verdict(&[1, 9]), verdict(&[1]), verdict(&[9])], [Verdict::Spam; 3]);
    assert_eq!([verdict(&[2, 9]), verdict(&[2])], [Verdict::Unknown; 2], "a mail of the list");
    write(&ledger, Verb::Revoke, OPERATOR, texts(&[2, 9])).expect("durable");
    assert_eq!(verdict(&[1, 9]), Verdict::Spam, "the footer is good and says nothing of the text above it");
    assert_eq!([verdict(&[9]), verdict(&[3, 9])], [Verdict::Unknown; 2]);
}

#[test]
fn razors_parts_name_a_message_together_and_a_good_name_is_no_ham() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    let parts =
        |numbers: &[u64]| pieces(&numbers.iter().map(|number| (Kind::RazorE4, *number)).collect::<Vec<_>>());
    write(&ledger, Verb::Report, OPERATOR, parts(&[1, 9])).expect("durable");
    let verdict = |numbers: &[u64]| ledger.check(&parts(numbers)).verdict;
    assert_eq!([verdict(&[1, 9]), verdict(&[9, 1])], [Verdict::Spam; 2]);
    assert_eq!([verdict(&[2, 9]), verdict(&[1]), verdict(&[9])], [Verdict::Unknown; 3]);
    write(&ledger, Verb::Revoke, OPERATOR, parts(&[1, 9])).expect("durable");
    assert_eq!(verdict(&[1, 9]), Verdict::Unknown);
}
