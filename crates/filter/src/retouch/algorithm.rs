//! The algorithms by name, and what each of them weighs.

use std::str::FromStr;

use crate::error::RetouchError;

/// How the bit to clear is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Any of the key's bits.
    Random,
    /// The bit with the fewest members, counted once.
    MinimumFn,
    /// The bit with the most false positives, counted once.
    MaximumFp,
    /// The bit with the fewest members for each false positive, counted once.
    Ratio,
    /// The bit with the fewest members that are not lost yet.
    ImprovedMinimumFn,
    /// The bit with the most false positives that are not removed yet.
    ImprovedMaximumFp,
    /// The bit with the fewest members not lost yet for each false positive not removed yet.
    ImprovedRatio,
}

impl Algorithm {
    /// All of them, the simple ones first.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Random,
        Algorithm::MinimumFn,
        Algorithm::MaximumFp,
        Algorithm::Ratio,
        Algorithm::ImprovedMinimumFn,
        Algorithm::ImprovedMaximumFp,
        Algorithm::ImprovedRatio,
    ];

    /// Its name, for people and scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Algorithm::Random => "random",
            Algorithm::MinimumFn => "minimum-fn",
            Algorithm::MaximumFp => "maximum-fp",
            Algorithm::Ratio => "ratio",
            Algorithm::ImprovedMinimumFn => "improved-minimum-fn",
            Algorithm::ImprovedMaximumFp => "improved-maximum-fp",
            Algorithm::ImprovedRatio => "improved-ratio",
        }
    }

    /// Whether it weighs members, and so must be given them.
    pub fn weighs_members(self) -> bool {
        use Algorithm::*;
        matches!(self, MinimumFn | Ratio | ImprovedMinimumFn | ImprovedRatio)
    }

    /// Whether it weighs false positives.
    pub fn weighs_false_positives(self) -> bool {
        use Algorithm::*;
        matches!(self, MaximumFp | Ratio | ImprovedMaximumFp | ImprovedRatio)
    }

    /// Whether its counts stay exact.
    pub fn is_improved(self) -> bool {
        use Algorithm::*;
        matches!(self, ImprovedMinimumFn | ImprovedMaximumFp | ImprovedRatio)
    }
}

impl FromStr for Algorithm {
    type Err = RetouchError;

    fn from_str(name: &str) -> Result<Self, RetouchError> {
        let named = Algorithm::ALL.into_iter().find(|algorithm| algorithm.as_str() == name);
        named.ok_or_else(|| RetouchError::Algorithm(name.into()))
    }
}
