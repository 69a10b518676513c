//! How much work a message is: a count of steps, kept in tests only.
//!
//! What signing costs is bounded by limits and by how often a byte is looked at. Tests assert the count, because a time
//! depends on the machine; `race -- sign` has the times.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts steps, where something is done again for each character, element or piece. Nothing outside tests.
#[inline(always)]
pub(crate) fn did(_steps: usize) {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + _steps as u64));
}

/// The steps that this thread counts while it does something.
#[cfg(test)]
pub(crate) fn of<T>(what: impl FnOnce() -> T) -> (T, u64) {
    let before = STEPS.get();
    let value = what();
    (value, STEPS.get() - before)
}
