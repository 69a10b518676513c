//! What engine 4 depends on besides the text: a seed and a separator, both chosen by a server.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The parameters of engine 4, in text `seed-byte` or `seed-byte-byte...`, as in `7542-10`.
///
/// A server tells its clients which to use. Signatures made with others do not match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ep4 {
    pub(super) seed: u64,
    /// At least one byte.
    pub(super) separator: Vec<u8>,
}

/// Bytes of a separator. The client's default is one; a separator of many would hardly ever be found.
const SEPARATOR_BYTES_MAX: usize = 16;

/// Why a text does not say the parameters of engine 4.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ep4Error {
    /// The seed is not a number, or it is 0, with which the client makes no signatures.
    #[error("{0:?}: the seed, before the first dash, is not a number above 0")]
    Seed(String),
    /// There is no separator.
    #[error("{0:?}: a dash and the number of a byte must follow the seed, as in 7542-10")]
    NoSeparator(String),
    /// A byte of the separator is not a number from 0 to 255.
    #[error("{0:?}: {1:?} is not a byte from 0 to 255")]
    Byte(String, String),
    /// The separator is longer than any client needs.
    #[error("{0:?}: a separator has at most {SEPARATOR_BYTES_MAX} bytes")]
    TooLong(String),
}

impl Ep4 {
    /// The seed of the numbers that choose what is hashed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What the text is split at.
    pub fn separator(&self) -> &[u8] {
        &self.separator
    }
}

/// `7542-10`, which the client uses if no server says otherwise.
impl Default for Ep4 {
    fn default() -> Self {
        Self { seed: 7542, separator: vec![b'\n'] }
    }
}

impl fmt::Display for Ep4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        self.separator.iter().try_for_each(|byte| write!(f, "-{byte}"))
    }
}

impl FromStr for Ep4 {
    type Err = Ep4Error;

    fn from_str(text: &str) -> Result<Self, Ep4Error> {
        let (seed, separator) = text.split_once('-').ok_or_else(|| Ep4Error::NoSeparator(text.to_owned()))?;
        let seed = number(seed).filter(|&seed| seed > 0).ok_or_else(|| Ep4Error::Seed(text.to_owned()))?;
        let mut bytes = Vec::new();
        for byte in separator.split('-') {
            if bytes.len() == SEPARATOR_BYTES_MAX {
                return Err(Ep4Error::TooLong(text.to_owned()));
            }
            let value = number(byte).and_then(|value| u8::try_from(value).ok());
            bytes.push(value.ok_or_else(|| Ep4Error::Byte(text.to_owned(), byte.to_owned()))?);
        }
        Ok(Self { seed, separator: bytes })
    }
}

/// Digits only: no sign, no white space.
fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for text in ["7542-10", "1-0", "99991-42-10-13", "18446744073709551615-255"] {
            assert_eq!(text.parse::<Ep4>().map(|ep4| ep4.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("7542-10".parse(), Ok(Ep4::default()));
    }

    #[test]
    fn wrong_texts_are_named() {
        let wrong = |text: &str| text.parse::<Ep4>().expect_err(text).to_string();
        assert_eq!(
            wrong("7542"),
            "\"7542\": a dash and the number of a byte must follow the seed, as in 7542-10"
        );
        assert_eq!(wrong("x-10"), "\"x-10\": the seed, before the first dash, is not a number above 0");
        assert_eq!(wrong("0-10"), "\"0-10\": the seed, before the first dash, is not a number above 0");
        assert_eq!(wrong("-10"), "\"-10\": the seed, before the first dash, is not a number above 0");
        assert_eq!(wrong("1-256"), "\"1-256\": \"256\" is not a byte from 0 to 255");
        assert_eq!(wrong("1-"), "\"1-\": \"\" is not a byte from 0 to 255");
        assert_eq!(wrong("1-+1"), "\"1-+1\": \"+1\" is not a byte from 0 to 255");
        let long = format!("1{}", "-10".repeat(17));
        assert_eq!(wrong(&long), format!("{long:?}: a separator has at most 16 bytes"));
    }
}
