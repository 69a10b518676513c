//! What is forgotten when a generation ends: streams that are too old, and messages that help nobody any more.

use seenit_sites::beat::StreamId;
use seenit_sites::message::{Message, Stream};

use crate::cells;
use crate::journal::{Batch, Journal, JournalError};
use crate::link::Link;
use crate::rows;

/// A message that is farther ahead in time was written by a clock that is wrong, or by somebody who wants it kept.
const FUTURE_SECS: u64 = 3600;

impl<J: Journal> Link<J> {
    /// A new generation has begun, perhaps: old ones are forgotten, and what came early is counted.
    pub(crate) fn turn(&mut self) -> Result<(), JournalError> {
        let generation = self.journal.now();
        if generation == self.generation {
            return Ok(());
        }
        let oldest = self.journal.oldest();
        let is_old = |id: &&StreamId| matches!(id.stream, Stream::Seen { generation } if generation < oldest);
        let old: Vec<StreamId> = self.following.keys().filter(is_old).copied().collect();
        for id in old {
            self.forget_stream(&id)?;
        }
        self.forget_old_messages()?;
        self.own.forget_before(oldest);
        self.folds.forget_before(oldest);
        // Else they would take the place of holdings that receipts are made of.
        for neighbour in self.neighbours.values_mut() {
            neighbour.holdings.retain(|id, _| !is_old(&id));
        }
        for early in self.generation + 1..=generation {
            self.fold_anew(early);
        }
        self.generation = generation;
        Ok(())
    }

    fn forget_stream(&mut self, id: &StreamId) -> Result<(), JournalError> {
        let Some(following) = self.following.get(id) else { return Ok(()) };
        let mut batch = cells::base_rows(&self.journal, (following.slot, id), &[])?;
        batch.rows.push((rows::position(&rows::stream(following.slot, id)), None));
        self.journal.commit(batch)?;
        self.following.remove(id);
        if self.held.as_ref().is_some_and(|held| held.id == *id) {
            self.held = None;
        }
        Ok(())
    }

    /// Messages of records that have expired help nobody any more.
    fn forget_old_messages(&mut self) -> Result<(), JournalError> {
        let kept = self.journal.kept_from()..=self.now / 1000 + FUTURE_SECS;
        let mut batch = Batch::default();
        let Some(roster) = &self.papers.roster else { return Ok(()) };
        for (id, following) in self.following.iter().filter(|(id, _)| id.stream == Stream::Records) {
            let prefix = rows::messages(&rows::stream(following.slot, id));
            let mut before = Vec::new();
            self.journal.rows(&prefix, &mut |key, bytes| {
                before.push((key.to_vec(), None));
                let message = Message::reread(bytes, roster);
                let time = message.map_or(0, |message| message.head().state().time_secs);
                // What was said before something old is old, even if its site wrote a time of the future on it.
                if time < *kept.start() {
                    batch.rows.append(&mut before);
                }
                // They lie in order of time: the first that is kept ends it.
                !kept.contains(&time)
            })?;
        }
        self.journal.commit(batch)
    }
}

#[cfg(test)]
mod tests {
    use seenit_sites::chain::Chain;
    use seenit_sites::list;

    use super::*;
    use crate::life::Neighbour;
    use crate::unit::{Double, GENERATION, LIFE, NOW, id, link, message_of};

    #[test]
    fn holdings_of_old_generations_make_room_for_those_of_receipts() {
        let mut link = link();
        let mut neighbour = Neighbour::default();
        for generation in [GENERATION - 5, GENERATION] {
            neighbour.holdings.insert(id(3, Stream::Seen { generation }), 1);
        }
        neighbour.holdings.insert(id(3, Stream::Records), 1);
        link.neighbours.insert(id(2, Stream::Records).site, neighbour);
        link.journal.set_now(GENERATION + 1);
        link.tick(NOW + 60_000);
        let held: Vec<StreamId> =
            link.neighbours.values().flat_map(|one| one.holdings.keys()).copied().collect();
        assert_eq!(held, [id(3, Stream::Records), id(3, Stream::Seen { generation: GENERATION })]);
    }

    #[test]
    fn a_message_from_the_future_does_not_keep_those_after_it() {
        let (mut link, id) = (link(), id(2, Stream::Records));
        let mut chain = Chain::begin(&id.site, LIFE);
        for time_secs in [u64::MAX, 1, NOW / 1000] {
            let (previous, mut payload) = (chain.records(), Vec::new());
            list::push(&mut payload, b"a record");
            chain = chain.then(b"a record");
            let at = (id, previous, chain.records());
            link.hear(NOW, &message_of(time_secs, 2, at, chain.link(), &payload), None);
        }
        let kept = |link: &Link<Double>| link.journal.disk.rows.keys().filter(|key| key[0] == b'l').count();
        assert_eq!((link.following[&id].position.applied, kept(&link)), (3, 3));
        link.journal.kept_from = NOW / 1000;
        link.journal.set_now(GENERATION + 1);
        link.tick(NOW + 60_000);
        assert_eq!(kept(&link), 1);
    }
}
