//! Keys: what of a case is tallied, each by its hash under the site's key.

use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_filter::shingles::Shingle;
use seenit_signature::Kind;
use seenit_signature::near::SHINGLES;

use crate::signature::{Case, SignatureRef};

/// One key of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) hash: Hash128,
    pub(crate) kind: Kind,
    /// The first shingle of a text: texts are counted by it.
    pub(crate) is_text: bool,
}

impl Key {
    /// Whether it is one of the shingles of a text.
    pub(crate) fn is_shingle(&self) -> bool {
        self.kind.is_near()
    }
}

/// The keys of a case: one a signature, 32 for the shingles of a text.
pub(crate) fn keys_of(case: &Case, sip: &SipKey) -> Vec<Key> {
    let mut keys = Vec::with_capacity(case.len());
    for signature in case.iter() {
        match signature.kind() {
            kind if kind.is_near() => {
                let hashes = shingle_hashes(signature, sip).into_iter().enumerate();
                keys.extend(hashes.map(|(slot, hash)| Key { hash, kind, is_text: slot == 0 }));
            }
            kind => keys.push(Key { hash: sip.hash(&signature), kind, is_text: false }),
        }
    }
    keys
}

/// The hashes of the shingles of a signature. Each kind has slots of its own, so that no two kinds mix.
pub(crate) fn shingle_hashes(signature: SignatureRef<'_>, sip: &SipKey) -> [Hash128; SHINGLES] {
    let first = if signature.kind() == Kind::RspamdNear { SHINGLES } else { 0 };
    let (words, _) = signature.digest().as_chunks::<8>();
    let shingles: [[u8; 9]; SHINGLES] = std::array::from_fn(|slot| {
        let value = words.get(slot).map_or(0, |word| u64::from_le_bytes(*word));
        Shingle { slot: (first + slot) as u8, value }.to_bytes()
    });
    let mut hashes = [Hash128::default(); SHINGLES];
    sip.hash_many(&shingles, &mut hashes);
    hashes
}

/// For filters that hash what they are given: these are hashes already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashed;

impl KeyHasher<Hash128> for Hashed {
    fn hash(&self, hash: &Hash128) -> Hash128 {
        *hash
    }
}
