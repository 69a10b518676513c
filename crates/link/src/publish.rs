//! Publishing: what the store has of own streams that the broker has not is read, signed and published, one message of
//! each kind at a time. Nothing is published that is not durable.

use seenit_sites::chain::Chain;
use seenit_sites::list;
use seenit_sites::message::{Head, Message, PAYLOAD_BYTES_MAX, StreamId};
use seenit_sites::number::Sequence;

use crate::action::{Action, BrokerStream, Millis, Published, Ticket};
use crate::link::Link;
use crate::rows;
use crate::store::OwnRun;

/// How long after a failure something is published again.
const RETRY_MILLIS: u64 = 500;

/// How long the broker may take to say what came of it; then it is published again. A second copy changes nothing.
const PATIENCE_MILLIS: u64 = 15_000;

/// What is being published of one kind.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    /// Whether the broker has said what it holds last under our name.
    is_resumed: bool,
    /// What the broker holds last under our name, until it is known that we said it.
    unverified: Option<Head>,
    stage: Stage,
    /// Why the broker did not store something, the last time.
    pub(crate) why: Option<String>,
    /// Since when items wait of which none was published.
    pub(crate) waiting_since: Option<Millis>,
    /// Bytes that were published since the start.
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Idle,
    /// Items are being read.
    Reading,
    /// Nothing is done before this time.
    Pausing(Millis),
    UnderWay(UnderWay),
}

#[derive(Debug)]
struct UnderWay {
    ticket: Ticket,
    /// When it was handed over, or when that failed.
    since: Millis,
    is_failed: bool,
    bytes: Vec<u8>,
    id: StreamId,
    chain: Chain,
}

impl Publisher {
    /// A commit failed: what was to be handed over was not.
    pub(crate) fn interrupted(&mut self, now: Millis) {
        match &mut self.stage {
            Stage::UnderWay(one) => (one.is_failed, one.since) = (true, now),
            Stage::Reading => self.stage = Stage::Idle,
            Stage::Idle | Stage::Pausing(_) => {}
        }
    }

    /// What is under way is of the incarnation before.
    pub(crate) fn begin_incarnation(&mut self) {
        (self.stage, self.waiting_since, self.unverified) = (Stage::Idle, None, None);
    }
}

impl Link {
    /// The broker says what it holds last under our name, of one kind; nothing is published before.
    pub fn resume(&mut self, now: Millis, kind: BrokerStream, last: Option<&[u8]>) {
        if self.begin(now) {
            self.take_up(kind, last);
        }
    }

    fn take_up(&mut self, kind: BrokerStream, last: Option<&[u8]>) {
        let publisher = &mut self.own.publishers[kind as usize];
        (publisher.is_resumed, publisher.stage) = (true, Stage::Idle);
        let roster = self.documents.roster.as_ref();
        let last = last.zip(roster).and_then(|(bytes, roster)| Message::decode(bytes, roster).ok());
        match last.map(|message| message.head).filter(|head| head.id.site == self.key) {
            Some(head) => {
                self.own.publishers[kind as usize].unverified = Some(head);
                self.note_head(&head);
            }
            // It has forgotten all of it, or had none.
            None => {
                let present = self.own.latest.incarnation;
                let of_kind =
                    |id: &StreamId| id.incarnation == present && BrokerStream::of(id.stream) == kind;
                let forgotten = self.own.streams.iter_mut().filter(|(id, _)| of_kind(id));
                forgotten.for_each(|(_, one)| one.published = None);
            }
        }
    }

    /// We have said what the broker holds last under our name: so much is published.
    pub(crate) fn verified(&mut self, kind: BrokerStream) {
        let Some(head) = self.own.publishers[kind as usize].unverified.take() else { return };
        if let Some(one) = self.own.streams.get_mut(&head.id) {
            one.published = Some(head.sequence.min(one.last));
        }
    }

    /// What came of [`Action::Publish`].
    pub fn published(&mut self, now: Millis, ticket: Ticket, outcome: Published) {
        if !self.begin(now) {
            return;
        }
        let is_it =
            |stage: &Stage| matches!(stage, Stage::UnderWay(one) if one.ticket == ticket && !one.is_failed);
        let Some(kind) =
            BrokerStream::ALL.into_iter().find(|kind| is_it(&self.own.publishers[*kind as usize].stage))
        else {
            return;
        };
        let now = self.now;
        let publisher = &mut self.own.publishers[kind as usize];
        let Stage::UnderWay(one) = &mut publisher.stage else { return };
        match outcome {
            Published::Fenced { last } => {
                publisher.why = None;
                self.take_up(kind, last.as_deref());
            }
            Published::Failed { why } => {
                (one.is_failed, one.since, publisher.why) = (true, now, Some(why));
            }
            Published::Stored => {
                let id = one.id;
                let chain = one.chain;
                publisher.bytes += one.bytes.len() as u64;
                (publisher.stage, publisher.why, publisher.waiting_since) = (Stage::Idle, None, None);
                if let Some(stream) = self.own.streams.get_mut(&id) {
                    stream.published = Some(chain.sequence.min(stream.last));
                }
                self.take_tip(&id, Some(chain));
                self.publish_kind(kind);
            }
        }
    }

    /// Publishes what the broker has not.
    pub(crate) fn publish(&mut self) {
        BrokerStream::ALL.into_iter().for_each(|kind| self.publish_kind(kind));
    }

    fn publish_kind(&mut self, kind: BrokerStream) {
        if !self.may_publish() {
            return;
        }
        let now = self.now;
        let is_waiting = self.own_in(kind).any(|(_, one)| one.published.unwrap_or_default() < one.last);
        let publisher = &mut self.own.publishers[kind as usize];
        publisher.waiting_since = is_waiting.then(|| publisher.waiting_since.unwrap_or(now));
        match &mut publisher.stage {
            Stage::Reading => return,
            Stage::Pausing(until) if now < *until => return,
            Stage::UnderWay(one) => {
                let patience = if one.is_failed { RETRY_MILLIS } else { PATIENCE_MILLIS };
                if now.since(one.since) >= patience {
                    self.hand_over(kind);
                }
                return;
            }
            Stage::Idle | Stage::Pausing(_) => publisher.stage = Stage::Idle,
        }
        if !is_waiting || !publisher.is_resumed || !self.has_listened() || !self.is_verified(kind) {
            return;
        }
        let next = self.own_in(kind).map(|(id, one)| (*id, one.published, one.last));
        for (id, published, last) in next.collect::<Vec<_>>() {
            let after = published.unwrap_or_else(|| self.least_held(id).min(last));
            if let Some(one) = self.own.streams.get_mut(&id) {
                one.published = Some(after);
            }
            if after < last {
                if self.read_own(id, after, PAYLOAD_BYTES_MAX, move |link, run| link.publish_run(id, run)) {
                    self.own.publishers[kind as usize].stage = Stage::Reading;
                }
                return;
            }
        }
    }

    /// Whether what the broker holds last under our name is what we said. If not, we have not finished finding out
    /// whether we came back from a backup.
    fn is_verified(&mut self, kind: BrokerStream) -> bool {
        // It is looked at again each time: a read may have failed.
        if let Some(head) = self.own.publishers[kind as usize].unverified
            && self.said_by_us(head.id, head.chain(), head.time_secs)
        {
            self.verified(kind);
        }
        let is_verified = self.own.publishers[kind as usize].unverified.is_none();
        is_verified && self.own.is_settled && !self.own_in(kind).any(|(_, one)| self.is_doubtful(one))
    }

    /// Where to begin when the broker has nothing: what every other member shows to hold need not be said again. Who
    /// shows nothing is a newcomer, and fetches a snapshot.
    fn least_held(&self, id: StreamId) -> Sequence {
        let held = self.neighbours.values().filter_map(|one| one.holds.get(&id)).map(|held| held.sequence);
        let confirmed = self.own.streams.get(&id).map_or(Sequence::START, |one| one.confirmed);
        held.filter(|held| *held > Sequence::START).min().unwrap_or(confirmed)
    }

    /// Own items were read, to be published.
    fn publish_run(&mut self, id: StreamId, run: Option<OwnRun>) {
        let kind = BrokerStream::of(id.stream);
        let publisher = &mut self.own.publishers[kind as usize];
        if !matches!(publisher.stage, Stage::Reading) {
            return;
        }
        publisher.stage = Stage::Pausing(self.now.after(RETRY_MILLIS));
        let is_present = id.incarnation == self.own.latest.incarnation && self.may_publish();
        let (Some(run), Some(stream)) = (run.filter(|_| is_present), self.own.streams.get_mut(&id)) else {
            return;
        };
        let Some(start) = run.start() else {
            // They have expired or were added up: whoever misses them takes them from a snapshot.
            stream.published = Some(stream.last);
            return;
        };
        let (chain, payload, _) = self.packed(id, start, &run.items);
        if payload.is_empty() {
            return;
        }
        let Some(bytes) = self.signed(id, start.sequence, chain, &payload) else { return };
        let since = self.now;
        let one = UnderWay { ticket: Ticket(0), since, is_failed: false, bytes, id, chain };
        self.own.publishers[kind as usize].stage = Stage::UnderWay(one);
        self.hand_over(kind);
    }

    /// As many items as one message holds: the chain after them, the payload, and how many they are. Values of the
    /// chain are kept every so often, so that the store finds one without reading all items.
    pub(crate) fn packed(
        &mut self,
        id: StreamId,
        start: Chain,
        items: &[Vec<u8>],
    ) -> (Chain, Vec<u8>, usize) {
        let mut chain = start;
        let mut payload = Vec::new();
        let mut count = 0;
        for item in items {
            if payload.len() + 4 + item.len() > PAYLOAD_BYTES_MAX {
                break;
            }
            list::push(&mut payload, item);
            (chain, count) = (chain.then(item), count + 1);
            if chain.sequence.0.is_multiple_of(rows::CHECKPOINT_ITEMS) {
                let key = rows::checkpoint(id.incarnation, id.stream, chain.sequence);
                self.batch.rows.push((key, Some(chain.value.0.to_vec())));
            }
        }
        (chain, payload, count)
    }

    /// Hands what is under way to the broker.
    fn hand_over(&mut self, kind: BrokerStream) {
        let ticket = self.reads.next_ticket();
        let Stage::UnderWay(one) = &mut self.own.publishers[kind as usize].stage else { return };
        (one.ticket, one.since, one.is_failed) = (ticket, self.now, false);
        let bytes = one.bytes.clone();
        self.out.push(Action::Publish { ticket, kind, bytes });
    }

    /// Whether what the store says of own streams is up to date, and nobody else publishes under our key. A fenced site
    /// does not sign.
    pub(crate) fn may_publish(&self) -> bool {
        self.own.is_settled && self.own.fenced.is_none()
    }
}
