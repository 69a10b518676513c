//! The atomic word that shared cells lie in; a trait so that the model checker can put its own in place.

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) trait AtomicWord {
    fn zero() -> Self;
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    /// Stores `new` where `current` is; the word that is there instead otherwise, or seldom for no reason.
    fn exchange(&self, current: u64, new: u64, order: Ordering) -> Result<u64, u64>;
    fn fence(order: Ordering);
    /// What a thread does that waits for another one's few stores.
    fn pause();
}

impl AtomicWord for AtomicU64 {
    #[inline(always)]
    fn zero() -> Self {
        AtomicU64::new(0)
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }
    #[inline(always)]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
    #[inline(always)]
    fn exchange(&self, current: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        self.compare_exchange_weak(current, new, order, Ordering::Relaxed)
    }
    #[inline(always)]
    fn fence(order: Ordering) {
        std::sync::atomic::fence(order);
    }
    #[inline(always)]
    fn pause() {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
impl AtomicWord for loom::sync::atomic::AtomicU64 {
    fn zero() -> Self {
        Self::new(0)
    }
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }
    fn exchange(&self, current: u64, new: u64, order: Ordering) -> Result<u64, u64> {
        self.compare_exchange(current, new, order, Ordering::Relaxed)
    }
    fn fence(order: Ordering) {
        loom::sync::atomic::fence(order);
    }
    fn pause() {
        loom::thread::yield_now();
    }
}
