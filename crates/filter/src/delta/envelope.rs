//! The 64 bytes before every payload: what the delta is, what it belongs to, and a checksum of all of it.

use std::fmt;

use super::DeltaError;
use crate::file;

/// The version this release writes and reads.
pub(crate) const DELTA_VERSION: u8 = 1;
/// Bytes before the payload.
pub const ENVELOPE_BYTES: usize = 64;

/// The first byte is no text, as that of filter files.
pub(crate) const MAGIC: [u8; 6] = *b"\x89delta";
/// Where the checksum lies.
const CHECKSUM_AT: usize = 48;

/// The first 16 bytes of a BLAKE3 digest: enough that nobody meets two alike by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct ShortDigest(pub [u8; 16]);

impl ShortDigest {
    /// The first half of a whole digest.
    pub(crate) fn of(digest: &[u8; 32]) -> Self {
        ShortDigest(std::array::from_fn(|i| digest[i]))
    }
}

impl fmt::Display for ShortDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a delta is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// Bits that were set, in a filter that only grows.
    BitGain,
    /// Increments of cells that only grow, in sequence.
    CountGain,
    /// What to change in one file to have another.
    Diff,
}

impl DeltaKind {
    /// What messages call it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            DeltaKind::BitGain => "a gain of bits",
            DeltaKind::CountGain => "a gain of counts",
            DeltaKind::Diff => "a diff of files",
        }
    }

    fn code(self) -> u8 {
        match self {
            DeltaKind::BitGain => 1,
            DeltaKind::CountGain => 2,
            DeltaKind::Diff => 3,
        }
    }

    fn from_code(code: u8) -> Result<Self, DeltaError> {
        [DeltaKind::BitGain, DeltaKind::CountGain, DeltaKind::Diff]
            .into_iter()
            .find(|kind| kind.code() == code)
            .ok_or(DeltaError::UnknownKind(code))
    }
}

/// The fields before the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What the delta is.
    pub kind: DeltaKind,
    /// What it starts from: the digest of the old file; for gains of counts, of their kind.
    pub old: ShortDigest,
    /// What it leads to: the digest of the new file. For gains of counts the number in the sequence, then zeros.
    pub new: ShortDigest,
}

impl Envelope {
    /// The whole delta.
    pub(super) fn seal(&self, payload: &[u8]) -> Vec<u8> {
        let mut delta = Vec::with_capacity(ENVELOPE_BYTES + payload.len());
        delta.extend_from_slice(&MAGIC);
        delta.extend_from_slice(&[DELTA_VERSION, self.kind.code()]);
        delta.extend_from_slice(&self.old.0);
        delta.extend_from_slice(&self.new.0);
        delta.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        delta.extend_from_slice(&[0; ENVELOPE_BYTES - CHECKSUM_AT]);
        delta.extend_from_slice(payload);
        let checksum = checksum(&delta);
        delta[CHECKSUM_AT..ENVELOPE_BYTES].copy_from_slice(&checksum.0);
        delta
    }

    /// Opens a delta: its fields and its payload. Nothing but magic and version is believed before the checksum is.
    pub(crate) fn open(delta: &[u8]) -> Result<(Self, &[u8]), DeltaError> {
        let found = delta.len() as u64;
        if delta.starts_with(&file::MAGIC) {
            return Err(DeltaError::FilterFile);
        }
        if !delta.starts_with(&MAGIC[..delta.len().min(MAGIC.len())]) {
            return Err(DeltaError::Magic);
        }
        let (head, payload) = delta
            .split_at_checked(ENVELOPE_BYTES)
            .ok_or(DeltaError::Length { expected: ENVELOPE_BYTES as u64, found })?;
        if head[6] != DELTA_VERSION {
            return Err(DeltaError::Version { found: head[6], known: DELTA_VERSION });
        }
        let length = u64::from_le_bytes(std::array::from_fn(|i| head[40 + i]));
        if length != payload.len() as u64 {
            let expected = length.saturating_add(ENVELOPE_BYTES as u64);
            return Err(DeltaError::Length { expected, found });
        }
        if checksum(delta).0 != head[CHECKSUM_AT..] {
            return Err(DeltaError::Checksum);
        }
        let short = |at: usize| ShortDigest(std::array::from_fn(|i| head[at + i]));
        let envelope = Envelope { kind: DeltaKind::from_code(head[7])?, old: short(8), new: short(24) };
        Ok((envelope, payload))
    }

    /// The same for a delta of one kind only.
    pub(super) fn open_as(kind: DeltaKind, delta: &[u8]) -> Result<(Self, &[u8]), DeltaError> {
        let (envelope, payload) = Self::open(delta)?;
        if envelope.kind != kind {
            return Err(DeltaError::Kind { found: envelope.kind.as_str(), expected: kind.as_str() });
        }
        Ok((envelope, payload))
    }
}

/// Covers everything but itself.
fn checksum(delta: &[u8]) -> ShortDigest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&delta[..CHECKSUM_AT]).update(&delta[ENVELOPE_BYTES..]);
    ShortDigest::of(hasher.finalize().as_bytes())
}
