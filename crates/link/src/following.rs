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
    /// Since when somebody claims to hold more of it than its site is known to have signed.
    pub(crate) claimed_since: Option<u64>,
    /// It is not on its way: it is asked for at once.
    pub(crate) is_urgent: bool,
    /// When it was asked for the last time, and how often.
    pub(crate) asked: Option<u64>,
    pub(crate) attempts: u32,
    /// Why what is held is not what its site signed.
    pub(crate) mismatch: Option<String>,
    /// How often it was repaired since the start.
    pub(crate) repairs: u64,
}

impl Following {
    pub(crate) fn new(slot: u16, position: Position) -> Self {
        Following {
            slot,
            position,
            newest: None,
            waiting: BTreeMap::new(),
            missing_since: None,
            claimed_since: None,
            is_urgent: false,
            asked: None,
            attempts: 0,
            mismatch: None,
            repairs: 0,
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

    pub(crate) fn waiting_bytes(&self) -> usize {
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

    /// Whether something of it was applied, or its site signed that it is there.
    pub(crate) fn is_known_of(&self) -> bool {
        self.position.applied > 0 || self.newest.is_some()
    }

    /// Whether there is more than what is applied, or what is applied is wrong.
    pub(crate) fn is_behind(&self) -> bool {
        self.known() > self.position.applied || self.mismatch.is_some()
    }
}

#[cfg(test)]
mod tests {
    use seenit_sites::message::Stream;

    use super::*;
    use crate::unit::{head_of, id, message, records};

    fn at(applied: u64) -> Following {
        Following::new(1, Position { applied, ..Position::begin(Digest([1; 32])) })
    }

    /// A head of so many bytes of payload that leads from one sequence to another.
    fn step(previous: u64, sequence: u64) -> Head {
        head_of(&message(2, (id(2, Stream::Records), previous, sequence), Digest([0; 32]), b"x"))
    }

    #[test]
    fn positions_are_read_as_they_were_written() {
        let bare = Position {
            applied: 1,
            verified: 2,
            base: 3,
            base_bytes: 4,
            log_bytes: u64::MAX,
            ..at(0).position
        };
        let head = records(2, 1, &[b"x"]).get(..HEAD_BYTES).map(<[u8]>::to_vec);
        for position in [Position { head, ..bare.clone() }, bare] {
            let bytes = position.encode();
            assert_eq!(Position::decode(&bytes), Some(position.clone()));
            let is_bare = |end: &usize| position.head.is_some() && *end == bytes.len() - HEAD_BYTES;
            for end in (0..bytes.len()).filter(|end| !is_bare(end)) {
                assert_eq!(Position::decode(&bytes[..end]), None, "{end}");
            }
            assert_eq!(Position::decode(&[bytes.as_slice(), b"!"].concat()), None);
        }
    }

    #[test]
    fn what_waits_is_bounded_and_the_farthest_makes_room() {
        let mut following = at(0);
        for sequence in 2..2 + 2 * WAITING_MAX as u64 {
            following.wait(&step(sequence - 1, sequence), (0, 1), b"bytes");
        }
        assert_eq!(following.waiting.len(), WAITING_MAX);
        assert_eq!(following.waiting.keys().next(), Some(&(2, 1)), "the nearest is kept");
        let mut following = at(0);
        let large = vec![0; WAITING_BYTES_MAX / 4 + 1];
        for sequence in 2..10 {
            following.wait(&step(sequence - 1, sequence), (0, 1), &large);
        }
        assert_eq!(following.waiting.len(), 3);
        assert!(following.waiting_bytes() <= WAITING_BYTES_MAX);
    }

    #[test]
    fn the_next_step_is_whole_and_follows_on_what_is_applied() {
        let mut following = at(10);
        following.wait(&step(8, 9), (0, 1), b"behind");
        following.wait(&step(11, 12), (0, 1), b"ahead");
        assert!(following.next_step().is_none());
        assert_eq!(following.waiting.len(), 1, "what is behind is forgotten");
        following.wait(&step(9, 11), (0, 2), b"half");
        assert!(following.next_step().is_none(), "a part is missing");
        following.wait(&step(9, 11), (0, 3), b"of another number of parts");
        following.wait(&step(9, 11), (1, 2), b"other half");
        let next = following.next_step().expect("it overlaps what is applied, and goes on");
        assert_eq!((next.head.previous(), next.parts[0].as_deref()), (9, Some(b"half".as_slice())));
        following.position.applied = 11;
        assert_eq!(following.next_step().expect("the one ahead").head.previous(), 11);
    }

    #[test]
    fn the_newest_head_is_the_farthest_and_of_two_the_later() {
        let mut following = at(10);
        assert!(!following.is_behind() && following.known() == 10);
        following.note(&step(8, 9), b"old");
        assert!(!following.is_behind(), "what is behind misses nothing");
        following.note(&step(11, 12), b"new");
        following.note(&step(10, 12), b"as old");
        assert_eq!(following.newest.as_ref().map(|(_, bytes)| bytes.as_slice()), Some(b"new".as_slice()));
        assert!(following.is_behind() && following.known() == 12);
        following.position.applied = 12;
        following.mismatch = Some("other pages".into());
        assert!(following.is_behind(), "what is wrong is behind");
    }
}
