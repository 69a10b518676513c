//! The manifest: how long a generation is, and what sightings are hashed with from a generation on, sealed to each
//! member. Signed by the admin.
//!
//! A hash key belongs to a generation, so it can change with the next one. A manifest of a greater number may also say
//! the same again: that is how a site that is admitted later gets the key of generations that have begun.
//!
//! Version 1 had a geometry of cells as well. It is read, and its geometry ignored, so that a network keeps its key.

mod seal;
mod timeline;

use seenit_filter::hash::KeyFingerprint;

use crate::error::{FormatError, number};
use crate::form::{Field, Reader, Tag, form};
use crate::key::{
    AdminKey, AdminSecret, KEY_BYTES, SIGNATURE_BYTES, SealingKey, SealingSecret, SiteKey, SiteSecret,
};
use crate::number::Generation;
use crate::roster::{Roster, SITES_MAX};

use seal::{SEALED_BYTES, Seal};

pub use seal::HashKey;
pub use timeline::{MANIFESTS_MAX, Manifests};

pub(crate) const TAG: Tag = *b"seenit manifest v2  ";
pub(crate) const TAG_V1: Tag = *b"seenit manifest v1  ";

/// All before the number of sealed keys.
const HEAD_BYTES: usize = 20 + KEY_BYTES + 3 * 8 + 16 + KEY_BYTES;

/// Bytes of the geometry that version 1 has behind the length of a generation.
const GEOMETRY_BYTES: usize = 28;

/// The largest manifest: some 64 kB.
pub const MANIFEST_BYTES_MAX: usize =
    HEAD_BYTES + GEOMETRY_BYTES + 4 + SITES_MAX * (KEY_BYTES + SEALED_BYTES) + SIGNATURE_BYTES;

/// The shortest generation: below a minute heartbeats and deltas would hardly fit into one.
pub const GENERATION_SECS_MIN: u64 = 60;

/// The longest: with a month each, three of them are a season of seen counts.
pub const GENERATION_SECS_MAX: u64 = 31 * 24 * 3600;

/// What a manifest says in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestTerms {
    /// The first generation it holds for.
    pub first_generation: Generation,
    /// Seconds of a generation; numbers count them from the Unix epoch.
    pub generation_secs: u64,
}

form!(ManifestTerms { first_generation, generation_secs });

/// The hash key, sealed to one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sealed {
    site: SiteKey,
    key: [u8; SEALED_BYTES],
}

form!(Sealed { site, key });

/// A manifest, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Which network it is of.
    pub network: AdminKey,
    /// Its number, which only grows.
    pub number: u64,
    /// What it says in the clear.
    pub terms: ManifestTerms,
    /// What names its hash key.
    pub key: KeyFingerprint,
    /// The whole of it, to be sent or stored.
    pub bytes: Vec<u8>,
    once: SealingKey,
    /// All before the number of sealed keys: what keys are sealed with.
    head_bytes: usize,
    sealed: Vec<Sealed>,
}

impl Manifest {
    /// Makes a manifest with the key sealed to every member of a roster. `once` is 32 random bytes that are used for
    /// nothing else.
    pub fn sign(
        admin: &AdminSecret,
        number: u64,
        terms: ManifestTerms,
        roster: &Roster,
        key: &HashKey,
        once: [u8; KEY_BYTES],
    ) -> Result<Self, FormatError> {
        let network = admin.public();
        if roster.network != network {
            let found = network.to_string();
            return Err(FormatError::OtherNetwork { expected: roster.network, found });
        }
        let secret = SealingSecret::from_bytes(once);
        let once = secret.public();
        let key_name = key.fingerprint();
        let mut bytes = TAG.to_vec();
        network.write(&mut bytes);
        number.write(&mut bytes);
        terms.write(&mut bytes);
        key_name.0.write(&mut bytes);
        once.write(&mut bytes);
        debug_assert_eq!(bytes.len(), HEAD_BYTES);
        let sealed = roster.members.iter().map(|member| {
            let seal = Seal { head: &bytes, site: &member.site, sealing: &member.sealing };
            let key = seal.seal(key, &secret).ok_or(FormatError::WeakSealing(member.site))?;
            Ok(Sealed { site: member.site, key })
        });
        let sealed: Vec<Sealed> = sealed.collect::<Result<_, FormatError>>()?;
        (sealed.len() as u32).write(&mut bytes);
        sealed.iter().for_each(|one| one.write(&mut bytes));
        admin.sign(&mut bytes);
        let head_bytes = HEAD_BYTES;
        Manifest { network, number, terms, key: key_name, bytes, once, head_bytes, sealed }.checked()
    }

    /// Reads a manifest of this network. All of it is checked but what is sealed to others, the signature before what
    /// it signs.
    pub fn decode(bytes: &[u8], network: &AdminKey) -> Result<Self, FormatError> {
        let is_v1 = bytes.starts_with(&TAG_V1);
        let tag = if is_v1 { &TAG_V1 } else { &TAG };
        let geometry_bytes = if is_v1 { GEOMETRY_BYTES } else { 0 };
        let mut rest = Reader::new(bytes, tag, MANIFEST_BYTES_MAX)?.of_network(network);
        let network = rest.get()?;
        rest.signed_by(&network)?;
        let number = rest.get()?;
        let terms = rest.get()?;
        rest.run(geometry_bytes)?;
        let key = KeyFingerprint(rest.get()?);
        let once = rest.get()?;
        let count = rest.get::<u32>()? as usize;
        let sealed = rest.list("sealed keys", count, SITES_MAX)?;
        rest.end()?;
        let bytes = bytes.to_vec();
        let head_bytes = HEAD_BYTES + geometry_bytes;
        Manifest { network, number, terms, key, bytes, once, head_bytes, sealed }.checked()
    }

    /// The hash key, if it is sealed to this site.
    pub fn open(&self, site: &SiteSecret) -> Result<HashKey, FormatError> {
        let own = site.public();
        let number = self.number;
        let found = self.sealed.iter().find(|one| one.site == own);
        let found = found.ok_or(FormatError::NotSealed { number, site: own })?;
        let secret = site.sealing();
        let head = self.bytes.get(..self.head_bytes).unwrap_or_default();
        let seal = Seal { head, site: &own, sealing: &secret.public() };
        let key = seal.open(&found.key, &secret, &self.once);
        key.filter(|key| key.fingerprint() == self.key).ok_or(FormatError::OtherKey { number, site: own })
    }

    /// The sites that can open it, in the order of their keys.
    pub fn sites(&self) -> impl Iterator<Item = &SiteKey> {
        self.sealed.iter().map(|one| &one.site)
    }

    /// What holds of every manifest, besides its form.
    fn checked(self) -> Result<Self, FormatError> {
        let ManifestTerms { first_generation: Generation(first), generation_secs: secs } = self.terms;
        if self.number == 0 {
            return Err(number("manifest of number", 0, "numbers count from 1"));
        }
        if !(GENERATION_SECS_MIN..=GENERATION_SECS_MAX).contains(&secs) {
            return Err(number("seconds of a generation", secs, "it has a minute to 31 days"));
        }
        if first.checked_mul(secs).is_none() {
            return Err(number("generation", first, "it begins beyond the end of time"));
        }
        match self.sealed.iter().zip(self.sealed.iter().skip(1)).find(|(one, next)| one.site >= next.site) {
            Some((_, next)) => Err(FormatError::Order(next.site)),
            None => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::{Caps, Member};

    /// A tool of the admin's that sealed another key than it named would split the network: some sites would
    /// hash otherwise, and nobody would see why.
    #[test]
    fn a_key_that_opens_must_be_the_one_that_is_named() {
        let admin = AdminSecret::from_bytes([1; 32]);
        let site = SiteSecret::from_bytes([2; 32]);
        let caps = Caps { spam: 1, ham: 1, seen: 1 };
        let key = site.public();
        let sealing = site.sealing().public();
        let name = "a".parse().expect("a name");
        let members = vec![Member { site: key, sealing, name, caps }];
        let roster = Roster::sign(&admin, 1, members).expect("a roster");
        let terms = ManifestTerms { first_generation: Generation(1), generation_secs: 86_400 };
        let [named, another] = [[4; 16], [5; 16]].map(HashKey::from_bytes);
        let manifest = Manifest::sign(&admin, 1, terms, &roster, &named, [3; 32]).expect("a manifest");
        assert_eq!(manifest.open(&site), Ok(named));
        let other = Manifest { key: another.fingerprint(), ..manifest };
        assert_eq!(other.open(&site), Err(FormatError::OtherKey { number: 1, site: site.public() }));
    }
}
