//! Labels: flags that mean neither spam nor ham here, and which flag of several that mean spam was meant.
//!
//! A label is a signature of its own, the flag and the digest, so that it is counted, weighed, aged and taken back as
//! all others are, and adds nothing to any verdict. Beside it stands the label 0, which no client gives: a digest
//! without it has no label, and one look tells.

use std::array;

use seenit_ledger::signature::{Case, HEAD_BYTES, SignatureRef};
use seenit_ledger::verdict::Answer;
use seenit_signature::Kind;

use crate::clients::desk::{Desk, case_of};

const DIGEST_BYTES: usize = 64;

/// The label of every digest that has any.
const ANY: u8 = 0;

/// Labels that are looked up at once: all of them in four strides, and little of the stack.
const TOGETHER: usize = 64;

/// A flag, and how often it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) flag: u8,
    pub(super) value: u32,
}

/// Hears of the labels of a digest that those who gave them have weight enough for.
pub(super) fn each_listed(desk: &Desk, digest: &[u8; DIGEST_BYTES], mut hear: impl FnMut(Label)) {
    let config = &desk.backend.config.ledger;
    let is_listed =
        |known: &Answer| config.outweighs(config.quorum, known.weight.into(), known.against.into());
    // Whoever may not list a label cannot make its digest dear to look up, either.
    if is_listed(&desk.look_up(Kind::RspamdLabel, &signature(ANY, digest))) {
        each(desk, digest, |flag, known| {
            if is_listed(known) {
                hear(Label { flag, value: known.raw.into() });
            }
        });
    }
}

/// The cases that give a digest a label, so many times.
pub(super) fn given(flag: u8, digest: &[u8; DIGEST_BYTES], times: usize) -> Option<Vec<Case>> {
    let label = taken(flag, digest)?;
    let any = taken(ANY, digest)?;
    Some(std::iter::repeat_n(label, times).chain([any]).collect())
}

/// The case that takes a label away. Label 0 stays: others may be there.
pub(super) fn taken(flag: u8, digest: &[u8; DIGEST_BYTES]) -> Option<Case> {
    case_of(Kind::RspamdLabel, &signature(flag, digest))
}

/// The cases that take all labels of a digest away.
pub(super) fn all_taken(desk: &Desk, digest: &[u8; DIGEST_BYTES]) -> Vec<Case> {
    let mut cases = Vec::new();
    if desk.look_up(Kind::RspamdLabel, &signature(ANY, digest)).raw > 0 {
        cases.extend(taken(ANY, digest));
        each(desk, digest, |flag, known| {
            if known.raw > 0 {
                cases.extend(taken(flag, digest));
            }
        });
    }
    cases
}

/// Looks up every label that a digest may have.
fn each(desk: &Desk, digest: &[u8; DIGEST_BYTES], mut hear: impl FnMut(u8, &Answer)) {
    for first in (0..=u8::MAX).step_by(TOGETHER) {
        let flag = |place: usize| first + place as u8;
        let places: [[u8; HEAD_BYTES + 1 + DIGEST_BYTES]; TOGETHER] = array::from_fn(|place| {
            let mut bytes = [0; HEAD_BYTES + 1 + DIGEST_BYTES];
            bytes[..HEAD_BYTES].copy_from_slice(&[Kind::RspamdLabel.code(), 1 + DIGEST_BYTES as u8, 0]);
            bytes[HEAD_BYTES..].copy_from_slice(&signature(flag(place), digest));
            bytes
        });
        let signatures: [SignatureRef<'_>; TOGETHER] = array::from_fn(|place| {
            SignatureRef::split(&places[place]).expect("a label is as long as its kind says").0
        });
        let mut answers = [Answer::default(); TOGETHER];
        desk.backend.ledger.check_many(&signatures, &mut answers);
        for (place, known) in answers.iter().enumerate().filter(|(place, _)| flag(*place) != ANY) {
            hear(flag(place), known);
        }
    }
}

fn signature(flag: u8, digest: &[u8; DIGEST_BYTES]) -> [u8; 1 + DIGEST_BYTES] {
    let mut bytes = [flag; 1 + DIGEST_BYTES];
    bytes[1..].copy_from_slice(digest);
    bytes
}
