//! The ledger as the store of the link: what the link commits, and what it reads.

use std::sync::atomic::Ordering::Relaxed;

use seenit_link::rows;
use seenit_link::store::{
    Committed, LinkBatch, Loaded, NetworkTerms, Own, OwnStream, Read, ReadDone, Renewal, SnapshotPart, Store,
    StoreError,
};
use seenit_sites::chain::Chain;
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation, Sequence};
use zeroize::Zeroizing;

use crate::error::WriteError;
use crate::incarnations::IncarnationChange;
use crate::journal::sightings::OwnStreamKey;
use crate::journal::{Journal, JournalError};
use crate::ledger::Ledger;
use crate::own_chain::OwnChain;
use crate::record::RecordId;
use crate::writer::{Job, added_up};

/// How long a rebuild of the peer sums takes before it is worth telling.
const REBUILD_SECS: u64 = 60;

impl Ledger {
    /// What the site signs with. Whoever has it is the site.
    pub fn site_secret(&self) -> Zeroizing<[u8; 32]> {
        self.shared.identity().site_secret()
    }

    /// The network that the present incarnation is published to, by its admin's key.
    pub fn network(&self) -> Option<[u8; 32]> {
        self.shared.identity().incarnation().network
    }

    /// The present incarnation of the folder.
    pub fn incarnation(&self) -> Incarnation {
        Incarnation(self.shared.identity().incarnation().id)
    }

    /// The present generation.
    pub fn generation(&self) -> Generation {
        Generation(self.shared.generation())
    }

    /// The incarnation that publishes a record to the network, and the record's sequence in it; `None` where none does.
    pub fn sequence_of(&self, id: RecordId) -> Option<(Incarnation, Sequence)> {
        let identity = self.shared.identity();
        let network = identity.incarnation().network?;
        let span = identity.span(identity.incarnation_of(id.number))?;
        let is_own = self.shared.record_id(id.number).site == id.site;
        let is_published = is_own && span.network == Some(network);
        is_published.then(|| (Incarnation(span.id), Sequence(id.number + 1 - span.first)))
    }

    /// Ends an incarnation that belongs to a network; the next one is private. Durable when it returns. What was
    /// counted stays counted here.
    pub fn leave(&self) -> Result<(), WriteError> {
        self.change_incarnation(IncarnationChange::Leave)
    }

    fn change_incarnation(&self, change: IncarnationChange) -> Result<(), WriteError> {
        self.ask_and_wait(|reply| Job::ChangeIncarnation(change, reply))
    }

    fn agree(&self, terms: &NetworkTerms) -> Result<(), WriteError> {
        let found = terms.generation_secs;
        let own = self.shared.config.generation_secs;
        if found != own {
            return Err(WriteError::Link(
                format!("the network's generations have {found} s, and ledger.generation_secs is {own} here")
                    .into(),
            ));
        }
        let keys = terms.keys.iter().map(|(first, key)| (first.0, key.to_bytes())).collect();
        self.change_incarnation(IncarnationChange::Agree { network: terms.network.to_bytes(), keys })
    }

    fn renew(&self, renewal: &Renewal) -> Result<(), WriteError> {
        let sightings_after = renewal.sightings_after.iter().map(|(generation, last)| (generation.0, last.0));
        self.change_incarnation(IncarnationChange::Renew {
            records_after: renewal.records_after.0,
            sightings_after: sightings_after.collect(),
        })
    }

    fn readable(&self) -> Result<std::sync::Arc<Journal>, StoreError> {
        let journal = self.shared.journal();
        journal.ok_or_else(|| StoreError::new("reading the journal", "it is being opened again: try again"))
    }

    fn own_streams(&self) -> Vec<OwnStream> {
        let shared = &*self.shared;
        let identity = shared.identity();
        let Some(network) = identity.incarnation().network else {
            return Vec::new();
        };
        let last = shared.last.load(Relaxed);
        let first_kept = shared.first_kept.load(Relaxed);
        let present = identity.incarnation().id;
        let mut streams = Vec::new();
        for span in identity.incarnations().iter().filter(|span| span.network == Some(network)) {
            let incarnation = Incarnation(span.id);
            let end = span.last.unwrap_or(last) + 1;
            if span.id == present || end > first_kept.max(span.first) {
                let last = Sequence(end.saturating_sub(span.first));
                streams.push(OwnStream { incarnation, stream: Stream::Records, last });
            }
            let logs = shared.own_logs();
            let of = |generation| OwnStreamKey { incarnation: span.id, generation };
            for (stream, log) in logs.range(of(0)..=of(u64::MAX)) {
                // Without a key of the network it is counted under the site's own, and nobody could read it.
                let is_published = span.key_at(stream.generation).is_some();
                if is_published && shared.memory.seen.counts_of(stream.generation) {
                    let generation = Generation(stream.generation);
                    let stream = Stream::Sightings { generation };
                    let last = Sequence(log.last);
                    streams.push(OwnStream { incarnation, stream, last });
                }
            }
        }
        streams
    }

    fn sightings_alarms(&self) -> Vec<String> {
        let state = self.shared.state();
        let now = self.shared.clock.steady_secs();
        let mut alarms = state.contradictions.clone();
        if let Some(secs) = state.rebuilding_since.map(|since| now.saturating_sub(since))
            && secs > REBUILD_SECS
        {
            alarms.push(format!(
                "what other sites saw is being counted anew for {secs} s, because sites were removed or their caps \
                 changed: until that is done their counts are as before"
            ));
        }
        alarms
    }

    fn snapshot_part(
        &self,
        journal: &Journal,
        own: &OwnStream,
        bytes_max: usize,
    ) -> Result<Option<SnapshotPart>, JournalError> {
        let OwnStream { incarnation, stream, .. } = *own;
        let chain = OwnChain::new(&self.shared, incarnation, stream);
        let (start, end, items) = match stream {
            Stream::Records => {
                let (run, end) = chain.run(journal, 0, bytes_max)?;
                let Some((value, end)) = run.value.zip(end) else { return Ok(None) };
                (Chain { sequence: run.after, value }, end, run.items)
            }
            Stream::Sightings { generation } => {
                let key = OwnStreamKey { incarnation: incarnation.0, generation: generation.0 };
                let last = chain.last();
                let Some((begin, value)) = chain.begin().zip(chain.value_at(journal, last)?) else {
                    return Ok(None);
                };
                let blocks = added_up(journal, key, last)?.blocks;
                if blocks.iter().map(Vec::len).sum::<usize>() > bytes_max {
                    return Ok(None);
                }
                (begin, Chain { sequence: Sequence(last), value }, blocks)
            }
        };
        if items.is_empty() {
            return Ok(None);
        }
        Ok(Some(SnapshotPart { incarnation, stream, start, end, items }))
    }

    fn read_now(&self, journal: &Journal, read: &Read) -> Result<ReadDone, JournalError> {
        match *read {
            Read::Own { incarnation, stream, after, bytes_max } => {
                let chain = OwnChain::new(&self.shared, incarnation, stream);
                let (run, end) = chain.run(journal, after.0, bytes_max)?;
                chain.remember(&self.shared, &run, end);
                Ok(ReadDone::Own(run))
            }
            Read::Held { stream, after, messages_max } => {
                let mut messages = Vec::new();
                let from = rows::message(&stream, after.next());
                journal.link_rows(&rows::messages(&stream), &from, &mut |_, message| {
                    if messages.len() < messages_max {
                        messages.push(message.to_vec());
                    }
                    messages.len() < messages_max
                })?;
                Ok(ReadDone::Held(messages))
            }
            Read::Snapshot { bytes_max } => {
                let mut parts = Vec::new();
                for own in self.own_streams() {
                    parts.extend(self.snapshot_part(journal, &own, bytes_max)?);
                }
                Ok(ReadDone::Snapshot(parts))
            }
        }
    }
}

impl Store for Ledger {
    fn load(&self) -> Result<Loaded, StoreError> {
        let journal = self.readable()?;
        let mut found = Vec::new();
        let mut firsts = rows::STATE.to_vec();
        firsts.sort_unstable();
        for first in firsts {
            let read = journal.link_rows(&[first], &[], &mut |key, value| {
                found.push((key.to_vec(), value.to_vec()));
                true
            });
            read.map_err(|error| StoreError::new("reading what the link keeps", error))?;
        }
        Ok(Loaded { rows: found, own: self.own() })
    }

    fn own(&self) -> Own {
        let shared = &*self.shared;
        let generation = shared.generation();
        let config = &shared.config;
        Own {
            incarnation: self.incarnation(),
            generation: Generation(generation),
            oldest: Generation((generation + 1).saturating_sub(config.seen_generations)),
            kept_from_secs: shared.hidden_before.load(Relaxed).saturating_mul(config.generation_secs),
            streams: self.own_streams(),
            alarms: self.sightings_alarms(),
        }
    }

    fn commit(&self, mut batch: LinkBatch) -> Result<Committed, StoreError> {
        if let Some(peers) = batch.peers.take() {
            let set = self.ask_and_wait(|reply| Job::SetPeers(peers, reply));
            set.map_err(|error| StoreError::new("changing whom this site believes", error))?;
        }
        if let Some(terms) = batch.terms.take() {
            self.agree(&terms).map_err(|error| StoreError::new("agreeing to the network's terms", error))?;
        }
        if let Some(renewal) = batch.renewal.take() {
            self.renew(&renewal).map_err(|error| StoreError::new("beginning a new incarnation", error))?;
        }
        if batch.is_empty() {
            return Ok(Committed::default());
        }
        let committed = self.ask_and_wait(|reply| Job::Link(Box::new(batch), reply));
        committed.map_err(|error| StoreError::new("keeping what other sites said", error))
    }

    fn read(&self, read: &Read) -> Result<ReadDone, StoreError> {
        let journal = self.readable()?;
        self.read_now(&journal, read).map_err(|error| StoreError::new("reading the journal", error))
    }
}
