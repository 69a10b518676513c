//! Records of other sites: what they count for, and what takes them out again.

mod common;

use common::*;
use seenit_ledger::record::Opinion;
use seenit_ledger::{Answer, Case, Ledger, LedgerConfig, OPERATOR, RecordId, Verb, Verdict};
use seenit_link::store::{HeardItems, HeldStream, LinkBatch, PeerSlot, Read, ReadDone, Store};
use seenit_sites::message::Stream;
use seenit_sites::number::Sequence;

/// Caps that bind nobody.
const FREE: u32 = 500;

fn answer(ledger: &Ledger, case: &Case) -> Answer {
    let mut answers = [Answer::default()];
    ledger.check_many(&[case.iter().next().expect("one")], &mut answers);
    answers[0]
}

fn weights(ledger: &Ledger, case: &Case) -> (u16, u16) {
    let Answer { weight, against, .. } = answer(ledger, case);
    (weight, against)
}

/// A ledger in a folder of its own, and what keeps it.
fn site() -> (tempfile::TempDir, std::sync::Arc<Hands>, Ledger) {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY + 100));
    let ledger = open(folder.path(), &hands);
    (folder, hands, ledger)
}

/// Everything that one ledger has, told to another as the peer in slot 1.
fn tell(from: &Ledger, to: &Ledger) {
    let (incarnation, stream) = (from.incarnation(), Stream::Records);
    let run = from.items(incarnation, stream, 0, usize::MAX);
    let stream = HeldStream { slot: PeerSlot(1), incarnation, stream };
    let heard = vec![HeardItems { stream, after: run.after, items: run.items, message: None }];
    to.commit_link(LinkBatch { heard, ..LinkBatch::default() }).expect("durable");
}

#[test]
fn two_ledgers_that_heard_the_same_records_agree_with_who_said_them() {
    let (_folder, _hands, here) = site();
    let account = here.put_reporter("account", Some(4)).expect("durable").id;
    let other = here.put_reporter("other", Some(10)).expect("durable").id;
    for number in 0..20 {
        write(&here, Verb::Report, OPERATOR, case(number * 10)).expect("durable");
        write(&here, Verb::Report, account, case(number * 5)).expect("durable");
    }
    write(&here, Verb::Revoke, other, case(30)).expect("durable");
    write(&here, Verb::Withdraw, OPERATOR, case(40)).expect("durable");
    for number in 0..5 {
        write(&here, Verb::Report, OPERATOR, near(number, 0)).expect("durable");
    }
    let (others, peers) = ([site(), site()], [peer(1, FREE, FREE, 0)]);
    for (_, _, there) in &others {
        there.set_peers(&peers).expect("durable");
        tell(&here, there);
        for number in 0..200 {
            assert_eq!(there.check(&case(number)).verdict, here.check(&case(number)).verdict, "{number}");
            assert_eq!(answer(there, &exact(number)), answer(&here, &exact(number)), "{number}");
        }
        assert_eq!(there.stats().heard, here.stats().records);
    }
    // One site's word on a text is one unit, and a shingle is known from two on: another site must agree.
    for (_, _, there) in &others {
        assert_eq!(there.check(&near(1, 0)).verdict, Verdict::Unknown);
        there.set_peers(&[peers[0].clone(), peer(2, FREE, FREE, 0)]).expect("durable");
        there
            .commit_link(heard(2, 1, vec![said(Verb::Report, 3, 10, FIRST_DAY, near(1, 0))]))
            .expect("durable");
        assert_eq!(there.check(&near(1, 0)).verdict, Verdict::Spam);
    }
}

#[test]
fn a_flooding_peer_counts_for_its_caps_and_no_more() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, 30, 20, 0)]).expect("durable");
    for (verb, first) in [(Verb::Report, 0), (Verb::Revoke, 1000)] {
        let signature = exact(first);
        let records = (0..1000).map(|one| said(verb, first as u32 + one, 10, FIRST_DAY, signature.clone()));
        ledger.commit_link(heard(1, 1 + first, records.collect())).expect("durable");
    }
    assert_eq!((weights(&ledger, &exact(0)), weights(&ledger, &exact(1000))), ((30, 0), (0, 20)));
    // The same of a key that own reporters know.
    write(&ledger, Verb::Report, OPERATOR, exact(0)).expect("durable");
    assert_eq!(weights(&ledger, &exact(0)), (40, 0));
    // One record at a time, and an own word between them.
    for one in 0..10 {
        ledger
            .commit_link(heard(1, 2001 + one, vec![said(Verb::Report, one as u32, 10, FIRST_DAY, exact(5))]))
            .expect("durable");
    }
    assert_eq!(weights(&ledger, &exact(5)), (30, 0));
}

/// A peer that says ham of everything, whatever its cap: what is good is for each site to say.
#[test]
fn a_peer_that_calls_everything_good_blinds_nobody_to_replicas() {
    for cap in [4, FREE] {
        let (_folder, _hands, ledger) = site();
        ledger.set_peers(&[peer(1, FREE, cap, 0)]).expect("durable");
        for name in ["a", "b"] {
            let reporter = ledger.put_reporter(name, Some(10)).expect("durable").id;
            write(&ledger, Verb::Report, reporter, near(9, 0)).expect("durable");
        }
        assert_eq!(ledger.check(&near(9, 0)).verdict, Verdict::Spam);
        let records = (0..50).map(|one| said(Verb::Revoke, one, 10, FIRST_DAY, near(9, 0))).collect();
        ledger.commit_link(heard(1, 1, records)).expect("durable");
        assert_eq!(ledger.check(&near(9, 0)).verdict, Verdict::Spam, "cap {cap}");
    }
}

/// Its own word it can take back.
#[test]
fn a_peers_revocation_takes_its_own_voice_from_a_text() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, FREE, FREE, 0), peer(2, FREE, FREE, 0)]).expect("durable");
    for slot in [1, 2] {
        let said = said(Verb::Report, 3, 10, FIRST_DAY, near(9, 0));
        ledger.commit_link(heard(slot, 1, vec![said])).expect("durable");
    }
    assert_eq!(ledger.check(&near(9, 0)).verdict, Verdict::Spam);
    ledger.commit_link(heard(2, 2, vec![said(Verb::Revoke, 3, 10, FIRST_DAY, near(9, 0))])).expect("durable");
    assert_eq!(ledger.check(&near(9, 0)).verdict, Verdict::Unknown);
}

#[test]
fn a_peers_revocation_clears_and_its_protection_is_no_veto() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, FREE, 10, 0)]).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Spam);
    ledger.commit_link(heard(1, 1, vec![said(Verb::Revoke, 7, 10, FIRST_DAY, case(1))])).expect("durable");
    assert_eq!(ledger.check(&case(1)).verdict, Verdict::Unknown, "ten points on either side");
    ledger
        .commit_link(heard(1, 2, vec![said(Verb::Protect, 2, 10, FIRST_DAY, case(2000))]))
        .expect("durable");
    let protected = answer(&ledger, &exact(2000));
    assert_eq!((protected.verdict, protected.protected, protected.against), (Verdict::Ham, false, 10));
    for name in ["a", "b", "c", "d", "e"] {
        let reporter = ledger.put_reporter(name, Some(10)).expect("durable").id;
        write(&ledger, Verb::Report, reporter, case(2000)).expect("durable");
    }
    assert_eq!(ledger.check(&case(2000)).verdict, Verdict::Spam);
    ledger
        .commit_link(heard(1, 3, vec![said(Verb::Unprotect, 2, 10, FIRST_DAY, case(2000))]))
        .expect("durable");
    assert_eq!(weights(&ledger, &exact(2000)), (50, 0), "it is withdrawn");
}

#[test]
fn an_own_revocation_takes_along_what_a_peer_reported_together() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    ledger.commit_link(heard(1, 1, vec![said(Verb::Report, 7, 10, FIRST_DAY, case(1))])).expect("durable");
    assert_eq!(ledger.check(&pyzor(1)).verdict, Verdict::Spam);
    write(&ledger, Verb::Revoke, OPERATOR, exact(1)).expect("durable");
    assert_eq!(weights(&ledger, &pyzor(1)), (10, 10));
}

#[test]
fn an_explanation_names_a_peers_reporter_and_its_record() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(3, 10, 10, 0)]).expect("durable");
    ledger.commit_link(heard(3, 41, vec![said(Verb::Report, 7, 8, FIRST_DAY, exact(1))])).expect("durable");
    let case = exact(1);
    let said = ledger.explain(case.iter().next().expect("one")).opinions;
    let key = site_of(3).to_bytes();
    let site = u128::from_be_bytes(std::array::from_fn(|at| key[at]));
    let record = RecordId { site, incarnation: PEER_INCARNATION.0, number: 41 };
    assert_eq!((said.len(), said[0].record, said[0].opinion, said[0].weight), (1, record, Opinion::Spam, 8));
    assert_eq!(said[0].reporter, "site3#7");
    assert_eq!(ledger.receipt(record), None);
    assert!(ledger.reporters().iter().all(|reporter| reporter.id.0 < 1 << 20));
}

#[test]
fn peers_words_settle_nobodys_trust() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    let account = ledger.put_reporter("account", None).expect("durable").id;
    write(&ledger, Verb::Report, account, exact(1)).expect("durable");
    ledger.commit_link(heard(1, 1, vec![said(Verb::Revoke, 1, 10, FIRST_DAY, exact(1))])).expect("durable");
    let standing = |ledger: &Ledger| {
        let account = ledger.reporter("account").expect("known");
        (account.weight, account.confirmed, account.refuted)
    };
    assert_eq!(standing(&ledger), (4, 0, 0));
    write(&ledger, Verb::Report, OPERATOR, exact(1)).expect("durable");
    assert_eq!(standing(&ledger), (4, 1, 0), "a peer's trusted word settled nothing before");
}

#[test]
fn bulk_and_many_are_believed_as_far_as_seen_counts_are() {
    let (folder, hands, ledger) = site();
    let threshold = config().bulk_threshold;
    ledger.set_peers(&[peer(1, 10, 10, threshold), peer(2, 10, 10, 1_000_000)]).expect("durable");
    let mark = |slot, first, verb, number| {
        let records = vec![said(verb, 1, 10, FIRST_DAY, exact(number))];
        ledger.commit_link(heard(slot, first, records)).expect("durable");
    };
    mark(1, 1, Verb::Promote, 1);
    mark(1, 2, Verb::Many, 2);
    mark(2, 1, Verb::Promote, 3);
    mark(2, 2, Verb::Many, 4);
    let verdicts = |ledger: &Ledger| [1, 2, 3, 4].map(|number| ledger.check(&exact(number)).verdict);
    let (bulk, unknown) = (Verdict::Bulk, Verdict::Unknown);
    assert_eq!(verdicts(&ledger), [bulk, unknown, bulk, bulk]);
    assert_eq!(ledger.stats().bulk, 2);
    // Caps that change are followed both ways.
    ledger.set_peers(&[peer(1, 10, 10, 1_000_000), peer(2, 10, 10, threshold - 1)]).expect("durable");
    assert_eq!(verdicts(&ledger), [bulk, bulk, unknown, unknown]);
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!(verdicts(&ledger), [bulk, bulk, unknown, unknown], "also after a restart");
    ledger.set_peers(&[peer(2, 10, 10, 1_000_000)]).expect("durable");
    assert_eq!(verdicts(&ledger), [unknown, unknown, bulk, bulk]);
    assert_eq!(ledger.stats().bulk, 1);
    // A forget takes back the MANY of its own site only.
    write(&ledger, Verb::Many, OPERATOR, exact(4)).expect("durable");
    ledger.commit_link(heard(2, 3, vec![said(Verb::Forget, 1, 10, FIRST_DAY, exact(4))])).expect("durable");
    assert_eq!(ledger.check(&exact(4)).verdict, bulk);
    write(&ledger, Verb::Forget, OPERATOR, exact(4)).expect("durable");
    assert_eq!(ledger.check(&exact(4)).verdict, unknown);
}

#[test]
fn a_peers_forget_subtracts_what_is_counted_here() {
    let (folder, hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    ledger.see(&[exact(1)], 15).expect("accepted");
    ledger
        .commit_link(heard(1, 1, vec![said(Verb::Forget, 1, 10, FIRST_DAY - 2, exact(1))]))
        .expect("durable");
    ledger.see(&[exact(1)], 2).expect("accepted");
    let seen = |ledger: &Ledger| ledger.sightings(exact(1).iter().next().expect("one")).recipients;
    assert_eq!(seen(&ledger), 2);
    settle(&ledger);
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!(seen(&ledger), 2);
    ledger.set_peers(&[]).expect("durable");
    assert_eq!(seen(&ledger), 17, "what only the peer forgot");
}

#[test]
fn what_is_beyond_a_share_or_cannot_be_read_is_kept_and_not_counted() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0), peer(2, 10, 10, 0)]).expect("durable");
    // A tenth of 10,000 signatures, and of 1,000 texts.
    let records = (0..1010).map(|number| said(Verb::Report, 1, 10, FIRST_DAY, exact(number))).collect();
    ledger.commit_link(heard(1, 1, records)).expect("durable");
    let texts = (0..110).map(|number| said(Verb::Report, 1, 10, FIRST_DAY, near(number, 0))).collect();
    ledger.commit_link(heard(1, 1011, texts)).expect("durable");
    assert_eq!((ledger.signatures(), ledger.stats().near_spam), (1000, 100));
    assert_eq!((weights(&ledger, &exact(999)), weights(&ledger, &exact(1000))), ((10, 0), (0, 0)));
    // A known one is no new one, and the other peer has a share of its own.
    ledger
        .commit_link(heard(1, 1121, vec![said(Verb::Revoke, 1, 10, FIRST_DAY, exact(1))]))
        .expect("durable");
    ledger
        .commit_link(heard(2, 1, vec![said(Verb::Report, 1, 10, FIRST_DAY, exact(1000))]))
        .expect("durable");
    assert_eq!((weights(&ledger, &exact(1)), weights(&ledger, &exact(1000))), ((0, 10), (10, 0)));
    let odd = vec![
        b"no record".to_vec(),
        said(Verb::Report, 1, 11, FIRST_DAY, exact(5000)),
        said(Verb::Report, (1 << 20) - 1, 10, FIRST_DAY, exact(5000)),
        said(Verb::Many, 1, 10, FIRST_DAY, near(1, 0)),
    ];
    ledger.commit_link(heard(2, 2, odd)).expect("durable");
    assert_eq!(answer(&ledger, &exact(5000)), Answer::default());
    let stats = ledger.stats();
    assert_eq!((stats.heard, stats.heard_beyond_share, stats.heard_unreadable), (1126, 20, 4));
    assert_eq!(stats.alarms.iter().filter(|alarm| alarm.contains("were not counted")).count(), 2);
}

#[test]
fn a_full_ledger_still_keeps_what_it_hears() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY + 100));
    let small = LedgerConfig { capacity: 1000, reporter_percent: 100, ..config() };
    let ledger = open_with(folder.path(), &hands, small);
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    let records = (0..1100).map(|number| said(Verb::Report, 1, 10, FIRST_DAY, exact(number))).collect();
    ledger.commit_link(heard(1, 1, records)).expect("durable");
    let stats = ledger.stats();
    assert_eq!((stats.signatures, stats.heard, stats.heard_beyond_capacity), (1000, 1100, 100));
}

#[test]
fn a_record_counts_in_its_own_generation_and_one_that_is_too_old_not_at_all() {
    let (_folder, hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    let kept = config().record_generations;
    let records = vec![
        said(Verb::Report, 1, 10, FIRST_DAY - kept, exact(1)),
        said(Verb::Report, 1, 10, FIRST_DAY - kept + 1, exact(2)),
        said(Verb::Report, 1, 10, FIRST_DAY + 50, exact(3)),
    ];
    ledger.commit_link(heard(1, 1, records)).expect("durable");
    let known = |ledger: &Ledger| [1, 2, 3].map(|number| weights(ledger, &exact(number)).0);
    assert_eq!((known(&ledger), ledger.stats().heard), ([0, 10, 10], 2));
    hands.pass(DAY);
    settle(&ledger);
    assert_eq!(known(&ledger), [0, 0, 10], "a clock that is ahead there is not ahead here");
}

#[test]
fn a_word_of_an_earlier_day_that_is_heard_later_is_not_the_last() {
    let (folder, hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0), peer(2, 10, 10, 0)]).expect("durable");
    let mut both = exact(1);
    both.add(near(1, 0).iter().next().expect("one")).expect("room");
    let say = |slot, first, verb, day| {
        ledger.commit_link(heard(slot, first, vec![said(verb, 1, 10, day, both.clone())])).expect("durable");
    };
    say(1, 1, Verb::Withdraw, FIRST_DAY);
    say(1, 2, Verb::Report, FIRST_DAY - 1);
    say(2, 1, Verb::Report, FIRST_DAY - 2);
    say(2, 2, Verb::Report, FIRST_DAY - 1);
    let says = |ledger: &Ledger| (answer(ledger, &exact(1)).weight, answer(ledger, &exact(1)).raw);
    assert_eq!((says(&ledger), ledger.stats().near_spam), ((10, 3), 1));
    let killed = private_folder();
    copy_all(folder.path(), killed.path());
    let again = open(killed.path(), &hands);
    assert_eq!((says(&again), again.stats().near_spam), ((10, 3), 1));
}

#[test]
fn what_was_heard_after_a_snapshot_is_replayed() {
    let (folder, hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0), peer(2, 10, 10, 0)]).expect("durable");
    ledger.commit_link(heard(1, 1, vec![said(Verb::Report, 1, 10, FIRST_DAY, near(1, 0))])).expect("durable");
    settle(&ledger);
    let records = [near(1, 0), near(2, 0), exact(1)].map(|case| said(Verb::Revoke, 1, 10, FIRST_DAY, case));
    ledger.commit_link(heard(1, 2, records.to_vec())).expect("durable");
    let killed = private_folder();
    copy_all(folder.path(), killed.path());
    let again = open(killed.path(), &hands);
    let stats = again.stats();
    assert_eq!((stats.near_spam, stats.near_ham, weights(&again, &exact(1))), (0, 0, (0, 10)));
    assert_eq!(stats.recovery, ["3 records were replayed after the last snapshot"]);
}

#[test]
fn rows_of_the_link_and_records_are_durable_together_or_not_at_all() {
    let (folder, hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    let batch = |slot: u16, number: u64, rows: &[(&[u8], Option<&[u8]>)]| LinkBatch {
        rows: rows.iter().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect(),
        ..heard(slot, number, vec![said(Verb::Report, 1, 10, FIRST_DAY, exact(number))])
    };
    ledger
        .commit_link(batch(1, 1, &[(b"r", Some(b"1")), (b"n", Some(b"9")), (b"p", Some(b""))]))
        .expect("durable");
    ledger.commit_link(batch(1, 2, &[(b"r", Some(b"2")), (b"p", None)])).expect("durable");
    let refused = ledger.commit_link(batch(9, 3, &[(b"r", Some(b"3"))])).expect_err("nobody").to_string();
    assert_eq!(refused, "keeping what other sites said: there is no peer in slot 9");
    assert!(ledger.commit_link(batch(1, 3, &[(b"r", Some(b"3")), (b"", None)])).is_err());
    let both = vec![(b"n".to_vec(), b"9".to_vec()), (b"r".to_vec(), b"2".to_vec())];
    let rows = |ledger: &Ledger| ledger.load().expect("readable").rows;
    let killed = private_folder();
    copy_all(folder.path(), killed.path());
    for ledger in [&ledger, &open(killed.path(), &hands)] {
        assert_eq!(rows(ledger), both);
        assert_eq!([1, 2, 3].map(|number| weights(ledger, &exact(number)).0), [10, 10, 0]);
    }
    drop(ledger);
    let ledger = open_with(folder.path(), &hands, LedgerConfig { free_bytes_min: u64::MAX, ..config() });
    let refused = [
        ledger.commit_link(batch(1, 3, &[(b"r", Some(b"3"))])).map(|_| ()).expect_err("no room").to_string(),
        ledger.set_peers(&[]).expect_err("no room").to_string(),
    ];
    assert!(refused.iter().all(|one| one.contains("are free where the journal lies")), "{refused:?}");
    assert_eq!((weights(&ledger, &exact(3)), weights(&ledger, &exact(1))), ((0, 0), (10, 0)));
    assert_eq!(rows(&ledger), both);
}

/// What is kept of a peer's records for others, and until when.
#[test]
fn messages_are_handed_on_until_their_records_have_expired_or_the_peer_is_gone() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    let stream = stream_of(1, Stream::Records);
    for number in 1..=3 {
        let items = vec![said(Verb::Report, 1, 10, FIRST_DAY, exact(number))];
        let message = Some(format!("message {number}").into_bytes());
        let heard = vec![HeardItems { stream, after: Sequence(number - 1), items, message }];
        ledger.commit_link(LinkBatch { heard, ..LinkBatch::default() }).expect("durable");
    }
    let held = |after: u64, messages_max: usize| match ledger
        .read(&Read::Held { stream, after: Sequence(after), messages_max })
        .expect("readable")
    {
        ReadDone::Held(messages) => messages.into_iter().map(|one| one[8]).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!((held(0, 9), held(1, 1), held(3, 9)), (b"123".to_vec(), b"2".to_vec(), vec![]));
    ledger
        .commit_link(LinkBatch { expired: vec![(stream, Sequence(1))], ..LinkBatch::default() })
        .expect("durable");
    assert_eq!(held(0, 9), b"23");
    ledger.set_peers(&[]).expect("durable");
    assert!(held(0, 9).is_empty());
}

#[test]
fn records_that_are_kept_and_not_counted_are_named() {
    let (_folder, _hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    let good = said(Verb::Report, 1, 10, FIRST_DAY, exact(1));
    let committed = ledger.commit_link(heard(1, 5, vec![good.clone(), b"no record".to_vec(), good]));
    let uncounted = committed.expect("durable").uncounted;
    assert_eq!(uncounted, [(stream_of(1, Stream::Records), Sequence(6))]);
}

#[test]
fn own_records_are_read_in_order_whatever_they_are_and_say_where_older_ones_have_expired() {
    let (_folder, hands, ledger) = site();
    common::sites::agree(&ledger, common::sites::terms(1, common::sites::KEY)).expect("durable");
    let incarnation = ledger.incarnation();
    let verbs = [Verb::Report, Verb::Protect, Verb::Revoke, Verb::Report, Verb::Unprotect];
    for (verb, number) in verbs.into_iter().zip(1..) {
        write(&ledger, verb, OPERATOR, exact(number * 100)).expect("durable");
    }
    hands.pass(DAY);
    settle(&ledger);
    write(&ledger, Verb::Withdraw, OPERATOR, exact(600)).expect("durable");
    let verb_of = |bytes: &Vec<u8>| Verb::from_code(bytes[1]).expect("a verb");
    let run = |after, bytes_max| -> (u64, Vec<Verb>) {
        let run = ledger.items(incarnation, Stream::Records, after, bytes_max);
        assert!(run.value.is_some(), "{run:?}");
        (run.after.0, run.items.iter().map(verb_of).collect())
    };
    let all = [verbs.as_slice(), &[Verb::Withdraw]].concat();
    assert_eq!(
        (run(0, usize::MAX), common::sites::own_records(&ledger)),
        ((0, all.clone()), vec![(incarnation, 6)])
    );
    assert_eq!((run(2, 0), run(6, usize::MAX)), ((2, vec![Verb::Revoke]), (6, Vec::new())));
    let bytes = ledger.items(incarnation, Stream::Records, 0, 0).items[0].len();
    assert_eq!(run(1, bytes * 3), (1, all[1..4].to_vec()));
    assert_eq!(ledger.items(incarnation, Stream::Records, 7, 0).value, None, "there is no such record");
    let value = ledger.items(incarnation, Stream::Records, 6, 0).value;
    // All that aged is gone, and protections have no neighbours any more; the chain is still known.
    for _ in 0..33 {
        hands.pass(DAY);
        settle(&ledger);
    }
    write(&ledger, Verb::Report, OPERATOR, exact(700)).expect("durable");
    assert_eq!(
        (run(0, usize::MAX), run(5, usize::MAX)),
        ((4, vec![Verb::Unprotect]), (6, vec![Verb::Report]))
    );
    assert_eq!(ledger.items(incarnation, Stream::Records, 6, 0).value, value);
}

/// What others hold of an earlier incarnation and this site has lost is its own reporters' opinion again.
#[test]
fn own_records_that_come_back_count_as_own_and_can_be_withdrawn() {
    let (folder, hands, ledger) = site();
    common::sites::agree(&ledger, common::sites::terms(1, common::sites::KEY)).expect("durable");
    let account = ledger.put_reporter("account", Some(8)).expect("durable").id;
    let before = ledger.incarnation();
    let own_key = seenit_sites::key::SiteSecret::from_bytes(*ledger.site_secret()).public();
    let own = seenit_link::store::PeerSite { site: own_key, ..peer(9, 0, 0, 0) };
    ledger.set_peers(&[own]).expect("durable");
    common::sites::renew(&ledger, 0, &[]);
    let lost = said(Verb::Report, account.0, 8, FIRST_DAY, case(1));
    let stream = HeldStream { slot: PeerSlot(9), incarnation: before, stream: Stream::Records };
    let heard =
        vec![HeardItems { stream, after: Sequence::START, items: vec![lost], message: Some(vec![1]) }];
    ledger.commit_link(LinkBatch { heard, ..LinkBatch::default() }).expect("durable");
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!(weights(&ledger, &exact(1)), (8, 0), "no cap holds for its own");
    let one = exact(1);
    let said = ledger.explain(one.iter().next().expect("one")).opinions;
    assert_eq!((said[0].reporter.as_str(), said[0].record.incarnation), ("account", before.0));
    write(&ledger, Verb::Withdraw, account, exact(1)).expect("durable");
    assert_eq!(
        (weights(&ledger, &exact(1)), weights(&ledger, &pyzor(1))),
        ((0, 0), (0, 0)),
        "all of the message"
    );
    drop(ledger);
    seenit_ledger::rebuild(folder.path(), config(), hands.clone(), || ()).expect("rebuilt");
    assert_eq!(weights(&open(folder.path(), &hands), &exact(1)), (0, 0));
}

#[test]
fn a_slot_that_was_given_up_can_be_given_again_and_serial_numbers_are_not() {
    let (folder, hands, ledger) = site();
    ledger.set_peers(&[peer(1, 10, 10, 0)]).expect("durable");
    ledger.commit_link(heard(1, 1, vec![said(Verb::Report, 1, 10, FIRST_DAY, case(1))])).expect("durable");
    ledger.set_peers(&[]).expect("durable");
    assert_eq!((ledger.signatures(), ledger.stats().heard), (0, 1));
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!((ledger.signatures(), ledger.stats().heard), (0, 1));
    let other = seenit_link::store::PeerSite { site: site_of(8), ..peer(1, 10, 10, 0) };
    ledger.set_peers(std::slice::from_ref(&other)).expect("durable");
    ledger.commit_link(heard(1, 1, vec![said(Verb::Report, 1, 10, FIRST_DAY, case(2))])).expect("durable");
    assert_eq!((ledger.stats().heard, ledger.check(&case(2)).verdict), (2, Verdict::Spam));
    assert!(ledger.set_peers(&[peer(1, 10, 10, 0)]).is_err(), "the slot is another's");
}
