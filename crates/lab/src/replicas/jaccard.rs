//! How well shingles tell which messages are alike: against the Jaccard index of their 3-grams, pair by pair.
//!
//! Every pair that shares a 3-gram is counted, through an inverted index; the others are alike in nothing.

use std::collections::HashMap;

use rayon::prelude::*;
use seenit_signature::near::SHINGLES;

use super::mail::Mail;

/// What counts as alike.
pub(super) const ALIKE: [f64; 2] = [0.5, 0.8];

/// How the estimate fared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    /// The Jaccard index from which two messages are alike.
    pub(super) jaccard: f64,
    /// The shared shingles from which they are taken to be: this part of all.
    pub(super) shingles: u32,
    /// Pairs that are alike.
    pub(super) alike: u64,
    /// Pairs that are taken to be.
    pub(super) taken: u64,
    /// Pairs that are both.
    pub(super) both: u64,
}

impl Estimate {
    pub(super) fn precision(&self) -> f64 {
        self.both as f64 / self.taken.max(1) as f64
    }

    pub(super) fn recall(&self) -> f64 {
        self.both as f64 / self.alike.max(1) as f64
    }

    fn add(self, other: Estimate) -> Estimate {
        Estimate {
            alike: self.alike + other.alike,
            taken: self.taken + other.taken,
            both: self.both + other.both,
            ..self
        }
    }
}

/// The estimate at each of [`ALIKE`], over all pairs of messages that have shingles.
pub(super) fn all(mails: &[Mail]) -> [Estimate; ALIKE.len()] {
    let mails: Vec<&Mail> = mails.iter().filter(|mail| mail.shingles.is_some()).collect();
    let mut index: HashMap<u64, Vec<u32>> = HashMap::new();
    for (number, mail) in mails.iter().enumerate() {
        mail.grams.iter().for_each(|&gram| index.entry(gram).or_default().push(number as u32));
    }
    let none = ALIKE.map(|jaccard| Estimate {
        jaccard,
        shingles: (jaccard * SHINGLES as f64).ceil() as u32,
        ..Estimate::default()
    });
    let add = |a: [Estimate; 2], b: [Estimate; 2]| [a[0].add(b[0]), a[1].add(b[1])];
    let of = |number: usize| {
        let mut common: HashMap<u32, usize> = HashMap::new();
        for gram in &mails[number].grams {
            let earlier = index[gram].iter().take_while(|&&other| (other as usize) < number);
            earlier.for_each(|&other| *common.entry(other).or_default() += 1);
        }
        let pairs = common
            .into_iter()
            .map(|(other, common)| pair(mails[number], mails[other as usize], common, none));
        pairs.fold(none, add)
    };
    (0..mails.len()).into_par_iter().map(of).reduce(|| none, add)
}

fn pair(a: &Mail, b: &Mail, common: usize, none: [Estimate; 2]) -> [Estimate; 2] {
    let jaccard = common as f64 / (a.grams.len() + b.grams.len() - common) as f64;
    let (Some(a), Some(b)) = (&a.shingles, &b.shingles) else { return none };
    let shared = a.iter().zip(b).filter(|(a, b)| a == b).count() as u32;
    none.map(|estimate| {
        let alike = jaccard >= estimate.jaccard;
        let taken = shared >= estimate.shingles;
        Estimate {
            alike: u64::from(alike),
            taken: u64::from(taken),
            both: u64::from(alike && taken),
            ..estimate
        }
    })
}
