//! The hash key, and how it is sealed to one member.
//!
//! A manifest has a key pair of its own, used once. What its secret half and a member's sealing key have in common,
//! digested with everything the manifest says before the first sealed key, is the key of ChaCha20-Poly1305. Such a
//! key seals one text, ever, so the nonce is zero; and a sealed key moved to another manifest or another site does
//! not open.

use std::fmt;

use chacha20poly1305::aead::Aead;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use seenit_filter::hash::{KeyFingerprint, SipKey};

use crate::key::{SealingKey, SealingSecret, SiteKey};

/// How the key that seals is derived.
const CONTEXT: &str = "seenit 2026 seal of a hash key v1";

/// A hash key and the tag behind it.
pub(super) const SEALED_BYTES: usize = 16 + 16;

/// What signatures are hashed with at every site of a network.
#[derive(Clone, PartialEq, Eq)]
pub struct HashKey([u8; 16]);

impl HashKey {
    /// The key of those bytes, which are to be random.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        HashKey(bytes)
    }

    /// Its bytes, for a file that only its owner reads.
    pub fn to_bytes(&self) -> [u8; 16] {
        self.0
    }

    /// The hash under it.
    pub fn sip(&self) -> SipKey {
        SipKey::new(self.0)
    }

    /// What names it and does not reveal it: the same that filters and deltas carry.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.sip().fingerprint()
    }
}

/// No secret is printed.
impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HashKey(of {})", hex::encode(self.fingerprint().0))
    }
}

/// To whom a key is sealed, and in which manifest.
pub(super) struct Seal<'a> {
    /// What the manifest says before the first sealed key.
    pub(super) head: &'a [u8],
    pub(super) site: &'a SiteKey,
    pub(super) sealing: &'a SealingKey,
}

impl Seal<'_> {
    fn cipher(&self, shared: &[u8; 32]) -> ChaCha20Poly1305 {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher
            .update(shared)
            .update(&self.site.to_bytes())
            .update(&self.sealing.to_bytes())
            .update(self.head);
        ChaCha20Poly1305::new(&(*hasher.finalize().as_bytes()).into())
    }

    /// Seals a key by the secret of the manifest's own pair; nothing if everybody could open it.
    pub(super) fn seal(&self, key: &HashKey, once: &SealingSecret) -> Option<[u8; SEALED_BYTES]> {
        let cipher = self.cipher(&once.share(self.sealing)?);
        cipher.encrypt(&Nonce::default(), key.0.as_slice()).ok()?.try_into().ok()
    }

    /// Opens it by the member's secret.
    pub(super) fn open(
        &self,
        sealed: &[u8; SEALED_BYTES],
        secret: &SealingSecret,
        once: &SealingKey,
    ) -> Option<HashKey> {
        let cipher = self.cipher(&secret.share(once)?);
        cipher.decrypt(&Nonce::default(), sealed.as_slice()).ok()?.try_into().ok().map(HashKey)
    }
}
