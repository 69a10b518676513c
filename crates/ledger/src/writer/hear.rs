//! The writer's part for peers: it takes in what was heard from them, and changes who they are.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use seenit_filter::sightings::{Sighting, decode};
use seenit_link::rows;
use seenit_link::store::{Base, Committed, HeardItems, HeldStream, LinkBatch, PeerSite};
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Sequence};

use super::{Problem, Reply, Writer};
use crate::error::WriteError;
use crate::held::{self, HeldBytes, base_row, sightings_of};
use crate::journal::heard::{HeardBody, Origin, Uncounted};
use crate::journal::{Journal, JournalError};
use crate::peers::change::{self, follow};
use crate::peers::table::{self, Peers};
use crate::record::{Record, Verb};
use crate::share::{self, Share};
use crate::shared::Shared;
use crate::signature::Case;
use crate::stage::Stage;

/// The longest key that the link keeps something under: what the store takes.
const KEY_BYTES_MAX: usize = 65_535;

/// What a batch does to memory once it is durable.
#[derive(Default)]
pub(super) struct HeardNow {
    pub(super) committed: Committed,
    /// Sightings by the stream they are of.
    sightings: Vec<(HeldStream, Vec<Sighting>)>,
    /// What is kept of streams of sightings since.
    held: Vec<(HeldStream, Option<HeldBytes>)>,
}

impl Writer {
    /// Stages what was heard and what the link keeps of it. Nothing is staged where it is refused.
    pub(super) fn hear(&mut self, stage: &mut Stage<'_>, batch: LinkBatch) -> Result<HeardNow, Problem> {
        let peers = stage.journal.peers();
        let is_known =
            |stream: &HeldStream| peers.own == Some(stream.slot.0) || peers.get(stream.slot.0).is_some();
        let streams = batch.heard.iter().map(|heard| heard.stream);
        let streams = streams.chain(batch.bases.iter().map(|base| base.stream));
        if let Some(stream) = streams.into_iter().find(|stream| !is_known(stream)) {
            return Err(WriteError::Link(format!("there is no peer in slot {}", stream.slot.0).into()).into());
        }
        if let Some((key, _)) = batch.rows.iter().find(|(key, _)| !(1..=KEY_BYTES_MAX).contains(&key.len())) {
            return Err(WriteError::Link(format!("a key of the link has {} bytes", key.len()).into()).into());
        }
        let mut now = HeardNow::default();
        for base in batch.bases {
            self.hear_base(stage, base, &mut now)?;
        }
        for heard in batch.heard {
            self.hear_items(stage, heard, peers.own, &mut now)?;
        }
        for stream in batch.forgotten {
            let end = Sequence(u64::MAX);
            remove_messages(stage, &stream, end)?;
            remove_base(stage, &stream)?;
            self.note_change(&stream);
            now.held.push((stream, None));
        }
        for (stream, sequence) in batch.expired {
            remove_messages(stage, &stream, sequence)?;
        }
        for (key, value) in &batch.rows {
            stage.batch.link(key, value.as_deref());
        }
        Ok(now)
    }

    fn hear_items(
        &mut self,
        stage: &mut Stage<'_>,
        heard: HeardItems,
        own: Option<u16>,
        now: &mut HeardNow,
    ) -> Result<(), Problem> {
        let HeardItems { stream, after, items, message } = heard;
        let last = Sequence(after.0 + items.len() as u64);
        if let Some(message) = &message {
            stage.batch.link(&rows::message(&stream, last), Some(message));
        }
        match stream.stream {
            Stream::Records => {
                let slot = Some(stream.slot.0).filter(|slot| own != Some(*slot));
                for (bytes, sequence) in items.iter().zip(after.0 + 1..) {
                    let incarnation = stream.incarnation.0;
                    let origin = Origin { slot: stream.slot.0, incarnation, sequence };
                    if let Some((generation, body)) = self.body(stage, slot, bytes) {
                        if matches!(body, HeardBody::Uncounted(..)) {
                            now.committed.uncounted.push((stream, Sequence(sequence)));
                        }
                        stage.hear(generation, origin, body)?;
                    }
                }
            }
            Stream::Sightings { .. } => {
                let Some(message) = message else {
                    let why = "sightings without the message that brought them cannot be kept";
                    return Err(WriteError::Link(why.into()).into());
                };
                now.sightings.extend(items.iter().map(|item| (stream, sightings_of(&stream, item))));
                let mut held = self.held_in(now, &stream);
                held.messages += message.len() as u64;
                now.held.push((stream, Some(held)));
            }
        }
        Ok(())
    }

    /// What is kept of a stream after what is staged so far.
    fn held_in(&self, now: &HeardNow, stream: &HeldStream) -> HeldBytes {
        match now.held.iter().rev().find(|(one, _)| one == stream) {
            Some((_, held)) => held.unwrap_or_default(),
            None => self.held.get(stream).copied().unwrap_or_default(),
        }
    }

    /// A base takes the place of what is held of its stream; what it says beyond that is counted.
    fn hear_base(&mut self, stage: &mut Stage<'_>, base: Base, now: &mut HeardNow) -> Result<(), Problem> {
        let Base { stream, sequence, blocks } = base;
        let is_held = self.held.contains_key(&stream);
        let mut known = match is_held {
            true => held::adding(&stage.journal.link_now(), &stream)?.1,
            false => crate::adding::AddingUp::default(),
        };
        let known = known.sightings().map_err(JournalError::from)?;
        let new = blocks.iter().flat_map(|block| decode(block).unwrap_or_default());
        now.sightings.push((stream, beyond(known, new)));
        remove_messages(stage, &stream, Sequence(u64::MAX))?;
        remove_base(stage, &stream)?;
        let mut held = HeldBytes::default();
        for (block, chunk) in blocks.iter().zip(0..) {
            let (key, value) = base_row(&stream, sequence.0, chunk, block);
            held.base += value.len() as u64;
            stage.batch.link(&key, Some(&value));
        }
        self.note_change(&stream);
        now.held.push((stream, Some(held)));
        Ok(())
    }

    /// Memory takes over what is durable now.
    pub(super) fn count_heard(&mut self, shared: &Shared, linked: &[(HeardNow, Reply<Committed>)]) {
        for (now, _) in linked {
            for (stream, sightings) in &now.sightings {
                let counted = count_sightings(shared, &self.peers, stream, sightings);
                if let Err(error) = counted {
                    // There was no memory for the index; a rebuild tries again.
                    tracing::error!("sightings of peers are not counted: {error}");
                    self.is_rebuild_due = true;
                }
            }
            for (stream, held) in &now.held {
                match held {
                    Some(held) => self.held.insert(*stream, *held),
                    None => self.held.remove(stream),
                };
            }
        }
    }

    /// What becomes of a record, and its generation; none where that is too old to count. Without a slot it is one of
    /// this site's own.
    fn body(&mut self, stage: &Stage<'_>, slot: Option<u16>, bytes: &[u8]) -> Option<(u64, HeardBody)> {
        let now = self.calendar.generation();
        let record = slot.map_or_else(|| Record::returned(bytes), |slot| Record::heard(bytes, slot));
        let Ok(record) = record.map(|record| self.usable(record)) else {
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
            Ok(()) => Some((generation, HeardBody::Counted(record))),
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

    fn uncounted(&self, why: Uncounted, bytes: &[u8]) -> HeardBody {
        self.shared.state().uncounted.note(self.calendar.generation(), why);
        HeardBody::Uncounted(why, bytes.to_vec())
    }

    /// Whether memory has room for a record, and its peer a share of that; what it adds is noted.
    fn room(
        &mut self,
        stage: &Stage<'_>,
        slot: Option<u16>,
        generation: u64,
        record: &Record,
    ) -> Result<(), Uncounted> {
        let shared = &self.shared;
        let config = &self.shared.config;
        let gain = stage.gain(generation, record);
        let now = self.calendar.generation();
        let table = &shared.memory.table;
        let is_full = |held: u64, more: u64, capacity: u64| more > 0 && held + more > capacity;
        if is_full(table.len() + stage.added(), gain.signatures, table.capacity())
            || is_full(shared.promoted.load(Relaxed) + stage.promoted(), gain.bulk, config.bulk_capacity)
        {
            return Err(Uncounted::Full);
        }
        // What was this site's own once has had its share.
        let Some(slot) = slot else {
            return Ok(());
        };
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
    pub(super) fn set_peers(&mut self, peers: &[PeerSite]) -> Result<(), WriteError> {
        let shared = Arc::clone(&self.shared);
        let journal = self.writable(&shared)?;
        let old = journal.peers();
        let site = shared.identity().site();
        let peers: Vec<table::JournalPeer> = peers.iter().map(table::JournalPeer::from).collect();
        let new = Arc::new(old.changed_to(&peers, site)?);
        if new == old && new.leaving.is_empty() {
            return Ok(());
        }
        let mut batch = journal.batch();
        // With its last records the journal would forget how many there were.
        batch.number("heard", self.next_heard - 1);
        let stored = batch.peers(&new).and_then(|()| {
            // Nobody is in this slot any more: what came back under it counts until the next start.
            let left = old.own.filter(|_| old.own != new.own);
            left.map_or(Ok(()), |slot| change::forget_rows(&journal, &mut batch, slot))
        });
        let stored = stored.and_then(|()| batch.commit());
        let followed = stored.and_then(|()| {
            self.peers = Arc::clone(&new);
            self.held.retain(|stream, _| new.own == Some(stream.slot.0) || new.get(stream.slot.0).is_some());
            if !new.counts_sightings_like(&old) {
                self.is_rebuild_due = true;
                self.note_all_changed();
            }
            self.follow(&journal, &old, &new).inspect_err(|_| self.is_unsure = true)
        });
        followed.map_err(|error| {
            let error = WriteError::from(error);
            shared.state().refused = Some(error.clone());
            error
        })?;
        self.work_aside();
        Ok(())
    }

    /// Makes memory right by a table of peers that is journalled.
    pub(super) fn follow(
        &self,
        journal: &Journal,
        old: &Peers,
        new: &Arc<Peers>,
    ) -> Result<(), JournalError> {
        let shared = &self.shared;
        let now = self.calendar.generation();
        let threshold = shared.config.bulk_threshold;
        follow(&shared.memory, journal, old, new, now, threshold)?;
        self.count_bulk(journal)
    }
}

/// Counts sightings of a stream: a peer's up to its cap, and all of what comes back of an earlier incarnation.
pub(crate) fn count_sightings(
    shared: &Shared,
    peers: &Peers,
    stream: &HeldStream,
    sightings: &[Sighting],
) -> Result<(), seenit_filter::GeometryError> {
    let Stream::Sightings { generation: Generation(generation) } = stream.stream else {
        return Ok(());
    };
    let seen = &shared.memory.seen;
    if peers.own != Some(stream.slot.0) {
        return seen.hear(generation, sightings, peers.seen_cap(stream.slot.0));
    }
    if seen.counts_of(generation) {
        let own = seen.own_of(generation, shared.identity().seen_key(stream.incarnation.0, generation))?;
        sightings.iter().for_each(|one| own.load(one.fingerprint, one.increment));
    }
    Ok(())
}

/// What a list says beyond what is known; both ascend.
fn beyond(known: impl Iterator<Item = Sighting>, new: impl Iterator<Item = Sighting>) -> Vec<Sighting> {
    let mut known = known.peekable();
    let more = |one: Sighting| {
        while known.next_if(|before| before.fingerprint < one.fingerprint).is_some() {}
        let before = known.next_if(|before| before.fingerprint == one.fingerprint);
        let increment = one.increment.saturating_sub(before.map_or(0, |before| before.increment));
        (increment > 0).then_some(Sighting { increment, ..one })
    };
    new.filter_map(more).collect()
}

/// Deletes the messages of a stream up to a sequence.
pub(super) fn remove_messages(
    stage: &mut Stage<'_>,
    stream: &HeldStream,
    to: Sequence,
) -> Result<(), JournalError> {
    let journal = stage.journal;
    let end = rows::message(stream, to);
    journal.link_rows(&rows::messages(stream), &[], &mut |key, _| {
        let is_gone = key <= end.as_slice();
        if is_gone {
            stage.batch.link(key, None);
        }
        is_gone
    })
}

fn remove_base(stage: &mut Stage<'_>, stream: &HeldStream) -> Result<(), JournalError> {
    let journal = stage.journal;
    journal.link_rows(&rows::base(stream), &[], &mut |key, _| {
        stage.batch.link(key, None);
        true
    })
}
