//! The ledger's side of the link to other sites: own records as they travel, peers' records as they come in, and what
//! the link itself must not forget.
//!
//! A peer's word counts like that of an own reporter, with these limits:
//!
//! * On a signature all reporters of a peer together count for at most the peer's caps, one for spam and one for ham.
//! * On a shingle a peer has one voice. Its last word counts one unit of spam, none where its spam cap is below what
//!   makes a reporter trusted, and none of ham: no peer can blind this site to replicas.
//! * Its protections are revocations here: a veto holds at the site whose operator gave it.
//! * Its bulk marks, and its MANY, are believed only where its seen counts would count for as much.
//! * It adds no more new signatures, texts and bulk marks in a generation than its share of their capacities
//!   (`reporter_percent`). What is beyond that, what finds the tally full, and what cannot be read is kept and not
//!   counted; what is too old to count is not kept.
//! * Its words settle nobody's trust, and nobody here settles that of its reporters.

use crate::error::{ReadError, WriteError};
use crate::journal::JournalError;
use crate::ledger::Ledger;
use crate::writer::Job;

pub(crate) mod change;
pub(crate) mod table;

pub use table::Peer;

/// The longest key that the link keeps something under: what the store takes.
pub const KEY_BYTES_MAX: usize = 65_535;

/// What is committed together: records that were heard, and what the link remembers of having heard them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Records of peers.
    pub heard: Vec<Heard>,
    /// Keys and values of the link; without a value a key is deleted.
    pub rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Records of one life of a peer that follow each other. That none comes twice is the link's to see to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The peer.
    pub slot: u16,
    /// The life of its folder.
    pub incarnation: u64,
    /// The sequence of the first.
    pub first: u64,
    /// Them, as they travel.
    pub records: Vec<Vec<u8>>,
}

/// Own records of one life that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The sequence of the first: beyond what was asked for where older ones have expired. Without records it is the
    /// one that was asked for.
    pub first: u64,
    /// Them, as they travel.
    pub records: Vec<Vec<u8>>,
}

impl Ledger {
    /// Counts records of peers and keeps what the link remembers, in one commit: durable when it returns. Where it is
    /// refused, nothing has changed.
    pub fn commit_link(&self, batch: Batch) -> Result<(), WriteError> {
        self.ask_and_wait(|reply| Job::Link(batch, reply))
    }

    /// From now on these peers' words count, up to their caps, and nobody else's: what others said is deleted. Durable
    /// when it returns, and all tallies are as if it had always been so.
    pub fn set_peers(&self, peers: &[Peer]) -> Result<(), WriteError> {
        self.ask_and_wait(|reply| Job::SetPeers(peers.to_vec(), reply))
    }

    /// What the link keeps under a key.
    pub fn link_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.readable()?.link_row(key).map_err(unread)
    }

    /// Calls `visit` with what the link keeps under keys that begin so, in order of keys, until it says false.
    pub fn link_rows(
        &self,
        prefix: &[u8],
        from: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), ReadError> {
        self.readable()?.link_rows(prefix, from, visit).map_err(unread)
    }

    /// Own records of a life after a sequence, as they travel: as many as fit so many bytes, and at least one if there
    /// is one.
    pub fn records(&self, incarnation: u64, after: u64, bytes_max: usize) -> Result<Run, ReadError> {
        let (begin, end) = self.life(incarnation)?;
        let from = begin.saturating_add(after);
        let (mut run, mut bytes) = (Run { first: after.saturating_add(1), records: Vec::new() }, 0);
        let read = self.readable()?.run(from, end - 1, |number, record| {
            let record = record.travelling();
            bytes += record.len();
            if run.records.is_empty() {
                run.first = number - begin + 1;
            } else if bytes > bytes_max {
                return false;
            }
            run.records.push(record);
            true
        });
        read.map_err(unread)?;
        Ok(run)
    }

    /// The sequence of the last own record of a life; 0 where there is none. A record that was lost with the end of the
    /// journal is none.
    pub fn records_end(&self, incarnation: u64) -> Result<u64, ReadError> {
        let (begin, end) = self.life(incarnation)?;
        let kept = self.readable()?.last_below(end).map_err(unread)?;
        Ok(kept.filter(|number| *number >= begin).map_or(end, |number| number + 1) - begin)
    }

    /// The first number of a life's records, and the one after its last.
    fn life(&self, incarnation: u64) -> Result<(u64, u64), ReadError> {
        let next = self.shared.last.load(std::sync::atomic::Ordering::Relaxed) + 1;
        let identity = self.shared.identity();
        let life = identity.life(incarnation);
        let life = life.ok_or_else(|| ReadError(format!("there is no incarnation {incarnation}")))?;
        // A life that has begun and has no records yet begins after the last one.
        Ok((life.first, life.last.map_or(next, |last| last + 1).max(life.first)))
    }

    fn readable(&self) -> Result<std::sync::Arc<crate::journal::Journal>, ReadError> {
        self.shared.journal().ok_or_else(|| ReadError("it is being opened".into()))
    }
}

fn unread(error: JournalError) -> ReadError {
    ReadError(error.to_string())
}
