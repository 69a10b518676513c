//! Memory follows records that the journal has and it does not: after a snapshot, or after the journal failed.

use std::collections::HashMap;
use std::sync::Arc;

use seenit_filter::hash::Hash128;

use crate::journal::Journal;
use crate::journal::heard::Body;
use crate::memory::{BULK_GENERATIONS, Effect, Memory};
use crate::peers::table::Peers;
use crate::record::{Record, Verb};
use crate::salvage::{self, Lost};
use crate::stage::{apply_mark, mark_of};

/// A replay under way. What was heard comes first: its signatures are taken from the journal at the end, as all records
/// left them, so that own records change nothing of them before.
pub(crate) struct Replay<'a> {
    memory: &'a Memory,
    peers: Arc<Peers>,
    /// The present generation.
    now: u64,
    /// Recipients that make a signature bulk.
    bulk_threshold: u64,
    /// Signatures whose tallies are taken from the journal at the end.
    unsettled: HashMap<Hash128, Lost>,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(memory: &'a Memory, journal: &Journal, now: u64, bulk_threshold: u64) -> Self {
        Replay { memory, peers: journal.peers(), now, bulk_threshold, unsettled: HashMap::new() }
    }

    /// A record of a peer.
    pub(crate) fn heard(&mut self, generation: u64, body: &Body) {
        let Body::Counted(record) = body else {
            return;
        };
        let slot = record.reporter.slot().unwrap_or(0);
        for (key, before) in self.memory.keys_of(&record.case).into_iter().zip(&record.befores) {
            if record.verb == Verb::Promote {
                let is_counted = generation + BULK_GENERATIONS > self.now;
                if is_counted && self.peers.believes_bulk(slot, self.bulk_threshold) {
                    self.memory.promote(generation, key.hash);
                }
            } else if key.is_shingle() {
                let weigh = |said| self.peers.weigh(record.reporter, said, true);
                let now = Effect::of(record, *before, true).now;
                self.memory.near.change(key, weigh((before.opinion, before.weight)), weigh(now));
            } else {
                self.unsettled.insert(key.hash, Lost::Unknown);
            }
        }
    }

    /// A record of this site.
    pub(crate) fn own(&mut self, generation: u64, record: &Record) {
        let memory = self.memory;
        for (key, &before) in memory.keys_of(&record.case).into_iter().zip(&record.befores) {
            let effect = Effect::of(record, before, key.is_shingle());
            let is_asked = !key.is_shingle() && salvage::is_contradicted(memory, key.hash, &effect);
            if is_asked {
                self.unsettled.insert(key.hash, Lost::nothing());
            } else if !self.unsettled.contains_key(&key.hash) && !memory.apply(key, effect) {
                self.unsettled.insert(key.hash, Lost::Unknown);
            }
            if let Some(mark) = mark_of(record, before).filter(|_| !key.is_shingle()) {
                apply_mark(memory, generation, key.hash, mark);
            }
            if record.verb == Verb::Forget && !key.is_shingle() && !self.peers.is_empty() {
                self.unsettled.entry(key.hash).or_insert(Lost::Unknown);
            }
        }
    }

    /// The signatures whose tallies are now to be taken from the journal, as all records left them, and
    /// what lost ones add.
    #[must_use]
    pub(crate) fn unsettled(self) -> HashMap<Hash128, Lost> {
        self.unsettled
    }
}
