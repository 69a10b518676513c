//! One hash key of a generation, and what is counted under it: what this site saw, and the peer sum.

use std::sync::Arc;

use seenit_filter::counting::Count;
use seenit_filter::hash::{Hash128, SipKey};
use seenit_filter::sightings::{AnySeen, SeenIndex, Sighting};

use super::own::OwnSeen;
use super::room::BoundedIndex;
use crate::signature::SignatureRef;

/// What signatures are hashed with. `sip` is `None` for the ledger's own key, under which a signature is hashed anyway.
#[derive(Clone)]
pub(crate) struct Under {
    pub(crate) key: [u8; 16],
    sip: Option<SipKey>,
}

impl Under {
    pub(crate) fn new(key: [u8; 16], own: [u8; 16]) -> Self {
        Under { key, sip: (key != own).then(|| SipKey::new(key)) }
    }
}

/// A signature under the ledger's own key, and under the last other one that was asked for: parts of one key follow
/// each other.
pub(crate) struct Hashes<'a> {
    signature: SignatureRef<'a>,
    own: Hash128,
    other: Option<([u8; 16], Hash128)>,
}

impl<'a> Hashes<'a> {
    pub(crate) fn new(signature: SignatureRef<'a>, own: Hash128) -> Self {
        Hashes { signature, own, other: None }
    }

    #[inline]
    pub(crate) fn under(&mut self, under: &Under) -> Hash128 {
        match (&under.sip, self.other) {
            (None, _) => self.own,
            (Some(_), Some((known, hash))) if under.key == known => hash,
            (Some(sip), _) => {
                let hash = sip.hash_bytes(self.signature.bytes());
                self.other = Some((under.key, hash));
                hash
            }
        }
    }
}

/// Counts of one generation under one key. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) under: Under,
    /// What this site saw, over all its incarnations.
    pub(crate) own: Option<Arc<OwnSeen>>,
    /// The peer sum: what all other sites saw, each up to its cap.
    pub(crate) peers: Option<Arc<PeerSum>>,
    /// The peer sum that is being rebuilt beside it.
    pub(crate) next: Option<Arc<PeerSum>>,
}

impl Part {
    pub(crate) fn new(under: Under) -> Self {
        Part { under, own: None, peers: None, next: None }
    }

    /// All indexes that answers are made of.
    #[inline]
    pub(crate) fn indexes(&self) -> impl Iterator<Item = &AnySeen> {
        let own = self.own.iter().map(|own| &own.counts.index);
        own.chain(self.peers.iter().map(|peers| &peers.counts.index))
    }
}

pub(crate) fn add(sum: &mut Count, count: Count) {
    sum.value = sum.value.saturating_add(count.value);
    sum.saturated |= count.saturated;
}

/// What all other sites saw of one generation, each up to its cap. It holds as many signatures as it was made for: how
/// much of a large network a small site remembers is for the small site to say.
pub(crate) struct PeerSum {
    pub(crate) counts: BoundedIndex,
}

impl PeerSum {
    /// Raises it by what a site says, which counts for `cap` at most.
    ///
    /// With the increment and the new count together the site's earlier counts need not be known: it counted for
    /// `min(cap, count - increment)` before and counts for `min(cap, count)` now.
    pub(crate) fn raise(&self, sighting: &Sighting, cap: u64) {
        let Sighting { fingerprint, increment, count } = *sighting;
        let before = cap.min(count.saturating_sub(increment));
        let after = cap.min(count);
        if after == 0 {
            return;
        }
        let index = &self.counts.index;
        let Ok(known) = self.counts.admit(fingerprint) else { return };
        self.counts.note(known);
        if after > before {
            index.add(fingerprint, after - before);
        }
        index.raise_to(fingerprint, after);
        let raised = index.count(fingerprint);
        debug_assert!(raised.saturated || raised.value >= after, "at least to min(m, c)");
    }
}
