//! What an index of sightings must do, and the choice between the two that do it.

use std::fmt;
use std::str::FromStr;

use super::Fingerprint;
use super::filter::SeenFilter;
use super::table::SeenTable;
use crate::counting::Count;
use crate::error::GeometryError;

/// What an addition found, and what it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// The count before; beside other additions of the same signature, the count that this one began with.
    pub before: u64,
    /// The count after.
    pub after: Count,
}

/// Counts of signatures by fingerprint, for many threads at once.
///
/// A count is never below what was added before the call, whatever other threads do, however full the index is. It may
/// be above where fingerprints collide: [`promised_rate`](Self::promised_rate) says how often. It ends at
/// [`COUNT_MAX`](super::COUNT_MAX) and says "at least" there, and where memory for more could not be had.
pub trait SeenIndex: Send + Sync {
    /// Counts a signature `increment` times more; 0 changes nothing.
    fn add(&self, fingerprint: Fingerprint, increment: u64) -> Added;

    /// Makes the count of a signature at least so large. Beside other writers of the same signature it may come out
    /// larger, never smaller.
    fn raise_to(&self, fingerprint: Fingerprint, least: u64) {
        let count = self.count(fingerprint);
        if count.value < least && !count.saturated {
            self.add(fingerprint, least - count.value);
        }
    }

    /// How often a signature was counted; 0 for one that never was, or, seldom, what others were.
    fn count(&self, fingerprint: Fingerprint) -> Count;

    /// [`count`](Self::count) for many signatures, fetching memory for some while it reads others.
    ///
    /// # Panics
    /// When `counts` is not as long as `fingerprints`.
    fn count_many(&self, fingerprints: &[Fingerprint], counts: &mut [Count]);

    /// How many distinct signatures it holds; those that collide count as one.
    fn signatures(&self) -> u64;

    /// How many it was made for. It takes more, at a higher rate and more memory each.
    fn capacity(&self) -> u64;

    /// All memory it has asked for, in bytes.
    fn memory_bytes(&self) -> u64;

    /// The chance that a signature that was never added reads `least` or more when the index holds its capacity,
    /// whatever the counts are.
    fn promised_rate(&self, least: u64) -> f64;

    /// The same chance now, read off the counts.
    fn present_rate(&self, least: u64) -> f64;
}

/// The two structures of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Structure {
    /// [`SeenTable`]
    #[default]
    Table,
    /// [`SeenFilter`](super::SeenFilter)
    Filter,
}

impl Structure {
    /// Both.
    pub const ALL: [Structure; 2] = [Structure::Table, Structure::Filter];

    /// `table` or `filter`.
    pub fn as_str(self) -> &'static str {
        match self {
            Structure::Table => "table",
            Structure::Filter => "filter",
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A structure name nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no structure {0:?} of seen counts; there are table and filter")]
pub struct UnknownStructure(pub String);

impl FromStr for Structure {
    type Err = UnknownStructure;

    fn from_str(name: &str) -> Result<Self, UnknownStructure> {
        let known = Structure::ALL.into_iter().find(|structure| structure.as_str() == name);
        known.ok_or_else(|| UnknownStructure(name.into()))
    }
}

/// Either structure.
#[derive(Debug)]
pub enum AnySeen {
    /// Lines of fingerprints with counts.
    Table(SeenTable),
    /// A counting filter.
    Filter(SeenFilter),
}

impl AnySeen {
    /// An empty index for so many signatures.
    pub fn new(structure: Structure, capacity: u64) -> Result<Self, GeometryError> {
        Ok(match structure {
            Structure::Table => AnySeen::Table(SeenTable::new(capacity)?),
            Structure::Filter => AnySeen::Filter(SeenFilter::new(capacity)?),
        })
    }

    /// Which one it is.
    pub fn structure(&self) -> Structure {
        match self {
            AnySeen::Table(_) => Structure::Table,
            AnySeen::Filter(_) => Structure::Filter,
        }
    }
}

/// Calls the same method of whichever it is.
macro_rules! either {
    ($any:expr, $index:ident => $call:expr) => {
        match $any {
            AnySeen::Table($index) => $call,
            AnySeen::Filter($index) => $call,
        }
    };
}

impl SeenIndex for AnySeen {
    fn add(&self, fingerprint: Fingerprint, increment: u64) -> Added {
        either!(self, index => index.add(fingerprint, increment))
    }

    fn raise_to(&self, fingerprint: Fingerprint, least: u64) {
        either!(self, index => index.raise_to(fingerprint, least));
    }

    fn count(&self, fingerprint: Fingerprint) -> Count {
        either!(self, index => index.count(fingerprint))
    }

    fn count_many(&self, fingerprints: &[Fingerprint], counts: &mut [Count]) {
        either!(self, index => index.count_many(fingerprints, counts));
    }

    fn signatures(&self) -> u64 {
        either!(self, index => index.signatures())
    }

    fn capacity(&self) -> u64 {
        either!(self, index => index.capacity())
    }

    fn memory_bytes(&self) -> u64 {
        either!(self, index => index.memory_bytes())
    }

    fn promised_rate(&self, least: u64) -> f64 {
        either!(self, index => index.promised_rate(least))
    }

    fn present_rate(&self, least: u64) -> f64 {
        either!(self, index => index.present_rate(least))
    }
}
