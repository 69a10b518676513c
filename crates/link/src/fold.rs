//! The fold: the sum of what others counted, each up to its cap, as one array of cells a generation in memory. It is
//! raised with every gain that is applied. Where that cannot be done, after a start for one, it is made anew from the
//! copies on disk, some of them in each tick: a site with a thousand peers answers meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use seenit_filter::cells::Cells;
use seenit_sites::beat::StreamId;
use seenit_sites::key::SiteKey;
use seenit_sites::message::Stream;

use crate::cells::{self, Copied};
use crate::following::Following;
use crate::journal::{Counts, Journal, JournalError};
use crate::link::Link;

/// Bytes of copies that are read in one tick; of one site at least.
pub(crate) const TICK_BYTES: u64 = 4 << 20;

/// Bytes that are read before a site answers. With fewer there is no time in which it counts too little.
pub(crate) const START_BYTES: u64 = 256 << 20;

/// How long a fold may be behind because of a site with several lives beyond its cap.
const BEHIND_MILLIS: u64 = 2_000;

/// The folds that are to be made.
#[derive(Default)]
pub(crate) struct Folds {
    /// Generations, and not before which time.
    due: BTreeMap<u64, u64>,
    making: Option<Making>,
}

/// One that is being made.
struct Making {
    generation: u64,
    /// `None` while it has nobody.
    fold: Option<Counts>,
    /// The sites that it has.
    done: BTreeSet<SiteKey>,
}

impl Folds {
    /// The fold that is being made, if it has a site already.
    fn making_with(&mut self, site: &SiteKey, generation: u64) -> Option<&mut Counts> {
        let making = self.making.as_mut()?;
        let is_there = making.generation == generation && making.done.contains(site);
        making.fold.as_mut().filter(|_| is_there)
    }

    /// Old generations need none.
    pub(crate) fn forget_before(&mut self, oldest: u64) {
        self.due.retain(|generation, _| *generation >= oldest);
        self.making.take_if(|making| making.generation < oldest);
    }
}

impl<J: Journal> Link<J> {
    /// All folds are made anew.
    pub(crate) fn fold_all_anew(&mut self) {
        (self.journal.oldest()..=self.journal.now()).for_each(|generation| self.fold_anew(generation));
    }

    /// The fold of a generation is made anew: what it was made of is another now.
    pub(crate) fn fold_anew(&mut self, generation: u64) {
        self.folds.due.insert(generation, self.now);
        self.folds.making.take_if(|making| making.generation == generation);
    }

    /// Makes folds that are due, until so many bytes of copies were read.
    pub(crate) fn make_folds(&mut self, bytes_max: u64) -> Result<(), JournalError> {
        let mut bytes = 0;
        while bytes < bytes_max {
            if self.folds.making.is_none() {
                let due = self.folds.due.iter().find(|(_, at)| **at <= self.now);
                let Some(generation) = due.map(|(generation, _)| *generation) else { return Ok(()) };
                self.folds.making = Some(Making { generation, fold: None, done: BTreeSet::new() });
                self.folds.due.remove(&generation);
            }
            bytes += self.fold_next_site()?;
        }
        Ok(())
    }

    /// Adds the next site to the fold that is being made, or ends it. How many bytes its copies have.
    fn fold_next_site(&mut self) -> Result<u64, JournalError> {
        let Some(Making { generation, done, .. }) = &self.folds.making else { return Ok(0) };
        let generation = *generation;
        let is_next =
            |(id, one): &(&StreamId, &Following)| is_counted(id, one, generation) && !done.contains(&id.site);
        let Some(site) = self.following.iter().find(is_next).map(|(id, _)| id.site) else {
            let made = self.folds.making.take().and_then(|making| making.fold);
            self.journal.put_others(generation, made);
            return Ok(0);
        };
        let (sum, bytes) = self.read_all_of(&site, generation)?;
        let (cap, empty) = (self.cap_of(&site), self.journal.empty(generation)?);
        if let Some(making) = &mut self.folds.making {
            making.done.insert(site);
            let fold = making.fold.get_or_insert(empty);
            sum.cells().for_each_nonzero(|cell, value| fold.raise_cell(cell, value.min(cap)));
        }
        Ok(bytes)
    }

    /// What all lives of a site counted in a generation, and the bytes of it.
    fn read_all_of(&mut self, site: &SiteKey, generation: u64) -> Result<(Copied, u64), JournalError> {
        let (mut sum, mut bytes) = (cells::nothing(&self.journal, generation)?, 0);
        let mut unreadable = Vec::new();
        let Some(roster) = self.papers.roster.as_ref() else { return Ok((sum, bytes)) };
        let of_site =
            self.following.iter().filter(|(id, one)| id.site == *site && is_counted(id, one, generation));
        for (id, following) in of_site {
            bytes += following.position.base_bytes + following.position.log_bytes;
            let at = (generation, &following.position);
            match cells::read(&self.journal, roster, (following.slot, id), at) {
                // All cells of a generation are of one kind.
                Ok((counts, _)) => drop(sum.merge(&counts)),
                Err(error) => unreadable.push((*id, error)),
            }
        }
        for (id, error) in unreadable {
            self.mismatched(&id, &format!("the copy here cannot be read: {error}"))?;
        }
        Ok((sum, bytes))
    }

    /// What increments of a peer's cells add to the fold: each cell counts up to the peer's cap.
    pub(crate) fn fold_changes(
        &mut self,
        id: &StreamId,
        generation: u64,
        increments: &[(u64, u64)],
    ) -> Result<Vec<(u64, u64)>, JournalError> {
        let cap = self.cap_of(&id.site);
        let making = self.folds.making_with(&id.site, generation).map(|fold| &*fold);
        let folded = |cell| match making {
            Some(fold) => fold.cells().get(cell),
            None => self.journal.others_cell(generation, cell),
        };
        // The fold has at least what this peer's cell has, up to the cap: below the cap nothing is cut off.
        if increments.iter().all(|&(cell, by)| folded(cell).saturating_add(by) <= cap) {
            return Ok(increments.to_vec());
        }
        if self.lives_in(id, generation) > 1 {
            // The cap is on the sum of its lives, and only one of them is in memory: the fold is made anew, soon.
            self.folds.due.entry(generation).or_insert(self.now + BEHIND_MILLIS);
            return Ok(Vec::new());
        }
        self.hold(id)?;
        let Some(held) = &self.held else { return Ok(Vec::new()) };
        let cells = held.follower.counts().cells();
        let change = |&(cell, by): &(u64, u64)| {
            let old = cells.get(cell);
            let new = old.saturating_add(by).min(cells.cap());
            (cell, new.min(cap) - old.min(cap))
        };
        Ok(increments.iter().map(change).filter(|(_, by)| *by > 0).collect())
    }

    /// Raises the fold, and the one that is being made if it has the site already.
    pub(crate) fn raise_fold(&mut self, site: &SiteKey, generation: u64, changes: &[(u64, u64)]) {
        self.journal.raise_others(generation, changes);
        if let Some(fold) = self.folds.making_with(site, generation) {
            changes.iter().for_each(|&(cell, by)| fold.raise_cell(cell, by));
        }
    }

    /// Puts other cells in the place of a copy, and brings the fold along: by what they have more, or by making it anew.
    pub(crate) fn replace_copy(
        &mut self,
        id: &StreamId,
        generation: u64,
        (counts, sequence): (&Copied, u64),
        head: Option<Vec<u8>>,
    ) -> Result<(), JournalError> {
        let changes = self.changes_of(id, generation, counts)?;
        self.put_base(id, generation, counts, sequence, head)?;
        match changes {
            Some(changes) => self.raise_fold(&id.site, generation, &changes),
            None => self.fold_anew(generation),
        }
        Ok(())
    }

    /// What new cells of a stream add to the fold; `None` where that cannot be told from the copy that is there.
    fn changes_of(
        &self,
        id: &StreamId,
        generation: u64,
        counts: &Copied,
    ) -> Result<Option<Vec<(u64, u64)>>, JournalError> {
        let (Some(following), Some(roster)) = (self.following.get(id), self.papers.roster.as_ref()) else {
            return Ok(None);
        };
        let cap = self.cap_of(&id.site);
        // A sum of lives is not cut off where there is no cap.
        let is_alone = cap == u64::MAX || self.lives_in(id, generation) == 1;
        if following.mismatch.is_some() || !is_alone {
            return Ok(None);
        }
        let at = (generation, &following.position);
        let Ok((old, _)) = cells::read(&self.journal, roster, (following.slot, id), at) else {
            return Ok(None);
        };
        let (mut changes, mut fell) = (Vec::new(), false);
        counts.cells().for_each_change(old.cells(), |cell, old, new| {
            fell |= new < old;
            let by = new.min(cap).saturating_sub(old.min(cap));
            changes.extend((by > 0).then_some((cell, by)));
        });
        Ok((!fell).then_some(changes))
    }

    /// Lives of a stream's site that counted in a generation.
    fn lives_in(&self, id: &StreamId, generation: u64) -> usize {
        let of_site = self.following.iter().filter(|(other, _)| other.site == id.site && *other != id);
        of_site.filter(|(other, one)| is_counted(other, one, generation)).count() + 1
    }

    /// What one cell of a site counts for at most. What we counted ourselves, in an earlier life, counts in full.
    fn cap_of(&self, site: &SiteKey) -> u64 {
        if *site == self.key { u64::MAX } else { self.papers.seen_cap(site) }
    }
}

/// Whether something was counted in a generation.
fn is_counted(id: &StreamId, following: &Following, generation: u64) -> bool {
    id.stream == (Stream::Seen { generation }) && following.position.applied > 0
}

#[cfg(test)]
mod tests {
    use seenit_filter::random::SplitMix;

    use super::*;
    use crate::unit::{CAP, Double, GENERATION, NOW, gain, link};

    /// The fold, after each gain of two peers, is the sum of their cells, each up to its cap: whether it was raised
    /// by its own bound or by looking at the copy.
    #[test]
    fn the_fold_is_the_sum_of_cells_up_to_their_caps_after_every_gain() {
        let (mut link, cells, mut rng) = (link(), 20, SplitMix(17));
        let mut random = |below: u64| rng.next() % below;
        let mut peers = [2, 3].map(|seed| (seed, link.journal.empty(GENERATION).expect("terms"), 0));
        for _ in 0..60 {
            let (seed, counts, sequence) = &mut peers[random(2) as usize];
            let mut grown = link.journal.empty(GENERATION).expect("terms");
            grown.merge(counts).expect("of one kind");
            // Mostly a few; at times just up to the cap, or far beyond it.
            for _ in 0..1 + random(3) {
                let by = [1, 2, CAP, 1000][random(20).saturating_sub(16) as usize];
                grown.raise_cell(random(cells), by);
            }
            *sequence += 1;
            link.hear(NOW, &gain(*seed, counts, &grown, *sequence), None);
            *counts = grown;
            assert_eq!(link.journal.fold_cells(GENERATION), sum(&link, &peers));
            assert!(link.following.values().all(|one| one.mismatch.is_none()));
        }
        let anew = link.journal.fold_cells(GENERATION);
        link.fold_all_anew();
        link.make_folds(u64::MAX).expect("the journal works");
        assert_eq!(link.journal.fold_cells(GENERATION), anew, "made anew it is the same");
    }

    /// A fold that is made one site at a time, while all of them go on counting, is the sum as well.
    #[test]
    fn a_fold_that_is_made_while_others_count_is_the_sum() {
        let (mut link, mut random) = (link(), SplitMix(5));
        let mut peers = [2, 3].map(|seed| (seed, link.journal.empty(GENERATION).expect("terms"), 0));
        for _ in 0..300 {
            let (seed, counts, sequence) = &mut peers[random.next() as usize % 2];
            let mut grown = link.journal.empty(GENERATION).expect("terms");
            grown.merge(counts).expect("of one kind");
            let by = [1, 2, CAP, 1000][(random.next() % 20).saturating_sub(16) as usize];
            grown.raise_cell(random.next() % 20, by);
            *sequence += 1;
            link.hear(NOW, &gain(*seed, counts, &grown, *sequence), None);
            *counts = grown;
            match random.next() % 10 {
                // As after a start: there is nothing in memory.
                0 => {
                    link.journal.put_others(GENERATION, None);
                    link.fold_all_anew();
                }
                1..7 => link.make_folds(1).expect("the journal works"),
                _ => {}
            }
            if link.folds.making.is_none() && link.folds.due.is_empty() {
                assert_eq!(link.journal.fold_cells(GENERATION), sum(&link, &peers));
            }
        }
        link.make_folds(u64::MAX).expect("the journal works");
        assert_eq!(link.journal.fold_cells(GENERATION), sum(&link, &peers));
    }

    type Counting = (u8, Counts, u64);

    fn sum(link: &Link<Double>, peers: &[Counting]) -> Vec<(u64, u64)> {
        let cells = link.journal.empty(GENERATION).expect("terms").cells().len();
        let of = |cell| peers.iter().map(|(_, counts, _)| counts.cells().get(cell).min(CAP)).sum::<u64>();
        (0..cells).map(|cell| (cell, of(cell))).filter(|(_, sum)| *sum > 0).collect()
    }
}
