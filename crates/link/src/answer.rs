//! Answers: what we hand on of our own streams and of others', at a rate that leaves us time for mail.

use seenit_sites::ask::{Ask, AskAnswer};
use seenit_sites::message::{Head, Message, StreamId};
use seenit_sites::number::Sequence;
use seenit_sites::roster::Roster;

use crate::action::{Action, Millis, ReplyTo};
use crate::link::Link;
use crate::store::{OwnRun, Read, ReadDone};

/// Answers a second, and as many at once.
const ANSWERS_PER_SECOND: u64 = 50;

/// Messages that one ask brings.
const MESSAGES_MAX: usize = 8;

/// Bytes of own items that one ask brings.
const BYTES_MAX: usize = 2 << 20;

/// How many answers may still be given.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    left: u64,
    /// Until when they were given out.
    until: Millis,
}

impl Patience {
    fn take(&mut self, now: Millis) -> bool {
        let more = now.since(self.until).saturating_mul(ANSWERS_PER_SECOND) / 1000;
        if more > 0 {
            (self.left, self.until) = ((self.left + more).min(ANSWERS_PER_SECOND), now);
        }
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

impl Link {
    pub(crate) fn hear_ask(&mut self, roster: &Roster, bytes: &[u8], reply: Option<ReplyTo>) {
        let Some(ask) = Ask::decode(bytes, roster).ok().filter(|_| self.patience.take(self.now)) else {
            return;
        };
        match (ask, reply) {
            (Ask::Said { head }, _) => {
                if let Some(head) = Head::decode(&head, roster).ok().filter(|head| head.id.site == self.key) {
                    self.note_head(&head);
                }
            }
            (Ask::Range { id, after }, Some(reply)) if id.site == self.key && after < self.own_end(&id) => {
                if self.may_publish() {
                    let then = move |link: &mut Link, run| link.answer_own(id, after, run, reply);
                    self.read_own(id, after, BYTES_MAX, then);
                }
            }
            // Another's; or our own beyond what we remember, as others gave it back to us.
            (Ask::Range { id, after }, Some(reply)) => {
                let held = self.streams.get(&id).filter(|one| one.applied() > after);
                let Some(stream) = held.map(|following| following.held(&id)) else { return };
                let read = Read::Held { stream, after, messages_max: MESSAGES_MAX };
                self.read(read, move |link, done| {
                    if let Some(ReadDone::Held(messages)) = done {
                        link.answer_held(id, after, messages, reply);
                    }
                });
            }
            (Ask::Range { .. }, None) => {}
        }
    }

    /// Own items, signed anew. Where they could not be read, whoever asked asks again.
    fn answer_own(&mut self, id: StreamId, after: Sequence, run: Option<OwnRun>, reply: ReplyTo) {
        let Some(run) = run.filter(|_| self.may_publish()) else { return };
        let start = run.start();
        // Where no value is known, nothing that is left can be handed on: all of it is in the snapshot.
        let first = start.map_or(self.own_end(&id), |start| start.sequence);
        if first > after {
            self.snapshots.is_needed();
            self.answer(reply, &AskAnswer::Expired { id, first: first.next() });
        }
        let Some(mut chain) = start else { return };
        let count = self.own_end(&id).0.saturating_sub(run.after.0).min(run.items.len() as u64);
        let mut items = run.items.get(..count as usize).unwrap_or_default();
        for _ in 0..MESSAGES_MAX {
            let (next, payload, count) = self.packed(id, chain, items);
            if payload.is_empty() {
                break;
            }
            let Some(message) = self.signed(id, chain.sequence, next, &payload) else { return };
            self.answer(reply, &AskAnswer::Message(message));
            (chain, items) = (next, items.get(count..).unwrap_or_default());
        }
    }

    /// Another's messages, as it signed them.
    fn answer_held(&mut self, id: StreamId, after: Sequence, messages: Vec<Vec<u8>>, reply: ReplyTo) {
        let Some(roster) = self.documents.roster.as_ref() else { return };
        let first = messages.first().and_then(|bytes| Message::reread(bytes, roster).ok());
        let first = first.map_or_else(|| self.applied(&id), |message| message.head.previous);
        if first > after {
            self.answer(reply, &AskAnswer::Expired { id, first: first.next() });
        }
        for message in messages.into_iter().take(MESSAGES_MAX) {
            self.answer(reply, &AskAnswer::Message(message));
        }
    }

    fn answer(&mut self, to: ReplyTo, answer: &AskAnswer) {
        self.out.push(Action::Answer { to, bytes: answer.encode() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_as_many_as_a_second_has_and_no_more() {
        let mut patience = Patience::default();
        let now = Millis(1_800_000_000_000);
        let burst = (0..1000).filter(|_| patience.take(now)).count();
        assert_eq!(burst as u64, ANSWERS_PER_SECOND, "not as many as all seconds before had");
        // Asked every millisecond, it gives no more than when asked once a second.
        let given = (1..=10_000).filter(|millis| patience.take(now.after(*millis))).count();
        assert_eq!(given as u64, 10 * ANSWERS_PER_SECOND);
        assert!(!patience.take(now), "a clock that goes back gives nothing");
    }
}
