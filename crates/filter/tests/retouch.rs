//! Guards retouching: every algorithm against the pseudo-code written down literally, on small random cases of every
//! layout; what is reported against what can be counted; what is unknown is said to be unknown.

mod common;

use common::{SplitMix, empty, sip};
use proptest::prelude::*;
use seenit_filter::file::{self, FileView};
use seenit_filter::hash::Hash128;
use seenit_filter::retouch::{Algorithm, Known, Plan, Retouched, Weighing};
use seenit_filter::{AnyLayout, Filter, Flat, HugePages, Layout, Line, Paged, RetouchError};

/// A filter and everybody who hits it.
struct Case {
    filter: Filter,
    members: Vec<Hash128>,
    /// All the false positives there are; the first `asked` of them are to be removed.
    positives: Vec<Hash128>,
    asked: usize,
}

impl Case {
    /// `asked` is a share of the false positives.
    fn new(layout: AnyLayout, members: usize, asked: f64, seed: u64) -> Case {
        let mut rng = SplitMix(seed);
        let mut filter = empty(layout, &sip(0));
        let members: Vec<Hash128> = (0..members).map(|_| rng.hash()).collect();
        members.iter().for_each(|&member| filter.insert(member));
        let absent = (0..4000).map(|_| rng.hash()).filter(|&hash| filter.contains(hash));
        let positives: Vec<Hash128> = absent.take(100).collect();
        let asked = (positives.len() as f64 * asked).ceil() as usize;
        Case { filter, members, positives, asked }
    }

    fn known(&self) -> Known<'_> {
        Known { members: Some(&self.members), others: Some(&self.positives[self.asked..]) }
    }

    fn plan(&self, algorithm: Algorithm, weighing: Weighing) -> Plan<'_> {
        Plan { remove: &self.positives[..self.asked], algorithm, weighing, seed: 3, known: self.known() }
    }

    fn retouched(&self, algorithm: Algorithm, weighing: Weighing) -> (Filter, Retouched) {
        let mut filter = copy(&self.filter);
        let report = filter.retouch(&self.plan(algorithm, weighing), |_| ()).expect("all is known");
        (filter, report)
    }
}

fn copy(filter: &Filter) -> Filter {
    let mut copy = empty(*filter.layout(), &sip(0));
    copy.union(filter).expect("of one kind");
    copy
}

fn positions(layout: &AnyLayout, hash: Hash128) -> Vec<usize> {
    (0..layout.probes()).map(|probe| layout.position(hash, probe) as usize).collect()
}

/// A list of elements for each bit, as the paper draws it.
type Lists = Vec<Vec<usize>>;

/// The pseudo-code, as literally as it can be written: a list a bit, ratios of all bits computed anew at each step.
struct Literal {
    v: Vec<bool>,
    v_a: Lists,
    v_b: Lists,
    improved: bool,
}

impl Literal {
    fn lists(layout: &AnyLayout, elements: &[Hash128]) -> Lists {
        let mut lists = vec![Vec::new(); layout.bits() as usize];
        for (element, &hash) in elements.iter().enumerate() {
            positions(layout, hash).into_iter().for_each(|position| lists[position].push(element));
        }
        lists
    }

    fn ratios(&self) -> Vec<f64> {
        let ratio = |i: usize| self.v_a[i].len() as f64 / self.v_b[i].len() as f64;
        (0..self.v.len()).map(|i| if self.v[i] && !self.v_b[i].is_empty() { ratio(i) } else { 0.0 }).collect()
    }

    fn index(&self, algorithm: Algorithm, places: &[usize], ratios: &[f64]) -> usize {
        let better = |i: usize, j: usize| match algorithm {
            Algorithm::MinimumFn | Algorithm::ImprovedMinimumFn => self.v_a[i].len() < self.v_a[j].len(),
            Algorithm::MaximumFp | Algorithm::ImprovedMaximumFp => self.v_b[i].len() > self.v_b[j].len(),
            _ => ratios[i] < ratios[j],
        };
        let mut best = places[0];
        for &place in places {
            if better(place, best) {
                best = place;
            }
        }
        best
    }

    fn clear(&mut self, index: usize) {
        self.v[index] = false;
        for lists in [&mut self.v_a, &mut self.v_b] {
            let lost = std::mem::take(&mut lists[index]);
            if self.improved {
                lists.iter_mut().for_each(|list| list.retain(|element| !lost.contains(element)));
            }
        }
    }

    /// The bits that are left.
    fn run(case: &Case, algorithm: Algorithm, weighing: Weighing) -> Vec<bool> {
        let layout = case.filter.layout();
        let counted = match weighing {
            Weighing::Removed => case.asked,
            Weighing::AllKnown => case.positives.len(),
        };
        let set = |i: usize| case.filter.words()[i / 64] >> (i % 64) & 1 == 1;
        let mut this = Literal {
            v: (0..layout.bits() as usize).map(set).collect(),
            v_a: Self::lists(layout, &case.members),
            v_b: Self::lists(layout, &case.positives[..counted]),
            improved: algorithm.is_improved(),
        };
        let mut ratios = this.ratios();
        for &b in &case.positives[..case.asked] {
            let places = positions(layout, b);
            if places.iter().all(|&place| this.v[place]) {
                let index = this.index(algorithm, &places, &ratios);
                this.clear(index);
                ratios[index] = 0.0;
                if this.improved && algorithm == Algorithm::ImprovedRatio {
                    ratios = this.ratios();
                }
            }
        }
        this.v
    }

    /// What the report must say about `v`.
    fn report(case: &Case, v: &[bool]) -> Retouched {
        let layout = case.filter.layout();
        let gone = |set: &[Hash128]| {
            set.iter().filter(|&&hash| !positions(layout, hash).iter().all(|&place| v[place])).count() as u64
        };
        let (removed, others) = case.positives.split_at(case.asked);
        assert_eq!(gone(removed), removed.len() as u64);
        Retouched {
            bits_cleared: case.filter.fill().ones - v.iter().filter(|&&set| set).count() as u64,
            removed: removed.len() as u64,
            already_absent: 0,
            false_positives: Some(case.positives.len() as u64),
            side_effects: Some(gone(others)),
            members: Some(case.members.len() as u64),
            false_negatives: Some(gone(&case.members)),
        }
    }
}

/// Small and crowded, so that probes coincide, counts tie and elements share several bits.
fn layouts() -> impl Strategy<Value = AnyLayout> {
    prop_oneof![
        5 => (8u64..2000, 1u32..8).prop_map(|(bits, k)| Flat::new(bits, k).expect("in range").any()),
        1 => (1u64..3, 1u32..3, 1u32..5)
            .prop_map(|(w, l, k)| Paged::new(w, l.min(w as u32), k).expect("ok").any()),
        4 => (1u64..6).prop_map(|lines| Line::new(lines).expect("in range").any()),
    ]
}

/// As many members as fill about half of the bits, give or take.
fn crowded(layout: &AnyLayout, load: f64) -> usize {
    (layout.bits() as f64 * load / layout.probes() as f64).ceil() as usize
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn every_algorithm_clears_what_the_pseudo_code_clears(
        layout in layouts(), load in 0.3f64..1.5, asked in 0.0f64..1.0, seed: u64,
    ) {
        let case = Case::new(layout, crowded(&layout, load), asked, seed);
        for algorithm in Algorithm::ALL.into_iter().filter(|&algorithm| algorithm != Algorithm::Random) {
            for weighing in [Weighing::Removed, Weighing::AllKnown] {
                let (filter, report) = case.retouched(algorithm, weighing);
                let v = Literal::run(&case, algorithm, weighing);
                let left = |i: usize| filter.words()[i / 64] >> (i % 64) & 1 == 1;
                let same = (0..v.len()).all(|i| left(i) == v[i]);
                prop_assert!(same, "{algorithm:?} {weighing:?} {layout:?}");
                prop_assert_eq!(report, Literal::report(&case, &v));
            }
        }
    }

    #[test]
    fn whatever_the_algorithm_no_removed_key_hits(layout in layouts(), load in 0.3f64..1.5, seed: u64) {
        let case = Case::new(layout, crowded(&layout, load), 0.5, seed);
        for algorithm in Algorithm::ALL {
            let (filter, report) = case.retouched(algorithm, Weighing::Removed);
            prop_assert!(!case.positives[..case.asked].iter().any(|&hash| filter.contains(hash)));
            prop_assert_eq!(filter.cleared_bits(), report.bits_cleared);
            prop_assert!(report.bits_cleared <= report.removed);
            prop_assert_eq!(filter.fill().ones + report.bits_cleared, case.filter.fill().ones);
        }
    }

    #[test]
    fn random_clearing_clears_as_many_set_bits_as_asked(layout in layouts(), seed: u64, bits in 0u64..3000) {
        let case = Case::new(layout, crowded(&layout, 0.7), 0.0, seed);
        let (mut filter, ones) = (copy(&case.filter), case.filter.fill().ones);
        let report = filter.clear_random(bits, seed, &case.known());
        prop_assert_eq!(report.bits_cleared, bits.min(ones));
        prop_assert_eq!(filter.fill().ones, ones - report.bits_cleared);
        prop_assert!(filter.words().iter().zip(case.filter.words()).all(|(now, before)| now & !before == 0));
        let v: Vec<bool> =
            (0..layout.bits() as usize).map(|i| filter.words()[i / 64] >> (i % 64) & 1 == 1).collect();
        prop_assert_eq!(report, Literal::report(&case, &v));
    }
}

fn case() -> Case {
    Case::new(Flat::new(4000, 4).expect("in range").any(), 700, 0.4, 5)
}

#[test]
fn the_seed_decides_and_nothing_else_does() {
    let case = case();
    let run = |algorithm, seed| {
        let mut filter = copy(&case.filter);
        filter.retouch(&Plan { seed, ..case.plan(algorithm, Weighing::Removed) }, |_| ()).expect("known");
        filter.words().to_vec()
    };
    assert_eq!(run(Algorithm::Random, 1), run(Algorithm::Random, 1));
    assert_ne!(run(Algorithm::Random, 1), run(Algorithm::Random, 2));
    assert_eq!(run(Algorithm::Ratio, 1), run(Algorithm::Ratio, 2));
    let cleared = |seed| {
        let mut filter = copy(&case.filter);
        filter.clear_random(100, seed, &Known::default());
        filter.words().to_vec()
    };
    assert_eq!(cleared(1), cleared(1));
    assert_ne!(cleared(1), cleared(2));
}

#[test]
fn what_is_not_known_is_not_reported_as_zero() {
    let case = case();
    let plan = |algorithm, known| Plan { known, ..case.plan(algorithm, Weighing::Removed) };
    let (members, others) = (Some(&case.members[..]), Some(&case.positives[case.asked..]));
    let run = |plan: Plan<'_>| copy(&case.filter).retouch(&plan, |_| ()).expect("enough is known");

    let nothing = run(plan(Algorithm::ImprovedMaximumFp, Known::default()));
    assert_eq!(nothing.removed, case.asked as u64);
    assert_eq!((nothing.false_positives, nothing.side_effects), (None, None));
    assert_eq!((nothing.members, nothing.false_negatives), (None, None));
    assert_eq!((nothing.false_positives_share(), nothing.false_negatives_share()), (None, None));
    assert_eq!(nothing.chi(), None);

    let some = run(plan(Algorithm::ImprovedRatio, Known { members, others: None }));
    assert!(some.false_negatives.is_some() && some.side_effects.is_none() && some.chi().is_none());
    let some = run(plan(Algorithm::Random, Known { members: None, others }));
    assert!(some.false_negatives.is_none() && some.side_effects.is_some() && some.chi().is_none());
    let all = run(plan(Algorithm::Ratio, Known { members, others }));
    let (gone, lost) = (all.removed + all.side_effects.expect("known"), all.false_negatives.expect("known"));
    let expected = (gone as f64 / case.positives.len() as f64) / (lost as f64 / case.members.len() as f64);
    assert!((all.chi().expect("members were lost") - expected).abs() < 1e-12);

    // Nothing lost: a ratio to nothing is no number.
    let idle = copy(&case.filter).clear_random(0, 1, &Known { members, others });
    assert_eq!((idle.false_negatives, idle.side_effects, idle.chi()), (Some(0), Some(0), None));
}

#[test]
fn plans_that_cannot_be_carried_out_change_nothing() {
    let case = case();
    let others = Some(&case.positives[case.asked..]);
    for algorithm in Algorithm::ALL {
        let mut filter = copy(&case.filter);
        let plan =
            Plan { known: Known { members: None, others }, ..case.plan(algorithm, Weighing::AllKnown) };
        let result = filter.retouch(&plan, |_| ());
        assert_eq!(result.is_err(), algorithm.weighs_members(), "{algorithm:?}");
        if let Err(error) = result {
            assert_eq!(error, RetouchError::NoMembers(algorithm.as_str()));
            assert!(filter.words() == case.filter.words() && filter.cleared_bits() == 0);
        }
        let known = Known { members: Some(&case.members), others: None };
        let result = filter.retouch(&Plan { known, ..case.plan(algorithm, Weighing::AllKnown) }, |_| ());
        assert_eq!(result.is_err(), algorithm.weighs_false_positives(), "{algorithm:?}");
    }
}

/// Keys that do not hit are not removed, and members that were lost earlier are not lost again.
#[test]
fn who_does_not_hit_does_not_count() {
    let case = case();
    let mut filter = copy(&case.filter);
    let mut rng = SplitMix(77);
    let absent: Vec<Hash128> = (0..500).map(|_| rng.hash()).filter(|&hash| !filter.contains(hash)).collect();
    let remove = [&absent[..], &case.positives[..case.asked]].concat();
    let plan = Plan { remove: &remove, ..case.plan(Algorithm::ImprovedRatio, Weighing::AllKnown) };
    let report = filter.retouch(&plan, |_| ()).expect("all is known");
    assert_eq!(report.already_absent, absent.len() as u64);
    assert_eq!(
        report,
        Retouched { already_absent: absent.len() as u64, ..case.retouched(plan.algorithm, plan.weighing).1 }
    );

    let again = filter.retouch(&plan, |_| ()).expect("all is known");
    assert_eq!(again.already_absent, remove.len() as u64);
    assert_eq!((again.removed, again.bits_cleared, again.side_effects), (0, 0, Some(0)));
    assert_eq!(again.false_negatives, Some(0));
    assert_eq!(again.members, Some(700 - report.false_negatives.expect("known")));
    assert_eq!(filter.cleared_bits(), report.bits_cleared, "nothing was cleared the second time");
}

#[test]
fn progress_hears_of_every_element() {
    let case = case();
    let mut heard = 0;
    let plan = case.plan(Algorithm::ImprovedRatio, Weighing::AllKnown);
    copy(&case.filter).retouch(&plan, |more| heard += more).expect("all is known");
    assert_eq!(heard as usize, case.members.len() + case.positives.len() + case.asked);
}

#[test]
fn names_lead_back_to_algorithms() {
    for algorithm in Algorithm::ALL {
        assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
        let error = "best".parse::<Algorithm>().expect_err("no such algorithm").to_string();
        assert!(error.contains("\"best\"") && error.contains(algorithm.as_str()), "{error}");
    }
}

/// A filter that may miss keys says so wherever it goes: copies, unions, threads, files.
#[test]
fn the_number_of_cleared_bits_goes_along() {
    let case = case();
    let (filter, report) = case.retouched(Algorithm::Ratio, Weighing::Removed);
    let cleared = report.bits_cleared;
    assert!(cleared > 0);
    assert_eq!(case.filter.cleared_bits(), 0);

    let mut bytes = Vec::new();
    file::write(&filter, &mut bytes).expect("memory takes any bytes");
    let view = FileView::open(&bytes).expect("sound");
    view.check_all(|_| ()).expect("sound");
    assert_eq!(view.header().cleared_bits, cleared);
    assert_eq!(bytes[112..120], cleared.to_le_bytes());
    let read = view.to_filter(HugePages::Default).expect("memory");
    assert_eq!(read.cleared_bits(), cleared);

    let mut sum = copy(&case.filter);
    sum.union(&read).expect("of one kind");
    assert_eq!(sum.cleared_bits(), cleared);
    sum.union(&read).expect("of one kind");
    assert_eq!(sum.cleared_bits(), 2 * cleared);
}
