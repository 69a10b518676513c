//! The network's signed documents: roster and manifests, as they are held and journalled; and the slots of sites.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seenit_sites::key::{AdminKey, SiteKey, SiteSecret};
use seenit_sites::manifest::{Manifest, Manifests};
use seenit_sites::number::Generation;
use seenit_sites::roster::{Caps, Roster};
use seenit_sites::{FormatError, Precedence};

use crate::link::LocalCaps;
use crate::rows;
use crate::store::{LinkBatch, Loaded, NetworkTerms, PeerSite, PeerSlot};

/// Slots that the ledger knows: as many as a roster has members.
const SLOTS_MAX: u16 = 1000;

/// What the admin signed, as far as it is known here.
pub(crate) struct Documents {
    pub(crate) network: AdminKey,
    pub(crate) roster: Option<Arc<Roster>>,
    pub(crate) manifests: Manifests,
    pub(crate) slots: BTreeMap<SiteKey, PeerSlot>,
    local_caps: LocalCaps,
    /// Slots that were given up in the batch that is not committed yet: nobody gets them before.
    pub(crate) freed: BTreeSet<PeerSlot>,
    /// Two documents with one number.
    pub(crate) fork: Option<String>,
}

impl Documents {
    /// Reads the documents that are journalled.
    pub(crate) fn open(loaded: &Loaded, network: AdminKey, local_caps: LocalCaps) -> Self {
        let mut roster = None;
        let mut manifests = Manifests::new();
        let mut slots = BTreeMap::new();
        for (key, value) in &loaded.rows {
            match key.split_first() {
                Some((b'r', _)) => roster = Roster::decode(value, &network).ok().map(Arc::new),
                Some((b'm', _)) => {
                    if let Ok(manifest) = Manifest::decode(value, &network) {
                        // They were taken in one by one, and are again.
                        let _ = manifests.add(manifest, None);
                    }
                }
                Some((b's', site)) => {
                    let site = site.try_into().ok().and_then(|site| SiteKey::from_bytes(site).ok());
                    if let (Some(site), Ok(slot)) = (site, value.as_slice().try_into()) {
                        slots.insert(site, PeerSlot(u16::from_be_bytes(slot)));
                    }
                }
                _ => {}
            }
        }
        Documents { network, roster, manifests, slots, local_caps, freed: BTreeSet::new(), fork: None }
    }

    /// The same documents, from what is durable.
    pub(crate) fn reload(&mut self, loaded: &Loaded) {
        let fork = self.fork.take();
        *self = Documents::open(loaded, self.network, std::mem::take(&mut self.local_caps));
        self.fork = fork;
    }

    /// Takes a roster in. Whether it counts from now on.
    pub(crate) fn take_roster(&mut self, batch: &mut LinkBatch, bytes: &[u8]) -> Result<bool, FormatError> {
        let roster = Roster::decode(bytes, &self.network)?;
        let precedence = self.roster.as_ref().map_or(Precedence::Newer, |held| roster.precedence(held));
        self.note_fork(precedence, &format!("two rosters of version {}", roster.version));
        if !precedence.replaces() {
            return Ok(false);
        }
        let mut slots = self.slots.clone();
        for member in &roster.members {
            if !slots.contains_key(&member.site) {
                let slot = free_slot(&slots, &self.freed)?;
                slots.insert(member.site, slot);
                batch.rows.push((rows::slot(&member.site), Some(slot.0.to_be_bytes().to_vec())));
            }
        }
        batch.rows.push((rows::ROSTER.to_vec(), Some(bytes.to_vec())));
        (self.roster, self.slots) = (Some(Arc::new(roster)), slots);
        Ok(true)
    }

    /// Takes a manifest in, likewise. `begun` is the generation in which this site counts already under the network's
    /// terms.
    pub(crate) fn take_manifest(
        &mut self,
        batch: &mut LinkBatch,
        bytes: &[u8],
        begun: Option<Generation>,
    ) -> Result<bool, FormatError> {
        let manifest = Manifest::decode(bytes, &self.network)?;
        let number = manifest.number;
        let precedence = self.manifests.add(manifest, begun)?;
        if let Precedence::Fork { .. } = precedence {
            self.note_fork(precedence, &format!("two manifests of number {number}"));
        }
        if !precedence.replaces() {
            return Ok(false);
        }
        batch.rows.push((rows::manifest(number), Some(bytes.to_vec())));
        Ok(true)
    }

    /// Two documents with one number are worth an alarm, until a greater number ends it.
    fn note_fork(&mut self, precedence: Precedence, what: &str) {
        match precedence {
            Precedence::Fork { .. } => {
                self.fork = Some(format!(
                    "{what}: the admin's key may be known to others; sign one of a greater version or number"
                ));
            }
            Precedence::Newer => self.fork = None,
            Precedence::Same | Precedence::Older => {}
        }
    }

    /// The terms that this site can open.
    pub(crate) fn terms(&self, secret: &SiteSecret) -> Option<NetworkTerms> {
        let mut keys = BTreeMap::new();
        let mut generation_secs = None;
        // They come in order: of one first generation the greatest number counts.
        for manifest in self.manifests.iter() {
            let Ok(key) = manifest.open(secret) else { continue };
            generation_secs = Some(manifest.terms.generation_secs);
            keys.insert(manifest.terms.first_generation, key);
        }
        let keys = keys.into_iter().collect();
        Some(NetworkTerms { network: self.network, generation_secs: generation_secs?, keys })
    }

    /// Whom the ledger is to believe. This site itself stays among them even where it was removed: what it once said
    /// is its own.
    pub(crate) fn peers(&self, own: &SiteKey) -> Vec<PeerSite> {
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let mut peers: Vec<PeerSite> = members
            .filter_map(|member| {
                let slot = *self.slots.get(&member.site)?;
                let name = member.name.as_str().to_owned();
                let caps = self.caps(&name, member.caps);
                Some(PeerSite { slot, site: member.site, name, caps })
            })
            .collect();
        if let Some(slot) = self.slots.get(own).filter(|_| peers.iter().all(|peer| peer.site != *own)) {
            let caps = Caps { spam: 0, ham: 0, seen: 0 };
            peers.push(PeerSite { slot: *slot, site: *own, name: "this site".into(), caps });
        }
        peers
    }

    fn caps(&self, name: &str, caps: Caps) -> Caps {
        let Some(local) = self.local_caps.get(name) else { return caps };
        Caps {
            spam: local.spam.map_or(caps.spam, |most| most.min(caps.spam)),
            ham: local.ham.map_or(caps.ham, |most| most.min(caps.ham)),
            seen: local.seen.map_or(caps.seen, |most| most.min(caps.seen)),
        }
    }

    /// Sites that have a slot and are no members any more.
    pub(crate) fn removed(&self, own: &SiteKey) -> Vec<SiteKey> {
        let is_gone = |site: &&SiteKey| *site != own && !self.is_listed(site);
        self.slots.keys().filter(is_gone).copied().collect()
    }

    /// Whether a site is in the roster.
    pub(crate) fn is_listed(&self, site: &SiteKey) -> bool {
        self.roster.as_ref().is_some_and(|roster| roster.member(site).is_some())
    }

    /// How many sites there are.
    pub(crate) fn members(&self) -> u64 {
        self.roster.as_ref().map_or(1, |roster| roster.members.len() as u64)
    }

    /// The site with a slot.
    pub(crate) fn site_of(&self, slot: PeerSlot) -> Option<SiteKey> {
        self.slots.iter().find(|(_, held)| **held == slot).map(|(site, _)| *site)
    }

    pub(crate) fn name_of(&self, site: &SiteKey) -> String {
        let member = self.roster.as_ref().and_then(|roster| roster.member(site));
        member.map_or_else(|| site.to_string(), |member| member.name.as_str().to_owned())
    }
}

/// The smallest slot that no site has.
fn free_slot(
    slots: &BTreeMap<SiteKey, PeerSlot>,
    freed: &BTreeSet<PeerSlot>,
) -> Result<PeerSlot, FormatError> {
    let taken: BTreeSet<PeerSlot> = slots.values().chain(freed).copied().collect();
    let free = (1..=SLOTS_MAX).map(PeerSlot).find(|slot| !taken.contains(slot));
    free.ok_or(FormatError::Many { what: "slots of sites", found: taken.len() + 1, most: SLOTS_MAX.into() })
}
