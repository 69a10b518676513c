//! The next generation begins: what has expired is hidden, and what was hidden a generation ago is deleted.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use seenit_link::rows;
use seenit_sites::message::Stream;
use seenit_sites::number;

use super::Writer;
use crate::identity::IncarnationSpan;
use crate::journal::horizon::{MoveTo, NextNumbers};
use crate::journal::{Journal, JournalError};
use crate::memory::BULK_GENERATIONS;
use crate::migrate;
use crate::open::BulkMarks;
use crate::own_chain::OwnChain;
use crate::own_log;
use crate::shared::Shared;

/// The mark in `meta` that says: tallies are to be made anew at the next start.
pub(crate) const TALLIES_ANEW: &str = "tallies_anew";

impl Writer {
    /// Believes the machine's clock. Where that is behind, what a wrong time hid is to count again: tallies cannot be
    /// made anew while answers are made from them, so that takes a restart.
    pub(super) fn confirm_clock(&mut self) {
        let shared = Arc::clone(&self.shared);
        let before = self.calendar.generation();
        self.calendar.confirm(&*shared.clock);
        let now = self.calendar.generation();
        if now >= before {
            return;
        }
        let first = (now + 1).saturating_sub(shared.config.record_generations);
        let Ok(journal) = self.writable(&shared) else { return };
        let mut batch = journal.batch();
        batch.number("high", self.calendar.secs());
        if first < self.horizon.before && !self.horizon.is_early {
            let next = NextNumbers { own: self.next, heard: self.next_heard };
            let to = MoveTo { before: first, capacity: shared.config.capacity, is_early: false };
            let moved = batch.horizon(&self.horizon.moved(to, next, 0));
            moved.unwrap_or_else(|error| tracing::error!("the horizon cannot be moved back: {error}"));
            batch.number(TALLIES_ANEW, 1);
            // A snapshot of memory would say that what is hidden is gone.
            self.is_unsure = true;
            shared.state().restart = Some(
                "the clock was set back: restart the server, so that records count again that a wrong time had hidden"
                    .into(),
            );
        }
        match batch.commit() {
            Ok(()) => self.kept_secs = self.calendar.secs(),
            Err(error) => shared.state().refused = Some(error.into()),
        }
    }

    /// Goes on to the present generation. Where the journal fails on the way, the next tick does it again: each step
    /// changes nothing the second time, and the generation counts as begun only after the last of them.
    pub(super) fn turn(&mut self, shared: &Shared, journal: &Journal) -> Result<(), JournalError> {
        let now = self.calendar.generation();
        if shared.generation() == now && shared.memory.seen.is_live(now) {
            return Ok(());
        }
        journal.ensure(now)?;
        shared.memory.seen.advance(now)?;
        shared.memory.clear_bulk(shared.generation(), now);
        self.peer_shares.forget_before(now);
        self.hide_old(shared, journal, now)?;
        self.drop_old(shared, journal, now)?;
        self.count_bulk(journal)?;
        let oldest = (now + 1).saturating_sub(shared.config.seen_generations);
        own_log::forget_before(journal, &mut shared.own_logs(), oldest)?;
        migrate::forget_before(&shared.folder, oldest);
        shared.first_kept.store(journal.first_number()?.unwrap_or(self.next), Relaxed);
        shared.generation.store(now, Relaxed);
        // From now on the generation before can be forgotten.
        shared.state().full = None;
        Ok(())
    }

    /// Counts all bulk marks anew, where some may have gone.
    pub(super) fn count_bulk(&self, journal: &Journal) -> Result<(), JournalError> {
        let now = self.calendar.generation();
        let threshold = self.shared.config.bulk_threshold;
        let marks = BulkMarks::count(journal, now, threshold)?;
        self.shared.promoted.store(marks.today, Relaxed);
        self.shared.bulk.store(marks.all, Relaxed);
        Ok(())
    }

    /// Takes generations that are too old out of the tallies.
    fn hide_old(&mut self, shared: &Shared, journal: &Journal, now: u64) -> Result<(), JournalError> {
        let first = (now + 1).saturating_sub(shared.config.record_generations);
        if first > self.horizon.before { self.move_horizon(shared, journal, first, false) } else { Ok(()) }
    }

    /// Keeps the values of own chains after the last records of a generation that is about to go: without them nobody
    /// could tell what the records after them follow.
    fn keep_chain(&self, shared: &Shared, journal: &Journal, generation: u64) -> Result<(), JournalError> {
        let Some((first, last)) = journal.numbers_of(generation)? else {
            return Ok(());
        };
        let spans: Vec<IncarnationSpan> = {
            let identity = shared.identity();
            let network = identity.incarnation().network;
            let is_in =
                |span: &&IncarnationSpan| span.first <= last && span.last.is_none_or(|end| end >= first);
            let published = identity.incarnations().iter().filter(|span| span.network == network);
            published.filter(|span| span.network.is_some()).filter(is_in).cloned().collect()
        };
        let mut batch = journal.batch();
        for span in spans {
            let incarnation = number::Incarnation(span.id);
            let end = span.last.unwrap_or(last).min(last);
            let sequence = end + 1 - span.first;
            let chain = OwnChain::new(shared, incarnation, Stream::Records);
            if let Some(value) = chain.value_at(journal, sequence)? {
                let key = rows::checkpoint(incarnation, Stream::Records, number::Sequence(sequence));
                batch.link(&key, Some(&value.0));
            }
        }
        batch.commit()
    }

    /// Deletes generations a whole generation after they were hidden, once no snapshot knows them any more.
    fn drop_old(&self, shared: &Shared, journal: &Journal, now: u64) -> Result<(), JournalError> {
        let kept = now.saturating_sub(shared.config.record_generations);
        let known = self.heads.iter().flatten().map(|head| head.hidden_before).min().unwrap_or(0);
        let mut batch = journal.batch();
        // With its last generation the journal would forget how far it was.
        batch.number("last", self.next - 1);
        batch.number("heard", self.next_heard - 1);
        batch.commit()?;
        for generation in journal.generations() {
            if generation < kept.min(known) {
                self.keep_chain(shared, journal, generation)?;
                journal.drop_generation(generation)?;
            }
        }
        let mut batch = journal.batch();
        journal.each_share(|added| {
            if added.generation < kept {
                batch.remove_share(&added);
            }
        })?;
        journal.each_bulk(|generation, hash, slot| {
            if generation + BULK_GENERATIONS <= now {
                batch.remove_bulk(generation, hash, slot);
            }
        })?;
        batch.commit()
    }
}
