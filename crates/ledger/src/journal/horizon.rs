//! The horizon: the oldest generation whose records still count, and when that changed.
//!
//! Generations before it are *hidden*: they wait to be deleted, and nothing in them counts. It moves on when a
//! generation expires, or earlier when the tally is full; it moves back when a larger tally has room for more.
//!
//! A record keeps what its reporter said before. That depends on the horizon at that moment, so records that were
//! written after a move cannot be replayed on tallies from before it. The moves since the last two snapshots are kept:
//! tallies of a snapshot that such records follow are not used, but made anew from the rows of the index.

use serde::{Deserialize, Serialize};

use super::{Journal, JournalBatch, JournalError, from_json, to_json};

/// Where it lies in `meta`, as JSON.
const HORIZON: &str = "horizon";

/// How many records there are: the numbers that the next ones get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NextNumbers {
    /// Of the next record of this site.
    pub(crate) own: u64,
    /// Of the next record that is heard from a peer.
    pub(crate) heard: u64,
}

/// Where the tallies begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Horizon {
    /// Generations before this one are hidden.
    pub(crate) before: u64,
    /// Signatures that the tally was made for when that was decided; 0 where nothing was.
    capacity: u64,
    /// Whether it lies later than records expire, because the tally was full.
    #[serde(default)]
    pub(crate) is_early: bool,
    /// The last moves, oldest first.
    moves: Vec<Move>,
}

/// Where it moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveTo {
    /// Generations before this one are hidden from now on.
    pub(crate) before: u64,
    /// Signatures that the tally is made for.
    pub(crate) capacity: u64,
    /// Whether that is because the tally is full.
    pub(crate) is_early: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Move {
    /// How many moves there were, this one included.
    serial: u64,
    /// The first records that were written after it.
    next: NextNumbers,
}

impl Horizon {
    /// How many moves there were.
    pub(crate) fn serial(&self) -> u64 {
        self.moves.last().map_or(0, |last| last.serial)
    }

    /// The oldest generation that may count in a tally of this capacity: a larger one may remember more again.
    pub(crate) fn least(&self, capacity: u64) -> u64 {
        if capacity > self.capacity { 0 } else { self.before }
    }

    /// Whether it is this one, for a tally of this capacity.
    pub(crate) fn is(&self, before: u64, capacity: u64) -> bool {
        (self.before, self.capacity) == (before, capacity)
    }

    /// The horizon after one more move. Moves that the older of two snapshots knows, `known` in number, are not kept.
    pub(crate) fn moved(&self, to: MoveTo, next: NextNumbers, known: u64) -> Self {
        let MoveTo { before, capacity, is_early } = to;
        let mut moves: Vec<Move> = self.moves.iter().copied().filter(|one| one.serial > known).collect();
        moves.push(Move { serial: self.serial() + 1, next });
        Horizon { before, capacity, is_early, moves }
    }

    /// Whether no record was written after any move that a snapshot does not know, so that it can be brought up to date
    /// by a replay. `next` says how many records there are now.
    pub(crate) fn is_replayable(&self, known: u64, next: NextNumbers) -> bool {
        let mut since = self.moves.iter().filter(|one| one.serial > known);
        since.next().is_none_or(|first| next.own <= first.next.own && next.heard <= first.next.heard)
    }
}

impl Journal {
    /// The horizon that is kept; the beginning of time where there is none.
    pub(crate) fn horizon(&self) -> Result<Horizon, JournalError> {
        let Some(json) = self.meta.get(HORIZON)? else {
            return Ok(Horizon::default());
        };
        from_json("the horizon", &json)
    }
}

impl JournalBatch<'_> {
    pub(crate) fn horizon(&mut self, horizon: &Horizon) -> Result<(), JournalError> {
        let json = to_json("the horizon", horizon)?;
        self.batch.insert(&self.journal.meta, HORIZON, json);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(own: u64, heard: u64) -> NextNumbers {
        NextNumbers { own, heard }
    }

    fn to(before: u64) -> MoveTo {
        MoveTo { before, capacity: 1000, is_early: false }
    }

    #[test]
    fn a_snapshot_is_replayed_only_without_records_after_a_move_that_it_does_not_know() {
        let first = Horizon::default().moved(to(5), next(10, 1), 0);
        let second = first.moved(to(6), next(20, 4), 0);
        assert_eq!((first.serial(), second.serial()), (1, 2));
        assert!(second.is_replayable(2, next(99, 99)), "it knows all moves");
        assert!(second.is_replayable(1, next(20, 4)));
        assert!(!second.is_replayable(1, next(21, 4)));
        assert!(!second.is_replayable(1, next(20, 5)));
        assert!(!second.is_replayable(0, next(11, 1)), "after the first move");
        let third = second.moved(to(7), next(30, 4), 2);
        assert_eq!((third.moves.len(), third.serial()), (1, 3), "what all snapshots know is not kept");
    }

    #[test]
    fn a_larger_tally_may_remember_more_and_a_smaller_one_may_not() {
        let horizon = Horizon::default().moved(to(5), next(1, 1), 0);
        assert_eq!([900, 1000, 1001].map(|capacity| horizon.least(capacity)), [5, 5, 0]);
        assert_eq!(Horizon::default().least(1), 0);
    }
}
