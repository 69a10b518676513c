//! Own streams: how far they are, how far others are known to hold them, and what is signed of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::message::{Head, Message, State, Stream, StreamId};
use seenit_sites::number::{Incarnation, Sequence};

use crate::action::{Kind, Millis};
use crate::link::Link;
use crate::publish::Publisher;
use crate::read::{Purpose, Wanted};
use crate::rows;
use crate::store::{Batch, Own, OwnRun};

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

/// Which of our own streams.
pub(crate) type OwnId = (Incarnation, Stream);

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
    pub(crate) head: Option<(Head, Vec<u8>)>,
    /// A read of its tip, or of a value that somebody holds, is under way.
    pub(crate) is_reading: bool,
    /// The store does not know its chain at this item any more.
    pub(crate) unknown: Option<Sequence>,
    pub(crate) is_checking: bool,
    /// When somebody last claimed to hold something else of it than we remember.
    pub(crate) doubted_at: Option<Millis>,
}

impl OwnStream {
    /// The last item that may be signed outside of a message to the broker.
    pub(crate) fn said(&self, is_present: bool) -> Sequence {
        if is_present { self.published.unwrap_or_default().min(self.last) } else { self.last }
    }

    /// Remembers the chain's value at an end of a message.
    pub(crate) fn keep_end(&mut self, sequence: Sequence, value: Digest) {
        self.ends.insert(sequence, beginning(value));
        if self.ends.len() > ENDS_MAX {
            self.ends.pop_first();
        }
    }
}

/// What this site has said.
pub(crate) struct OwnSide {
    /// As of the last tick.
    pub(crate) latest: Own,
    pub(crate) streams: BTreeMap<OwnId, OwnStream>,
    /// The last item that was signed since the start: of streams whose end was given to a new incarnation, too.
    pub(crate) signed: BTreeMap<OwnId, Sequence>,
    /// What others are known to hold, as it is journalled.
    pub(crate) confirmed: BTreeMap<OwnId, Sequence>,
    pub(crate) publishers: [Publisher; 2],
    /// Whether the network's terms are known.
    pub(crate) has_terms: bool,
    /// Whether peers, terms and renewals that were passed on are committed, and own streams looked at since.
    pub(crate) is_settled: bool,
    is_committed: bool,
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
        OwnSide {
            latest: Own::default(),
            streams: BTreeMap::new(),
            signed: BTreeMap::new(),
            confirmed: BTreeMap::new(),
            publishers: [Publisher::default(), Publisher::default()],
            has_terms: false,
            is_settled: false,
            is_committed: false,
            fenced: None,
            renewed_for: BTreeSet::new(),
            started: now,
            since: now,
            number: 0,
            reserved: 0,
            sent: VecDeque::new(),
            heartbeat_at: Millis(0),
            is_heartbeat_due: false,
            has_news: false,
            changed: BTreeSet::new(),
            repeated: BTreeSet::new(),
            holdings_after: None,
            heads_from: 0,
        }
    }

    /// Takes a row of the store's.
    pub(crate) fn load(&mut self, key: &[u8], value: &[u8]) {
        let Ok(number) = value.try_into().map(u64::from_be_bytes) else { return };
        if key == rows::HEARTBEAT_NUMBER {
            self.number = self.number.max(number);
        } else if let Some((incarnation, stream, [])) = rows::own_stream_of(key) {
            self.confirmed.insert((incarnation, stream), Sequence(number));
        }
    }

    /// Numbers of heartbeats go on where no start before has got to, even if a backup was put back.
    pub(crate) fn begin_numbers(&mut self, now: Millis) {
        (self.number, self.reserved) = (self.number.max(now.0), 0);
    }

    /// Reserves numbers before they are used.
    pub(crate) fn reserve_numbers(&mut self, batch: &mut Batch) {
        if self.number.saturating_add(NUMBERS / 2) >= self.reserved {
            self.reserved = self.number.saturating_add(NUMBERS);
            let row = Some(self.reserved.to_be_bytes().to_vec());
            batch.rows.push((rows::HEARTBEAT_NUMBER.to_vec(), row));
        }
    }

    /// A batch is durable.
    pub(crate) fn committed(&mut self) {
        self.is_committed = true;
    }

    /// A commit failed: what was to be done was not.
    pub(crate) fn forget_tentative(&mut self, now: Millis) {
        (self.is_settled, self.is_committed) = (false, false);
        self.is_heartbeat_due = false;
        // The new incarnation may not have begun.
        self.renewed_for.clear();
        self.publishers.iter_mut().for_each(|one| one.interrupted(now));
        self.streams.values_mut().for_each(|one| (one.is_reading, one.is_checking) = (false, false));
    }

    /// The stream of the present incarnation.
    pub(crate) fn present(&self, stream: Stream) -> Option<&OwnStream> {
        self.streams.get(&(self.latest.incarnation, stream))
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
            self.snapshots.look_at_own();
        }
        for one in &own.streams {
            let id = (one.incarnation, one.stream);
            let confirmed = self.own.confirmed.get(&id).copied().unwrap_or_default();
            let stream = self.own.streams.entry(id).or_default();
            stream.confirmed = stream.confirmed.max(confirmed).min(one.last);
            if one.last < stream.last {
                // Its end was given to a new incarnation.
                let is_ahead = |chain: &Chain| chain.sequence() > one.last;
                (stream.tip, stream.head) = (stream.tip.filter(|tip| !is_ahead(tip)), None);
                stream.ends.retain(|sequence, _| *sequence <= one.last);
            }
            stream.last = one.last;
        }
        let is_there = |id: &OwnId| own.streams.iter().any(|one| (one.incarnation, one.stream) == *id);
        self.own.streams.retain(|id, _| is_there(id));
        let ended: Vec<OwnId> = self.own.confirmed.keys().filter(|id| !is_there(id)).copied().collect();
        for id in ended {
            self.own.confirmed.remove(&id);
            self.batch.rows.push((rows::confirmed(id.0, id.1), None));
        }
        self.own.latest = own.clone();
    }

    /// Whether we have listened long enough to publish.
    pub(crate) fn has_listened(&self) -> bool {
        let heard = self.neighbours.values().filter(|one| one.heard_at.is_some()).count() as u64;
        let is_all = heard + 1 >= self.documents.members();
        self.now.since(self.own.since) >= if is_all { LISTEN_MILLIS } else { LISTEN_MILLIS_MAX }
    }

    /// How far we remember an own stream; `None` while that is being read.
    pub(crate) fn own_start(&mut self, id: &StreamId) -> Option<Chain> {
        match self.own.streams.get(&(id.incarnation, id.stream)) {
            None => Some(Chain::begin(id)),
            Some(one) if one.last == Sequence::START => Some(Chain::begin(id)),
            Some(one) => one.tip.filter(|tip| tip.sequence() == one.last),
        }
    }

    /// Reads the chain of own streams where it is not known, so that heads can be signed and streams followed.
    pub(crate) fn read_tips(&mut self) {
        let present = self.own.latest.incarnation;
        let is_wanted = |(id, one): (&OwnId, &OwnStream)| {
            let end = one.said(id.0 == present);
            let is_known = one.tip.is_some_and(|tip| tip.sequence() >= end);
            let is_wanted = end > Sequence::START && one.unknown != Some(end);
            (is_wanted && !one.is_reading && !is_known).then_some((*id, end))
        };
        let wanted: Vec<_> = self.own.streams.iter().filter_map(is_wanted).collect();
        for (id, after) in wanted {
            let is_asked = self.read(Purpose::Tip(id), Wanted::Own { id, after, bytes_max: 0 });
            if let Some(one) = self.own.streams.get_mut(&id) {
                one.is_reading = is_asked;
            }
        }
    }

    /// The chain of an own stream is known at a sequence.
    pub(crate) fn take_tip(&mut self, id: OwnId, at: Option<Chain>) {
        let Some(one) = self.own.streams.get_mut(&id) else { return };
        if let Some(at) = at.filter(|at| at.sequence() <= one.last) {
            one.keep_end(at.sequence(), at.value());
            if one.tip.is_none_or(|tip| tip.sequence() < at.sequence()) {
                (one.tip, one.head) = (Some(at), None);
            }
        }
    }

    /// The chain of an own stream was read at its end, if it could be.
    pub(crate) fn tip_read(&mut self, id: OwnId, run: Option<OwnRun>) {
        let end = self.own_end(id);
        let Some(one) = self.own.streams.get_mut(&id) else { return };
        one.is_reading = false;
        let Some(run) = run else { return };
        if run.value.is_none() {
            one.unknown = Some(end);
        }
        self.take_tip(id, run.value.map(|value| Chain::resume(run.after, value)));
    }

    /// A message of ours.
    pub(crate) fn signed(
        &mut self,
        id: OwnId,
        previous: Sequence,
        at: Chain,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let manifest = match id.1 {
            Stream::Records => 0,
            Stream::Sightings { generation } => {
                self.documents.manifests.holding(generation).map_or(0, |manifest| manifest.number())
            }
        };
        let (incarnation, stream) = id;
        let (sequence, value, time_secs) = (at.sequence(), at.value(), self.now.secs());
        let state = State { incarnation, stream, sequence, manifest, value, time_secs };
        match Message::sign(&self.secret, &self.documents.network, state, previous, payload) {
            Ok(bytes) => {
                let signed = self.own.signed.entry(id).or_default();
                *signed = sequence.max(*signed);
                if let Some(one) = self.own.streams.get_mut(&id) {
                    one.keep_end(sequence, value);
                }
                Some(bytes)
            }
            Err(error) => {
                self.warn(format!("cannot sign items {previous} to {sequence} of own stream: {error}"));
                None
            }
        }
    }

    /// Own streams of a kind in the present incarnation, oldest first.
    pub(crate) fn own_of_kind(&self, kind: Kind) -> impl Iterator<Item = (&OwnId, &OwnStream)> {
        let present = self.own.latest.incarnation;
        self.own.streams.iter().filter(move |(id, _)| id.0 == present && kind_of(id.1) == kind)
    }
}

/// Which of the broker's streams a stream is published to.
pub(crate) fn kind_of(stream: Stream) -> Kind {
    match stream {
        Stream::Records => Kind::Records,
        Stream::Sightings { .. } => Kind::Sightings,
    }
}

/// What holdings say of a value.
pub(crate) fn beginning(value: Digest) -> [u8; 8] {
    value.0.first_chunk().copied().unwrap_or_default()
}
