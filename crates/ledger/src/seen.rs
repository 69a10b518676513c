//! Seen: how many recipients got a message, in counting filters of a few generations.
//!
//! Own cells and those of others are two filters: refined insertion must look at own cells only (see
//! `seenit_filter::counting::OwnAndPeers`), and a count is the sum of both. What own cells gained is journalled at a
//! short interval, as the very bytes that other sites apply.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use seenit_filter::cells::SplitCells;
use seenit_filter::cells::split::Split;
use seenit_filter::counting::{Count, CountingFilter, Refined, SharedCountingFilter};
use seenit_filter::delta::{CountGain, Follower};
use seenit_filter::hash::{Fingerprint, Hash128};
use seenit_filter::{AnyLayout, GeometryError, HugePages, Layout, Paged, Promise};

use crate::config::LedgerConfig;
use crate::journal::JournalError;

/// Low bits of a cell: most messages have fewer than eight recipients.
const LOW_BITS: u32 = 3;

/// Tables of high parts: so many writers at a time can raise large counts.
const CHUNKS: u64 = 64;

/// The most recipients that one call adds: more is a mistake or an attack, and MANY is a verb of its own.
pub(crate) const RECIPIENTS_MAX: u64 = 1_000_000;

pub(crate) type Owned = CountingFilter<Refined, AnyLayout, SplitCells>;

/// One generation of seen counts.
pub(crate) struct Generation {
    own: SharedCountingFilter<Refined, AnyLayout, SplitCells>,
    /// What others were told: peers, and earlier lives of this folder.
    others: SharedCountingFilter<Refined, AnyLayout, SplitCells>,
    /// Own cells as the last delta left them, and its number.
    journalled: Mutex<(Owned, u64)>,
    /// Something was counted since.
    changed: AtomicBool,
}

/// A delta that is not yet journalled.
pub(crate) struct Delta {
    pub(crate) generation: u64,
    pub(crate) sequence: u64,
    pub(crate) bytes: Vec<u8>,
    state: Owned,
}

impl Generation {
    fn new(own: Owned, others: Owned, sequence: u64) -> Result<Self, GeometryError> {
        let own = own.share();
        let journalled = Mutex::new((own.snapshot()?, sequence));
        Ok(Generation { own, others: others.share(), journalled, changed: AtomicBool::new(false) })
    }

    fn journalled(&self) -> MutexGuard<'_, (Owned, u64)> {
        self.journalled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recipients that got the key in this generation; never below the truth.
    fn count(&self, hash: Hash128) -> Count {
        let (own, others) = (self.own.count(hash), self.others.count(hash));
        Count { value: own.value.saturating_add(others.value), saturated: own.saturated || others.saturated }
    }
}

/// The generations that are counted.
pub(crate) struct Seen {
    split: Split,
    layout: AnyLayout,
    promise: Promise,
    fingerprint: Fingerprint,
    live: u64,
    generations: RwLock<Arc<BTreeMap<u64, Arc<Generation>>>>,
}

impl Seen {
    pub(crate) fn new(config: &LedgerConfig, fingerprint: Fingerprint) -> Result<Self, GeometryError> {
        let split = Split::new(LOW_BITS, CHUNKS)?;
        // The rate holds for a lookup of all generations.
        let rate = config.rate / config.seen_generations as f64;
        let promise = Promise { capacity: config.seen_capacity, rate };
        let layout = Paged::sized_with_slots(promise.capacity, rate, split.base().per_page())?.any();
        let live = config.seen_generations;
        Ok(Seen { split, layout, promise, fingerprint, live, generations: RwLock::default() })
    }

    /// Counts that nobody wrote yet.
    pub(crate) fn empty(&self) -> Result<Owned, GeometryError> {
        let cells = SplitCells::zeroed(self.split, self.layout.bits(), HugePages::Default)?;
        CountingFilter::new(self.layout, cells, Some(self.promise), self.fingerprint)
    }

    fn all(&self) -> Arc<BTreeMap<u64, Arc<Generation>>> {
        self.generations.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes `newest` countable and drops what is too old. What is there already stays.
    pub(crate) fn advance(&self, newest: u64) -> Result<(), GeometryError> {
        let mut all = (*self.all()).clone();
        all.retain(|&number, _| number + self.live > newest);
        if let Entry::Vacant(place) = all.entry(newest) {
            place.insert(Arc::new(Generation::new(self.empty()?, self.empty()?, 0)?));
        }
        *self.generations.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
        Ok(())
    }

    /// Puts a generation as it was stored: own cells after `sequence` deltas, and the others'.
    pub(crate) fn restore(
        &self,
        number: u64,
        own: Owned,
        others: Owned,
        sequence: u64,
    ) -> Result<(), GeometryError> {
        let mut all = (*self.all()).clone();
        all.insert(number, Arc::new(Generation::new(own, others, sequence)?));
        *self.generations.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
        Ok(())
    }

    /// A copy of own cells as the last delta left them, and its number; empty ones where there are none.
    pub(crate) fn taken(&self, number: u64) -> Result<(Owned, u64), GeometryError> {
        match self.all().get(&number) {
            Some(generation) => Ok((generation.own.snapshot()?, generation.journalled().1)),
            None => Ok((self.empty()?, 0)),
        }
    }

    /// Puts own cells that were brought up to date; others' stay.
    pub(crate) fn put_own(&self, number: u64, own: Owned, sequence: u64) -> Result<(), GeometryError> {
        let others = match self.all().get(&number) {
            Some(generation) => generation.others.snapshot()?,
            None => self.empty()?,
        };
        self.restore(number, own, others, sequence)
    }

    /// Begins own cells anew; what they held counts as another's.
    pub(crate) fn freeze(&self) -> Result<(), GeometryError> {
        for (&number, generation) in self.all().iter() {
            let (own, mut others) = (generation.own.snapshot()?, generation.others.snapshot()?);
            let begun = CountingFilter::new(
                *own.layout(),
                SplitCells::zeroed(own.cells().split(), own.layout().bits(), HugePages::Default)?,
                own.promise(),
                own.fingerprint(),
            )?;
            if others.merge(&own).is_err() {
                // Others' cells are of another size only where there are none yet.
                others = own;
            }
            self.restore(number, begun, others, 0)?;
        }
        Ok(())
    }

    /// Counts `recipients` more of a key in a generation, and says how many it has over all of them.
    pub(crate) fn add(&self, generation: u64, hash: Hash128, recipients: u64) -> Count {
        let all = self.all();
        if let Some(now) = all.get(&generation) {
            now.own.insert_weighted(hash, recipients);
            now.changed.store(true, Release);
        }
        count_in(&all, hash)
    }

    /// Recipients that got the key in all generations.
    pub(crate) fn count(&self, hash: Hash128) -> Count {
        count_in(&self.all(), hash)
    }

    /// What own cells gained since the last delta, generation by generation.
    pub(crate) fn deltas(&self) -> Result<Vec<Delta>, JournalError> {
        let mut deltas: Vec<Delta> = Vec::new();
        for (&number, generation) in self.all().iter() {
            if !generation.changed.swap(false, AcqRel) {
                continue;
            }
            match delta_of(number, generation) {
                Ok(delta) => deltas.push(delta),
                Err(why) => {
                    generation.changed.store(true, Release);
                    deltas.iter().for_each(|delta| self.not_journalled(delta));
                    return Err(JournalError::Rows(why));
                }
            }
        }
        Ok(deltas)
    }

    /// A delta is durable.
    pub(crate) fn journalled(&self, delta: Delta) {
        if let Some(generation) = self.all().get(&delta.generation) {
            *generation.journalled() = (delta.state, delta.sequence);
        }
    }

    /// A delta could not be written: what it says is said again by the next.
    pub(crate) fn not_journalled(&self, delta: &Delta) {
        if let Some(generation) = self.all().get(&delta.generation) {
            generation.changed.store(true, Release);
        }
    }

    /// Calls `visit` with each generation as the last delta left it: number, own cells, others', deltas.
    pub(crate) fn each_journalled<E>(
        &self,
        mut visit: impl FnMut(u64, &Owned, &Owned, u64) -> Result<(), E>,
    ) -> Result<(), E>
    where
        E: From<GeometryError>,
    {
        for (&number, generation) in self.all().iter() {
            let others = generation.others.snapshot()?;
            let journalled = generation.journalled();
            visit(number, &journalled.0, &others, journalled.1)?;
        }
        Ok(())
    }

    /// Keys and the false-positive rate of the newest generation, read off its cells as the last delta left them.
    pub(crate) fn fill(&self) -> (u64, f64) {
        let all = self.all();
        let Some((_, newest)) = all.last_key_value() else {
            return (0, 0.0);
        };
        let cut = newest.journalled().0.at_least(1);
        let Ok(cut) = cut else {
            return (0, 0.0);
        };
        let keys = cut.cardinality().map_or(self.promise.capacity as f64 * 10.0, |estimate| estimate.value);
        (keys as u64, cut.present_rate() * all.len() as f64)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let bytes = |generation: &Arc<Generation>| {
            let journalled = generation.journalled().0.cells().memory_bytes();
            generation.own.cells().memory_bytes() + generation.others.cells().memory_bytes() + journalled
        };
        self.all().values().map(bytes).sum()
    }

    /// Whether counts of a generation are still among those that are added up.
    pub(crate) fn counts_of(&self, generation: u64) -> bool {
        self.all().last_key_value().is_some_and(|(newest, _)| generation + self.live > *newest)
    }

    /// Whether a generation can be counted in.
    pub(crate) fn is_live(&self, generation: u64) -> bool {
        self.all().contains_key(&generation)
    }
}

fn count_in(all: &BTreeMap<u64, Arc<Generation>>, hash: Hash128) -> Count {
    all.values().fold(Count::default(), |sum, generation| {
        let count = generation.count(hash);
        Count { value: sum.value.saturating_add(count.value), saturated: sum.saturated || count.saturated }
    })
}

fn delta_of(number: u64, generation: &Generation) -> Result<Delta, String> {
    let state = generation.own.snapshot().map_err(|error| error.to_string())?;
    let journalled = generation.journalled();
    let sequence = journalled.1 + 1;
    let gain = CountGain::between(&journalled.0, &state, sequence).map_err(|error| error.to_string())?;
    let bytes = gain.bytes().to_vec();
    Ok(Delta { generation: number, sequence, bytes, state })
}

/// Own cells of a generation, brought up to date by the deltas after it.
pub(crate) struct Catching {
    follower: Follower<Refined, AnyLayout, SplitCells>,
}

impl Catching {
    pub(crate) fn new(own: Owned, sequence: u64) -> Self {
        Catching { follower: Follower::new(own, sequence) }
    }

    /// Applies a delta; one that was applied before changes nothing.
    pub(crate) fn apply(&mut self, bytes: &[u8]) -> Result<(), String> {
        let gain = CountGain::open(bytes).map_err(|error| error.to_string())?;
        self.follower.apply(&gain).map(|_| ()).map_err(|error| error.to_string())
    }

    /// The cells, and the number of the last delta in them.
    pub(crate) fn finish(self) -> (Owned, u64) {
        let sequence = self.follower.applied();
        (self.follower.into_counts(), sequence)
    }
}
