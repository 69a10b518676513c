//! The shared twin: many threads count, and look counts up without waiting for anybody.
//!
//! Refined insertion reads all of a key's cells, then writes some. Two threads that both read 0 and write 1 lose a
//! count, whatever the words they write with; so a writer locks the pages of its key first: one page in the paged
//! layout, up to k in the flat one, in ascending order so that no two writers wait for each other. A lookup takes no
//! lock. It reads each cell whole, before or after: beside an insertion or a removal it answers with the count before
//! it or one on the way to the count after it, never below what was inserted before and is not taken back.

use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::one_line::OneLine;
use super::{Count, CountingFilter, Intuitive, Rule, count_in, gathered};
use crate::cells::{Cells, CellsMut, PackedCells, Packing, SharedCells, SharedPackedCells, SplitCells};
use crate::error::{GeometryError, NotCounted};
use crate::filter::Promise;
use crate::hash::{Hash128, KeyFingerprint, KeyHasher};
use crate::layout::{AnyLayout, Layout};
use crate::maths::MAX_K;
use crate::memory::HugePages;
use crate::simd::Simd;

/// A counting filter for many threads.
#[derive(Debug)]
pub struct SharedCountingFilter<R, L = AnyLayout, C = SharedPackedCells> {
    layout: L,
    cells: C,
    one_line: Option<OneLine>,
    locks: Box<[Mutex<()>]>,
    promise: Option<Promise>,
    fingerprint: KeyFingerprint,
    rule: PhantomData<fn() -> R>,
}

impl<R: Rule, L: Layout> CountingFilter<R, L, PackedCells> {
    /// Hands the filter to many threads at once.
    pub fn share(self) -> SharedCountingFilter<R, L> {
        SharedCountingFilter::new(self.layout, self.cells.share(), self.promise, self.fingerprint)
    }
}

impl<R: Rule, L: Layout> CountingFilter<R, L, SplitCells> {
    /// Hands the filter to many threads at once.
    pub fn share(self) -> SharedCountingFilter<R, L, SplitCells> {
        SharedCountingFilter::new(self.layout, self.cells, self.promise, self.fingerprint)
    }
}

/// Something that lets one thread in at a time; a trait so that the model checker can put its own in place.
pub(super) trait Lock {
    type Guard<'a>
    where
        Self: 'a;
    fn enter(&self) -> Self::Guard<'_>;
}

impl Lock for Mutex<()> {
    type Guard<'a> = MutexGuard<'a, ()>;

    /// A writer that panicked left whole cells behind: at worst its own key is counted in some of them only.
    fn enter(&self) -> MutexGuard<'_, ()> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cells whose lock the holder of this value has.
pub(super) struct Locked<'a, C>(&'a C);

impl<C: SharedCells> Cells for Locked<'_, C> {
    #[inline(always)]
    fn cap(&self) -> u64 {
        self.0.cap()
    }
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn per_page(&self) -> u64 {
        self.0.per_page()
    }
    fn get(&self, cell: u64) -> u64 {
        self.0.get(cell)
    }
    #[inline(always)]
    fn packing(&self) -> Option<Packing> {
        self.0.packing()
    }
    #[inline(always)]
    fn get_at(&self, address: u64) -> u64 {
        self.0.get_at(address)
    }
    #[inline(always)]
    fn hint_at(&self, address: u64) -> u64 {
        self.0.hint_at(address)
    }
    #[inline(always)]
    fn hint_limit(&self) -> u64 {
        self.0.hint_limit()
    }
    fn prefetch(&self, address: u64) {
        self.0.prefetch(address);
    }
    fn for_each_nonzero(&self, visit: impl FnMut(u64, u64)) {
        self.0.for_each_nonzero(visit);
    }
    fn for_each_change(&self, old: &Self, visit: impl FnMut(u64, u64, u64)) {
        self.0.for_each_change(old.0, visit);
    }
}

impl<C: SharedCells> CellsMut for Locked<'_, C> {
    fn set(&mut self, cell: u64, value: u64) {
        self.0.store(self.0.address(cell), value);
    }
    #[inline(always)]
    fn set_at(&mut self, address: u64, value: u64) {
        self.0.store(address, value);
    }
    #[inline(always)]
    fn raise_at(&mut self, address: u64, value: u64) {
        self.0.raise(address, value);
    }
}

/// Does something with the key whose cells lie at these addresses, alone on their pages.
#[inline]
pub(super) fn alone<C: SharedCells, M: Lock, T>(
    cells: &C,
    locks: &[M],
    key: &[u64],
    act: impl FnOnce(&mut Locked<'_, C>) -> T,
) -> T {
    let mut needed = [0; MAX_K as usize];
    let needed = &mut needed[..key.len()];
    for (lock, &address) in needed.iter_mut().zip(key) {
        *lock = cells.lock_of(address);
    }
    needed.sort_unstable();
    let mut guards = [const { None }; MAX_K as usize];
    let mut last = None;
    for (guard, &lock) in guards.iter_mut().zip(&*needed) {
        if last.replace(lock) != Some(lock) {
            *guard = Some(locks[lock].enter());
        }
    }
    act(&mut Locked(cells))
}

/// Counts the key whose cells lie at these addresses.
#[inline]
pub(super) fn add<R: Rule, C: SharedCells, M: Lock>(cells: &C, locks: &[M], key: &[u64], weight: u64) {
    alone(cells, locks, key, |cells| R::add_at(cells, key, weight));
}

impl<R: Rule, L: Layout, C: SharedCells> SharedCountingFilter<R, L, C> {
    fn new(layout: L, cells: C, promise: Option<Promise>, fingerprint: KeyFingerprint) -> Self {
        let locks = (0..cells.locks()).map(|_| Mutex::new(())).collect();
        let one_line = OneLine::new(Simd::detect(), &layout, &cells);
        SharedCountingFilter { layout, cells, one_line, locks, promise, fingerprint, rule: PhantomData }
    }

    /// Which cells are a key's.
    pub(crate) fn layout(&self) -> &L {
        &self.layout
    }

    /// Its cells.
    pub fn cells(&self) -> &C {
        &self.cells
    }

    /// How often the key with this hash was inserted. Takes no lock.
    #[inline]
    pub fn count(&self, hash: Hash128) -> Count {
        match &self.one_line {
            Some(way) => way.count(&self.layout, &self.cells, hash),
            None => count_in(&self.layout, &self.cells, hash),
        }
    }

    /// Counts many keys at once, prefetching one batch while it reads the one before. Takes no lock.
    ///
    /// # Panics
    /// When `counts` is not as long as `keys`.
    pub fn count_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], counts: &mut [Count]) {
        super::count_many_in((&self.layout, &self.cells), self.one_line, hasher, keys, counts);
    }

    /// Counts the key `weight` times more, exactly as so many single insertions would.
    #[inline]
    pub fn insert_weighted(&self, hash: Hash128, weight: u64) {
        let mut room = [0; MAX_K as usize];
        let key = gathered(&self.layout, &self.cells, hash, &mut room);
        add::<R, C, _>(&self.cells, &self.locks, key, weight);
    }

    /// The same; returns what the key's count was before, with no other insertion in between.
    #[inline]
    pub(crate) fn insert_and_tell(&self, hash: Hash128, weight: u64) -> u64 {
        let mut room = [0; MAX_K as usize];
        let key = gathered(&self.layout, &self.cells, hash, &mut room);
        alone(&self.cells, &self.locks, key, |cells| {
            let before = super::least_at(cells, key);
            R::add_at(cells, key, weight);
            before
        })
    }

    /// Copies the cells into `empty`, cells of the same number and cap: everything inserted before the call, and
    /// perhaps part of what is inserted during it.
    fn copied<D: CellsMut>(&self, mut empty: D) -> Result<CountingFilter<R, L, D>, GeometryError> {
        self.cells.for_each_nonzero(|cell, value| empty.set(cell, value));
        CountingFilter::new(self.layout, empty, self.promise, self.fingerprint)
    }
}

impl<L: Layout, C: SharedCells> SharedCountingFilter<Intuitive, L, C> {
    /// Takes `weight` insertions of the key back, as [`CountingFilter::remove_weighted`] does.
    pub fn remove_weighted(&self, hash: Hash128, weight: u64) -> Result<(), NotCounted> {
        let mut room = [0; MAX_K as usize];
        let key = gathered(&self.layout, &self.cells, hash, &mut room);
        alone(&self.cells, &self.locks, key, |cells| Intuitive::remove_at(cells, key, weight))
    }
}

impl<R: Rule, L: Layout> SharedCountingFilter<R, L, SplitCells> {
    /// A copy for one owner: everything inserted before the call, and perhaps part of what is inserted during it.
    pub fn snapshot(&self) -> Result<CountingFilter<R, L, SplitCells>, GeometryError> {
        self.copied(SplitCells::zeroed(self.cells.split(), self.cells.len(), HugePages::Default)?)
    }
}

#[cfg(test)]
mod tests;
