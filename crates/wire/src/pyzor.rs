//! The protocol of Pyzor: one datagram of header lines asks, one answers.
//!
//! What `pyzord` 1.0.0 does is done here, but for these:
//! * It answers anything, even an empty datagram, and a forged sender could abuse that. A datagram without `Op`, `PV`
//!   or a decimal `Thread`, which no client sends, is [`DecodeError::NotARequest`] here: stay silent.
//! * It stores whatever stands in `Op-Digest`. Here that is 40 hex digits.
//! * It looks at `PV` only after the signature. Here a bad `PV` is found first.
//!
//! As with `pyzord`, of a field that is there twice the first counts, except for `Op-Digest`, and nothing after a line
//! that is no field is read.

mod answer;
mod ask;
mod fields;
mod signing;

pub use answer::{Counts, PyzorAnswer, Refusal, Times};
pub use ask::{Ask, PyzorResponse};
pub use signing::{CLOCK_SECS_MAX, HashedKey, Signature};

use fields::{Field, Fields};
use thiserror::Error;

/// Bytes in the longest datagram: the buffers of `pyzor` and of `pyzord` have this many.
pub const DATAGRAM_BYTES_MAX: usize = 8192;

/// The user whose signature nobody checks.
pub const ANONYMOUS: &str = "anonymous";

/// The digest of a message that has no lines to hash. Clients do send it, and it says nothing about any message.
pub const EMPTY_DIGEST: [u8; 20] = [
    0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef, 0x95, 0x60, 0x18, 0x90, 0xaf,
    0xd8, 0x07, 0x09,
];

/// The part before the dot of the protocol's version, the only one that is compared.
const MAJOR_VERSION: f64 = 2.0;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Are you there?
    Ping,
    /// A check whose answer is always "spam": a self-test.
    Pong,
    /// How often was this digest reported, and how often whitelisted?
    Check,
    /// The same, and when.
    Info,
    /// These digests are spam.
    Report,
    /// These digests are not spam.
    Whitelist,
}

impl Op {
    const ALL: [Self; 6] = [Self::Ping, Self::Pong, Self::Check, Self::Info, Self::Report, Self::Whitelist];

    fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name().as_bytes() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Pong => "pong",
            Self::Check => "check",
            Self::Info => "info",
            Self::Report => "report",
            Self::Whitelist => "whitelist",
        }
    }
}

/// A request. It borrows from its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// What it asks for.
    pub op: Op,
    /// What the answer must repeat.
    pub thread: u16,
    /// The account, or none for the anonymous user. It is only a claim: see [`Request::signature`].
    pub user: Option<&'a str>,
    /// When it was signed, in seconds since 1970.
    pub time: Option<u64>,
    /// How it is signed. With the thread, the time and the sender's address it tells a datagram that was sent twice
    /// from two requests.
    pub sig: Option<[u8; 20]>,
    fields: Fields<'a>,
}

/// Why a datagram is not a request that can be served.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// No client sends this: it deserves no answer.
    #[error("this is not a Pyzor request")]
    NotARequest,
    /// A request, but one to refuse.
    #[error("request {thread} is refused: {refusal}")]
    Refused {
        /// What the answer must repeat.
        thread: u16,
        /// What to answer.
        refusal: Refusal,
    },
}

impl<'a> Request<'a> {
    /// Reads a datagram.
    pub fn decode(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        if datagram.len() > DATAGRAM_BYTES_MAX {
            return Err(DecodeError::NotARequest);
        }
        let fields = Fields::of(datagram);
        let known = Known::of(fields);
        let (Some(op), Some(version), Some(thread)) = (known.op, known.version, known.thread()) else {
            return Err(DecodeError::NotARequest);
        };
        let refused = |refusal| DecodeError::Refused { thread, refusal };
        let user = known.user().map_err(refused)?;
        check_version(version).map_err(refused)?;
        let op = Op::named(op).ok_or(refused(Refusal::Forbidden))?;
        let time = known.time.and_then(decimal);
        let sig = known.sig.and_then(sha1_digest);
        let request = Self { op, thread, user, time, sig, fields };
        if request.digest_fields().any(|field| sha1_digest(field).is_none()) {
            return Err(refused(Refusal::BadDigest));
        }
        Ok(request)
    }

    /// The digests, in their order, repeated ones included. `pyzord` counts all of them for a report or a whitelist;
    /// for the other operations only the first matters.
    pub fn digests(&self) -> impl Iterator<Item = [u8; 20]> + use<'a> {
        self.digest_fields().filter_map(sha1_digest)
    }

    fn digest_fields(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.fields.iter().filter(|field| field.is("Op-Digest")).map(Field::text)
    }
}

/// The values of the fields that matter, each from where it stands first.
#[derive(Default)]
struct Known<'a> {
    op: Option<&'a [u8]>,
    version: Option<&'a [u8]>,
    thread: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    time: Option<&'a [u8]>,
    sig: Option<&'a [u8]>,
}

impl<'a> Known<'a> {
    fn of(fields: Fields<'a>) -> Self {
        let mut known = Self::default();
        for field in fields.iter() {
            let named = [
                ("Op", &mut known.op),
                ("PV", &mut known.version),
                ("Thread", &mut known.thread),
                ("User", &mut known.user),
                ("Time", &mut known.time),
                ("Sig", &mut known.sig),
            ];
            if let Some((_, value)) = named.into_iter().find(|(name, _)| field.is(name)) {
                value.get_or_insert(field.text());
            }
        }
        known
    }

    fn thread(&self) -> Option<u16> {
        self.thread.and_then(decimal)?.try_into().ok()
    }

    /// The account, or none for the anonymous user.
    fn user(&self) -> Result<Option<&'a str>, Refusal> {
        let user = std::str::from_utf8(self.user.unwrap_or_default()).map_err(|_| Refusal::UnknownUser)?;
        Ok(Some(user).filter(|&user| !user.is_empty() && user != ANONYMOUS))
    }
}

/// Only the part before the dot counts: 2.0 is as good as 2.1.
fn check_version(version: &[u8]) -> Result<(), Refusal> {
    let number = std::str::from_utf8(version).ok().and_then(|text| text.parse::<f64>().ok());
    match number.filter(|number| number.is_finite()) {
        None => Err(Refusal::BadVersion),
        Some(number) if number.trunc() != MAJOR_VERSION => Err(Refusal::OtherVersion),
        Some(_) => Ok(()),
    }
}

/// A number without a sign.
fn decimal(text: &[u8]) -> Option<u64> {
    // `parse` would allow a plus.
    let digits =
        std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

/// A digest from its 40 hex digits.
fn sha1_digest(text: &[u8]) -> Option<[u8; 20]> {
    let mut digest = [0; 20];
    hex::decode_to_slice(text, &mut digest).ok().map(|()| digest)
}
