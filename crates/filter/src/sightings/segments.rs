//! A list of tables that only grows at its end: room for what nobody can foresee, paid for when it is needed.
//!
//! A key lies in the first table that has something for it. New keys go into the newest table only, and only one
//! writer at a time brings new keys. So which table that is never changes, although readers take no lock: an older
//! table gets no new key that could come before.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The most tables of a list. Each is at least an eighth of all before it, so that together they hold more than a
/// thousand times the first one.
const SEGMENTS_MAX: usize = 64;

/// Tables, the oldest first.
#[derive(Debug)]
pub(super) struct Segments<T> {
    all: Box<[OnceLock<Box<T>>]>,
    /// Who holds it may bring new keys and tables.
    growing: Mutex<()>,
    /// A new key found no room, and no memory for another table could be had.
    refused: AtomicBool,
}

impl<T> Segments<T> {
    /// None yet.
    pub(super) fn new() -> Self {
        let all = (0..SEGMENTS_MAX).map(|_| OnceLock::new()).collect();
        Segments { all, growing: Mutex::default(), refused: AtomicBool::new(false) }
    }

    /// The oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let used = self.all.partition_point(|table| table.get().is_some());
        self.all[..used].iter().filter_map(|table| table.get().map(|table| &**table))
    }

    /// Lets one thread bring new keys. One that panicked left a list that is whole.
    pub(super) fn grow(&self) -> MutexGuard<'_, ()> {
        self.growing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a table, and returns it; `None` where there is none to add.
    pub(super) fn push<E>(&self, _alone: &MutexGuard<'_, ()>, table: Result<T, E>) -> Option<&T> {
        let free = self.all.iter().find(|segment| segment.get().is_none());
        match (free, table) {
            (Some(segment), Ok(table)) => Some(segment.get_or_init(|| Box::new(table))),
            _ => {
                self.refused.store(true, Relaxed);
                None
            }
        }
    }

    /// Whether a key was refused ever: then what the tables say is a lower bound.
    pub(super) fn has_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }

    /// The memory of the list itself, in bytes.
    pub(super) fn list_bytes(&self) -> u64 {
        std::mem::size_of_val(&*self.all) as u64
    }
}
