//! Kinds as they are: what is caught after so many sightings of one and the same signature.
//!
//! For every kind but `near1` a message is caught when one of its signatures was seen in spam so often; what is known
//! to be good does not matter. `near1` is judged by the rule that ships, all ham learnt: 17 shingles that match and
//! that were each seen in spam so often.

use std::collections::HashMap;

use rayon::prelude::*;
use seenit_signature::Kind;

use super::curves::Hits;
use super::mail::{Arrival, Mail};
use super::memory::{DEFAULT_THRESHOLD, Geometry, Product};
use crate::bench::LabError;

/// Earlier sightings that are asked for.
pub(super) const SIGHTINGS: [u32; 5] = [1, 2, 5, 10, 20];

/// Kinds that say that a message, or a part of it, is the same as another: not where its links lead, not shingles.
pub(super) const EXACT_TYPE: [Kind; 7] =
    [Kind::Exact1, Kind::Part1, Kind::Pyzor, Kind::RazorE4, Kind::DccBody, Kind::DccFuz1, Kind::Rspamd];

/// What a kind catches after each of [`SIGHTINGS`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KindHits {
    pub(super) kind: Kind,
    pub(super) hits: [Hits; SIGHTINGS.len()],
}

/// All kinds.
pub(super) fn all(
    mails: &[Mail],
    arrival: &Arrival,
    with: (&Geometry, u64),
) -> Result<Vec<KindHits>, LabError> {
    let hits = |&kind: &Kind| {
        let hits =
            if kind == Kind::Near1 { near(mails, arrival, with)? } else { plain(mails, arrival, kind) };
        Ok(KindHits { kind, hits })
    };
    // What only the clients of DCC and of rspamd can make is in no message here.
    let is_made = |kind: &&Kind| !matches!(kind, Kind::DccFuz2 | Kind::RspamdNear | Kind::RspamdLabel);
    Kind::ALL.par_iter().filter(is_made).map(hits).collect()
}

fn plain(mails: &[Mail], arrival: &Arrival, kind: Kind) -> [Hits; SIGHTINGS.len()] {
    let mut hits = [Hits::default(); SIGHTINGS.len()];
    let mut seen: HashMap<u64, u32> = HashMap::new();
    for &number in &arrival.order {
        let mail = &mails[number];
        let own = || mail.signatures.iter().filter(|(of, _)| *of == kind).map(|(_, digest)| *digest);
        let most = own().filter_map(|digest| seen.get(&digest)).max().copied().unwrap_or(0);
        for (hits, sightings) in hits.iter_mut().zip(SIGHTINGS) {
            hits.count(mail.is_spam, most >= sightings);
        }
        if mail.is_spam {
            own().for_each(|digest| *seen.entry(digest).or_default() += 1);
        }
    }
    hits
}

fn near(
    mails: &[Mail],
    arrival: &Arrival,
    (geometry, seed): (&Geometry, u64),
) -> Result<[Hits; SIGHTINGS.len()], LabError> {
    let mut hits = [Hits::default(); SIGHTINGS.len()];
    let mut product = Product::new(geometry, seed)?;
    for &number in &arrival.order {
        let mail = &mails[number];
        let Some(shingles) = &mail.shingles else { continue };
        let findings = product.explain(shingles);
        for (hits, sightings) in hits.iter_mut().zip(SIGHTINGS) {
            let enough = findings.iter().filter(|one| one.matched && one.spam.value >= u64::from(sightings));
            hits.count(mail.is_spam, enough.count() as u32 >= DEFAULT_THRESHOLD);
        }
        product.learn(shingles, mail.is_spam);
    }
    Ok(hits)
}
