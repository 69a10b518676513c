//! Digests, each of a domain of its own.

use std::fmt;

use crate::form::form;

/// What is digested, in words: the key of BLAKE3's keyed mode. Digests of two domains never agree, and the mode costs
/// no more than the plain one, where a prefix would put every page across one more chunk.
pub(crate) type Domain = [u8; 32];

/// 32 bytes of BLAKE3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Of parts one after the other. Where the length of a part can differ, it is the last.
    pub(crate) fn of(domain: &Domain, parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(domain);
        parts.iter().for_each(|part| {
            hasher.update(part);
        });
        Digest(*hasher.finalize().as_bytes())
    }
}

form!(Digest);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}
