//! What others say: applied in order, once, and only as far as the chain leads to the value that its site signed.

use std::collections::BTreeSet;
use std::sync::Arc;

use seenit_filter::sightings;
use seenit_sites::FormatError;
use seenit_sites::ask::Ask;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::list;
use seenit_sites::message::{HEAD_BYTES, Head, Message, Stream, StreamId};
use seenit_sites::number::{Generation, Sequence};
use seenit_sites::roster::Roster;

use crate::action::Action;
use crate::checker::Checked;
use crate::following::{Following, Missing};
use crate::link::Link;
use crate::position::Position;
use crate::store::HeardItems;

/// How far ahead a peer's generation may be: its clock is ahead of ours, or ours behind.
const SKEW_GENERATIONS: u64 = 1;

/// Bytes of messages that wait, of all streams together. What is beyond is asked for again.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// Incarnations of one site that are followed at once. An honest site has a new one when it is restored from a
/// backup, and old ones end when nothing of them counts; only a hostile member has more.
pub(crate) const INCARNATIONS_MAX: usize = 32;

impl Link {
    /// A message, from whomever.
    pub(crate) fn hear_message(&mut self, roster: &Arc<Roster>, checked: Checked<'_>) {
        let bytes = checked.bytes;
        match checked.head(roster) {
            Ok(head) => self.take_message(&head, bytes),
            Err(error) => self.not_of_members(error),
        }
    }

    /// A message of a member, checked in full.
    pub(crate) fn take_message(&mut self, head: &Head, bytes: &[u8]) {
        let id = head.id;
        if !self.note_head(head) || head.is_alone() {
            return;
        }
        let room = WAITING_BYTES_MAX / self.streams.len().max(1);
        let Some(following) = self.streams.get_mut(&id) else { return };
        let applied = following.applied();
        if head.previous <= applied && applied < head.sequence {
            // Whatever waits: what can be applied is applied.
            self.apply(&id, bytes);
        } else if head.previous > applied {
            // Each stream has its share of the room, so that nobody takes the room of others.
            following.wait(head, bytes, room);
        }
        self.apply_waiting(&id);
        self.refresh(&id);
    }

    /// Takes note of something that no member signed.
    pub(crate) fn not_of_members(&mut self, error: FormatError) {
        match error {
            FormatError::OtherNetwork { found, .. } => self.foreign = Some(found),
            FormatError::NoMember(site) => self.unknown = Some((self.now, site)),
            _ => {}
        }
    }

    /// Takes note of what a site signed to have; whether it is a stream that is followed.
    pub(crate) fn note_head(&mut self, head: &Head) -> bool {
        let id = head.id;
        if id.site == self.key && id.incarnation >= self.own.latest.incarnation {
            self.said_by_us(id, head.chain(), head.time_secs);
            return false;
        }
        if let Stream::Sightings { generation } = id.stream
            && !self.is_countable(&id.site, generation, head.manifest)
        {
            return false;
        }
        if !self.has_room(&id) {
            self.make_room_for_incarnation(&id);
        }
        let Some(following) = self.follow(id) else { return false };
        following.note(head);
        self.refresh(&id);
        true
    }

    /// Whether sightings of a generation count here.
    pub(crate) fn is_countable(&mut self, site: &SiteKey, generation: Generation, manifest: u64) -> bool {
        if self.is_ahead(generation) {
            let skewed = self.neighbours.entry(*site).or_default().skewed.replace(generation);
            // Once, and not for each generation that somebody comes up with.
            if !skewed.is_some_and(|before| self.is_ahead(before)) {
                let name = self.documents.name_of(site);
                let now = self.own.latest.generation;
                self.warn(format!("{name} speaks of generation {generation}, and it is {now} here: refused"));
            }
            return false;
        }
        generation >= self.own.latest.oldest && self.documents.manifests.applies(manifest, generation)
    }

    /// Whether a generation is farther ahead than clocks may be apart.
    pub(crate) fn is_ahead(&self, generation: Generation) -> bool {
        generation.0 > self.own.latest.generation.0.saturating_add(SKEW_GENERATIONS)
    }

    /// The stream, followed from its beginning where it is not yet; `None` where its site has no slot or too many
    /// incarnations, or where it is our own and we do not know yet how far we remember it.
    pub(crate) fn follow(&mut self, id: StreamId) -> Option<&mut Following> {
        if !self.streams.contains_key(&id) {
            let slot = *self.documents.slots.get(&id.site)?;
            if !self.has_room(&id) {
                return None;
            }
            let start = if id.site == self.key { self.own_start(&id)? } else { Chain::begin(&id) };
            self.streams.insert(id, Following::new(slot, Position::new(start)));
        }
        self.streams.get_mut(&id)
    }

    /// Whether one more incarnation of its site can be followed, if it is one more.
    fn has_room(&self, id: &StreamId) -> bool {
        let of_site = self.streams_of(&id.site).map(|(known, _)| known.incarnation);
        let incarnations: BTreeSet<_> = of_site.collect();
        incarnations.len() < INCARNATIONS_MAX || incarnations.contains(&id.incarnation)
    }

    /// Incarnations that others only claim to know of make room for one that its site signed.
    fn make_room_for_incarnation(&mut self, id: &StreamId) {
        let is_claimed = |(known, one): (&StreamId, &Following)| (!one.is_known_of()).then_some(*known);
        let claimed: Vec<StreamId> = self.streams_of(&id.site).filter_map(is_claimed).collect();
        claimed.iter().for_each(|known| self.unfollow(known));
        if !self.has_room(id) {
            self.neighbours.entry(id.site).or_default().unheard = Some(id.incarnation);
        }
    }

    /// The streams of a site that are followed.
    pub(crate) fn streams_of(&self, site: &SiteKey) -> impl Iterator<Item = (&StreamId, &Following)> {
        let first = StreamId { site: *site, incarnation: Default::default(), stream: Stream::Records };
        self.streams.range(first..).take_while(move |(id, _)| id.site == first.site)
    }

    /// The stream is followed no more.
    pub(crate) fn unfollow(&mut self, id: &StreamId) {
        let Some(following) = self.streams.remove(id) else { return };
        if let Some(due) = following.due {
            self.due.remove(&(due, *id));
        }
        if let Some(neighbour) = self.neighbours.get_mut(&id.site) {
            neighbour.behind.remove(id);
        }
        self.dirty.remove(id);
        self.own.changed.remove(id);
    }

    /// Applies what waited for what is applied now.
    pub(crate) fn apply_waiting(&mut self, id: &StreamId) {
        loop {
            let next = self.streams.get_mut(id).and_then(Following::next_message);
            if !next.is_some_and(|bytes| self.apply(id, &bytes)) {
                return;
            }
        }
    }

    /// Applies a message that was checked and that leads beyond what is applied. Whether it did.
    fn apply(&mut self, id: &StreamId, bytes: &[u8]) -> bool {
        let Some(roster) = self.documents.roster.as_ref() else { return false };
        let Some(following) = self.streams.get(id) else { return false };
        let Ok(message) = Message::reread(bytes, roster) else { return false };
        let Head { previous, sequence, value, .. } = message.head;
        let after = following.applied();
        debug_assert!(previous <= after, "no item is applied without those before it");
        debug_assert!(after < sequence, "and none twice");
        let Ok(items) = list::items(message.payload, sequence.0 - previous.0) else {
            return self.unreadable(id, "a message of it is no list of items");
        };
        let items = items.get((after.0 - previous.0) as usize..).unwrap_or_default();
        let at = following.position.at.then_all(items);
        if at.value != value {
            return self.mismatched(id);
        }
        debug_assert_eq!(at.sequence, sequence, "the first n items, as the publishing site had them");
        if let Stream::Sightings { .. } = id.stream
            && let Some(error) = items.iter().find_map(|item| sightings::decode(item).err())
        {
            return self.unreadable(id, &format!("a delta cannot be read: {error}"));
        }
        let stream = following.held(id);
        let items = items.iter().map(|item| item.to_vec()).collect();
        self.batch.heard.push(HeardItems { stream, after, items, message: Some(bytes.to_vec()) });
        let head = bytes.get(..HEAD_BYTES).map(<[u8]>::to_vec);
        self.advance(id, Position { at, head, ..following.position.clone() });
        true
    }

    /// A stream is applied so far, as soon as the batch is committed.
    pub(crate) fn advance(&mut self, id: &StreamId, position: Position) {
        let now = self.now;
        let Some(following) = self.streams.get_mut(id) else { return };
        following.advance(position, now);
        self.dirty.insert(*id);
        self.own.changed.insert(*id);
        self.own.has_news |= id.stream == Stream::Records;
    }

    /// What a site signed does not follow on what is held of it. Returns that nothing was applied.
    fn mismatched(&mut self, id: &StreamId) -> bool {
        self.refuse(id, "what it signed does not follow on what it signed before");
        // Perhaps it came back from a backup, and does not know that it had been further.
        let head = self.streams.get(id).and_then(|following| following.position.head.clone());
        if let Some(head) = head.filter(|_| id.site != self.key) {
            self.out.push(Action::Ask { to: id.site, bytes: Ask::Said { head }.encode() });
        }
        false
    }

    /// A site signed what cannot be read: nothing after it can be applied. Others are not held up by it.
    fn unreadable(&mut self, id: &StreamId, why: &str) -> bool {
        self.refuse(id, why);
        if let Some(following) = self.streams.get_mut(id) {
            following.is_unreadable = true;
        }
        false
    }

    fn refuse(&mut self, id: &StreamId, why: &str) {
        if self.streams.get_mut(id).is_some_and(|following| following.contradicts(why)) {
            let name = self.documents.name_of(&id.site);
            let stream = described(id.stream);
            self.warn(format!("{stream} of {name}: {why}"));
        }
    }

    /// Looks at a stream after something changed: whether it is behind, and when it is asked for.
    pub(crate) fn refresh(&mut self, id: &StreamId) {
        let now = self.now;
        let Some(following) = self.streams.get_mut(id) else { return };
        let is_behind = following.is_behind();
        if is_behind {
            following.missing.since.get_or_insert(now);
            let is_claimed = following.claimed() > following.known();
            let since = following.missing.claimed_since.unwrap_or(now);
            following.missing.claimed_since = is_claimed.then_some(since);
        } else {
            following.missing = Missing::default();
            if !following.is_unreadable {
                following.mismatch = None;
            }
        }
        let due = following.next_ask();
        if due != following.due {
            following.due.map(|due| self.due.remove(&(due, *id)));
            due.map(|due| self.due.insert((due, *id)));
            following.due = due;
        }
        let neighbour = self.neighbours.entry(id.site).or_default();
        if is_behind {
            neighbour.behind.insert(*id)
        } else {
            neighbour.behind.remove(id)
        };
    }

    /// The last item of a followed stream that is applied.
    pub(crate) fn applied(&self, id: &StreamId) -> Sequence {
        self.streams.get(id).map_or(Sequence::START, Following::applied)
    }
}

/// A stream in words.
pub(crate) fn described(stream: Stream) -> String {
    match stream {
        Stream::Records => "the records".into(),
        Stream::Sightings { generation } => format!("the sightings of generation {generation}"),
    }
}
