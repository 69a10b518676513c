//! Seen: how many recipients got a message, in counting filters of a few generations.
//!
//! A count is the sum over parts, each with cells of its own: what this life of the folder counts (*own*), what earlier
//! lives did (*frozen*), and what other sites were told (*others*). They are not merged: refined insertion must look at
//! own cells only (see `seenit_filter::counting::OwnAndPeers`), and parts may have different hash keys and shapes. What
//! own cells gained is journalled at a short interval, as the very bytes that other sites apply.

mod catching;
mod lives;
mod others;
mod parts;
mod room;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use seenit_filter::GeometryError;
use seenit_filter::counting::Count;
use seenit_filter::hash::Hash128;

use crate::identity::Incarnation;
use crate::journal::JournalError;
use crate::signature::SignatureRef;
use crate::terms::{Counts, Terms};

pub(crate) use catching::Catching;
pub(crate) use lives::{Change, Ended, FrozenPart};
pub(crate) use parts::{Delta, SharedCounts};
use parts::{Frozen, Generation, Hashes, Live, Under};
pub(crate) use room::NoRoom;

/// The most recipients that one call adds: more is a mistake or an attack, and MANY is a verb of its own.
pub const RECIPIENTS_MAX: u64 = 1_000_000;

/// Why there are no cells of a generation to share.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoCells {
    #[error("generation {0} is not the network's: it has no terms")]
    Private(u64),
    #[error("the cells are not of the terms of generation {0}")]
    Unlike(u64),
    #[error(transparent)]
    Geometry(#[from] GeometryError),
}

/// The generations that are counted.
pub(crate) struct Seen {
    /// What is counted under where no network says otherwise.
    private: Terms,
    /// Generations that are added up.
    kept: u64,
    newest: AtomicU64,
    /// The life that counts. Whoever changes what generations are made of holds it.
    life: Mutex<Incarnation>,
    /// Whoever counts holds it for reading, so that nothing is added to cells that were exchanged.
    generations: RwLock<BTreeMap<u64, Generation>>,
}

impl Seen {
    pub(crate) fn new(private: Terms, kept: u64) -> Self {
        let life = Mutex::new(Incarnation::private(0, 1));
        Seen { private, kept, newest: AtomicU64::new(0), life, generations: RwLock::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<u64, Generation>> {
        self.generations.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Generation>> {
        self.generations.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn life(&self) -> MutexGuard<'_, Incarnation> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn terms_of<'a>(&'a self, life: &'a Incarnation, generation: u64) -> &'a Terms {
        life.terms_at(generation).unwrap_or(&self.private)
    }

    fn under(&self, life: &Incarnation, generation: u64) -> Under {
        Under::new(self.terms_of(life, generation).hash_key(), self.private.hash_key())
    }

    /// Cells that are counted in, by generation.
    fn live(&self) -> Vec<(u64, Arc<Live>)> {
        let live = |(&number, generation): (&u64, &Generation)| Some((number, generation.live.clone()?));
        self.read().iter().filter_map(live).collect()
    }

    fn live_of(&self, generation: u64) -> Option<Arc<Live>> {
        self.read().get(&generation)?.live.clone()
    }

    /// Makes `newest` countable and drops what is too old. What is there already stays.
    pub(crate) fn advance(&self, newest: u64) -> Result<(), GeometryError> {
        if !self.is_live(newest) {
            let own = self.terms_of(&self.life(), newest).empty()?;
            self.put_own(newest, own, 0)?;
        }
        self.newest.store(newest, Relaxed);
        self.write().retain(|&number, _| number + self.kept > newest);
        Ok(())
    }

    /// Own cells as the last delta left them, and its number, while nobody counts; empty ones where there are none.
    pub(crate) fn taken(&self, number: u64) -> Result<(Counts, u64), GeometryError> {
        // Cells that were carried over, and that no delta has yet, are told from nothing.
        match self.live_of(number).filter(|live| !live.changed.load(Acquire)) {
            Some(live) => Ok((live.own.snapshot()?, live.sequence())),
            None => Ok((self.terms_of(&self.life(), number).empty()?, 0)),
        }
    }

    /// Puts own cells of the present life after `sequence` deltas; others' and frozen ones stay. They keep the shape
    /// they began with, whatever the configuration says by now.
    pub(crate) fn put_own(&self, number: u64, own: Counts, sequence: u64) -> Result<(), GeometryError> {
        let (live, life) = (Arc::new(Live::new(own, sequence)?), self.life());
        let empty = || Generation::new(self.under(&life, number), life.terms_at(number).is_some());
        self.write().entry(number).or_insert_with(empty).live = Some(live);
        self.newest.fetch_max(number, Relaxed);
        Ok(())
    }

    /// Puts cells of an earlier life, told to a network or not, as they were stored.
    pub(crate) fn put_frozen(
        &self,
        number: u64,
        (incarnation, is_shared): (u64, bool),
        (counts, hash_key): (Counts, [u8; 16]),
        sequence: u64,
    ) {
        let under = Under::new(hash_key, self.private.hash_key());
        let part = Frozen { incarnation, is_shared, sequence, under, counts: Arc::new(counts.share()) };
        let life = self.life();
        let empty = || Generation::new(self.under(&life, number), life.terms_at(number).is_some());
        self.write().entry(number).or_insert_with(empty).frozen.push(Arc::new(part));
        self.newest.fetch_max(number, Relaxed);
    }

    /// Whether a generation has room for `recipients` more of a signature.
    pub(crate) fn check(
        &self,
        generation: u64,
        (signature, hash): (SignatureRef<'_>, Hash128),
        recipients: u64,
    ) -> Result<(), NoRoom> {
        let (all, mut hashes) = (self.read(), Hashes::new(signature, hash));
        let now = all.get(&generation).and_then(|now| Some((&now.under, now.live.as_ref()?)));
        now.map_or(Ok(()), |(under, live)| live.check(hashes.under(under), recipients))
    }

    /// Sightings that a generation had no room for since it began or the ledger was opened.
    pub(crate) fn refused(&self, generation: u64) -> u64 {
        self.live_of(generation).map_or(0, |live| live.room.refused())
    }

    /// Counts `recipients` more of a signature, whose hash under the ledger's own key it is, in a generation, and says
    /// how many it has over all of them.
    pub(crate) fn add(
        &self,
        generation: u64,
        (signature, hash): (SignatureRef<'_>, Hash128),
        recipients: u64,
    ) -> Result<Count, NoRoom> {
        let (all, mut hashes) = (self.read(), Hashes::new(signature, hash));
        if let Some(now) = all.get(&generation)
            && let Some(live) = &now.live
        {
            live.add(hashes.under(&now.under), recipients)?;
        }
        Ok(count_in(&all, &mut hashes))
    }

    /// Recipients that got the signature in all generations; never below the truth.
    pub(crate) fn count(&self, signature: SignatureRef<'_>, hash: Hash128) -> Count {
        count_in(&self.read(), &mut Hashes::new(signature, hash))
    }

    /// Whether a hash counts as seen in any generation, under whichever key: of a random one, whether by accident.
    pub(crate) fn is_counted(&self, hash: Hash128) -> bool {
        self.read().values().any(|generation| generation.is_counted(hash))
    }

    /// The rate of such accidents that all cells promise together.
    pub(crate) fn promised_rate(&self) -> f64 {
        let parts = |one: &Generation| one.live.iter().count() + one.others.iter().count() + one.frozen.len();
        let life = self.life();
        let rate =
            |(&number, one): (&u64, &Generation)| self.terms_of(&life, number).rate() * parts(one) as f64;
        self.read().iter().map(rate).sum()
    }

    /// Counts a hash in own cells, whatever they hold.
    #[cfg(test)]
    pub(crate) fn add_hash(&self, generation: u64, hash: Hash128, recipients: u64) {
        if let Some(live) = self.live_of(generation) {
            live.own.insert_weighted(hash, recipients);
        }
    }

    /// Whether anything was counted since the last deltas were begun.
    pub(crate) fn is_changed(&self) -> bool {
        self.live().iter().any(|(_, live)| live.changed.load(Acquire))
    }

    /// Lets the next deltas look at all own cells, whether anything was counted or not.
    pub(crate) fn look_again(&self) {
        self.live().iter().for_each(|(_, live)| live.changed.store(true, Release));
    }

    /// What own cells gained since the last delta, generation by generation.
    pub(crate) fn deltas(&self) -> Result<Vec<Delta>, JournalError> {
        let mut deltas: Vec<Delta> = Vec::new();
        for (number, live) in self.live() {
            if !live.changed.swap(false, AcqRel) {
                continue;
            }
            match live.delta(number) {
                Ok(delta) => deltas.push(delta),
                Err(why) => {
                    live.changed.store(true, Release);
                    deltas.iter().for_each(|delta| self.not_journalled(delta));
                    return Err(JournalError::Rows(why));
                }
            }
        }
        Ok(deltas)
    }

    /// A delta is durable.
    pub(crate) fn journalled(&self, delta: Delta) {
        if let Some(live) = self.live_of(delta.generation) {
            live.put_journalled(delta.state, delta.sequence);
        }
    }

    /// A delta could not be written: what it says is said again by the next.
    pub(crate) fn not_journalled(&self, delta: &Delta) {
        if let Some(live) = self.live_of(delta.generation) {
            live.changed.store(true, Release);
        }
    }

    /// Calls `visit` with own cells of each generation as the last delta left them: number, cells, deltas.
    pub(crate) fn each_journalled<E>(
        &self,
        mut visit: impl FnMut(u64, &Counts, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        for (number, live) in self.live() {
            let journalled = live.journalled();
            visit(number, &journalled.0, journalled.1)?;
        }
        Ok(())
    }

    /// The generations whose own cells are told to a network, and the last delta of each.
    pub(crate) fn shared_generations(&self) -> Vec<(u64, u64)> {
        let shared = |(&number, one): (&u64, &Generation)| {
            let live = one.live.as_ref().filter(|_| one.is_shared)?;
            Some((number, live.sequence()))
        };
        self.read().iter().filter_map(shared).collect()
    }

    /// Calls `look` with own cells that are told to a network, as the last delta left them, and its number. No delta is
    /// journalled meanwhile.
    pub(crate) fn look<T>(&self, generation: u64, look: impl FnOnce(&Counts, u64) -> T) -> Option<T> {
        let live = self.read().get(&generation).filter(|one| one.is_shared)?.live.clone()?;
        let journalled = live.journalled();
        Some(look(&journalled.0, journalled.1))
    }

    /// Keys and the false-positive rate of the newest generation, read off its cells: own ones as the last delta left
    /// them, and others'. Each were made for as many keys, so the fuller ones say how many there are; a stranger counts
    /// where either are wrong, which is no more often than both rates together.
    pub(crate) fn fill(&self) -> (u64, f64) {
        let Some((number, newest)) = self.live().pop() else {
            return (0, 0.0);
        };
        let (own, capacity) = {
            let journalled = newest.journalled();
            (journalled.0.at_least(1), journalled.0.promise().map_or(0, |promise| promise.capacity))
        };
        let others = self.others(number).map(|others| others.at_least(1));
        let (mut most, mut rate) = (0, 0.0);
        for cut in std::iter::once(own).chain(others).flatten() {
            let keys = cut.cardinality().map_or(capacity as f64 * 10.0, |estimate| estimate.value);
            most = most.max(keys as u64);
            rate += cut.present_rate();
        }
        (most, rate * self.read().len() as f64)
    }

    /// Signatures that the newest generation was made for, where a network says so.
    pub(crate) fn shared_capacity(&self) -> Option<u64> {
        self.life().terms_at(self.newest.load(Relaxed)).map(Terms::capacity)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let bytes = |counts: &SharedCounts| counts.cells().memory_bytes();
        let still = |one: &Generation| {
            let others = one.others.as_ref().map_or(0, |others| bytes(others));
            others + one.frozen.iter().map(|part| bytes(&part.counts)).sum::<u64>()
        };
        let live =
            |(_, live): (u64, Arc<Live>)| bytes(&live.own) + live.journalled().0.cells().memory_bytes();
        self.read().values().map(still).sum::<u64>() + self.live().into_iter().map(live).sum::<u64>()
    }

    /// Whether counts of a generation are still among those that are added up.
    pub(crate) fn counts_of(&self, generation: u64) -> bool {
        generation + self.kept > self.newest.load(Relaxed)
    }

    /// Whether a generation can be counted in.
    pub(crate) fn is_live(&self, generation: u64) -> bool {
        self.live_of(generation).is_some()
    }
}

fn count_in(all: &BTreeMap<u64, Generation>, hashes: &mut Hashes<'_>) -> Count {
    let mut sum = Count::default();
    all.values().for_each(|generation| generation.count(hashes, &mut sum));
    sum
}
