//! Messages: what a site publishes of its streams, each with the value of the chain after it.
//!
//! The *head* is signed and has a length of its own; the payload, a list of items, stands behind it and is bound to it
//! by a digest. So a head proves how far a site was without the payload that led there. A message without payload is a
//! *head alone*: it says again how far the site is.

mod head;

use thiserror::Error;

use crate::digest::Digest;
use crate::form::{self, FormError};
use crate::key::{AdminKey, SiteKey, SiteSecret};
use crate::number::Sequence;
use crate::roster::Roster;

pub use head::{HEAD_BYTES, Head, SEQUENCE_MAX, State, Stream, StreamId};
pub(crate) use head::{TAG, check_sequence};

/// The largest message, its payload included. The broker's own limit is a million by default; half of it leaves room
/// for what is put around, and a lost message is not much to send again.
pub const MESSAGE_BYTES_MAX: usize = 512_000;

/// The largest payload.
pub const PAYLOAD_BYTES_MAX: usize = MESSAGE_BYTES_MAX - HEAD_BYTES;

/// Why something is no message of this network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Not even the form, or not signed.
    #[error("no message: {0}")]
    Form(#[from] FormError),
    /// Somebody else's.
    #[error("the message is of network {found}, not of {expected}")]
    OtherNetwork {
        /// The network of the roster.
        expected: AdminKey,
        /// The one it is of.
        found: String,
    },
    /// Of somebody unknown, or of a site that was removed.
    #[error("site {0} is not in the roster")]
    NoMember(String),
    /// There is no such stream.
    #[error("there is no stream {0}")]
    Stream(u8),
    /// Records have no generation of their own.
    #[error("a stream of records of generation {0}: records have none")]
    Generation(u64),
    /// Sightings mean nothing without a hash key.
    #[error("sightings under no manifest")]
    NoManifest,
    /// A message leads forward, and a head alone nowhere.
    #[error("{payload} bytes lead from {previous} to {sequence}")]
    Sequence {
        /// The length of the payload.
        payload: usize,
        /// The state that it follows.
        previous: u64,
        /// The state after it.
        sequence: u64,
    },
    /// Farther than anybody can be.
    #[error("a sequence of {0}: there may be {SEQUENCE_MAX}")]
    Endless(u64),
    /// More than a message may have.
    #[error("a payload of {0} bytes: there may be {PAYLOAD_BYTES_MAX}")]
    Payload(usize),
    /// Not the payload that the head was signed with.
    #[error("the payload has digest {found}, and the head says {expected}")]
    OtherPayload {
        /// What the head says.
        expected: Digest,
        /// What it is.
        found: Digest,
    },
}

/// A message, checked in full. It borrows its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    head: Head,
    bytes: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Makes a message by which the state after `previous` becomes `state`; no payload for a head alone.
    pub fn sign(
        site: &SiteSecret,
        network: &AdminKey,
        state: State,
        previous: Sequence,
        payload: &[u8],
    ) -> Result<Vec<u8>, MessageError> {
        let head = Head::new(*network, site.public(), state, previous, payload)?;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + payload.len());
        head.encode(&mut bytes);
        site.sign(&mut bytes);
        bytes.extend_from_slice(payload);
        Ok(bytes)
    }

    /// Reads a message of a member of this roster. All of it is checked.
    pub fn decode(bytes: &'a [u8], roster: &Roster) -> Result<Self, MessageError> {
        form::at_most(bytes, MESSAGE_BYTES_MAX)?;
        let (head, payload) = bytes.split_at_checked(HEAD_BYTES).ok_or(FormError::Cut)?;
        let head = Head::decode(head, roster)?;
        head.check_payload(payload)?;
        Ok(Message { head, bytes, payload })
    }

    /// Reads a message that was checked when it came, and kept since: who signed it is not looked at again.
    pub fn reread(bytes: &'a [u8], roster: &Roster) -> Result<Self, MessageError> {
        let (head, payload) = bytes.split_at_checked(HEAD_BYTES).ok_or(FormError::Cut)?;
        Ok(Message { head: Head::reread(head, roster)?, bytes, payload })
    }

    /// What is signed.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The signed bytes and their signature: what proves the value to others.
    pub fn head_bytes(&self) -> &'a [u8] {
        self.bytes.get(..HEAD_BYTES).unwrap_or_default()
    }

    /// Who says it.
    pub fn site(&self) -> &SiteKey {
        self.head.site()
    }

    /// What it carries: a list of records, or of deltas of sightings.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Whether it only says again where the site is.
    pub fn is_head_alone(&self) -> bool {
        self.payload.is_empty()
    }
}
