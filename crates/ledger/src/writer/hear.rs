//! The writer's part for peers: it takes in what was heard from them, and changes who they are.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::{Problem, Writer};
use crate::error::WriteError;
use crate::journal::heard::{Body, Origin, Uncounted};
use crate::journal::{Journal, JournalError};
use crate::peers::change::follow;
use crate::peers::table::Peers;
use crate::peers::{Batch, KEY_BYTES_MAX, Peer};
use crate::record::{Record, Verb};
use crate::share::{self, Share};
use crate::signature::Case;
use crate::stage::Stage;

impl Writer {
    /// Stages what was heard and what the link keeps of it. Nothing is staged where it is refused.
    pub(super) fn hear(&mut self, stage: &mut Stage<'_>, batch: &Batch) -> Result<(), Problem> {
        let peers = stage.journal.peers();
        if let Some(heard) = batch.heard.iter().find(|heard| peers.get(heard.slot).is_none()) {
            return Err(WriteError::Link(format!("there is no peer in slot {}", heard.slot)).into());
        }
        if let Some((key, _)) = batch.rows.iter().find(|(key, _)| !(1..=KEY_BYTES_MAX).contains(&key.len())) {
            return Err(WriteError::Link(format!("a key of the link has {} bytes", key.len())).into());
        }
        for heard in &batch.heard {
            for (bytes, sequence) in heard.records.iter().zip(heard.first..) {
                let origin = Origin { slot: heard.slot, incarnation: heard.incarnation, sequence };
                if let Some((generation, body)) = self.body(stage, heard.slot, bytes) {
                    stage.hear(generation, origin, body)?;
                }
            }
        }
        for (key, value) in &batch.rows {
            stage.batch.link(key, value.as_deref());
        }
        Ok(())
    }

    /// What becomes of a record, and its generation; none where that is too old to count.
    fn body(&mut self, stage: &Stage<'_>, slot: u16, bytes: &[u8]) -> Option<(u64, Body)> {
        let now = self.calendar.generation();
        let Ok(record) = Record::heard(bytes, slot).map(|record| self.usable(record)) else {
            return Some((now, self.uncounted(Uncounted::Unreadable, bytes)));
        };
        let said = (record.time / self.shared.config.generation_secs).min(now);
        if said < self.horizon.before {
            return None;
        }
        // What a forget subtracts is what is counted now.
        let generation = if record.verb == Verb::Forget { now } else { said };
        if record.case.is_empty() {
            return Some((generation, self.uncounted(Uncounted::Unreadable, bytes)));
        }
        match self.room(stage, slot, generation, &record) {
            Ok(()) => Some((generation, Body::Counted(record))),
            Err(why) => Some((generation, self.uncounted(why, bytes))),
        }
    }

    /// A record without what cannot be counted: digests of nothing, and shingles where a mark is set.
    fn usable(&self, record: Record) -> Record {
        let mut case = self.shared.usable(Cow::Owned(record.case)).into_owned();
        if matches!(record.verb, Verb::Promote | Verb::Many | Verb::Forget) {
            let mut marked = Case::new();
            for signature in case.iter().filter(|signature| !signature.kind().is_near()) {
                // It was in a case: it fits into one.
                let _ = marked.add(signature);
            }
            case = marked;
        }
        Record { case, ..record }
    }

    fn uncounted(&self, why: Uncounted, bytes: &[u8]) -> Body {
        self.shared.state().uncounted.note(self.calendar.generation(), why);
        Body::Uncounted(why, bytes.to_vec())
    }

    /// Whether memory has room for a record, and its peer a share of that; what it adds is noted.
    fn room(
        &mut self,
        stage: &Stage<'_>,
        slot: u16,
        generation: u64,
        record: &Record,
    ) -> Result<(), Uncounted> {
        let (shared, config) = (&self.shared, &self.shared.config);
        let (gain, now) = (stage.gain(generation, record), self.calendar.generation());
        let table = &shared.memory.table;
        let is_full = |held: u64, more: u64, capacity: u64| more > 0 && held + more > capacity;
        if is_full(table.len() + stage.added(), gain.signatures, table.capacity())
            || is_full(shared.promoted.load(Relaxed) + stage.promoted(), gain.bulk, config.bulk_capacity)
        {
            return Err(Uncounted::Full);
        }
        let gains = [
            (Share::Signatures, gain.signatures, config.capacity),
            (Share::Texts, gain.texts, config.near_capacity),
            (Share::Bulk, gain.bulk, config.bulk_capacity),
        ];
        let is_beyond = |(what, more, capacity): &(Share, u64, u64)| {
            let added = self.peer_shares.added(now, (slot, *what));
            *more > 0 && added + more > share::of_peer(config, *capacity)
        };
        if gains.iter().any(is_beyond) {
            return Err(Uncounted::Share);
        }
        for (what, more, _) in gains {
            self.peer_shares.add(now, (slot, what), more);
        }
        Ok(())
    }

    /// Counts by another table of peers.
    pub(super) fn set_peers(&mut self, peers: &[Peer]) -> Result<(), WriteError> {
        let shared = Arc::clone(&self.shared);
        let journal = self.writable(&shared)?;
        let old = journal.peers();
        let new = Arc::new(old.changed_to(peers)?);
        if new == old && new.leaving.is_empty() {
            return Ok(());
        }
        let mut batch = journal.batch();
        // With its last records the journal would forget how many there were.
        batch.number("heard", self.next_heard - 1);
        let stored = batch.peers(&new).and_then(|()| batch.commit());
        let followed = stored.and_then(|()| {
            self.peers = Arc::clone(&new);
            self.follow(&journal, (&old, &new)).inspect_err(|_| self.is_unsure = true)
        });
        followed.map_err(|error| {
            let error = WriteError::Journal(error.to_string());
            shared.state().refused = Some(error.clone());
            error
        })
    }

    /// Makes memory right by a table of peers that is journalled.
    pub(super) fn follow(
        &self,
        journal: &Journal,
        tables: (&Peers, &Arc<Peers>),
    ) -> Result<(), JournalError> {
        let (shared, now) = (&self.shared, self.calendar.generation());
        let threshold = shared.config.bulk_threshold;
        follow(&shared.memory, journal, tables, (now, threshold))?;
        self.count_bulk(journal)
    }
}
