//! The state machine: `open`, `hear` (bytes arrived), `tick` (time passed), and what the driver reports back.
//!
//! The driver works in drains: it gives the link all that has arrived, ticks, takes the batch and commits it, reports
//! that, takes the actions and carries them out. So whatever the link says to others is durable before it is said.

use std::collections::{BTreeMap, BTreeSet};

use seenit_sites::key::{AdminKey, SiteKey, SiteSecret};
use seenit_sites::message::{Head, StreamId};
use seenit_sites::{Arrival, FormatError};

use crate::action::{Action, BrokerPosition, BrokerState, BrokerStream, Millis, Note, ReplyTo};
use crate::answer::Patience;
use crate::checker::Checked;
use crate::documents::Documents;
use crate::following::Following;
use crate::forget::Turned;
use crate::neighbour::Neighbour;
use crate::own::OwnSide;
use crate::position::Position;
use crate::read::Reads;
use crate::rows;
use crate::snapshot::Snapshots;
use crate::store::{Committed, HeldStream, LinkBatch, Loaded, Own, StoreError};

/// How often places are journalled.
const PLACES_MILLIS: u64 = 2_000;

/// Documents that wait to be durable. There are few; whoever sends more of them is an admin gone wrong.
const DOCUMENTS_MAX: usize = 64;

/// An operator's own limits of what a peer is believed, by the peer's name. What counts is the smaller one of each
/// limit and the roster's.
pub type LocalCaps = BTreeMap<String, LocalCap>;

/// Limits of one peer; `None` leaves the roster's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalCap {
    /// Points of spam.
    pub spam: Option<u32>,
    /// Points of ham.
    pub ham: Option<u32>,
    /// Recipients of one signature.
    pub seen: Option<u64>,
}

/// How far the broker's streams were read, and what is journalled of that.
#[derive(Debug, Default)]
struct Places {
    now: [BrokerPosition; 2],
    saved: [BrokerPosition; 2],
    saved_at: Millis,
}

/// One site's side of the link.
pub struct Link {
    pub(crate) secret: SiteSecret,
    pub(crate) key: SiteKey,
    pub(crate) documents: Documents,
    pub(crate) own: OwnSide,
    /// Streams of others, and of our own earlier incarnations as far as others showed more of them than we remember.
    pub(crate) streams: BTreeMap<StreamId, Following>,
    /// Streams that are behind, by when they are to be asked for.
    pub(crate) due: BTreeSet<(Millis, StreamId)>,
    /// Streams whose positions the next batch has.
    pub(crate) dirty: BTreeSet<StreamId>,
    pub(crate) neighbours: BTreeMap<SiteKey, Neighbour>,
    pub(crate) patience: Patience,
    pub(crate) reads: Reads,
    pub(crate) snapshots: Snapshots,
    /// When old streams were last looked for.
    pub(crate) turned: Turned,
    places: Places,
    pub(crate) broker: (BrokerState, Millis),
    /// A network whose documents arrived, and which is not ours.
    pub(crate) foreign: Option<String>,
    /// When something arrived that no member signed, and whose it was.
    pub(crate) unknown: Option<(Millis, String)>,
    /// Documents that arrived and are not known to be durable: nobody sends them again.
    pending_documents: Vec<Vec<u8>>,
    /// Why the store could not be used the last time.
    pub(crate) trouble: Option<String>,
    /// A commit failed, and may be durable all the same: nothing is done until the store is read again.
    is_unsure: bool,
    pub(crate) batch: LinkBatch,
    pub(crate) out: Vec<Action>,
    /// The time of the call that is being worked on.
    pub(crate) now: Millis,
}

impl Link {
    /// Takes up where the store left off.
    pub fn open(
        loaded: Loaded,
        secret: SiteSecret,
        network: AdminKey,
        local_caps: LocalCaps,
        now: Millis,
    ) -> Link {
        let key = secret.public();
        let mut link = Link {
            secret,
            key,
            documents: Documents::open(&loaded, network, local_caps),
            own: OwnSide::new(now),
            streams: BTreeMap::new(),
            due: BTreeSet::new(),
            dirty: BTreeSet::new(),
            neighbours: BTreeMap::new(),
            patience: Patience::default(),
            reads: Reads::default(),
            snapshots: Snapshots::new(now),
            turned: Turned::default(),
            places: Places::default(),
            broker: (BrokerState::Down { why: "not connected yet".into() }, now),
            foreign: None,
            unknown: None,
            pending_documents: Vec::new(),
            trouble: None,
            is_unsure: false,
            batch: LinkBatch::default(),
            out: Vec::new(),
            now,
        };
        link.load(loaded);
        link
    }

    /// Begins again from what is durable, after [`failed`](Self::failed): everything tentative is forgotten.
    pub fn reload(&mut self, now: Millis, loaded: Loaded) {
        self.now = self.now.max(now);
        self.documents.reload(&loaded);
        self.load(loaded);
        self.is_unsure = false;
        for document in std::mem::take(&mut self.pending_documents) {
            self.hear(now, &document, None);
        }
    }

    fn load(&mut self, loaded: Loaded) {
        self.batch = LinkBatch::default();
        (self.due, self.dirty) = (BTreeSet::new(), BTreeSet::new());
        let mut before = std::mem::take(&mut self.streams);
        for (key, value) in &loaded.rows {
            match key.first() {
                Some(b'f') => self.load_position(&mut before, key, value),
                Some(b'e') => self.load_place(key, value),
                Some(b'p') => self.snapshots.load(value),
                Some(b'c' | b'n') => self.own.load(self.key, key, value),
                _ => {}
            }
        }
        self.own.begin_numbers(self.now);
        self.adopt(&loaded.own);
        self.enrol();
        self.agree();
        // What was known of streams of which nothing is held.
        for (id, following) in before {
            if let Some((sequence, time_secs)) = following.newest
                && let Some(anew) = self.follow(id)
            {
                anew.newest = Some((sequence, time_secs));
            }
        }
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        ids.iter().for_each(|id| self.refresh(id));
    }

    fn load_position(&mut self, before: &mut BTreeMap<StreamId, Following>, key: &[u8], value: &[u8]) {
        let Some((HeldStream { slot, incarnation, stream }, [])) = rows::stream_of(key) else { return };
        let found = self.documents.site_of(slot).zip(Position::decode(value));
        let Some((site, position)) = found else { return };
        let id = StreamId { site, incarnation, stream };
        let time_secs = position
            .head
            .as_ref()
            .zip(self.documents.roster.as_ref())
            .and_then(|(head, roster)| Head::reread(head, roster).ok().map(|head| head.time_secs));
        let mut following = Following::new(slot, position);
        following.mark(time_secs.unwrap_or(u64::MAX).min(self.now.secs()));
        following.newest = before.remove(&id).and_then(|old| old.newest);
        following.newest = following.newest.max(time_secs.map(|secs| (following.applied(), secs)));
        self.streams.insert(id, following);
    }

    /// Whether this site is a member and knows the network's terms.
    pub fn is_member(&self) -> bool {
        self.own.has_terms && self.documents.is_listed(&self.key)
    }

    /// Bytes arrived. Whatever they are, they are checked.
    pub fn hear(&mut self, now: Millis, bytes: &[u8], reply: Option<ReplyTo>) {
        self.hear_checked(now, Checked::not_yet(bytes), reply);
    }

    /// Bytes arrived that a [`Checker`](crate::Checker) has seen. Where the roster has changed since, they are checked
    /// again.
    pub fn hear_checked(&mut self, now: Millis, checked: Checked<'_>, reply: Option<ReplyTo>) {
        let bytes = checked.bytes;
        let arrival = Arrival::of(bytes);
        let is_document = matches!(arrival, Some(Arrival::Roster | Arrival::Manifest));
        if is_document && self.pending_documents.len() < DOCUMENTS_MAX {
            self.pending_documents.push(bytes.to_vec());
        }
        if !self.begin(now) {
            return;
        }
        match (arrival, self.documents.roster.clone().filter(|_| self.is_member())) {
            (Some(Arrival::Roster), _) => self.hear_roster(bytes),
            (Some(Arrival::Manifest), _) => self.hear_manifest(bytes),
            (Some(Arrival::Message), Some(roster)) => self.hear_message(&roster, checked),
            (Some(Arrival::Heartbeat), Some(roster)) => self.hear_heartbeat(&roster, bytes),
            (Some(Arrival::Ask), Some(roster)) => self.hear_ask(&roster, bytes, reply),
            (Some(Arrival::Answer), Some(roster)) => self.hear_answer(&roster, bytes),
            (Some(Arrival::Snapshot) | None, _) | (_, None) => {}
        }
    }

    /// Time passed; `own` is what there is of own streams now.
    pub fn tick(&mut self, now: Millis, own: &Own) {
        if !self.begin(now) {
            return;
        }
        self.adopt(own);
        if !self.is_member() {
            return;
        }
        self.turn();
        if self.may_publish() {
            self.read_tips();
            self.publish();
            self.plan_heartbeat();
            self.snapshot();
        }
        self.repair();
        self.compare_all();
        self.lose_reads();
        self.save_places();
    }

    /// What is to last: to be committed, unless it is empty, and reported with [`committed`](Self::committed) or
    /// [`failed`](Self::failed) before anything else is called.
    pub fn take_batch(&mut self) -> LinkBatch {
        for id in std::mem::take(&mut self.dirty) {
            let Some(following) = self.streams.get(&id) else { continue };
            let key = rows::position(&following.held(&id));
            self.batch.rows.push((key, Some(following.position.encode())));
        }
        std::mem::take(&mut self.batch)
    }

    /// The batch is durable.
    pub fn committed(&mut self, now: Millis, outcome: Committed) {
        self.now = self.now.max(now);
        self.trouble = None;
        self.own.is_committed = true;
        self.documents.freed.clear();
        self.pending_documents.clear();
        for (stream, sequence) in outcome.uncounted {
            let Some(site) = self.documents.site_of(stream.slot) else { continue };
            let id = StreamId { site, incarnation: stream.incarnation, stream: stream.stream };
            let Some(following) = self.streams.get_mut(&id) else { continue };
            following.position.uncounted += 1;
            following.position.uncounted_last = following.position.uncounted_last.max(sequence);
            self.dirty.insert(id);
            self.own.changed.insert(id);
        }
    }

    /// The batch may be durable or not. [`reload`](Self::reload) follows, as soon as the store can be read.
    pub fn failed(&mut self, now: Millis, error: &StoreError) {
        self.now = self.now.max(now);
        let error = error.to_string();
        // Whatever was to be done relied on the batch; lines for the log did not.
        self.out.retain(|action| matches!(action, Action::Note(_)));
        if self.trouble.as_ref() != Some(&error) {
            self.warn(format!("the store cannot be used for the network: {error}"));
        }
        (self.trouble, self.is_unsure) = (Some(error), true);
        self.reads.forget();
        self.own.forget_tentative(self.now);
        self.snapshots.forget_tentative(self.now);
    }

    /// What is to be done, after the batch is committed.
    pub fn take_actions(&mut self) -> Vec<Action> {
        if !self.is_unsure {
            self.send_heartbeat();
        }
        std::mem::take(&mut self.out)
    }

    /// How far a stream of the broker was read.
    pub fn place(&self, kind: BrokerStream) -> BrokerPosition {
        self.places.now[kind as usize]
    }

    /// A message of the broker's stream was heard: so far it is read.
    pub fn set_place(&mut self, kind: BrokerStream, place: BrokerPosition) {
        // What was not heard, because the store failed, is to be read again after a restart.
        if !self.is_unsure {
            self.places.now[kind as usize] = place;
        }
    }

    fn load_place(&mut self, key: &[u8], value: &[u8]) {
        for kind in BrokerStream::ALL.into_iter().filter(|kind| rows::place(*kind) == key) {
            if let Some((born, sequence)) = value.split_first_chunk::<8>()
                && let Ok(sequence) = sequence.try_into()
            {
                let born = u64::from_be_bytes(*born);
                let sequence = u64::from_be_bytes(sequence);
                self.places.now[kind as usize] = BrokerPosition { born, sequence };
                self.places.saved[kind as usize] = BrokerPosition { born, sequence };
            }
        }
    }

    fn save_places(&mut self) {
        if self.now.since(self.places.saved_at) < PLACES_MILLIS {
            return;
        }
        self.places.saved_at = self.now;
        for kind in BrokerStream::ALL {
            let place = self.places.now[kind as usize];
            if place != self.places.saved[kind as usize] {
                let value = [place.born.to_be_bytes(), place.sequence.to_be_bytes()].concat();
                self.batch.rows.push((rows::place(kind), Some(value)));
                self.places.saved[kind as usize] = place;
            }
        }
    }

    /// Makes a snapshot every so many seconds.
    pub fn set_snapshot_secs(&mut self, secs: u64) {
        self.snapshots.secs = secs;
    }

    /// Whether the broker is there.
    pub fn broker(&mut self, now: Millis, state: BrokerState) {
        self.now = self.now.max(now);
        let is_same = std::mem::discriminant(&self.broker.0) == std::mem::discriminant(&state);
        let since = if is_same { self.broker.1 } else { self.now };
        self.broker = (state, since);
    }

    /// Begins the work of one call: false while the store is to be read again after a failure.
    pub(crate) fn begin(&mut self, now: Millis) -> bool {
        self.now = self.now.max(now);
        !self.is_unsure
    }

    pub(crate) fn note(&mut self, text: String) {
        self.out.push(Action::Note(Note { is_warning: false, text }));
    }

    pub(crate) fn warn(&mut self, text: String) {
        self.out.push(Action::Note(Note { is_warning: true, text }));
    }

    fn hear_roster(&mut self, bytes: &[u8]) {
        let taken = self.documents.take_roster(&mut self.batch, bytes);
        if taken.is_ok() {
            self.foreign = None;
        }
        if self.is_new("roster", taken) {
            self.unknown = None;
            let version = self.documents.roster.as_ref().map_or(0, |roster| roster.version);
            self.note(format!("roster {version}: {} sites", self.documents.members()));
            self.enrol();
            self.agree();
        }
    }

    fn hear_manifest(&mut self, bytes: &[u8]) {
        let begun = self.own.has_terms.then_some(self.own.latest.generation);
        let taken = self.documents.take_manifest(&mut self.batch, bytes, begun);
        if self.is_new("manifest", taken) {
            self.agree();
        }
    }

    /// Whether a document counts from now on.
    fn is_new(&mut self, what: &str, taken: Result<bool, FormatError>) -> bool {
        match taken {
            Ok(is_new) => return is_new,
            Err(FormatError::OtherNetwork { found, .. }) => self.foreign = Some(found),
            Err(error) => self.warn(format!("a {what} was refused: {error}")),
        }
        false
    }

    /// Passes the network's terms to the store, once this site is a member and can open a manifest.
    fn agree(&mut self) {
        let terms = self.documents.terms(&self.secret).filter(|_| self.documents.is_listed(&self.key));
        self.own.has_terms = terms.is_some();
        if terms.is_some() {
            self.batch.terms = terms;
            self.own.is_settled = false;
        }
    }

    /// Passes on who is believed, and forgets those who are not any more.
    fn enrol(&mut self) {
        if self.documents.roster.is_none() {
            return;
        }
        for site in self.documents.removed(&self.key) {
            let Some(slot) = self.documents.slots.remove(&site) else { continue };
            self.documents.freed.insert(slot);
            self.batch.rows.push((rows::slot(&site), None));
            self.batch.leave_out(|stream| stream.slot == slot);
            let ids: Vec<StreamId> = self.streams_of(&site).map(|(id, _)| *id).collect();
            ids.iter().for_each(|id| self.unfollow(id));
            self.neighbours.remove(&site);
            self.streams.values_mut().for_each(|one| one.claims.retain(|(claimant, _)| *claimant != site));
            self.snapshots.forget_site(&site);
            self.note(format!("site {site} was removed: what it said is taken out"));
        }
        self.batch.peers = Some(self.documents.peers(&self.key));
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        ids.iter().for_each(|id| self.refresh(id));
    }
}
