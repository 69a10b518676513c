//! The papers of the network: roster and manifests, as they are held and journalled; and the slots of sites.

use std::collections::BTreeMap;

use seenit_sites::Standing;
use seenit_sites::key::{AdminKey, SiteKey, SiteSecret};
use seenit_sites::manifest::{Manifest, Manifests};
use seenit_sites::roster::{Caps, Roster};

use crate::journal::{Batch, Journal, JournalError, Peer, Terms};
use crate::rows;

/// What the admin signed, as far as it is known here.
pub(crate) struct Papers {
    pub(crate) network: AdminKey,
    pub(crate) roster: Option<Roster>,
    pub(crate) manifests: Manifests,
    /// The number of each site in the ledger.
    pub(crate) slots: BTreeMap<SiteKey, u16>,
    /// Two papers of one number.
    pub(crate) fork: Option<String>,
}

impl Papers {
    /// Reads the papers that are journalled.
    pub(crate) fn open<J: Journal>(journal: &J, network: AdminKey) -> Result<Self, JournalError> {
        let roster = journal.row(rows::ROSTER)?;
        let roster = roster.and_then(|bytes| Roster::decode(&bytes, &network).ok());
        let (mut manifests, mut slots) = (Manifests::new(), BTreeMap::new());
        journal.rows(rows::MANIFESTS, &mut |_, bytes| {
            if let Ok(manifest) = Manifest::decode(bytes, &network) {
                // They were taken in one by one, and are again.
                let _ = manifests.add(manifest, None);
            }
            true
        })?;
        journal.rows(rows::SLOTS, &mut |key, value| {
            let site = key.strip_prefix(rows::SLOTS).and_then(|key| key.try_into().ok());
            let site = site.and_then(|key| SiteKey::from_bytes(key).ok());
            if let (Some(site), Ok(slot)) = (site, value.try_into()) {
                slots.insert(site, u16::from_be_bytes(slot));
            }
            true
        })?;
        Ok(Papers { network, roster, manifests, slots, fork: None })
    }

    /// Takes a roster in, durably. Whether it is another one now.
    pub(crate) fn take_roster<J: Journal>(
        &mut self,
        journal: &mut J,
        bytes: &[u8],
    ) -> Result<bool, PaperError> {
        let roster =
            Roster::decode(bytes, &self.network).map_err(|error| PaperError::Refused(error.to_string()))?;
        if let Some(held) = &self.roster {
            let standing = roster.standing(held).map_err(|error| PaperError::Refused(error.to_string()))?;
            if let Standing::Fork { .. } = standing {
                let version = roster.version();
                self.fork =
                    Some(format!("two rosters of version {version}: the admin's key may be known to others"));
            }
            if !standing.replaces() {
                return Ok(false);
            }
            if standing == Standing::Newer {
                self.fork = None;
            }
        }
        let mut batch = Batch::default();
        batch.rows.push((rows::ROSTER.to_vec(), Some(bytes.to_vec())));
        let mut slots = self.slots.clone();
        for member in roster.members() {
            if !slots.contains_key(&member.site) {
                let slot =
                    free_slot(&slots).ok_or_else(|| PaperError::Refused("there is no slot left".into()))?;
                slots.insert(member.site, slot);
                batch.rows.push((rows::slot(&member.site), Some(slot.to_be_bytes().to_vec())));
            }
        }
        journal.commit(batch)?;
        (self.roster, self.slots) = (Some(roster), slots);
        Ok(true)
    }

    /// Takes a manifest in, durably. Whether there is a new one.
    pub(crate) fn take_manifest<J: Journal>(
        &mut self,
        journal: &mut J,
        bytes: &[u8],
        begun: Option<u64>,
    ) -> Result<bool, PaperError> {
        let refused = |why: String| PaperError::Refused(why);
        let manifest = Manifest::decode(bytes, &self.network).map_err(|error| refused(error.to_string()))?;
        let (number, mut manifests) = (manifest.number(), self.manifests.clone());
        let standing = manifests.add(manifest, begun).map_err(|error| refused(error.to_string()))?;
        if let Standing::Fork { .. } = standing {
            self.fork =
                Some(format!("two manifests of number {number}: the admin's key may be known to others"));
        }
        if !standing.replaces() {
            return Ok(false);
        }
        let rows = vec![(rows::manifest(number), Some(bytes.to_vec()))];
        journal.commit(Batch { rows, heard: Vec::new() })?;
        self.manifests = manifests;
        Ok(true)
    }

    /// The terms that this site can open, by first generation.
    pub(crate) fn terms<J: Journal>(&self, journal: &J, secret: &SiteSecret) -> Vec<Terms> {
        let mut terms: BTreeMap<u64, (u64, Terms)> = BTreeMap::new();
        // Those of every number; of one first generation the greatest number counts.
        let read = journal.rows(rows::MANIFESTS, &mut |_, bytes| {
            let manifest = Manifest::decode(bytes, &self.network).ok();
            let opened = manifest.as_ref().and_then(|manifest| manifest.open(secret).ok());
            if let (Some(manifest), Some(hash_key)) = (manifest, opened) {
                let said = manifest.terms();
                let (first_generation, generation_secs) = (said.first_generation, said.generation_secs);
                let geometry = said.geometry;
                let one = Terms { first_generation, generation_secs, hash_key, geometry };
                let number = manifest.number();
                if terms.get(&first_generation).is_none_or(|(held, _)| *held < number) {
                    terms.insert(first_generation, (number, one));
                }
            }
            true
        });
        if read.is_err() {
            return Vec::new();
        }
        terms.into_values().map(|(_, terms)| terms).collect()
    }

    /// The members as the ledger knows them.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        let members = self.roster.iter().flat_map(|roster| roster.members());
        members
            .filter_map(|member| {
                let Caps { spam, ham, seen } = member.caps;
                let (slot, name) = (*self.slots.get(&member.site)?, member.name.as_str().to_owned());
                Some(Peer { slot, site: member.site.to_bytes(), name, spam, ham, seen })
            })
            .collect()
    }

    /// The site with a slot.
    pub(crate) fn site_of(&self, slot: u16) -> Option<SiteKey> {
        self.slots.iter().find(|(_, held)| **held == slot).map(|(site, _)| *site)
    }

    /// Sites that have a slot and are no members any more.
    pub(crate) fn removed(&self) -> Vec<(SiteKey, u16)> {
        let is_member =
            |site: &SiteKey| self.roster.as_ref().is_some_and(|roster| roster.member(site).is_some());
        self.slots.iter().filter(|(site, _)| !is_member(site)).map(|(site, slot)| (*site, *slot)).collect()
    }

    /// Recipients that one cell of a site counts for at most.
    pub(crate) fn seen_cap(&self, site: &SiteKey) -> u64 {
        self.roster.as_ref().and_then(|roster| roster.member(site)).map_or(0, |member| member.caps.seen)
    }

    pub(crate) fn name_of(&self, site: &SiteKey) -> String {
        let member = self.roster.as_ref().and_then(|roster| roster.member(site));
        member.map_or_else(|| site.to_string(), |member| member.name.as_str().to_owned())
    }
}

/// Numbers of sites, as many as the ledger knows: those of a roster.
const SLOTS_MAX: u16 = 1000;

/// The smallest number that no site has.
fn free_slot(slots: &BTreeMap<SiteKey, u16>) -> Option<u16> {
    let taken: std::collections::BTreeSet<u16> = slots.values().copied().collect();
    (1..=SLOTS_MAX).find(|slot| !taken.contains(slot))
}

/// Why a paper is not taken.
pub(crate) enum PaperError {
    Refused(String),
    Journal(JournalError),
}

impl From<JournalError> for PaperError {
    fn from(error: JournalError) -> Self {
        PaperError::Journal(error)
    }
}
