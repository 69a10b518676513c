//! The head of a message: who, of what, from where to where, and the value of the chain there.

use super::{MessageError, PAYLOAD_BYTES_MAX};
use crate::digest::{Digest, Domain};
use crate::form::{self, Bytes, FormError, Tag};
use crate::key::{AdminKey, KEY_BYTES, SIGNATURE_BYTES, SiteKey};
use crate::number::{Generation, Incarnation, Sequence};
use crate::roster::Roster;

pub(crate) const TAG: Tag = *b"seenit message v1   ";

const PAYLOAD: Domain = *b"seenit payload v1               ";

/// Bytes of a head with its signature.
pub const HEAD_BYTES: usize = 20 + 2 * KEY_BYTES + 8 + 1 + 8 + 4 * 8 + 32 + 4 + 32 + SIGNATURE_BYTES;

/// The greatest sequence: a record a microsecond for two thousand years. A member that signs more lies, and sums of
/// sequences need not be looked at for what does not fit.
pub const SEQUENCE_MAX: u64 = 1 << 56;

/// What is published, each with a sequence of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// The log of records.
    Records,
    /// Own sightings of a generation.
    Sightings {
        /// The generation.
        generation: Generation,
    },
}

/// Where a site is in one of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The incarnation of the site's data folder.
    pub incarnation: Incarnation,
    /// The stream.
    pub stream: Stream,
    /// How many records, or deltas of this generation, there were so far in this incarnation.
    pub sequence: Sequence,
    /// The number of the manifest under which they were made. Records are made under none, 0, before
    /// there is one.
    pub manifest: u64,
    /// The value of the chain over all of them.
    pub value: Digest,
    /// When the site said so, by its own clock.
    pub time_secs: u64,
}

/// A signed head, checked in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    network: AdminKey,
    site: SiteKey,
    state: State,
    previous: Sequence,
    payload_bytes: u32,
    payload: Digest,
}

impl Head {
    pub(super) fn new(
        network: AdminKey,
        site: SiteKey,
        state: State,
        previous: Sequence,
        payload: &[u8],
    ) -> Result<Self, MessageError> {
        let length = payload.len();
        if length > PAYLOAD_BYTES_MAX {
            return Err(MessageError::Payload(length));
        }
        let payload = Digest::of(&PAYLOAD, &[payload]);
        let head = Head { network, site, state, previous, payload_bytes: length as u32, payload };
        head.checked()
    }

    /// Reads a head of a member of this roster: [`HEAD_BYTES`], no more and no less.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, MessageError> {
        let head = Head::reread(bytes, roster)?;
        roster.check_signature(bytes, &head.site)?;
        Ok(head)
    }

    /// The same of a head that was checked before: who signed it is not looked at again.
    pub(crate) fn reread(bytes: &[u8], roster: &Roster) -> Result<Self, MessageError> {
        form::at_most(bytes, HEAD_BYTES)?;
        let mut rest = Bytes(bytes);
        rest.tag(&TAG)?;
        let site = roster.signer(&mut rest)?;
        let incarnation = Incarnation(rest.u64()?);
        let stream = Stream::decode(&mut rest)?;
        let (previous, sequence) = (Sequence(rest.u64()?), Sequence(rest.u64()?));
        let (manifest, time_secs) = (rest.u64()?, rest.u64()?);
        let value = Digest(rest.array()?);
        let (payload_bytes, payload) = (rest.u32()?, Digest(rest.array()?));
        rest.run(SIGNATURE_BYTES)?;
        rest.end()?;
        let state = State { incarnation, stream, sequence, manifest, value, time_secs };
        Head { network: *roster.network(), site, state, previous, payload_bytes, payload }.checked()
    }

    /// Appends all that is signed.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let State { incarnation, stream, sequence, manifest, value, time_secs } = self.state;
        let (code, generation) = stream.code();
        out.extend(TAG);
        out.extend(self.network.to_bytes());
        out.extend(self.site.to_bytes());
        out.extend(incarnation.0.to_le_bytes());
        out.push(code);
        for number in [generation, self.previous.0, sequence.0, manifest, time_secs] {
            out.extend(number.to_le_bytes());
        }
        out.extend(value.0);
        out.extend(self.payload_bytes.to_le_bytes());
        out.extend(self.payload.0);
    }

    /// A payload leads forward, and a head alone nowhere; and there is one digest of nothing.
    fn checked(self) -> Result<Self, MessageError> {
        let (previous, sequence, payload) = (self.previous, self.state.sequence, self.payload_bytes as usize);
        if payload > PAYLOAD_BYTES_MAX {
            return Err(MessageError::Payload(payload));
        }
        check_sequence(sequence)?;
        if self.state.manifest == 0 && self.state.stream != Stream::Records {
            return Err(MessageError::NoManifest);
        }
        let leads = if payload == 0 { previous == sequence } else { previous < sequence };
        if !leads {
            return Err(MessageError::Sequence { payload, previous: previous.0, sequence: sequence.0 });
        }
        if payload == 0 {
            self.check_payload(&[])?;
        }
        Ok(self)
    }

    /// Whether this is the payload that the head was signed with.
    pub(super) fn check_payload(&self, payload: &[u8]) -> Result<(), MessageError> {
        let expected = self.payload_bytes as usize;
        if payload.len() < expected {
            return Err(FormError::Cut.into());
        }
        if payload.len() > expected {
            return Err(FormError::Surplus(payload.len() - expected).into());
        }
        let found = Digest::of(&PAYLOAD, &[payload]);
        if found != self.payload {
            return Err(MessageError::OtherPayload { expected: self.payload, found });
        }
        Ok(())
    }

    /// Who says it.
    pub fn site(&self) -> &SiteKey {
        &self.site
    }

    /// Which network it is of.
    pub fn network(&self) -> &AdminKey {
        &self.network
    }

    /// Where the site is after it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The sequence that it follows: it applies to whoever has that much, or more, but not all of it.
    pub fn previous(&self) -> Sequence {
        self.previous
    }
}

/// Refuses sequences that nobody can have got to.
pub(crate) fn check_sequence(sequence: Sequence) -> Result<Sequence, MessageError> {
    if sequence.0 <= SEQUENCE_MAX { Ok(sequence) } else { Err(MessageError::Endless(sequence.0)) }
}

/// A stream of one incarnation of a site.
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
        let State { incarnation, stream, .. } = head.state;
        StreamId { site: head.site, incarnation, stream }
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

impl Stream {
    /// Its number and generation in bytes; records have none, 0.
    pub(crate) fn code(self) -> (u8, u64) {
        match self {
            Stream::Records => (1, 0),
            Stream::Sightings { generation } => (3, generation.0),
        }
    }

    pub(crate) fn decode(rest: &mut Bytes<'_>) -> Result<Self, MessageError> {
        match (rest.u8()?, rest.u64()?) {
            (1, 0) => Ok(Stream::Records),
            (1, generation) => Err(MessageError::Generation(generation)),
            // 2 was cells of seen counts, which travel no more.
            (3, generation) => Ok(Stream::Sightings { generation: Generation(generation) }),
            (code, _) => Err(MessageError::Stream(code)),
        }
    }
}

impl Roster {
    /// The member whose key stands behind this network's, where whatever sites sign has both.
    pub(crate) fn signer(&self, bytes: &mut Bytes<'_>) -> Result<SiteKey, MessageError> {
        let (network, site) = (bytes.array()?, bytes.array()?);
        if network != self.network().to_bytes() {
            let found = hex::encode(network);
            return Err(MessageError::OtherNetwork { expected: *self.network(), found });
        }
        self.key_of(&site).ok_or_else(|| MessageError::NoMember(hex::encode(site)))
    }
}
