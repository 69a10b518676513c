//! From one life of the folder to the next: what was counted is frozen, and counting goes on in empty cells; or it goes
//! on in the old ones, which are *carried over* and told again from nothing.
//!
//! Nobody counts while the cells are exchanged, so what frozen ones hold then is all they will ever hold. What they
//! gained since their last delta is journalled after that; until it is, they count here and are told to nobody.

use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

use seenit_filter::GeometryError;

use super::parts::{Delta, Frozen, Generation, Live};
use super::{Seen, SharedCounts};
use crate::identity::Incarnation;
use crate::journal::JournalError;
use crate::terms::{Counts, Terms, terms_at};

/// A life that is about to begin, with cells for the present generation.
pub(crate) struct Beginning {
    life: Incarnation,
    newest: Option<(u64, Arc<Live>)>,
    /// A generation whose cells it goes on counting in, and cells in which nothing is counted: what it has told.
    carried_over: Option<(u64, Counts)>,
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

    /// Makes ready for a life that counts in generation `newest`, where that has begun, and goes on with the cells of
    /// generation `carried_over`, which has the same terms in it as in the present life.
    pub(crate) fn prepare(
        &self,
        life: Incarnation,
        newest: Option<u64>,
        carried_over: Option<u64>,
    ) -> Result<Beginning, GeometryError> {
        let empty = |generation| self.terms_of(&life, generation).empty();
        let carried_over = carried_over.filter(|generation| self.is_live(*generation));
        let newest = newest.filter(|generation| carried_over != Some(*generation));
        let live = |generation| Ok((generation, Arc::new(Live::new(empty(generation)?, 0)?)));
        let newest = newest.map(live).transpose()?;
        let told = |generation| Ok((generation, empty(generation)?));
        let carried_over = carried_over.map(told).transpose()?;
        Ok(Beginning { life, newest, carried_over })
    }

    /// Begins a life. Own cells that are not carried over count as frozen ones, private until
    /// [`settle`](Self::settle) says otherwise.
    pub(crate) fn enter(&self, Beginning { life, newest, mut carried_over }: Beginning) -> Vec<Ended> {
        let mut present = self.life();
        let mut all = self.write();
        let mut ended = Vec::new();
        for (&number, generation) in all.iter_mut() {
            let is_same =
                present.network == life.network && present.terms_at(number) == life.terms_at(number);
            let mut next = Generation::new(self.under(&life, number), life.terms_at(number).is_some());
            next.others = generation.others.take().filter(|_| is_same);
            next.frozen = std::mem::take(&mut generation.frozen);
            match (generation.live.take(), carried_over.take_if(|(carried, _)| *carried == number)) {
                (Some(live), Some((_, told))) => next.live = Some(Arc::new(live.carried_over(told))),
                (Some(live), None) if live.is_touched() => {
                    let (incarnation, is_shared) = (present.id, generation.is_shared);
                    next.frozen.push(Arc::new(Frozen {
                        incarnation,
                        is_shared: false,
                        sequence: live.sequence(),
                        under: generation.under.clone(),
                        counts: Arc::clone(&live.own),
                    }));
                    ended.push(Ended { incarnation, generation: number, is_shared, live });
                }
                _ => {}
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

    /// Begins a life while nobody counts. Cells that were carried over into the one before and that no delta has yet
    /// were told to nobody, and stay private.
    pub(crate) fn begin(&self, life: Incarnation, carried_over: Option<u64>) -> Result<(), GeometryError> {
        let beginning = self.prepare(life, None, carried_over)?;
        let ended = self.enter(beginning);
        let told = ended.iter().filter(|one| !one.live.changed.load(Acquire));
        told.for_each(|one| self.settle(one, None));
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
