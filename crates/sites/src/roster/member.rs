//! One site in a roster: who it is, what people call it, and how far it is believed.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::error::FormatError;
use crate::form::{Field, Reader, form};
use crate::key::{SealingKey, SiteKey};

/// The longest name: that of a label of the DNS, and of a column that still fits a table.
pub const NAME_BYTES_MAX: usize = 63;

/// A member without its name: two keys, three caps, the length of the name.
pub(super) const MEMBER_BYTES: usize = 32 + 32 + 4 + 4 + 8 + 1;

/// One site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who it is.
    pub site: SiteKey,
    /// What secrets are sealed to it with.
    pub sealing: SealingKey,
    /// What people call it.
    pub name: Name,
    /// How far it is believed.
    pub caps: Caps,
}

/// The most that a site's word adds to anything anywhere else, whatever it says. 0: it is not believed at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Points of spam, of all its reporters together, on one signature.
    pub spam: u32,
    /// Points of ham, likewise.
    pub ham: u32,
    /// Recipients of one signature that it counts for, in a generation.
    pub seen: u64,
}

/// What people call a site: letters in lower case, digits, and `-` or `.` between them. It goes into logs, metrics
/// and names of files as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// Empty, or too long.
    #[error("a name has 1 to {NAME_BYTES_MAX} letters, not {0}")]
    Length(usize),
    /// A letter that no name has.
    #[error("a name has letters a to z, digits, '-' and '.', but not {0:?}")]
    Letter(char),
    /// It begins or ends with a mark.
    #[error("the name {0:?} does not begin and end with a letter or digit")]
    Edge(String),
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if !(1..=NAME_BYTES_MAX).contains(&text.len()) {
            return Err(NameError::Length(text.len()));
        }
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if let Some(letter) = text.chars().find(|&letter| !plain(letter) && !matches!(letter, '-' | '.')) {
            return Err(NameError::Letter(letter));
        }
        if !(text.starts_with(plain) && text.ends_with(plain)) {
            return Err(NameError::Edge(text.to_owned()));
        }
        Ok(Name(text.to_owned()))
    }
}

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

form!(Member { site, sealing, caps, name });
form!(Caps { spam, ham, seen });

impl Field for Name {
    fn write(&self, out: &mut Vec<u8>) {
        // A name's length fits by its making.
        (self.0.len() as u8).write(out);
        out.extend(self.0.as_bytes());
    }

    fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError> {
        let length: u8 = rest.get()?;
        // What is no UTF-8 has a letter that no name has, and that is what the error says.
        Ok(String::from_utf8_lossy(rest.run(length.into())?).parse()?)
    }
}
