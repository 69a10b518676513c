//! The manifest: how long a generation is, and what sightings are hashed with from a generation on, sealed to each
//! member. Signed by the admin.
//!
//! A hash key belongs to a generation, so it can change with the next one. A manifest of a greater number may also say
//! the same again: that is how a site that is admitted later gets the key of generations that have begun.
//!
//! Version 1 had a geometry of cells as well. It is read, and its geometry ignored, so that a network keeps its key.

mod seal;
mod timeline;

use seenit_filter::hash::Fingerprint;
use thiserror::Error;

use crate::form::{self, Bytes, FormError, Tag};
use crate::key::{
    AdminKey, AdminSecret, KEY_BYTES, KeyError, SIGNATURE_BYTES, SealingKey, SealingSecret, SiteKey,
    SiteSecret,
};
use crate::number::Generation;
use crate::roster::{Roster, SITES_MAX};

use seal::{SEALED_BYTES, Seal};

pub use seal::HashKey;
pub use timeline::{MANIFESTS_MAX, Manifests, TimelineError};

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

/// Why something is no manifest, or does not open.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// Not even the form, or not signed.
    #[error("no manifest: {0}")]
    Form(#[from] FormError),
    /// Somebody else's.
    #[error("the manifest is of network {found}, not of {expected}")]
    OtherNetwork {
        /// The network that was asked for.
        expected: AdminKey,
        /// The one it is of.
        found: String,
    },
    /// Numbers count from 1.
    #[error("a manifest of number 0: numbers count from 1")]
    Number,
    /// Too short or too long.
    #[error("a generation of {0} seconds: it has {GENERATION_SECS_MIN} to {GENERATION_SECS_MAX}")]
    GenerationSecs(u64),
    /// No clock reaches it.
    #[error("generation {0} begins beyond the end of time")]
    Generation(u64),
    /// Too many sealed keys.
    #[error("a key sealed to {0} sites: there may be {SITES_MAX}")]
    Sites(u32),
    /// A site whose key is none.
    #[error("the key of the site at place {place}: {error}")]
    Key {
        /// Counted from 0.
        place: u32,
        /// Why.
        error: KeyError,
    },
    /// Sites must ascend, each once.
    #[error("site {0} does not stand where the order of keys has it, or is in it twice")]
    Order(SiteKey),
    /// Whatever is sealed to it, everybody could open.
    #[error("the sealing key of site {0} is a weak one")]
    Weak(SiteKey),
    /// The site is no member, or was none when this was signed.
    #[error("manifest {number} holds no key for site {site}")]
    NotSealed {
        /// The manifest.
        number: u64,
        /// The site.
        site: SiteKey,
    },
    /// The site's secret does not open it, or what it opens is another key than the one the manifest names.
    #[error("the key that manifest {number} holds for site {site} is not the one it names")]
    OtherKey {
        /// The manifest.
        number: u64,
        /// The site.
        site: SiteKey,
    },
}

/// What a manifest says in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The first generation it holds for.
    pub first_generation: Generation,
    /// Seconds of a generation; numbers count them from the Unix epoch.
    pub generation_secs: u64,
}

/// A manifest, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    network: AdminKey,
    number: u64,
    terms: Terms,
    key: Fingerprint,
    once: SealingKey,
    /// All before the number of sealed keys: what keys are sealed with.
    head_bytes: usize,
    sealed: Vec<(SiteKey, [u8; SEALED_BYTES])>,
    bytes: Vec<u8>,
}

impl Manifest {
    /// Makes a manifest with the key sealed to every member of a roster. `once` is 32 random bytes that are used for
    /// nothing else.
    pub fn sign(
        admin: &AdminSecret,
        number: u64,
        terms: Terms,
        roster: &Roster,
        key: &HashKey,
        once: [u8; KEY_BYTES],
    ) -> Result<Self, ManifestError> {
        let network = admin.public();
        if *roster.network() != network {
            let found = network.to_string();
            return Err(ManifestError::OtherNetwork { expected: *roster.network(), found });
        }
        check(number, &terms)?;
        let secret = SealingSecret::from_bytes(once);
        let (fingerprint, once) = (key.fingerprint(), secret.public());
        let mut bytes = head(&network, number, &terms, fingerprint, &once);
        let sealed = roster.members().iter().map(|member| {
            let seal = Seal { head: &bytes, site: &member.site, sealing: &member.sealing };
            let sealed = seal.seal(key, &secret).ok_or(ManifestError::Weak(member.site))?;
            Ok((member.site, sealed))
        });
        let sealed: Vec<_> = sealed.collect::<Result<_, ManifestError>>()?;
        bytes.extend((sealed.len() as u32).to_le_bytes());
        for (site, sealed) in &sealed {
            bytes.extend(site.to_bytes());
            bytes.extend(sealed);
        }
        admin.sign(&mut bytes);
        Ok(Manifest { network, number, terms, key: fingerprint, once, head_bytes: HEAD_BYTES, sealed, bytes })
    }

    /// Reads a manifest of this network. All of it is checked but what is sealed to others, the signature before what
    /// it signs.
    pub fn decode(bytes: &[u8], network: &AdminKey) -> Result<Self, ManifestError> {
        form::at_most(bytes, MANIFEST_BYTES_MAX)?;
        let mut start = Bytes(bytes);
        let is_v1 = bytes.starts_with(&TAG_V1);
        start.tag(if is_v1 { &TAG_V1 } else { &TAG })?;
        let found = start.array()?;
        if found != network.to_bytes() {
            return Err(ManifestError::OtherNetwork { expected: *network, found: hex::encode(found) });
        }
        let mut rest = Bytes(form::signed_by(bytes, network)?);
        rest.run(TAG.len() + KEY_BYTES)?;
        let (number, first_generation, generation_secs) = (rest.u64()?, Generation(rest.u64()?), rest.u64()?);
        let terms = Terms { first_generation, generation_secs };
        let geometry_bytes = if is_v1 { GEOMETRY_BYTES } else { 0 };
        rest.run(geometry_bytes)?;
        let head_bytes = HEAD_BYTES + geometry_bytes;
        check(number, &terms)?;
        let (key, once) = (Fingerprint(rest.array()?), SealingKey::from_bytes(rest.array()?));
        let sealed = decode_sealed(&mut rest)?;
        rest.end()?;
        let bytes = bytes.to_vec();
        Ok(Manifest { network: *network, number, terms, key, once, head_bytes, sealed, bytes })
    }

    /// The hash key, if it is sealed to this site.
    pub fn open(&self, site: &SiteSecret) -> Result<HashKey, ManifestError> {
        let (own, number) = (site.public(), self.number);
        let place = self.sealed.binary_search_by_key(&own, |(site, _)| *site);
        let found = place.ok().and_then(|place| self.sealed.get(place));
        let (_, sealed) = found.ok_or(ManifestError::NotSealed { number, site: own })?;
        let secret = site.sealing();
        let head = self.bytes.get(..self.head_bytes).unwrap_or_default();
        let seal = Seal { head, site: &own, sealing: &secret.public() };
        let key = seal.open(sealed, &secret, &self.once);
        key.filter(|key| key.fingerprint() == self.key).ok_or(ManifestError::OtherKey { number, site: own })
    }

    /// The whole of it, to be sent or stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Which network it is of.
    pub fn network(&self) -> &AdminKey {
        &self.network
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What it says in the clear.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// What names its hash key.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The sites that can open it, in the order of their keys.
    pub fn sites(&self) -> impl Iterator<Item = &SiteKey> {
        self.sealed.iter().map(|(site, _)| site)
    }
}

/// All before the number of sealed keys.
fn head(network: &AdminKey, number: u64, terms: &Terms, key: Fingerprint, once: &SealingKey) -> Vec<u8> {
    let mut bytes = TAG.to_vec();
    bytes.extend(network.to_bytes());
    for number in [number, terms.first_generation.0, terms.generation_secs] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(key.0);
    bytes.extend(once.to_bytes());
    bytes
}

fn decode_sealed(rest: &mut Bytes<'_>) -> Result<Vec<(SiteKey, [u8; SEALED_BYTES])>, ManifestError> {
    let count = rest.u32()?;
    if count as usize > SITES_MAX {
        return Err(ManifestError::Sites(count));
    }
    let mut all: Vec<(SiteKey, _)> = Vec::new();
    for place in 0..count {
        let site =
            SiteKey::from_bytes(&rest.array()?).map_err(|error| ManifestError::Key { place, error })?;
        if all.last().is_some_and(|(last, _)| *last >= site) {
            return Err(ManifestError::Order(site));
        }
        all.push((site, rest.array()?));
    }
    Ok(all)
}

/// What holds of every manifest, besides its form.
fn check(number: u64, terms: &Terms) -> Result<(), ManifestError> {
    if number == 0 {
        return Err(ManifestError::Number);
    }
    if !(GENERATION_SECS_MIN..=GENERATION_SECS_MAX).contains(&terms.generation_secs) {
        return Err(ManifestError::GenerationSecs(terms.generation_secs));
    }
    let first = terms.first_generation.0;
    first.checked_mul(terms.generation_secs).map(|_| ()).ok_or(ManifestError::Generation(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool of the admin's that sealed another key than it named would split the network: some sites would
    /// hash otherwise, and nobody would see why.
    #[test]
    fn a_key_that_opens_must_be_the_one_that_is_named() {
        let (admin, site, once) = (
            AdminSecret::from_bytes([1; 32]),
            SiteSecret::from_bytes([2; 32]),
            SealingSecret::from_bytes([3; 32]),
        );
        let (network, own, sealing) = (admin.public(), site.public(), site.sealing().public());
        let terms = Terms { first_generation: Generation(1), generation_secs: 86_400 };
        let [named, another] = [[4; 16], [5; 16]].map(HashKey::from_bytes);
        let (key, bytes) =
            (named.fingerprint(), head(&network, 1, &terms, named.fingerprint(), &once.public()));
        assert_eq!(bytes.len(), HEAD_BYTES);
        let seal = Seal { head: &bytes, site: &own, sealing: &sealing };
        let opened = [&named, &another].map(|sealed| {
            let sealed = vec![(own, seal.seal(sealed, &once).expect("a sound key"))];
            let (once, bytes) = (once.public(), bytes.clone());
            Manifest { network, number: 1, terms, key, once, head_bytes: HEAD_BYTES, sealed, bytes }
                .open(&site)
        });
        assert!(matches!(&opened[0], Ok(key) if *key == named));
        assert!(matches!(opened[1], Err(ManifestError::OtherKey { .. })));
    }
}
