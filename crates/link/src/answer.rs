//! Answers: what we hand on of our own streams and of others', at a rate that leaves us time for mail.

use seenit_sites::ask::{ANSWER_BYTES_MAX, Answer, Ask};
use seenit_sites::beat::StreamId;
use seenit_sites::chain::Chain;
use seenit_sites::list;
use seenit_sites::message::{Head, PAYLOAD_BYTES_MAX, Stream};
use seenit_sites::root::Tree;

use crate::action::{Action, ReplyTo};
use crate::cells::page_of;
use crate::following::Position;
use crate::journal::{Journal, JournalError};
use crate::link::Link;
use crate::rows;

/// Answers a second, and as many at once.
const ANSWERS_PER_SECOND: u64 = 50;

/// Messages that one ask for records brings.
const MESSAGES_MAX: usize = 8;

/// How many answers may still be given.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    left: u64,
    /// Until when they were given out, in milliseconds.
    until: u64,
}

impl Patience {
    fn take(&mut self, now: u64) -> bool {
        let more = now.saturating_sub(self.until) * ANSWERS_PER_SECOND / 1000;
        if more > 0 {
            (self.left, self.until) = ((self.left + more).min(ANSWERS_PER_SECOND), now);
        }
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

impl<J: Journal> Link<J> {
    pub(crate) fn hear_ask(&mut self, ask: Ask, reply: Option<ReplyTo>) -> Result<(), JournalError> {
        if !self.is_member() || !self.repairs.patience.take(self.now) {
            return Ok(());
        }
        if let Ask::Said { head } = &ask {
            let roster = self.papers.roster.as_ref();
            return match roster.map(|roster| Head::decode(head, roster)) {
                Some(Ok(head)) if *head.site() == self.key => self.said_by_us(&head, true),
                _ => Ok(()),
            };
        }
        let Some(reply) = reply else { return Ok(()) };
        let answers = match ask {
            Ask::Records { id, after } if id.site == self.key => self.own_records(&id, after)?,
            Ask::Records { id, after } => self.kept_records(&id, after)?,
            Ask::Leaves { id, page } => self.leaves(&id, page)?.into_iter().collect(),
            Ask::Pages { id, pages } => self.pages(&id, &pages)?.into_iter().collect(),
            Ask::Said { .. } => Vec::new(),
        };
        for answer in answers {
            self.out.push(Action::Answer { to: reply, bytes: answer.encode() });
        }
        Ok(())
    }

    /// Own records, of any life: signed anew, as far as we remember; beyond that as others gave them back to us.
    fn own_records(&mut self, id: &StreamId, after: u64) -> Result<Vec<Answer>, JournalError> {
        let end = self.journal.lives().into_iter().find(|(life, _)| *life == id.incarnation);
        let Some((life, end)) = end.filter(|(_, end)| after < *end) else {
            return self.kept_records(id, after);
        };
        let mut answers = Vec::new();
        let mut after = after;
        while answers.len() < MESSAGES_MAX && after < end {
            let run = self.journal.records(life, after, PAYLOAD_BYTES_MAX)?;
            if run.records.is_empty() {
                break;
            }
            if run.first != after + 1 {
                answers.push(Answer::Expired { id: *id, first: run.first });
                break;
            }
            let Some(link) = self.link_at(life, after)? else {
                answers.push(Answer::Expired { id: *id, first: end + 1 });
                break;
            };
            let (mut chain, mut payload) = (Chain::resume(after, link), Vec::new());
            for record in &run.records {
                if payload.len() + 4 + record.len() > PAYLOAD_BYTES_MAX {
                    break;
                }
                list::push(&mut payload, record);
                chain = chain.then(record);
            }
            if payload.is_empty() {
                break;
            }
            let at = (after, chain.records());
            let message = self.signed(life, Stream::Records, at, chain.link(), &payload)?;
            answers.push(Answer::Message(message));
            after = chain.records();
        }
        Ok(answers)
    }

    /// Another's records, as it signed them.
    fn kept_records(&mut self, id: &StreamId, after: u64) -> Result<Vec<Answer>, JournalError> {
        let Some(following) = self.following.get(id) else { return Ok(Vec::new()) };
        let name = rows::stream(following.slot, id);
        let (prefix, from) = (rows::messages(&name), rows::message(&name, after.saturating_add(1), 0));
        let mut answers = Vec::new();
        self.journal.rows_from(&prefix, &from, &mut |_, bytes| {
            answers.push(Answer::Message(bytes.to_vec()));
            answers.len() < MESSAGES_MAX
        })?;
        Ok(answers)
    }

    fn leaves(&mut self, id: &StreamId, page: u64) -> Result<Option<Answer>, JournalError> {
        let mut answer = None;
        self.with_cells(id, |tree, _, head| {
            let branch = tree.branch(page);
            answer = branch.map(|branch| Answer::Leaves { head: head.to_vec(), branch });
        })?;
        Ok(answer)
    }

    fn pages(&mut self, id: &StreamId, wanted: &[u64]) -> Result<Option<Answer>, JournalError> {
        let mut answer = None;
        self.with_cells(id, |tree, page_of, head| {
            let (mut pages, mut bytes) = (Vec::new(), head.len());
            for &page in wanted {
                let Some(path) = tree.path(page) else { continue };
                let page = page_of(page);
                // A path is at most 24 digests and two numbers.
                bytes += page.len() + 24 * 32 + 32;
                if bytes > ANSWER_BYTES_MAX - 100 && !pages.is_empty() {
                    break;
                }
                pages.push((path, page));
            }
            answer = (!pages.is_empty()).then(|| Answer::Pages { head: head.to_vec(), pages });
        })?;
        Ok(answer)
    }

    /// Shows the tree over cells, their pages, and a signed head of the very same state, if there is one.
    fn with_cells(
        &mut self,
        id: &StreamId,
        mut look: impl FnMut(&Tree, &dyn Fn(u64) -> Vec<u8>, &[u8]),
    ) -> Result<(), JournalError> {
        let Stream::Seen { generation } = id.stream else { return Ok(()) };
        if id.site == self.key && id.incarnation == self.journal.incarnation() {
            let Some((at, root)) = self.own_root(generation)? else { return Ok(()) };
            let head = self.signed(id.incarnation, id.stream, (at, at), root, &[])?;
            let Some(tree) = self.own.trees.get(&generation) else { return Ok(()) };
            return self.journal.own_cells(generation, &mut |counts, sequence| {
                // A gain may have come in between: then nothing is answered, and we are asked again.
                if sequence == at {
                    look(&tree.tree, &|page| page_of(counts, page), &head);
                }
            });
        }
        let Some(following) = self.following.get(id) else { return Ok(()) };
        let Position { applied, verified, head, .. } = following.position.clone();
        let Some(head) = head.filter(|_| applied == verified && following.mismatch.is_none()) else {
            return Ok(());
        };
        self.hold(id)?;
        if let Some(held) = self.held.as_mut().filter(|held| held.id == *id) {
            let (tree, counts) = held.tree_and_counts();
            look(tree, &|page| page_of(counts, page), &head);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_as_many_as_a_second_has_and_no_more() {
        let (mut patience, now) = (Patience::default(), 1_800_000_000_000);
        let burst = (0..1000).filter(|_| patience.take(now)).count();
        assert_eq!(burst as u64, ANSWERS_PER_SECOND, "not as many as all seconds before had");
        // Asked every millisecond, it gives no more than when asked once a second.
        let given = (1..=10_000).filter(|millis| patience.take(now + millis)).count();
        assert_eq!(given as u64, 10 * ANSWERS_PER_SECOND);
        assert!(!patience.take(now), "a clock that goes back gives nothing");
    }
}
