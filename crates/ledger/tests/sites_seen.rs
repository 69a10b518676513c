//! Seen counts of a site that joins a network, leaves it, begins new lives and is killed: never below the truth.

mod common;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use common::sites::*;
use common::*;
use seenit_filter::cells::{Cells, SplitCells};
use seenit_filter::counting::Refined;
use seenit_filter::delta::{CountGain, Follower};
use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::{AnyLayout, random::SplitMix};
use seenit_ledger::{Counts, Ledger, Local};

/// What a peer has that followed all gains of a generation from the beginning.
fn followed(ledger: &Ledger, generation: u64) -> (Counts, u64) {
    let empty = ledger.empty_cells(generation).expect("shared");
    let mut follower = Follower::<Refined, AnyLayout, SplitCells>::new(empty, 0);
    loop {
        let gains = ledger.gains(generation, follower.applied(), 1).expect("readable");
        let Some(gain) = gains.first() else { break };
        assert_eq!(gains.len(), 1, "one is more than the bytes already");
        follower.apply(&CountGain::open(&gain[..]).expect("a gain")).expect("the next one");
    }
    let applied = follower.applied();
    (follower.into_counts(), applied)
}

fn is_same(one: &Counts, other: &Counts) -> bool {
    one.like(other).is_ok()
        && (0..one.cells().len()).all(|cell| one.cells().get(cell) == other.cells().get(cell))
}

#[test]
fn what_was_counted_before_joining_stays_counted_and_is_told_to_nobody() {
    let (folder, hands, ledger) = begun();
    see(&ledger, 1, 5);
    assert_eq!((ledger.network(), ledger.lives(), ledger.shared_generations()), (None, vec![], vec![]));
    let private = ledger.incarnation();
    ledger.agree(NETWORK, &terms()).expect("durable");
    let shared = ledger.incarnation();
    assert!(shared > private && ledger.stats().incarnation == shared);
    assert_eq!(ledger.network(), Some(NETWORK));
    see(&ledger, 1, 3);
    see(&ledger, 2, 4);
    assert_eq!((seen(&ledger, 1), seen(&ledger, 2)), (8, 4));
    tick(&ledger);
    assert_eq!(ledger.shared_generations(), [(FIRST_DAY, 1)]);
    let (told, sequence) = followed(&ledger, FIRST_DAY);
    assert_eq!((sequence, counted(&told, 1), counted(&told, 2)), (1, 3, 4), "not the 5 of before");
    ledger.own_cells(FIRST_DAY, |own, last| assert!(last == 1 && is_same(own, &told))).expect("shared");
    assert!(ledger.frozen_cells().expect("copies").is_empty(), "private lives are nobody's business");
    let copy = killed(folder.path());
    drop(ledger);
    for folder in [folder.path(), copy.path()] {
        let again = open(folder, &hands);
        assert_eq!((again.incarnation(), again.network()), (shared, Some(NETWORK)));
        assert_eq!((seen(&again, 1), seen(&again, 2)), (8, 4));
        assert_eq!(again.shared_generations(), [(FIRST_DAY, 1)]);
        again.own_cells(FIRST_DAY, |own, _| assert!(is_same(own, &told))).expect("shared");
        assert!(again.frozen_cells().expect("copies").is_empty());
        settle(&again);
        let local = Local::open(folder).expect("a snapshot");
        assert_eq!(local.check(&exact(1)).reasons[0].seen, Some(8), "without the server, too");
    }
}

#[test]
fn agreeing_is_durable_when_it_returns_and_the_same_again_changes_nothing() {
    let (folder, hands, ledger) = begun();
    ledger.agree(NETWORK, &terms()).expect("durable");
    let (copy, incarnation) = (killed(folder.path()), ledger.incarnation());
    let again = open(copy.path(), &hands);
    assert_eq!((again.network(), again.incarnation()), (Some(NETWORK), incarnation));
    again.agree(NETWORK, &terms()).expect("known");
    assert_eq!(again.incarnation(), incarnation);
    let json = std::fs::read_to_string(folder.path().join("identity.json")).expect("readable");
    assert!(json.contains("\"version\": 2") && json.contains(&"aa".repeat(32)), "{json}");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(folder.path().join("identity.json")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the file holds keys");
}

#[test]
fn others_cells_are_raised_and_put_also_of_generations_that_nothing_was_seen_in() {
    let (_folder, hands, ledger) = begun();
    assert!(ledger.raise_others(FIRST_DAY, &[(1, 1)]).is_err(), "a private generation has no others");
    assert!(ledger.empty_cells(FIRST_DAY).is_err());
    let before = ledger.stats().memory_bytes;
    ledger.agree(NETWORK, &terms()).expect("durable");
    see(&ledger, 1, 2);
    let mut peer = ledger.empty_cells(FIRST_DAY - 1).expect("shared");
    let case = exact(1);
    peer.insert_weighted(SipKey::new(KEY).hash(&case.iter().next().expect("one")), 30);
    let mut gains = Vec::new();
    peer.cells().for_each_nonzero(|cell, value| gains.push((cell, value)));
    ledger.raise_others(FIRST_DAY - 1, &gains).expect("raised");
    assert_eq!(seen(&ledger, 1), 32);
    assert_eq!(ledger.others_cell(FIRST_DAY - 1, gains[0].0), 30);
    assert_eq!(ledger.others_cell(FIRST_DAY - 1, u64::MAX), 0);
    assert_eq!(ledger.shared_generations(), [(FIRST_DAY, 0)], "nothing of our own was seen then");
    ledger.raise_others(FIRST_DAY - 1, &gains).expect("raised");
    assert_eq!(seen(&ledger, 1), 62);
    // A new life of the same network does not forget what others were told; another network does.
    ledger.renew(u64::MAX).expect("durable");
    assert_eq!(seen(&ledger, 1), 62);
    ledger.put_others(FIRST_DAY - 1, Some(peer)).expect("of one kind");
    assert_eq!(seen(&ledger, 1), 32);
    ledger.put_others(FIRST_DAY - 1, None).expect("taken away");
    assert_eq!(seen(&ledger, 1), 2);
    let strange = terms_of([9; 16]).empty().expect("cells");
    let refused = ledger.put_others(FIRST_DAY, Some(strange)).expect_err("another key").to_string();
    assert!(refused.contains("not of the terms of generation 20000"), "{refused}");
    ledger.raise_others(FIRST_DAY - 3, &gains).expect("too old to count");
    assert_eq!(seen(&ledger, 1), 2);
    ledger.raise_others(FIRST_DAY, &gains).expect("raised");
    hands.pass(DAY);
    settle(&ledger);
    assert_eq!(seen(&ledger, 1), 32, "it is yesterday's now");
    ledger.agree(OTHER_NETWORK, &terms()).expect("durable");
    assert_eq!(seen(&ledger, 1), 2);
    assert!(ledger.stats().memory_bytes > before);
}

#[test]
fn terms_of_a_generation_that_is_counted_cannot_change_and_those_of_later_ones_can() {
    let (folder, hands, ledger) = begun();
    ledger.agree(NETWORK, &terms()).expect("durable");
    see(&ledger, 1, 5);
    let changed = vec![(FIRST_DAY, terms_of([8; 16]))];
    let refused = ledger.agree(NETWORK, &changed).expect_err("it is being counted").to_string();
    assert_eq!(refused, "the terms of generation 20000 cannot change: it is being counted under others");
    let incarnation = ledger.incarnation();
    let later = [terms(), vec![(FIRST_DAY + 1, terms_of([8; 16]))]].concat();
    ledger.agree(NETWORK, &later).expect("durable");
    assert_eq!((ledger.incarnation(), seen(&ledger, 1)), (incarnation, 5));
    hands.pass(DAY);
    settle(&ledger);
    see(&ledger, 1, 4);
    tick(&ledger);
    assert_eq!(seen(&ledger, 1), 9);
    let key = SipKey::new([8; 16]);
    let today = ledger.own_cells(FIRST_DAY + 1, |own, _| own.fingerprint()).expect("shared");
    assert_eq!(today, key.fingerprint());
    let copy = killed(folder.path());
    let again = open(copy.path(), &hands);
    assert_eq!((again.incarnation(), seen(&again, 1)), (incarnation, 9));
    assert_eq!(again.shared_generations(), ledger.shared_generations());
}

/// Without terms a shared life counts privately; when the network says its terms, that takes a new life.
#[test]
fn terms_for_a_generation_that_had_none_begin_a_new_life() {
    let (folder, hands, ledger) = begun();
    ledger.agree(NETWORK, &[]).expect("durable");
    see(&ledger, 1, 5);
    tick(&ledger);
    let first = ledger.incarnation();
    assert_eq!((ledger.shared_generations(), ledger.network()), (vec![], Some(NETWORK)));
    ledger.agree(NETWORK, &terms()).expect("durable");
    assert!(ledger.incarnation() > first);
    see(&ledger, 1, 1);
    tick(&ledger);
    assert_eq!((seen(&ledger, 1), ledger.shared_generations()), (6, vec![(FIRST_DAY, 1)]));
    let (mut once, case) = (ledger.empty_cells(FIRST_DAY).expect("shared"), exact(1));
    once.insert(SipKey::new(KEY).hash(&case.iter().next().expect("a signature")));
    assert!(is_same(&followed(&ledger, FIRST_DAY).0, &once), "others are told of nothing before");
    assert!(ledger.frozen_cells().expect("copies").is_empty(), "they were counted privately");
    assert_eq!(seen(&open(killed(folder.path()).path(), &hands), 1), 6);
}

#[test]
fn who_leaves_keeps_the_counts_and_tells_nobody_any_more() {
    let (folder, hands, ledger) = begun();
    ledger.leave().expect("nothing to leave");
    ledger.agree(NETWORK, &terms()).expect("durable");
    see(&ledger, 1, 5);
    ledger.leave().expect("durable");
    assert_eq!((ledger.network(), ledger.lives(), ledger.shared_generations()), (None, vec![], vec![]));
    see(&ledger, 1, 2);
    assert_eq!(seen(&ledger, 1), 7);
    assert!(ledger.frozen_cells().expect("copies").is_empty());
    ledger.agree(OTHER_NETWORK, &[(0, terms_of([9; 16]))]).expect("durable");
    see(&ledger, 1, 1);
    assert!(ledger.frozen_cells().expect("copies").is_empty(), "the first network's are not the second's");
    tick(&ledger);
    let copy = killed(folder.path());
    drop(ledger);
    for folder in [folder.path(), copy.path()] {
        let again = open(folder, &hands);
        assert_eq!((seen(&again, 1), again.frozen_cells().expect("copies").len()), (8, 0));
    }
    hands.pass(3 * DAY);
    let again = open(folder.path(), &hands);
    tick(&again);
    assert_eq!(seen(&again, 1), 0, "all of it is too old");
}

/// What is seen while lives end and begin is in one of them.
#[test]
fn nothing_is_lost_between_two_lives() {
    const THREADS: u64 = 2;
    let (folder, hands, ledger) = begun();
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
        ledger.agree(NETWORK, &terms()).expect("durable");
        for _ in 0..5 {
            ledger.renew(u64::MAX).expect("durable");
        }
        ledger.leave().expect("durable");
        is_over.store(true, SeqCst);
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let counts: Vec<u64> = (0..THREADS).map(|thread| seen(&ledger, thread)).collect();
    assert_eq!(counts, seen_by);
    drop(ledger);
    let again = open(folder.path(), &hands);
    assert_eq!((0..THREADS).map(|thread| seen(&again, thread)).collect::<Vec<_>>(), seen_by);
}

/// Without snapshots nobody knows the deltas that were forgotten because snapshots had them. To go on would give their
/// numbers to other deltas.
#[test]
fn a_life_whose_deltas_are_missing_is_not_gone_on_with() {
    let (folder, hands, ledger) = begun();
    ledger.agree(NETWORK, &terms()).expect("durable");
    for _ in 0..3 {
        see(&ledger, 1, 1);
        settle(&ledger);
    }
    let (sequence, incarnation) = (ledger.shared_generations()[0].1, ledger.incarnation());
    assert!(sequence >= 3);
    let gains_after = |sequence| ledger.gains(FIRST_DAY, sequence, 1000).expect("readable").len();
    until("both snapshots have them", || gains_after(0) == 0);
    assert!(ledger.gains(FIRST_DAY, sequence, 1000).expect("readable").is_empty());
    let copy = killed(folder.path());
    std::fs::remove_file(copy.path().join("snapshot")).expect("there");
    let again = open(copy.path(), &hands);
    assert_eq!((again.incarnation(), seen(&again, 1)), (incarnation, 3), "one snapshot is enough");
    drop(again);
    for kept in [1, 0] {
        until("those that both snapshots have go", || gains_after(sequence - 1) == kept);
        let copy = killed(folder.path());
        for name in ["snapshot", "snapshot.previous"] {
            std::fs::remove_file(copy.path().join(name)).expect("there");
        }
        let again = open(copy.path(), &hands);
        assert!(again.incarnation() > incarnation, "{kept} kept");
        let recovery = again.stats().recovery;
        assert!(recovery.iter().any(|line| line.contains("seen counts are not complete")), "{recovery:?}");
        assert_eq!((again.network(), again.shared_generations()), (Some(NETWORK), vec![(FIRST_DAY, 0)]));
        let renewed = again.incarnation();
        drop(again);
        assert_eq!(open(copy.path(), &hands).incarnation(), renewed, "once is enough");
        settle(&ledger);
    }
}

/// Cells of a life that the identity knows nothing of count as frozen ones, and are told to nobody.
#[test]
fn an_older_copy_of_the_identity_begins_a_new_life() {
    let (folder, hands, ledger) = begun();
    let older = std::fs::read(folder.path().join("identity.json")).expect("readable");
    see(&ledger, 1, 5);
    ledger.renew(u64::MAX).expect("durable");
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

/// Anything in any order: a count is never below the truth, and what a kill leaves says the same.
#[test]
fn counts_are_never_below_the_truth_whatever_happens() {
    const KEYS: u64 = 40;
    for seed in 0..3 {
        let (mut folder, hands, mut ledger) = begun();
        let (mut rng, mut truth) = (SplitMix(seed), [[0u64; KEYS as usize]; 3]);
        for step in 0..40 {
            for _ in 0..20 {
                let (number, recipients) = (rng.below(KEYS), 1 + rng.below(12));
                see(&ledger, number, recipients);
                truth[0][number as usize] += recipients;
            }
            match rng.below(9) {
                0 => ledger.agree(NETWORK, &terms()).expect("durable"),
                1 => ledger.agree(OTHER_NETWORK, &[(0, terms_of([9; 16]))]).expect("durable"),
                2 => ledger.leave().expect("durable"),
                3 | 4 => ledger.renew(u64::MAX).expect("durable"),
                5 => settle(&ledger),
                6 => {
                    hands.pass(DAY);
                    settle(&ledger);
                    truth = [[0; KEYS as usize], truth[0], truth[1]];
                }
                7 => {
                    drop(ledger);
                    ledger = open(folder.path(), &hands);
                }
                _ => {
                    tick(&ledger);
                    let copy = killed(folder.path());
                    drop(ledger);
                    folder = copy;
                    ledger = open(folder.path(), &hands);
                    let recovery = ledger.stats().recovery;
                    let is_whole = !recovery.iter().any(|line| line.contains("not complete"));
                    assert!(is_whole, "seed {seed}, step {step}: {recovery:?}");
                }
            }
            for number in 0..KEYS {
                let true_count: u64 = truth.iter().map(|day| day[number as usize]).sum();
                let count = seen(&ledger, number);
                assert_eq!(count, true_count, "seed {seed}, step {step}, key {number}");
            }
        }
    }
}
