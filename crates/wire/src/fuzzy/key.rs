//! Keys, and the text in which they are configured.

use std::fmt;

use chacha20::{R20, hchacha};
use thiserror::Error;
use x25519_dalek::StaticSecret;

/// The letters of five bits each. rspamd puts the lowest bits first.
const LETTERS: &[u8; 32] = b"ybndrfg8ejkmcpqxot1uwisza345h769";
/// 32 bytes need so many letters; the last has four bits to spare.
const KEY_LETTERS: usize = 52;

/// Why a text or a key is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Not what `rspamadm keypair` prints.
    #[error("a fuzzy key is {KEY_LETTERS} letters of rspamd's base32, as `rspamadm keypair` prints them")]
    Text,
    /// A point with which every secret gives the same shared key.
    #[error("the client's public key is one that gives no secret")]
    Weak,
}

/// The public half of a key pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key of those bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the text of rspamd's `encryption_key`.
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        decode(text).map(Self)
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// By what a command says which key it is sealed for.
    pub fn id(&self) -> [u8; 8] {
        let mut id = [0; 8];
        id.iter_mut().zip(self.0).for_each(|(place, byte)| *place = byte);
        id
    }
}

/// The text for rspamd's `encryption_key`.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// The secret half of a key pair of this server.
#[derive(Clone)]
pub struct SecretKey {
    secret: StaticSecret,
    public: PublicKey,
}

impl SecretKey {
    /// The key of those bytes, which are to be random.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let secret = StaticSecret::from(bytes);
        let public = PublicKey(x25519_dalek::PublicKey::from(&secret).to_bytes());
        Self { secret, public }
    }

    /// Reads the text of rspamd's `privkey`.
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        decode(text).map(Self::from_bytes)
    }

    /// The text for a file that only this server reads.
    pub fn to_text(&self) -> String {
        encode(self.secret.as_bytes())
    }

    /// The half to give away.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// What this key and the client's have in common. Dear: worth keeping for the client's next command.
    pub fn share(&self, client: &PublicKey) -> Result<SharedKey, KeyError> {
        let shared = self.secret.diffie_hellman(&x25519_dalek::PublicKey::from(client.0));
        if !shared.was_contributory() {
            return Err(KeyError::Weak);
        }
        Ok(SharedKey(hchacha::<R20>(shared.as_bytes().into(), &[0; 16].into()).into()))
    }
}

/// No secret is printed.
impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public)
    }
}

/// What seals packets between this server and one client, both ways.
#[derive(Clone)]
pub struct SharedKey([u8; 32]);

impl SharedKey {
    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// No secret is printed.
impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey(..)")
    }
}

fn encode(key: &[u8; 32]) -> String {
    let mut text = String::with_capacity(KEY_LETTERS);
    let mut bits = 0_u32;
    let mut held = 0;
    for byte in key.iter().chain(&[0]) {
        bits |= u32::from(*byte) << held;
        held += 8;
        while held >= 5 && text.len() < KEY_LETTERS {
            text.extend(LETTERS.get((bits & 31) as usize).map(|letter| char::from(*letter)));
            bits >>= 5;
            held -= 5;
        }
    }
    text
}

fn decode(text: &str) -> Result<[u8; 32], KeyError> {
    if text.len() != KEY_LETTERS {
        return Err(KeyError::Text);
    }
    let mut key = [0; 32];
    let mut places = key.iter_mut();
    let mut bits = 0_u32;
    let mut held = 0;
    for letter in text.bytes() {
        let value = (0_u32..).zip(LETTERS).find(|(_, known)| **known == letter).ok_or(KeyError::Text)?.0;
        bits |= value << held;
        held += 5;
        if held >= 8 {
            *places.next().ok_or(KeyError::Text)? = (bits & 0xff) as u8;
            bits >>= 8;
            held -= 8;
        }
    }
    // A text with anything in the bits to spare would be a second text of the same key.
    if bits == 0 { Ok(key) } else { Err(KeyError::Text) }
}
