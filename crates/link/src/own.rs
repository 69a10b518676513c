//! Own streams: how far they are, how far others are known to hold them, and what is signed of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::key::SiteKey;
use seenit_sites::message::{Head, Statement, Stream, StreamId};
use seenit_sites::number::{Incarnation, Sequence};

use crate::action::{BrokerStream, Millis};
use crate::incarnation::Expected;
use crate::link::Link;
use crate::publish::Publisher;
use crate::rows;
use crate::store::{self, LinkBatch, Own, OwnRun};

/// Ends of own messages whose values are remembered, a stream: others are at one of them, so a holding is compared
/// without reading.
const ENDS_MAX: usize = 512;

/// Before it publishes, a site listens so long whether others hold more of it than it remembers: the first where all
/// others were heard, the second at most.
const LISTEN_MILLIS: u64 = 2_000;
const LISTEN_MILLIS_MAX: u64 = 5_000;

/// Heartbeat numbers that are reserved in the store at a time. Numbers begin with the clock's milliseconds, and rise
/// more slowly: so a start after a backup was put back is beyond all numbers that were used, if it is this many
/// milliseconds later.
const NUMBERS: u64 = 50_000;

/// One own stream.
#[derive(Debug, Default)]
pub(crate) struct OwnStream {
    /// Its last durable item.
    pub(crate) last: Sequence,
    /// The last item that the broker has; `None` until that is known.
    pub(crate) published: Option<Sequence>,
    /// The chain at an item that the broker has; of earlier incarnations at the last item. Nothing else is signed
    /// outside of messages: while two copies of a folder run, the broker takes the next item of only one of them.
    pub(crate) tip: Option<Chain>,
    /// The last item that somebody else is known to hold.
    pub(crate) confirmed: Sequence,
    /// The beginnings of the chain's values at ends of messages.
    pub(crate) ends: BTreeMap<Sequence, [u8; 8]>,
    /// The signed head of the tip.
    pub(crate) head: Option<Head>,
    /// A read of its chain is under way: at its tip, or where somebody holds it.
    pub(crate) is_reading: bool,
    /// The store does not know its chain at this item any more.
    pub(crate) unknown: Option<Sequence>,
    /// When somebody last claimed to hold something else of it than we remember.
    pub(crate) doubted_at: Option<Millis>,
}

impl OwnStream {
    /// The last item that may be signed outside of a message to the broker.
    pub(crate) fn said(&self, is_present: bool) -> Sequence {
        if is_present { self.published.unwrap_or_default().min(self.last) } else { self.last }
    }

    /// Remembers the chain's value at an end of a message.
    pub(crate) fn keep_end(&mut self, at: Chain) {
        self.ends.insert(at.sequence, beginning(at.value));
        if self.ends.len() > ENDS_MAX {
            self.ends.pop_first();
        }
    }
}

/// What this site has said.
#[derive(Default)]
pub(crate) struct OwnSide {
    /// As of the last tick.
    pub(crate) latest: Own,
    pub(crate) streams: BTreeMap<StreamId, OwnStream>,
    /// The last item that was signed since the start: of streams whose end was given to a new incarnation, too.
    pub(crate) signed: BTreeMap<StreamId, Sequence>,
    /// What others are known to hold, as it is journalled.
    pub(crate) confirmed: BTreeMap<StreamId, Sequence>,
    pub(crate) publishers: [Publisher; 2],
    /// Whether the network's terms are known.
    pub(crate) has_terms: bool,
    /// Whether peers, terms and renewals that were passed on are committed, and own streams looked at since.
    pub(crate) is_settled: bool,
    pub(crate) is_committed: bool,
    /// Why this site has stopped publishing.
    pub(crate) fenced: Option<String>,
    /// Incarnations that have led to a new one already.
    pub(crate) renewed_for: BTreeSet<Incarnation>,
    pub(crate) started: Millis,
    /// When this incarnation began to listen.
    pub(crate) since: Millis,
    /// The number of the last heartbeat, and what the last ones were.
    pub(crate) number: u64,
    reserved: u64,
    pub(crate) sent: VecDeque<Vec<u8>>,
    pub(crate) heartbeat_at: Millis,
    pub(crate) is_heartbeat_due: bool,
    /// Records of others were applied since the last heartbeat.
    pub(crate) has_news: bool,
    /// Streams whose positions changed since the last heartbeat, and since the one before.
    pub(crate) changed: BTreeSet<StreamId>,
    pub(crate) repeated: BTreeSet<StreamId>,
    /// Where the slices of the next heartbeat begin.
    pub(crate) holdings_after: Option<StreamId>,
    pub(crate) heads_from: usize,
}

impl OwnSide {
    pub(crate) fn new(now: Millis) -> Self {
        OwnSide { started: now, since: now, ..OwnSide::default() }
    }

    /// Takes a row of the store's.
    pub(crate) fn load(&mut self, site: SiteKey, key: &[u8], value: &[u8]) {
        let Ok(number) = value.try_into().map(u64::from_be_bytes) else { return };
        if key == rows::HEARTBEAT_NUMBER {
            self.number = self.number.max(number);
        } else if let Some((incarnation, stream, [])) = rows::own_stream_of(key) {
            self.confirmed.insert(StreamId { site, incarnation, stream }, Sequence(number));
        }
    }

    /// Numbers of heartbeats go on where no start before has got to, even if a backup was put back.
    pub(crate) fn begin_numbers(&mut self, now: Millis) {
        (self.number, self.reserved) = (self.number.max(now.0), 0);
    }

    /// Reserves numbers before they are used.
    pub(crate) fn reserve_numbers(&mut self, batch: &mut LinkBatch) {
        if self.number.saturating_add(NUMBERS / 2) >= self.reserved {
            self.reserved = self.number.saturating_add(NUMBERS);
            let row = Some(self.reserved.to_be_bytes().to_vec());
            batch.rows.push((rows::HEARTBEAT_NUMBER.to_vec(), row));
        }
    }

    /// A commit failed: what was to be done was not.
    pub(crate) fn forget_tentative(&mut self, now: Millis) {
        (self.is_settled, self.is_committed) = (false, false);
        self.is_heartbeat_due = false;
        // The new incarnation may not have begun.
        self.renewed_for.clear();
        self.publishers.iter_mut().for_each(|one| one.interrupted(now));
        self.streams.values_mut().for_each(|one| one.is_reading = false);
    }

    /// The streams of the present incarnation, those of records first.
    pub(crate) fn present(&self) -> impl Iterator<Item = (&StreamId, &OwnStream)> {
        let present = self.latest.incarnation;
        self.streams.iter().filter(move |(id, _)| id.incarnation == present)
    }
}

impl Link {
    /// Takes note of what there is of own streams.
    pub(crate) fn adopt(&mut self, own: &Own) {
        if self.own.is_committed {
            // What was passed on has taken effect in what is said now.
            (self.own.is_settled, self.own.is_committed) = (true, false);
        }
        if self.own.latest == *own {
            return;
        }
        if own.incarnation != self.own.latest.incarnation {
            self.own.since = self.now;
            self.own.publishers.iter_mut().for_each(Publisher::begin_incarnation);
            // What the bucket has of the one before is looked at, before it is replaced.
            self.snapshots.is_own_seen = false;
        }
        for one in &own.streams {
            let id = self.own_id(one);
            let confirmed = self.own.confirmed.get(&id).copied().unwrap_or_default();
            let stream = self.own.streams.entry(id).or_default();
            stream.confirmed = stream.confirmed.max(confirmed).min(one.last);
            if one.last < stream.last {
                // Its end was given to a new incarnation.
                (stream.tip, stream.head) = (stream.tip.filter(|tip| tip.sequence <= one.last), None);
                stream.ends.retain(|sequence, _| *sequence <= one.last);
            }
            stream.last = one.last;
        }
        let there: BTreeSet<StreamId> = own.streams.iter().map(|one| self.own_id(one)).collect();
        self.own.streams.retain(|id, _| there.contains(id));
        for (id, _) in self.own.confirmed.extract_if(.., |id, _| !there.contains(id)) {
            self.batch.rows.push((rows::confirmed(id.incarnation, id.stream), None));
        }
        self.own.latest = own.clone();
    }

    /// Whether we have listened long enough to publish.
    pub(crate) fn has_listened(&self) -> bool {
        let heard = self.neighbours.values().filter(|one| one.heard_at.is_some()).count() as u64;
        let is_all = heard + 1 >= self.documents.members();
        self.now.since(self.own.since) >= if is_all { LISTEN_MILLIS } else { LISTEN_MILLIS_MAX }
    }

    /// The name of an own stream.
    fn own_id(&self, one: &store::OwnStream) -> StreamId {
        StreamId { site: self.key, incarnation: one.incarnation, stream: one.stream }
    }

    /// How far we remember an own stream; `None` while that is being read.
    pub(crate) fn own_start(&self, id: &StreamId) -> Option<Chain> {
        match self.own.streams.get(id) {
            Some(one) if one.last > Sequence::START => one.tip.filter(|tip| tip.sequence == one.last),
            _ => Some(Chain::begin(id)),
        }
    }

    /// The last own item that is handed on.
    pub(crate) fn own_end(&self, id: &StreamId) -> Sequence {
        let is_present = id.incarnation == self.own.latest.incarnation;
        self.own.streams.get(id).map_or(Sequence::START, |one| one.said(is_present))
    }

    /// Reads the chain of own streams where it is not known, so that heads can be signed and streams followed.
    pub(crate) fn read_tips(&mut self) {
        let is_wanted = |(id, one): (&StreamId, &OwnStream)| {
            let end = self.own_end(id);
            let is_known = one.tip.is_some_and(|tip| tip.sequence >= end);
            (end > Sequence::START && one.unknown != Some(end) && !is_known).then_some((*id, end))
        };
        let wanted: Vec<(StreamId, Sequence)> = self.own.streams.iter().filter_map(is_wanted).collect();
        for (id, end) in wanted {
            self.read_chain(id, end, None);
        }
    }

    /// Reads the chain of an own stream at a sequence, and compares it with what it should be there.
    pub(crate) fn read_chain(&mut self, id: StreamId, at: Sequence, expected: Option<Expected>) {
        if self.own.streams.get(&id).is_none_or(|one| one.is_reading) {
            return;
        }
        let is_asked = self.read_own(id, at, 0, move |link, run| link.chain_read(id, at, expected, run));
        if let Some(one) = self.own.streams.get_mut(&id) {
            one.is_reading = is_asked;
        }
    }

    fn chain_read(&mut self, id: StreamId, at: Sequence, expected: Option<Expected>, run: Option<OwnRun>) {
        let Some(one) = self.own.streams.get_mut(&id) else { return };
        one.is_reading = false;
        let Some(run) = run else { return };
        let found = run.start();
        match expected {
            Some(expected) => self.compare(id, at, &expected, found),
            None => {
                one.unknown = found.is_none().then_some(at);
                self.take_tip(&id, found);
            }
        }
    }

    /// The chain of an own stream is known at a sequence.
    pub(crate) fn take_tip(&mut self, id: &StreamId, at: Option<Chain>) {
        let Some(one) = self.own.streams.get_mut(id) else { return };
        if let Some(at) = at.filter(|at| at.sequence <= one.last) {
            one.keep_end(at);
            if one.tip.is_none_or(|tip| tip.sequence < at.sequence) {
                (one.tip, one.head) = (Some(at), None);
            }
        }
    }

    /// The manifest under which sightings are made; records need none.
    pub(crate) fn manifest_for(&self, stream: Stream) -> u64 {
        let holding = stream.generation().and_then(|generation| self.documents.manifests.holding(generation));
        holding.map_or(0, |manifest| manifest.number)
    }

    /// A head of ours, signed: of a payload, or alone.
    pub(crate) fn signed_head(
        &mut self,
        id: StreamId,
        previous: Sequence,
        at: Chain,
        payload: &[u8],
    ) -> Option<Head> {
        let StreamId { incarnation, stream, .. } = id;
        let manifest = self.manifest_for(stream);
        let time_secs = self.now.secs();
        let statement = Statement { incarnation, stream, previous, at, manifest, time_secs };
        match Head::sign(&self.secret, &self.documents.network, statement, payload) {
            Ok(head) => {
                let signed = self.own.signed.entry(id).or_default();
                *signed = at.sequence.max(*signed);
                if let Some(one) = self.own.streams.get_mut(&id) {
                    one.keep_end(at);
                }
                Some(head)
            }
            Err(error) => {
                self.warn(format!("cannot sign items {previous} to {} of own stream: {error}", at.sequence));
                None
            }
        }
    }

    /// A message of ours.
    pub(crate) fn signed(
        &mut self,
        id: StreamId,
        previous: Sequence,
        at: Chain,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let mut bytes = self.signed_head(id, previous, at, payload)?.bytes();
        bytes.extend_from_slice(payload);
        Some(bytes)
    }

    /// Own streams in the present incarnation that a broker's stream has, oldest first.
    pub(crate) fn own_in(&self, broker: BrokerStream) -> impl Iterator<Item = (&StreamId, &OwnStream)> {
        self.own.present().filter(move |(id, _)| BrokerStream::of(id.stream) == broker)
    }
}

/// What holdings say of a value.
pub(crate) fn beginning(value: Digest) -> [u8; 8] {
    value.0.first_chunk().copied().unwrap_or_default()
}
