//! Heartbeats: a site is alive, how far its own streams are, and how far it is with those of others.
//!
//! The first is what others compare their copies with; the second is what receipts are made of, and says who can help
//! whom with the streams of a site that is silent.

use thiserror::Error;

use crate::digest::Digest;
use crate::form::{self, Bytes, FormError, Tag};
use crate::key::{AdminKey, KEY_BYTES, SIGNATURE_BYTES, SiteKey, SiteSecret};
use crate::message::{HEAD_BYTES, Head, MessageError, Stream, StreamId, check_sequence};
use crate::number::{Incarnation, Sequence};
use crate::roster::Roster;

pub(crate) const TAG: Tag = *b"seenit heartbeat v2 ";

/// The most heads of a heartbeat: records and more generations than any site counts in. A site that has more, in many
/// incarnations, sends them in turn.
pub const HEADS_MAX: usize = 64;

/// The most holdings of a heartbeat. A site that has more sends them in turn.
pub const HOLDINGS_MAX: usize = 256;

const HOLDING_BYTES: usize = KEY_BYTES + 8 + 1 + 8 + 4 * 8;

/// The largest heartbeat.
pub const HEARTBEAT_BYTES_MAX: usize = 20
    + 2 * KEY_BYTES
    + 24
    + 32
    + 2
    + HEADS_MAX * HEAD_BYTES
    + 2
    + HOLDINGS_MAX * HOLDING_BYTES
    + SIGNATURE_BYTES;

/// How far a site is with a stream. It proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Which stream.
    pub id: StreamId,
    /// The last item that it has applied.
    pub sequence: Sequence,
    /// The beginning of the chain's value there: whoever said the items sees whether they are its own.
    pub value: [u8; 8],
    /// Of records: how many of them it keeps without counting them.
    pub uncounted: u64,
    /// The last of those; 0 where there are none.
    pub uncounted_last: Sequence,
}

/// Why something is no heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeartbeatError {
    /// Not even the form, or not signed.
    #[error("no heartbeat: {0}")]
    Form(#[from] FormError),
    /// Somebody else's, or a head that is none.
    #[error("no heartbeat: {0}")]
    Message(#[from] MessageError),
    /// Too many.
    #[error("a heartbeat of {0} heads or holdings")]
    Many(usize),
    /// A heartbeat has heads of its site's own streams.
    #[error("a heartbeat with a head of another site, or with a payload elsewhere")]
    OtherHead,
    /// There cannot be as many, or no such last one.
    #[error("a heartbeat with {uncounted} uncounted items up to {last} of {sequence}")]
    Uncounted {
        /// How many.
        uncounted: u64,
        /// The last of them.
        last: u64,
        /// Of how many.
        sequence: u64,
    },
}

/// A heartbeat, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Who.
    pub site: SiteKey,
    /// The present incarnation of its data folder.
    pub incarnation: Incarnation,
    /// Rises from heartbeat to heartbeat of one incarnation, whatever happens to the clock: an old one that is sent
    /// again is no sign of life.
    pub number: u64,
    /// When, by its own clock.
    pub time_secs: u64,
    /// The digest of its newest snapshot's manifest; zeros where there is none.
    pub snapshot: Digest,
    /// Heads alone of its own streams, and their bytes as signed.
    pub heads: Vec<(Head, Vec<u8>)>,
    /// How far it is with others.
    pub holdings: Vec<Holding>,
}

impl Heartbeat {
    /// Its bytes, signed.
    pub fn sign(&self, site: &SiteSecret, network: &AdminKey) -> Result<Vec<u8>, HeartbeatError> {
        let (heads, holdings) = (self.heads.len(), self.holdings.len());
        if heads > HEADS_MAX || holdings > HOLDINGS_MAX {
            return Err(HeartbeatError::Many(heads.max(holdings)));
        }
        let mut bytes = TAG.to_vec();
        bytes.extend(network.to_bytes());
        bytes.extend(site.public().to_bytes());
        for number in [self.incarnation.0, self.number, self.time_secs] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.snapshot.0);
        bytes.extend((heads as u16).to_le_bytes());
        self.heads.iter().for_each(|(_, head)| bytes.extend(head));
        bytes.extend((holdings as u16).to_le_bytes());
        for holding in &self.holdings {
            holding.check()?;
            holding.id.encode(&mut bytes);
            bytes.extend(holding.sequence.0.to_le_bytes());
            bytes.extend(holding.value);
            bytes.extend(holding.uncounted.to_le_bytes());
            bytes.extend(holding.uncounted_last.0.to_le_bytes());
        }
        site.sign(&mut bytes);
        Ok(bytes)
    }

    /// Reads a heartbeat of a member of this roster.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, HeartbeatError> {
        form::at_most(bytes, HEARTBEAT_BYTES_MAX)?;
        let mut rest = Bytes(bytes);
        rest.tag(&TAG)?;
        let site = roster.signer(&mut rest)?;
        form::signed_by(bytes, &site)?;
        let (incarnation, number, time_secs) = (Incarnation(rest.u64()?), rest.u64()?, rest.u64()?);
        let snapshot = Digest(rest.array()?);
        let heads = heads(&mut rest, &site, roster)?;
        let count = usize::from(rest.u16()?);
        if count > HOLDINGS_MAX {
            return Err(HeartbeatError::Many(count));
        }
        let mut holdings = Vec::new();
        for _ in 0..count {
            // Somebody whose roster is older or newer than ours may hold what we do not know of.
            holdings.extend(Holding::decode(&mut rest, roster)?);
        }
        rest.run(SIGNATURE_BYTES)?;
        rest.end()?;
        Ok(Heartbeat { site, incarnation, number, time_secs, snapshot, heads, holdings })
    }
}

impl Holding {
    fn decode(rest: &mut Bytes<'_>, roster: &Roster) -> Result<Option<Self>, HeartbeatError> {
        let id = StreamId::decode(rest, roster)?;
        let (sequence, value) = (check_sequence(Sequence(rest.u64()?))?, rest.array()?);
        let (uncounted, uncounted_last) = (rest.u64()?, Sequence(rest.u64()?));
        let Some(id) = id else { return Ok(None) };
        let holding = Holding { id, sequence, value, uncounted, uncounted_last };
        holding.check()?;
        Ok(Some(holding))
    }

    /// The last uncounted item is among those that are held, and so are as many as there are.
    fn check(&self) -> Result<(), HeartbeatError> {
        let Holding { sequence: Sequence(sequence), uncounted, uncounted_last: Sequence(last), .. } = *self;
        let is_none = uncounted == 0 && last == 0;
        let is_some = self.id.stream == Stream::Records && uncounted > 0;
        match is_none || is_some && uncounted <= last && last <= sequence {
            true => Ok(()),
            false => Err(HeartbeatError::Uncounted { uncounted, last, sequence }),
        }
    }
}

fn heads(
    rest: &mut Bytes<'_>,
    site: &SiteKey,
    roster: &Roster,
) -> Result<Vec<(Head, Vec<u8>)>, HeartbeatError> {
    let count = usize::from(rest.u16()?);
    if count > HEADS_MAX {
        return Err(HeartbeatError::Many(count));
    }
    let mut heads = Vec::new();
    for _ in 0..count {
        let bytes = rest.run(HEAD_BYTES)?;
        // The heartbeat is signed as a whole by the same site: a head is checked by itself before it is handed on.
        let head = Head::reread(bytes, roster)?;
        if head.site() != site || head.previous() != head.state().sequence {
            return Err(HeartbeatError::OtherHead);
        }
        heads.push((head, bytes.to_vec()));
    }
    Ok(heads)
}
