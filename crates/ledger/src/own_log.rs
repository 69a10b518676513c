//! The log of own sightings: how far each of its streams is, how memory is rebuilt from it, and how deltas move from
//! one incarnation to the next.

use std::collections::BTreeMap;

use seenit_filter::sightings::decode;
use seenit_link::rows;
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation, Sequence};

use crate::error::OpenError;
use crate::identity::Identity;
use crate::journal::sightings::{OwnStreamKey, SightingsRow};
use crate::journal::{Journal, JournalBatch, JournalError};
use crate::memory::Memory;

/// How far a stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnLog {
    /// Its last delta.
    pub(crate) last: u64,
    /// The last delta that was added up.
    pub(crate) base: u64,
}

impl OwnLog {
    /// Deltas of a stream from which the oldest are added up: a start reads them one by one.
    const DELTAS_MAX: u64 = 16_384;

    /// The newest ones, which stay: others may ask for them.
    const DELTAS_KEPT: u64 = 8_192;

    /// Up to which delta it should be added up, where it should be.
    pub(crate) fn due(&self) -> Option<u64> {
        (self.last - self.base > Self::DELTAS_MAX).then(|| self.last - Self::DELTAS_KEPT)
    }
}

/// All streams that are kept.
pub(crate) type OwnLogs = BTreeMap<OwnStreamKey, OwnLog>;

/// Counts everything that the log has in memory, whose newest generation is set. Says how far the streams are.
pub(crate) fn load(
    memory: &Memory,
    identity: &Identity,
    journal: &Journal,
    recovery: &mut Vec<String>,
) -> Result<OwnLogs, OpenError> {
    let mut logs = OwnLogs::new();
    let mut lost = None;
    let mut own = None;
    let read = journal.each_sightings(|row, bytes| {
        let SightingsRow { stream, sequence, chunk } = row;
        let log = logs.entry(stream).or_default();
        log.last = log.last.max(sequence);
        if chunk.is_some() {
            log.base = sequence;
        }
        if !memory.seen.counts_of(stream.generation) {
            return Ok(());
        }
        let counted = match decode(bytes) {
            Ok(sightings) => sightings,
            Err(why) => {
                let what = format!("delta {sequence} of generation {}: {why}", stream.generation);
                lost = lost.take().or(Some(what));
                return Ok(());
            }
        };
        let counts = match own.take().filter(|(of, _)| *of == stream) {
            Some((_, counts)) => counts,
            None => {
                let key = identity.seen_key(stream.incarnation, stream.generation);
                let counts = memory.seen.own_of(stream.generation, key);
                counts?
            }
        };
        counted.iter().for_each(|one| counts.load(one.fingerprint, one.increment));
        own = Some((stream, counts));
        Ok(())
    });
    read?;
    recovery.extend(lost.map(|why| format!("seen counts are not complete: {why}")));
    Ok(logs)
}

/// Moves the deltas of the incarnation before the present one that it does not keep into the present one: all or
/// nothing, and nothing where that was done.
pub(crate) fn move_unconfirmed(
    journal: &Journal,
    identity: &Identity,
    logs: &mut OwnLogs,
) -> Result<(), JournalError> {
    let [.., ended, present] = identity.incarnations() else {
        return Ok(());
    };
    let mut moved = logs.clone();
    let mut batch = journal.batch();
    for &(generation, kept) in &ended.sightings {
        let from = OwnStreamKey { incarnation: ended.id, generation };
        let to = OwnStreamKey { incarnation: present.id, generation };
        let Some(log) = logs.get(&from).filter(|log| log.last > kept) else {
            continue;
        };
        // A base cannot be cut: where others are not known to have all of it, all of it is said again.
        let kept = if log.base > kept { 0 } else { kept };
        let target = moved.entry(to).or_default();
        journal.sightings_from(from, 0, |row, bytes| {
            if row.sequence > kept {
                target.last += 1;
                batch.sightings(SightingsRow::delta(to, target.last), bytes);
                batch.remove_sightings(row);
            }
            Ok(true)
        })?;
        let stream = Stream::Sightings { generation: Generation(generation) };
        forget_chain(journal, &mut batch, ended.id, stream, kept)?;
        match kept {
            0 => moved.remove(&from),
            _ => moved.insert(from, OwnLog { last: kept, ..*log }),
        };
    }
    let kept = ended.last.map_or(0, |last| (last + 1).saturating_sub(ended.first));
    forget_chain(journal, &mut batch, ended.id, Stream::Records, kept)?;
    batch.commit()?;
    *logs = moved;
    Ok(())
}

/// Deletes values of an own chain after a sequence: its items are another stream's now.
fn forget_chain(
    journal: &Journal,
    batch: &mut JournalBatch<'_>,
    incarnation: u64,
    stream: Stream,
    kept: u64,
) -> Result<(), JournalError> {
    let key = |sequence| rows::checkpoint(Incarnation(incarnation), stream, Sequence(sequence));
    let first = key(kept + 1);
    let last = key(u64::MAX);
    let prefix = &first[..first.len() - 8];
    let mut gone = Vec::new();
    journal.link_rows(prefix, &first, &mut |key, _| {
        gone.push(key.to_vec());
        key < last.as_slice()
    })?;
    gone.iter().for_each(|key| batch.link(key, None));
    Ok(())
}

/// Deletes streams of generations before another one, in commits of bounded size.
pub(crate) fn forget_before(journal: &Journal, logs: &mut OwnLogs, oldest: u64) -> Result<(), JournalError> {
    /// Rows of one commit.
    const TOGETHER: usize = 10_000;
    let old: Vec<OwnStreamKey> = logs.keys().copied().filter(|stream| stream.generation < oldest).collect();
    for stream in old {
        loop {
            let mut gone = Vec::new();
            journal.sightings_from(stream, 0, |row, _| {
                gone.push(row);
                Ok(gone.len() < TOGETHER)
            })?;
            let mut batch = journal.batch();
            gone.iter().for_each(|row| batch.remove_sightings(*row));
            let is_last = gone.len() < TOGETHER;
            if is_last {
                let stream =
                    (stream.incarnation, Stream::Sightings { generation: Generation(stream.generation) });
                forget_chain(journal, &mut batch, stream.0, stream.1, 0)?;
            }
            batch.commit()?;
            if is_last {
                break;
            }
        }
        logs.remove(&stream);
    }
    Ok(())
}
