//! A life that ends because others hold what this folder does not remember: what nobody is known to hold belongs to the
//! next one, and local counts stay exact whenever the server is killed.

mod common;

use std::fs;
use std::path::Path;

use common::sites::*;
use common::*;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::{Ledger, RecordId, Verb};
use tempfile::TempDir;

fn own(ledger: &Ledger, generation: u64, number: u64) -> Option<u64> {
    ledger.own_cells(generation, |own, _| counted(own, number))
}

/// The lives and generations of frozen cells.
fn frozen(ledger: &Ledger) -> Vec<(u64, u64)> {
    let parts = ledger.frozen_cells().expect("copies");
    parts.iter().map(|part| (part.incarnation, part.generation)).collect()
}

/// Puts files of one folder into another.
fn put(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).expect("copied");
    }
}

fn report(ledger: &Ledger, number: u64) -> RecordId {
    write(ledger, Verb::Report, OPERATOR, case(number)).expect("durable").id
}

#[test]
fn records_after_a_sequence_and_all_cells_of_today_are_the_new_lifes() {
    let (folder, hands, ledger) = begun();
    report(&ledger, 10);
    ledger.agree(NETWORK, &terms()).expect("durable");
    let first = ledger.incarnation();
    let numbers = [20, 30, 40];
    let old = numbers.map(|number| report(&ledger, number));
    see(&ledger, 1, 5);
    let told = ledger.records(first, 0, usize::MAX).expect("readable");
    ledger.renew(1).expect("durable");
    let second = ledger.incarnation();
    assert!(second > first);
    let new = report(&ledger, 50);
    assert_eq!((new.incarnation, new.number), (second, old[2].number + 1));
    see(&ledger, 1, 2);
    tick(&ledger);
    let copy = killed(folder.path());
    for ledger in [ledger, open(copy.path(), &hands)] {
        assert_eq!((ledger.incarnation(), ledger.lives()), (second, vec![(first, 1), (second, 3)]));
        let of = |life| ledger.records(life, 0, usize::MAX).expect("readable");
        assert_eq!((of(first).first, of(first).records), (1, told.records[..1].to_vec()));
        assert_eq!((of(second).first, &of(second).records[..2]), (1, &told.records[1..]));
        assert_eq!(of(second).records.len(), 3);
        assert_eq!((ledger.records_end(first).ok(), ledger.records_end(second).ok()), (Some(1), Some(3)));
        assert_eq!((seen(&ledger, 1), own(&ledger, FIRST_DAY, 1)), (7, Some(7)));
        assert!(frozen(&ledger).is_empty());
    }
}

#[test]
fn a_record_is_found_by_every_name_it_ever_had_and_by_no_other() {
    let (folder, hands, ledger) = begun();
    let private = report(&ledger, 10);
    ledger.agree(NETWORK, &terms()).expect("durable");
    let old = [20, 30].map(|number| report(&ledger, number));
    let lives = [ledger.incarnation(), {
        ledger.renew(1).expect("durable");
        ledger.incarnation()
    }];
    let new = report(&ledger, 40);
    ledger.renew(0).expect("durable");
    let third = ledger.incarnation();
    let copy = killed(folder.path());
    for ledger in [ledger, open(copy.path(), &hands)] {
        let name = |incarnation, number| RecordId { incarnation, number, ..private };
        let found = |id: RecordId| ledger.receipt(id).map(|receipt| receipt.id.incarnation);
        assert_eq!([private, old[0]].map(found), [Some(private.incarnation), Some(lives[0])]);
        assert_eq!(found(old[1]), Some(third), "by the name that it had first");
        assert_eq!(found(new), Some(third));
        for (number, names) in [(old[1].number, [true, true, true]), (new.number, [false, true, true])] {
            let names_of = [lives[0], lives[1], third].map(|life| found(name(life, number)).is_some());
            assert_eq!(names_of, names, "record {number}");
        }
        for (incarnation, number) in [
            (private.incarnation, old[0].number),
            (lives[0], private.number),
            (lives[1], old[0].number),
            (third, old[0].number),
            (third, new.number + 1),
            (third + 1, new.number),
            (0, private.number),
        ] {
            assert_eq!(found(name(incarnation, number)), None, "{incarnation} {number}");
        }
        assert_eq!(found(RecordId { site: private.site ^ 1, ..old[1] }), None);
    }
}

/// Whatever was durable when the server was killed, counts are what was seen, and others are told all of it.
#[test]
fn carried_over_cells_count_once_whenever_the_server_is_killed() {
    for has_snapshot in [false, true] {
        let (folder, hands, ledger) = begun();
        ledger.agree(NETWORK, &terms()).expect("durable");
        see(&ledger, 1, 3);
        if has_snapshot {
            settle(&ledger);
        }
        see(&ledger, 1, 2);
        tick(&ledger);
        let identity_only = killed(folder.path());
        ledger.renew(u64::MAX).expect("durable");
        put(folder.path(), identity_only.path(), &["identity.json"]);
        let (second, first_delta) = (ledger.incarnation(), killed(folder.path()));
        see(&ledger, 1, 4);
        tick(&ledger);
        let more = killed(folder.path());
        settle(&ledger);
        let one_snapshot = killed(folder.path());
        let without_the_last = killed(folder.path());
        fs::remove_file(without_the_last.path().join("snapshot")).expect("there");
        settle(&ledger);
        let two_snapshots = killed(folder.path());
        drop(ledger);
        let folders =
            [(identity_only, 5), (first_delta, 5), (more, 9), (one_snapshot, 9), (without_the_last, 9)];
        for (at, (folder, count)) in folders.into_iter().chain([(two_snapshots, 9), (folder, 9)]).enumerate()
        {
            is_counted_once(&folder, &hands, (second, count), &format!("{has_snapshot} {at}"));
        }
    }

    fn is_counted_once(
        folder: &TempDir,
        hands: &std::sync::Arc<Hands>,
        (life, count): (u64, u64),
        what: &str,
    ) {
        for times in 0..3 {
            let ledger = open(folder.path(), hands);
            let recovery = ledger.stats().recovery;
            assert!(!recovery.iter().any(|line| line.contains("not complete")), "{what}: {recovery:?}");
            let count = count + times;
            assert_eq!((ledger.incarnation(), seen(&ledger, 1)), (life, count), "{what}, {times}");
            assert!(frozen(&ledger).is_empty(), "{what}, {times}");
            see(&ledger, 1, 1);
            tick(&ledger);
            assert_eq!(own(&ledger, FIRST_DAY, 1), Some(count + 1), "{what}, {times}: all of it is told");
            if times == 1 {
                settle(&ledger);
            }
        }
    }
}

#[test]
fn cells_of_older_generations_are_frozen_until_somebody_else_counts_them() {
    let (folder, hands, ledger) = begun();
    ledger.agree(NETWORK, &terms()).expect("durable");
    let first = ledger.incarnation();
    see(&ledger, 1, 5);
    tick(&ledger);
    hands.pass(DAY);
    settle(&ledger);
    see(&ledger, 1, 2);
    ledger.renew(u64::MAX).expect("durable");
    let second = ledger.incarnation();
    let without_snapshot = killed(folder.path());
    settle(&ledger);
    let with_snapshot = killed(folder.path());
    drop(ledger);
    for folder in [without_snapshot.path(), with_snapshot.path(), folder.path()] {
        let again = open(folder, &hands);
        assert_eq!((again.incarnation(), seen(&again, 1)), (second, 7));
        assert_eq!((own(&again, FIRST_DAY, 1), own(&again, FIRST_DAY + 1, 1)), (None, Some(2)));
        let mut parts = again.frozen_cells().expect("copies");
        let part = parts.pop().expect("the life before");
        assert!(parts.is_empty());
        assert_eq!((part.incarnation, part.generation, part.sequence), (first, FIRST_DAY, 1));
        assert_eq!(counted(&part.counts, 1), 5);
        again.put_others(FIRST_DAY, Some(part.counts)).expect("of one kind");
        assert_eq!(seen(&again, 1), 12, "counted twice until it is dropped, never below the truth");
        again.drop_frozen(first, FIRST_DAY);
        assert_eq!((seen(&again, 1), frozen(&again)), (7, vec![]));
        // Others' cells are in no snapshot: whoever keeps them puts them again.
        settle(&again);
        drop(again);
        assert_eq!(seen(&open(folder, &hands), 1), 2);
    }
}

/// The new life was not yet told anything when it ended, too: nobody has its cells, so nobody is asked to count them.
#[test]
fn cells_carried_over_into_a_life_that_ends_untold_count_here_alone() {
    let (folder, hands, ledger) = begun();
    ledger.agree(NETWORK, &terms()).expect("durable");
    see(&ledger, 1, 5);
    tick(&ledger);
    let copy = killed(folder.path());
    ledger.renew(u64::MAX).expect("durable");
    let second = ledger.incarnation();
    report(&ledger, 10);
    drop(ledger);
    // The disk lost the end of the journal, with a record in it and the first delta of the new life.
    put(folder.path(), copy.path(), &["identity.json", "journal.mark"]);
    for times in 0..2 {
        let again = open(copy.path(), &hands);
        assert!(again.incarnation() > second);
        assert_eq!((seen(&again, 1), frozen(&again)), (5 + times, vec![]));
        see(&again, 1, 1);
    }
}

/// Others' cells are wrong for strangers, too.
#[test]
fn the_rate_of_seen_counts_has_others_cells_in_it() {
    let (_folder, _hands, ledger) = begun();
    ledger.agree(NETWORK, &terms()).expect("durable");
    let mut peer = ledger.empty_cells(FIRST_DAY).expect("shared");
    for number in 0..30_000u64 {
        peer.insert(seenit_filter::hash::SipKey::new(KEY).hash_bytes(&number.to_le_bytes()));
    }
    let rate = peer.rate_at_least(1).expect("a cut");
    ledger.put_others(FIRST_DAY, Some(peer)).expect("of one kind");
    see(&ledger, 1, 1);
    let stats = ledger.stats();
    assert!(stats.seen > 25_000 && stats.seen_rate >= rate && rate > 0.0, "{stats:?}");
    for alarm in ["seen signatures of 20000", "seen counts are wrong for"] {
        assert!(stats.alarms.iter().any(|line| line.contains(alarm)), "{alarm}: {:?}", stats.alarms);
    }
}
