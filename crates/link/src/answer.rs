//! Answers: what we hand on of our own streams and of others', at a rate that leaves us time for mail.

use seenit_sites::ask::{Answer, Ask};
use seenit_sites::chain::Chain;
use seenit_sites::message::{Head, Message, StreamId};
use seenit_sites::number::Sequence;

use crate::action::{Action, Millis, ReplyTo};
use crate::link::Link;
use crate::own::OwnId;
use crate::read::{Purpose, Wanted};
use crate::store::OwnRun;

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
    pub(crate) fn hear_ask(&mut self, ask: Ask, reply: Option<ReplyTo>) {
        if !self.patience.take(self.now) {
            return;
        }
        match (ask, reply) {
            (Ask::Said { head }, _) => {
                let roster = self.documents.roster.as_ref();
                if let Some(Ok(head)) = roster.map(|roster| Head::decode(&head, roster))
                    && *head.site() == self.key
                {
                    self.note_head(&head);
                }
            }
            (Ask::Range { id, after }, Some(reply)) => self.hear_ask_for_range(id, after, reply),
            (Ask::Range { .. }, None) => {}
        }
    }

    fn hear_ask_for_range(&mut self, id: StreamId, after: Sequence, reply: ReplyTo) {
        let own_id = (id.incarnation, id.stream);
        if id.site == self.key && after < self.own_end(own_id) {
            // A fenced site does not sign.
            if self.own.is_settled && self.own.fenced.is_none() {
                let wanted = Wanted::Own { id: own_id, after, bytes_max: BYTES_MAX };
                self.read(Purpose::AnswerOwn(own_id, after, reply), wanted);
            }
            return;
        }
        // Another's; or our own beyond what we remember, as others gave it back to us.
        let Some(following) = self.streams.get(&id).filter(|one| one.applied() > after) else { return };
        let stream = self.held(&id, following);
        self.read(
            Purpose::AnswerHeld(id, after, reply),
            Wanted::Held { stream, after, messages_max: MESSAGES_MAX },
        );
    }

    /// Own items, signed anew.
    pub(crate) fn answer_own(&mut self, id: OwnId, after: Sequence, run: OwnRun, reply: ReplyTo) {
        let stream = self.own_stream(id);
        let end = self.own_end(id);
        let Some(value) = run.value else {
            let first = end.next();
            self.snapshots.is_needed();
            return self.answer(reply, &Answer::Expired { id: stream, first });
        };
        if self.own.fenced.is_some() || !self.own.is_settled {
            return;
        }
        let count = end.0.saturating_sub(run.after.0).min(run.items.len() as u64) as usize;
        let mut items = run.items.get(..count).unwrap_or_default();
        let mut chain = Chain::resume(run.after, value);
        if run.after > after {
            self.snapshots.is_needed();
            self.answer(reply, &Answer::Expired { id: stream, first: run.after.next() });
        }
        for _ in 0..MESSAGES_MAX {
            let (next, payload, count) = self.packed(id, chain, items);
            if payload.is_empty() {
                break;
            }
            let Some(message) = self.signed(id, chain.sequence(), next, &payload) else { return };
            self.answer(reply, &Answer::Message(message));
            (chain, items) = (next, items.get(count..).unwrap_or_default());
        }
    }

    /// Another's messages, as it signed them.
    pub(crate) fn answer_held(
        &mut self,
        id: &StreamId,
        after: Sequence,
        messages: Vec<Vec<u8>>,
        reply: ReplyTo,
    ) {
        let Some(roster) = self.documents.roster.as_ref() else { return };
        let first = messages.first().and_then(|bytes| Message::reread(bytes, roster).ok());
        let first = first.map(|message| message.head().previous());
        let first = first.unwrap_or_else(|| self.applied(id));
        if first > after {
            self.answer(reply, &Answer::Expired { id: *id, first: first.next() });
        }
        for message in messages.into_iter().take(MESSAGES_MAX) {
            self.answer(reply, &Answer::Message(message));
        }
    }

    /// The last own item that is handed on.
    pub(crate) fn own_end(&self, id: OwnId) -> Sequence {
        let is_present = id.0 == self.own.latest.incarnation;
        self.own.streams.get(&id).map_or(Sequence::START, |one| one.said(is_present))
    }

    fn answer(&mut self, to: ReplyTo, answer: &Answer) {
        self.out.push(Action::Answer { to, bytes: answer.encode() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_as_many_as_a_second_has_and_no_more() {
        let (mut patience, now) = (Patience::default(), Millis(1_800_000_000_000));
        let burst = (0..1000).filter(|_| patience.take(now)).count();
        assert_eq!(burst as u64, ANSWERS_PER_SECOND, "not as many as all seconds before had");
        // Asked every millisecond, it gives no more than when asked once a second.
        let given = (1..=10_000).filter(|millis| patience.take(now.after(*millis))).count();
        assert_eq!(given as u64, 10 * ANSWERS_PER_SECOND);
        assert!(!patience.take(now), "a clock that goes back gives nothing");
    }
}
