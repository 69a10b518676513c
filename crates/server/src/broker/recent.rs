//! A queue that forgets the oldest: for what is said in passing, where the newest counts most.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::Notify;

/// What one site can say at most in passing, some hundred times over.
const ITEMS_MAX: usize = 512;

/// Bytes of all of it.
const BYTES_MAX: usize = 16 << 20;

/// The queue.
#[derive(Debug)]
pub(super) struct Recent<T> {
    kept: Mutex<Kept<T>>,
    grown: Notify,
}

#[derive(Debug)]
struct Kept<T> {
    items: VecDeque<(usize, T)>,
    bytes: usize,
}

impl<T> Recent<T> {
    pub(super) fn new() -> Self {
        Recent { kept: Mutex::new(Kept { items: VecDeque::new(), bytes: 0 }), grown: Notify::new() }
    }

    /// Adds something of so many bytes, and says how many older things had to go for it.
    pub(super) fn push(&self, bytes: usize, item: T) -> u64 {
        let mut kept = self.kept();
        kept.items.push_back((bytes, item));
        kept.bytes += bytes;
        let mut gone = 0;
        while kept.items.len() > ITEMS_MAX || kept.bytes > BYTES_MAX {
            let Some((bytes, _)) = kept.items.pop_front() else { break };
            kept.bytes -= bytes;
            gone += 1;
        }
        drop(kept);
        self.grown.notify_one();
        gone
    }

    /// Takes the oldest, as soon as there is one.
    pub(super) async fn next(&self) -> T {
        loop {
            if let Some(item) = self.take() {
                return item;
            }
            self.grown.notified().await;
        }
    }

    fn take(&self) -> Option<T> {
        let mut kept = self.kept();
        let (bytes, item) = kept.items.pop_front()?;
        kept.bytes -= bytes;
        Some(item)
    }

    /// Nothing here panics while it holds the lock.
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_whether_by_number_or_by_size() {
        let recent = Recent::new();
        let gone: u64 = (0..ITEMS_MAX + 3).map(|item| recent.push(1, item)).sum();
        assert_eq!((gone, recent.take()), (3, Some(3)));
        assert_eq!(recent.push(BYTES_MAX, 7), ITEMS_MAX as u64 - 1, "all others had to go");
        assert_eq!((recent.take(), recent.take()), (Some(7), None));
        assert_eq!(recent.push(BYTES_MAX + 1, 8), 1, "not even itself has room");
    }
}
