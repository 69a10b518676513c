//! Which peers' words count, and for how much at most.

use seenit_link::store;
use serde::{Deserialize, Serialize};

use crate::error::WriteError;
use crate::record::Word;
use crate::reporter::{ReporterId, SLOT_MAX};
use crate::seen::RECIPIENTS_MAX;
use crate::trust::TRUSTED_MIN;

/// Another site of the network as the journal keeps it, and what its words count for here at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Peer {
    /// Its number here, 1 to 1000, for good.
    pub(crate) slot: u16,
    /// Its public key.
    pub(crate) site: [u8; 32],
    /// Its name.
    pub(crate) name: String,
    /// Points that all its reporters together may give to a signature as spam.
    pub(crate) spam: u32,
    /// The same as ham.
    pub(crate) ham: u32,
    /// Recipients that its sightings of a signature count for, in each generation.
    pub(crate) seen: u64,
}

impl From<&store::PeerSite> for Peer {
    fn from(peer: &store::PeerSite) -> Self {
        let store::PeerSite { slot, site, name, caps } = peer;
        let (spam, ham, seen) = (caps.spam, caps.ham, caps.seen);
        Peer { slot: slot.0, site: site.to_bytes(), name: name.clone(), spam, ham, seen }
    }
}

/// The table of peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Peers {
    /// Another one for each change that tallies must follow: tallies under another tag are made anew.
    pub(crate) tag: u64,
    /// By slot.
    all: Vec<Peer>,
    /// Slots of peers that were taken out, while what they said is being deleted.
    pub(crate) leaving: Vec<u16>,
    /// The slot of this site itself, under which what others hold of its earlier incarnations comes back.
    #[serde(default)]
    pub(crate) own: Option<u16>,
}

impl Peers {
    /// The table after this one, with these peers and no others. `site` is this one's key.
    pub(crate) fn changed_to(&self, peers: &[Peer], site: [u8; 32]) -> Result<Peers, WriteError> {
        let own = peers.iter().find(|peer| peer.site == site).map(|peer| peer.slot);
        let mut all: Vec<Peer> = peers.iter().filter(|peer| peer.site != site).cloned().collect();
        all.sort_by_key(|peer| peer.slot);
        if let Some(odd) = all.iter().find(|peer| !(1..=SLOT_MAX).contains(&peer.slot)) {
            return Err(WriteError::Link(format!("there is no slot {}", odd.slot)));
        }
        if let Some(pair) = all.windows(2).find(|pair| pair[0].slot == pair[1].slot) {
            return Err(WriteError::Link(format!("two peers have slot {}", pair[0].slot)));
        }
        let other_site = |peer: &&Peer| self.get(peer.slot).is_some_and(|known| known.site != peer.site);
        if let Some(peer) = all.iter().find(other_site) {
            return Err(WriteError::Link(format!("slot {} is another site's", peer.slot)));
        }
        let is_there = |slot: u16| all.binary_search_by_key(&slot, |peer| peer.slot).is_ok();
        let gone = self.all.iter().map(|peer| peer.slot).filter(|slot| !is_there(*slot));
        let mut leaving: Vec<u16> = self.leaving.iter().copied().chain(gone).collect();
        leaving.sort_unstable();
        leaving.dedup();
        let own_before = self.own.filter(|slot| own != Some(*slot) && is_there(*slot));
        if let Some(slot) = own_before {
            return Err(WriteError::Link(format!("slot {slot} is this site's own")));
        }
        if let Some(slot) = leaving.iter().find(|slot| is_there(**slot)) {
            return Err(WriteError::Link(format!("slot {slot} is still being given up")));
        }
        let mut next = Peers { tag: self.tag, all, leaving, own };
        if next.differing(self).next().is_some() {
            let mut tag = [0; 8];
            getrandom::fill(&mut tag).map_err(|error| WriteError::Link(error.to_string()))?;
            next.tag = u64::from_le_bytes(tag);
        }
        Ok(next)
    }

    /// The table once everybody has left who was leaving.
    pub(crate) fn left(&self) -> Peers {
        Peers { leaving: Vec::new(), ..self.clone() }
    }

    /// The slots whose words count for something else in another table.
    pub(crate) fn differing(&self, other: &Peers) -> impl Iterator<Item = u16> {
        let caps = |peer: &Peer| (peer.spam, peer.ham, peer.seen);
        (1..=SLOT_MAX).filter(move |&slot| self.get(slot).map(caps) != other.get(slot).map(caps))
    }

    pub(crate) fn get(&self, slot: u16) -> Option<&Peer> {
        self.all.binary_search_by_key(&slot, |peer| peer.slot).ok().map(|index| &self.all[index])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a reporter's word counts at all: own ones' do, and peers' while they are in the table.
    pub(crate) fn counts(&self, reporter: ReporterId) -> bool {
        reporter.slot().is_none_or(|slot| self.get(slot).is_some())
    }

    /// Recipients that a peer's sightings of a signature count for.
    pub(crate) fn seen_cap(&self, slot: u16) -> u64 {
        self.get(slot).map_or(0, |peer| peer.seen)
    }

    /// Whether sightings count for something else in another table.
    pub(crate) fn counts_sightings_like(&self, other: &Peers) -> bool {
        (1..=SLOT_MAX).all(|slot| self.seen_cap(slot) == other.seen_cap(slot))
    }

    /// Points that a peer's words count for at most on one side.
    pub(crate) fn cap(&self, slot: u16, word: Word) -> u32 {
        match (self.get(slot), word) {
            (Some(peer), Word::Spam) => peer.spam,
            (Some(peer), Word::Ham) => peer.ham,
            (None, _) | (_, Word::None) => 0,
        }
    }

    /// What a word counts for where it is the only one of its site: points of a signature, units of a shingle.
    pub(crate) fn weigh(&self, reporter: ReporterId, said: (Word, u8), is_shingle: bool) -> (Word, u8) {
        let Some(slot) = reporter.slot() else {
            return said;
        };
        let ((word, weight), cap) = (said, self.cap(slot, said.0));
        let most = match is_shingle {
            // What is good is for each site to say: no peer, and no crowd of them, can blind another to replicas.
            true if word == Word::Ham || cap < u32::from(TRUSTED_MIN) => 0,
            true => 1,
            false => u8::try_from(cap).unwrap_or(u8::MAX),
        };
        (word, weight.min(most))
    }

    /// Whether MANY of a site is believed; slot 0 is this one.
    pub(crate) fn believes_many(&self, slot: u16) -> bool {
        slot == 0 || self.get(slot).is_some_and(|peer| peer.seen >= RECIPIENTS_MAX)
    }

    /// Whether a site's bulk marks are believed, where so many recipients make a signature bulk; slot 0 is this one.
    pub(crate) fn believes_bulk(&self, slot: u16, threshold: u64) -> bool {
        slot == 0 || self.get(slot).is_some_and(|peer| peer.seen >= threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of the site whose table it is.
    const OWN: [u8; 32] = [0xee; 32];

    fn peer(slot: u16, spam: u32, ham: u32) -> Peer {
        Peer { slot, site: [slot as u8; 32], name: format!("p{slot}"), spam, ham, seen: 0 }
    }

    #[test]
    fn a_peer_that_is_gone_leaves_and_its_slot_is_not_given_before_it_has_left() {
        let two = Peers::default().changed_to(&[peer(2, 5, 5), peer(1, 5, 5)], OWN).expect("a table");
        assert_ne!(two.tag, 0);
        let one = two.changed_to(&[peer(1, 5, 5)], OWN).expect("a table");
        assert_eq!((one.leaving.as_slice(), one.tag != two.tag), (&[2][..], true));
        assert!(one.changed_to(&[peer(1, 5, 5), peer(2, 5, 5)], OWN).is_err());
        let renamed = Peer { name: "other".into(), ..peer(1, 5, 5) };
        assert_eq!(one.changed_to(&[renamed], OWN).expect("a table").tag, one.tag, "a name changes no tally");
        for wrong in [peer(0, 1, 1), peer(1001, 1, 1), Peer { site: [9; 32], ..peer(1, 5, 5) }] {
            assert!(two.changed_to(&[wrong], OWN).is_err());
        }
        assert!(two.changed_to(&[peer(3, 1, 1), peer(3, 1, 1)], OWN).is_err());
    }

    #[test]
    fn a_lone_word_counts_up_to_the_cap_and_a_shingle_one_unit_at_most() {
        let peers = Peers::default().changed_to(&[peer(1, 7, 4)], OWN).expect("a table");
        let said = ReporterId::of_peer(1, 9);
        let weigh = |word, is_shingle| peers.weigh(said, (word, 10), is_shingle).1;
        assert_eq!((weigh(Word::Spam, false), weigh(Word::Ham, false)), (7, 4));
        assert_eq!((weigh(Word::Spam, true), weigh(Word::Ham, true)), (1, 0));
        assert_eq!(peers.weigh(ReporterId(9), (Word::Ham, 10), false).1, 10, "own words have no cap");
        assert_eq!(peers.weigh(ReporterId::of_peer(2, 9), (Word::Ham, 10), false).1, 0);
    }
}
