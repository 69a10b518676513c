//! Random operations on filters of every layout at every level of kernels, held against the naive model.

use seenit_filter::hash::{Hash128, SipKey};
use seenit_filter::{AnyLayout, Layout, Simd};

use crate::case::{Case, MANY_MAX, Step};
use crate::model::{Model, drawn, positions};
use crate::subject::{Subject, empty, with_bits};

/// Steps of a case that are taken: beyond them a case only gets slower, not stranger.
const STEPS_MAX: usize = 16;

/// The model and one filter for each level of kernels, which all must agree.
struct Run {
    model: Model,
    subjects: Vec<Subject>,
    used: Vec<Hash128>,
    key: SipKey,
}

/// Takes the steps of `case`.
///
/// # Panics
/// When a filter and the model disagree.
pub fn check(case: &Case) {
    let key = SipKey::derive(&[case.secret]);
    let layout = case.geometry.layout();
    let subjects = Simd::all().into_iter().map(|simd| Subject::new(layout, &key, simd)).collect();
    let mut run = Run { model: Model::new(layout), subjects, used: Vec::new(), key };
    for step in case.steps.iter().take(STEPS_MAX) {
        run.step(step);
    }
    run.compare();
}

impl Run {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Insert(pick) => {
                let hash = pick.hash(&self.used);
                self.expect(&[hash]);
                self.subjects.iter_mut().for_each(|subject| subject.insert(hash));
            }
            Step::InsertMany(many) => {
                let hashes = many.hashes(&self.used);
                self.expect(&hashes);
                self.subjects.iter_mut().for_each(|subject| subject.insert_many(&hashes));
            }
            Step::InsertKeys(keys) => self.insert_keys(&keys.keys()),
            Step::Contains(pick) => self.contains(pick.hash(&self.used)),
            Step::ContainsMany(many) => self.contains_many(&many.hashes(&self.used)),
            Step::AllBut { pick, probe } => self.all_but(pick.hash(&self.used), usize::from(*probe)),
            Step::Union(many) => self.union(&many.hashes(&self.used)),
            Step::UnionForeign(geometry) => self.union_foreign(geometry.layout()),
            Step::Save => self.subjects.iter_mut().for_each(Subject::save),
        }
    }

    /// The model learns `hashes`.
    fn expect(&mut self, hashes: &[Hash128]) {
        hashes.iter().for_each(|&hash| self.model.insert(hash));
        self.remember(hashes);
    }

    /// Later steps may refer to `hashes`.
    fn remember(&mut self, hashes: &[Hash128]) {
        self.used.extend_from_slice(hashes);
        // `AllOld` doubles what was used: without a limit a few steps would make a million.
        self.used.truncate(MANY_MAX);
    }

    /// Keys go through the batched hash of the subject's level, and one by one into the model.
    fn insert_keys(&mut self, keys: &[Vec<u8>]) {
        let hashes: Vec<Hash128> = keys.iter().map(|key| self.key.hash_bytes(key)).collect();
        self.expect(&hashes);
        for subject in &mut self.subjects {
            subject.insert_keys(&self.key, keys);
        }
    }

    fn contains(&self, hash: Hash128) {
        let expected = self.model.contains(hash);
        for subject in &self.subjects {
            assert_eq!(subject.contains(hash), expected, "{subject} {hash:?}");
        }
    }

    fn contains_many(&self, hashes: &[Hash128]) {
        let expected: Vec<bool> = hashes.iter().map(|&hash| self.model.contains(hash)).collect();
        for subject in &self.subjects {
            assert_eq!(subject.contains_many(hashes), expected, "{subject} {hashes:?}");
        }
    }

    /// All bits of `hash` but one, which no insert leaves behind: a lookup that forgets a probe now says yes.
    fn all_but(&mut self, hash: Hash128, probe: usize) {
        let layout = self.model.layout();
        let missing = layout.position(hash, probe % layout.probes());
        let others: Vec<u64> = positions(layout, hash).filter(|&at| at != missing).collect();
        others.iter().for_each(|&position| self.model.set(position));
        self.remember(&[hash]);
        let other = with_bits(layout, &self.key, &others);
        for subject in &mut self.subjects {
            subject.union(&other).expect("filters of one kind");
        }
        self.contains(hash);
        self.contains_many(&[hash]);
    }

    /// A second filter of the same kind, with `hashes` in it, is added to each.
    fn union(&mut self, hashes: &[Hash128]) {
        self.expect(hashes);
        let mut other = empty(self.model.layout(), &self.key);
        hashes.iter().for_each(|&hash| other.insert(hash));
        for subject in &mut self.subjects {
            subject.union(&other).expect("filters of one kind");
        }
        self.compare();
    }

    /// A filter of another kind is refused, one of the same kind but empty changes nothing.
    fn union_foreign(&mut self, layout: AnyLayout) {
        let mut other = empty(layout, &self.key);
        let alike = layout == self.model.layout();
        if !alike {
            drawn(0, 8).for_each(|hash| other.insert(hash));
        }
        for subject in &mut self.subjects {
            assert_eq!(subject.union(&other).is_ok(), alike, "{subject} {layout:?}");
        }
        self.compare();
    }

    /// Every bit of every filter is as the model says.
    fn compare(&self) {
        let (words, ones) = (self.model.words(), self.model.ones());
        for subject in &self.subjects {
            subject.compare(words, ones);
        }
    }
}
