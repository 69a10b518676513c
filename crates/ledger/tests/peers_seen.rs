//! What other sites saw: the peer sum, its caps, bases, and what takes it away again; with both structures.

mod common;

use std::collections::BTreeMap;

use common::sites::*;
use common::*;
use proptest::prelude::*;
use seenit_filter::random::SplitMix;
use seenit_ledger::{Answer, Ledger, LedgerConfig, Structure, Verdict};
use seenit_link::store::{Base, LinkBatch, PeerSite, Read, ReadDone, Store};
use seenit_sites::number::Sequence;

fn in_network(
    config: LedgerConfig,
    peers: &[PeerSite],
) -> (tempfile::TempDir, std::sync::Arc<Hands>, Ledger) {
    let (folder, hands, ledger) = begun_with(config);
    agree(&ledger, terms(1, KEY)).expect("durable");
    ledger.set_peers(peers).expect("durable");
    (folder, hands, ledger)
}

#[test]
fn a_peer_counts_up_to_its_cap_and_beside_own_counts() {
    for structure in Structure::ALL {
        let (folder, hands, ledger) = in_network(with(structure), &[peer(1, 5, 5, 20), peer(2, 5, 5, 7)]);
        see(&ledger, 1, 2);
        tell(&ledger, heard_sightings(1, FIRST_DAY, 0, vec![delta(KEY, &[(1, 15, 15)])]));
        assert_eq!(seen(&ledger, 1), 17);
        tell(&ledger, heard_sightings(1, FIRST_DAY, 1, vec![delta(KEY, &[(1, 15, 30)])]));
        assert_eq!(seen(&ledger, 1), 22, "its cap is 20");
        tell(&ledger, heard_sightings(2, FIRST_DAY, 0, vec![delta(KEY, &[(1, 100, 100), (2, 1, 1)])]));
        assert_eq!((seen(&ledger, 1), seen(&ledger, 2)), (29, 1));
        tell(&ledger, heard_sightings(1, FIRST_DAY - 5, 0, vec![delta(KEY, &[(1, 5, 5)])]));
        assert_eq!(seen(&ledger, 1), 29, "too old to count");
        drop(ledger);
        assert_eq!(seen(&open_with(folder.path(), &hands, with(structure)), 1), 29);
    }
}

/// The rule needs no copy of a peer's counts; a naive one has it.
#[test]
fn capped_sums_are_those_of_a_naive_count_in_any_order_of_sites() {
    const CAPS: [u64; 3] = [3, 20, 1_000_000];
    for structure in Structure::ALL {
        let peers: Vec<PeerSite> = (1..).zip(CAPS).map(|(slot, cap)| peer(slot, 5, 5, cap)).collect();
        let (folder, hands, ledger) = in_network(with(structure), &peers);
        let (mut rng, mut truth) = (SplitMix(7), BTreeMap::<(u16, u64), u64>::new());
        let mut sequences = [0; 4];
        for _ in 0..200 {
            let slot = 1 + rng.below(3) as u16;
            let mut said = BTreeMap::new();
            for _ in 0..rng.below(5) + 1 {
                let (number, increment) = (rng.below(20), 1 + rng.below(4));
                let count = truth.entry((slot, number)).or_default();
                *count += increment;
                let one: &mut (u64, u64) = said.entry(number).or_default();
                *one = (one.0 + increment, *count);
            }
            let said: Vec<_> =
                said.into_iter().map(|(number, (more, count))| (number, more, count)).collect();
            let sequence = &mut sequences[usize::from(slot)];
            tell(&ledger, heard_sightings(slot, FIRST_DAY, *sequence, vec![delta(KEY, &said)]));
            *sequence += 1;
        }
        let sums = |caps: &[u64; 3], number: u64| -> u64 {
            let of = |slot: u16| truth.get(&(slot, number)).copied().unwrap_or(0);
            (1..).zip(caps).map(|(slot, cap)| of(slot).min(*cap)).sum()
        };
        let check = |ledger: &Ledger, caps: &[u64; 3], when: &str| {
            for number in 0..20 {
                assert_eq!(seen(ledger, number), sums(caps, number), "{structure} {when}: {number}");
            }
        };
        check(&ledger, &CAPS, "while running");
        // Caps change, and a site is removed: as if it had always been so.
        ledger.set_peers(&[peer(1, 5, 5, 9), peer(3, 5, 5, 50)]).expect("durable");
        check(&ledger, &[9, 0, 50], "with other caps");
        drop(ledger);
        let ledger = open_with(folder.path(), &hands, with(structure));
        check(&ledger, &[9, 0, 50], "after a restart");
        ledger.set_peers(&[]).expect("durable");
        check(&ledger, &[0; 3], "without peers");
    }
}

#[test]
fn a_base_takes_the_place_of_what_is_held_and_counts_once() {
    let (folder, hands, ledger) = in_network(config(), &[peer(1, 5, 5, 20)]);
    let stream = stream_of(1, sightings_in(FIRST_DAY));
    let base = |sequence: u64, said: &[(u64, u64, u64)]| {
        let base = Base { stream, sequence: Sequence(sequence), blocks: vec![delta(KEY, said)] };
        ledger.commit(LinkBatch { bases: vec![base], ..LinkBatch::default() }).expect("durable");
    };
    base(3, &[(1, 6, 6), (2, 2, 2)]);
    tell(&ledger, heard_sightings(1, FIRST_DAY, 3, vec![delta(KEY, &[(1, 1, 7)])]));
    assert_eq!((seen(&ledger, 1), seen(&ledger, 2)), (7, 2));
    base(9, &[(1, 9, 9), (2, 2, 2), (3, 1, 1)]);
    assert_eq!([1, 2, 3].map(|number| seen(&ledger, number)), [9, 2, 1]);
    let read = Read::Held { stream, after: Sequence(0), messages_max: 9 };
    assert!(matches!(ledger.read(&read).expect("readable"), ReadDone::Held(messages) if messages.is_empty()));
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!([1, 2, 3].map(|number| seen(&ledger, number)), [9, 2, 1]);
}

/// Messages are added up when they are many. A site that says less than before is found out then.
#[test]
fn a_site_that_contradicts_itself_is_found_out_and_counts_up_to_its_cap_again() {
    let large = LedgerConfig { peers_capacity: 1_000_000, ..config() };
    let (folder, hands, ledger) = in_network(large.clone(), &[peer(1, 5, 5, 20)]);
    // Each time it says that it begins: without a copy of its counts nobody can tell.
    for sequence in 0..5 {
        tell(&ledger, heard_sightings(1, FIRST_DAY, sequence, vec![delta(KEY, &[(1, 15, 15)])]));
    }
    assert_eq!(seen(&ledger, 1), 75);
    // Much else makes its messages many.
    let mut at = 5;
    while ledger.own().alarms.is_empty() && at < 60 {
        let said: Vec<_> = (0..5000).map(|number| (1000 * at + number, 1, 1)).collect();
        tell(&ledger, heard_sightings(1, FIRST_DAY, at, vec![delta(KEY, &said); 2]));
        at += 2;
        tick(&ledger);
    }
    until("it is found out", || !ledger.own().alarms.is_empty());
    let alarms = ledger.own().alarms;
    assert!(alarms[0].contains("site site1 contradicted itself in its sightings"), "{alarms:?}");
    until("exact sums count", || {
        tick(&ledger);
        seen(&ledger, 1) == 20
    });
    drop(ledger);
    assert_eq!(seen(&open_with(folder.path(), &hands, large), 1), 20);
}

/// Found in a real network: a message was bulk, and its signatures, asked one by one, were not.
#[test]
fn what_others_saw_makes_a_message_bulk_and_each_of_its_signatures_as_well() {
    let (_folder, _hands, ledger) = in_network(config(), &[peer(1, 5, 5, 50), peer(2, 5, 5, 50)]);
    for slot in [1, 2] {
        tell(&ledger, heard_sightings(slot, FIRST_DAY, 0, vec![delta(KEY, &[(1, 10, 10)])]));
    }
    let (case, mut answers) = (exact(1), [Answer::default()]);
    ledger.check_many(&[case.iter().next().expect("one")], &mut answers);
    assert_eq!((ledger.check(&case).verdict, answers[0].verdict), (Verdict::Bulk, Verdict::Bulk));
}

#[test]
fn another_network_forgets_what_the_peers_of_the_first_saw() {
    let (_folder, _hands, ledger) = in_network(config(), &[peer(1, 5, 5, 50)]);
    see(&ledger, 1, 2);
    tell(&ledger, heard_sightings(1, FIRST_DAY, 0, vec![delta(KEY, &[(1, 10, 10)])]));
    renew(&ledger, u64::MAX, &[]);
    assert_eq!(seen(&ledger, 1), 12, "a new incarnation of the same network does not");
    ledger.set_peers(&[]).expect("durable");
    agree(&ledger, terms(2, OTHER_KEY)).expect("durable");
    assert_eq!(seen(&ledger, 1), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes that are no delta say nothing, and stop nobody.
    #[test]
    fn sightings_that_cannot_be_read_count_for_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let (folder, hands, ledger) = in_network(config(), &[peer(1, 5, 5, 50)]);
        let items = vec![bytes, delta(KEY, &[(1, 10, 10)])];
        tell(&ledger, heard_sightings(1, FIRST_DAY, 0, items));
        prop_assert_eq!(seen(&ledger, 1), 10);
        drop(ledger);
        prop_assert_eq!(seen(&open(folder.path(), &hands), 1), 10);
    }
}

/// A small site in a large network remembers of others what it chose to.
#[test]
fn the_peer_sum_holds_as_much_as_it_was_made_for_and_says_what_it_leaves_out() {
    for structure in Structure::ALL {
        let small = LedgerConfig { peers_capacity: 1000, ..with(structure) };
        let (folder, hands, ledger) = in_network(small.clone(), &[peer(1, 5, 5, 50)]);
        let said: Vec<_> = (0..3000).map(|number| (number, 2, 2)).collect();
        tell(&ledger, heard_sightings(1, FIRST_DAY, 0, vec![delta(KEY, &said)]));
        let known = |ledger: &Ledger| (0..3000).filter(|number| seen(ledger, *number) > 0).count();
        assert!((990..=1010).contains(&known(&ledger)), "{structure}: {}", known(&ledger));
        let alarms = ledger.stats().alarms;
        assert!(alarms.iter().any(|alarm| alarm.contains("`peers_capacity`")), "{alarms:?}");
        see(&ledger, 2999, 1);
        assert!(seen(&ledger, 2999) >= 1, "own counts have room of their own");
        drop(ledger);
        // All of it is in the log.
        let larger = LedgerConfig { peers_capacity: 5000, ..small };
        assert_eq!(known(&open_with(folder.path(), &hands, larger)), 3000);
    }
}
