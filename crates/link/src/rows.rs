//! The link's rows in a store: what their keys are.
//!
//! ```text
//! r                             the roster
//! m number                      a manifest
//! s site                        the slot of a site, 2 bytes
//! e kind                        how far the broker's stream was read: its birth, sequence
//! p                             names of own packs that the bucket may have, a line each
//! n                             the number that heartbeats of the next start begin with
//! c incarnation kind generation the last own item that somebody else is known to hold
//! f stream                      how far we are with a stream
//! k incarnation kind generation sequence   a value of an own chain, every 1,024 items
//! l stream sequence             a message of it, as its site signed it, by the last item in it
//! b stream chunk                a base: sightings up to a sequence, added up
//! ```
//!
//! Numbers have their highest byte first, so that rows lie in order. A stream is slot (2), incarnation (8), kind (1: 1
//! records, 3 sightings) and generation (8; 0 of records). Rows of `k`, `l` and `b` are many, and are read only when
//! they are needed.

use seenit_sites::key::SiteKey;
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation, Sequence};

use crate::action::BrokerStream;
use crate::store::{HeldStream, PeerSlot};

/// The roster.
pub const ROSTER: &[u8] = b"r";

/// Names of own packs.
pub const PACKS: &[u8] = b"p";

/// The number that heartbeats of the next start begin with.
pub const HEARTBEAT_NUMBER: &[u8] = b"n";

/// What the keys of rows begin with that the link keeps in memory.
pub const STATE: &[u8] = b"rmsepncf";

/// Items of an own chain between two values of it that are kept.
pub const CHECKPOINT_ITEMS: u64 = 1024;

/// Of every message and base of a peer.
pub fn of_slot(first: u8, slot: PeerSlot) -> Vec<u8> {
    [&[first], slot.0.to_be_bytes().as_slice()].concat()
}

fn push_stream(key: &mut Vec<u8>, incarnation: Incarnation, stream: Stream) {
    key.extend(incarnation.0.to_be_bytes());
    key.push(stream.code());
    key.extend(stream.generation().unwrap_or_default().0.to_be_bytes());
}

/// What [`push_stream`] wrote, and what stands behind it.
fn split_stream(key: &[u8]) -> Option<(Incarnation, Stream, &[u8])> {
    let (incarnation, rest) = key.split_first_chunk()?;
    let (code, rest) = rest.split_first()?;
    let (generation, rest) = rest.split_first_chunk()?;
    let stream = Stream::of_code(*code, Generation(u64::from_be_bytes(*generation))).ok()?;
    Some((Incarnation(u64::from_be_bytes(*incarnation)), stream, rest))
}

fn stream_key(first: u8, stream: &HeldStream) -> Vec<u8> {
    let mut key = of_slot(first, stream.slot);
    push_stream(&mut key, stream.incarnation, stream.stream);
    key
}

/// How far we are with a stream.
pub fn position(stream: &HeldStream) -> Vec<u8> {
    stream_key(b'f', stream)
}

/// All messages of a stream.
pub fn messages(stream: &HeldStream) -> Vec<u8> {
    stream_key(b'l', stream)
}

/// The message that leads to an item.
pub fn message(stream: &HeldStream, sequence: Sequence) -> Vec<u8> {
    [messages(stream), sequence.0.to_be_bytes().to_vec()].concat()
}

/// All rows of a stream's base.
pub fn base(stream: &HeldStream) -> Vec<u8> {
    stream_key(b'b', stream)
}

/// The stream of a key that begins with `f`, `l` or `b`, and what stands behind it.
pub fn stream_of(key: &[u8]) -> Option<(HeldStream, &[u8])> {
    let (slot, rest) = key.get(1..)?.split_first_chunk()?;
    let (incarnation, stream, rest) = split_stream(rest)?;
    Some((HeldStream { slot: PeerSlot(u16::from_be_bytes(*slot)), incarnation, stream }, rest))
}

fn own_key(first: u8, incarnation: Incarnation, stream: Stream) -> Vec<u8> {
    let mut key = vec![first];
    push_stream(&mut key, incarnation, stream);
    key
}

/// The last item of an own stream that somebody else is known to hold.
pub fn confirmed(incarnation: Incarnation, stream: Stream) -> Vec<u8> {
    own_key(b'c', incarnation, stream)
}

/// A value of an own chain.
pub fn checkpoint(incarnation: Incarnation, stream: Stream, sequence: Sequence) -> Vec<u8> {
    [own_key(b'k', incarnation, stream), sequence.0.to_be_bytes().to_vec()].concat()
}

/// The stream of a key that begins with `c` or `k`, and what stands behind it.
pub fn own_stream_of(key: &[u8]) -> Option<(Incarnation, Stream, &[u8])> {
    split_stream(key.get(1..)?)
}

/// A manifest.
pub fn manifest(number: u64) -> Vec<u8> {
    [b"m", number.to_be_bytes().as_slice()].concat()
}

/// The slot of a site.
pub fn slot(site: &SiteKey) -> Vec<u8> {
    [b"s", site.to_bytes().as_slice()].concat()
}

/// How far a stream of the broker was read.
pub fn place(kind: BrokerStream) -> Vec<u8> {
    vec![b'e', kind as u8]
}
