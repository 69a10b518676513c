//! Peers that unit tests make up.

use seenit_link::store::{HeardItems, HeldStream, LinkBatch, PeerSite, PeerSlot};
use seenit_sites::key::SiteSecret;
use seenit_sites::message::Stream;
use seenit_sites::number::{Incarnation, Sequence};
use seenit_sites::roster::Caps;

/// A peer in a slot, with these caps.
pub(crate) fn peer(slot: u16, caps: Caps) -> PeerSite {
    let site = SiteSecret::from_bytes([slot as u8; 32]).public();
    PeerSite { slot: PeerSlot(slot), site, name: "other".into(), caps }
}

/// Its records, from the beginning on.
pub(crate) fn heard(slot: u16, items: Vec<Vec<u8>>) -> LinkBatch {
    let stream = HeldStream { slot: PeerSlot(slot), incarnation: Incarnation(5), stream: Stream::Records };
    let heard = vec![HeardItems { stream, after: Sequence::START, items, message: None }];
    LinkBatch { heard, ..LinkBatch::default() }
}
