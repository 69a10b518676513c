//! What can be wrong with a geometry, a union or a file, in words that name the offending value.

use crate::hash::Fingerprint;

/// A filter that cannot be made as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GeometryError {
    /// A number that must be positive is zero.
    #[error("{0} must be at least 1, not 0")]
    Zero(&'static str),
    /// A rate that is not a probability strictly between 0 and 1.
    #[error("rate must lie between 0 and 1, both excluded, not {0}")]
    Rate(f64),
    /// A rate below what any geometry is trusted to keep.
    #[error("rate {rate:e} is too small to be promised; the least is {least:e}")]
    TooExact {
        /// The rate asked for.
        rate: f64,
        /// The least rate.
        least: f64,
    },
    /// More than a named limit allows.
    #[error("{field} is {value}, the limit is {limit}")]
    TooLarge {
        /// Which number.
        field: &'static str,
        /// What it is.
        value: u64,
        /// What it may be at most.
        limit: u64,
    },
    /// No geometry within the limits keeps the promise.
    #[error("no {layout} filter within the limits holds {capacity} keys at a rate of {rate}")]
    OutOfReach {
        /// The layout asked for.
        layout: &'static str,
        /// The promised capacity.
        capacity: u64,
        /// The promised rate.
        rate: f64,
    },
    /// Bits that no key could ever set.
    #[error("only {reachable} of {bits} bits can be reached by the hash")]
    UnreachableBits {
        /// The bits asked for.
        bits: u64,
        /// The bits the hash can reach.
        reachable: u64,
    },
    /// A size that does not divide into equal parts.
    #[error("{bits} bits do not divide into {parts} equal parts")]
    Uneven {
        /// The bits asked for.
        bits: u64,
        /// The parts asked for.
        parts: u64,
    },
    /// A page with a number of positions that no packing of cells gives.
    #[error("slots per page is {0}, which is not a multiple of 512")]
    Slots(u64),
    /// A width no cell may have.
    #[error("a cell has 1 to {most} bits, not {bits}")]
    CellBits {
        /// The width asked for.
        bits: u32,
        /// The widest.
        most: u32,
    },
    /// A layout that counting filters do not have.
    #[error("a counting filter is flat, or paged with one page a key, not {0}")]
    NotForCounting(String),
    /// Another number of cells than the layout has positions.
    #[error("the layout has {positions} positions, but there are {cells} cells")]
    CellsOfLayout {
        /// What the layout says.
        positions: u64,
        /// What there is.
        cells: u64,
    },
    /// A layout whose pages do not match those of the cells.
    #[error("a page has {slots} slots in the layout, but holds {cells} cells")]
    SlotsOfCells {
        /// What the layout says.
        slots: u64,
        /// What fits.
        cells: u64,
    },
    /// A modulus universal hashing is not made for.
    #[error("p must be 2100000011 or 2^61 - 1, not {0}")]
    Prime(u64),
    /// A layout name nobody knows.
    #[error("there is no layout {0:?}; there are flat, paged and line")]
    Layout(String),
    /// The system has not that much memory.
    #[error("cannot have {bytes} bytes of memory: {source}")]
    Memory {
        /// The bytes asked for.
        bytes: u64,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Two filters that are not of one kind: the first field that differs, and its two values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the filters differ in {field}: {left} and {right}")]
pub struct Unlike {
    /// Which field.
    pub field: &'static str,
    /// Its value in the filter that would take the union.
    pub left: String,
    /// Its value in the other one.
    pub right: String,
}

/// A cut that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// Cells cannot tell whether they reach this threshold.
    #[error("the threshold of a cut must lie between 1 and {cap}, the cap of a cell, not at {least}")]
    Threshold {
        /// The threshold asked for.
        least: u64,
        /// The largest value of a cell.
        cap: u64,
    },
    /// The cut has no room.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
}

/// A key that was never counted cannot be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key's count is 0, so it was never inserted and cannot be removed")]
pub struct NotCounted;

/// A file that is not an undamaged filter of ours.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Too short to hold a header.
    #[error("length: {0} bytes are too few for a filter file (truncated, or no filter file)")]
    NoHeader(u64),
    /// Does not begin as filter files do.
    #[error("magic: this is not a seenit filter file")]
    Magic,
    /// A delta where a filter file belongs.
    #[error("magic: this is a seenit delta, not a filter file")]
    Delta,
    /// Written by a later release.
    #[error("version: the file has format version {found}; this release reads version {known}")]
    Version {
        /// The version in the file.
        found: u32,
        /// The version this release knows.
        known: u32,
    },
    /// A header whose checksum does not fit it.
    #[error("header digest: the header is damaged")]
    HeaderDigest,
    /// A header field with a value it cannot have.
    #[error("{field}: {value} is not possible: {why}")]
    Field {
        /// Which field.
        field: &'static str,
        /// Its value.
        value: String,
        /// Why it cannot be.
        why: String,
    },
    /// A file that ends early or goes on too long.
    #[error("length: the header asks for {expected} bytes, the file has {found}")]
    Length {
        /// The length the header implies.
        expected: u64,
        /// The length of the file.
        found: u64,
    },
    /// The table of page digests is damaged.
    #[error("digest table: the table of page digests is damaged")]
    Table,
    /// A page is damaged.
    #[error("page {0}: the page is damaged")]
    Page(u64),
    /// Bits set behind the end of the filter.
    #[error("padding: there are bits set behind the filter's last one")]
    Padding,
    /// Built with another hash key.
    #[error("key fingerprint: the file was built with key {found}, not with {expected}")]
    ForeignKey {
        /// The fingerprint of the key at hand.
        expected: Fingerprint,
        /// The fingerprint in the file.
        found: Fingerprint,
    },
    /// Bytes that cannot be used in place.
    #[error("the bytes cannot be used in place: {0}")]
    InPlace(&'static str),
}
