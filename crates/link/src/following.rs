//! One stream that is followed: how far it is applied, what waits, and who is known to have more.

use std::collections::{BTreeMap, VecDeque};

use seenit_sites::key::SiteKey;
use seenit_sites::message::{Head, StreamId};
use seenit_sites::number::Sequence;

use crate::action::Millis;
use crate::position::Position;
use crate::store::{HeldStream, PeerSlot};

/// Messages that wait for those before them, a stream. What is beyond is asked for again.
const WAITING_MAX: usize = 64;

/// Sites that are remembered to have more of a stream: whom to ask. The farthest ones are.
const CLAIMS_MAX: usize = 8;

/// Times that are remembered of when messages were applied, one an hour: more than records are kept for.
const MARKS_MAX: usize = 4096;
const MARK_SECS: u64 = 3600;

/// How long something may be missing before it is asked for: mostly it is on its way.
const GAP_MILLIS: u64 = 1_500;

/// How long an ask waits for its answer; twice as long after each that was in vain.
const ASK_MILLIS: u64 = 1_000;

/// Messages that an ask brings at most, and how long after the last of fewer the next ask follows.
const ANSWERS_MAX: usize = 8;
const PAUSE_MILLIS: u64 = 100;

/// The longest wait.
const ASK_MILLIS_MAX: u64 = 30_000;

/// What has been missing for so long is disagreement; before that it is on its way.
pub(crate) const LATE_MILLIS: u64 = 10_000;

/// What somebody claims to hold is taken for so long to be on its way; then for an error or a lie.
pub(crate) const CLAIM_MILLIS: u64 = 120_000;

/// What is missing of a stream, and how it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Missing {
    /// Since when something is missing.
    pub(crate) since: Option<Millis>,
    /// Since when somebody claims more than its site is known to have signed.
    pub(crate) claimed_since: Option<Millis>,
    /// It is not on its way: it is asked for at once.
    pub(crate) is_urgent: bool,
    /// When it was asked for the last time, and how often in vain.
    asked: Option<Millis>,
    pub(crate) attempts: u32,
    /// Answers since then that led on, and when the next ask follows on them.
    answers: usize,
    goes_on_at: Option<Millis>,
}

/// What is held of a stream, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    pub(crate) slot: PeerSlot,
    pub(crate) position: Position,
    /// The farthest that its site is known to have signed, and when.
    pub(crate) newest: Option<(Sequence, u64)>,
    /// Messages by the item that they follow on and the one that they lead to.
    waiting: BTreeMap<(Sequence, Sequence), Vec<u8>>,
    /// Who claims to have more than is applied here.
    pub(crate) claims: Vec<(SiteKey, Sequence)>,
    /// What is claimed up to here has expired wherever it is asked for.
    pub(crate) void: Sequence,
    pub(crate) missing: Missing,
    /// When it is to be asked for, as the queue has it.
    pub(crate) due: Option<Millis>,
    /// Why what its site signed does not follow on what is held.
    pub(crate) mismatch: Option<String>,
    /// Its site signed what cannot be read: it is not asked for again.
    pub(crate) is_unreadable: bool,
    /// When messages were applied, in seconds, and up to where.
    marks: VecDeque<(Sequence, u64)>,
    /// When the last of it was applied, in seconds; the end of time where that is not known.
    pub(crate) last_secs: u64,
}

impl Following {
    pub(crate) fn new(slot: PeerSlot, position: Position) -> Self {
        Following {
            slot,
            position,
            newest: None,
            waiting: BTreeMap::new(),
            claims: Vec::new(),
            void: Sequence::START,
            missing: Missing::default(),
            due: None,
            mismatch: None,
            is_unreadable: false,
            marks: VecDeque::new(),
            last_secs: u64::MAX,
        }
    }

    /// The stream as the store names it.
    pub(crate) fn held(&self, id: &StreamId) -> HeldStream {
        HeldStream { slot: self.slot, incarnation: id.incarnation, stream: id.stream }
    }

    pub(crate) fn applied(&self) -> Sequence {
        self.position.at.sequence
    }

    /// The farthest that its site is known to have signed.
    pub(crate) fn known(&self) -> Sequence {
        self.newest.map_or(Sequence::START, |(sequence, _)| sequence).max(self.applied())
    }

    /// The farthest that anybody claims to be and that may still be shown.
    pub(crate) fn claimed(&self) -> Sequence {
        let claims = self.claims.iter().map(|(_, sequence)| *sequence);
        claims.filter(|sequence| *sequence > self.void).max().unwrap_or(Sequence::START)
    }

    /// Whether something of it was applied, or its site signed that it is there.
    pub(crate) fn is_known_of(&self) -> bool {
        self.applied() > Sequence::START || self.newest.is_some()
    }

    /// Whether somebody has more than what is applied.
    pub(crate) fn is_behind(&self) -> bool {
        self.known().max(self.claimed()) > self.applied()
    }

    /// Whether it has been behind for so long that it is not on its way any more. A claim that nobody shows is not.
    pub(crate) fn is_late(&self, now: Millis) -> bool {
        let is_missing = self.known() > self.applied() || !self.is_unshown(now);
        self.mismatch.is_some()
            || is_missing && self.missing.since.is_some_and(|since| now.since(since) >= LATE_MILLIS)
    }

    /// Whether somebody has claimed for too long to have more than anybody shows.
    pub(crate) fn is_unshown(&self, now: Millis) -> bool {
        self.missing.claimed_since.is_some_and(|since| now.since(since) >= CLAIM_MILLIS)
    }

    /// When it is to be asked for.
    pub(crate) fn next_ask(&self) -> Option<Millis> {
        let missing = &self.missing;
        let since = missing.since.filter(|_| !self.is_unreadable)?;
        if missing.goes_on_at.is_some() {
            return missing.goes_on_at;
        }
        match missing.asked {
            None if missing.is_urgent => Some(since),
            None => Some(since.after(GAP_MILLIS)),
            Some(asked) => Some(asked.after((ASK_MILLIS << missing.attempts.min(5)).min(ASK_MILLIS_MAX))),
        }
    }

    /// It is being asked for, and so many times in vain.
    pub(crate) fn ask(&mut self, now: Millis) -> u32 {
        let Missing { since, claimed_since, attempts, .. } = self.missing;
        let attempts = attempts.saturating_add(1);
        let asked = Some(now);
        self.missing = Missing { since, claimed_since, asked, attempts, ..Missing::default() };
        attempts
    }

    /// An answer led on: the next ask follows when no more answers are to come.
    pub(crate) fn answered(&mut self, now: Millis) {
        self.missing.answers += 1;
        self.missing.attempts = 0;
        let pause = if self.missing.answers >= ANSWERS_MAX { 0 } else { PAUSE_MILLIS };
        self.missing.goes_on_at = Some(now.after(pause));
    }

    /// Takes note of a head that its site signed.
    pub(crate) fn note(&mut self, head: &Head) {
        self.newest = self.newest.max(Some((head.sequence, head.time_secs)));
    }

    /// Takes note of how far somebody claims to be.
    pub(crate) fn claim(&mut self, site: SiteKey, sequence: Sequence) {
        self.claims.retain(|(one, _)| *one != site);
        if sequence <= self.applied() {
            return;
        }
        self.claims.push((site, sequence));
        if self.claims.len() > CLAIMS_MAX {
            let least = self.claims.iter().enumerate().min_by_key(|(_, (_, sequence))| *sequence);
            if let Some((place, _)) = least {
                self.claims.swap_remove(place);
            }
        }
    }

    /// Lets a message wait that does not follow on what is applied, in room for so many bytes. The farthest make room.
    pub(crate) fn wait(&mut self, head: &Head, bytes: &[u8], room: usize) {
        self.waiting.insert((head.previous, head.sequence), bytes.to_vec());
        while self.waiting.len() > WAITING_MAX || self.waiting.values().map(Vec::len).sum::<usize>() > room {
            self.waiting.pop_last();
        }
    }

    /// Takes out a message that can be applied now; what is behind is forgotten.
    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        let applied = self.applied();
        loop {
            let entry = self.waiting.first_entry().filter(|entry| entry.key().0 <= applied)?;
            let leads_on = entry.key().1 > applied;
            let bytes = entry.remove();
            if leads_on {
                return Some(bytes);
            }
        }
    }

    /// What its site signed cannot be applied, and so nothing that waits for it. Whether that is new.
    pub(crate) fn contradicts(&mut self, why: &str) -> bool {
        self.waiting.clear();
        self.mismatch.replace(why.to_owned()).as_deref() != Some(why)
    }

    /// It is applied so far.
    pub(crate) fn advance(&mut self, position: Position, now: Millis) {
        self.position = position;
        let applied = self.applied();
        self.claims.retain(|(_, sequence)| *sequence > applied);
        (self.missing.since, self.missing.asked, self.missing.claimed_since) = (None, None, None);
        self.mismatch = None;
        // What could not be had from the beginning may be had from here.
        self.void = Sequence::START;
        self.mark(now.secs());
    }

    /// Remembers when so much was applied.
    pub(crate) fn mark(&mut self, secs: u64) {
        (self.last_secs, self.is_unreadable) = (secs, false);
        let applied = self.applied();
        match self.marks.back_mut() {
            Some(last) if secs < last.1.saturating_add(MARK_SECS) => last.0 = applied,
            _ => self.marks.push_back((applied, secs)),
        }
        if self.marks.len() > MARKS_MAX {
            self.marks.pop_front();
        }
    }

    /// The last item that was applied before a time, in seconds.
    pub(crate) fn applied_before(&mut self, secs: u64) -> Option<Sequence> {
        let mut last = None;
        while self.marks.front().is_some_and(|(_, at)| at.saturating_add(MARK_SECS) < secs) {
            last = self.marks.pop_front().map(|(sequence, _)| sequence);
        }
        last
    }
}
