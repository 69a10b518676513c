//! Room in the tally: where it is full, the oldest generations are forgotten before they expire.
//!
//! Room is made before writes are staged: what a write changes is worked out from what counts then. What was forgotten
//! stays in the journal until it expires, and counts again when tallies of a larger capacity are made.

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use seenit_filter::hash::Hash128;
use seenit_link::store::{HeardItems, LinkBatch};
use seenit_sites::message::Stream;

use super::{Job, Writer};
use crate::age::low_water;
use crate::error::WriteError;
use crate::follow;
use crate::journal::horizon::{MoveTo, NextNumbers};
use crate::journal::{Journal, JournalError};
use crate::record::{Record, Verb};
use crate::share::{self, Share};
use crate::shared::Shared;
use crate::signature::Case;
use crate::writer_progress::WriterStep;

/// The least bytes of a signature in a record: its number, a length, and the shortest digest.
const SIGNATURE_BYTES_MIN: usize = 11;

/// The share of the tally that one commit may make the ledger forget, generations being forgotten whole: more than that
/// is no report of mail, and the rest of it is refused.
const FORGET_PERCENT_MAX: u64 = 50;

impl Writer {
    /// Forgets the oldest generations where the tally has no room for what these jobs add.
    pub(super) fn make_room(
        &mut self,
        shared: &Shared,
        journal: &Journal,
        jobs: &[Job],
    ) -> Result<(), JournalError> {
        let table = &shared.memory.table;
        let capacity = table.capacity();
        let room = table.capacity().saturating_sub(table.len());
        if jobs.iter().map(signatures_at_most).sum::<u64>() <= room {
            return Ok(());
        }
        let wanted = self.wanted(shared, journal, jobs);
        if wanted <= room {
            return Ok(());
        }
        let goal = low_water(capacity).min(capacity.saturating_sub(wanted));
        self.forget_oldest(shared, journal, goal.max(capacity * FORGET_PERCENT_MAX / 100))
    }

    /// Forgets generations, oldest first, until the tally holds no more than `goal`, or has but the present generation
    /// and what does not age.
    fn forget_oldest(&mut self, shared: &Shared, journal: &Journal, goal: u64) -> Result<(), JournalError> {
        shared.begin(WriterStep::Forget);
        let table = &shared.memory.table;
        let now = self.calendar.generation();
        let held = table.len();
        let before = self.horizon.before;
        for generation in journal.generations() {
            if table.len() <= goal || generation >= now {
                break;
            }
            if generation >= self.horizon.before {
                self.move_horizon(shared, journal, generation + 1, true)?;
            }
        }
        assert!(
            self.horizon.before <= now.max(before),
            "the present generation and protections are never forgotten"
        );
        self.note_room();
        shared.begin(WriterStep::Commit);
        if self.horizon.before > before {
            let kept = now + 1 - self.horizon.before;
            let signatures = held.saturating_sub(table.len());
            let capacity = table.capacity();
            tracing::warn!(
                kept_generations = kept,
                forgotten_signatures = signatures,
                capacity,
                "the tally is full, so the oldest records are forgotten early: raise `capacity`, run `seenit rebuild`"
            );
        }
        Ok(())
    }

    /// Takes all generations before another one out of the tallies; that they are is durable before. `is_early` where
    /// they have not expired.
    pub(super) fn move_horizon(
        &mut self,
        shared: &Shared,
        journal: &Journal,
        before: u64,
        is_early: bool,
    ) -> Result<(), JournalError> {
        let known = self.heads.iter().map(|head| head.as_ref().map_or(0, |head| head.horizon)).min();
        let next = NextNumbers { own: self.next, heard: self.next_heard };
        let to = MoveTo { before, capacity: shared.config.capacity, is_early };
        let moved = self.horizon.moved(to, next, known.unwrap_or(0));
        let mut batch = journal.batch();
        batch.horizon(&moved)?;
        // Their share is free again from then on, so they must not outlast it.
        batch.forget_weightless(before)?;
        batch.commit()?;
        let hidden_before = self.horizon.before;
        // From now on a restart hides them.
        self.horizon = moved;
        self.shares.forget_before(before);
        shared.memory.forget_weightless(before);
        self.is_snapshot_due = true;
        for generation in journal.generations() {
            if (hidden_before..before).contains(&generation) {
                follow::hide(&shared.memory, journal, generation).inspect_err(|_| self.is_unsure = true)?;
            }
        }
        journal.hide_before(before);
        shared.hidden_before.store(before, Relaxed);
        shared.is_kept_short.store(is_early, Relaxed);
        Ok(())
    }

    /// New signatures of those jobs that will not be refused for the share of whom they come from: what is refused
    /// makes nobody forget.
    fn wanted(&self, shared: &Shared, journal: &Journal, jobs: &[Job]) -> u64 {
        let mut fresh = HashSet::new();
        let mut asked = HashMap::new();
        let known = shared.reporters.read().unwrap_or_else(PoisonError::into_inner);
        let (mut of_others, most_of_others) =
            (self.added_by_others(&known), share::of_others(&shared.config));
        for job in jobs {
            match job {
                Job::Write(write, _) if write.verb.adds() => {
                    let Some(reporter) = known.get(&write.reporter) else {
                        continue;
                    };
                    if !share::takes_room(write.verb, reporter.id, reporter.weight) {
                        continue;
                    }
                    let holder = reporter.id;
                    let new: HashSet<Hash128> =
                        write.cases.iter().flat_map(|case| new_keys(shared, case)).collect();
                    let share = (holder, Share::Signatures);
                    let asked =
                        asked.entry(holder).or_insert_with(|| self.shares.added(self.horizon.before, share));
                    let more = new.len() as u64;
                    let is_vouched = share::is_vouched(reporter);
                    let is_within = *asked + more <= share::most(&shared.config, reporter);
                    if is_within && (is_vouched || of_others + more <= most_of_others) {
                        *asked += more;
                        of_others += if is_vouched { 0 } else { more };
                        fresh.extend(new);
                    }
                }
                Job::Link(batch, _) => self.add_heard(shared, journal, batch, &mut fresh),
                _ => {}
            }
        }
        fresh.len() as u64
    }

    /// Adds the new signatures of what was heard. What is as old as the oldest that is kept makes nobody forget.
    fn add_heard(&self, shared: &Shared, journal: &Journal, batch: &LinkBatch, fresh: &mut HashSet<Hash128>) {
        let config = &shared.config;
        let now = self.calendar.generation();
        let oldest = journal.live().into_iter().min().unwrap_or(0);
        for heard in records_of(batch) {
            let slot = heard.stream.slot.0;
            let most = share::of_peer(config, config.capacity);
            let added = self.peer_shares.added(now, (slot, Share::Signatures));
            let before = fresh.len() as u64;
            for record in heard.items.iter().filter_map(|bytes| Record::heard(bytes, slot).ok()) {
                let is_new = record.time / config.generation_secs > oldest;
                let counts = is_new && record.verb.adds() && record.verb != Verb::Promote;
                if counts && added + fresh.len() as u64 - before < most {
                    fresh.extend(new_keys(shared, &record.case));
                }
            }
        }
    }

    /// Notes that a report found no room, and says so once.
    pub(super) fn note_full(&self, error: &WriteError) {
        let mut state = self.shared.state();
        if state.full.replace(error.clone()).is_none() {
            tracing::error!("reports are refused: {error}");
        }
    }

    /// Notes that there is room again.
    pub(super) fn note_room(&self) {
        let table = &self.shared.memory.table;
        if table.len() <= low_water(table.capacity()) && self.shared.state().full.take().is_some() {
            tracing::info!("reports are taken again");
        }
    }
}

/// What is heard of records.
fn records_of(batch: &LinkBatch) -> impl Iterator<Item = &HeardItems> {
    batch.heard.iter().filter(|heard| heard.stream.stream == Stream::Records)
}

/// The signatures of a case that the tally does not hold.
fn new_keys(shared: &Shared, case: &Case) -> impl Iterator<Item = Hash128> {
    let memory = &shared.memory;
    let keys = memory.keys_of(case).into_iter().filter(|key| !key.is_shingle() && !memory.is_known(*key));
    keys.map(|key| key.hash)
}

/// The most signatures that a job could add.
fn signatures_at_most(job: &Job) -> u64 {
    match job {
        Job::Write(write, _) if write.verb.adds() => write.cases.iter().map(|case| case.len() as u64).sum(),
        Job::Link(batch, _) => {
            let records = records_of(batch).flat_map(|heard| &heard.items);
            records.map(|record| (record.len() / SIGNATURE_BYTES_MIN) as u64).sum()
        }
        _ => 0,
    }
}
