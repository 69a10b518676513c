//! Clearing lanes in the background: so many words a call, with everybody else's cells left alone.
//!
//! A lane that is to be cleared is *stale* at once; who looks lanes up leaves stale ones out. One pass over the words
//! clears all lanes that were stale when it began; those that became stale since wait for the next pass.

use std::ops::Range;

use super::Lanes;

/// Which lanes are stale, and how far the pass has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    /// Lanes that this pass clears, and their bits in each word.
    running: u64,
    patterns: Vec<u64>,
    /// Lanes for the next pass.
    waiting: u64,
    /// The next word of this pass.
    next: usize,
}

/// A part of a pass: take these bits out of these words.
pub(crate) struct Step<'a> {
    pub(crate) words: Range<usize>,
    patterns: &'a [u64],
}

impl Step<'_> {
    /// The bits to take out of word `index`.
    #[inline(always)]
    pub(crate) fn bits(&self, index: usize) -> u64 {
        self.patterns[index & (self.patterns.len() - 1)]
    }
}

impl Sweep {
    /// These lanes are to be cleared. Nobody wrote to those that this pass is clearing: they need no second one.
    pub(crate) fn add(&mut self, set: u64) {
        self.waiting |= set & !self.running;
    }

    /// Lanes whose memory is not yet cleared.
    #[inline(always)]
    pub(crate) fn stale(&self) -> u64 {
        self.running | self.waiting
    }

    /// The next `most` words, of `len`, to be cleared; of the waiting lanes a new pass takes those in `ready`. `None`
    /// when there is nothing to do. The caller clears them and then calls [`settle`](Self::settle).
    pub(crate) fn step(&mut self, lanes: &Lanes, ready: u64, len: usize, most: usize) -> Option<Step<'_>> {
        if self.running == 0 {
            self.running = self.waiting & ready;
            self.waiting &= !self.running;
            self.patterns = lanes.patterns(self.running);
        }
        if self.running == 0 {
            return None;
        }
        let words = self.next..len.min(self.next.saturating_add(most));
        self.next = words.end;
        Some(Step { words, patterns: &self.patterns })
    }

    /// Ends a pass that has seen every word: what it cleared is stale no longer.
    pub(crate) fn settle(&mut self, len: usize) {
        if self.next >= len {
            *self = Sweep { waiting: self.waiting, ..Sweep::default() };
        }
    }

    /// Clears stale lanes in at most `most` of `words`. True when no lane is stale any more.
    pub(crate) fn clear_some(&mut self, lanes: &Lanes, words: &mut [u64], most: usize) -> bool {
        let len = words.len();
        if let Some(step) = self.step(lanes, u64::MAX, len, most) {
            for (index, word) in step.words.clone().zip(&mut words[step.words.clone()]) {
                *word &= !step.bits(index);
            }
        }
        self.settle(len);
        self.stale() == 0
    }

    /// Clears all stale lanes: at most two passes.
    pub(crate) fn finish(&mut self, lanes: &Lanes, words: &mut [u64]) {
        while !self.clear_some(lanes, words, usize::MAX) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Packing;

    #[test]
    fn a_pass_clears_what_was_stale_and_nothing_else() {
        for (bits, count) in [(1, 16), (1, 5), (4, 8), (4, 32)] {
            let lanes = Lanes::new(Packing::new(bits).expect("a width"), count).expect("in range");
            let full: Vec<u64> = lanes.patterns(lanes.all()).into_iter().cycle().take(96).collect();
            let mut words = full.clone();
            let mut sweep = Sweep::default();
            assert!(sweep.clear_some(&lanes, &mut words, 10) && words == full, "nothing to do");
            sweep.add(0b10);
            assert!(!sweep.clear_some(&lanes, &mut words, 10));
            assert_eq!(sweep.stale(), 0b10);
            // Another lane turns stale while the pass runs: it is cleared from the first word on.
            sweep.add(0b111);
            let mut calls = 1;
            while !sweep.clear_some(&lanes, &mut words, 10) {
                calls += 1;
                assert!(calls < 30, "endless");
            }
            assert_eq!((calls, sweep.stale()), (19, 0), "two passes of ten calls");
            let left: Vec<u64> = lanes.patterns(lanes.all() & !0b111).into_iter().cycle().take(96).collect();
            assert!(words == left, "{bits} bits, {count} lanes");
        }
    }
}
