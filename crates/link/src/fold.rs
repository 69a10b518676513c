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

/// How long a fold is left behind because of a site with several lives beyond its cap: at least so long, and a second
/// for so many bytes of copies that it is made of.
const BEHIND_MILLIS: u64 = 2_000;
const BEHIND_BYTES_A_SECOND: u64 = 1 << 20;

/// A fold that takes longer to be made is told of.
const LONG_MILLIS: u64 = 30_000;

/// How many bytes of copies are read for folds at once; of one site at least.
#[derive(Clone, Copy, Debug)]
pub struct FoldPace {
    /// Before a site answers. With fewer there is no time in which it counts too little.
    pub start_bytes: u64,
    /// In one tick.
    pub tick_bytes: u64,
}

impl Default for FoldPace {
    fn default() -> Self {
        FoldPace { start_bytes: 256 << 20, tick_bytes: 4 << 20 }
    }
}

/// The folds that are to be made.
pub(crate) struct Folds {
    pub(crate) pace: FoldPace,
    /// Generations, and not before which time.
    due: BTreeMap<u64, u64>,
    making: Option<Making>,
    /// Bytes of the last one that was made.
    bytes: u64,
    /// Own cells of earlier lives, by generation and life, that the ledger counts until a fold has them.
    frozen: BTreeSet<(u64, u64)>,
}

/// One that is being made.
struct Making {
    generation: u64,
    /// `None` while it has nobody.
    fold: Option<Counts>,
    /// The sites that it has, and the bytes of their copies.
    done: BTreeSet<SiteKey>,
    bytes: u64,
    begun_at: u64,
}

impl Folds {
    pub(crate) fn new(pace: FoldPace) -> Self {
        Folds { pace, due: BTreeMap::new(), making: None, bytes: 0, frozen: BTreeSet::new() }
    }

    /// How long a fold is left behind.
    fn patience(&self) -> u64 {
        BEHIND_MILLIS.max(self.bytes * 1000 / BEHIND_BYTES_A_SECOND)
    }

    /// The fold that is being made, if it has a site already.
    fn making_with(&mut self, site: &SiteKey, generation: u64) -> Option<&mut Counts> {
        let making = self.making.as_mut()?;
        let is_there = making.generation == generation && making.done.contains(site);
        making.fold.as_mut().filter(|_| is_there)
    }

    /// What a site does not count yet, in words, if that takes long.
    pub(crate) fn alarm(&self, now: u64) -> Option<String> {
        let making = self.making.as_ref().filter(|one| now.saturating_sub(one.begun_at) >= LONG_MILLIS)?;
        let (generation, sites) = (making.generation, making.done.len());
        Some(format!(
            "what others saw in generation {generation} is still being added up, sites so far: {sites}"
        ))
    }

    /// Old generations need none.
    pub(crate) fn forget_before(&mut self, oldest: u64) {
        self.due.retain(|generation, _| *generation >= oldest);
        self.frozen.retain(|(generation, _)| *generation >= oldest);
        self.making.take_if(|making| making.generation < oldest);
    }
}

impl<J: Journal> Link<J> {
    /// All folds are made anew.
    pub(crate) fn fold_all_anew(&mut self) {
        (self.journal.oldest()..=self.journal.now()).for_each(|generation| self.fold_anew(generation));
    }

    /// The fold of a generation is made anew: nothing of what was made is right any more.
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
                let (done, begun_at) = (BTreeSet::new(), self.now);
                self.folds.making = Some(Making { generation, fold: None, done, bytes: 0, begun_at });
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
            self.put_fold(generation);
            return Ok(0);
        };
        let (sum, bytes) = self.read_all_of(&site, generation)?;
        let cap = self.cap_of(&site);
        let Some(making) = &mut self.folds.making else { return Ok(bytes) };
        let fold = match &mut making.fold {
            Some(fold) => fold,
            none => none.insert(self.journal.empty(generation)?),
        };
        sum.cells().for_each_nonzero(|cell, value| fold.raise_cell(cell, value.min(cap)));
        making.done.insert(site);
        making.bytes += bytes;
        Ok(bytes)
    }

    /// Ends the making of a fold.
    fn put_fold(&mut self, generation: u64) {
        let Some(made) = self.folds.making.take() else { return };
        self.folds.bytes = made.bytes;
        if let Err(error) = self.journal.put_others(generation, made.fold) {
            return self.fold_later(generation, &error);
        }
        for (frozen, life) in self.folds.frozen.extract_if((generation, 0)..=(generation, u64::MAX), |_| true)
        {
            self.journal.drop_frozen(life, frozen);
        }
    }

    /// Own cells of an earlier life are in a copy: once the fold has that, the ledger counts them no longer.
    pub(crate) fn drop_when_folded(&mut self, incarnation: u64, generation: u64) {
        self.folds.frozen.insert((generation, incarnation));
        self.fold_anew(generation);
    }

    /// There was no memory for a fold, perhaps.
    fn fold_later(&mut self, generation: u64, why: &JournalError) {
        let later = self.now + self.folds.patience();
        if self.folds.due.insert(generation, later).is_none() {
            self.warn(format!("what others saw in generation {generation} cannot be counted now: {why}"));
        }
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
                Ok(counts) => drop(sum.merge(&counts)),
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
        increments: Vec<(u64, u64)>,
    ) -> Result<Vec<(u64, u64)>, JournalError> {
        let cap = self.cap_of(&id.site);
        let making = self.folds.making_with(&id.site, generation).map(|fold| &*fold);
        let folded = |cell| match making {
            Some(fold) => fold.cells().get(cell),
            None => self.journal.others_cell(generation, cell),
        };
        // The fold has at least what this peer's cell has, up to the cap: below the cap nothing is cut off.
        let is_below = |(cell, by): &(u64, u64)| folded(*cell).saturating_add(*by) <= cap;
        let (mut changes, beyond): (Vec<_>, Vec<_>) = increments.into_iter().partition(is_below);
        if beyond.is_empty() {
            return Ok(changes);
        }
        if self.lives_in(id, generation) > 1 {
            // The cap is on the sum of its lives, and only one of them is in memory: the fold is made anew, soon.
            let later = self.now + self.folds.patience();
            self.folds.due.entry(generation).or_insert(later);
            return Ok(changes);
        }
        self.hold(id)?;
        let Some(held) = self.held.as_ref().filter(|held| held.id == *id) else { return Ok(changes) };
        let cells = held.follower.counts().cells();
        let change = |&(cell, by): &(u64, u64)| {
            let old = cells.get(cell);
            let new = old.saturating_add(by).min(cells.cap());
            (cell, new.min(cap) - old.min(cap))
        };
        changes.extend(beyond.iter().map(change).filter(|(_, by)| *by > 0));
        Ok(changes)
    }

    /// Raises the fold, and the one that is being made if it has the site already.
    pub(crate) fn raise_fold(&mut self, site: &SiteKey, generation: u64, changes: &[(u64, u64)]) {
        if let Err(error) = self.journal.raise_others(generation, changes) {
            self.fold_later(generation, &error);
        }
        if let Some(fold) = self.folds.making_with(site, generation) {
            changes.iter().for_each(|&(cell, by)| fold.raise_cell(cell, by));
        }
    }

    /// Puts other cells in the place of a copy, and brings the fold along: by what they have more, or by making it
    /// anew.
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
            // One that is being made goes on: else a copy that is wrong again and again would keep others from being
            // counted.
            None => drop(self.folds.due.insert(generation, self.now)),
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
        let Ok(old) = cells::read(&self.journal, roster, (following.slot, id), at) else {
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
    use crate::journal::Batch;
    use crate::rows;
    use crate::unit::{CAP, Double, GENERATION, LIFE, NOW, SEEN, gain, gain_in, id, link};

    /// The fold, after each gain of two peers, is the sum of their cells, each up to its cap: whether it was raised
    /// by its own bound or by looking at the copy.
    #[test]
    fn the_fold_is_the_sum_of_cells_up_to_their_caps_after_every_gain() {
        let (mut link, cells, mut rng) = (link(), 20, SplitMix(17));
        let mut random = |below: u64| rng.next() % below;
        let mut peers = [2, 3].map(|seed| ((seed, LIFE), link.journal.empty(GENERATION).expect("terms"), 0));
        for _ in 0..60 {
            let ((seed, _), counts, sequence) = &mut peers[random(2) as usize];
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

    /// A fold that is made one site at a time, while all of them go on counting and one has two lives, is the sum.
    #[test]
    fn a_fold_that_is_made_while_others_count_is_the_sum() {
        let (mut link, mut random) = (link(), SplitMix(5));
        let lives = [(2, LIFE), (2, LIFE + 1), (3, LIFE)];
        let mut counted = lives.map(|life| (life, link.journal.empty(GENERATION).expect("terms"), 0));
        let mut compared = 0;
        for _ in 0..600 {
            let ((seed, life), counts, sequence) = &mut counted[random.next() as usize % 3];
            let mut grown = link.journal.empty(GENERATION).expect("terms");
            grown.merge(counts).expect("of one kind");
            let by = [1, 2, CAP, 1000][(random.next() % 20).saturating_sub(16) as usize];
            grown.raise_cell(random.next() % 60, by);
            *sequence += 1;
            link.hear(NOW, &gain_in(*life, *seed, (counts, &grown), *sequence), None);
            *counts = grown;
            match random.next() % 10 {
                // As after a start: there is nothing in memory.
                0 => {
                    link.journal.put_others(GENERATION, None).expect("it can");
                    link.fold_all_anew();
                }
                1..8 => link.make_folds(1).expect("the journal works"),
                _ => link.now += BEHIND_MILLIS / 2,
            }
            if link.folds.making.is_none() && link.folds.due.is_empty() {
                assert_eq!(link.journal.fold_cells(GENERATION), sum(&link, &counted));
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
        link.fold_all_anew();
        link.make_folds(1).expect("the journal works");
        assert!(link.status(link.now).alarms.is_empty());
        let alarm =
            format!("what others saw in generation {GENERATION} is still being added up, sites so far: 1");
        assert!(link.status(link.now + LONG_MILLIS).alarms.contains(&alarm));
        link.now += 10 * BEHIND_MILLIS;
        link.make_folds(u64::MAX).expect("the journal works");
        assert_eq!(link.journal.fold_cells(GENERATION), sum(&link, &counted));
    }

    /// What a life of a site counted, in how many gains.
    type Counted = ((u8, u64), Counts, u64);

    fn sum(link: &Link<Double>, counted: &[Counted]) -> Vec<(u64, u64)> {
        let of_site = |seed, cell| -> u64 {
            let lives = counted.iter().filter(|((of, _), ..)| *of == seed);
            lives.map(|(_, counts, _)| counts.cells().get(cell)).sum()
        };
        let cells = 0..link.journal.empty(GENERATION).expect("terms").cells().len();
        let sums = cells.map(|cell| (cell, [2, 3].map(|seed| of_site(seed, cell).min(CAP)).iter().sum()));
        sums.filter(|(_, sum)| *sum > 0).collect()
    }

    /// A copy of which a row is gone or rotten is repaired, and nobody else suffers from it.
    #[test]
    fn a_copy_that_cannot_be_read_is_mended_and_the_rest_goes_on() {
        for (sequence, rot) in [(2, Some(b"rotten".to_vec())), (3, None)] {
            let mut link = link();
            let mut counted = [2, 3].map(|seed| (seed, link.journal.empty(GENERATION).expect("terms")));
            for number in 1..=3 {
                for (seed, counts) in &mut counted {
                    let mut grown = link.journal.empty(GENERATION).expect("terms");
                    grown.merge(counts).expect("of one kind");
                    grown.raise_cell(number, 1);
                    link.hear(NOW, &gain(*seed, counts, &grown, number), None);
                    *counts = grown;
                }
            }
            let [bad, good] = [2, 3].map(|seed| id(seed, SEEN));
            let row = rows::message(&rows::stream(link.following[&bad].slot, &bad), sequence, 0);
            link.journal.commit(Batch { rows: vec![(row, rot)], heard: Vec::new() }).expect("it can");
            link.fold_all_anew();
            (0..10).for_each(|tick| drop(link.tick(NOW + 2_000 * tick)));
            assert!(link.following[&bad].mismatch.is_some() && link.trouble.is_none());
            assert_eq!(link.following[&good].position.verified, 3);
            let of_good = counted[1].1.cells().len();
            let of_good = (0..of_good).map(|cell| (cell, counted[1].1.cells().get(cell)));
            let of_good: Vec<_> = of_good.filter(|(_, value)| *value > 0).collect();
            assert_eq!(link.journal.fold_cells(GENERATION), of_good);
        }
    }
}
