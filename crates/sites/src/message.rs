//! Messages: what a site publishes of its streams, each with the value of the chain after it.
//!
//! The *head* is signed and has a length of its own; the payload, a list of items, stands behind it and is bound to it
//! by a digest. So a head proves how far a site was without the payload that led there. A message without payload is a
//! *head alone*: it says again how far the site is.

use crate::chain::Chain;
use crate::digest::{Digest, Domain};
use crate::error::{FormatError, at_most, number};
use crate::form::{Field, Reader, Tag, form};
use crate::key::{AdminKey, KEY_BYTES, SIGNATURE_BYTES, SiteSecret};
use crate::number::{Incarnation, Sequence};
use crate::roster::Roster;

pub use crate::number::SEQUENCE_MAX;
pub use crate::stream::{Stream, StreamId};

pub(crate) const TAG: Tag = *b"seenit message v1   ";

const PAYLOAD: Domain = *b"seenit payload v1               ";

/// Bytes of a head with its signature.
pub const HEAD_BYTES: usize = 20 + 2 * KEY_BYTES + 8 + 1 + 8 + 4 * 8 + 32 + 4 + 32 + SIGNATURE_BYTES;

/// The largest message, its payload included. The broker's own limit is a million by default; half of it leaves room
/// for what is put around, and a lost message is not much to send again.
pub const MESSAGE_BYTES_MAX: usize = 512_000;

/// The largest payload.
pub const PAYLOAD_BYTES_MAX: usize = MESSAGE_BYTES_MAX - HEAD_BYTES;

/// What a site says of one of its streams: it has got from one item to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The incarnation of the site's data folder.
    pub incarnation: Incarnation,
    /// The stream.
    pub stream: Stream,
    /// The last item before the payload.
    pub previous: Sequence,
    /// The chain after it.
    pub at: Chain,
    /// The number of the manifest under which the items were made; 0 for none. Records need none.
    pub manifest: u64,
    /// When the site says so, by its own clock.
    pub time_secs: u64,
}

/// A signed head, checked in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    network: AdminKey,
    /// Of which stream.
    pub id: StreamId,
    /// The sequence that it follows: it applies to whoever has that much, or more, but not all of it.
    pub previous: Sequence,
    /// How many items there are after it.
    pub sequence: Sequence,
    /// The number of the manifest under which they were made.
    pub manifest: u64,
    /// When the site said so, by its own clock.
    pub time_secs: u64,
    /// The value of the chain over all of them.
    pub value: Digest,
    payload_bytes: u32,
    payload: Digest,
    signature: [u8; SIGNATURE_BYTES],
}

form!(Head {
    network,
    id,
    previous,
    sequence,
    manifest,
    time_secs,
    value,
    payload_bytes,
    payload,
    signature,
});

impl Head {
    /// Signs what a site says, with a payload or for a head alone.
    pub fn sign(
        site: &SiteSecret,
        network: &AdminKey,
        statement: Statement,
        payload: &[u8],
    ) -> Result<Self, FormatError> {
        let Statement { incarnation, stream, previous, at, manifest, time_secs } = statement;
        at_most("bytes of payload", payload.len(), PAYLOAD_BYTES_MAX)?;
        let mut head = Head {
            network: *network,
            id: StreamId { site: site.public(), incarnation, stream },
            previous,
            sequence: at.sequence,
            manifest,
            time_secs,
            value: at.value,
            payload_bytes: payload.len() as u32,
            payload: Digest::of(&PAYLOAD, &[payload]),
            signature: [0; SIGNATURE_BYTES],
        };
        head.check()?;
        head.signature = site.signature(head.bytes().get(..HEAD_BYTES - SIGNATURE_BYTES).unwrap_or_default());
        Ok(head)
    }

    /// Reads a head of a member of this roster: [`HEAD_BYTES`], no more and no less.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, FormatError> {
        let head = Head::reread(bytes, roster)?;
        Reader::untagged(bytes).of_members(roster).signed_by(&head.id.site)?;
        Ok(head)
    }

    /// The same of a head that was checked before: who signed it is not looked at again.
    pub fn reread(bytes: &[u8], roster: &Roster) -> Result<Self, FormatError> {
        let mut rest = Reader::new(bytes, &TAG, HEAD_BYTES)?.of_members(roster);
        let head: Head = rest.get()?;
        rest.end()?;
        head.check()?;
        Ok(head)
    }

    /// The signed bytes and their signature.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        TAG.write(&mut bytes);
        self.write(&mut bytes);
        bytes
    }

    /// Whether it has no payload: it only says again where the site is.
    pub fn is_alone(&self) -> bool {
        self.payload_bytes == 0
    }

    /// The chain after it.
    pub fn chain(&self) -> Chain {
        Chain { sequence: self.sequence, value: self.value }
    }

    /// A payload leads forward, and a head alone nowhere; and there is one digest of nothing.
    fn check(&self) -> Result<(), FormatError> {
        let Head { previous, sequence, .. } = *self;
        let payload = self.payload_bytes as usize;
        at_most("bytes of payload", payload, PAYLOAD_BYTES_MAX)?;
        sequence.check()?;
        if self.manifest == 0 && self.id.stream != Stream::Records {
            return Err(number("sightings under manifest", 0, "they mean nothing without a hash key"));
        }
        let leads = if self.is_alone() { previous == sequence } else { previous < sequence };
        if !leads {
            let previous = previous.0;
            let sequence = sequence.0;
            return Err(FormatError::LeadsNowhere { payload, previous, sequence });
        }
        if self.is_alone() { self.check_payload(&[]) } else { Ok(()) }
    }

    /// Whether this is the payload that the head was signed with.
    fn check_payload(&self, payload: &[u8]) -> Result<(), FormatError> {
        let mut rest = Reader::untagged(payload);
        rest.run(self.payload_bytes as usize)?;
        rest.end()?;
        let found = Digest::of(&PAYLOAD, &[payload]);
        if found == self.payload {
            return Ok(());
        }
        Err(FormatError::OtherPayload { expected: self.payload, found })
    }
}

/// A message, checked in full. It borrows its payload: a list of records, or of deltas of sightings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What is signed.
    pub head: Head,
    /// What it carries.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// The bytes of a message.
    pub fn sign(
        site: &SiteSecret,
        network: &AdminKey,
        statement: Statement,
        payload: &[u8],
    ) -> Result<Vec<u8>, FormatError> {
        let mut bytes = Head::sign(site, network, statement, payload)?.bytes();
        bytes.extend_from_slice(payload);
        Ok(bytes)
    }

    /// Reads a message of a member of this roster. All of it is checked.
    pub fn decode(bytes: &'a [u8], roster: &Roster) -> Result<Self, FormatError> {
        at_most("bytes", bytes.len(), MESSAGE_BYTES_MAX)?;
        let (head, payload) = bytes.split_at_checked(HEAD_BYTES).ok_or(FormatError::Cut)?;
        let head = Head::decode(head, roster)?;
        head.check_payload(payload)?;
        Ok(Message { head, payload })
    }

    /// Reads a message that was checked when it came, and kept since: who signed it is not looked at again.
    pub fn reread(bytes: &'a [u8], roster: &Roster) -> Result<Self, FormatError> {
        let (head, payload) = bytes.split_at_checked(HEAD_BYTES).ok_or(FormatError::Cut)?;
        Ok(Message { head: Head::reread(head, roster)?, payload })
    }
}
