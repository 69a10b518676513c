//! Which of two signed papers of one admin counts.

use std::cmp::Ordering;

/// How a paper that arrives stands to the one that is held. Numbers only grow, so the greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has a greater number, and counts from now on.
    Newer,
    /// It is the one that is held.
    Same,
    /// It has a smaller number: late, or sent by somebody who would like the past back.
    Older,
    /// It has the same number and says something else: the admin signed twice, or somebody has a copy of the key. The
    /// one with the greater bytes counts, for no better reason than that all sites then hold the same one; and an
    /// alarm is due until a greater number ends it.
    Fork {
        /// Whether it is the one that counts.
        counts: bool,
    },
}

impl Standing {
    /// Of what arrived, by number and bytes, to what is held.
    pub(crate) fn of(arrived: (u64, &[u8]), held: (u64, &[u8])) -> Self {
        match (arrived.0.cmp(&held.0), arrived.1.cmp(held.1)) {
            (Ordering::Greater, _) => Standing::Newer,
            (Ordering::Less, _) => Standing::Older,
            (Ordering::Equal, Ordering::Equal) => Standing::Same,
            (Ordering::Equal, bytes) => Standing::Fork { counts: bytes == Ordering::Greater },
        }
    }

    /// Whether what arrived takes the place of what is held.
    pub fn replaces(self) -> bool {
        matches!(self, Standing::Newer | Standing::Fork { counts: true })
    }
}
