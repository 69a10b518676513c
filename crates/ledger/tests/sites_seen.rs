//! Seen counts of a site that joins a network, leaves it, begins new incarnations and is killed: never below the truth,
//! with both structures of the index.

mod common;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use common::sites::*;
use common::*;
use seenit_filter::random::SplitMix;
use seenit_filter::sightings::decode;
use seenit_ledger::{Ledger, LedgerConfig, Structure};
use seenit_link::store::{LinkBatch, Read, ReadDone, Store};
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteSecret;
use seenit_sites::message::StreamId;
use seenit_sites::number::{Incarnation, Sequence};

/// The chain over an own stream from its beginning on.
fn chain_of(ledger: &Ledger, incarnation: Incarnation, generation: u64) -> Chain {
    let site = SiteSecret::from_bytes(*ledger.site_secret()).public();
    Chain::begin(&StreamId { site, incarnation, stream: sightings_in(generation) })
}

/// What a peer counts of a message that has all deltas of an own stream, which it reads one by one.
fn published(ledger: &Ledger, incarnation: Incarnation, generation: u64, number: u64) -> u64 {
    let (mut chain, mut count) = (chain_of(ledger, incarnation, generation), 0);
    loop {
        let run = ledger.items(incarnation, sightings_in(generation), chain.sequence.0, 1);
        assert_eq!((run.after, run.value), (chain.sequence, Some(chain.value)));
        let Some(item) = run.items.first() else { return count };
        chain = chain.then(item);
        let sightings = decode(item).expect("a delta");
        let wanted = fingerprint(KEY, number);
        count +=
            sightings.iter().filter(|one| one.fingerprint == wanted).map(|one| one.increment).sum::<u64>();
    }
}

#[test]
fn what_was_counted_before_joining_stays_counted_and_is_published_to_nobody() {
    for structure in Structure::ALL {
        let (folder, hands, ledger) = begun_with(with(structure));
        see(&ledger, 1, 5);
        assert_eq!((ledger.network(), ledger.own().streams), (None, vec![]));
        let private = ledger.incarnation();
        agree(&ledger, terms(1, KEY)).expect("durable");
        let shared = ledger.incarnation();
        assert!(shared > private && ledger.stats().incarnation == shared.0);
        assert_eq!(ledger.network(), Some(network(1).to_bytes()));
        see(&ledger, 1, 3);
        see(&ledger, 2, 4);
        assert_eq!((seen(&ledger, 1), seen(&ledger, 2)), (8, 4));
        tick(&ledger);
        assert_eq!(own_sightings(&ledger), [(shared, FIRST_DAY, 1)]);
        assert_eq!(published(&ledger, shared, FIRST_DAY, 1), 3, "not the 5 of before");
        let copy = killed(folder.path());
        drop(ledger);
        for folder in [folder.path(), copy.path()] {
            let again = open_with(folder, &hands, with(structure));
            assert_eq!((again.incarnation(), seen(&again, 1), seen(&again, 2)), (shared, 8, 4));
            assert_eq!(own_sightings(&again), [(shared, FIRST_DAY, 1)]);
        }
    }
}

#[test]
fn agreeing_is_durable_when_it_returns_and_the_same_again_changes_nothing() {
    let (folder, hands, ledger) = begun();
    agree(&ledger, terms(1, KEY)).expect("durable");
    let (copy, incarnation) = (killed(folder.path()), ledger.incarnation());
    let again = open(copy.path(), &hands);
    assert_eq!((again.network(), again.incarnation()), (ledger.network(), incarnation));
    agree(&again, terms(1, KEY)).expect("known");
    assert_eq!(again.incarnation(), incarnation);
    let refused = agree(&ledger, seenit_link::store::NetworkTerms { generation_secs: 60, ..terms(1, KEY) });
    let refused = refused.expect_err("other days").to_string();
    assert!(
        refused.contains("the network's generations have 60 s, and ledger.generation_secs is 86400 here")
    );
}

#[test]
fn the_key_of_a_generation_that_is_counted_cannot_change_and_those_of_later_ones_can() {
    let (folder, hands, ledger) = begun();
    agree(&ledger, terms(1, KEY)).expect("durable");
    see(&ledger, 1, 5);
    let refused = agree(&ledger, terms(1, OTHER_KEY)).expect_err("it is being counted").to_string();
    assert!(refused.contains("the hash key of generation 20000 cannot change"), "{refused}");
    let incarnation = ledger.incarnation();
    let later = [(FIRST_DAY - 100, KEY), (FIRST_DAY + 1, OTHER_KEY)];
    agree(&ledger, terms_from(1, &later)).expect("durable");
    assert_eq!((ledger.incarnation(), seen(&ledger, 1)), (incarnation, 5));
    hands.pass(DAY);
    settle(&ledger);
    see(&ledger, 1, 4);
    tick(&ledger);
    assert_eq!(seen(&ledger, 1), 9);
    let items = ledger.items(incarnation, sightings_in(FIRST_DAY + 1), 0, 1).items;
    assert_eq!(decode(&items[0]).expect("a delta")[0].fingerprint, fingerprint(OTHER_KEY, 1));
    let again = open(killed(folder.path()).path(), &hands);
    assert_eq!((again.incarnation(), seen(&again, 1)), (incarnation, 9));
    assert_eq!(own_sightings(&again), own_sightings(&ledger));
}

/// Without a key an incarnation of a network counts under the site's own, which nobody else could read.
#[test]
fn a_key_for_a_generation_that_had_none_begins_a_new_incarnation() {
    let (folder, hands, ledger) = begun();
    agree(&ledger, terms_from(1, &[])).expect("durable");
    see(&ledger, 1, 5);
    tick(&ledger);
    let first = ledger.incarnation();
    assert_eq!(own_sightings(&ledger), []);
    agree(&ledger, terms(1, KEY)).expect("durable");
    let second = ledger.incarnation();
    assert!(second > first);
    see(&ledger, 1, 1);
    tick(&ledger);
    assert_eq!((seen(&ledger, 1), own_sightings(&ledger)), (6, vec![(second, FIRST_DAY, 1)]));
    assert_eq!(published(&ledger, second, FIRST_DAY, 1), 1, "nothing of before");
    assert_eq!(seen(&open(killed(folder.path()).path(), &hands), 1), 6);
}

#[test]
fn who_leaves_keeps_the_counts_and_publishes_nothing_any_more() {
    let (folder, hands, ledger) = begun();
    ledger.leave().expect("nothing to leave");
    agree(&ledger, terms(1, KEY)).expect("durable");
    see(&ledger, 1, 5);
    ledger.leave().expect("durable");
    assert_eq!((ledger.network(), ledger.own().streams), (None, vec![]));
    see(&ledger, 1, 2);
    assert_eq!(seen(&ledger, 1), 7);
    agree(&ledger, terms(2, OTHER_KEY)).expect("durable");
    see(&ledger, 1, 1);
    tick(&ledger);
    let present = ledger.incarnation();
    assert_eq!(own_sightings(&ledger), [(present, FIRST_DAY, 1)], "the first network's are not the second's");
    let copy = killed(folder.path());
    drop(ledger);
    for folder in [folder.path(), copy.path()] {
        assert_eq!(seen(&open(folder, &hands), 1), 8);
    }
    hands.pass(3 * DAY);
    let again = open(folder.path(), &hands);
    tick(&again);
    assert_eq!((seen(&again, 1), own_sightings(&again)), (0, vec![]), "all of it is too old");
}

/// What is seen while incarnations end and begin is in one of them.
#[test]
fn nothing_is_lost_between_two_incarnations() {
    const THREADS: u64 = 2;
    for structure in Structure::ALL {
        let (folder, hands, ledger) = begun_with(with(structure));
        let is_over = AtomicBool::new(false);
        let seen_by: Vec<u64> = std::thread::scope(|scope| {
            let (ledger, is_over) = (&ledger, &is_over);
            let see = |thread: u64| {
                let mut times = 0;
                while !is_over.load(SeqCst) {
                    see(ledger, thread, 1);
                    times += 1;
                }
                times
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || see(thread))).collect();
            agree(ledger, terms(1, KEY)).expect("durable");
            for _ in 0..5 {
                renew(ledger, u64::MAX, &[]);
            }
            ledger.leave().expect("durable");
            is_over.store(true, SeqCst);
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let counts = |ledger: &Ledger| (0..THREADS).map(|thread| seen(ledger, thread)).collect::<Vec<_>>();
        assert_eq!(counts(&ledger), seen_by);
        drop(ledger);
        assert_eq!(counts(&open_with(folder.path(), &hands, with(structure))), seen_by);
    }
}

#[test]
fn an_older_copy_of_the_identity_begins_a_new_incarnation() {
    let (folder, hands, ledger) = begun();
    let older = std::fs::read(folder.path().join("identity.json")).expect("readable");
    see(&ledger, 1, 5);
    renew(&ledger, u64::MAX, &[]);
    see(&ledger, 1, 2);
    let incarnation = ledger.incarnation();
    drop(ledger);
    std::fs::write(folder.path().join("identity.json"), older).expect("written");
    let again = open(folder.path(), &hands);
    assert!(again.incarnation() > incarnation);
    see(&again, 1, 1);
    assert_eq!(seen(&again, 1), 8);
    drop(again);
    assert_eq!(seen(&open(folder.path(), &hands), 1), 8);
}

/// Memory is an index over the log: it is rebuilt at any size and in either structure.
#[test]
fn what_is_rebuilt_from_the_log_is_what_memory_was() {
    const KEYS: u64 = 8000;
    for structure in Structure::ALL {
        let (folder, hands, ledger) = begun_with(with(structure));
        agree(&ledger, terms(1, KEY)).expect("durable");
        ledger.set_peers(&[peer(1, 5, 5, 20)]).expect("durable");
        let mut rng = SplitMix(structure as u64);
        for round in 0..5 {
            (0..2000).for_each(|_| see(&ledger, rng.below(KEYS), 1 + rng.below(3)));
            let said: Vec<_> = (0..50).map(|key| (key * 7 + round, 3, 3 + 2 * round)).collect();
            tell(&ledger, heard_sightings(1, FIRST_DAY, round, vec![delta(KEY, &said)]));
            tick(&ledger);
        }
        let counts = |ledger: &Ledger| (0..KEYS).map(|key| seen(ledger, key)).collect::<Vec<_>>();
        let before = counts(&ledger);
        drop(ledger);
        let again = open_with(folder.path(), &hands, with(structure));
        assert_eq!(counts(&again), before, "{structure}");
        drop(again);
        for other in Structure::ALL {
            let larger = LedgerConfig { seen_capacity: 50_000, peers_capacity: 2000, ..with(other) };
            let again = open_with(folder.path(), &hands, larger);
            let after = counts(&again);
            let wrong = before.iter().zip(&after).filter(|(before, after)| before != after).count();
            // Where structures differ they differ by accidents.
            assert!(wrong <= 3, "{structure} to {other}: {wrong}");
        }
    }
}

/// A snapshot for others is all deltas added up, and its end is the chain's.
#[test]
fn a_snapshot_has_all_that_was_seen_added_up() {
    let (_folder, _hands, ledger) = begun();
    agree(&ledger, terms(1, KEY)).expect("durable");
    let incarnation = ledger.incarnation();
    for _ in 0..3 {
        see(&ledger, 1, 2);
        see(&ledger, 2, 1);
        tick(&ledger);
    }
    let ReadDone::Snapshot(parts) = ledger.read(&Read::Snapshot { bytes_max: 1 << 20 }).expect("readable")
    else {
        panic!("not what was asked for");
    };
    let [part] = &parts[..] else { panic!("{parts:?}") };
    let begin = chain_of(&ledger, incarnation, FIRST_DAY);
    let items = ledger.items(incarnation, sightings_in(FIRST_DAY), 0, usize::MAX).items;
    let end = items.iter().fold(begin, |chain, item| chain.then(item));
    assert_eq!((part.start, part.end), (begin, end));
    assert_eq!(end.sequence, Sequence(3));
    let mut counts: Vec<_> = decode(&part.items[0]).expect("a block");
    counts.sort_by_key(|one| one.count);
    assert_eq!(counts.iter().map(|one| (one.increment, one.count)).collect::<Vec<_>>(), [(3, 3), (6, 6)]);
    assert_eq!(parts[0].items.len(), 1);
}

/// Anything in any order: a count is never below the truth, and what a kill leaves says the same.
#[test]
fn counts_are_never_below_the_truth_whatever_happens() {
    for structure in Structure::ALL {
        for seed in 0..3 {
            runs(structure, seed);
        }
    }

    fn runs(structure: Structure, seed: u64) {
        const KEYS: u64 = 40;
        let (mut folder, hands, mut ledger) = begun_with(with(structure));
        let (mut rng, mut truth) = (SplitMix(seed), [[0u64; KEYS as usize]; 3]);
        for step in 0..40 {
            for _ in 0..20 {
                let (number, recipients) = (rng.below(KEYS), 1 + rng.below(12));
                see(&ledger, number, recipients);
                truth[0][number as usize] += recipients;
            }
            match rng.below(9) {
                0 => agree(&ledger, terms(1, KEY)).expect("durable"),
                1 => agree(&ledger, terms(2, OTHER_KEY)).expect("durable"),
                2 => ledger.leave().expect("durable"),
                3 | 4 => renew(&ledger, u64::MAX, &[(FIRST_DAY, rng.below(3))]),
                5 => settle(&ledger),
                6 => {
                    hands.pass(DAY);
                    settle(&ledger);
                    truth = [[0; KEYS as usize], truth[0], truth[1]];
                }
                7 => {
                    drop(ledger);
                    ledger = open_with(folder.path(), &hands, with(structure));
                }
                _ => {
                    tick(&ledger);
                    let copy = killed(folder.path());
                    drop(ledger);
                    folder = copy;
                    ledger = open_with(folder.path(), &hands, with(structure));
                    let recovery = ledger.stats().recovery;
                    let is_whole = !recovery.iter().any(|line| line.contains("not complete"));
                    assert!(is_whole, "seed {seed}, step {step}: {recovery:?}");
                }
            }
            for number in 0..KEYS {
                let true_count: u64 = truth.iter().map(|day| day[number as usize]).sum();
                assert_eq!(
                    seen(&ledger, number),
                    true_count,
                    "{structure} {seed}, step {step}, key {number}"
                );
            }
        }
    }
}

#[test]
fn a_batch_of_nothing_is_committed() {
    let (_folder, _hands, ledger) = begun();
    assert_eq!(ledger.commit(LinkBatch::default()).expect("nothing to do").uncounted, []);
}
