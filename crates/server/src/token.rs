//! API tokens: 256 random bits as text for whoever holds them, a SHA-256 for us.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// What every token begins with, so that people and scanners know one when they see it.
pub const PREFIX: &str = "seenit_";

/// The bytes of a token as text: room for all of them at once, so that none is left behind where it grew.
const TOKEN_BYTES: usize = PREFIX.len() + 43;

/// A token, on its way to whoever will hold it. Overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<String>);

/// What is kept of a token. Equal hashes are equal tokens; nobody finds the token from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl Token {
    /// A new one. Fails where the system has no randomness.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bits = Zeroizing::new([0; 32]);
        getrandom::fill(bits.as_mut_slice())?;
        let mut text = Zeroizing::new(String::with_capacity(TOKEN_BYTES));
        text.push_str(PREFIX);
        URL_SAFE_NO_PAD.encode_string(bits.as_slice(), &mut text);
        Ok(Token(text))
    }

    /// The text to show, once.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.0.as_bytes())
    }
}

/// Not the token: logs are read by others.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl TokenHash {
    /// The hash of a text that may be a token. Lookups by hash tell a guesser nothing about where a guess went wrong.
    pub fn of(text: &[u8]) -> Self {
        TokenHash(Sha256::digest(text).into())
    }

    pub(crate) fn to_hex(self) -> String {
        const_hex::encode(self.0)
    }

    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        const_hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(TokenHash(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_never_the_same_and_not_shown_by_accident() {
        let one = Token::random().expect("random");
        let other = Token::random().expect("random");
        assert_eq!(one.as_str().len(), PREFIX.len() + 43);
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "Token(..)");
        assert_eq!(TokenHash::from_hex(&one.hash().to_hex()), Some(one.hash()));
        assert_ne!(one.hash(), other.hash());
    }
}
