//! Checksums: a kind, and an MD5 that the client made.

use std::fmt;

use super::SUM_BYTES;

/// What a checksum is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum SumKind {
    /// The address of the SMTP client.
    Ip = 1,
    /// The sender that the envelope names.
    EnvFrom = 2,
    /// The header `From`.
    From = 3,
    /// A header of the client's choice, or what it said in HELO.
    Substitute = 4,
    /// The header `Message-ID`.
    MessageId = 5,
    /// The last header `Received`.
    Received = 6,
    /// The whole body.
    Body = 7,
    /// The letters of the body.
    Fuz1 = 8,
    /// The dictionary's words of the body.
    Fuz2 = 9,
    /// The address again: how much mail it sends. Newer clients ask, and are answered that nothing is known.
    ReputationTotal = 10,
    /// The address again: how much of it is bulk.
    ReputationBulk = 11,
}

impl SumKind {
    /// Every kind that a client sends, in the order in which it must send them.
    pub const ALL: [Self; 11] = [
        Self::Ip,
        Self::EnvFrom,
        Self::From,
        Self::Substitute,
        Self::MessageId,
        Self::Received,
        Self::Body,
        Self::Fuz1,
        Self::Fuz2,
        Self::ReputationTotal,
        Self::ReputationBulk,
    ];

    /// The kind of that number on the wire.
    pub fn from_wire(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The name in headers and in whitelists.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ip => "IP",
            Self::EnvFrom => "env_From",
            Self::From => "From",
            Self::Substitute => "substitute",
            Self::MessageId => "Message-ID",
            Self::Received => "Received",
            Self::Body => "Body",
            Self::Fuz1 => "Fuz1",
            Self::Fuz2 => "Fuz2",
            Self::ReputationTotal => "rep-total",
            Self::ReputationBulk => "rep",
        }
    }

    /// Whether a server counts this kind unless told otherwise: those of the body.
    pub fn is_of_the_body(self) -> bool {
        matches!(self, Self::Body | Self::Fuz1 | Self::Fuz2)
    }
}

/// One checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    /// What it is of. The same digest of two kinds is two checksums.
    pub kind: SumKind,
    /// The client's MD5.
    pub digest: [u8; 16],
}

impl Sum {
    /// Reads a type, a length and a digest.
    pub(super) fn from_wire(entry: &[u8; SUM_BYTES]) -> Option<Self> {
        let [kind, length, digest @ ..] = entry;
        (usize::from(*length) == SUM_BYTES).then_some(())?;
        Some(Self { kind: SumKind::from_wire(*kind)?, digest: *digest })
    }
}

/// As clients and servers print it: `Body a06f63df 504229d7 7816c2d6 e558b833`.
impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        for [a, b, c, d] in self.digest.as_chunks().0 {
            write!(f, " {a:02x}{b:02x}{c:02x}{d:02x}")?;
        }
        Ok(())
    }
}

/// The checksums of a request, which lie in the datagram. At most one of each kind, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sums<'a>(&'a [[u8; SUM_BYTES]]);

impl<'a> Sums<'a> {
    /// The checksums of a body, if all of it is checksums that a client may send.
    pub(super) fn from_wire(bytes: &'a [u8]) -> Option<Self> {
        let (entries, rest) = bytes.as_chunks();
        let mut last = None;
        for entry in entries {
            let kind = Some(Sum::from_wire(entry)?.kind);
            (kind > last).then_some(())?;
            last = kind;
        }
        rest.is_empty().then_some(Self(entries))
    }

    /// How many they are, at most [`SUMS_MAX`](super::SUMS_MAX).
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are none. A client may send none, and is answered with none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Sum> + 'a {
        // All were read once already, so none is left out.
        self.0.iter().filter_map(Sum::from_wire)
    }
}
