//! One site with its store, and others of which only what they sign is there.

use seenit_filter::sightings::{Fingerprint, Sighting, encode};
use seenit_link::store::{Committed, LinkBatch, PeerSite, Store};
use seenit_link::{
    Action, BrokerState, BrokerStream, Link, LocalCaps, Millis, NetworkStatus, Published, ReplyTo, SiteStatus,
};
use seenit_sites::Digest;
use seenit_sites::ask::{Ask, AskAnswer};
use seenit_sites::chain::Chain;
use seenit_sites::heartbeat::{Heartbeat, Holding};
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::list;
use seenit_sites::manifest::{HashKey, Manifest, ManifestTerms};
use seenit_sites::message::{Head, Message, Statement, Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::roster::{Caps, Member, Roster};

use crate::double::{Disk, Double};

/// The time at which every test begins, in milliseconds.
pub(crate) const NOW: u64 = 1_800_000_000_000;
pub(crate) const GENERATION_SECS: u64 = 3600;
pub(crate) const GENERATION: Generation = Generation(NOW / 1000 / GENERATION_SECS);
pub(crate) const SIGHTINGS: Stream = Stream::Sightings { generation: GENERATION };

/// The incarnation of others.
pub(crate) const INCARNATION: Incarnation = Incarnation(1_700_000_000);

pub(crate) fn admin() -> AdminSecret {
    AdminSecret::from_bytes([7; 32])
}

pub(crate) fn secret(seed: u8) -> SiteSecret {
    SiteSecret::from_bytes([seed; 32])
}

pub(crate) fn id(seed: u8, stream: Stream) -> StreamId {
    StreamId { site: secret(seed).public(), incarnation: INCARNATION, stream }
}

pub(crate) fn roster_of(admin: &AdminSecret, version: u64, seeds: &[u8]) -> Roster {
    let member = |seed: &u8| Member {
        site: secret(*seed).public(),
        sealing: secret(*seed).sealing().public(),
        name: format!("site{seed}").parse().expect("a name"),
        caps: Caps { spam: 10, ham: 10, seen: 1000 },
    };
    Roster::sign(admin, version, seeds.iter().map(member).collect()).expect("a roster")
}

/// What another site said of one stream.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) id: StreamId,
    seed: u8,
    pub(crate) chain: Chain,
    /// Its messages, in order.
    pub(crate) messages: Vec<Vec<u8>>,
}

impl Log {
    pub(crate) fn new(seed: u8, id: StreamId) -> Self {
        Log { id, seed, chain: Chain::begin(&id), messages: Vec::new() }
    }

    /// One more message with these items.
    pub(crate) fn say(&mut self, items: &[&[u8]]) -> Vec<u8> {
        let (previous, mut payload) = (self.chain.sequence, Vec::new());
        for item in items {
            list::push(&mut payload, item);
            self.chain = self.chain.then(item);
        }
        let message = self.sign(previous, &payload, NOW / 1000);
        self.messages.push(message.clone());
        message
    }

    pub(crate) fn sign(&self, previous: Sequence, payload: &[u8], time_secs: u64) -> Vec<u8> {
        let statement = self.statement(previous, time_secs);
        Message::sign(&secret(self.seed), &admin().public(), statement, payload).expect("a message")
    }

    fn statement(&self, previous: Sequence, time_secs: u64) -> Statement {
        let StreamId { incarnation, stream, .. } = self.id;
        Statement { incarnation, stream, previous, at: self.chain, manifest: 1, time_secs }
    }

    /// The head alone.
    pub(crate) fn head(&self) -> Head {
        let statement = self.statement(self.chain.sequence, NOW / 1000);
        Head::sign(&secret(self.seed), &admin().public(), statement, &[]).expect("a head")
    }

    pub(crate) fn holding(&self) -> Holding {
        holding(self.id, self.chain)
    }
}

pub(crate) fn holding(id: StreamId, at: Chain) -> Holding {
    let value = *at.value.0.first_chunk().expect("32 bytes");
    Holding { id, sequence: at.sequence, value, uncounted: 0, uncounted_last: Sequence::START }
}

pub(crate) fn delta(key: u64) -> Vec<u8> {
    let fingerprint = Fingerprint::new(key).expect("a fingerprint");
    encode(&[Sighting { fingerprint, increment: 1, count: 1 }]).expect("a delta")
}

/// A heartbeat that says nothing yet.
pub(crate) fn heartbeat(seed: u8, number: u64) -> Heartbeat {
    let (heads, holdings, snapshot) = (Vec::new(), Vec::new(), Digest([0; 32]));
    let (site, incarnation, time_secs) = (secret(seed).public(), INCARNATION, NOW / 1000 + number);
    Heartbeat { site, incarnation, number, time_secs, snapshot, heads, holdings }
}

pub(crate) fn signed(seed: u8, heartbeat: &Heartbeat) -> Vec<u8> {
    heartbeat.sign(&secret(seed), &admin().public()).expect("a heartbeat")
}

/// Site 1 in a network of sites 1, 2 and 3, and its broker.
pub(crate) struct Site {
    pub(crate) link: Link,
    pub(crate) store: Double,
    pub(crate) now: u64,
    /// What the broker says of whatever is published.
    pub(crate) outcome: Published,
    /// What was published, answered and asked, and which heartbeats were sent.
    pub(crate) published: Vec<Vec<u8>>,
    pub(crate) answers: Vec<Vec<u8>>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) heartbeats: Vec<Heartbeat>,
    pub(crate) notes: Vec<String>,
    /// Records of the next commits are kept without being counted.
    pub(crate) is_full: bool,
    /// Whom the last batch made the store believe.
    pub(crate) peers: Vec<PeerSite>,
}

impl Site {
    pub(crate) fn open() -> Self {
        Site::from(Disk::default(), NOW, LocalCaps::new())
    }

    pub(crate) fn from(disk: Disk, now: u64, caps: LocalCaps) -> Self {
        let store = Double::open(secret(1).public(), disk, now / 1000, GENERATION_SECS);
        let link =
            Link::open(store.load().expect("it loads"), secret(1), admin().public(), caps, Millis(now));
        let mut site = Site {
            link,
            store,
            now,
            outcome: Published::Stored,
            published: Vec::new(),
            answers: Vec::new(),
            asks: Vec::new(),
            heartbeats: Vec::new(),
            notes: Vec::new(),
            is_full: false,
            peers: Vec::new(),
        };
        site.link.broker(Millis(now), BrokerState::Up);
        site.hear(&roster_of(&admin(), 1, &[1, 2, 3]).bytes);
        let terms = ManifestTerms { first_generation: Generation(0), generation_secs: GENERATION_SECS };
        let roster = roster_of(&admin(), 1, &[1, 2, 3]);
        let manifest = Manifest::sign(&admin(), 1, terms, &roster, &HashKey::from_bytes([9; 16]), [1; 32]);
        site.hear(&manifest.expect("a manifest").bytes);
        site.drain();
        BrokerStream::ALL.into_iter().for_each(|kind| site.link.resume(Millis(now), kind, None));
        site.drain();
        assert!(site.link.is_member());
        site
    }

    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        self.link.hear(Millis(self.now), bytes, Some(ReplyTo(1)));
    }

    pub(crate) fn take_batch(&mut self) -> LinkBatch {
        let batch = self.link.take_batch();
        self.peers = batch.peers.clone().unwrap_or_else(|| self.peers.clone());
        batch
    }

    /// One drain.
    pub(crate) fn drain(&mut self) {
        let now = Millis(self.now);
        self.store.clock_secs = self.now / 1000;
        self.link.tick(now, &self.store.own());
        let batch = self.take_batch();
        if !batch.is_empty() {
            let heard: Vec<_> = batch.heard.iter().map(|one| (one.stream, one.after.next())).collect();
            match self.store.commit(batch) {
                Ok(_) => {
                    let uncounted = if self.is_full { heard } else { Vec::new() };
                    self.link.committed(now, Committed { uncounted });
                }
                Err(error) => {
                    self.link.failed(now, &error);
                    self.act();
                    self.link.reload(now, self.store.load().expect("it loads"));
                }
            }
        }
        self.act();
    }

    fn act(&mut self) {
        let (now, roster) = (Millis(self.now), roster_of(&admin(), 1, &[1, 2, 3]));
        for action in self.link.take_actions() {
            match action {
                Action::Publish { ticket, bytes, .. } => {
                    if self.outcome == Published::Stored {
                        self.published.push(bytes);
                    }
                    self.link.published(now, ticket, self.outcome.clone());
                }
                Action::Read { ticket, read } => self.link.read_done(now, ticket, self.store.read(&read)),
                Action::Heartbeat(bytes) => {
                    self.heartbeats.push(Heartbeat::decode(&bytes, &roster).expect("a heartbeat"));
                }
                Action::Ask { bytes, .. } => self.asks.push(Ask::decode(&bytes, &roster).expect("an ask")),
                Action::Answer { bytes, .. } => self.answers.push(bytes),
                Action::Note(note) => self.notes.push(note.text),
                Action::Get { site, name } => self.link.object(now, site, &name, None),
                Action::Put { .. } | Action::Remove { .. } => {}
            }
        }
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            self.now += 50;
            self.drain();
        }
    }

    pub(crate) fn status(&self) -> NetworkStatus {
        self.link.status(Millis(self.now))
    }

    /// How another site is doing.
    pub(crate) fn other(&self, seed: u8) -> SiteStatus {
        let key = secret(seed).public().to_string();
        self.status().sites.into_iter().find(|site| site.site == key).expect("a member")
    }

    /// How far a stream is applied.
    pub(crate) fn applied(&self, id: &StreamId) -> u64 {
        let key = id.site.to_string();
        let sites = self.status().sites;
        let streams = sites.iter().filter(|site| site.site == key).flat_map(|site| &site.streams);
        let generation = match id.stream {
            Stream::Records => None,
            Stream::Sightings { generation } => Some(generation.0),
        };
        let is_it = |one: &&seenit_link::StreamStatus| {
            one.generation == generation && one.incarnation == id.incarnation.0
        };
        streams.into_iter().find(is_it).map_or(0, |one| one.applied)
    }

    /// Heads of what was published, of one kind of stream: from where to where.
    pub(crate) fn steps(&self, stream: Stream) -> Vec<(u64, u64)> {
        let roster = roster_of(&admin(), 1, &[1, 2, 3]);
        let heads = self.published.iter().map(|bytes| Message::decode(bytes, &roster).expect("ours").head);
        let of_stream = heads.filter(|head| head.id.stream == stream);
        of_stream.map(|head| (head.previous.0, head.sequence.0)).collect()
    }

    /// The own stream of the present incarnation.
    pub(crate) fn own(&self, stream: Stream) -> StreamId {
        StreamId { site: secret(1).public(), incarnation: self.store.own().incarnation, stream }
    }

    /// The chain of an own stream.
    pub(crate) fn own_chain(&self, id: &StreamId, at: u64) -> Chain {
        let value = self.store.value_at(id.incarnation, id.stream, Sequence(at)).expect("it is there");
        Chain { sequence: Sequence(at), value }
    }
}

/// An answer that is a message.
pub(crate) fn answer(message: &[u8]) -> Vec<u8> {
    AskAnswer::Message(message.to_vec()).encode()
}
