//! The manifests of a network, and which of them holds for a generation.
//!
//! For a generation holds, among the manifests whose first generation is not later, the one whose first generation is
//! the latest; of several the one with the greatest number. So a manifest that says the terms of running generations
//! again, for a newcomer, does not undo a change that is signed for a later one.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Manifest, ManifestError};
use crate::number::Generation;
use crate::succession::Standing;

/// Manifests that are held at once. One a change and one a newcomer: a thousand sites can be admitted one by one
/// within the time that records are kept.
pub const MANIFESTS_MAX: usize = 2000;

/// Why a manifest is not taken, though it is one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TimelineError {
    /// Somebody else's.
    #[error(transparent)]
    OtherNetwork(ManifestError),
    /// Generations are numbered by their length: with another, a number would mean two spans of time.
    #[error("manifest {number} has generations of {found} seconds, and those of this network have {held}")]
    GenerationSecs {
        /// The manifest.
        number: u64,
        /// Its length of a generation.
        found: u64,
        /// The network's.
        held: u64,
    },
    /// It would change the key of counts that there are already.
    #[error("manifest {number} changes generation {first}, and this site has counted in generation {begun}")]
    Late {
        /// The manifest.
        number: u64,
        /// Its first generation.
        first: Generation,
        /// The newest generation that has begun here.
        begun: Generation,
    },
    /// No room.
    #[error("there are {MANIFESTS_MAX} manifests already")]
    TooMany,
}

/// The manifests of a network.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// By first generation and number.
    by_first: BTreeMap<(Generation, u64), Manifest>,
}

impl Manifests {
    /// None yet.
    pub fn new() -> Self {
        Manifests::default()
    }

    /// Takes a manifest in, and says how it stands to the one of its number, if there is one. They may come in any
    /// order.
    ///
    /// `begun` is the newest generation in which this site has counted under the manifests it holds; a site that has
    /// not counted yet says `None`, and takes the past as it is told.
    pub fn add(&mut self, arrived: Manifest, begun: Option<Generation>) -> Result<Standing, TimelineError> {
        self.check_network(&arrived)?;
        let number = arrived.number;
        let twin = self.by_first.values().find(|held| held.number == number);
        let standing = twin
            .map_or(Standing::Newer, |twin| Standing::of((number, arrived.bytes()), (number, twin.bytes())));
        if !standing.replaces() {
            return Ok(standing);
        }
        self.check_late(&arrived, begun)?;
        if let Some(place) = twin.map(|twin| (twin.terms.first_generation, number)) {
            self.by_first.remove(&place);
        } else if self.by_first.len() >= MANIFESTS_MAX {
            return Err(TimelineError::TooMany);
        }
        self.by_first.insert((arrived.terms.first_generation, number), arrived);
        Ok(standing)
    }

    /// The manifest that holds for a generation.
    pub fn holding(&self, generation: Generation) -> Option<&Manifest> {
        self.by_first.range(..=(generation, u64::MAX)).next_back().map(|(_, manifest)| manifest)
    }

    /// All of them, in order of their first generation.
    pub fn iter(&self) -> impl Iterator<Item = &Manifest> {
        self.by_first.values()
    }

    /// The manifest of a number.
    pub fn numbered(&self, number: u64) -> Option<&Manifest> {
        self.by_first.values().find(|manifest| manifest.number == number)
    }

    /// Whether something said under manifest `number` may be applied to a generation: its terms must be those that
    /// hold.
    pub fn applies(&self, number: u64, generation: Generation) -> bool {
        let said = self.numbered(number);
        said.zip(self.holding(generation)).is_some_and(|(said, holding)| said.counts_like(holding))
    }

    /// Forgets manifests that hold for no generation from `oldest` on.
    pub fn forget_before(&mut self, oldest: Generation) {
        let holding = self.holding(oldest).map(|manifest| manifest.terms.first_generation);
        self.by_first.retain(|(first, _), _| holding.is_none_or(|holding| *first >= holding));
    }

    fn check_network(&self, arrived: &Manifest) -> Result<(), TimelineError> {
        let Some(held) = self.by_first.values().next() else { return Ok(()) };
        if held.network != arrived.network {
            let found = arrived.network.to_string();
            let other = ManifestError::OtherNetwork { expected: held.network, found };
            return Err(TimelineError::OtherNetwork(other));
        }
        let (found, secs) = (arrived.terms.generation_secs, held.terms.generation_secs);
        if found != secs {
            return Err(TimelineError::GenerationSecs { number: arrived.number, found, held: secs });
        }
        Ok(())
    }

    /// Refuses a manifest by which a generation that has begun would be counted otherwise.
    fn check_late(&self, arrived: &Manifest, begun: Option<Generation>) -> Result<(), TimelineError> {
        let (first, number) = (arrived.terms.first_generation, arrived.number);
        let Some(begun) = begun.filter(|begun| first <= *begun) else { return Ok(()) };
        // Those it would take the place of: what holds at its beginning, and nothing that begins later.
        let next = self.by_first.range((first, number)..).find(|((later, _), _)| *later > first);
        let last = next.map_or(begun, |((later, _), _)| begun.min(Generation(later.0.saturating_sub(1))));
        match self.holding(last) {
            Some(held) if (held.terms.first_generation, held.number) > (first, number) => Ok(()),
            Some(held) if !held.counts_like(arrived) => Err(TimelineError::Late { number, first, begun }),
            _ => Ok(()),
        }
    }
}

impl Manifest {
    /// Whether fingerprints made under one are fingerprints of the other.
    fn counts_like(&self, other: &Manifest) -> bool {
        self.key == other.key
    }
}
