//! Numbers that must not be taken for each other: which incarnation, which generation, how far.

use std::fmt;

use crate::error::{self, FormatError};
use crate::form::form;

/// The greatest sequence: a record a microsecond for two thousand years. A member that signs more lies, and sums of
/// sequences need not be looked at for what does not fit.
pub const SEQUENCE_MAX: u64 = 1 << 56;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u64);

        form!($name);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// One run of a data folder between losses of memory: seconds since the Unix epoch at its beginning, or one more
    /// than the incarnation before.
    Incarnation
}

number! {
    /// One aligned slice of time, counted from the Unix epoch.
    Generation
}

number! {
    /// How many items of a stream there are, or which item of it: the first has 1.
    Sequence
}

impl Sequence {
    /// Before the first item.
    pub const START: Sequence = Sequence(0);

    /// Refuses a sequence that nobody can have got to.
    pub(crate) fn check(self) -> Result<(), FormatError> {
        match self.0 <= SEQUENCE_MAX {
            true => Ok(()),
            false => Err(error::number("sequence", self.0, "there are never as many items")),
        }
    }

    /// The next item. There are never as many as would overflow (`SEQUENCE_MAX`).
    #[must_use]
    pub fn next(self) -> Sequence {
        Sequence(self.0.saturating_add(1))
    }
}
