//! The link: what one site does to agree with the others. It has no clock, no socket and no file of its own: bytes and
//! the time come in, actions go out, and what must last goes through the [`Journal`].

use std::collections::{BTreeMap, BTreeSet};

use seenit_sites::Arrival;
use seenit_sites::ask::{Answer, Ask};
use seenit_sites::beat::StreamId;
use seenit_sites::chain::Chain;
use seenit_sites::key::{AdminKey, SiteKey, SiteSecret};
use seenit_sites::message::Stream;

use crate::action::{Action, Note, ReplyTo};
use crate::audit::Audits;
use crate::cells::Held;
use crate::fold::{FoldPace, Folds};
use crate::following::{Following, Position};
use crate::journal::{Batch, Journal, JournalError};
use crate::life::Neighbour;
use crate::own::Own;
use crate::pack::Packs;
use crate::papers::{PaperError, Papers};
use crate::place::Places;
use crate::repair::Repairs;
use crate::rows;

/// Lives of one site that are followed. A site has a new one each time it is restored, which is not often.
pub(crate) const LIVES_MAX: usize = 32;

/// One site's side of the link.
pub struct Link<J> {
    pub(crate) journal: J,
    pub(crate) secret: SiteSecret,
    pub(crate) key: SiteKey,
    pub(crate) papers: Papers,
    pub(crate) own: Own,
    pub(crate) following: BTreeMap<StreamId, Following>,
    pub(crate) neighbours: BTreeMap<SiteKey, Neighbour>,
    /// The one copy of another's cells that is in memory.
    pub(crate) held: Option<Held>,
    pub(crate) folds: Folds,
    pub(crate) repairs: Repairs,
    pub(crate) audits: Audits,
    pub(crate) packs: Packs,
    pub(crate) places: Places,
    /// The generation that was the present one when last looked.
    pub(crate) generation: u64,
    /// The time of the call that is being worked on, in milliseconds.
    pub(crate) now: u64,
    /// Why the journal could not be used the last time.
    pub(crate) trouble: Option<String>,
    /// A commit failed, and may be durable all the same: what is held must be read again.
    is_unsure: bool,
    pub(crate) out: Vec<Action>,
}

impl<J: Journal> Link<J> {
    /// Takes up where the journal says. `now` is the time in milliseconds since the Unix epoch.
    pub fn open(journal: J, secret: SiteSecret, network: AdminKey, now: u64) -> Result<Self, JournalError> {
        Link::open_at(FoldPace::default(), journal, secret, network, now)
    }

    /// The same with another pace at which folds are made.
    pub fn open_at(
        pace: FoldPace,
        journal: J,
        secret: SiteSecret,
        network: AdminKey,
        now: u64,
    ) -> Result<Self, JournalError> {
        let (papers, packs) = (Papers::open(&journal, network)?, Packs::open(&journal, now)?);
        let (key, generation) = (secret.public(), journal.now());
        let mut link = Link {
            journal,
            secret,
            key,
            papers,
            own: Own::new(now),
            following: BTreeMap::new(),
            neighbours: BTreeMap::new(),
            held: None,
            folds: Folds::new(pace),
            repairs: Repairs::default(),
            audits: Audits::default(),
            packs,
            places: Places::default(),
            generation,
            now,
            trouble: None,
            is_unsure: false,
            out: Vec::new(),
        };
        link.places = Places::open(&link.journal)?;
        link.agree()?;
        link.enrol()?;
        link.load()?;
        link.take_over_lives()?;
        link.fold_all_anew();
        link.make_folds(pace.start_bytes)?;
        Ok(link)
    }

    /// The journal, for whoever owns the link.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// The same, to count in it.
    pub fn journal_mut(&mut self) -> &mut J {
        &mut self.journal
    }

    /// The journal again, when the link is not needed any more.
    pub fn into_journal(self) -> J {
        self.journal
    }

    /// The time of the last call.
    pub fn time(&self) -> u64 {
        self.now
    }

    /// Whether this site is a member and knows the network's terms.
    pub fn is_member(&self) -> bool {
        let roster = self.papers.roster.as_ref();
        self.own.is_agreed && roster.is_some_and(|roster| roster.member(&self.key).is_some())
    }

    /// Something arrived. Whatever it is, it is checked; what is no sense changes nothing.
    pub fn hear(&mut self, now: u64, bytes: &[u8], reply: Option<ReplyTo>) -> Vec<Action> {
        if !self.begin(now) {
            return std::mem::take(&mut self.out);
        }
        let arrival = Arrival::of(bytes);
        let is_paper = matches!(arrival, Some(Arrival::Roster | Arrival::Manifest));
        let heard = match arrival.filter(|_| is_paper || self.is_member()) {
            Some(Arrival::Message) => self.hear_message(bytes),
            Some(Arrival::Beat) => self.hear_beat(bytes),
            Some(Arrival::Ask) => {
                match self.papers.roster.as_ref().map(|roster| Ask::decode(bytes, roster)) {
                    Some(Ok(ask)) => self.hear_ask(ask, reply),
                    _ => Ok(()),
                }
            }
            Some(Arrival::Answer) => {
                match self.papers.roster.as_ref().map(|roster| Answer::decode(bytes, roster)) {
                    Some(Ok(answer)) => self.hear_answer(answer),
                    _ => Ok(()),
                }
            }
            Some(Arrival::Roster) => self.hear_roster(bytes),
            Some(Arrival::Manifest) => self.hear_manifest(bytes),
            Some(Arrival::Snapshot) | None => Ok(()),
        };
        self.finish(heard)
    }

    /// Looks at what the journal has that is new, and at what is due.
    pub fn tick(&mut self, now: u64) -> Vec<Action> {
        if !self.begin(now) {
            return std::mem::take(&mut self.out);
        }
        let done = self.turn();
        let done = done.and_then(|()| if self.is_member() { self.work() } else { Ok(()) });
        self.finish(done)
    }

    fn work(&mut self) -> Result<(), JournalError> {
        self.publish_records()?;
        self.publish_seen()?;
        self.beat()?;
        self.repair()?;
        self.audit()?;
        self.make_folds(self.folds.pace.tick_bytes)?;
        self.gather()?;
        self.snapshot()?;
        self.save_places()
    }

    /// Begins the work of one call: false while the journal cannot be read after a failure.
    pub(crate) fn begin(&mut self, now: u64) -> bool {
        self.now = self.now.max(now);
        if self.is_unsure {
            // A roster that was journalled, but not told to the ledger, is told now.
            let told = self.enrol().and_then(|()| self.agree());
            let read = told.and_then(|()| self.load()).and_then(|()| self.take_over_lives());
            self.fold_all_anew();
            let done = read.and_then(|()| self.begin_chain());
            self.is_unsure = done.is_err();
            if let Err(error) = done {
                self.trouble = Some(error.0);
                return false;
            }
        }
        true
    }

    /// What is to be done, after the work of one call.
    pub(crate) fn finish(&mut self, done: Result<(), JournalError>) -> Vec<Action> {
        match done {
            Ok(()) => self.trouble = None,
            Err(error) => {
                if self.trouble.as_ref() != Some(&error.0) {
                    self.warn(format!("the journal cannot be used for the network: {error}"));
                }
                self.trouble = Some(error.0);
                // What memory holds of others may be ahead of the journal now, or behind it.
                (self.held, self.is_unsure) = (None, true);
            }
        }
        std::mem::take(&mut self.out)
    }

    pub(crate) fn note(&mut self, text: String) {
        self.out.push(Action::Note(Note { is_warning: false, text }));
    }

    pub(crate) fn warn(&mut self, text: String) {
        self.out.push(Action::Note(Note { is_warning: true, text }));
    }

    fn hear_roster(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let before = self.papers.peers();
        match self.papers.take_roster(&mut self.journal, bytes) {
            Ok(false) => Ok(()),
            Ok(true) => {
                let (members, version) = match &self.papers.roster {
                    Some(roster) => (roster.members().len(), roster.version()),
                    None => (0, 0),
                };
                self.note(format!("roster {version}: {members} sites"));
                self.enrol()?;
                self.agree()?;
                let after: BTreeSet<_> = self.papers.peers().iter().map(|one| (one.site, one.seen)).collect();
                if before.iter().any(|one| !after.contains(&(one.site, one.seen))) {
                    self.fold_all_anew();
                }
                Ok(())
            }
            Err(PaperError::Refused(why)) => {
                self.warn(format!("a roster was refused: {why}"));
                Ok(())
            }
            Err(PaperError::Journal(error)) => Err(error),
        }
    }

    fn hear_manifest(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let begun = self.own.is_agreed.then(|| self.journal.now());
        match self.papers.take_manifest(&mut self.journal, bytes, begun) {
            Ok(false) => Ok(()),
            Ok(true) => self.agree(),
            Err(PaperError::Refused(why)) => {
                self.warn(format!("a manifest was refused: {why}"));
                Ok(())
            }
            Err(PaperError::Journal(error)) => Err(error),
        }
    }

    /// Tells the ledger what the network agreed on, once this site is a member and can open a manifest.
    fn agree(&mut self) -> Result<(), JournalError> {
        let is_listed = self.papers.roster.as_ref().is_some_and(|roster| roster.member(&self.key).is_some());
        let terms = self.papers.terms(&self.journal, &self.secret);
        if !is_listed || terms.is_empty() {
            return Ok(());
        }
        let life = self.journal.incarnation();
        self.journal.agree(self.papers.network.to_bytes(), &terms)?;
        if !self.own.is_agreed || life != self.journal.incarnation() {
            self.own.begin(self.now);
            self.own.is_agreed = true;
            self.begin_chain()?;
        }
        Ok(())
    }

    /// Tells the ledger who is believed, and forgets those who are not any more.
    fn enrol(&mut self) -> Result<(), JournalError> {
        if self.papers.roster.is_none() {
            return Ok(());
        }
        self.journal.set_peers(&self.papers.peers())?;
        for (site, slot) in self.papers.removed() {
            self.forget_rows(slot)?;
            let rows = vec![(rows::slot(&site), None)];
            self.journal.commit(Batch { rows, heard: Vec::new() })?;
            self.papers.slots.remove(&site);
            self.following.retain(|id, _| id.site != site);
            self.neighbours.remove(&site);
            if self.held.as_ref().is_some_and(|held| held.id.site == site) {
                self.held = None;
            }
            self.repairs.forget(&site);
            self.note(format!("site {site} was removed: what it said is taken out"));
        }
        Ok(())
    }

    /// Deletes all rows of streams with this slot.
    fn forget_rows(&mut self, slot: u16) -> Result<(), JournalError> {
        let mut batch = Batch::default();
        for prefix in [b"f", b"l", b"b"] {
            let prefix = [prefix.as_slice(), &slot.to_be_bytes()].concat();
            self.journal.rows(&prefix, &mut |key, _| {
                batch.rows.push((key.to_vec(), None));
                true
            })?;
        }
        self.journal.commit(batch)
    }

    /// Reads how far each stream is.
    fn load(&mut self) -> Result<(), JournalError> {
        let mut found = Vec::new();
        self.journal.rows(rows::POSITIONS, &mut |key, value| {
            found.extend(rows::stream_of(key).zip(Position::decode(value)));
            true
        })?;
        for ((slot, incarnation, stream), position) in found {
            if let Some(site) = self.papers.site_of(slot) {
                let id = StreamId { site, incarnation, stream };
                let fresh = || Following::new(slot, position.clone());
                self.following.entry(id).or_insert_with(fresh).position = position.clone();
            }
        }
        Ok(())
    }

    /// The stream, followed from its beginning where it is not yet; `None` where its site has no slot, or too many
    /// lives. Its site has said that there is such a stream.
    pub(crate) fn follow(&mut self, id: StreamId) -> Option<&mut Following> {
        if !self.has_room(&id) {
            // Lives that others only claim to know of make room for one that its site signed.
            self.following.retain(|known, one| known.site != id.site || one.is_known_of());
            if !self.has_room(&id) {
                self.neighbours.entry(id.site).or_default().unheard_life = Some(id.incarnation);
            }
        }
        self.follow_claimed(id)
    }

    /// The same of a stream that somebody else claims to hold: it takes nobody's place.
    pub(crate) fn follow_claimed(&mut self, id: StreamId) -> Option<&mut Following> {
        if !self.following.contains_key(&id) {
            let slot = *self.papers.slots.get(&id.site)?;
            if !self.has_room(&id) {
                return None;
            }
            let root = match id.stream {
                Stream::Records => Chain::begin(&id.site, id.incarnation).link(),
                Stream::Seen { .. } => seenit_sites::Digest([0; 32]),
            };
            self.following.insert(id, Following::new(slot, Position::begin(root)));
        }
        self.following.get_mut(&id)
    }

    /// Whether one more life of its site can be followed, if it is one more.
    fn has_room(&self, id: &StreamId) -> bool {
        let of_site = self.following.keys().filter(|known| known.site == id.site);
        let lives: BTreeSet<u64> = of_site.map(|known| known.incarnation).collect();
        lives.len() < LIVES_MAX || lives.contains(&id.incarnation)
    }

    /// Writes a position, with whatever belongs to it.
    pub(crate) fn put_position(
        &mut self,
        id: &StreamId,
        position: Position,
        mut batch: Batch,
    ) -> Result<(), JournalError> {
        let Some(slot) = self.following.get(id).map(|following| following.slot) else {
            return Ok(());
        };
        let key = rows::position(&rows::stream(slot, id));
        batch.rows.push((key, Some(position.encode())));
        self.journal.commit(batch)?;
        if let Some(following) = self.following.get_mut(id) {
            following.position = position;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{LIFE, NOW, beat, holding, id, link, records, roster, signed};

    fn life(seed: u8, incarnation: u64) -> StreamId {
        StreamId { incarnation, ..id(seed, Stream::Records) }
    }

    #[test]
    fn lives_that_a_member_makes_up_for_another_do_not_mute_it() {
        let mut link = link();
        let mut beat = beat(2, NOW / 1000);
        beat.holdings = (1..200).map(|incarnation| holding(life(3, incarnation), 5)).collect();
        link.hear(NOW, &signed(2, &beat), None);
        assert_eq!(link.following.len(), LIVES_MAX, "claims have a limit");
        link.hear(NOW, &records(3, LIFE, &[b"a record"]), None);
        assert_eq!(link.following[&life(3, LIFE)].position.applied, 1, "it is heard all the same");
    }

    #[test]
    fn a_site_of_endless_lives_is_heard_in_so_many() {
        let mut link = link();
        for incarnation in 1..=2 * LIVES_MAX as u64 {
            link.hear(NOW, &records(2, incarnation, &[b"a record"]), None);
        }
        assert_eq!(link.following.len(), LIVES_MAX);
        let alarms = link.status(NOW).alarms;
        assert!(alarms[0].starts_with("site2 has had 32 lives, and is not heard in life 64"), "{alarms:?}");
        link.hear(NOW, &records(3, LIFE, &[b"a record"]), None);
        assert_eq!(link.following.len(), LIVES_MAX + 1, "others do not suffer from it");
    }

    #[test]
    fn a_roster_that_the_journal_could_not_take_in_is_taken_in_later() {
        let mut link = link();
        link.hear(NOW, &records(3, LIFE, &[b"a record"]), None);
        // The roster is written, and then nothing is for a while.
        (link.journal.dies_in, link.journal.last_is_written) = (Some(2), false);
        link.hear(NOW, roster(2, &[1, 2]).bytes(), None);
        assert_eq!(link.journal.disk.heard.len(), 1);
        (link.journal.dies_in, link.journal.is_dead) = (None, false);
        link.tick(NOW + 1000);
        assert_eq!(link.journal.disk.heard.len(), 0, "what the removed site said is taken out");
        assert!(link.following.is_empty() && link.trouble.is_none());
    }
}
