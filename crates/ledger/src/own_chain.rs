//! Chains over own streams: the value at any sequence, from the nearest one that is kept.
//!
//! The link keeps a value every so many items (`rows::checkpoint`), and the ledger one where deltas were added up. From
//! there the items are read and chained on. The last values that were asked for are remembered: who publishes asks for
//! the one after.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::PoisonError;

use seenit_link::rows;
use seenit_link::store::OwnRun;
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::message::Stream;
use seenit_sites::message::StreamId;
use seenit_sites::number::{Incarnation, Sequence};

use crate::journal::sightings::OwnStreamKey;
use crate::journal::{Journal, JournalError};
use crate::shared::Shared;

/// Values that are remembered, by stream.
pub(crate) type Chains = HashMap<(Incarnation, Stream), Vec<Chain>>;

/// Streams whose values are remembered: more than a site has, and when there are more it begins anew.
const STREAMS_MAX: usize = 256;

/// Values of one stream: where it was read from, and where to.
const VALUES_MAX: usize = 2;

/// An own stream.
pub(crate) struct OwnChain {
    incarnation: Incarnation,
    stream: Stream,
    begin: Option<Chain>,
    known: Vec<Chain>,
    /// The numbers of its records.
    numbers: Range<u64>,
    /// Its last item.
    last: u64,
}

impl OwnChain {
    pub(crate) fn new(shared: &Shared, incarnation: Incarnation, stream: Stream) -> Self {
        let identity = shared.identity();
        let site = SiteKey::from_bytes(&identity.site()).ok();
        let begin = site.map(|site| Chain::begin(&StreamId { site, incarnation, stream }));
        let next = shared.last.load(std::sync::atomic::Ordering::Relaxed) + 1;
        let numbers = identity.span(incarnation.0).map_or(1..1, |span| {
            // An incarnation that has no records yet begins after the last one.
            span.first..span.last.map_or(next, |last| last + 1).max(span.first)
        });
        let last = match stream {
            Stream::Records => numbers.end - numbers.start,
            Stream::Sightings { generation } => {
                let key = OwnStreamKey { incarnation: incarnation.0, generation: generation.0 };
                shared.own_logs().get(&key).map_or(0, |log| log.last)
            }
        };
        let chains = shared.chains.lock().unwrap_or_else(PoisonError::into_inner);
        let known = chains.get(&(incarnation, stream)).cloned().unwrap_or_default();
        OwnChain { incarnation, stream, begin, known, numbers, last }
    }

    /// The last item of the stream.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The chain before the first item.
    pub(crate) fn begin(&self) -> Option<Chain> {
        self.begin
    }

    /// Items after a sequence, with the chain there: at least one if there is one, then as many as have `bytes_max`
    /// bytes. The second chain is the one after them.
    pub(crate) fn run(
        &self,
        journal: &Journal,
        after: u64,
        bytes_max: usize,
    ) -> Result<(OwnRun, Option<Chain>), JournalError> {
        let mut run = OwnRun { after: Sequence(after), value: None, items: Vec::new() };
        let Some(start) = self.start(journal, after)? else {
            return Ok((run, None));
        };
        let mut chain = start;
        let mut bytes = 0;
        let mut gap = None;
        let mut at = start;
        self.each(journal, start.sequence.0 + 1, |sequence, item| {
            if sequence != chain.sequence.0 + 1 {
                // Items before it have expired, or were added up.
                gap = Some(sequence);
                return false;
            }
            if sequence > after {
                bytes += item.len();
                if bytes > bytes_max && !run.items.is_empty() {
                    return false;
                }
                run.items.push(item.to_vec());
            }
            chain = chain.then(item);
            if sequence <= after {
                at = chain;
            }
            true
        })?;
        if let Some(first) = gap.filter(|_| run.items.is_empty()) {
            // From the first value on that is kept of what is left.
            let from = first.max(after + 1) - 1;
            let Some(next) = self.checkpoint_from(journal, from)? else {
                run.after = Sequence(from);
                return Ok((run, None));
            };
            // There is no gap behind a value that is kept where items are, so this ends.
            return if next.sequence.0 > after {
                self.run(journal, next.sequence.0, bytes_max)
            } else {
                Ok((run, None))
            };
        }
        if at.sequence.0 < after {
            return Ok((run, None));
        }
        run.value = Some(at.value);
        Ok((run, Some(chain)))
    }

    /// The value at a sequence, where the items up to it are there.
    pub(crate) fn value_at(&self, journal: &Journal, sequence: u64) -> Result<Option<Digest>, JournalError> {
        let (run, _) = self.run(journal, sequence, 0)?;
        Ok(run.value.filter(|_| run.after.0 == sequence))
    }

    /// Remembers values that were worked out.
    pub(crate) fn remember(&self, shared: &Shared, run: &OwnRun, end: Option<Chain>) {
        let Some((value, end)) = run.value.zip(end) else { return };
        let mut chains = shared.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if chains.len() >= STREAMS_MAX {
            chains.clear();
        }
        let values = chains.entry((self.incarnation, self.stream)).or_default();
        *values = vec![Chain { sequence: run.after, value }, end];
        debug_assert!(values.len() <= VALUES_MAX);
    }

    /// The nearest value up to a sequence: one that was asked for, that is kept, or the beginning.
    fn start(&self, journal: &Journal, after: u64) -> Result<Option<Chain>, JournalError> {
        let known = self.known.iter().copied().filter(|chain| chain.sequence.0 <= after);
        let known = known.filter(|chain| chain.sequence.0 <= self.last);
        let key = |sequence| rows::checkpoint(self.incarnation, self.stream, Sequence(sequence));
        let to = key(after);
        let kept = journal.link_last(&to[..to.len() - 8], &to)?;
        let kept = kept.and_then(|(key, value)| chain_of(&key, &value));
        Ok(known.chain(kept).chain(self.begin).max_by_key(|chain| chain.sequence))
    }

    /// The first value that is kept from a sequence on.
    fn checkpoint_from(&self, journal: &Journal, from: u64) -> Result<Option<Chain>, JournalError> {
        let key = rows::checkpoint(self.incarnation, self.stream, Sequence(from));
        let row = journal.link_first(&key[..key.len() - 8], &key)?;
        Ok(row.and_then(|(key, value)| chain_of(&key, &value)).filter(|chain| chain.sequence.0 <= self.last))
    }

    /// Calls `visit` with each item from a sequence on, as it travels, until it says false.
    fn each(
        &self,
        journal: &Journal,
        from: u64,
        mut visit: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<(), JournalError> {
        match self.stream {
            Stream::Records => {
                let Range { start: first, end } = self.numbers;
                let from = first.saturating_add(from - 1);
                if from >= end {
                    return Ok(());
                }
                journal.run(from, end - 1, |number, record| visit(number - first + 1, &record.travelling()))
            }
            Stream::Sightings { generation } => {
                let key = OwnStreamKey { incarnation: self.incarnation.0, generation: generation.0 };
                journal.sightings_from(key, from, |row, bytes| {
                    let is_item = row.chunk.is_none() && row.sequence <= self.last;
                    Ok(if is_item { visit(row.sequence, bytes) } else { row.chunk.is_some() })
                })
            }
        }
    }
}

fn chain_of(key: &[u8], value: &[u8]) -> Option<Chain> {
    let sequence = u64::from_be_bytes(*key.last_chunk()?);
    Some(Chain { sequence: Sequence(sequence), value: Digest(value.try_into().ok()?) })
}
