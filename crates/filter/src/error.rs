//! What can be wrong with a geometry, a union or a file, in words that name the offending value.

use crate::hash::KeyFingerprint;

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
    /// A width no cell may have.
    #[error("a cell has 1 to {most} bits, not {bits}")]
    CellBits {
        /// The width asked for.
        bits: u32,
        /// The widest.
        most: u32,
    },
    /// A width no cell of split storage may have.
    #[error("a cell of split storage has 2 to {most} bits, one of them a flag, not {bits}")]
    SplitBits {
        /// The width asked for, flag included.
        bits: u32,
        /// The widest.
        most: u32,
    },
    /// A layout that counting filters do not have.
    #[error("a counting filter is flat, or paged with one page a key, not {0}")]
    NotForCounting(String),
    /// A layout that tagged filters do not have.
    #[error("a tagged filter is flat, or paged with one page a key, not {0}")]
    NotForTags(String),
    /// Another number of cells than the layout has positions.
    #[error("the layout has {positions} positions, but there are {cells} cells")]
    CellsOfLayout {
        /// What the layout says.
        positions: u64,
        /// What there is.
        cells: u64,
    },
    /// A layout whose blocks do not lie within pages of cells.
    #[error("a block of {slots} slots does not divide a page, which holds {cells} cells")]
    SlotsOfCells {
        /// What the layout says.
        slots: u64,
        /// What fits.
        cells: u64,
    },
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

/// What a tagged filter cannot do with a tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// A tag beyond the last one.
    #[error("there is no tag {tag}: the filter has {tags} tags, numbered from 0")]
    NoSuch {
        /// The tag asked for.
        tag: u32,
        /// How many there are.
        tags: u32,
    },
    /// A tag whose old keys are still in memory.
    #[error("tag {0} is still being cleared")]
    Clearing(u32),
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

/// A key that was counted less often than it should be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key's count is {count}, so it was not inserted {weight} times and cannot be removed so often")]
pub struct NotCounted {
    /// What the filter counts.
    pub count: u64,
    /// How often the key should be taken out.
    pub weight: u64,
}

/// A table in which a new key found no room. Keys it holds can still be updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the table is full: it holds {len} keys, and was sized for {capacity}")]
pub struct Full {
    /// How many keys it holds.
    pub len: u64,
    /// How many it was sized for.
    pub capacity: u64,
}

/// Words that are no table's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Fewer or more words than the table has slots.
    #[error("a table for {capacity} keys has {expected} words, not {found}")]
    Words {
        /// What the table is sized for.
        capacity: u64,
        /// How many words that makes.
        expected: u64,
        /// How many there are; one more than expected stands for any larger number.
        found: u64,
    },
    /// A word that is no slot's.
    #[error("word {index} is {word:#018x}, which is neither empty nor a fingerprint with a value")]
    Slot {
        /// Which word, counted from 0.
        index: u64,
        /// What it is.
        word: u64,
    },
    /// A table that cannot be made, or not here.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
}

/// Bins that cannot be made as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BinError {
    /// A number that is zero or above its limit, or memory that is not there.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// A weight that nothing can be credited with.
    #[error("the weight of key {index} must lie between 0 and {limit:e}, not {weight}")]
    Weight {
        /// Which key, counted from 0.
        index: usize,
        /// Its weight.
        weight: f64,
        /// What it may be at most.
        limit: f64,
    },
    /// Bins that would be empty.
    #[error("{bins} bins cannot be made of {keys} keys: a bin has at least one")]
    TooFewKeys {
        /// The bins asked for.
        bins: usize,
        /// The keys there are.
        keys: usize,
    },
    /// Two lists that should be equally long.
    #[error("there are {found} {what}, not {expected}")]
    Count {
        /// What the list holds.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What it should be.
        expected: usize,
    },
    /// Cuts that do not rise.
    #[error("cut {index} is {cut}, which does not lie behind the one before")]
    Cut {
        /// Which cut, counted from 0.
        index: usize,
        /// Where it lies.
        cut: usize,
    },
}

/// A question about chances that has no answer.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OddsError {
    /// Not a probability.
    #[error("a probability lies between 0 and 1, not at {0}")]
    Chance(f64),
    /// A bound that is kept always or never.
    #[error("a bound on a probability lies between 0 and 1, both excluded, not at {0}")]
    Bound(f64),
    /// Probabilities that do not make a distribution.
    #[error("the probabilities of the counts add up to {0}, not to 1")]
    Sum(f64),
    /// A mean no Poisson law here has.
    #[error("the mean of a Poisson law lies between 0 and {most}, not at {mean}")]
    Mean {
        /// The mean asked for.
        mean: f64,
        /// The largest.
        most: f64,
    },
    /// A message with too many shingles, or none.
    #[error("a message has 1 to {most} shingles, not {shingles}")]
    Shingles {
        /// How many were asked for.
        shingles: u32,
        /// The most there can be.
        most: u32,
    },
    /// More listed shingles than there are.
    #[error("{listed} of {shingles} shingles cannot be listed")]
    Listed {
        /// The listed ones.
        listed: u32,
        /// All of them.
        shingles: u32,
    },
    /// A threshold that listed shingles reach by themselves, or that no message reaches.
    #[error(
        "a threshold of {threshold} must be above the {listed} listed shingles, and at most all {shingles}"
    )]
    Threshold {
        /// The threshold asked for.
        threshold: u32,
        /// The listed ones.
        listed: u32,
        /// All of them.
        shingles: u32,
    },
}

/// A spam tally that cannot be chosen as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// The question has no answer.
    #[error(transparent)]
    Odds(#[from] OddsError),
    /// No geometry has the rate.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
}

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
        expected: KeyFingerprint,
        /// The fingerprint in the file.
        found: KeyFingerprint,
    },
    /// Another kind of filter than was asked for.
    #[error("kind: the file holds {found}, not {wanted}")]
    OtherKind {
        /// What the file holds.
        found: &'static str,
        /// What was wanted.
        wanted: &'static str,
    },
    /// Counts by another rule than was asked for.
    #[error("rule: the counts are {found}, not {wanted}")]
    OtherRule {
        /// The rule of the file.
        found: &'static str,
        /// What was wanted.
        wanted: &'static str,
    },
    /// A sound file for which there is no memory.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// Bytes that cannot be used in place.
    #[error("the bytes cannot be used in place: {0}")]
    InPlace(&'static str),
}

/// A filter that cannot be retouched as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetouchError {
    /// An algorithm name nobody knows.
    #[error(
        "there is no algorithm {0:?}; there are random, minimum-fn, maximum-fp, ratio, improved-minimum-fn, \
         improved-maximum-fp and improved-ratio"
    )]
    Algorithm(String),
    /// The algorithm weighs members, and nobody said who they are.
    #[error(
        "{0} weighs the members, and they are not given; random, maximum-fp and improved-maximum-fp do without"
    )]
    NoMembers(&'static str),
    /// All known false positives should weigh, and nobody said which they are.
    #[error("{0} should weigh all known false positives, and they are not given")]
    NoFalsePositives(&'static str),
    /// More elements than can be counted.
    #[error("{elements} elements are too many to retouch with; the limit for this layout is {limit}")]
    TooMany {
        /// The size of the largest set.
        elements: u64,
        /// What it may be at most.
        limit: u64,
    },
}
