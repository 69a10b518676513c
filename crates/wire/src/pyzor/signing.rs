//! The signatures of accounts: digests of the request, the time and a secret that both sides know.

use std::fmt;

use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

use super::Request;
use super::fields::Fields;

/// Seconds that a client's clock may be off, either way: those of `pyzord`. A captured request can be sent again for
/// as long.
pub const CLOCK_SECS_MAX: u64 = 300;

/// What the signature of a request is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// The anonymous user: whatever the signature is, nobody checks it.
    Anonymous,
    /// The account has the key.
    Good,
    /// Missing, without a time, or made with another key.
    Bad,
    /// Made too long ago, or too far in the future.
    TooOld {
        /// Seconds between the time of the signature and now.
        secs_apart: u64,
    },
}

/// The secret that an account's signatures are made with. Make it once for each account.
#[derive(Clone, PartialEq, Eq)]
pub struct HashedKey(String);

impl HashedKey {
    /// That of a user and the key that the administrator was given.
    pub fn of(user: &str, key: &str) -> Self {
        let mut hash = Sha1::new_with_prefix(user);
        hash.update(b":");
        hash.update(key.to_ascii_lowercase());
        Self(hex::encode(hash.finalize()))
    }
}

/// It is a secret, and logs are read by many.
impl fmt::Debug for HashedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashedKey")
    }
}

impl Request<'_> {
    /// Checks the signature of the account that the request names, with the key of that account. `now` is in
    /// seconds since 1970. An account that nobody knows is [`super::Refusal::UnknownUser`] before this.
    pub fn signature(&self, key: &HashedKey, now: u64) -> Signature {
        if self.user.is_none() {
            return Signature::Anonymous;
        }
        let (Some(time), Some(sig)) = (self.time, self.sig) else {
            return Signature::Bad;
        };
        let secs_apart = now.abs_diff(time);
        if secs_apart > CLOCK_SECS_MAX {
            return Signature::TooOld { secs_apart };
        }
        // In constant time: how long it takes does not say how much of it is right.
        if sign(self.fields, key, time).ct_eq(&sig).into() { Signature::Good } else { Signature::Bad }
    }
}

/// The signature of a request's fields.
pub(super) fn sign(fields: Fields<'_>, key: &HashedKey, time: u64) -> [u8; 20] {
    let mut hash = Sha1::new_with_prefix(signed_digest(fields));
    hash.update(b":");
    hash.update(itoa::Buffer::new().format(time));
    hash.update(b":");
    hash.update(&key.0);
    hash.finalize().into()
}

/// The digest of all fields but the signature itself. Whatever stands behind it is signed too, or else anyone could
/// add digests to a report.
fn signed_digest(fields: Fields<'_>) -> [u8; 20] {
    let mut hash = Sha1::new();
    let mut separator: &[u8] = b"";
    let mut fields = fields.iter().filter(|field| !field.is("Sig")).peekable();
    while let Some(field) = fields.next() {
        // White space at the very end is not signed.
        let value = if fields.peek().is_some() { field.value } else { field.value.trim_ascii_end() };
        for piece in [separator, field.name, b": ", value] {
            hash.update(piece);
        }
        separator = b"\n";
    }
    hash.finalize().into()
}
