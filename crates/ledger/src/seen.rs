//! Seen: how many recipients got a message, in indexes of a few generations.
//!
//! Memory is an index over the log of sightings, and is rebuilt from it at start. A count is the sum over generations
//! and, in each, over *parts* by hash key: normally one, and two in a generation in which the site joined or left a
//! network. A part has what this site saw (*own*, over all its incarnations) and the *peer sum* of all other sites.
//! They are never merged, so that what others said can be taken away again.

mod before;
mod own;
mod part;
mod room;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use seenit_filter::GeometryError;
use seenit_filter::counting::Count;
use seenit_filter::hash::Hash128;
use seenit_filter::sightings::{Fingerprint, SeenIndex, Sighting};

use crate::config::LedgerConfig;
use crate::signature::SignatureRef;

pub(crate) use before::{Before, Counts};
pub(crate) use own::OwnSeen;
pub(crate) use part::PeerSum;
use part::{Hashes, Part, Under, add};
use room::BoundedIndex;
pub(crate) use room::NoRoom;

/// Signatures that are counted together: enough that memory is fetched for some while others are read, and few enough
/// to need no memory of their own.
const BATCH: usize = 16;

/// The most recipients that one call adds: more is a mistake or an attack, and MANY is a verb of its own.
pub const RECIPIENTS_MAX: u64 = 1_000_000;

/// A hash key of sightings.
pub(crate) type SeenKey = [u8; 16];

/// The key that holds for a generation, of keys by the first generation that each holds for.
pub(crate) fn key_at(keys: &[(u64, SeenKey)], generation: u64) -> Option<SeenKey> {
    let begun = keys.iter().filter(|(first, _)| *first <= generation);
    begun.max_by_key(|(first, _)| *first).map(|(_, key)| *key)
}

/// What was seen since the last delta of a generation.
pub(crate) struct Taken {
    pub(crate) generation: u64,
    pub(crate) own: Arc<OwnSeen>,
    pub(crate) sightings: Vec<Sighting>,
}

#[derive(Clone, Default)]
struct Generation {
    parts: Vec<Part>,
    /// Which part new sightings are counted in.
    live: Option<usize>,
    /// Counts that an earlier release kept as cells.
    before: Vec<Arc<Before>>,
}

impl Generation {
    /// The place of the part with a key, which is made where there is none.
    fn place(&mut self, key: SeenKey, own: SeenKey) -> usize {
        let known = self.parts.iter().position(|part| part.under.key == key);
        known.unwrap_or_else(|| {
            self.parts.push(Part::new(Under::new(key, own)));
            self.parts.len() - 1
        })
    }

    fn live_own(&self) -> Option<(&Part, &Arc<OwnSeen>)> {
        let part = &self.parts[self.live?];
        Some((part, part.own.as_ref()?))
    }

    fn count(&self, hashes: &mut Hashes<'_>, sum: &mut Count) {
        for part in &self.parts {
            let fingerprint = Fingerprint::of(hashes.under(&part.under));
            part.indexes().for_each(|index| add(sum, index.count(fingerprint)));
        }
        for before in &self.before {
            add(sum, before.count(hashes));
        }
    }
}

/// The generations that are counted.
pub(crate) struct Seen {
    config: LedgerConfig,
    /// What signatures are hashed with where no network says otherwise.
    own_key: SeenKey,
    newest: AtomicU64,
    /// The keys of the present network, by first generation.
    keys: RwLock<Vec<(u64, SeenKey)>>,
    /// Whoever counts holds it for reading, so that nothing is added to an index that was exchanged.
    generations: RwLock<BTreeMap<u64, Generation>>,
}

impl Seen {
    pub(crate) fn new(config: &LedgerConfig, own_key: SeenKey) -> Self {
        let config = config.clone();
        let keys = RwLock::default();
        let generations = RwLock::default();
        Seen { config, own_key, newest: AtomicU64::new(0), keys, generations }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Generation>> {
        self.generations.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Generation>> {
        self.generations.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The network's key of a generation; `None` where there is none.
    pub(crate) fn network_key(&self, generation: u64) -> Option<SeenKey> {
        key_at(&self.keys.read().unwrap_or_else(PoisonError::into_inner), generation)
    }

    /// Empty own counts, for [`enter`](Self::enter).
    pub(crate) fn new_own(&self) -> Result<Arc<OwnSeen>, GeometryError> {
        OwnSeen::new(self.config.seen, self.config.seen_capacity).map(Arc::new)
    }

    fn new_peers(&self) -> Result<Arc<PeerSum>, GeometryError> {
        let counts = BoundedIndex::new(self.config.seen, self.config.peers_capacity())?;
        Ok(Arc::new(PeerSum { counts }))
    }

    /// Changes the part of a generation with a key, which is made where there is none.
    fn change<T>(&self, generation: u64, key: SeenKey, change: impl FnOnce(&mut Part) -> T) -> T {
        let mut all = self.write();
        let one = all.entry(generation).or_default();
        let place = one.place(key, self.own_key);
        change(&mut one.parts[place])
    }

    /// Makes `newest` countable and drops what is too old. What is there already stays.
    pub(crate) fn advance(&self, newest: u64) -> Result<(), GeometryError> {
        let key = self.network_key(newest).unwrap_or(self.own_key);
        if !self.is_live(newest) {
            let own = self.own_of(newest, key)?;
            let mut all = self.write();
            let generation = all.entry(newest).or_default();
            let place = generation.place(key, self.own_key);
            generation.parts[place].own = Some(own);
            generation.live = Some(place);
        }
        self.newest.store(newest, Relaxed);
        self.write().retain(|&number, _| number + self.config.seen_generations > newest);
        Ok(())
    }

    /// Own counts of a generation under a key; empty ones where there are none.
    pub(crate) fn own_of(&self, generation: u64, key: SeenKey) -> Result<Arc<OwnSeen>, GeometryError> {
        let known = |one: &Generation| one.parts.iter().find(|part| part.under.key == key)?.own.clone();
        if let Some(own) = self.read().get(&generation).and_then(known) {
            return Ok(own);
        }
        let own = self.new_own()?;
        self.change(generation, key, |part| part.own = Some(Arc::clone(&own)));
        Ok(own)
    }

    /// From now on sightings are counted under these keys of a network, those of other generations and of none under
    /// the site's own; in the newest generation in `fresh` counts where there are none. What was pending under another
    /// key is returned: it is the ended incarnation's. `is_other` where the network is another one: what the peers of
    /// the one before said does not count any more.
    pub(crate) fn enter(&self, keys: Vec<(u64, SeenKey)>, is_other: bool, fresh: Arc<OwnSeen>) -> Vec<Taken> {
        let newest = self.newest.load(Relaxed);
        let key_of = |generation| key_at(&keys, generation).unwrap_or(self.own_key);
        let mut all = self.write();
        let mut ended = Vec::new();
        for (&number, generation) in all.iter_mut() {
            let place = generation.place(key_of(number), self.own_key);
            if generation.live != Some(place)
                && let Some((_, own)) = generation.live_own()
            {
                let (own, sightings) = (Arc::clone(own), own.take());
                ended.push(Taken { generation: number, own, sightings });
            }
            let part = &mut generation.parts[place];
            if number == newest && part.own.is_none() {
                part.own = Some(Arc::clone(&fresh));
            }
            generation.live = Some(place);
            if is_other {
                generation.parts.iter_mut().for_each(|part| (part.peers, part.next) = (None, None));
            }
        }
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        ended.retain(|taken| !taken.sightings.is_empty());
        ended
    }

    /// The first generation that holds counts under another key than `keys` say, and whether that is a network's.
    pub(crate) fn conflict(&self, keys: &[(u64, SeenKey)]) -> Option<(u64, bool)> {
        let differs = |(&number, one): (&u64, &Generation)| {
            let known = self.network_key(number);
            let has_counts = one.live_own().is_some() || one.parts.iter().any(|part| part.peers.is_some());
            (has_counts && known != key_at(keys, number)).then_some((number, known.is_some()))
        };
        let all = self.read();
        all.iter().filter_map(differs).max_by_key(|(_, is_networks)| *is_networks)
    }

    /// Adds counts that an earlier release kept as cells.
    pub(crate) fn put_before(&self, generation: u64, counts: Counts, key: SeenKey) {
        let before = Arc::new(Before::new(counts, Under::new(key, self.own_key)));
        self.write().entry(generation).or_default().before.push(before);
    }

    /// Whether a generation has room for a signature.
    pub(crate) fn check(
        &self,
        generation: u64,
        signature: SignatureRef<'_>,
        hash: Hash128,
    ) -> Result<(), NoRoom> {
        let all = self.read();
        let mut hashes = Hashes::new(signature, hash);
        let Some((part, own)) = all.get(&generation).and_then(Generation::live_own) else {
            return Ok(());
        };
        own.counts.admit(Fingerprint::of(hashes.under(&part.under))).map(|_| ())
    }

    /// Sightings that a generation had no room for since it began or the ledger was opened.
    pub(crate) fn refused(&self, generation: u64) -> u64 {
        self.read().get(&generation).and_then(Generation::live_own).map_or(0, |(_, own)| own.counts.refused())
    }

    /// New signatures that other sites saw in a generation and that are not remembered.
    pub(crate) fn peers_refused(&self, generation: u64) -> u64 {
        let all = self.read();
        let parts = all.get(&generation).into_iter().flat_map(|one| &one.parts);
        parts.filter_map(|part| part.peers.as_ref()).map(|peers| peers.counts.refused()).sum()
    }

    /// Counts `recipients` more of a signature, whose hash under the ledger's own key it is, in a generation, and says
    /// how many it has over all of them.
    pub(crate) fn add(
        &self,
        generation: u64,
        signature: SignatureRef<'_>,
        hash: Hash128,
        recipients: u64,
    ) -> Result<Count, NoRoom> {
        let all = self.read();
        let mut hashes = Hashes::new(signature, hash);
        if let Some((part, own)) = all.get(&generation).and_then(Generation::live_own) {
            own.add(Fingerprint::of(hashes.under(&part.under)), recipients)?;
        }
        Ok(count_in(&all, &mut hashes))
    }

    /// Recipients that got the signature in all generations; never below the truth.
    pub(crate) fn count(&self, signature: SignatureRef<'_>, hash: Hash128) -> Count {
        count_in(&self.read(), &mut Hashes::new(signature, hash))
    }

    /// The same of many signatures, index by index, so that memory is fetched for some while others are read.
    pub(crate) fn count_many(
        &self,
        signatures: &[SignatureRef<'_>],
        hashes: &[Hash128],
        counts: &mut [Count],
    ) {
        let batches = signatures.chunks(BATCH).zip(hashes.chunks(BATCH)).zip(counts.chunks_mut(BATCH));
        let all = self.read();
        for ((signatures, hashes), counts) in batches {
            count_batch(&all, signatures, hashes, counts);
        }
    }

    /// Whether a hash counts as seen in any generation, under whichever key: of a random one, whether by accident.
    pub(crate) fn is_counted(&self, hash: Hash128) -> bool {
        let fingerprint = Fingerprint::of(hash);
        self.read().values().any(|one| {
            let mut indexes = one.parts.iter().flat_map(Part::indexes);
            indexes.any(|index| index.count(fingerprint).value > 0)
                || one.before.iter().any(|before| before.is_counted(hash))
        })
    }

    /// The rate of such accidents that all counts promise together.
    pub(crate) fn promised_rate(&self) -> f64 {
        let of = |one: &Generation| {
            let indexes = one.parts.iter().flat_map(Part::indexes);
            let rate: f64 = indexes.map(|index| index.promised_rate(1)).sum();
            rate + one.before.iter().map(|before| before.promised_rate()).sum::<f64>()
        };
        self.read().values().map(of).sum()
    }

    /// Counts a hash in own counts, whatever they hold.
    #[cfg(test)]
    pub(crate) fn add_hash(&self, generation: u64, hash: Hash128, recipients: u64) {
        if let Some((_, own)) = self.read().get(&generation).and_then(Generation::live_own) {
            own.load(Fingerprint::of(hash), recipients);
        }
    }

    /// Whether anything was counted since the last deltas.
    #[cfg(test)]
    pub(crate) fn is_changed(&self) -> bool {
        let all = self.read();
        all.values().filter_map(Generation::live_own).any(|(_, own)| own.is_changed())
    }

    /// What was seen since the last deltas, generation by generation.
    pub(crate) fn take(&self) -> Vec<Taken> {
        let live = |(&generation, one): (&u64, &Generation)| {
            let (_, own) = one.live_own().filter(|(_, own)| own.is_changed())?;
            Some((generation, Arc::clone(own)))
        };
        let live: Vec<_> = self.read().iter().filter_map(live).collect();
        let taken = live.into_iter().map(|(generation, own)| {
            let sightings = own.take();
            Taken { generation, own, sightings }
        });
        taken.filter(|taken| !taken.sightings.is_empty()).collect()
    }

    /// Raises the peer sum of a generation by what a site says, which counts for `cap` at most. Nothing happens where
    /// the generation is too old, or the network has no key for it.
    pub(crate) fn hear(
        &self,
        generation: u64,
        sightings: &[Sighting],
        cap: u64,
    ) -> Result<(), GeometryError> {
        let Some(key) = self.network_key(generation).filter(|_| self.counts_of(generation)) else {
            return Ok(());
        };
        let known = |one: &Generation| {
            let part = one.parts.iter().find(|part| part.under.key == key)?;
            Some((part.peers.clone()?, part.next.clone()))
        };
        let known = self.read().get(&generation).and_then(known);
        let (peers, next) = match known {
            Some(known) => known,
            None => {
                let peers = self.new_peers()?;
                self.change(generation, key, |part| {
                    part.peers = Some(Arc::clone(&peers));
                    (peers, part.next.clone())
                })
            }
        };
        for sighting in sightings {
            peers.raise(sighting, cap);
            next.iter().for_each(|next| next.raise(sighting, cap));
        }
        Ok(())
    }

    /// Begins empty peer sums beside the present ones, one for each generation that has any or is named; what is heard
    /// from now on is counted in both.
    pub(crate) fn begin_rebuilding(
        &self,
        named: &[u64],
    ) -> Result<BTreeMap<u64, Arc<PeerSum>>, GeometryError> {
        let has = |(number, one): (&u64, &Generation)| {
            one.parts.iter().any(|part| part.peers.is_some()).then_some(*number)
        };
        let mut generations: Vec<u64> = self.read().iter().filter_map(has).collect();
        generations.extend(named.iter().filter(|generation| self.counts_of(**generation)));
        let mut begun = BTreeMap::new();
        for generation in generations {
            let Some(key) = self.network_key(generation) else { continue };
            let next = self.new_peers()?;
            self.change(generation, key, |part| part.next = Some(Arc::clone(&next)));
            begun.insert(generation, next);
        }
        Ok(begun)
    }

    /// Puts the peer sums that were rebuilt in the place of those there are. Of keys that are no network's any more
    /// there are none.
    pub(crate) fn finish_rebuilding(&self) {
        for (&number, one) in self.write().iter_mut() {
            let key = self.network_key(number);
            for part in &mut one.parts {
                let next = part.next.take();
                if next.is_some() || Some(part.under.key) != key {
                    part.peers = next;
                }
            }
        }
    }

    /// Signatures and the false-positive rate of the newest generation: own ones, or the peers' where those are more.
    pub(crate) fn fill(&self) -> (u64, f64) {
        let all = self.read();
        let Some(newest) = all.get(&self.newest.load(Relaxed)) else {
            return (0, 0.0);
        };
        let mut most = 0;
        let mut rate = 0.0;
        for index in newest.parts.iter().flat_map(Part::indexes) {
            most = most.max(index.signatures());
            rate += index.present_rate(1);
        }
        (most, rate * all.len() as f64)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let of = |one: &Generation| {
            let indexes = one
                .parts
                .iter()
                .flat_map(|part| part.indexes().chain(part.next.iter().map(|next| &next.counts.index)));
            let before: u64 = one.before.iter().map(|before| before.memory_bytes()).sum();
            before + indexes.map(SeenIndex::memory_bytes).sum::<u64>()
        };
        self.read().values().map(of).sum()
    }

    /// Whether counts of a generation are still among those that are added up.
    pub(crate) fn counts_of(&self, generation: u64) -> bool {
        generation + self.config.seen_generations > self.newest.load(Relaxed)
    }

    /// Whether a generation can be counted in.
    pub(crate) fn is_live(&self, generation: u64) -> bool {
        self.read().get(&generation).is_some_and(|one| one.live_own().is_some())
    }
}

/// Counts of at most [`BATCH`] signatures.
fn count_batch(
    all: &BTreeMap<u64, Generation>,
    signatures: &[SignatureRef<'_>],
    hashes: &[Hash128],
    counts: &mut [Count],
) {
    let number = counts.len();
    let Some(last) = number.checked_sub(1) else { return };
    let at = |place: usize| Hashes::new(signatures[place.min(last)], hashes[place.min(last)]);
    let mut hashes: [Hashes<'_>; BATCH] = std::array::from_fn(at);
    let hashes = &mut hashes[..number];
    let mut found = [Count::default(); BATCH];
    let mut fingerprints = [Fingerprint::default(); BATCH];
    counts.fill(Count::default());
    for generation in all.values() {
        for part in &generation.parts {
            for (fingerprint, hashes) in fingerprints.iter_mut().zip(&mut *hashes) {
                *fingerprint = Fingerprint::of(hashes.under(&part.under));
            }
            for index in part.indexes() {
                index.count_many(&fingerprints[..number], &mut found[..number]);
                counts.iter_mut().zip(&found).for_each(|(sum, count)| add(sum, *count));
            }
        }
        for before in &generation.before {
            counts.iter_mut().zip(&mut *hashes).for_each(|(sum, one)| add(sum, before.count(one)));
        }
    }
}

fn count_in(all: &BTreeMap<u64, Generation>, hashes: &mut Hashes<'_>) -> Count {
    let mut sum = Count::default();
    all.values().for_each(|generation| generation.count(hashes, &mut sum));
    sum
}
