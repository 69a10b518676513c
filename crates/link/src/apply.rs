//! What others say: taken in order, once, and only as far as it leads where its site signed that it leads.

use std::collections::BTreeMap;

use seenit_sites::beat::StreamId;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::message::{Head, Message, Stream};
use seenit_sites::{list, part};

use crate::action::Action;
use crate::cells::{self, Held};
use crate::following::{Position, Step};
use crate::journal::{Batch, Heard, Journal, JournalError};
use crate::link::Link;
use crate::rows;

/// How far ahead a peer's generation may be: its clock is ahead of ours, or ours behind.
const SKEW_GENERATIONS: u64 = 1;

/// Bytes of steps that wait, of all streams together.
pub(crate) const WAITING_BYTES_MAX: usize = 64 << 20;

impl<J: Journal> Link<J> {
    /// A message, from whomever.
    pub(crate) fn hear_message(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(()) };
        let Ok(message) = Message::decode(bytes, roster) else { return Ok(()) };
        let (head, id) = (*message.head(), StreamId::of(message.head()));
        let head_bytes = message.head_bytes().to_vec();
        let place = match id.stream {
            _ if message.is_heartbeat() => return self.hear_head(&head, &head_bytes),
            Stream::Records => (0, 1),
            Stream::Seen { .. } => match part::part(message.payload()) {
                Ok((number, count, _)) => (number, count),
                Err(_) => return Ok(()),
            },
        };
        if self.note_head(&head, &head_bytes)?
            && let Some(following) = self.following.get_mut(&id)
            && head.state().sequence > following.position.applied
        {
            following.wait(&head, place, bytes);
        }
        self.drain(&id)?;
        self.make_room(&id);
        Ok(())
    }

    /// Where more waits than there is room for, that of the site which has most of it makes room: it is asked for
    /// again.
    fn make_room(&mut self, id: &StreamId) {
        if self.following.get(id).is_none_or(|following| following.waiting.is_empty()) {
            return;
        }
        let mut of_sites: BTreeMap<SiteKey, usize> = BTreeMap::new();
        for (id, following) in &self.following {
            *of_sites.entry(id.site).or_default() += following.waiting_bytes();
        }
        if of_sites.values().sum::<usize>() <= WAITING_BYTES_MAX {
            return;
        }
        let most = of_sites.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(site, _)| site);
        let of_most = self.following.iter_mut().filter(|(id, _)| Some(id.site) == most);
        if let Some((_, following)) = of_most.max_by_key(|(_, following)| following.waiting_bytes()) {
            following.waiting.clear();
        }
    }

    /// A heartbeat: what its site has, as it signed it.
    pub(crate) fn hear_head(&mut self, head: &Head, bytes: &[u8]) -> Result<(), JournalError> {
        if self.note_head(head, bytes)? {
            self.drain(&StreamId::of(head))?;
        }
        Ok(())
    }

    /// Takes note of what a site says to have; whether it is a stream to follow.
    fn note_head(&mut self, head: &Head, bytes: &[u8]) -> Result<bool, JournalError> {
        let id = StreamId::of(head);
        if id.site == self.key && id.incarnation == self.journal.incarnation() {
            self.said_by_us(head, false)?;
            return Ok(false);
        }
        if let Stream::Seen { generation } = id.stream
            && !self.is_countable(&id, generation, head.state().manifest)
        {
            return Ok(false);
        }
        let following = self.follow(id);
        Ok(following.map(|following| following.note(head, bytes)).is_some())
    }

    /// Whether a generation of a peer's can be counted.
    pub(crate) fn is_countable(&mut self, id: &StreamId, generation: u64, manifest: u64) -> bool {
        let (now, oldest) = (self.journal.now(), self.journal.oldest());
        if self.is_ahead(generation) {
            let name = self.papers.name_of(&id.site);
            let skewed = self.neighbours.entry(id.site).or_default().skewed.replace(generation);
            // Once, and not for each generation that somebody comes up with.
            if !skewed.is_some_and(|before| self.is_ahead(before)) {
                self.warn(format!("{name} speaks of generation {generation}, and it is {now} here: refused"));
            }
            return false;
        }
        generation >= oldest && self.papers.manifests.applies(manifest, generation)
    }

    /// Whether a generation is farther ahead than clocks may be apart.
    pub(crate) fn is_ahead(&self, generation: u64) -> bool {
        generation > self.journal.now().saturating_add(SKEW_GENERATIONS)
    }

    /// Applies all that follows on what is applied.
    pub(crate) fn drain(&mut self, id: &StreamId) -> Result<(), JournalError> {
        while let Some(step) = self.following.get_mut(id).and_then(|following| following.next_step()) {
            let is_applied = match id.stream {
                Stream::Records => self.apply_records(id, &step)?,
                Stream::Seen { generation } => self.apply_seen(id, generation, &step)?,
            };
            if !is_applied {
                break;
            }
        }
        let now = self.now;
        if let Some(following) = self.following.get_mut(id) {
            match following.is_behind() {
                true => following.missing_since = following.missing_since.or(Some(now)),
                false => (following.missing_since, following.asked, following.attempts) = (None, None, 0),
            }
        }
        Ok(())
    }

    fn apply_records(&mut self, id: &StreamId, step: &Step) -> Result<bool, JournalError> {
        let Some(following) = self.following.get(id) else { return Ok(false) };
        let (slot, position) = (following.slot, following.position.clone());
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(false) };
        let Some(bytes) = step.parts.first().and_then(Option::as_ref) else { return Ok(false) };
        let (previous, state) = (step.head.previous(), *step.head.state());
        let items = Message::reread(bytes, roster).ok().and_then(|message| {
            let items = list::items(message.payload(), state.sequence - previous).ok()?;
            Some(items.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>())
        });
        let Some(items) = items else {
            return self.mismatched(id, "a message of records cannot be read");
        };
        let records = items.get((position.applied - previous) as usize..).unwrap_or_default().to_vec();
        let chain = Chain::resume(position.applied, position.root);
        let chain = records.iter().fold(chain, |chain, record| chain.then(record));
        if chain.link() != state.root {
            return self.mismatched(id, "its records do not follow on those held here");
        }
        let heard = Heard { slot, incarnation: id.incarnation, first: position.applied + 1, records };
        let name = rows::stream(slot, id);
        let message = (rows::message(&name, state.sequence, 0), Some(bytes.clone()));
        let batch = Batch { heard: vec![heard], rows: vec![message] };
        let head = bytes.get(..seenit_sites::message::HEAD_BYTES).map(<[u8]>::to_vec);
        let log_bytes = position.log_bytes + bytes.len() as u64;
        let (applied, root) = (state.sequence, state.root);
        let position = Position { applied, root, verified: applied, head, log_bytes, ..position };
        self.put_position(id, position, batch)?;
        self.applied(id);
        Ok(true)
    }

    fn apply_seen(&mut self, id: &StreamId, generation: u64, step: &Step) -> Result<bool, JournalError> {
        let Some(following) = self.following.get(id) else { return Ok(false) };
        let (slot, position) = (following.slot, following.position.clone());
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(false) };
        let gains = match cells::gains_of(step, position.applied, roster) {
            Ok(gains) => gains,
            Err(why) => return self.mismatched(id, &format!("a gain of counts cannot be read: {why}")),
        };
        let like = self.journal.empty(generation)?;
        let increments = match cells::increments(&gains, &like) {
            Ok(increments) => increments,
            Err(why) => return self.mismatched(id, &format!("a gain of counts cannot be read: {why}")),
        };
        drop(like);
        let changes = self.fold_changes(id, generation, increments)?;
        let (name, state) = (rows::stream(slot, id), step.head.state());
        let mut batch = Batch::default();
        let mut log_bytes = position.log_bytes;
        for (number, bytes) in step.parts.iter().flatten().enumerate() {
            log_bytes += bytes.len() as u64;
            let key = rows::message(&name, state.sequence, number as u16);
            batch.rows.push((key, Some(bytes.clone())));
        }
        let position = Position { applied: state.sequence, log_bytes, ..position };
        if let Some(held) = self.held.as_mut().filter(|held| held.id == *id) {
            held.apply(&gains)?;
        }
        // Whether its pages are those that its site signed, an audit finds out.
        self.put_position(id, position, batch)?;
        self.raise_fold(&id.site, generation, &changes);
        self.applied(id);
        Ok(true)
    }

    /// Something of a stream was applied.
    fn applied(&mut self, id: &StreamId) {
        let Some(following) = self.following.get_mut(id) else { return };
        (following.missing_since, following.asked) = (None, None);
        if id.stream == Stream::Records {
            following.mismatch = None;
            self.own.has_news = true;
        }
    }

    /// What a site says does not fit what is held of it: it is repaired. Returns that nothing was applied.
    pub(crate) fn mismatched(&mut self, id: &StreamId, why: &str) -> Result<bool, JournalError> {
        let name = self.papers.name_of(&id.site);
        let Some(following) = self.following.get_mut(id) else { return Ok(false) };
        let is_new = following.mismatch.as_deref() != Some(why);
        following.mismatch = Some(why.to_owned());
        following.waiting.clear();
        let head = following.position.head.clone();
        if is_new {
            let stream = described(id.stream);
            self.warn(format!("{stream} of {name}: {why}; it is being repaired"));
        }
        // Perhaps it came back from a backup, and does not know that it had been further.
        if let Some(head) = head {
            let bytes = seenit_sites::ask::Ask::Said { head }.encode();
            self.out.push(Action::Ask { to: id.site, bytes });
        }
        Ok(false)
    }

    /// Brings the copy of a peer's cells into memory.
    pub(crate) fn hold(&mut self, id: &StreamId) -> Result<(), JournalError> {
        if self.held.as_ref().is_some_and(|held| held.id == *id) {
            return Ok(());
        }
        let Stream::Seen { generation } = id.stream else { return Ok(()) };
        let (Some(following), Some(roster)) = (self.following.get(id), self.papers.roster.as_ref()) else {
            return Ok(());
        };
        let (at, applied) = ((generation, &following.position), following.position.applied);
        self.held = None;
        match cells::read(&self.journal, roster, (following.slot, id), at) {
            Ok(counts) => self.held = Some(Held::new(*id, counts, applied)),
            Err(error) => drop(self.mismatched(id, &format!("the copy here cannot be read: {error}"))?),
        }
        Ok(())
    }
}

/// A stream in words.
pub(crate) fn described(stream: Stream) -> String {
    match stream {
        Stream::Records => "the records".into(),
        Stream::Seen { generation } => format!("the seen counts of generation {generation}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{GENERATION, NOW, SEEN, id, link, message};
    use seenit_sites::Digest;

    #[test]
    fn generations_that_are_too_far_ahead_or_too_old_are_not_counted() {
        let (mut link, id) = (link(), id(2, SEEN));
        let (oldest, ahead) = (link.journal.oldest(), GENERATION + SKEW_GENERATIONS);
        assert!(link.is_countable(&id, oldest, 1) && link.is_countable(&id, ahead, 1));
        assert!(!link.is_countable(&id, oldest - 1, 1) && !link.is_countable(&id, ahead + 1, 1));
        assert!(!link.is_countable(&id, GENERATION, 2), "there is no such manifest");
        assert!(!link.is_countable(&id, u64::MAX, 1));
    }

    #[test]
    fn a_wrong_clock_is_warned_of_once_and_the_alarm_ends_when_it_is_right() {
        let (mut link, id) = (link(), id(2, SEEN));
        (2..50).for_each(|ahead| assert!(!link.is_countable(&id, GENERATION + ahead, 1)));
        assert_eq!(link.out.len(), 1, "{:?}", link.out);
        assert_eq!(link.status(NOW).alarms.len(), 1);
        link.journal.set_now(GENERATION + 49);
        assert!(link.status(NOW).alarms.is_empty());
    }

    #[test]
    fn what_waits_of_all_streams_together_is_bounded() {
        let (mut link, large) = (link(), vec![0; 500_000]);
        let waiting = |link: &Link<crate::unit::Double>| {
            link.following.values().map(|following| following.waiting_bytes()).sum::<usize>()
        };
        let honest = message(3, (id(3, Stream::Records), 1, 2), Digest([0; 32]), b"x");
        link.hear(NOW, &honest, None);
        for number in 0..200 {
            let id = StreamId { incarnation: 1 + number / 20, ..id(2, Stream::Records) };
            let at = (id, 1 + number, 2 + number);
            link.hear(NOW, &message(2, at, Digest([0; 32]), &large), None);
            assert!(waiting(&link) <= WAITING_BYTES_MAX);
        }
        assert_eq!(link.following[&id(3, Stream::Records)].waiting.len(), 1, "others do not suffer from it");
    }
}
