//! Passwords, and the signatures that are made with them.

use std::fmt;

use md5::{Digest, Md5};
use subtle::ConstantTimeEq;
use thiserror::Error;
use zeroize::Zeroizing;

use super::SIGNATURE_BYTES;

/// Passwords are padded with zeros to this length, so none is longer.
const PASSWORD_BYTES: usize = 32;

/// The secret of a client or of a server. Overwritten when it is dropped.
#[derive(Clone)]
pub struct Password(Zeroizing<[u8; PASSWORD_BYTES]>);

/// Why a text is no password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PasswordError {
    /// It has no or too many bytes.
    #[error("a DCC password has 1 to {PASSWORD_BYTES} bytes, not {0}")]
    Length(usize),
    /// It has a character that a line of DCC's own files could not have.
    #[error("a DCC password has no blanks and no control characters")]
    Blank,
}

impl Password {
    /// The password of that text.
    pub fn new(text: &str) -> Result<Self, PasswordError> {
        if text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return Err(PasswordError::Blank);
        }
        let mut padded = Zeroizing::new([0; PASSWORD_BYTES]);
        match padded.get_mut(..text.len()) {
            Some(place) if !text.is_empty() => place.copy_from_slice(text.as_bytes()),
            _ => return Err(PasswordError::Length(text.len())),
        }
        Ok(Self(padded))
    }

    /// The signature of a packet.
    pub(super) fn sign(&self, packet: &[u8]) -> [u8; SIGNATURE_BYTES] {
        keyed(self.0.as_slice(), packet)
    }

    /// Whether the signature is that of the packet. The time that it takes does not tell how much of it was right.
    pub(super) fn has_signed(&self, packet: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        self.sign(packet).ct_eq(signature).into()
    }
}

/// No secret is printed.
impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// The MD5 of a key and a packet, which is what DCC signs with.
pub(super) fn keyed(key: &[u8], packet: &[u8]) -> [u8; SIGNATURE_BYTES] {
    Md5::new().chain_update(key).chain_update(packet).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_1_to_32_bytes_and_no_blanks() {
        assert!(Password::new("s").is_ok());
        assert!(Password::new(&"s".repeat(32)).is_ok());
        assert_eq!(Password::new("").err(), Some(PasswordError::Length(0)));
        assert_eq!(Password::new(&"s".repeat(33)).err(), Some(PasswordError::Length(33)));
        assert_eq!(Password::new("a b").err(), Some(PasswordError::Blank));
        assert_eq!(Password::new("a\0").err(), Some(PasswordError::Blank));
    }

    #[test]
    fn a_password_is_not_printed() {
        let password = Password::new("clntsecret").map(|password| format!("{password:?}"));
        assert_eq!(password.as_deref(), Ok("Password(..)"));
    }
}
