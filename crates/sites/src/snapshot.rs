//! Snapshots: how a newcomer starts. All of a site's streams as one run of bytes, cut into packs that are named by
//! what they hold, and a manifest of them, signed by the site.
//!
//! Packs of an older snapshot that are still right keep their names, and need not be sent again.

use thiserror::Error;

use crate::digest::{Digest, Domain};
use crate::form::{self, Bytes, FormError, Tag};
use crate::key::{AdminKey, KEY_BYTES, SIGNATURE_BYTES, SiteKey, SiteSecret};
use crate::message::{MessageError, Stream, StreamId, check_sequence};
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
    /// The sequence before its first item; 0 for sightings, which are added up.
    pub start: Sequence,
    /// The value of the chain there.
    pub start_value: Digest,
    /// The sequence that it leads to.
    pub sequence: Sequence,
    /// The value of the chain there.
    pub value: Digest,
    /// How many bytes it has.
    pub bytes: u64,
}

/// Why something is no manifest of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Not even the form, or not signed.
    #[error("no snapshot: {0}")]
    Form(#[from] FormError),
    /// Of somebody unknown.
    #[error("no snapshot: {0}")]
    Message(#[from] MessageError),
    /// Too many sections or packs, or not as many packs as the sections need.
    #[error("a snapshot of {sections} sections in {packs} packs")]
    Size {
        /// Sections.
        sections: usize,
        /// Packs.
        packs: usize,
    },
    /// It begins behind its end, or sightings begin elsewhere than at their beginning.
    #[error("a section of a snapshot that begins after item {0}")]
    Start(u64),
    /// A site vouches for its own streams.
    #[error("a snapshot with a section of another site")]
    OtherSite,
}

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
    pub fn sign(&self, site: &SiteSecret, network: &AdminKey) -> Result<Vec<u8>, SnapshotError> {
        self.check()?;
        let mut bytes = TAG.to_vec();
        bytes.extend(network.to_bytes());
        bytes.extend(site.public().to_bytes());
        bytes.extend(self.time_secs.to_le_bytes());
        bytes.extend((self.sections.len() as u16).to_le_bytes());
        for section in &self.sections {
            section.id.encode(&mut bytes);
            bytes.extend(section.manifest.to_le_bytes());
            bytes.extend(section.start.0.to_le_bytes());
            bytes.extend(section.start_value.0);
            bytes.extend(section.sequence.0.to_le_bytes());
            bytes.extend(section.value.0);
            bytes.extend(section.bytes.to_le_bytes());
        }
        bytes.extend((self.packs.len() as u16).to_le_bytes());
        self.packs.iter().for_each(|pack| bytes.extend(pack.0));
        site.sign(&mut bytes);
        Ok(bytes)
    }

    /// Reads a manifest that a member of this roster signed.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, SnapshotError> {
        form::at_most(bytes, SNAPSHOT_BYTES_MAX)?;
        let mut rest = Bytes(bytes);
        rest.tag(&TAG)?;
        let site = roster.signer(&mut rest)?;
        form::signed_by(bytes, &site)?;
        let time_secs = rest.u64()?;
        let sections = usize::from(rest.u16()?);
        let sections = (0..sections).map(|_| section(&mut rest, roster)).collect::<Result<_, _>>()?;
        let packs = usize::from(rest.u16()?);
        let packs = (0..packs).map(|_| rest.array().map(Digest)).collect::<Result<_, _>>()?;
        rest.run(SIGNATURE_BYTES)?;
        rest.end()?;
        let snapshot = Snapshot { site, time_secs, sections, packs };
        snapshot.check()?;
        Ok(snapshot)
    }

    fn check(&self) -> Result<(), SnapshotError> {
        let (sections, packs) = (self.sections.len(), self.packs.len());
        let bytes = self.sections.iter().try_fold(0u64, |sum, section| sum.checked_add(section.bytes));
        let fits = bytes.is_some_and(|bytes| bytes.div_ceil(PACK_BYTES as u64) == packs as u64);
        if sections > SECTIONS_MAX || packs > PACKS_MAX || !fits {
            return Err(SnapshotError::Size { sections, packs });
        }
        if self.sections.iter().any(|section| section.id.site != self.site) {
            return Err(SnapshotError::OtherSite);
        }
        for section in &self.sections {
            check_sequence(section.start)?;
            check_sequence(section.sequence)?;
            let is_whole = section.id.stream == Stream::Records || section.start == Sequence::START;
            if section.start > section.sequence || !is_whole {
                return Err(SnapshotError::Start(section.start.0));
            }
        }
        Ok(())
    }
}

fn section(rest: &mut Bytes<'_>, roster: &Roster) -> Result<Section, SnapshotError> {
    Ok(Section {
        id: StreamId::decode(rest, roster)?.ok_or(SnapshotError::OtherSite)?,
        manifest: rest.u64()?,
        start: Sequence(rest.u64()?),
        start_value: Digest(rest.array()?),
        sequence: Sequence(rest.u64()?),
        value: Digest(rest.array()?),
        bytes: rest.u64()?,
    })
}
