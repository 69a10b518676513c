//! Heartbeats: what we say of ourselves and of what we hold, and what others say.

use std::collections::BTreeSet;

use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::heartbeat::{HEADS_MAX, HOLDINGS_MAX, Heartbeat, Holding};
use seenit_sites::key::{SIGNATURE_BYTES, SiteKey};
use seenit_sites::message::{Head, StreamId};
use seenit_sites::number::{Generation, Sequence};
use seenit_sites::roster::Roster;

use crate::action::Action;
use crate::following::Following;
use crate::link::Link;
use crate::own::beginning;
use crate::position::Position;

/// How often a site sends a heartbeat in a network of so many sites. In a larger one it does so less often, so that
/// what each hears does not grow with their number.
const HEARTBEAT_MILLIS: u64 = 2_000;
const SITES_AT_EASE: u64 = 100;

/// How soon it sends one when it has applied records: others wait for that in receipts. Likewise.
const NEWS_MILLIS: u64 = 250;
const SITES_AT_ONCE: u64 = 10;

/// Own heartbeats that are recognised when they come back: more than a minute of them, longer than any is under way.
const SENT_MAX: usize = 256;

impl Link {
    /// Milliseconds between two heartbeats of one site.
    pub(crate) fn heartbeat_millis(&self) -> u64 {
        HEARTBEAT_MILLIS * self.documents.members().div_ceil(SITES_AT_EASE)
    }

    /// Decides whether a heartbeat is due. It is made after the commit, since it speaks of what is committed.
    pub(crate) fn plan_heartbeat(&mut self) {
        let usual = self.heartbeat_millis();
        let soon = (NEWS_MILLIS * self.documents.members().div_ceil(SITES_AT_ONCE)).min(usual);
        let due = if self.own.has_news { soon } else { usual };
        self.own.is_heartbeat_due |= self.now.since(self.own.heartbeat_at) >= due;
        self.own.reserve_numbers(&mut self.batch);
    }

    /// Sends a heartbeat if one is due.
    pub(crate) fn send_heartbeat(&mut self) {
        let may_speak = self.may_publish() && self.is_member();
        if !std::mem::take(&mut self.own.is_heartbeat_due) || !may_speak {
            return;
        }
        (self.own.heartbeat_at, self.own.has_news) = (self.now, false);
        self.own.number += 1;
        let heartbeat = Heartbeat {
            site: self.key,
            incarnation: self.own.latest.incarnation,
            number: self.own.number,
            time_secs: self.now.secs(),
            snapshot: self.snapshots.published.unwrap_or(Digest([0; 32])),
            heads: self.own_heads(),
            holdings: self.holdings(),
        };
        match heartbeat.sign(&self.secret, &self.documents.network) {
            Ok(bytes) => {
                self.own.sent.push_back(signature_of(&bytes).to_vec());
                if self.own.sent.len() > SENT_MAX {
                    self.own.sent.pop_front();
                }
                self.out.push(Action::Heartbeat(bytes));
            }
            Err(error) => self.warn(format!("no heartbeat was sent: {error}")),
        }
    }

    /// Heads of own streams of all incarnations, as far as they count; in turn where there are too many.
    fn own_heads(&mut self) -> Vec<Head> {
        let came_back = self.streams_of(&self.key).map(|(id, _)| *id);
        let ids: BTreeSet<StreamId> = self.own.streams.keys().copied().chain(came_back).collect();
        let is_in_turn = ids.len() > HEADS_MAX;
        let from = if is_in_turn && self.own.heads_from < ids.len() { self.own.heads_from } else { 0 };
        self.own.heads_from = if is_in_turn { from + HEADS_MAX } else { 0 };
        ids.into_iter().skip(from).take(HEADS_MAX).filter_map(|id| self.own_head(id)).collect()
    }

    /// The head of an own stream at its end, as far as that is known.
    fn own_head(&mut self, id: StreamId) -> Option<Head> {
        let back = self.streams.get(&id).map(|one| one.position.at);
        let own = self.own.streams.get(&id);
        let tip = own.and_then(|one| one.tip).into_iter().chain(back).max_by_key(|chain| chain.sequence)?;
        if tip.sequence == Sequence::START {
            return None;
        }
        let kept = own.and_then(|one| one.head).filter(|head| head.value == tip.value);
        if kept.is_some() {
            return kept;
        }
        let head = self.signed_head(id, tip.sequence, tip, &[])?;
        if let Some(one) = self.own.streams.get_mut(&id) {
            one.head = Some(head);
        }
        Some(head)
    }

    /// What we hold: what changed since the last heartbeat but one, since one may be lost, and some of the rest.
    fn holdings(&mut self) -> Vec<Holding> {
        let mut ids = std::mem::take(&mut self.own.changed);
        let repeated = std::mem::replace(&mut self.own.repeated, ids.clone());
        ids.extend(repeated);
        while ids.len() > HOLDINGS_MAX {
            // They are sent next time.
            self.own.changed.extend(ids.pop_last());
        }
        let after = self.own.holdings_after.take();
        let rest = self.streams.range((
            after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded),
            std::ops::Bound::Unbounded,
        ));
        let mut last = None;
        for (id, _) in rest {
            if ids.len() >= HOLDINGS_MAX {
                break;
            }
            ids.insert(*id);
            last = Some(*id);
        }
        // Where the end was reached, the next one begins at the beginning.
        let is_end =
            last.is_none_or(|last| self.streams.last_key_value().is_some_and(|(end, _)| *end == last));
        self.own.holdings_after = last.filter(|_| !is_end);
        ids.iter().filter_map(|id| self.streams.get(id).and_then(|one| holding(id, one))).collect()
    }

    pub(crate) fn hear_heartbeat(&mut self, roster: &Roster, bytes: &[u8]) {
        let heartbeat = match Heartbeat::decode(bytes, roster) {
            Ok(heartbeat) => heartbeat,
            Err(error) => return self.not_of_members(error),
        };
        if heartbeat.site == self.key {
            return self.hear_ourselves(&heartbeat, bytes);
        }
        let site = heartbeat.site;
        let now = self.now;
        let neighbour = self.neighbours.entry(site).or_default();
        let was_copied = neighbour.is_copied(now);
        let is_first = neighbour.heard_at.is_none();
        let is_new = neighbour.heard(&heartbeat, now);
        if neighbour.is_copied(now) && !was_copied {
            let name = self.documents.name_of(&site);
            self.warn(format!("two incarnations of {name} send heartbeats: a copy of its folder is running"));
        }
        if !is_new {
            return;
        }
        for head in &heartbeat.heads {
            self.note_head(head);
        }
        self.note_what_is_left(&heartbeat);
        for holding in &heartbeat.holdings {
            if holding.id.site == self.key {
                if let Some(neighbour) = self.neighbours.get_mut(&site) {
                    neighbour.holds(holding);
                }
                self.hear_holding_of_ours(site, holding);
            } else {
                self.hear_claim(site, holding);
            }
        }
        if is_first && self.streams_of(&site).all(|(_, one)| one.applied() == Sequence::START) {
            // Nothing is held of it: its snapshot is the quickest way to begin.
            self.snapshots.want(site);
        }
    }

    /// Of an incarnation that is over its site may have lost the end, with a folder that was put back: what it does not
    /// speak of any more, and nobody claims to hold, is not missed.
    fn note_what_is_left(&mut self, heartbeat: &Heartbeat) {
        let is_over = |id: &StreamId| id.incarnation < heartbeat.incarnation;
        let over: Vec<StreamId> =
            self.streams_of(&heartbeat.site).map(|(id, _)| *id).filter(is_over).collect();
        for id in over {
            let head = heartbeat.heads.iter().find(|head| head.id == id);
            let left = head.map(|head| (head.sequence, head.time_secs));
            // Where there are many heads, they come in turn.
            if left.is_none() && heartbeat.heads.len() >= HEADS_MAX {
                continue;
            }
            if let Some(following) = self.streams.get_mut(&id).filter(|one| one.newest > left) {
                following.newest = left;
                self.refresh(&id);
            }
        }
    }

    /// Takes note of how far somebody says to be with a stream. It proves nothing, and may start a repair.
    pub(crate) fn hear_claim(&mut self, holder: SiteKey, holding: &Holding) {
        let id = holding.id;
        let sequence = holding.sequence;
        if let Some(following) = self.streams.get_mut(&id) {
            if sequence <= following.applied() && following.claims.is_empty() {
                return;
            }
            following.claim(holder, sequence);
            self.refresh(&id);
            return;
        }
        // A stream that we have not heard of yet: its site may be silent for good.
        let is_live = id.stream.generation().is_none_or(|generation| self.is_live(generation));
        if sequence > Sequence::START
            && is_live
            && let Some(following) = self.follow(id)
        {
            following.missing.is_urgent = true;
            following.claim(holder, sequence);
            self.refresh(&id);
        }
    }

    /// Whether sightings of a generation count.
    pub(crate) fn is_live(&self, generation: Generation) -> bool {
        (self.own.latest.oldest..=self.own.latest.generation).contains(&generation)
    }

    /// A heartbeat under our own key that we did not send, signed since our own start, is that of a running copy.
    fn hear_ourselves(&mut self, heartbeat: &Heartbeat, bytes: &[u8]) {
        let is_ours = self.own.sent.iter().any(|sent| sent == signature_of(bytes));
        if !is_ours && self.is_of_running_copy(heartbeat.time_secs) {
            self.fence();
        }
    }
}

/// The signature of a heartbeat: it tells two of one number apart.
fn signature_of(bytes: &[u8]) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(SIGNATURE_BYTES)..).unwrap_or_default()
}

fn holding(id: &StreamId, following: &Following) -> Option<Holding> {
    let Position { at: Chain { sequence, value }, uncounted, uncounted_last, .. } = following.position;
    let value = beginning(value);
    (sequence > Sequence::START).then_some(Holding { id: *id, sequence, value, uncounted, uncounted_last })
}
