//! Who may write under a tag: keeps inserts that are under way apart from the clearing of their tag.
//!
//! Each tag has one number: how many inserts are under way, and a bit that says that the tag is closed. An insert adds
//! itself and learns from the same step whether the tag was open; a clearing closes the tag and learns from the same
//! number when the last insert is through. Without this an insert that slept between its look and its writes could
//! leave a key of the old tag behind in the new one.

use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

use crate::error::TagError;

/// The bit of a tag's number that says that the tag is closed. The rest counts inserts.
const CLOSED: u64 = 1 << 63;

/// A number that threads share; a trait so that the model checker can put its own in place.
pub(super) trait SharedNumber {
    fn new(value: u64) -> Self;
    fn get(&self) -> u64;
    fn set(&self, value: u64);
    fn raise(&self, bits: u64);
    fn lower(&self, bits: u64);
    /// Adds 1 and gives what was there before.
    fn enter(&self) -> u64;
    fn leave(&self);
}

/// The same steps for the standard library's atomics and for those of the model checker.
macro_rules! shared_number {
    ($atomic:ty) => {
        impl SharedNumber for $atomic {
            fn new(value: u64) -> Self {
                <$atomic>::new(value)
            }
            #[inline(always)]
            fn get(&self) -> u64 {
                self.load(Acquire)
            }
            fn set(&self, value: u64) {
                self.store(value, Release);
            }
            fn raise(&self, bits: u64) {
                self.fetch_or(bits, AcqRel);
            }
            fn lower(&self, bits: u64) {
                self.fetch_and(!bits, AcqRel);
            }
            #[inline(always)]
            fn enter(&self) -> u64 {
                self.fetch_add(1, AcqRel)
            }
            #[inline(always)]
            fn leave(&self) {
                self.fetch_sub(1, AcqRel);
            }
        }
    };
}

shared_number!(AtomicU64);

/// The state that lookups and inserts read and clearings write.
#[derive(Debug)]
pub(super) struct Gate<N = AtomicU64> {
    /// The set of tags that lookups leave out.
    stale: N,
    /// One number a tag.
    tags: Box<[N]>,
}

/// An insert under way. Ends when dropped, also when a hasher panics in the middle of a batch.
pub(super) struct Inserting<'a, N: SharedNumber>(&'a N);

impl<N: SharedNumber> Drop for Inserting<'_, N> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<N: SharedNumber> Gate<N> {
    /// So many tags, all open.
    pub(super) fn new(tags: u32) -> Self {
        Gate { stale: N::new(0), tags: (0..tags).map(|_| N::new(0)).collect() }
    }

    /// The tags that lookups leave out.
    #[inline(always)]
    pub(super) fn stale(&self) -> u64 {
        self.stale.get()
    }

    /// Begins an insert under `tag`, unless it is closed.
    #[inline(always)]
    pub(super) fn enter(&self, tag: u32) -> Result<Inserting<'_, N>, TagError> {
        let Some(number) = self.tags.get(tag as usize) else {
            return Err(TagError::NoSuch { tag, tags: self.tags.len() as u32 });
        };
        let before = number.enter();
        let entered = Inserting(number);
        if before & CLOSED != 0 { Err(TagError::Clearing(tag)) } else { Ok(entered) }
    }

    /// Makes these tags the stale ones; one thread at a time. Lookups learn first: of a tag that is being closed they
    /// show nothing more, and of one that is opened they show what is inserted from its opening on.
    pub(super) fn set_stale(&self, stale: u64) {
        let before = self.stale.get();
        self.stale.set(stale);
        for (tag, number) in self.tags.iter().enumerate() {
            match (before >> tag & 1, stale >> tag & 1) {
                (0, 1) => number.raise(CLOSED),
                (1, 0) => number.lower(CLOSED),
                _ => {}
            }
        }
    }

    /// The closed tags under which no insert is under way, and so none will be until they are opened.
    pub(super) fn quiet(&self) -> u64 {
        let quiet = |(tag, number): (usize, &N)| u64::from(number.get() == CLOSED) << tag;
        self.tags.iter().enumerate().map(quiet).fold(0, |set, tag| set | tag)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as LoomNumber;

    use super::*;

    shared_number!(LoomNumber);

    /// One thread inserts while another clears the tag: a key that was there or came meanwhile is never left behind.
    fn an_insert_beside_a_clearing(announced: bool) {
        loom::model(move || {
            let gate = Arc::new(Gate::<LoomNumber>::new(1));
            let word = Arc::new(LoomNumber::new(0));
            let writer = loom::thread::spawn({
                let gate = Arc::clone(&gate);
                let word = Arc::clone(&word);
                move || {
                    let entered = gate.enter(0);
                    let open = entered.is_ok();
                    let _entered = announced.then_some(entered);
                    if open {
                        word.fetch_or(1, Relaxed);
                    }
                }
            });
            gate.set_stale(1);
            let cleared = gate.quiet() == 1;
            if cleared {
                word.fetch_and(0, Relaxed);
            }
            writer.join().expect("a writer");
            assert!(!cleared || word.get() == 0, "a key of the old tag was left behind");
        });
    }

    #[test]
    fn no_interleaving_leaves_a_key_behind() {
        an_insert_beside_a_clearing(true);
    }

    #[test]
    #[should_panic(expected = "a key of the old tag was left behind")]
    fn the_model_checker_catches_an_insert_that_does_not_announce_itself() {
        an_insert_beside_a_clearing(false);
    }

    /// An insert that was let in after a clearing is shown by the next lookup, and who sees the tag shown sees it
    /// without its old bits.
    #[test]
    fn no_interleaving_hides_an_insert_or_shows_the_old_tag() {
        loom::model(|| {
            let gate = Arc::new(Gate::<LoomNumber>::new(1));
            gate.set_stale(1);
            // Bit 0 is an old key's, bit 1 a new one's.
            let word = Arc::new(LoomNumber::new(1));
            let other = loom::thread::spawn({
                let gate = Arc::clone(&gate);
                let word = Arc::clone(&word);
                move || {
                    if gate.stale() == 0 {
                        assert_eq!(word.load(Relaxed) & 1, 0, "the old tag came back");
                    }
                    if let Ok(_entered) = gate.enter(0) {
                        word.fetch_or(2, Relaxed);
                        assert_eq!(gate.stale(), 0, "an insert is not shown");
                        assert_eq!(word.load(Relaxed), 2);
                    }
                }
            });
            assert!(gate.quiet() <= 1);
            word.fetch_and(!1, Relaxed);
            gate.set_stale(0);
            other.join().expect("the other thread");
        });
    }
}
