//! The roster: who belongs to a network, and how far each site is believed. Signed by the admin.
//!
//! One roster has one encoding: members stand in the order of their keys, and nothing can be said in two ways. So two
//! rosters are the same if and only if their bytes are.

mod member;

use std::collections::HashSet;

use thiserror::Error;

use crate::form::{self, Bytes, FormError, Tag};
use crate::key::{
    AdminKey, AdminSecret, KEY_BYTES, KeyError, Role, SIGNATURE_BYTES, SealingKey, Site, SiteKey, Verifier,
};
use crate::succession::Standing;

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

/// Why something is no roster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RosterError {
    /// Not even the form, or not signed.
    #[error("no roster: {0}")]
    Form(#[from] FormError),
    /// Somebody else's.
    #[error("the roster is of network {found}, not of {expected}")]
    OtherNetwork {
        /// The network that was asked for.
        expected: AdminKey,
        /// The one it is of.
        found: String,
    },
    /// Versions count from 1.
    #[error("a roster of version 0: versions count from 1")]
    Version,
    /// Too many members.
    #[error("a roster of {0} sites: there may be {SITES_MAX}")]
    Sites(u64),
    /// A member whose key is none.
    #[error("the key of the site at place {place}: {error}")]
    Key {
        /// Counted from 0.
        place: u32,
        /// Why.
        error: KeyError,
    },
    /// A member whose name is none.
    #[error("the name of site {site}: {error}")]
    Name {
        /// The site.
        site: SiteKey,
        /// Why.
        error: NameError,
    },
    /// A second encoding of a roster.
    #[error("site {0} does not stand where the order of keys has it")]
    Order(SiteKey),
    /// One site twice.
    #[error("site {0} is in it twice")]
    SiteTwice(SiteKey),
    /// Two sites that nobody could tell apart.
    #[error("two sites have the name {0}")]
    NameTwice(Name),
    /// Two sites of which each opens what is sealed to the other: one is a copy.
    #[error("two sites have the sealing key {0}")]
    SealingTwice(SealingKey),
}

/// A roster, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    network: AdminKey,
    version: u64,
    members: Vec<Member>,
    /// What the members' signatures are checked with, one for each.
    verifiers: Vec<Option<Verifier>>,
    bytes: Vec<u8>,
}

impl Roster {
    /// Makes a roster of these members, in whichever order they come.
    pub fn sign(admin: &AdminSecret, version: u64, mut members: Vec<Member>) -> Result<Self, RosterError> {
        members.sort_by_key(|member| member.site);
        check(version, &members)?;
        let network = admin.public();
        let mut bytes = TAG.to_vec();
        bytes.extend(network.to_bytes());
        bytes.extend(version.to_le_bytes());
        bytes.extend((members.len() as u32).to_le_bytes());
        members.iter().for_each(|member| member.encode(&mut bytes));
        admin.sign(&mut bytes);
        let verifiers = members.iter().map(|member| member.site.verifier()).collect();
        Ok(Roster { network, version, members, verifiers, bytes })
    }

    /// Reads a roster of this network. All of it is checked, the signature before what it signs.
    pub fn decode(bytes: &[u8], network: &AdminKey) -> Result<Self, RosterError> {
        form::at_most(bytes, ROSTER_BYTES_MAX)?;
        let mut head = Bytes(bytes);
        head.tag(&TAG)?;
        let found = head.array()?;
        if found != network.to_bytes() {
            return Err(RosterError::OtherNetwork { expected: *network, found: hex::encode(found) });
        }
        let mut rest = Bytes(form::signed_by(bytes, network)?);
        rest.run(TAG.len() + KEY_BYTES)?;
        let (version, count) = (rest.u64()?, rest.u32()?);
        if count as usize > SITES_MAX {
            return Err(RosterError::Sites(count.into()));
        }
        let members = (0..count).map(|place| Member::decode(&mut rest, place));
        let members: Vec<Member> = members.collect::<Result<_, _>>()?;
        rest.end()?;
        check(version, &members)?;
        let verifiers = members.iter().map(|member| member.site.verifier()).collect();
        Ok(Roster { network: *network, version, members, verifiers, bytes: bytes.to_vec() })
    }

    /// The whole of it, to be sent or stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Which network it is of.
    pub fn network(&self) -> &AdminKey {
        &self.network
    }

    /// Its version, which only grows.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The sites, in the order of their keys.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The key of those bytes, if it is a member's. Cheaper than finding out whether it is a sound key at all.
    pub(crate) fn key_of(&self, bytes: &[u8; KEY_BYTES]) -> Option<SiteKey> {
        let place = self.members.binary_search_by_key(bytes, |member| member.site.to_bytes()).ok()?;
        self.members.get(place).map(|member| member.site)
    }

    /// One of them.
    pub fn member(&self, site: &SiteKey) -> Option<&Member> {
        let place = self.members.binary_search_by_key(site, |member| member.site).ok()?;
        self.members.get(place)
    }

    /// Refuses what does not end with this member's signature of all that stands before.
    pub(crate) fn check_signature(&self, bytes: &[u8], site: &SiteKey) -> Result<(), FormError> {
        let place = self.members.binary_search_by_key(site, |member| member.site).ok();
        let verifier = place.and_then(|place| self.verifiers.get(place)?.as_ref());
        let (body, signature) = bytes.split_last_chunk().ok_or(FormError::Cut)?;
        if verifier.is_some_and(|verifier| verifier.verifies(body, signature)) {
            return Ok(());
        }
        Err(FormError::Signature { role: Site::NAME, signer: site.to_string() })
    }

    /// How this roster, which arrived, stands to the one that is held. Those of two networks have nothing to do with
    /// each other.
    pub fn standing(&self, held: &Roster) -> Result<Standing, RosterError> {
        if self.network != held.network {
            let found = self.network.to_string();
            return Err(RosterError::OtherNetwork { expected: held.network, found });
        }
        Ok(Standing::of((self.version, &self.bytes), (held.version, &held.bytes)))
    }
}

/// What holds of every roster, besides its form.
fn check(version: u64, members: &[Member]) -> Result<(), RosterError> {
    if version == 0 {
        return Err(RosterError::Version);
    }
    if members.len() > SITES_MAX {
        return Err(RosterError::Sites(members.len() as u64));
    }
    for (one, next) in members.iter().zip(members.iter().skip(1)) {
        match one.site.cmp(&next.site) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => return Err(RosterError::SiteTwice(next.site)),
            std::cmp::Ordering::Greater => return Err(RosterError::Order(next.site)),
        }
    }
    let (mut names, mut sealing) = (HashSet::new(), HashSet::new());
    for member in members {
        if !names.insert(&member.name) {
            return Err(RosterError::NameTwice(member.name.clone()));
        }
        if !sealing.insert(member.sealing) {
            return Err(RosterError::SealingTwice(member.sealing));
        }
    }
    Ok(())
}
