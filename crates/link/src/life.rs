//! Signs of life: beats, what they say of others, and what they say of ourselves that we do not remember.

use std::collections::BTreeMap;

use seenit_sites::Digest;
use seenit_sites::beat::{Beat, HOLDINGS_MAX, Holding, StreamId};
use seenit_sites::message::{Head, Message, Stream};

use crate::action::Action;
use crate::cells;
use crate::following::{Following, Position};
use crate::journal::{Batch, Journal, JournalError};
use crate::link::Link;
use crate::rows;

/// How often a site says that it lives, in a network of so many sites. In a larger one it says so less often, so that
/// what each hears does not grow with their number.
pub(crate) const BEAT_MILLIS: u64 = 2_000;
const SITES_AT_EASE: u64 = 100;

/// How soon it says so when it has applied records: others wait for that in receipts. Likewise.
const NEWS_MILLIS: u64 = 250;
const SITES_AT_ONCE: u64 = 10;

/// Two lives of a site that both spoke within this time are both alive.
const ALIVE_MILLIS: u64 = 30_000;

/// What is known of another site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbour {
    /// When it was heard the last time.
    pub(crate) heard_at: Option<u64>,
    /// The clock of its last beat.
    pub(crate) time_secs: u64,
    /// Its life in that beat.
    pub(crate) incarnation: u64,
    /// When each of its lives was heard the last time, and the clock of that beat.
    pub(crate) lives: BTreeMap<u64, (u64, u64)>,
    /// When two of its lives were last heard in turn.
    twofold_at: Option<u64>,
    /// How far it is with streams.
    pub(crate) holdings: BTreeMap<StreamId, u64>,
    /// Its newest snapshot.
    pub(crate) snapshot: Option<Digest>,
    /// A generation of its that was refused.
    pub(crate) skewed: Option<u64>,
    /// It had more lives than are followed: what it says in this one is not heard.
    pub(crate) unheard_life: Option<u64>,
}

impl Neighbour {
    /// Whether two lives speak at the same time.
    pub(crate) fn is_twofold(&self, now: u64) -> bool {
        self.twofold_at.is_some_and(|at| now.saturating_sub(at) < ALIVE_MILLIS)
    }
}

impl<J: Journal> Link<J> {
    /// Says that we live, where we are, and how far with others.
    pub(crate) fn beat(&mut self) -> Result<(), JournalError> {
        let members = self.papers.roster.as_ref().map_or(1, |roster| roster.members().len() as u64);
        let usual = BEAT_MILLIS * members.div_ceil(SITES_AT_EASE);
        let soon = NEWS_MILLIS * members.div_ceil(SITES_AT_ONCE);
        let due = if self.own.has_news { soon.min(usual) } else { usual };
        if self.now < self.own.beat_at + due {
            return Ok(());
        }
        (self.own.beat_at, self.own.has_news) = (self.now, false);
        let life = self.journal.incarnation();
        let mut heads = Vec::new();
        if let Some(chain) = self.own.chain.filter(|chain| chain.records() <= self.own.published()) {
            heads.push(self.head(life, Stream::Records, chain.records(), chain.link())?);
        }
        for (generation, sequence) in self.journal.generations() {
            if sequence > 0
                && let Some((sequence, root)) = self.own_root(generation)?
            {
                heads.push(self.head(life, Stream::Seen { generation }, sequence, root)?);
            }
        }
        let all: Vec<Holding> =
            self.following.iter().filter_map(|(id, following)| holding(id, following)).collect();
        let from = if self.own.beat_from < all.len() { self.own.beat_from } else { 0 };
        let holdings: Vec<Holding> = all.iter().skip(from).take(HOLDINGS_MAX).copied().collect();
        self.own.beat_from = from + holdings.len();
        let (incarnation, time_secs) = (life, self.now / 1000);
        let snapshot = self.packs.published.unwrap_or(Digest([0; 32]));
        let beat = Beat { site: self.key, incarnation, time_secs, snapshot, heads, holdings };
        let bytes = beat.sign(&self.secret, &self.papers.network);
        self.out.push(Action::Beat(bytes.map_err(|error| JournalError(error.to_string()))?));
        Ok(())
    }

    /// A heartbeat of ours.
    fn head(
        &self,
        life: u64,
        stream: Stream,
        sequence: u64,
        root: Digest,
    ) -> Result<(Head, Vec<u8>), JournalError> {
        let bytes = self.signed(life, stream, (sequence, sequence), root, &[])?;
        let roster = self.papers.roster.as_ref().ok_or_else(|| JournalError("there is no roster".into()))?;
        let head = Message::reread(&bytes, roster).map(|message| *message.head());
        Ok((head.map_err(|error| JournalError(error.to_string()))?, bytes))
    }

    pub(crate) fn hear_beat(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        let Some(roster) = self.papers.roster.as_ref() else { return Ok(()) };
        let Ok(beat) = Beat::decode(bytes, roster) else { return Ok(()) };
        if beat.site == self.key {
            return self.hear_ourselves(&beat);
        }
        let now = self.now;
        let neighbour = self.neighbours.entry(beat.site).or_default();
        let was_twofold = neighbour.is_twofold(now);
        note_life(neighbour, &beat, now);
        let is_twofold = neighbour.is_twofold(now);
        let is_new_snapshot = beat.snapshot.0 != [0; 32] && neighbour.snapshot != Some(beat.snapshot);
        if is_new_snapshot {
            neighbour.snapshot = Some(beat.snapshot);
        }
        if is_twofold && !was_twofold {
            let name = self.papers.name_of(&beat.site);
            self.warn(format!("two lives of {name} speak at the same time: a copy of its folder is running"));
        }
        for (head, bytes) in &beat.heads {
            self.hear_head(head, bytes)?;
        }
        for holding in &beat.holdings {
            self.hear_holding(holding)?;
        }
        self.meet(beat.site);
        Ok(())
    }

    /// Somebody holds more of our present life than we do: let it show that we said it.
    fn hear_holding(&mut self, holding: &Holding) -> Result<(), JournalError> {
        let id = holding.id;
        if id.site != self.key || id.incarnation != self.journal.incarnation() {
            // A stream that we have not heard of yet, or not that far: its site may be silent for good.
            if let Some(following) = self.follow_held(&id) {
                following.is_urgent |= following.missing_since.is_none();
            }
            return Ok(());
        }
        let ours = match id.stream {
            Stream::Records => self.journal.lives().last().map_or(0, |(_, end)| *end),
            // Of a generation that nobody counts in there is nothing to be shown.
            Stream::Seen { generation } if !self.is_live(generation) => return Ok(()),
            Stream::Seen { generation } => {
                let own = self.journal.generations();
                own.iter().find(|(one, _)| *one == generation).map_or(0, |(_, sequence)| *sequence)
            }
        };
        if holding.sequence > ours {
            self.repairs.doubts.insert(id);
        } else if id.stream == Stream::Records && holding.sequence > self.own.confirmed {
            match self.link_at(id.incarnation, holding.sequence)? {
                Some(link) if link.0.starts_with(&holding.root) => self.confirm(holding.sequence)?,
                Some(_) => {
                    self.repairs.doubts.insert(id);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Somebody else holds our records up to here, and they are the same.
    fn confirm(&mut self, sequence: u64) -> Result<(), JournalError> {
        self.own.confirmed = sequence;
        let row = (rows::confirmed(self.journal.incarnation()), Some(sequence.to_be_bytes().to_vec()));
        self.journal.commit(Batch { rows: vec![row], heard: Vec::new() })
    }

    /// The stream that somebody holds, if we should hold it, too, and are behind.
    fn follow_held(&mut self, id: &StreamId) -> Option<&mut Following> {
        self.papers.roster.as_ref()?.member(&id.site)?;
        if matches!(id.stream, Stream::Seen { generation } if !self.is_live(generation)) {
            return None;
        }
        let most = self.neighbours.values().filter_map(|one| one.holdings.get(id)).max().copied()?;
        let following = self.follow_claimed(*id)?;
        (most > following.position.applied).then_some(following)
    }

    fn is_live(&self, generation: u64) -> bool {
        (self.journal.oldest()..=self.journal.now()).contains(&generation)
    }

    /// Whoever speaks under our name in another life is a copy of our folder.
    fn hear_ourselves(&mut self, beat: &Beat) -> Result<(), JournalError> {
        let now = self.now;
        let is_ours = beat.incarnation == self.journal.incarnation();
        let neighbour = self.neighbours.entry(beat.site).or_default();
        if is_ours {
            return Ok(());
        }
        let was_twofold = neighbour.is_twofold(now);
        // A beat from before our own life began is that of our past.
        if beat.time_secs.saturating_mul(1000) > self.own.since + BEAT_MILLIS {
            neighbour.twofold_at = Some(now);
        }
        if neighbour.is_twofold(now) && !was_twofold {
            self.warn(
                "another life of this site speaks at the same time: a copy of its folder is running".into(),
            );
        }
        Ok(())
    }

    /// We are told of something that we once said in the present life. If we do not remember it, this folder came back
    /// from a backup, and a new life begins.
    pub(crate) fn said_by_us(&mut self, head: &Head, is_thorough: bool) -> Result<(), JournalError> {
        let (state, life) = (*head.state(), self.journal.incarnation());
        if state.incarnation != life {
            return Ok(());
        }
        let known = match state.stream {
            Stream::Records => {
                let end = self.journal.lives().last().map_or(0, |(_, end)| *end);
                let link = match is_thorough && state.sequence <= end {
                    true => self.link_at(life, state.sequence)?,
                    false => self
                        .own
                        .chain
                        .filter(|chain| chain.records() == state.sequence)
                        .map(|chain| chain.link()),
                };
                state.sequence <= end && link.is_none_or(|link| link == state.root)
            }
            Stream::Seen { generation } => {
                let own = self.journal.generations();
                let sequence =
                    own.iter().find(|(one, _)| *one == generation).map_or(0, |(_, sequence)| *sequence);
                let is_expired = generation < self.journal.oldest();
                let tree = self.own.trees.get(&generation).filter(|tree| tree.sequence == state.sequence);
                is_expired
                    || state.sequence <= sequence && tree.is_none_or(|tree| tree.tree.root() == state.root)
            }
        };
        if known { Ok(()) } else { self.renew("others hold what this folder does not remember to have said") }
    }

    /// Begins a new life; what is held of the old one stays as it is, and is followed like anybody's.
    pub(crate) fn renew(&mut self, why: &str) -> Result<(), JournalError> {
        // What nobody else is known to hold is said again in the new life.
        self.journal.renew(self.own.confirmed)?;
        self.own.begin(self.now);
        self.begin_chain()?;
        self.take_over_lives()?;
        let life = self.journal.incarnation();
        self.warn(format!(
            "{why}: it came back from a backup, or its disk lost something; life {life} begins"
        ));
        Ok(())
    }

    /// Earlier lives of this folder are followed like those of others: somebody may hold more of them than we do.
    pub(crate) fn take_over_lives(&mut self) -> Result<(), JournalError> {
        let lives = self.journal.lives();
        for &(life, end) in lives.iter().rev().skip(1) {
            let id = StreamId { site: self.key, incarnation: life, stream: Stream::Records };
            if self.following.get(&id).is_some_and(|one| one.position.applied >= end) {
                continue;
            }
            let link = self.link_at(life, end)?;
            if self.follow(id).is_some()
                && let Some(root) = link
            {
                let position = Position { applied: end, verified: end, ..Position::begin(root) };
                self.put_position(&id, position, Batch::default())?;
            }
        }
        for frozen in self.journal.frozen() {
            let (incarnation, generation) = (frozen.incarnation, frozen.generation);
            let id = StreamId { site: self.key, incarnation, stream: Stream::Seen { generation } };
            let Some(following) = self.follow(id) else { continue };
            if following.position.applied < frozen.sequence {
                // It is a state that the old life was in: we vouch for it, so that others can have it from us.
                let mut counts = cells::nothing(&self.journal, generation)?;
                counts.merge(&frozen.counts).map_err(|error| JournalError(error.to_string()))?;
                let root = cells::tree_of(&counts).root();
                let at = (frozen.sequence, frozen.sequence);
                let head = self.signed(incarnation, id.stream, at, root, &[])?;
                self.replace_copy(&id, generation, (&counts, frozen.sequence), Some(head))?;
                self.journal.drop_frozen(incarnation, generation);
            } else {
                self.drop_when_folded(incarnation, generation);
            }
        }
        Ok(())
    }
}

fn note_life(neighbour: &mut Neighbour, beat: &Beat, now: u64) {
    // A beat that is sent again is no sign of life.
    let last = neighbour.lives.get(&beat.incarnation).map_or(0, |(_, time)| *time);
    if beat.time_secs > last {
        neighbour.heard_at = Some(now);
        // A new life takes the place of the one before; one that was known before and speaks again does not.
        let present = neighbour.lives.get(&neighbour.incarnation).map_or(0, |(at, _)| *at);
        let is_other = last > 0 && beat.incarnation != neighbour.incarnation;
        if is_other && now.saturating_sub(present) < ALIVE_MILLIS {
            neighbour.twofold_at = Some(now);
        }
        neighbour.lives.insert(beat.incarnation, (now, beat.time_secs));
        (neighbour.time_secs, neighbour.incarnation) = (beat.time_secs, beat.incarnation);
    }
    for holding in &beat.holdings {
        let held = neighbour.holdings.entry(holding.id).or_default();
        // An old beat says nothing of what came after it.
        *held = if beat.time_secs < last { (*held).max(holding.sequence) } else { holding.sequence };
    }
    /// Lives of which the last sign is remembered.
    const LIVES_MAX: usize = 8;
    while neighbour.lives.len() > LIVES_MAX {
        neighbour.lives.pop_first();
    }
    /// Streams of which it is remembered how far a neighbour is.
    const HELD_MAX: usize = 8192;
    while neighbour.holdings.len() > HELD_MAX {
        neighbour.holdings.pop_first();
    }
}

fn holding(id: &StreamId, following: &Following) -> Option<Holding> {
    let (sequence, root) = (following.position.applied, following.position.root.0);
    let root = root.first_chunk().copied().unwrap_or_default();
    (sequence > 0).then_some(Holding { id: *id, sequence, root })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Kind;
    use crate::unit::{GENERATION, LIFE, NOW, beat, holding, id, link, message, signed, site};

    /// Else what we said in the old life would be fetched from others, and count twice.
    #[test]
    fn an_old_life_that_the_journal_could_not_take_over_is_taken_over_later() {
        let mut link = link();
        let life = link.journal.incarnation();
        (0..2).for_each(|_| assert!(link.journal_mut().say(b"a record".to_vec())));
        let id = StreamId { incarnation: life, ..id(1, Stream::Records) };
        // Others hold both.
        link.own.confirmed = 2;
        // Somebody shows that we said more than we remember; and nothing can be written after the new life has begun.
        let beyond = message(1, (id, 4, 5), Digest([1; 32]), b"x");
        (link.journal.dies_in, link.journal.last_is_written) = (Some(2), false);
        link.resume(NOW, Kind::Records, Some(&beyond));
        assert!(link.journal.incarnation() != life && link.trouble.is_some());
        (link.journal.dies_in, link.journal.is_dead) = (None, false);
        link.tick(NOW + 1000);
        assert_eq!((link.following[&id].position.applied, link.trouble.as_deref()), (2, None));
        assert!(link.own.chain.is_some());
    }

    #[test]
    fn a_beat_that_is_sent_again_is_no_sign_of_life_and_takes_nothing_back() {
        let mut link = link();
        let said = |time: u64, sequence: u64| {
            let mut beat = beat(2, time);
            beat.holdings = vec![holding(id(3, Stream::Records), sequence)];
            signed(2, &beat)
        };
        let (old, new) = (said(NOW / 1000, 4), said(NOW / 1000 + 2, 9));
        link.hear(NOW, &old, None);
        link.hear(NOW + 2000, &new, None);
        link.hear(NOW + 60_000, &old, None);
        link.hear(NOW + 60_000, &new, None);
        let status = link.status(NOW + 60_000);
        assert_eq!(status.sites[1].silent_secs.or(status.sites[0].silent_secs), Some(58));
        assert_eq!(link.most_held(&id(3, Stream::Records)), 9);
        // A site that came back from a backup says less, and is believed.
        link.hear(NOW + 61_000, &said(NOW / 1000 + 61, 5), None);
        assert_eq!(link.most_held(&id(3, Stream::Records)), 5);
    }

    #[test]
    fn claims_of_generations_that_nobody_counts_in_raise_no_doubts() {
        let mut link = link();
        let (site, incarnation) = (link.key, link.journal.incarnation());
        let ours = |generation| StreamId { site, incarnation, stream: Stream::Seen { generation } };
        let mut beat = beat(2, NOW / 1000);
        beat.holdings = (0..200).map(|far| holding(ours(GENERATION + far), 7)).collect();
        link.hear(NOW, &signed(2, &beat), None);
        assert_eq!(link.repairs.doubts, [ours(GENERATION)].into());
    }

    #[test]
    fn a_copy_of_this_folder_whose_clock_is_beyond_all_numbers_is_noticed() {
        let mut link = link();
        link.hear(NOW, &signed(1, &beat(1, u64::MAX)), None);
        assert!(link.neighbours[&site(1).public()].is_twofold(NOW));
        assert_ne!(link.journal.incarnation(), LIFE);
    }
}
