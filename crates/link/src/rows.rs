//! The link's rows in the journal: what their keys are.
//!
//! ```text
//! r                         the roster
//! m number                  a manifest
//! s site                    the slot of a site, 2 bytes
//! e kind                    how far the engine's stream was read: its birth, sequence
//! k life sequence           a link of the own chain, every 1024 records
//! p                         names of own packs that the store may have, a line each
//! c life                    the last own record that somebody else is known to hold
//! f stream                  how far we are with a stream: see `position`
//! l stream sequence part    a message of it, as its site signed it
//! b stream chunk            cells of it up to `base`: a gain from nothing, cut into chunks
//! ```
//!
//! Numbers have their highest byte first, so that rows lie in order. A stream is slot (2), life (8), kind (1) and
//! generation (8).

use seenit_sites::beat::StreamId;
use seenit_sites::key::SiteKey;
use seenit_sites::message::Stream;

use crate::action::Kind;

pub(crate) const ROSTER: &[u8] = b"r";
pub(crate) const MANIFESTS: &[u8] = b"m";
pub(crate) const SLOTS: &[u8] = b"s";
pub(crate) const PACKS: &[u8] = b"p";
pub(crate) const POSITIONS: &[u8] = b"f";

/// Bytes of a stream's name in keys.
const STREAM_BYTES: usize = 19;

pub(crate) fn manifest(number: u64) -> Vec<u8> {
    [MANIFESTS, &number.to_be_bytes()].concat()
}

pub(crate) fn slot(site: &SiteKey) -> Vec<u8> {
    [SLOTS, &site.to_bytes()].concat()
}

pub(crate) fn place(kind: Kind) -> Vec<u8> {
    vec![b'e', kind as u8]
}

pub(crate) fn confirmed(incarnation: u64) -> Vec<u8> {
    [b"c", incarnation.to_be_bytes().as_slice()].concat()
}

pub(crate) fn links(incarnation: u64) -> Vec<u8> {
    [b"k", incarnation.to_be_bytes().as_slice()].concat()
}

pub(crate) fn link(incarnation: u64, sequence: u64) -> Vec<u8> {
    [links(incarnation), sequence.to_be_bytes().to_vec()].concat()
}

/// A stream as keys name it.
pub(crate) fn stream(slot: u16, id: &StreamId) -> [u8; STREAM_BYTES] {
    let (code, generation) = match id.stream {
        Stream::Records => (1, 0),
        Stream::Seen { generation } => (2, generation),
    };
    let mut key = [0; STREAM_BYTES];
    key[..2].copy_from_slice(&slot.to_be_bytes());
    key[2..10].copy_from_slice(&id.incarnation.to_be_bytes());
    key[10] = code;
    key[11..].copy_from_slice(&generation.to_be_bytes());
    key
}

/// The slot, life and stream of a key of a position.
pub(crate) fn stream_of(key: &[u8]) -> Option<(u16, u64, Stream)> {
    let key: &[u8; STREAM_BYTES] = key.strip_prefix(POSITIONS)?.try_into().ok()?;
    let number = |at: usize| Some(u64::from_be_bytes(key[at..at + 8].try_into().ok()?));
    let stream = match key[10] {
        1 => Stream::Records,
        2 => Stream::Seen { generation: number(11)? },
        _ => return None,
    };
    Some((u16::from_be_bytes([key[0], key[1]]), number(2)?, stream))
}

pub(crate) fn position(stream: &[u8; STREAM_BYTES]) -> Vec<u8> {
    [POSITIONS, stream].concat()
}

pub(crate) fn messages(stream: &[u8; STREAM_BYTES]) -> Vec<u8> {
    [b"l", stream.as_slice()].concat()
}

pub(crate) fn message(stream: &[u8; STREAM_BYTES], sequence: u64, part: u16) -> Vec<u8> {
    [messages(stream), sequence.to_be_bytes().to_vec(), part.to_be_bytes().to_vec()].concat()
}

pub(crate) fn chunks(stream: &[u8; STREAM_BYTES]) -> Vec<u8> {
    [b"b", stream.as_slice()].concat()
}

pub(crate) fn chunk(stream: &[u8; STREAM_BYTES], number: u32) -> Vec<u8> {
    [chunks(stream), number.to_be_bytes().to_vec()].concat()
}
