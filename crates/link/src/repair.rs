//! Repair: what was missed is asked for, first of its own site, then of others who have more. Whatever is answered must
//! lead to a value that its site signed.

use seenit_sites::ask::{Ask, AskAnswer};
use seenit_sites::key::SiteKey;
use seenit_sites::message::{Message, StreamId};
use seenit_sites::number::Sequence;
use seenit_sites::roster::Roster;

use crate::action::Action;
use crate::link::Link;

/// Asks that one tick sends: somebody who missed much must not flood those who help.
const ASKS_MAX: usize = 8;

/// A site that was heard within this time is asked first for what it said itself.
const ALIVE_MILLIS: u64 = 30_000;

impl Link {
    /// Asks for what is missing and due.
    pub(crate) fn repair(&mut self) {
        for _ in 0..ASKS_MAX {
            let Some(&(due, id)) = self.due.first() else { return };
            if due > self.now {
                return;
            }
            let now = self.now;
            let Some(following) = self.streams.get_mut(&id) else {
                self.due.remove(&(due, id));
                continue;
            };
            let attempts = following.ask(now);
            self.refresh(&id);
            if let Some(to) = self.whom_to_ask(&id, attempts) {
                let after = self.applied(&id);
                self.neighbours.entry(id.site).or_default().repairs += 1;
                self.out.push(Action::Ask { to, bytes: Ask::Range { id, after }.encode() });
            }
        }
    }

    /// Its own site first; then those who claim to have more of it than we do, in turn.
    fn whom_to_ask(&self, id: &StreamId, attempts: u32) -> Option<SiteKey> {
        let heard_at = self.neighbours.get(&id.site).and_then(|one| one.heard_at);
        let is_alive = heard_at.is_some_and(|at| self.now.since(at) < ALIVE_MILLIS);
        if id.site != self.key && is_alive && attempts % 2 == 1 {
            return Some(id.site);
        }
        let claims = self.streams.get(id).map(|one| one.claims.as_slice()).unwrap_or_default();
        let place = (attempts as usize / 2).checked_rem(claims.len());
        let other = place.and_then(|place| claims.get(place)).map(|(site, _)| *site);
        other.or((id.site != self.key).then_some(id.site))
    }

    pub(crate) fn hear_answer(&mut self, roster: &Roster, bytes: &[u8]) {
        match AskAnswer::decode(bytes, roster) {
            Ok(AskAnswer::Message(bytes)) => {
                let Ok(Message { head, .. }) = Message::decode(&bytes, roster) else { return };
                let id = head.id;
                let before = self.applied(&id);
                self.take_message(&head, &bytes);
                let now = self.now;
                if let Some(following) = self.streams.get_mut(&id)
                    && following.applied() > before
                    && following.is_behind()
                {
                    following.answered(now);
                    self.refresh(&id);
                }
            }
            Ok(AskAnswer::Expired { id, first }) => self.hear_expired(&id, first),
            Err(_) => {}
        }
    }

    /// Somebody has a stream only from an item on.
    fn hear_expired(&mut self, id: &StreamId, first: Sequence) {
        let Some(following) = self.streams.get_mut(id) else { return };
        if following.applied().next() >= first {
            return;
        }
        if following.newest.is_none() {
            // Its site does not speak of it any more: what others claim to hold of it has expired.
            following.void = following.void.max(Sequence(first.0 - 1));
            self.refresh(id);
        }
        if id.site != self.key {
            self.snapshots.want(id.site);
        }
    }
}
