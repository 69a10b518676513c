//! Which peers' opinions count, and for how much at most.

use seenit_link::store;
use serde::{Deserialize, Serialize};

use crate::error::{Cause, WriteError};
use crate::record::{Opinion, WeighedOpinion};
use crate::reporter::{ReporterId, SLOT_MAX};
use crate::seen::RECIPIENTS_MAX;
use crate::trust::TRUSTED_MIN;

/// Another site of the network as the journal keeps it, and what its opinions count for here at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalPeer {
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

impl From<&store::PeerSite> for JournalPeer {
    fn from(peer: &store::PeerSite) -> Self {
        let store::PeerSite { slot, site, name, caps } = peer;
        let spam = caps.spam;
        let ham = caps.ham;
        let seen = caps.seen;
        JournalPeer { slot: slot.0, site: site.to_bytes(), name: name.clone(), spam, ham, seen }
    }
}

/// The table of peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Peers {
    /// Another one for each change that tallies must follow: tallies under another tag are made anew.
    pub(crate) tag: u64,
    /// By slot.
    all: Vec<JournalPeer>,
    /// Slots of peers that were taken out, while what they said is being deleted.
    pub(crate) leaving: Vec<u16>,
    /// The slot of this site itself, under which what others hold of its earlier incarnations comes back.
    #[serde(default)]
    pub(crate) own: Option<u16>,
}

impl Peers {
    /// The table after this one, with these peers and no others. `site` is this one's key.
    pub(crate) fn changed_to(&self, peers: &[JournalPeer], site: [u8; 32]) -> Result<Peers, WriteError> {
        let own = peers.iter().find(|peer| peer.site == site).map(|peer| peer.slot);
        let mut all: Vec<JournalPeer> = peers.iter().filter(|peer| peer.site != site).cloned().collect();
        all.sort_by_key(|peer| peer.slot);
        if let Some(odd) = all.iter().find(|peer| !(1..=SLOT_MAX).contains(&peer.slot)) {
            return Err(WriteError::Link(format!("there is no slot {}", odd.slot).into()));
        }
        if let Some(pair) = all.windows(2).find(|pair| pair[0].slot == pair[1].slot) {
            return Err(WriteError::Link(format!("two peers have slot {}", pair[0].slot).into()));
        }
        let other_site =
            |peer: &&JournalPeer| self.get(peer.slot).is_some_and(|known| known.site != peer.site);
        if let Some(peer) = all.iter().find(other_site) {
            return Err(WriteError::Link(format!("slot {} is another site's", peer.slot).into()));
        }
        let is_there = |slot: u16| all.binary_search_by_key(&slot, |peer| peer.slot).is_ok();
        let gone = self.all.iter().map(|peer| peer.slot).filter(|slot| !is_there(*slot));
        let mut leaving: Vec<u16> = self.leaving.iter().copied().chain(gone).collect();
        leaving.sort_unstable();
        leaving.dedup();
        let own_before = self.own.filter(|slot| own != Some(*slot) && is_there(*slot));
        if let Some(slot) = own_before {
            return Err(WriteError::Link(format!("slot {slot} is this site's own").into()));
        }
        if let Some(slot) = leaving.iter().find(|slot| is_there(**slot)) {
            return Err(WriteError::Link(format!("slot {slot} is still being given up").into()));
        }
        let mut next = Peers { tag: self.tag, all, leaving, own };
        if next.differing(self).next().is_some() {
            let mut tag = [0; 8];
            getrandom::fill(&mut tag).map_err(|error| WriteError::Link(Cause::new(error)))?;
            next.tag = u64::from_le_bytes(tag);
        }
        Ok(next)
    }

    /// The table once everybody has left who was leaving.
    pub(crate) fn left(&self) -> Peers {
        Peers { leaving: Vec::new(), ..self.clone() }
    }

    /// The slots whose opinions count for something else in another table.
    pub(crate) fn differing(&self, other: &Peers) -> impl Iterator<Item = u16> {
        let caps = |peer: &JournalPeer| (peer.spam, peer.ham, peer.seen);
        (1..=SLOT_MAX).filter(move |&slot| self.get(slot).map(caps) != other.get(slot).map(caps))
    }

    pub(crate) fn get(&self, slot: u16) -> Option<&JournalPeer> {
        self.all.binary_search_by_key(&slot, |peer| peer.slot).ok().map(|index| &self.all[index])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a reporter's opinion counts at all: own ones' do, and peers' while they are in the table.
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

    /// Points that a peer's opinions count for at most on one side.
    pub(crate) fn cap(&self, slot: u16, opinion: Opinion) -> u32 {
        match (self.get(slot), opinion) {
            (Some(peer), Opinion::Spam) => peer.spam,
            (Some(peer), Opinion::Ham) => peer.ham,
            (None, _) | (_, Opinion::None) => 0,
        }
    }

    /// What an opinion on a signature counts for where it is the only one of its site.
    pub(crate) fn weigh(&self, reporter: ReporterId, said: WeighedOpinion) -> WeighedOpinion {
        let most = |slot| u8::try_from(self.cap(slot, said.opinion)).unwrap_or(u8::MAX);
        WeighedOpinion { weight: said.weight.min(reporter.slot().map_or(u8::MAX, most)), ..said }
    }

    /// What an opinion on a shingle counts for. What is good is for each site to say: no peer, and no crowd of them,
    /// can blind another to replicas.
    pub(crate) fn weigh_shingle(&self, reporter: ReporterId, said: WeighedOpinion) -> WeighedOpinion {
        let Some(slot) = reporter.slot() else {
            return said;
        };
        let is_believed =
            said.opinion != Opinion::Ham && self.cap(slot, said.opinion) >= u32::from(TRUSTED_MIN);
        WeighedOpinion { weight: said.weight.min(u8::from(is_believed)), ..said }
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

    fn peer(slot: u16, spam: u32, ham: u32) -> JournalPeer {
        JournalPeer { slot, site: [slot as u8; 32], name: format!("p{slot}"), spam, ham, seen: 0 }
    }

    #[test]
    fn a_peer_that_is_gone_leaves_and_its_slot_is_not_given_before_it_has_left() {
        let two = Peers::default().changed_to(&[peer(2, 5, 5), peer(1, 5, 5)], OWN).expect("a table");
        assert_ne!(two.tag, 0);
        let one = two.changed_to(&[peer(1, 5, 5)], OWN).expect("a table");
        assert_eq!((one.leaving.as_slice(), one.tag != two.tag), (&[2][..], true));
        assert!(one.changed_to(&[peer(1, 5, 5), peer(2, 5, 5)], OWN).is_err());
        let renamed = JournalPeer { name: "other".into(), ..peer(1, 5, 5) };
        assert_eq!(one.changed_to(&[renamed], OWN).expect("a table").tag, one.tag, "a name changes no tally");
        for wrong in [peer(0, 1, 1), peer(1001, 1, 1), JournalPeer { site: [9; 32], ..peer(1, 5, 5) }] {
            assert!(two.changed_to(&[wrong], OWN).is_err());
        }
        assert!(two.changed_to(&[peer(3, 1, 1), peer(3, 1, 1)], OWN).is_err());
    }

    #[test]
    fn a_lone_opinion_counts_up_to_the_cap_and_a_shingle_one_unit_at_most() {
        let peers = Peers::default().changed_to(&[peer(1, 7, 4)], OWN).expect("a table");
        let said = ReporterId::of_peer(1, 9);
        let weigh = |reporter, opinion| peers.weigh(reporter, WeighedOpinion::new(opinion, 10)).weight;
        let units = |opinion| peers.weigh_shingle(said, WeighedOpinion::new(opinion, 10)).weight;
        assert_eq!((weigh(said, Opinion::Spam), weigh(said, Opinion::Ham)), (7, 4));
        assert_eq!((units(Opinion::Spam), units(Opinion::Ham)), (1, 0));
        assert_eq!(weigh(ReporterId(9), Opinion::Ham), 10, "own opinions have no cap");
        assert_eq!(weigh(ReporterId::of_peer(2, 9), Opinion::Ham), 0);
    }
}
