//! What is added up beside the writer, one thing at a time: messages of peers into bases, own deltas into bases, and
//! peer sums that are rebuilt because caps changed or a site was removed.
//!
//! A thread reads what was durable when the work began; the writer takes the result over in one commit. What came in
//! meanwhile stays as it is, and a result whose stream was replaced meanwhile is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

use seenit_filter::sightings::decode;
use seenit_link::rows;
use seenit_link::store::HeldStream;
use seenit_sites::Digest;
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation, Sequence};

use super::Writer;
use crate::adding::{AddedUp, AddingUp};
use crate::held::{self, Held, HeldBytes, base_row, sightings_of};
use crate::journal::sightings::{OwnStreamKey, SightingsRow};
use crate::journal::{Journal, JournalError, LinkNow};
use crate::own_chain::OwnChain;
use crate::own_log::OwnLog;
use crate::peers::table::Peers;
use crate::seen::PeerSum;
use crate::shared::Shared;
use crate::writer_progress::WriterStep;

/// Less than this is rebuilt at once: writes wait for some tens of milliseconds.
const AT_ONCE_BYTES: u64 = 1 << 20;

/// Alarms of sites that contradicted themselves: the first ones say enough.
const CONTRADICTIONS_MAX: usize = 16;

/// What is to be added up.
enum Work {
    Held { now: LinkNow, stream: HeldStream, bytes: HeldBytes },
    Own { journal: Arc<Journal>, chain: OwnChain, stream: OwnStreamKey, log: OwnLog, to: u64 },
    Rebuild { now: LinkNow, peers: Arc<Peers>, sums: BTreeMap<u64, Arc<PeerSum>> },
}

/// What came of it.
enum Done {
    Held { stream: HeldStream, bytes: HeldBytes, sequence: u64, added: AddedUp },
    Own { stream: OwnStreamKey, log: OwnLog, to: u64, blocks: Vec<Vec<u8>>, value: Option<Digest> },
    Rebuilt,
    Stopped,
}

/// Work under way.
pub(crate) struct Working {
    thread: JoinHandle<Result<Done, JournalError>>,
    stop: Arc<AtomicBool>,
    /// The stream whose messages are added up.
    stream: Option<HeldStream>,
    is_rebuild: bool,
    /// What it reads does not count any more.
    is_stale: bool,
}

impl Writer {
    /// Takes over what is done, and begins what is due.
    pub(super) fn work_aside(&mut self) {
        let shared = Arc::clone(&self.shared);
        if let Some(working) = self.working.take_if(|working| working.thread.is_finished()) {
            shared.begin(WriterStep::Tick);
            let panicked = |_| Err(JournalError::Rows("the thread that adds up sightings panicked".into()));
            let done = working.thread.join().unwrap_or_else(panicked);
            self.is_rebuild_due |= working.is_rebuild && (working.is_stale || done.is_err());
            self.take_over(&shared, done, working.is_stale);
        }
        // While something is under way nothing else is begun.
        while self.working.is_none() {
            let Ok(journal) = self.writable(&shared) else { return };
            let Some(work) = self.due(&shared, &journal) else { return };
            if !self.begin_work(&shared, work) {
                // The next tick tries again.
                return;
            }
        }
    }

    /// What should be added up now. A rebuild begins with it: what is heard from now on is counted twice over.
    fn due(&mut self, shared: &Arc<Shared>, journal: &Arc<Journal>) -> Option<Work> {
        if self.is_rebuild_due {
            self.is_rebuild_due = false;
            let generation = |stream: &HeldStream| match stream.stream {
                Stream::Sightings { generation: Generation(generation) } => Some(generation),
                Stream::Records => None,
            };
            let named: Vec<u64> = self.held.keys().filter_map(generation).collect();
            shared.state().rebuilding_since = Some(shared.clock.steady_secs());
            match shared.memory.seen.begin_rebuilding(&named) {
                Ok(sums) => {
                    return Some(Work::Rebuild {
                        now: journal.link_now(),
                        peers: Arc::clone(&self.peers),
                        sums,
                    });
                }
                Err(error) => {
                    tracing::error!("the peer sums cannot be rebuilt: {error}");
                    shared.state().rebuilding_since = None;
                }
            }
        }
        if let Some((&stream, &bytes)) = self.held.iter().find(|(_, bytes)| bytes.are_due()) {
            return Some(Work::Held { now: journal.link_now(), stream, bytes });
        }
        let logs = shared.own_logs();
        let (&stream, &log, to) = logs.iter().find_map(|(stream, log)| Some((stream, log, log.due()?)))?;
        drop(logs);
        let of = Stream::Sightings { generation: Generation(stream.generation) };
        let chain = OwnChain::new(shared, Incarnation(stream.incarnation), of);
        Some(Work::Own { journal: Arc::clone(journal), chain, stream, log, to })
    }

    /// Begins a piece of work, or does it at once. False where there is no thread for it.
    fn begin_work(&mut self, shared: &Arc<Shared>, work: Work) -> bool {
        let stop = Arc::new(AtomicBool::new(false));
        let (stream, is_rebuild) = match &work {
            Work::Held { stream, .. } => (Some(*stream), false),
            Work::Own { .. } => (None, false),
            Work::Rebuild { .. } => (None, true),
        };
        let bytes: u64 = self.held.values().map(|held| held.base + held.messages).sum();
        if is_rebuild && bytes < AT_ONCE_BYTES {
            let done = work.run(&stop);
            // Where it failed, the journal does as well, and is opened again.
            self.take_over(shared, done, false);
            return true;
        }
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("adding up".into()).spawn(move || work.run(&stopped));
        match thread {
            Ok(thread) => {
                self.working = Some(Working { thread, stop, stream, is_rebuild, is_stale: false });
                true
            }
            Err(error) => {
                tracing::warn!("sightings are added up later: {error}");
                self.is_rebuild_due |= is_rebuild;
                false
            }
        }
    }

    /// Ends what is under way; the next start begins it again.
    pub(super) fn stop_working(&mut self) {
        if let Some(working) = self.working.take() {
            working.stop.store(true, Relaxed);
            // Whatever it found is not needed.
            let _ = working.thread.join();
        }
    }

    /// Notes that what is kept of a stream was replaced.
    pub(super) fn note_change(&mut self, stream: &HeldStream) {
        if let Some(working) = self.working.as_mut().filter(|working| working.stream == Some(*stream)) {
            working.is_stale = true;
        }
    }

    /// Notes that caps changed, or that a peer is gone.
    pub(super) fn note_all_changed(&mut self) {
        if let Some(working) = self.working.as_mut().filter(|one| one.is_rebuild || one.stream.is_some()) {
            working.is_stale = true;
            working.stop.store(true, Relaxed);
        }
    }

    fn take_over(&mut self, shared: &Shared, done: Result<Done, JournalError>, is_stale: bool) {
        let taken = match done {
            Ok(_) if is_stale => Ok(()),
            Ok(Done::Held { stream, bytes, sequence, added }) => {
                self.put_base(shared, &stream, bytes, sequence, &added)
            }
            Ok(Done::Own { stream, log, to, blocks, value }) => {
                self.put_own_base(shared, stream, log, to, &blocks, value)
            }
            Ok(Done::Rebuilt) => {
                shared.memory.seen.finish_rebuilding();
                shared.state().rebuilding_since = None;
                Ok(())
            }
            Ok(Done::Stopped) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            shared.state().refused = Some(error.into());
        }
    }

    /// Puts a base in the place of the messages in it.
    fn put_base(
        &mut self,
        shared: &Shared,
        stream: &HeldStream,
        before: HeldBytes,
        sequence: u64,
        added: &AddedUp,
    ) -> Result<(), JournalError> {
        let Ok(journal) = self.writable(shared) else { return Ok(()) };
        let mut batch = journal.batch();
        let end = rows::message(stream, Sequence(sequence));
        for prefix in [rows::messages(stream), rows::base(stream)] {
            journal.link_rows(&prefix, &[], &mut |key, _| {
                if key[0] == b'b' || key <= end.as_slice() {
                    batch.link(key, None);
                }
                true
            })?;
        }
        let held = self.held.entry(*stream).or_default();
        let mut now = HeldBytes { base: 0, messages: held.messages.saturating_sub(before.messages) };
        for (block, chunk) in added.blocks.iter().zip(0..) {
            let (key, value) = base_row(stream, sequence, chunk, block);
            now.base += value.len() as u64;
            batch.link(&key, Some(&value));
        }
        batch.commit()?;
        *held = now;
        if added.contradictions > 0 {
            self.note_contradictions(shared, stream, added.contradictions);
        }
        Ok(())
    }

    /// A site said less than it had said before: exact sums hold from now on.
    fn note_contradictions(&mut self, shared: &Shared, stream: &HeldStream, number: u64) {
        let name = self.peers.get(stream.slot.0).map_or("this site itself", |peer| &peer.name).to_owned();
        let alarm = format!(
            "site {name} contradicted itself in its sightings: of {number} signatures it counted less in the end than \
             it had said one by one; it counts up to its cap again, and its operator should look at its disk and clock"
        );
        tracing::warn!("{alarm}");
        let mut state = shared.state();
        if state.contradictions.len() < CONTRADICTIONS_MAX {
            state.contradictions.push(alarm);
        }
        self.is_rebuild_due = true;
    }

    /// Puts a base in the place of the own deltas in it.
    fn put_own_base(
        &mut self,
        shared: &Shared,
        stream: OwnStreamKey,
        before: OwnLog,
        to: u64,
        blocks: &[Vec<u8>],
        value: Option<Digest>,
    ) -> Result<(), JournalError> {
        let Ok(journal) = self.writable(shared) else { return Ok(()) };
        let is_same = |log: &&mut OwnLog| log.base == before.base && log.last >= to;
        let mut logs = shared.own_logs();
        let Some(log) = logs.get_mut(&stream).filter(is_same) else {
            return Ok(());
        };
        let mut batch = journal.batch();
        journal.sightings_from(stream, 0, |row, _| {
            if row.sequence <= to {
                batch.remove_sightings(row);
            }
            Ok(row.sequence <= to)
        })?;
        for (block, chunk) in blocks.iter().zip(0..) {
            batch.sightings(SightingsRow::base(stream, to, chunk), block);
        }
        if let Some(value) = value {
            let of = Stream::Sightings { generation: Generation(stream.generation) };
            let key = rows::checkpoint(Incarnation(stream.incarnation), of, Sequence(to));
            batch.link(&key, Some(&value.0));
        }
        batch.commit()?;
        log.base = to;
        Ok(())
    }
}

impl Work {
    fn run(self, stop: &AtomicBool) -> Result<Done, JournalError> {
        match self {
            Work::Held { now, stream, bytes } => {
                let (sequence, added) = held::added_up(&now, &stream)?;
                Ok(Done::Held { stream, bytes, sequence, added })
            }
            Work::Own { journal, chain, stream, log, to } => {
                let blocks = added_up(&journal, stream, to)?.blocks;
                let value = chain.value_at(&journal, to)?;
                Ok(Done::Own { stream, log, to, blocks, value })
            }
            Work::Rebuild { now, peers, sums } => rebuild(&now, &peers, &sums, stop),
        }
    }
}

/// Own deltas of a stream up to one of them, with the base before them.
pub(crate) fn added_up(journal: &Journal, stream: OwnStreamKey, to: u64) -> Result<AddedUp, JournalError> {
    let mut adding = AddingUp::default();
    let mut base = Vec::new();
    journal.sightings_from(stream, 0, |row, bytes| {
        match row.chunk {
            Some(_) => base.push(bytes.to_vec()),
            None if row.sequence <= to => {
                adding.push_base(std::mem::take(&mut base));
                adding.push(decode(bytes)?)?;
            }
            None => {}
        }
        Ok(row.sequence <= to)
    })?;
    adding.push_base(base);
    Ok(adding.finish()?)
}

/// Counts all that is kept of peers in empty sums.
fn rebuild(
    now: &LinkNow,
    peers: &Peers,
    sums: &BTreeMap<u64, Arc<PeerSum>>,
    stop: &AtomicBool,
) -> Result<Done, JournalError> {
    for stream in held::streams(now)? {
        let Stream::Sightings { generation: Generation(generation) } = stream.stream else { continue };
        let Some(sum) = sums.get(&generation).filter(|_| peers.get(stream.slot.0).is_some()) else {
            continue;
        };
        let cap = peers.seen_cap(stream.slot.0);
        held::each(now, &stream, |held| {
            let (Held::Block(_, bytes) | Held::Delta(_, bytes)) = held;
            if !stop.load(Relaxed) {
                sightings_of(&stream, bytes).iter().for_each(|sighting| sum.raise(sighting, cap));
            }
            Ok(())
        })?;
        if stop.load(Relaxed) {
            return Ok(Done::Stopped);
        }
    }
    Ok(Done::Rebuilt)
}
