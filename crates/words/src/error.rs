//! What can go wrong with words.

use seenit_filter::{BinError, FormatError};

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordsError {
    /// One side was never shown.
    #[error("there are {spam} spam messages and {ham} good ones; training needs some of both")]
    OneSided {
        /// Spam messages.
        spam: u64,
        /// Good ones.
        ham: u64,
    },
    /// Messages without a single word that tells the sides apart.
    #[error("none of the {words} words stands in one side's messages more often than in the other's")]
    NoWeights {
        /// Words seen.
        words: usize,
    },
    /// Fewer messages of a side than parts that each need one.
    #[error(
        "there are {spam} spam messages and {ham} good ones; {parts} parts need at least {parts} of each"
    )]
    TooFew {
        /// Spam messages.
        spam: u64,
        /// Good ones.
        ham: u64,
        /// The parts asked for.
        parts: u32,
    },
    /// A number of bins that cannot be.
    #[error("{bins} bins a side: there are 1 to {limit}")]
    Bins {
        /// What was asked for.
        bins: usize,
        /// The most.
        limit: usize,
    },
    /// Bins that cannot be cut or filled.
    #[error(transparent)]
    Filter(#[from] BinError),
    /// A file that is no model.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A sound bin filter that lacks what a score needs.
    #[error("note {name:?}: the file has {found}: it is no words file of this release")]
    Note {
        /// Which note.
        name: &'static str,
        /// What it says.
        found: String,
    },
    /// A sound bin filter, but a bin whose keys nobody ever meets, which no training makes.
    #[error("bin {place}: the file has a share of {share:?}: it is no words file of this release")]
    Share {
        /// Which bin.
        place: usize,
        /// One of its two shares.
        share: f64,
    },
}
