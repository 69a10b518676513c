//! The roster: who belongs to a network, and how far each site is believed. Signed by the admin.
//!
//! One roster has one encoding: members stand in the order of their keys, and nothing can be said in two ways. So two
//! rosters are the same if and only if their bytes are.

mod member;

use std::collections::HashSet;

use crate::error::{FormatError, at_most, number};
use crate::form::{Field, Reader, Tag};
use crate::key::{AdminKey, AdminSecret, KEY_BYTES, SIGNATURE_BYTES, SiteKey, Verifier};
use crate::precedence::Precedence;

pub use member::{Caps, Member, NAME_BYTES_MAX, Name, NameError};

/// The most sites of a network. Each hears every heartbeat; beyond this a network wants another shape, not a longer
/// list.
pub const SITES_MAX: usize = 1000;

pub(crate) const TAG: Tag = *b"seenit roster v1    ";

/// Tag, network, version, number of members.
const HEAD_BYTES: usize = 20 + KEY_BYTES + 8 + 4;

/// The largest roster: some 144 kB.
pub const ROSTER_BYTES_MAX: usize =
    HEAD_BYTES + SITES_MAX * (member::MEMBER_BYTES + NAME_BYTES_MAX) + SIGNATURE_BYTES;

/// A roster, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// Which network it is of.
    pub network: AdminKey,
    /// Its version, which only grows.
    pub version: u64,
    /// The sites, in the order of their keys.
    pub members: Vec<Member>,
    /// The whole of it, to be sent or stored.
    pub bytes: Vec<u8>,
    /// What the members' signatures are checked with, one for each.
    verifiers: Vec<Option<Verifier>>,
}

impl Roster {
    /// Makes a roster of these members, in whichever order they come.
    pub fn sign(admin: &AdminSecret, version: u64, mut members: Vec<Member>) -> Result<Self, FormatError> {
        members.sort_by_key(|member| member.site);
        let mut bytes = TAG.to_vec();
        admin.public().write(&mut bytes);
        version.write(&mut bytes);
        (members.len() as u32).write(&mut bytes);
        members.iter().for_each(|member| member.write(&mut bytes));
        admin.sign(&mut bytes);
        Roster { network: admin.public(), version, members, bytes, verifiers: Vec::new() }.checked()
    }

    /// Reads a roster of this network. All of it is checked, the signature before what it signs.
    pub fn decode(bytes: &[u8], network: &AdminKey) -> Result<Self, FormatError> {
        let mut rest = Reader::new(bytes, &TAG, ROSTER_BYTES_MAX)?.of_network(network);
        let network = rest.get()?;
        rest.signed_by(&network)?;
        let version = rest.get()?;
        let count = rest.get::<u32>()? as usize;
        let members = rest.list("sites", count, SITES_MAX)?;
        rest.end()?;
        Roster { network, version, members, bytes: bytes.to_vec(), verifiers: Vec::new() }.checked()
    }

    fn place_of(&self, site: &[u8; KEY_BYTES]) -> Option<usize> {
        self.members.binary_search_by_key(site, |member| member.site.to_bytes()).ok()
    }

    /// The key of those bytes, if it is a member's. Cheaper than finding out whether it is a sound key at all.
    pub(crate) fn key_of(&self, site: &[u8; KEY_BYTES]) -> Option<SiteKey> {
        self.members.get(self.place_of(site)?).map(|member| member.site)
    }

    /// What a member's signatures are checked with.
    pub(crate) fn verifier(&self, site: &[u8; KEY_BYTES]) -> Option<&Verifier> {
        self.verifiers.get(self.place_of(site)?)?.as_ref()
    }

    /// One of them.
    pub fn member(&self, site: &SiteKey) -> Option<&Member> {
        self.members.get(self.place_of(&site.to_bytes())?)
    }

    /// Which of two rosters of one network counts: this one, which arrived, or the one that is held.
    pub fn precedence(&self, held: &Roster) -> Precedence {
        debug_assert_eq!(self.network, held.network, "both were read as rosters of one network");
        Precedence::of(self.version.cmp(&held.version), &self.bytes, &held.bytes)
    }

    /// What holds of every roster, besides its form.
    fn checked(mut self) -> Result<Self, FormatError> {
        if self.version == 0 {
            return Err(number("roster of version", 0, "versions count from 1"));
        }
        at_most("sites", self.members.len(), SITES_MAX)?;
        for (one, next) in self.members.iter().zip(self.members.iter().skip(1)) {
            if one.site >= next.site {
                return Err(FormatError::Order(next.site));
            }
        }
        let mut names = HashSet::new();
        let mut sealing = HashSet::new();
        for member in &self.members {
            if !names.insert(&member.name) {
                return Err(FormatError::NameTwice(member.name.clone()));
            }
            if !sealing.insert(member.sealing) {
                return Err(FormatError::SealingTwice(member.sealing));
            }
        }
        self.verifiers = self.members.iter().map(|member| member.site.verifier()).collect();
        Ok(self)
    }
}
