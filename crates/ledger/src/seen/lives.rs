//! From one life of the folder to the next: what was counted is frozen, and counting goes on in empty cells.
//!
//! Nobody counts while the cells are exchanged, so what the old ones hold then is all they will ever hold. What they
//! gained since their last delta is journalled after that; until it is, they count here and are told to nobody.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use seenit_filter::GeometryError;
use seenit_filter::cells::Cells;

use super::parts::{Delta, Frozen, Generation, Live};
use super::{Seen, SharedCounts};
use crate::identity::Incarnation;
use crate::journal::JournalError;
use crate::terms::{Terms, terms_at};

/// A life that is about to begin, with cells for the present generation.
pub(crate) struct Beginning {
    life: Incarnation,
    newest: Option<(u64, Arc<Live>)>,
}

/// Cells of a life that has ended.
pub(crate) struct Ended {
    pub(crate) incarnation: u64,
    generation: u64,
    is_shared: bool,
    live: Arc<Live>,
}

impl Ended {
    /// What they gained since their last delta.
    pub(crate) fn last_delta(&self) -> Result<Option<Delta>, JournalError> {
        let is_changed = self.live.changed.load(Acquire);
        is_changed.then(|| self.live.delta(self.generation).map_err(JournalError::Rows)).transpose()
    }
}

/// Frozen cells, and what they are.
pub(crate) struct FrozenPart {
    pub(crate) generation: u64,
    pub(crate) incarnation: u64,
    pub(crate) is_shared: bool,
    pub(crate) sequence: u64,
    pub(crate) counts: Arc<SharedCounts>,
}

/// Whether other terms of the present life can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// They say nothing new of generations that are counted.
    Fits,
    /// A generation that had none, and was counted privately, is the network's now: that takes a new life.
    Begins,
    /// They say something else of a generation that is counted.
    Refused(u64),
}

impl Seen {
    /// What other terms of the present life would mean.
    pub(crate) fn change_of_terms(&self, terms: &[(u64, Terms)]) -> Change {
        let (life, mut change) = (self.life(), Change::Fits);
        for (&number, _) in self.read().iter().filter(|(_, one)| one.has_cells()) {
            match life.terms_at(number) {
                known if known == terms_at(terms, number) => {}
                None => change = Change::Begins,
                Some(_) => return Change::Refused(number),
            }
        }
        change
    }

    /// Takes other terms of the present life over; those of generations that are counted are the same.
    pub(crate) fn put_terms(&self, terms: Vec<(u64, Terms)>) {
        let mut life = self.life();
        life.terms = terms;
        for (&number, generation) in self.write().iter_mut().filter(|(_, one)| !one.has_cells()) {
            generation.under = self.under(&life, number);
            generation.is_shared = life.terms_at(number).is_some();
        }
    }

    /// Makes ready for a life that counts in generation `newest`, where that has begun.
    pub(crate) fn prepare(&self, life: Incarnation, newest: Option<u64>) -> Result<Beginning, GeometryError> {
        let live =
            |generation| Ok((generation, Arc::new(Live::new(self.terms_of(&life, generation).empty()?, 0)?)));
        let newest = newest.map(live).transpose()?;
        Ok(Beginning { life, newest })
    }

    /// Begins a life. Own cells so far count as frozen ones, private until [`settle`](Self::settle) says otherwise.
    pub(crate) fn enter(&self, Beginning { life, newest }: Beginning) -> Vec<Ended> {
        let mut present = self.life();
        let mut all = self.write();
        let mut ended = Vec::new();
        for (&number, generation) in all.iter_mut() {
            let is_same =
                present.network == life.network && present.terms_at(number) == life.terms_at(number);
            let mut next = Generation::new(self.under(&life, number), life.terms_at(number).is_some());
            next.others = generation.others.take().filter(|_| is_same);
            next.frozen = std::mem::take(&mut generation.frozen);
            if let Some(live) = generation.live.take().filter(|live| live.is_touched()) {
                let is_shared = generation.is_shared;
                next.frozen.push(Arc::new(Frozen {
                    incarnation: present.id,
                    is_shared: false,
                    sequence: live.sequence(),
                    under: generation.under.clone(),
                    counts: Arc::clone(&live.own),
                }));
                ended.push(Ended { incarnation: present.id, generation: number, is_shared, live });
            }
            *generation = next;
        }
        if let Some((number, live)) = newest {
            let empty = || Generation::new(self.under(&life, number), life.terms_at(number).is_some());
            all.entry(number).or_insert_with(empty).live = Some(live);
        }
        *present = life;
        ended
    }

    /// The deltas of a life that has ended are durable, `last` among them if there was one.
    pub(crate) fn settle(&self, ended: &Ended, last: Option<&Delta>) {
        let sequence = last.map_or_else(|| ended.live.sequence(), |delta| delta.sequence);
        let mut all = self.write();
        let frozen = all.get_mut(&ended.generation).map(|generation| &mut generation.frozen);
        for part in frozen.into_iter().flatten().filter(|part| part.incarnation == ended.incarnation) {
            *part = Arc::new(Frozen {
                incarnation: part.incarnation,
                is_shared: ended.is_shared,
                sequence,
                under: part.under.clone(),
                counts: Arc::clone(&part.counts),
            });
        }
    }

    /// Adds the cells of a life that has ended to those of the present one, of the same terms, where the generation is
    /// still counted in: they are told again.
    pub(crate) fn carry_over(&self, ended: &Ended) {
        let Some(live) = self.live_of(ended.generation) else {
            return;
        };
        ended.live.own.cells().for_each_nonzero(|cell, value| live.own.raise_cell(cell, value));
        live.changed.store(true, Release);
        self.drop_frozen(ended.incarnation, ended.generation);
    }

    /// Begins a life while nobody counts and all deltas are journalled.
    pub(crate) fn begin(&self, life: Incarnation) -> Result<(), GeometryError> {
        let beginning = self.prepare(life, None)?;
        self.enter(beginning).iter().for_each(|ended| self.settle(ended, None));
        Ok(())
    }

    /// All frozen cells.
    pub(crate) fn frozen(&self) -> Vec<FrozenPart> {
        let all = self.read();
        let parts = all.iter().flat_map(|(&number, one)| one.frozen.iter().map(move |part| (number, part)));
        let part = |(generation, part): (u64, &Arc<Frozen>)| FrozenPart {
            generation,
            incarnation: part.incarnation,
            is_shared: part.is_shared,
            sequence: part.sequence,
            counts: Arc::clone(&part.counts),
        };
        parts.map(part).collect()
    }

    /// Counts the frozen cells of a shared life no longer: somebody else does.
    pub(crate) fn drop_frozen(&self, incarnation: u64, generation: u64) {
        if let Some(generation) = self.write().get_mut(&generation) {
            generation.frozen.retain(|part| !(part.is_shared && part.incarnation == incarnation));
        }
    }
}
