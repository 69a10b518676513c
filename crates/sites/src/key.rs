//! Keys. A site *is* its public key, and a network is its admin's.
//!
//! Both sign with Ed25519. That one is a site's and the other an admin's is part of their types, so that neither
//! stands where the other should. In text a key is 64 hexadecimal digits in lower case, because the ids of a site's
//! records begin with half of them.

mod sealing;

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::str::FromStr;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use thiserror::Error;

pub use sealing::{SealingKey, SealingSecret};

/// Bytes of a key, public or secret.
pub const KEY_BYTES: usize = 32;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Whose a key can be.
pub trait Role: Copy + Ord + Hash + fmt::Debug {
    /// In words.
    const NAME: &'static str;
}

/// A site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {}

/// The admin of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Admin {}

/// A site or an admin, where the broker asks who connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Broker {}

impl Role for Site {
    const NAME: &'static str = "site";
}

impl Role for Admin {
    const NAME: &'static str = "admin";
}

impl Role for Broker {
    const NAME: &'static str = "broker";
}

/// What a site is.
pub type SiteKey = PublicKey<Site>;
/// What a network is.
pub type AdminKey = PublicKey<Admin>;
/// What the broker knows somebody by.
pub type BrokerKey = PublicKey<Broker>;
/// What makes a site this site.
pub type SiteSecret = SecretKey<Site>;
/// What makes an admin this admin.
pub type AdminSecret = SecretKey<Admin>;

/// What somebody proves to the broker with who they are.
pub type BrokerSecret = SecretKey<Broker>;

/// How secrets for the broker are derived. Its first name stays in them: another would be another key.
const SITE_BROKER_CONTEXT: &str = "seenit 2026 engine key of a site v1";
const ADMIN_BROKER_CONTEXT: &str = "seenit 2026 engine key of an admin v1";

impl SecretKey<Site> {
    /// The key for the broker: another one, because a broker has whatever it likes signed to see who connects, and
    /// what it likes could be a message between sites.
    pub fn broker_key(&self) -> BrokerSecret {
        BrokerSecret::from_bytes(blake3::derive_key(SITE_BROKER_CONTEXT, self.key.as_bytes()))
    }
}

impl SecretKey<Admin> {
    /// The key for the broker, which is another one for the same reason.
    pub fn broker_key(&self) -> BrokerSecret {
        BrokerSecret::from_bytes(blake3::derive_key(ADMIN_BROKER_CONTEXT, self.key.as_bytes()))
    }
}

/// Why a text or bytes are no key. The text is not repeated: it may be a secret in the wrong place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Too long or too short.
    #[error("a key is {digits} hexadecimal digits, not {0}", digits = 2 * KEY_BYTES)]
    Length(usize),
    /// Not a digit, or one in upper case, which would be a second text of the same key.
    #[error("{0:?} is no hexadecimal digit in lower case")]
    Letter(char),
    /// No point of the curve.
    #[error("it is no public key of Ed25519")]
    NoPoint,
    /// One with which a signature fits nearly every message.
    #[error("it is a weak key: anybody could sign for it")]
    Weak,
    /// Bytes that are a second form of a key.
    #[error("it is another form of a key that has one form only")]
    OtherForm,
}

/// The public half of a key pair, known to be a sound one. Kept as bytes, by which members of a roster are sorted:
/// the point takes six times the room, and finding it again costs little beside checking a signature.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey<R: Role> {
    bytes: [u8; KEY_BYTES],
    role: PhantomData<R>,
}

impl<R: Role> PublicKey<R> {
    /// The key of those bytes, if they are one that nobody but its owner can sign for.
    pub fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::NoPoint)?;
        if key.is_weak() {
            return Err(KeyError::Weak);
        }
        if key.to_edwards().compress().to_bytes() != *bytes {
            return Err(KeyError::OtherForm);
        }
        Ok(PublicKey { bytes: *bytes, role: PhantomData })
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.bytes
    }

    /// Whether this is the owner's signature of those bytes. Strictly: nobody can make a second signature of a first.
    pub(crate) fn verifies(&self, bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        self.verifier().is_some_and(|key| key.verifies(bytes, signature))
    }

    /// The same key for whoever checks many signatures with it.
    pub(crate) fn verifier(&self) -> Option<Verifier> {
        VerifyingKey::from_bytes(&self.bytes).ok().map(Verifier)
    }
}

/// A public key as a point. To work that out of its bytes is a tenth of what checking one signature costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verifier(VerifyingKey);

impl Verifier {
    /// Whether this is the owner's signature of those bytes, strictly.
    pub(crate) fn verifies(&self, bytes: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        self.0.verify_strict(bytes, &Signature::from_bytes(signature)).is_ok()
    }
}

impl<R: Role> fmt::Display for PublicKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.bytes))
    }
}

impl<R: Role> fmt::Debug for PublicKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({self})", R::NAME)
    }
}

impl<R: Role> FromStr for PublicKey<R> {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        PublicKey::from_bytes(&bytes_of(text)?)
    }
}

/// The secret half of a key pair.
#[derive(Clone)]
pub struct SecretKey<R: Role> {
    key: SigningKey,
    role: PhantomData<R>,
}

impl<R: Role> SecretKey<R> {
    /// The key of those bytes, which are to be random.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        SecretKey { key: SigningKey::from_bytes(&bytes), role: PhantomData }
    }

    /// Its bytes, for a file that only its owner reads.
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.key.to_bytes()
    }

    /// The half to give away.
    pub fn public(&self) -> PublicKey<R> {
        PublicKey { bytes: self.key.verifying_key().to_bytes(), role: PhantomData }
    }

    /// The signature of those bytes.
    pub(crate) fn signature(&self, bytes: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.key.sign(bytes).to_bytes()
    }

    /// Appends the signature of all that is there.
    pub(crate) fn sign(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.signature(bytes));
    }
}

/// No secret is printed.
impl<R: Role> fmt::Debug for SecretKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {:?})", self.public())
    }
}

/// Reads 64 digits.
fn bytes_of(text: &str) -> Result<[u8; KEY_BYTES], KeyError> {
    let digit = |letter: &char| letter.is_ascii_digit() || ('a'..='f').contains(letter);
    if let Some(letter) = text.chars().find(|letter| !digit(letter)) {
        return Err(KeyError::Letter(letter));
    }
    let mut bytes = [0; KEY_BYTES];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| KeyError::Length(text.len()))?;
    Ok(bytes)
}
