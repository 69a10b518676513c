//! Repair: what was missed is asked for, first of its own site, then of others; records run by run, cells page by
//! page (`session`). Whatever is answered must lead to a root that its site signed.

use std::collections::BTreeSet;

use seenit_sites::ask::{Answer, Ask};
use seenit_sites::beat::StreamId;
use seenit_sites::key::SiteKey;
use seenit_sites::message::{HEAD_BYTES, Head, Stream};

use crate::action::Action;
use crate::answer::Patience;
use crate::journal::{Journal, JournalError};
use crate::link::Link;
use crate::session::Session;

/// How long something may be missing before it is asked for: mostly it is on its way.
const GAP_MILLIS: u64 = 1_500;

/// How long an ask waits for its answer; twice as long after each that was in vain.
const ASK_MILLIS: u64 = 1_000;

/// The longest wait.
const ASK_MILLIS_MAX: u64 = 30_000;

/// What somebody claims to hold is taken for so long to be on its way; then for an error or a lie.
const CLAIM_MILLIS: u64 = 120_000;

/// Asks that one tick sends: somebody who missed much must not flood those who help.
const ASKS_MAX: usize = 8;

/// What is being repaired.
#[derive(Default)]
pub(crate) struct Repairs {
    pub(crate) session: Option<Session>,
    /// Own streams of which somebody claims to hold more.
    pub(crate) doubts: BTreeSet<StreamId>,
    /// What we may still hand on.
    pub(crate) patience: Patience,
}

impl Repairs {
    pub(crate) fn forget(&mut self, site: &SiteKey) {
        if self.session.as_ref().is_some_and(|session| session.held.id.site == *site) {
            self.session = None;
        }
        self.doubts.retain(|id| id.site != *site);
    }
}

impl<J: Journal> Link<J> {
    /// Asks for what is missing.
    pub(crate) fn repair(&mut self) -> Result<(), JournalError> {
        for id in std::mem::take(&mut self.repairs.doubts) {
            self.ask_about_ourselves(id);
        }
        let (now, mut asks) = (self.now, 0);
        let ids: Vec<StreamId> = self.following.keys().copied().collect();
        for id in ids {
            let most = self.most_held(&id);
            let Some(following) = self.following.get_mut(&id) else { continue };
            let is_claimed = most > following.known();
            following.claimed_since = is_claimed.then(|| following.claimed_since.unwrap_or(now));
            let is_behind = following.is_behind() || most > following.position.applied;
            if !is_behind {
                following.missing_since = None;
                continue;
            }
            let since = *following.missing_since.get_or_insert(now);
            let patience = (ASK_MILLIS << following.attempts.min(5)).min(ASK_MILLIS_MAX);
            let is_due = following.asked.is_none_or(|asked| now >= asked + patience);
            let is_on_its_way = now < since + GAP_MILLIS && !following.is_urgent;
            if is_on_its_way || !is_due || asks == ASKS_MAX {
                continue;
            }
            asks += 1;
            (following.asked, following.attempts) = (Some(now), following.attempts.saturating_add(1));
            following.is_urgent = false;
            let attempts = following.attempts;
            self.ask(&id, attempts)?;
        }
        Ok(())
    }

    /// The farthest that any neighbour claims to be with a stream.
    pub(crate) fn most_held(&self, id: &StreamId) -> u64 {
        self.neighbours.values().filter_map(|one| one.holdings.get(id)).max().copied().unwrap_or(0)
    }

    /// Somebody who claims to hold more of a stream than its site is known to have signed, for so long that it would
    /// have been shown: who, and up to where.
    pub(crate) fn unshown_claim(&self, id: &StreamId, now: u64) -> Option<(SiteKey, u64)> {
        let since = self.following.get(id)?.claimed_since?;
        let claims = self.neighbours.iter().filter_map(|(site, one)| Some((*one.holdings.get(id)?, *site)));
        let (sequence, site) = claims.max()?;
        (now.saturating_sub(since) >= CLAIM_MILLIS).then_some((site, sequence))
    }

    fn ask(&mut self, id: &StreamId, attempts: u32) -> Result<(), JournalError> {
        let Some(to) = self.whom_to_ask(id, attempts) else { return Ok(()) };
        let after = self.following.get(id).map_or(0, |following| following.position.applied);
        let ask = match id.stream {
            Stream::Records => Some(Ask::Records { id: *id, after }),
            Stream::Seen { generation } => self.ask_for_cells(id, generation)?,
        };
        if let Some(ask) = ask {
            self.out.push(Action::Ask { to, bytes: ask.encode() });
        }
        Ok(())
    }

    /// Its own site first; then those who hold more of it than we do, in turn.
    fn whom_to_ask(&self, id: &StreamId, attempts: u32) -> Option<SiteKey> {
        let applied = self.following.get(id).map_or(0, |following| following.position.applied);
        let is_present = self.neighbours.get(&id.site).is_some_and(|one| one.incarnation == id.incarnation);
        if id.site != self.key && is_present && attempts % 2 == 1 {
            return Some(id.site);
        }
        let has_more = |site: &&SiteKey| {
            **site != self.key
                && self
                    .neighbours
                    .get(*site)
                    .and_then(|one| one.holdings.get(id))
                    .is_some_and(|held| *held >= applied)
        };
        let others: Vec<&SiteKey> = self.neighbours.keys().filter(has_more).collect();
        let place = (attempts as usize / 2).checked_rem(others.len());
        let other = place.and_then(|place| others.get(place)).map(|site| **site);
        other.or((id.site != self.key).then_some(id.site))
    }

    /// Somebody holds more of our present life than we remember: whoever it is shows it.
    fn ask_about_ourselves(&mut self, id: StreamId) {
        let after = match id.stream {
            Stream::Records => self.own.confirmed,
            Stream::Seen { .. } => 0,
        };
        let holds = |(site, one): (&SiteKey, &crate::life::Neighbour)| {
            one.holdings.get(&id).map(|held| (*held, *site))
        };
        let Some((_, to)) = self.neighbours.iter().filter_map(holds).max() else { return };
        let ask = match id.stream {
            Stream::Records => Ask::Records { id, after },
            Stream::Seen { .. } => Ask::Leaves { id, page: 0 },
        };
        self.out.push(Action::Ask { to, bytes: ask.encode() });
    }

    pub(crate) fn hear_answer(&mut self, answer: Answer) -> Result<(), JournalError> {
        match answer {
            Answer::Message(bytes) => {
                self.heard_of_ourselves(bytes.get(..HEAD_BYTES).unwrap_or_default())?;
                self.hear_message(&bytes)?;
                self.ask_on(&bytes)
            }
            Answer::Expired { id, first } => {
                let is_behind = |one: &crate::following::Following| one.position.applied + 1 < first;
                if self.following.get(&id).is_some_and(is_behind) {
                    self.packs.want(id.site);
                }
                Ok(())
            }
            Answer::Leaves { head, branch } => self.take_leaves(&head, &branch),
            Answer::Pages { head, pages } => self.take_pages(&head, &pages),
        }
    }

    /// After an answer the next question follows at once.
    fn ask_on(&mut self, message: &[u8]) -> Result<(), JournalError> {
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(()) };
        let head = message.get(..HEAD_BYTES);
        let Some(Ok(head)) = head.map(|head| Head::decode(head, roster)) else { return Ok(()) };
        self.go_on(&StreamId::of(&head));
        Ok(())
    }

    /// An answer came: the next question need not wait.
    pub(crate) fn go_on(&mut self, id: &StreamId) {
        let most = self.most_held(id);
        if let Some(following) = self.following.get_mut(id)
            && (following.is_behind() || most > following.position.applied)
        {
            following.asked = None;
            following.attempts = following.attempts.saturating_sub(1);
            following.is_urgent = true;
        }
    }

    /// Somebody answered with a head of our own: perhaps of something that we do not remember.
    pub(crate) fn heard_of_ourselves(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(()) };
        match Head::decode(bytes, roster) {
            Ok(head) if *head.site() == self.key => self.said_by_us(&head, true),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{LIFE, NOW, beat, holding, id, link, records, signed};

    /// A member that claims to hold what there is not cannot keep others from agreeing.
    #[test]
    fn a_claim_that_nobody_shows_is_an_alarm_and_not_a_disagreement() {
        let mut link = link();
        link.hear(NOW, &records(2, LIFE, &[b"a record"]), None);
        link.hear(NOW, &signed(2, &beat(2, NOW / 1000)), None);
        let agrees = |link: &Link<crate::unit::Double>| link.status(link.now).sites[0].agrees;
        assert_eq!(agrees(&link), Some(true));
        // It claims ever more, so that nobody gets tired of asking.
        for (more, secs) in (0..200).step_by(2).enumerate() {
            let mut claim = beat(3, NOW / 1000 + secs);
            claim.holdings = vec![holding(id(2, Stream::Records), 1000 + more as u64)];
            link.hear(NOW + secs * 1000, &signed(3, &claim), None);
            link.tick(NOW + secs * 1000);
            let is_over = secs * 1000 >= CLAIM_MILLIS;
            assert_eq!(agrees(&link), is_over.then_some(true), "after {secs} s");
            let is_told =
                |alarm: &String| alarm.starts_with("site3 claims to hold the records of site2 up to 10");
            assert_eq!(link.status(link.now).alarms.iter().any(is_told), is_over);
        }
    }
}
