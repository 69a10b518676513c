//! Guards the cost of the improved algorithms: steps are counted, not timed. And the limit on what is counted.

use super::*;
use crate::hash::SipKey;
use crate::layout::{AnyLayout, Flat, Line, Paged};
use crate::memory::HugePages;

/// Members, keys to remove that hit, and other absent keys that hit.
fn filled(layout: AnyLayout, members: usize) -> (Filter, [Vec<Hash128>; 3]) {
    let mut rng = SplitMix(11);
    let mut hash = || Hash128 { lo: rng.next(), hi: rng.next() };
    let mut filter =
        Filter::new(layout, None, SipKey::public().fingerprint(), HugePages::Default).expect("small");
    let members: Vec<Hash128> = (0..members).map(|_| hash()).collect();
    members.iter().for_each(|&member| filter.insert(member));
    let mut removed: Vec<Hash128> =
        std::iter::repeat_with(hash).take(200_000).filter(|&hash| filter.contains(hash)).collect();
    let others = removed.split_off(removed.len() / 3);
    (filter, [members, removed, others])
}

/// An element that is lost costs at most its probes twice: once to lower its counts, once to meet it in the lists of
/// bits that are cleared. Neither the size of the filter nor the length of lists comes into it.
#[test]
fn losing_elements_costs_at_most_two_steps_a_probe() {
    for (layout, members) in [
        (Flat::new(40_000, 5).expect("in range").any(), 5000),
        (Flat::new(4_000_000, 2).expect("in range").any(), 200_000),
        (Paged::new(3, 2, 3).expect("in range").any(), 10_000),
        (Line::new(90).expect("in range").any(), 5000),
    ] {
        let (mut filter, [members, removed, others]) = filled(layout, members);
        assert!(removed.len() > 30, "{layout:?}: {}", removed.len());
        let plan = Plan {
            remove: &removed,
            algorithm: Algorithm::ImprovedRatio,
            weighing: Weighing::AllKnown,
            seed: 0,
            known: Known { members: Some(&members), others: Some(&others) },
        };
        let mut index = Index::new(&layout, &removed);
        let mut weights = filter.weights(&plan, &removed, &index, &mut |_| ());
        for &hash in &removed {
            if filter.contains(hash) {
                let position = layout.position(hash, weights.choose(index.slots_of(&layout, hash)));
                weights.cleared(&index, position);
                filter.clear(position);
            }
        }
        for (counts, elements) in [(&weights.members, &members), (&weights.false_positives, &removed)] {
            let lists = counts.lists.as_ref().expect("improved algorithms have lists");
            let least = if std::ptr::eq(elements, &removed) { removed.len() as u64 } else { 1 };
            assert!(lists.lost() >= least, "{layout:?}: {} lost", lists.lost());
            let most = 2 * layout.probes() as u64 * lists.lost();
            assert!(lists.work <= most, "{layout:?}: {} steps, not {most}", lists.work);
        }
    }
}

/// Members that share no bit with a key to remove take no memory.
#[test]
fn only_who_shares_a_bit_is_recorded() {
    let (filter, [members, removed, _]) = filled(Flat::new(1 << 20, 2).expect("in range").any(), 50_000);
    let removed = &removed[..100];
    let plan = Plan {
        remove: removed,
        algorithm: Algorithm::ImprovedMinimumFn,
        weighing: Weighing::Removed,
        seed: 0,
        known: Known { members: Some(&members), others: None },
    };
    let index = Index::new(filter.layout(), removed);
    let weights = filter.weights(&plan, removed, &index, &mut |_| ());
    assert!(weights.false_positives.lists.is_none(), "nobody weighs them");
    let recorded = weights.members.lists.expect("improved").elements_recorded();
    assert!((100..400).contains(&recorded), "{recorded} of {} members", members.len());
}

/// Counts and numbers of 32 bits must not wrap.
#[test]
fn sets_too_large_to_count_are_refused() {
    assert_eq!(check_size(536_870_911, 8), Ok(()));
    let error = check_size(536_870_912, 8).expect_err("2^32 pairs");
    assert_eq!(error, RetouchError::TooMany { elements: 536_870_912, limit: 536_870_911 });
    assert!(error.to_string().starts_with("536870912 elements"), "{error}");
}
