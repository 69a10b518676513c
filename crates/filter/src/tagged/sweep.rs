//! Clearing tags in the background: so many words a call, with everybody else's bits left alone.
//!
//! A tag that is to be cleared is *stale* at once; lookups leave stale ones out. One pass over the words clears all
//! tags that were stale when it began; those that became stale since wait for the next pass.

use std::ops::Range;

use super::bitmaps::Bitmaps;

/// Which tags are stale, and how far the pass has come.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// Tags that this pass clears.
    running: u64,
    /// Tags for the next pass.
    waiting: u64,
    /// The next word of this pass.
    next: usize,
}

/// A part of a pass: take these bits out of these words.
pub(super) struct SweepStep {
    pub(super) words: Range<usize>,
    pub(super) bits: u64,
}

impl Sweep {
    /// These tags are to be cleared. Nobody wrote to those that this pass is clearing: they need no second one.
    pub(super) fn add(&mut self, tags: u64) {
        self.waiting |= tags & !self.running;
    }

    /// Tags whose memory is not yet cleared.
    pub(super) fn stale(&self) -> u64 {
        self.running | self.waiting
    }

    /// The next `most` words, of `len`, to be cleared; of the waiting tags a new pass takes those in `ready`. `None`
    /// when there is nothing to do. The caller clears them and then calls [`settle`](Self::settle).
    pub(super) fn step(
        &mut self,
        bitmaps: &Bitmaps,
        ready: u64,
        len: usize,
        most: usize,
    ) -> Option<SweepStep> {
        if self.running == 0 {
            self.running = self.waiting & ready;
            self.waiting &= !self.running;
        }
        if self.running == 0 {
            return None;
        }
        let words = self.next..len.min(self.next.saturating_add(most));
        self.next = words.end;
        Some(SweepStep { words, bits: bitmaps.pattern(self.running) })
    }

    /// Ends a pass that has seen every word: what it cleared is stale no longer.
    pub(super) fn settle(&mut self, len: usize) {
        if self.next >= len {
            *self = Sweep { waiting: self.waiting, ..Sweep::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clear_some(sweep: &mut Sweep, bitmaps: &Bitmaps, words: &mut [u64], most: usize) -> bool {
        if let Some(step) = sweep.step(bitmaps, u64::MAX, words.len(), most) {
            words[step.words].iter_mut().for_each(|word| *word &= !step.bits);
        }
        sweep.settle(words.len());
        sweep.stale() == 0
    }

    #[test]
    fn a_pass_clears_what_was_stale_and_nothing_else() {
        for tags in [5, 16, 32, 64] {
            let bitmaps = Bitmaps::new(tags).expect("in range");
            let full = vec![bitmaps.pattern(bitmaps.all()); 96];
            let mut words = full.clone();
            let mut sweep = Sweep::default();
            assert!(clear_some(&mut sweep, &bitmaps, &mut words, 10) && words == full, "nothing to do");
            sweep.add(0b10);
            assert!(!clear_some(&mut sweep, &bitmaps, &mut words, 10));
            assert_eq!(sweep.stale(), 0b10);
            // Another tag turns stale while the pass runs: it is cleared from the first word on.
            sweep.add(0b111);
            let mut calls = 1;
            while !clear_some(&mut sweep, &bitmaps, &mut words, 10) {
                calls += 1;
                assert!(calls < 30, "endless");
            }
            assert_eq!((calls, sweep.stale()), (19, 0), "two passes of ten calls");
            assert!(words == vec![bitmaps.pattern(bitmaps.all() & !0b111); 96], "{tags} tags");
        }
    }
}
