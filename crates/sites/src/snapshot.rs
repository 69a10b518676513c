//! Snapshots: how a newcomer starts. All of a site's streams as one run of bytes, cut into packs that are named by
//! what they hold, and a manifest of them, signed by the site.
//!
//! Packs of an older snapshot that are still right keep their names, and need not be sent again.

use crate::chain::Chain;
use crate::digest::{Digest, Domain};
use crate::error::{FormatError, at_most, number};
use crate::form::{Field, Reader, Tag, form};
use crate::key::{AdminKey, KEY_BYTES, SIGNATURE_BYTES, SiteKey, SiteSecret};
use crate::message::{Stream, StreamId};
use crate::number::Sequence;
use crate::roster::Roster;

pub(crate) const TAG: Tag = *b"seenit snapshot v2  ";
const PACK: Domain = *b"seenit pack v1                  ";
const MANIFEST: Domain = *b"seenit snapshot manifest v1     ";

/// Bytes of a pack; the last one of a snapshot may have fewer.
pub const PACK_BYTES: usize = 1 << 20;

/// The most packs of a snapshot: a gibibyte.
pub const PACKS_MAX: usize = 1024;

/// The most sections of a snapshot.
pub const SECTIONS_MAX: usize = 256;

const SECTION_BYTES: usize = KEY_BYTES + 8 + 1 + 8 + 8 + 8 + 32 + 8 + 32 + 8;

/// The largest manifest of a snapshot.
pub const SNAPSHOT_BYTES_MAX: usize =
    20 + 2 * KEY_BYTES + 8 + 2 + SECTIONS_MAX * SECTION_BYTES + 2 + PACKS_MAX * 32 + SIGNATURE_BYTES;

/// One stream of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Which.
    pub id: StreamId,
    /// Under which manifest; 0 for records.
    pub manifest: u64,
    /// The chain before its first item; of sightings, which are added up, its beginning.
    pub start: Chain,
    /// The chain that it leads to.
    pub end: Chain,
    /// How many bytes it has.
    pub bytes: u64,
}

form!(Section { id, manifest, start, end, bytes });

/// The manifest of a snapshot, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Whose.
    pub site: SiteKey,
    /// When, by its clock.
    pub time_secs: u64,
    /// What is in it, in the order of the bytes.
    pub sections: Vec<Section>,
    /// What its packs are named by.
    pub packs: Vec<Digest>,
}

/// The name of a pack.
pub fn pack_digest(pack: &[u8]) -> Digest {
    Digest::of(&PACK, &[pack])
}

/// What names a snapshot: the digest of its manifest.
pub fn snapshot_digest(manifest: &[u8]) -> Digest {
    Digest::of(&MANIFEST, &[manifest])
}

impl Snapshot {
    /// Its bytes, signed.
    pub fn sign(&self, site: &SiteSecret, network: &AdminKey) -> Result<Vec<u8>, FormatError> {
        self.check()?;
        let mut bytes = TAG.to_vec();
        network.write(&mut bytes);
        site.public().write(&mut bytes);
        self.time_secs.write(&mut bytes);
        (self.sections.len() as u16).write(&mut bytes);
        self.sections.iter().for_each(|section| section.write(&mut bytes));
        (self.packs.len() as u16).write(&mut bytes);
        self.packs.iter().for_each(|pack| pack.write(&mut bytes));
        site.sign(&mut bytes);
        Ok(bytes)
    }

    /// Reads a manifest that a member of this roster signed.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, FormatError> {
        let mut rest = Reader::new(bytes, &TAG, SNAPSHOT_BYTES_MAX)?.of_members(roster);
        rest.get::<AdminKey>()?;
        let site = rest.get()?;
        rest.signed_by(&site)?;
        let time_secs = rest.get()?;
        let sections = rest.get::<u16>()?.into();
        let sections = rest.list("sections", sections, SECTIONS_MAX)?;
        let packs = rest.get::<u16>()?.into();
        let packs = rest.list("packs", packs, PACKS_MAX)?;
        rest.end()?;
        let snapshot = Snapshot { site, time_secs, sections, packs };
        snapshot.check()?;
        Ok(snapshot)
    }

    fn check(&self) -> Result<(), FormatError> {
        let sections = self.sections.len();
        let packs = self.packs.len();
        at_most("sections", sections, SECTIONS_MAX)?;
        at_most("packs", packs, PACKS_MAX)?;
        let bytes = self.sections.iter().try_fold(0u64, |sum, section| sum.checked_add(section.bytes));
        if bytes.is_none_or(|bytes| bytes.div_ceil(PACK_BYTES as u64) != packs as u64) {
            return Err(FormatError::Packs { sections, packs });
        }
        for Section { id, start, end, .. } in &self.sections {
            if id.site != self.site {
                return Err(FormatError::OtherSite);
            }
            end.sequence.check()?;
            let is_whole = id.stream == Stream::Records || start.sequence == Sequence::START;
            if start.sequence > end.sequence || !is_whole {
                let why = "it begins behind its end, or sightings begin elsewhere than at their beginning";
                return Err(number("section after item", start.sequence.0, why));
            }
        }
        Ok(())
    }
}
