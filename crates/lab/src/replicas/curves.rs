//! One pass over the mail: each message is judged first, then learnt; and what each threshold would have caught.

use rayon::prelude::*;
use seenit_signature::near::SHINGLES;

use super::mail::{Arrival, Mail};
use super::memory::{Evidence, Geometry, Memory, RULES};
use super::tamper::Tamper;
use crate::bench::LabError;

/// The shares of the ham that somebody says is good.
pub(super) const HAM_LEARNT: [f64; 4] = [0.0, 0.01, 0.1, 1.0];

/// Where all of the ham is learnt.
pub(super) const ALL_HAM: usize = 3;

/// Spam caught and ham hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hits {
    pub(super) spam: u64,
    pub(super) ham: u64,
}

impl Hits {
    pub(super) fn count(&mut self, is_spam: bool, is_hit: bool) {
        *(if is_spam { &mut self.spam } else { &mut self.ham }) += u64::from(is_hit);
    }
}

/// The evidence of each message on its arrival, `None` where `near1` is withheld.
pub(super) type Pass = Vec<Option<Evidence>>;

/// Judges and learns all mail, and what somebody slips in.
pub(super) fn pass(
    mails: &[Mail],
    arrival: &Arrival,
    (ham_learnt, tamper): (f64, &Tamper),
    (geometry, seed): (&Geometry, u64),
) -> Result<Pass, LabError> {
    let mut memory = Memory::new(geometry, seed)?;
    tamper.before.iter().for_each(|(shingles, is_spam)| memory.learn(shingles, *is_spam));
    let mut evidence = vec![None; mails.len()];
    let mut is_forged = false;
    for &number in &arrival.order {
        let mail = &mails[number];
        let Some(shingles) = tamper.shingles(number, mail) else { continue };
        evidence[number] = Some(memory.judge(shingles));
        if mail.is_spam || arrival.is_known(number, ham_learnt) {
            memory.learn(shingles, mail.is_spam && !tamper.called_ham.contains(&number));
        }
        if let Some(forged) = tamper.forged_by(number, is_forged) {
            memory.learn(forged, false);
            is_forged = true;
        }
    }
    Ok(evidence)
}

/// A pass for each share of the ham.
pub(super) fn passes(
    mails: &[Mail],
    arrival: &Arrival,
    with: (&Geometry, u64),
) -> Result<Vec<Pass>, LabError> {
    HAM_LEARNT.par_iter().map(|&share| pass(mails, arrival, (share, &Tamper::default()), with)).collect()
}

/// What a rule catches from 1, 2, ... 32 shingles on.
pub(super) fn curve(mails: &[Mail], pass: &Pass, rule: usize) -> [Hits; SHINGLES] {
    let mut curve = [Hits::default(); SHINGLES];
    for (mail, evidence) in mails.iter().zip(pass) {
        let matched = evidence.map_or(0, |evidence| evidence[rule]) as usize;
        curve[..matched].iter_mut().for_each(|hits| hits.count(mail.is_spam, true));
    }
    curve
}

/// All curves: by share of the ham, then by rule.
pub(super) type Curves = Vec<[[Hits; SHINGLES]; RULES.len()]>;

/// The curves of all passes.
pub(super) fn curves(mails: &[Mail], passes: &[Pass]) -> Curves {
    passes.iter().map(|pass| std::array::from_fn(|rule| curve(mails, pass, rule))).collect()
}
