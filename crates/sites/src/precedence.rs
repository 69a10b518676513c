//! Which of two signed documents of one admin counts.

use std::cmp::Ordering;

/// What a document that arrives is to the one that is held. Numbers only grow, so the greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
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

impl Precedence {
    /// By how the number of what arrived compares with that of what is held, and by their bytes.
    pub(crate) fn of(number: Ordering, arrived: &[u8], held: &[u8]) -> Self {
        match (number, arrived.cmp(held)) {
            (Ordering::Greater, _) => Precedence::Newer,
            (Ordering::Less, _) => Precedence::Older,
            (Ordering::Equal, Ordering::Equal) => Precedence::Same,
            (Ordering::Equal, bytes) => Precedence::Fork { counts: bytes == Ordering::Greater },
        }
    }

    /// Whether what arrived takes the place of what is held.
    pub fn replaces(self) -> bool {
        matches!(self, Precedence::Newer | Precedence::Fork { counts: true })
    }
}
