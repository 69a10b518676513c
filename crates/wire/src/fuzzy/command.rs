//! What a client asks, once it is in the clear.

use thiserror::Error;

use super::{DATAGRAM_BYTES_MAX, Digest, SHINGLES};

/// The low bits of the first byte are the version. Newer clients say with the others what more they understand.
const VERSION_MASK: u8 = 0x0f;
/// Before this version commands had no extensions, and replies no digest.
pub(super) const VERSION_WITH_EXTENSIONS: u8 = 4;
/// Versions that are understood.
pub(super) const VERSIONS: std::ops::RangeInclusive<u8> = 3..=5;

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What to do.
    pub action: Action,
    /// The list that it is about; 0 in a check.
    pub flag: u8,
    /// The weight to add; 0 in a check.
    pub value: i32,
    /// A random number that the reply repeats. A retransmission has the same.
    pub tag: u32,
    /// The digest of the text.
    pub digest: Digest,
    /// The shingles of the text, if it was long enough.
    pub shingles: Option<[u64; SHINGLES]>,
    /// How the client wants to be answered.
    pub form: Form,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Is it known?
    Check,
    /// It is, with this flag and weight.
    Write,
    /// It is not.
    Delete,
    /// How many are known?
    Count,
    /// Is there a server?
    Ping,
}

/// How much of a reply a client understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Version 3: no digest and no time.
    Short,
    /// All of it.
    Full,
}

/// Why a datagram is no command. All of them are met with silence, as by rspamd's own storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Too short or too long.
    #[error("a datagram of {0} bytes is no fuzzy command of its kind")]
    Length(usize),
    /// The protocol has no such version.
    #[error("version {0} of the fuzzy protocol is not spoken")]
    Version(u8),
    /// No such command.
    #[error("there is no fuzzy command {0}")]
    Action(u8),
    /// What follows the command is no sequence of extensions.
    #[error("there is no fuzzy extension {0:#x} of that length")]
    Extension(u8),
    /// The key is another, or the bytes were changed.
    #[error("the command was not sealed for this key")]
    Seal,
}

impl Command {
    /// Reads a command in the clear. Its extensions, which say who sent the mail, are checked and not kept.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, CommandError> {
        let wrong_length = CommandError::Length(bytes.len());
        if bytes.len() > DATAGRAM_BYTES_MAX {
            return Err(wrong_length);
        }
        let ([version, action, shingles, flag], rest) = bytes.split_first_chunk().ok_or(wrong_length)?;
        let (value, rest) = rest.split_first_chunk().ok_or(wrong_length)?;
        let (tag, rest) = rest.split_first_chunk().ok_or(wrong_length)?;
        let (digest, rest) = rest.split_first_chunk().ok_or(wrong_length)?;
        let version = version & VERSION_MASK;
        if !VERSIONS.contains(&version) {
            return Err(CommandError::Version(version));
        }
        let (shingles, extensions) = match shingles {
            0 => (None, rest),
            _ => {
                let (block, rest) = rest.split_first_chunk().ok_or(wrong_length)?;
                (Some(shingles_of(block)), rest)
            }
        };
        let form = if version < VERSION_WITH_EXTENSIONS { Form::Short } else { Form::Full };
        match form {
            Form::Short if !extensions.is_empty() => return Err(wrong_length),
            Form::Short => {}
            Form::Full => check_extensions(extensions)?,
        }
        Ok(Self {
            action: Action::from_wire(*action)?,
            flag: *flag,
            value: i32::from_le_bytes(*value),
            tag: u32::from_le_bytes(*tag),
            digest: *digest,
            shingles,
            form,
        })
    }
}

impl Action {
    fn from_wire(number: u8) -> Result<Self, CommandError> {
        match number {
            0 => Ok(Self::Check),
            1 => Ok(Self::Write),
            2 => Ok(Self::Delete),
            3 => Ok(Self::Count),
            4 => Ok(Self::Ping),
            _ => Err(CommandError::Action(number)),
        }
    }

    pub(super) fn to_wire(self) -> u8 {
        match self {
            Self::Check => 0,
            Self::Write => 1,
            Self::Delete => 2,
            Self::Count => 3,
            Self::Ping => 4,
        }
    }
}

fn shingles_of(block: &[u8; 8 * SHINGLES]) -> [u64; SHINGLES] {
    let mut shingles = [0; SHINGLES];
    for (shingle, bytes) in shingles.iter_mut().zip(block.as_chunks().0) {
        *shingle = u64::from_le_bytes(*bytes);
    }
    shingles
}

/// Walks over all extensions. Those of the upper half are for newer servers, and may be skipped.
fn check_extensions(mut bytes: &[u8]) -> Result<(), CommandError> {
    while let Some((kind, rest)) = bytes.split_first() {
        let wrong = CommandError::Extension(*kind);
        let (length, rest) = match kind {
            b'4' => (4, rest),
            b'6' => (16, rest),
            b'd' | 0x80.. => {
                rest.split_first().map(|(length, rest)| (usize::from(*length), rest)).ok_or(wrong)?
            }
            _ => return Err(wrong),
        };
        bytes = rest.get(length..).ok_or(wrong)?;
    }
    Ok(())
}
