//! An incarnation that ends because others hold what this folder does not remember: what nobody is known to hold
//! belongs to the next one, and local counts stay exact whenever the server is killed.

mod common;

use common::sites::*;
use common::*;
use seenit_filter::sightings::decode;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::{Ledger, RecordId, Structure, Verb};
use seenit_link::store::{HeardItems, HeldStream, LinkBatch, PeerSite, PeerSlot, Store};
use seenit_sites::message::Stream;
use seenit_sites::number::{Incarnation, Sequence};

fn report(ledger: &Ledger, number: u64) -> RecordId {
    write(ledger, Verb::Report, OPERATOR, case(number)).expect("durable").id
}

/// Increments and counts of the only message of each delta of an own stream.
fn deltas(ledger: &Ledger, incarnation: Incarnation, generation: u64) -> Vec<(u64, u64)> {
    let items = ledger.items(incarnation, sightings_in(generation), 0, usize::MAX).items;
    let one = |item: &Vec<u8>| decode(item).map(|all| (all[0].increment, all[0].count)).expect("a delta");
    items.iter().map(one).collect()
}

#[test]
fn records_after_a_sequence_are_the_new_incarnations() {
    let (folder, hands, ledger) = begun();
    report(&ledger, 10);
    agree(&ledger, terms(1, KEY)).expect("durable");
    let first = ledger.incarnation();
    let old = [20, 30, 40].map(|number| report(&ledger, number));
    let of = |ledger: &Ledger, incarnation| ledger.items(incarnation, Stream::Records, 0, usize::MAX).items;
    let published = of(&ledger, first);
    renew(&ledger, 1, &[]);
    let second = ledger.incarnation();
    assert!(second > first);
    let new = report(&ledger, 50);
    assert_eq!((new.incarnation, new.number), (second.0, old[2].number + 1));
    let copy = killed(folder.path());
    for ledger in [ledger, open(copy.path(), &hands)] {
        assert_eq!(own_records(&ledger), [(first, 1), (second, 3)]);
        assert_eq!(
            (of(&ledger, first), &of(&ledger, second)[..2]),
            (published[..1].to_vec(), &published[1..])
        );
    }
}

#[test]
fn a_record_is_found_by_every_name_it_ever_had_and_by_no_other() {
    let (folder, hands, ledger) = begun();
    let private = report(&ledger, 10);
    agree(&ledger, terms(1, KEY)).expect("durable");
    let old = [20, 30].map(|number| report(&ledger, number));
    let incarnations = [ledger.incarnation().0, {
        renew(&ledger, 1, &[]);
        ledger.incarnation().0
    }];
    let new = report(&ledger, 40);
    renew(&ledger, 0, &[]);
    let third = ledger.incarnation().0;
    let copy = killed(folder.path());
    for ledger in [ledger, open(copy.path(), &hands)] {
        let name = |incarnation, number| RecordId { incarnation, number, ..private };
        let found = |id: RecordId| ledger.receipt(id).map(|receipt| receipt.id.incarnation);
        assert_eq!([private, old[0]].map(found), [Some(private.incarnation), Some(incarnations[0])]);
        assert_eq!(found(old[1]), Some(third), "by the name that it had first");
        assert_eq!(found(new), Some(third));
        for (number, names) in [(old[1].number, [true, true, true]), (new.number, [false, true, true])] {
            let names_of = [incarnations[0], incarnations[1], third]
                .map(|incarnation| found(name(incarnation, number)).is_some());
            assert_eq!(names_of, names, "record {number}");
        }
        for (incarnation, number) in [
            (private.incarnation, old[0].number),
            (incarnations[0], private.number),
            (incarnations[1], old[0].number),
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

/// Whatever was durable when the server was killed, counts are what was seen, and what nobody holds is published again.
#[test]
fn deltas_that_nobody_is_known_to_hold_are_the_new_incarnations_and_count_once() {
    for structure in Structure::ALL {
        let (folder, hands, ledger) = begun_with(with(structure));
        agree(&ledger, terms(1, KEY)).expect("durable");
        let first = ledger.incarnation();
        for recipients in [3, 2, 4] {
            see(&ledger, 1, recipients);
            tick(&ledger);
        }
        let identity_only = killed(folder.path());
        renew(&ledger, u64::MAX, &[(FIRST_DAY, 1)]);
        let second = ledger.incarnation();
        // Killed between the identity and the journal.
        let identity = folder.path().join("identity.json");
        std::fs::copy(identity, identity_only.path().join("identity.json")).expect("copied");
        let moved = killed(folder.path());
        see(&ledger, 1, 1);
        tick(&ledger);
        let more = killed(folder.path());
        drop(ledger);
        let all = [(identity_only.path(), 9), (moved.path(), 9), (more.path(), 10), (folder.path(), 10)];
        for (at, (folder, count)) in all.into_iter().enumerate() {
            for times in 0..2 {
                let ledger = open_with(folder, &hands, with(structure));
                assert_eq!((ledger.incarnation(), seen(&ledger, 1)), (second, count), "{at} {times}");
                assert_eq!(deltas(&ledger, first, FIRST_DAY), [(3, 3)], "{at} {times}");
                let mut expected = vec![(2, 5), (4, 9)];
                expected.extend((count == 10).then_some((1, 10)));
                assert_eq!(deltas(&ledger, second, FIRST_DAY), expected, "{at} {times}");
            }
        }
    }
}

#[test]
fn of_generations_that_are_not_named_all_deltas_are_the_new_incarnations() {
    let (_folder, hands, ledger) = begun();
    agree(&ledger, terms(1, KEY)).expect("durable");
    see(&ledger, 1, 5);
    tick(&ledger);
    hands.pass(DAY);
    settle(&ledger);
    see(&ledger, 1, 2);
    tick(&ledger);
    let first = ledger.incarnation();
    renew(&ledger, u64::MAX, &[(FIRST_DAY, 1)]);
    let second = ledger.incarnation();
    assert_eq!(own_sightings(&ledger), [(first, FIRST_DAY, 1), (second, FIRST_DAY + 1, 1)]);
    assert_eq!(seen(&ledger, 1), 7);
}

/// What others hold of an earlier incarnation, and this site has lost, comes back: as its own, without a cap.
#[test]
fn own_sightings_that_come_back_count_as_own() {
    let (folder, hands, ledger) = begun();
    agree(&ledger, terms(1, KEY)).expect("durable");
    let before = ledger.incarnation();
    see(&ledger, 1, 2);
    tick(&ledger);
    renew(&ledger, u64::MAX, &[(FIRST_DAY, 1)]);
    let site = seenit_sites::key::SiteSecret::from_bytes(*ledger.site_secret()).public();
    let own = PeerSite { site, ..peer(9, 0, 0, 0) };
    ledger.set_peers(&[own]).expect("durable");
    let heard = heard_sightings(9, FIRST_DAY, 1, vec![delta(KEY, &[(1, 40, 42)])]);
    let stream = HeldStream { slot: PeerSlot(9), incarnation: before, stream: sightings_in(FIRST_DAY) };
    tell(&ledger, HeardItems { stream, ..heard });
    assert_eq!(seen(&ledger, 1), 42);
    see(&ledger, 1, 1);
    tick(&ledger);
    assert_eq!(deltas(&ledger, ledger.incarnation(), FIRST_DAY), [(1, 43)], "all of it is its own count");
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!(seen(&ledger, 1), 43);
    ledger.commit(LinkBatch { forgotten: vec![stream], ..LinkBatch::default() }).expect("durable");
    assert_eq!((seen(&ledger, 1), Sequence(1)), (43, Sequence(1)), "it goes with its generation");
}
