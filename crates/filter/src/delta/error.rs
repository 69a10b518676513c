//! What can be wrong with a delta, in words that name the offending value.

use super::ShortDigest;
use crate::error::{FormatError, GeometryError, Unlike};

/// A delta that cannot be made, read or applied. Whatever it was to be applied to is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// Shorter or longer than its header says.
    #[error("length: the delta has {found} bytes, not {expected} (truncated, or no delta)")]
    Length {
        /// The bytes it should have.
        expected: u64,
        /// The bytes it has.
        found: u64,
    },
    /// Does not begin as deltas do.
    #[error("magic: this is not a seenit delta")]
    Magic,
    /// A filter file where a delta belongs.
    #[error("magic: this is a seenit filter file, not a delta")]
    FilterFile,
    /// Written by a later release.
    #[error("version: the delta has version {found}; this release reads version {known}")]
    Version {
        /// The version of the delta.
        found: u8,
        /// The version this release knows.
        known: u8,
    },
    /// Damaged on its way.
    #[error("checksum: the delta is damaged")]
    Checksum,
    /// A delta of another kind.
    #[error("kind: the delta is {found}, and {expected} is needed here")]
    Kind {
        /// What it is.
        found: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A kind that this release knows nothing about.
    #[error("kind: {0} is not possible: this release knows kinds 1 to 3")]
    UnknownKind(u8),
    /// Made for another state than the one it is applied to.
    #[error("old digest: the delta starts from {expected}, but this is {found}")]
    OtherOld {
        /// What the delta starts from.
        expected: ShortDigest,
        /// What it was applied to.
        found: ShortDigest,
    },
    /// Leads to something else than it says: it was made by nobody's encoder.
    #[error("new digest: the delta leads to {found}, not to {expected} as it says")]
    OtherNew {
        /// What the delta says.
        expected: ShortDigest,
        /// What it leads to.
        found: ShortDigest,
    },
    /// Made for counts of another kind: rule, layout, cells, key or promise.
    #[error("counts: the delta is for counts of kind {expected}, these are of kind {found}")]
    OtherCounts {
        /// The kind the delta is for.
        expected: ShortDigest,
        /// The kind it was applied to.
        found: ShortDigest,
    },
    /// A cell that fell: a gain cannot say so.
    #[error("cell {cell} fell from {old} to {new}: a gain is for counts that only grow")]
    Fell {
        /// Which cell.
        cell: u64,
        /// What it held.
        old: u64,
        /// What it holds.
        new: u64,
    },
    /// A bit that was cleared: a gain cannot say so.
    #[error("{0} bits were cleared: a gain is for filters that only grow")]
    Cleared(u64),
    /// A gain that comes too early.
    #[error("sequence: gain {found} cannot follow gain {applied}: those between are missing")]
    Gap {
        /// The last one applied.
        applied: u64,
        /// The one at hand.
        found: u64,
    },
    /// A payload that no encoder writes.
    #[error("payload: {0}")]
    Payload(&'static str),
    /// Two filters that are not of one kind.
    #[error(transparent)]
    Unlike(#[from] Unlike),
    /// A file, or the header a delta leads to, that is not possible.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// No memory.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
}
