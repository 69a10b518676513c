//! Beats: signs of life. A site says where its streams are, and how far it is with those of others.
//!
//! The first is what others compare their copies with; the second is what receipts are made of, and tells who can help
//! whom with the streams of a site that is silent.

use thiserror::Error;

use crate::digest::Digest;
use crate::form::{self, Bytes, FormError, Tag};
use crate::key::{AdminKey, KEY_BYTES, SIGNATURE_BYTES, SiteKey, SiteSecret};
use crate::message::{HEAD_BYTES, Head, MessageError, Stream, check_sequence};
use crate::number::Incarnation;
use crate::roster::Roster;

pub(crate) const TAG: Tag = *b"seenit beat v1      ";

/// The most heads of a beat: the records and more generations than any site counts in.
pub const HEADS_MAX: usize = 64;

/// The most holdings of a beat. A site that has more tells them in turn.
pub const HOLDINGS_MAX: usize = 256;

const HOLDING_BYTES: usize = KEY_BYTES + 8 + 1 + 8 + 8 + 8;

/// The largest beat.
pub const BEAT_BYTES_MAX: usize = 20
    + 2 * KEY_BYTES
    + 16
    + 32
    + 2
    + HEADS_MAX * HEAD_BYTES
    + 2
    + HOLDINGS_MAX * HOLDING_BYTES
    + SIGNATURE_BYTES;

/// A stream of one life of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    /// Whose.
    pub site: SiteKey,
    /// The incarnation of its data folder.
    pub incarnation: Incarnation,
    /// Records, or sightings of a generation.
    pub stream: Stream,
}

impl StreamId {
    /// The stream that a head is of.
    pub fn of(head: &Head) -> Self {
        let state = head.state();
        StreamId { site: *head.site(), incarnation: Incarnation(state.incarnation), stream: state.stream }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.site.to_bytes());
        out.extend(self.incarnation.0.to_le_bytes());
        let (code, generation) = self.stream.code();
        out.push(code);
        out.extend(generation.to_le_bytes());
    }

    /// Reads the name of a stream; `None` where its site is no member of this roster.
    pub(crate) fn decode(bytes: &mut Bytes<'_>, roster: &Roster) -> Result<Option<Self>, MessageError> {
        let site = roster.key_of(&bytes.array()?);
        let incarnation = Incarnation(bytes.u64()?);
        let stream = Stream::decode(bytes)?;
        Ok(site.map(|site| StreamId { site, incarnation, stream }))
    }
}

/// How far a site is with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Which stream.
    pub id: StreamId,
    /// The last sequence that it has applied.
    pub sequence: u64,
    /// The beginning of the root there, of records: whoever said them sees whether they are its own.
    pub root: [u8; 8],
}

/// Why something is no beat.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BeatError {
    /// Not even the form, or not signed.
    #[error("no beat: {0}")]
    Form(#[from] FormError),
    /// Somebody else's, or a head that is none.
    #[error("no beat: {0}")]
    Message(#[from] MessageError),
    /// Too many.
    #[error("a beat of {0} heads or holdings")]
    Many(usize),
    /// A beat tells of its site's own streams.
    #[error("a beat with a head of another site, or with a payload elsewhere")]
    OtherHead,
}

/// A sign of life, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Who.
    pub site: SiteKey,
    /// The present life of its data folder.
    pub incarnation: u64,
    /// When, by its own clock.
    pub time_secs: u64,
    /// The digest of its newest snapshot's manifest; zeros where there is none.
    pub snapshot: Digest,
    /// Heartbeats of its streams, and their bytes as signed.
    pub heads: Vec<(Head, Vec<u8>)>,
    /// How far it is with others.
    pub holdings: Vec<Holding>,
}

impl Beat {
    /// Its bytes, signed.
    pub fn sign(&self, site: &SiteSecret, network: &AdminKey) -> Result<Vec<u8>, BeatError> {
        let (heads, holdings) = (self.heads.len(), self.holdings.len());
        if heads > HEADS_MAX || holdings > HOLDINGS_MAX {
            return Err(BeatError::Many(heads.max(holdings)));
        }
        let mut bytes = TAG.to_vec();
        bytes.extend(network.to_bytes());
        bytes.extend(site.public().to_bytes());
        bytes.extend(self.incarnation.to_le_bytes());
        bytes.extend(self.time_secs.to_le_bytes());
        bytes.extend(self.snapshot.0);
        bytes.extend((heads as u16).to_le_bytes());
        self.heads.iter().for_each(|(_, head)| bytes.extend(head));
        bytes.extend((holdings as u16).to_le_bytes());
        for holding in &self.holdings {
            holding.id.encode(&mut bytes);
            bytes.extend(holding.sequence.to_le_bytes());
            bytes.extend(holding.root);
        }
        site.sign(&mut bytes);
        Ok(bytes)
    }

    /// Reads a beat of a member of this roster.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, BeatError> {
        form::at_most(bytes, BEAT_BYTES_MAX)?;
        let mut rest = Bytes(bytes);
        rest.tag(&TAG)?;
        let site = roster.signer(&mut rest)?;
        form::signed_by(bytes, &site)?;
        let (incarnation, time_secs, snapshot) = (rest.u64()?, rest.u64()?, Digest(rest.array()?));
        let heads = heads(&mut rest, &site, roster)?;
        let count = usize::from(rest.u16()?);
        if count > HOLDINGS_MAX {
            return Err(BeatError::Many(count));
        }
        let mut holdings = Vec::new();
        for _ in 0..count {
            let (id, sequence, root) =
                (StreamId::decode(&mut rest, roster)?, check_sequence(rest.u64()?)?, rest.array()?);
            // Somebody whose roster is older or newer than ours may hold what we do not know of.
            holdings.extend(id.map(|id| Holding { id, sequence, root }));
        }
        rest.run(SIGNATURE_BYTES)?;
        rest.end()?;
        Ok(Beat { site, incarnation, time_secs, snapshot, heads, holdings })
    }
}

fn heads(rest: &mut Bytes<'_>, site: &SiteKey, roster: &Roster) -> Result<Vec<(Head, Vec<u8>)>, BeatError> {
    let count = usize::from(rest.u16()?);
    if count > HEADS_MAX {
        return Err(BeatError::Many(count));
    }
    let mut heads = Vec::new();
    for _ in 0..count {
        let bytes = rest.run(HEAD_BYTES)?;
        // The beat is signed as a whole by the same site: a head is checked by itself before it is handed on.
        let head = Head::reread(bytes, roster)?;
        if head.site() != site || head.previous() != head.state().sequence {
            return Err(BeatError::OtherHead);
        }
        heads.push((head, bytes.to_vec()));
    }
    Ok(heads)
}
