//! The key that secrets are sealed to a site with.
//!
//! It is derived from the site's secret, so that a site still is one secret in one file and a backup of it is whole;
//! but by a one-way function with a name of its own, so that a key that signs never is a key that opens. The public
//! half says nothing of that and stands in the roster beside the site's key: a site that one day keeps its signing
//! key in hardware can have a sealing key of any other origin, and no format changes.

use std::fmt;

use x25519_dalek::StaticSecret;

use super::{KEY_BYTES, SecretKey, Site};
use crate::form::form;

/// How a sealing secret is derived.
const CONTEXT: &str = "seenit 2026 sealing key of a site v1";

/// What secrets are sealed to a site with (X25519).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SealingKey([u8; KEY_BYTES]);

impl SealingKey {
    /// The key of those bytes. Any bytes are one; a weak one is refused when something is to be sealed with it.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        SealingKey(bytes)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.0
    }
}

form!(SealingKey);

impl fmt::Display for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({self})")
    }
}

/// What opens them.
#[derive(Clone)]
pub struct SealingSecret(StaticSecret);

impl SecretKey<Site> {
    /// What opens that which is sealed to this site.
    pub fn sealing(&self) -> SealingSecret {
        SealingSecret::from_bytes(blake3::derive_key(CONTEXT, self.key.as_bytes()))
    }
}

impl SealingSecret {
    /// The key of those bytes, which are to be random.
    pub(crate) fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        SealingSecret(StaticSecret::from(bytes))
    }

    /// The half to give away.
    pub fn public(&self) -> SealingKey {
        SealingKey(x25519_dalek::PublicKey::from(&self.0).to_bytes())
    }

    /// What this key and the other have in common; nothing if the other is one that has it in common with everybody.
    pub(crate) fn share(&self, other: &SealingKey) -> Option<[u8; 32]> {
        let shared = self.0.diffie_hellman(&x25519_dalek::PublicKey::from(other.0));
        shared.was_contributory().then(|| shared.to_bytes())
    }
}

/// No secret is printed.
impl fmt::Debug for SealingSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingSecret(of {})", self.public())
    }
}
