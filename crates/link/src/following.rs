//! One stream that is followed: how far it is applied, and what waits.

use std::collections::BTreeMap;

use seenit_sites::Digest;
use seenit_sites::message::{HEAD_BYTES, Head};

/// Steps that wait for those before them, a stream. What is beyond is asked for again.
const WAITING_MAX: usize = 64;

/// Bytes of them.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// How far a stream is applied, as it is journalled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The last sequence that is applied.
    pub(crate) applied: u64,
    /// The chain of records at `applied`; of cells the root at `verified`.
    pub(crate) root: Digest,
    /// The last sequence at which what is held here was found to be what its site signed.
    pub(crate) verified: u64,
    /// The signed head that says so.
    pub(crate) head: Option<Vec<u8>>,
    /// Of cells: the sequence that chunks hold; messages after it are kept.
    pub(crate) base: u64,
    /// Bytes of chunks.
    pub(crate) base_bytes: u64,
    /// Bytes of messages after them.
    pub(crate) log_bytes: u64,
}

impl Position {
    pub(crate) fn begin(root: Digest) -> Self {
        Position { applied: 0, root, verified: 0, head: None, base: 0, base_bytes: 0, log_bytes: 0 }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.applied, self.verified, self.base, self.base_bytes, self.log_bytes] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(self.root.0);
        bytes.extend(self.head.iter().flatten());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.split_at_checked(40)?;
        let mut numbers = numbers.chunks_exact(8).map(|one| one.try_into().map(u64::from_be_bytes));
        let mut number = || numbers.next()?.ok();
        let (applied, verified, base) = (number()?, number()?, number()?);
        let (base_bytes, log_bytes) = (number()?, number()?);
        let (root, head) = rest.split_first_chunk::<32>()?;
        let head = match head.len() {
            0 => None,
            HEAD_BYTES => Some(head.to_vec()),
            _ => return None,
        };
        Some(Position { applied, root: Digest(*root), verified, head, base, base_bytes, log_bytes })
    }
}

/// A step of a stream that waits for those before it: a message, or the parts of one.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) head: Head,
    /// The messages as they came, by part.
    pub(crate) parts: Vec<Option<Vec<u8>>>,
}

impl Step {
    pub(crate) fn is_whole(&self) -> bool {
        self.parts.iter().all(Option::is_some)
    }

    fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Vec::len).sum()
    }
}

/// What is held of a stream, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    pub(crate) slot: u16,
    pub(crate) position: Position,
    /// The newest head that its site signed, and its bytes.
    pub(crate) newest: Option<(Head, Vec<u8>)>,
    /// Steps by the sequence that they lead to, from where.
    pub(crate) waiting: BTreeMap<(u64, u64), Step>,
    /// Since when something is missing.
    pub(crate) missing_since: Option<u64>,
    /// When it was asked for the last time, and how often.
    pub(crate) asked: Option<u64>,
    pub(crate) attempts: u32,
    /// Why what is held is not what its site signed.
    pub(crate) mismatch: Option<String>,
    /// How often it was repaired since the start.
    pub(crate) repairs: u64,
    /// When something was applied the last time, by the link's time.
    pub(crate) applied_at: Option<u64>,
}

impl Following {
    pub(crate) fn new(slot: u16, position: Position) -> Self {
        Following {
            slot,
            position,
            newest: None,
            waiting: BTreeMap::new(),
            missing_since: None,
            asked: None,
            attempts: 0,
            mismatch: None,
            repairs: 0,
            applied_at: None,
        }
    }

    /// The newest sequence that its site is known to have.
    pub(crate) fn known(&self) -> u64 {
        let newest = self.newest.as_ref().map_or(0, |(head, _)| head.state().sequence);
        newest.max(self.position.applied)
    }

    /// Takes note of a head.
    pub(crate) fn note(&mut self, head: &Head, bytes: &[u8]) {
        let sequence = head.state().sequence;
        let is_newer = |(newest, _): &(Head, Vec<u8>)| {
            let newest = newest.state();
            (sequence, head.state().time_secs) > (newest.sequence, newest.time_secs)
        };
        if self.newest.as_ref().is_none_or(is_newer) {
            self.newest = Some((*head, bytes.to_vec()));
        }
    }

    /// Lets a part of a step wait. Those that lead farthest make room.
    pub(crate) fn wait(&mut self, head: &Head, (number, count): (usize, usize), bytes: &[u8]) {
        let place = (head.state().sequence, head.previous());
        let step = self.waiting.entry(place);
        let step = step.or_insert_with(|| Step { head: *head, parts: vec![None; count] });
        if step.parts.len() == count
            && let Some(part) = step.parts.get_mut(number)
        {
            *part = Some(bytes.to_vec());
        }
        while self.waiting.len() > WAITING_MAX || self.waiting_bytes() > WAITING_BYTES_MAX {
            self.waiting.pop_last();
        }
    }

    fn waiting_bytes(&self) -> usize {
        self.waiting.values().map(Step::bytes).sum()
    }

    /// Takes out the step that can be applied now; what is behind is forgotten.
    pub(crate) fn next_step(&mut self) -> Option<Step> {
        let applied = self.position.applied;
        self.waiting.retain(|(sequence, _), _| *sequence > applied);
        let ready = |((_, previous), step): (&(u64, u64), &Step)| *previous <= applied && step.is_whole();
        let place =
            self.waiting.iter().find(|(place, step)| ready((place, step))).map(|(place, _)| *place)?;
        self.waiting.remove(&place)
    }

    /// Whether there is more than what is applied, or what is applied is wrong.
    pub(crate) fn is_behind(&self) -> bool {
        self.known() > self.position.applied || self.mismatch.is_some()
    }
}
