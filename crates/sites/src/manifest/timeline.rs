//! The manifests of a network, and which of them holds for a generation.
//!
//! For a generation holds, among the manifests whose first generation is not later, the one whose first generation is
//! the latest; of several the one with the greatest number. So a manifest that says the terms of running generations
//! again, for a newcomer, does not undo a change that is signed for a later one.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Manifest;
use crate::error::{FormatError, at_most};
use crate::number::Generation;
use crate::precedence::Precedence;

/// Manifests that are held at once. One a change and one a newcomer: a thousand sites can be admitted one by one
/// within the time that records are kept.
pub const MANIFESTS_MAX: usize = 2000;

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

    /// Takes a manifest in, and says what it is to the one of its number, if there is one. They may come in any order.
    ///
    /// `begun` is the newest generation in which this site has counted under the manifests it holds; a site that has
    /// not counted yet says `None`, and takes the past as it is told.
    pub fn add(&mut self, arrived: Manifest, begun: Option<Generation>) -> Result<Precedence, FormatError> {
        let number = arrived.number;
        if let Some(other) =
            self.iter().find(|held| held.terms.generation_secs != arrived.terms.generation_secs)
        {
            let found = arrived.terms.generation_secs;
            let held = other.terms.generation_secs;
            return Err(FormatError::OtherGenerationSecs { number, found, held });
        }
        let twin = self.numbered(number);
        let precedence = twin
            .map_or(Precedence::Newer, |twin| Precedence::of(Ordering::Equal, &arrived.bytes, &twin.bytes));
        if !precedence.replaces() {
            return Ok(precedence);
        }
        self.check_late(&arrived, begun)?;
        match twin.map(|twin| (twin.terms.first_generation, number)) {
            Some(place) => drop(self.by_first.remove(&place)),
            None => at_most("manifests", self.by_first.len() + 1, MANIFESTS_MAX)?,
        }
        self.by_first.insert((arrived.terms.first_generation, number), arrived);
        Ok(precedence)
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
        said.zip(self.holding(generation)).is_some_and(|(said, holding)| said.key == holding.key)
    }

    /// Refuses a manifest by which a generation that has begun would be counted otherwise.
    fn check_late(&self, arrived: &Manifest, begun: Option<Generation>) -> Result<(), FormatError> {
        let first = arrived.terms.first_generation;
        let number = arrived.number;
        let Some(begun) = begun.filter(|begun| first <= *begun) else { return Ok(()) };
        // Those it would take the place of: what holds at its beginning, and nothing that begins later.
        let next = self.by_first.range((first, number)..).find(|((later, _), _)| *later > first);
        let last = next.map_or(begun, |((later, _), _)| begun.min(Generation(later.0.saturating_sub(1))));
        match self.holding(last) {
            Some(held) if (held.terms.first_generation, held.number) > (first, number) => Ok(()),
            Some(held) if held.key != arrived.key => Err(FormatError::Late { number, first, begun }),
            _ => Ok(()),
        }
    }
}
