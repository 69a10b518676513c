//! Which generations are live, which lane is whose, and which epoch they belong to.

use std::collections::VecDeque;

use crate::cells::LANES_MAX;
use crate::error::{GenerationError, GeometryError};

/// The most live generations: one lane of [`LANES_MAX`] is to spare.
pub const LIVE_MAX: u32 = LANES_MAX - 1;

/// The live generations: the newest and `live - 1` before it.
///
/// Generation g uses lane `g mod (live + 1)`. One lane is to spare: it is that of the generation that expired last,
/// and of the one that comes next, which leaves a whole generation of time to clear it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    newest: u64,
    live: u32,
}

impl Window {
    /// `live` generations, 1 to [`LIVE_MAX`], up to `newest`.
    pub fn new(live: u32, newest: u64) -> Result<Self, GeometryError> {
        crate::layout::within("live generations", u64::from(live), u64::from(LIVE_MAX))?;
        Ok(Window { newest, live })
    }

    /// The newest generation.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// The oldest live generation.
    pub fn oldest(&self) -> u64 {
        self.newest.saturating_sub(u64::from(self.live) - 1)
    }

    /// How many generations are live at once.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// Lanes of the ring: those of the live generations, and one to spare.
    pub fn lanes(&self) -> u32 {
        self.live + 1
    }

    /// The lane of a generation.
    #[inline]
    pub fn lane(&self, generation: u64) -> u32 {
        (generation % u64::from(self.lanes())) as u32
    }

    /// Refuses a generation that is not live.
    pub fn check(&self, generation: u64) -> Result<(), GenerationError> {
        if generation > self.newest {
            return Err(GenerationError::Future { generation, newest: self.newest });
        }
        if generation < self.oldest() {
            return Err(GenerationError::Expired { generation, oldest: self.oldest() });
        }
        Ok(())
    }

    /// The set of lanes of the live generations from `first` to `last`.
    pub(super) fn lanes_of(&self, first: u64, last: u64) -> u64 {
        (first.max(self.oldest())..=last.min(self.newest))
            .fold(0, |set, generation| set | 1 << self.lane(generation))
    }

    /// The live generations whose lanes are in `set`.
    #[inline]
    pub(super) fn held(&self, set: u64) -> Held {
        let (oldest, lanes) = (self.oldest(), self.lanes());
        let turn = self.lane(oldest);
        // The lane of the oldest comes first. Only lanes of live generations are in the set, so nothing wraps twice.
        let bits = if turn == 0 { set } else { set >> turn | set << (lanes - turn) };
        Held { oldest, bits: bits & (u64::MAX >> (LANES_MAX - lanes)) }
    }
}

/// Which live generations hold a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The generation of bit 0.
    oldest: u64,
    bits: u64,
}

impl Held {
    /// Whether none does.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// The newest that does.
    #[inline]
    pub fn newest(&self) -> Option<u64> {
        self.bits.checked_ilog2().map(|bit| self.oldest + u64::from(bit))
    }

    /// Whether `generation` does.
    pub fn contains(&self, generation: u64) -> bool {
        generation.checked_sub(self.oldest).is_some_and(|bit| bit < 64 && self.bits >> bit & 1 == 1)
    }

    /// Adds what another epoch of the same window holds.
    #[inline]
    pub(super) fn add(&mut self, other: Held) {
        debug_assert_eq!(self.oldest, other.oldest, "one window");
        self.bits |= other.bits;
    }

    /// How many do.
    pub fn len(&self) -> u32 {
        self.bits.count_ones()
    }

    /// The generations, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let oldest = self.oldest;
        crate::tagged::Tags(self.bits).iter().map(move |bit| oldest + u64::from(bit))
    }
}

/// The cells of all generations of an epoch.
pub(super) trait Array {
    /// These lanes are those of live generations.
    fn show(&mut self, lanes: u64);
    /// These lanes are to be cleared.
    fn forget(&mut self, lanes: u64);
    /// The lanes that are not yet cleared.
    fn stale(&self) -> u64;
    /// Clears at most `words` words; true when no lane is stale any more.
    fn clear_some(&mut self, words: usize) -> bool;
}

/// Consecutive generations of one key and geometry.
#[derive(Debug)]
pub(super) struct Epoch<A> {
    first: u64,
    /// The last generation; [`u64::MAX`] while nobody knows.
    last: u64,
    /// The lanes of its live generations.
    pub(super) shown: u64,
    pub(super) array: A,
}

/// The epochs that have a live generation, oldest first. Each has one, so there are at most as many as generations.
#[derive(Debug)]
pub(super) struct Epochs<A> {
    window: Window,
    epochs: VecDeque<Epoch<A>>,
}

impl<A: Array> Epochs<A> {
    /// One epoch, of all generations there are.
    pub(super) fn new(window: Window, array: A) -> Self {
        let mut epochs = Epochs { window, epochs: VecDeque::new() };
        epochs.epochs.push_back(Epoch { first: 0, last: u64::MAX, shown: 0, array });
        epochs.refresh();
        epochs
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Epoch<A>> {
        self.epochs.iter()
    }

    /// The cells of a live generation, and its lane.
    pub(super) fn of(&self, generation: u64) -> Result<(&A, u32), GenerationError> {
        self.window.check(generation)?;
        Ok((&self.epochs[self.index(generation)].array, self.window.lane(generation)))
    }

    pub(super) fn of_mut(&mut self, generation: u64) -> Result<(&mut A, u32), GenerationError> {
        self.window.check(generation)?;
        let index = self.index(generation);
        Ok((&mut self.epochs[index].array, self.window.lane(generation)))
    }

    /// The epoch of a live generation: most often the last one.
    fn index(&self, generation: u64) -> usize {
        self.epochs.iter().rposition(|epoch| epoch.first <= generation).expect("epochs cover the window")
    }

    fn current(&mut self) -> &mut Epoch<A> {
        self.epochs.back_mut().expect("there is always an epoch")
    }

    /// Opens all generations up to `to` and expires those that are too old by then.
    pub(super) fn advance(&mut self, to: u64) -> Result<(), GenerationError> {
        let before = self.window;
        if to < before.newest {
            return Err(GenerationError::Backwards { to, newest: before.newest });
        }
        self.window.newest = to;
        let oldest = self.window.oldest();
        let opened = self.window.lanes_of(before.newest.saturating_add(1), to);
        let current = self.current();
        // What the current epoch showed and no longer shows; the lanes of older epochs are never used again.
        let kept = before.lanes_of(current.first.max(oldest), before.newest);
        current.array.forget(current.shown & !kept);
        if current.array.stale() & opened != 0 {
            while !current.array.clear_some(usize::MAX) {}
        }
        self.refresh();
        Ok(())
    }

    /// From generation `first` on, all generations are in `array`.
    pub(super) fn start(&mut self, first: u64, array: A) -> Result<(), GenerationError> {
        if first <= self.window.newest {
            return Err(GenerationError::Begun { first, newest: self.window.newest });
        }
        self.advance(first - 1)?;
        self.current().last = first - 1;
        self.epochs.push_back(Epoch { first, last: u64::MAX, shown: 0, array });
        self.window.newest = first;
        self.refresh();
        Ok(())
    }

    /// Clears lanes of expired generations: at most `words` words. Only the current epoch uses lanes again.
    pub(super) fn clear_some(&mut self, words: usize) -> bool {
        self.current().array.clear_some(words)
    }

    /// Drops the epochs that have expired as a whole; the others show what is live.
    fn refresh(&mut self) {
        let window = self.window;
        self.epochs.retain(|epoch| epoch.last >= window.oldest());
        for epoch in &mut self.epochs {
            epoch.shown = window.lanes_of(epoch.first, epoch.last);
            epoch.array.show(epoch.shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_has_a_lane_to_spare() {
        for newest in [0, 1, 2, 3, 9, 1000, u64::MAX] {
            let window = Window::new(4, newest).expect("in range");
            let set = window.lanes_of(0, u64::MAX);
            assert_eq!(u64::from(set.count_ones()), newest.saturating_add(1).min(4), "{newest}");
            let next = window.lane(newest.wrapping_add(1));
            assert!(newest == u64::MAX || set >> next & 1 == 0, "the next generation has a free lane");
            let held: Vec<u64> = window.held(set).iter().collect();
            assert_eq!(held, (window.oldest()..=newest).collect::<Vec<_>>());
            for generation in window.oldest()..=newest {
                let held = window.held(1 << window.lane(generation));
                assert_eq!((held.newest(), held.len()), (Some(generation), 1));
                assert!(held.contains(generation) && !held.contains(generation ^ 1));
            }
        }
        assert!(Window::new(0, 5).is_err() && Window::new(64, 5).is_err());
        let window = Window::new(63, 1 << 40).expect("in range");
        assert_eq!(window.held(window.lanes_of(0, u64::MAX)).len(), 63);
    }

    #[test]
    fn generations_that_are_not_live_are_refused_with_both_numbers() {
        let window = Window::new(3, 10).expect("in range");
        assert!((8..=10).all(|generation| window.check(generation).is_ok()));
        let says = |generation| window.check(generation).expect_err("not live").to_string();
        assert_eq!(says(7), "generation 7 has expired: the oldest live one is 8");
        assert_eq!(says(11), "generation 11 has not begun: the newest is 10");
    }
}
