//! Labels: flags that mean neither spam nor ham here, and which flag of several that mean spam was meant.
//!
//! A label is a signature of its own, the flag and the digest, so that it is counted, weighed, aged and taken back as
//! all others are, and adds nothing to any verdict. Beside it stands the label 0, which no client gives: a digest
//! without it has no label, and one look tells.

use seenit_ledger::signature::Case;
use seenit_signature::Kind;

use crate::clients::desk::{Desk, case_of};

const DIGEST_BYTES: usize = 64;

/// The label of every digest that has any.
const ANY: u8 = 0;

/// A flag, and how often it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) flag: u8,
    pub(super) value: u32,
}

/// The labels of a digest that those who gave them have weight enough for.
pub(super) fn of_digest(desk: &Desk, digest: &[u8; DIGEST_BYTES]) -> impl Iterator<Item = Label> {
    let known = |flag| desk.look_up(Kind::RspamdLabel, &signature(flag, digest));
    let last = if known(ANY).raw > 0 { u8::MAX } else { ANY };
    (ANY + 1..=last).filter_map(move |flag| {
        let label = known(flag);
        let config = &desk.state.config.ledger;
        let is_listed = config.outweighs(Kind::RspamdLabel, label.weight.into(), label.against.into());
        is_listed.then(|| Label { flag, value: label.raw.into() })
    })
}

/// The cases that give a digest a label, so many times.
pub(super) fn given(flag: u8, digest: &[u8; DIGEST_BYTES], times: usize) -> Option<Vec<Case>> {
    let (label, any) = (taken(flag, digest)?, taken(ANY, digest)?);
    Some(std::iter::repeat_n(label, times).chain([any]).collect())
}

/// The case that takes a label away. Label 0 stays: others may be there.
pub(super) fn taken(flag: u8, digest: &[u8; DIGEST_BYTES]) -> Option<Case> {
    case_of(Kind::RspamdLabel, &signature(flag, digest))
}

fn signature(flag: u8, digest: &[u8; DIGEST_BYTES]) -> [u8; 1 + DIGEST_BYTES] {
    let mut bytes = [flag; 1 + DIGEST_BYTES];
    bytes[1..].copy_from_slice(digest);
    bytes
}
