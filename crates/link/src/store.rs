//! What the link asks of a site's memory. The ledger is a [`Store`]; so is a double in the simulation, which loses
//! what was not synced.
//!
//! The link itself reads and writes nothing. What must last it puts into one [`LinkBatch`], which whoever drives it
//! commits and reports on; what it must read it asks for ([`Read`]), and is given some time later ([`ReadDone`]).

use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::key::{AdminKey, SiteKey};
use seenit_sites::manifest::HashKey;
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::roster::Caps;
use thiserror::Error;

/// The number of a site in this store, for as long as it is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerSlot(pub u16);

/// A member of the roster, this site itself included: what others hold of its earlier incarnations comes back to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerSite {
    /// Its number here.
    pub slot: PeerSlot,
    /// Its key.
    pub site: SiteKey,
    /// Its name.
    pub name: String,
    /// How far it is believed.
    pub caps: Caps,
}

/// The network that this site belongs to, and what its sightings are hashed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkTerms {
    /// The network.
    pub network: AdminKey,
    /// Seconds of a generation.
    pub generation_secs: u64,
    /// Hash keys, each with the first generation it holds for, in order.
    pub keys: Vec<(Generation, HashKey)>,
}

/// A stream of a peer, as the store names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeldStream {
    /// Whose.
    pub slot: PeerSlot,
    /// Of which incarnation.
    pub incarnation: Incarnation,
    /// Records, or sightings of a generation.
    pub stream: Stream,
}

/// Items of a peer's stream that follow each other and on what is held of it. That none comes twice is the link's to
/// see to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardItems {
    /// Which stream.
    pub stream: HeldStream,
    /// The last item that was held before.
    pub after: Sequence,
    /// The items, as they travel: records, or deltas of sightings.
    pub items: Vec<Vec<u8>>,
    /// The message that brought them, as its site signed it, to be kept under [`rows::message`](crate::rows::message)
    /// and handed on. It may begin before `after`. None where a snapshot brought them.
    pub message: Option<Vec<u8>>,
}

/// Sightings of a peer up to a sequence, added up, as its signed snapshot has them. It takes the place of whatever is
/// held of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Which stream.
    pub stream: HeldStream,
    /// The last delta in it.
    pub sequence: Sequence,
    /// Blocks in order of their fingerprints, each encoded like a delta.
    pub blocks: Vec<Vec<u8>>,
}

/// The present incarnation ends, because others hold of it what is not remembered here, and a new one begins. What
/// nobody else is known to hold is said again in the new one: counts may be too high by that, never too low.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Records of the present incarnation after this one are the new one's.
    pub records_after: Sequence,
    /// Deltas after these become the first deltas of the new one; of generations that are not named, all.
    pub sightings_after: Vec<(Generation, Sequence)>,
}

/// What is to last. First `peers`, `terms` and `renewal` take effect, in this order; then everything else is one
/// commit: all of it or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkBatch {
    /// From now on these peers are believed, each up to its caps, and nobody else. All that others said is deleted:
    /// what was counted, messages, bases and positions.
    pub peers: Option<Vec<PeerSite>>,
    /// The network's terms. Begins a new incarnation where the network is another one than before.
    pub terms: Option<NetworkTerms>,
    /// A new incarnation begins.
    pub renewal: Option<Renewal>,
    /// What peers said.
    pub heard: Vec<HeardItems>,
    /// What snapshots of peers had.
    pub bases: Vec<Base>,
    /// Streams of which nothing is needed any more: messages and bases are deleted. Records that were counted go when
    /// they expire, sightings with their generation.
    pub forgotten: Vec<HeldStream>,
    /// Messages of records up to this sequence need not be kept for others: the records have expired.
    pub expired: Vec<(HeldStream, Sequence)>,
    /// The link's own rows ([`rows`](crate::rows)); `None` deletes.
    pub rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl LinkBatch {
    /// Leaves out what there is of some streams.
    pub(crate) fn leave_out(&mut self, is_left_out: impl Fn(&HeldStream) -> bool) {
        self.heard.retain(|heard| !is_left_out(&heard.stream));
        self.bases.retain(|base| !is_left_out(&base.stream));
        self.forgotten.retain(|stream| !is_left_out(stream));
        self.expired.retain(|(stream, _)| !is_left_out(stream));
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        *self == LinkBatch::default()
    }
}

/// What came of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Records of the batch that are kept but not counted: their peer has had its share, the tally is full, or they
    /// cannot be read.
    pub uncounted: Vec<(HeldStream, Sequence)>,
}

/// One of this site's own streams that is published to the present network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnStream {
    /// Of which incarnation.
    pub incarnation: Incarnation,
    /// Records, or sightings of a generation.
    pub stream: Stream,
    /// Its last item that is durable.
    pub last: Sequence,
}

/// What this site has to say, and what time it is for its memory. Made from memory, without reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// The present incarnation.
    pub incarnation: Incarnation,
    /// The present generation.
    pub generation: Generation,
    /// The oldest generation whose sightings count.
    pub oldest: Generation,
    /// Records that were said earlier than this, in seconds since the Unix epoch, have expired.
    pub kept_from_secs: u64,
    /// All own streams of the present network of which anything still counts, those of earlier incarnations included.
    pub streams: Vec<OwnStream>,
    /// What is wrong with what peers signed, in words: sites whose counts contradict each other.
    pub alarms: Vec<String>,
}

/// What the link takes up from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// All rows of the link's whose keys begin with one of [`STATE`](crate::rows::STATE), in order.
    pub rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// Own streams.
    pub own: Own,
}

/// Something to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// Own items after a sequence: at least one if there is one, then as many as have `bytes_max` bytes.
    Own {
        /// Of which incarnation.
        incarnation: Incarnation,
        /// Of which stream.
        stream: Stream,
        /// After which item.
        after: Sequence,
        /// Bytes of all items together.
        bytes_max: usize,
    },
    /// Messages of a peer's stream, as they were signed, that lead beyond a sequence.
    Held {
        /// Which stream.
        stream: HeldStream,
        /// After which item.
        after: Sequence,
        /// How many at most.
        messages_max: usize,
    },
    /// All own streams for a snapshot: records from the oldest that is kept on, up to `bytes_max` a stream, and
    /// sightings added up.
    Snapshot {
        /// Bytes of one stream at most.
        bytes_max: usize,
    },
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadDone {
    /// Own items.
    Own(OwnRun),
    /// Messages of a peer's stream in order, none left out between them. The first may lead on from later than was
    /// asked for where earlier ones are not kept.
    Held(Vec<Vec<u8>>),
    /// Parts of a snapshot.
    Snapshot(Vec<SnapshotPart>),
}

/// Own items that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnRun {
    /// The last item before them: later than what was asked for where older ones have expired or were added up.
    pub after: Sequence,
    /// The chain there; `None` where it is not known any more, and then there are no items.
    pub value: Option<Digest>,
    /// The items, as they travel.
    pub items: Vec<Vec<u8>>,
}

impl OwnRun {
    /// The chain before the first of them, where it is known.
    pub fn start(&self) -> Option<Chain> {
        self.value.map(|value| Chain { sequence: self.after, value })
    }
}

/// One own stream, for a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotPart {
    /// Which.
    pub incarnation: Incarnation,
    /// Which.
    pub stream: Stream,
    /// The chain before its first item; of sightings the beginning.
    pub start: Chain,
    /// The chain after its last.
    pub end: Chain,
    /// Records, or blocks of sightings.
    pub items: Vec<Vec<u8>>,
}

/// The store could not be read or written.
#[derive(Debug, Error)]
#[error("{doing}: {source}")]
pub struct StoreError {
    doing: &'static str,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl StoreError {
    /// While something was being done.
    pub fn new(doing: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        StoreError { doing, source: source.into() }
    }
}

/// A site's memory, as far as the link is concerned.
pub trait Store {
    /// Everything that the link takes up from.
    fn load(&self) -> Result<Loaded, StoreError>;

    /// What there is of own streams now. Reads nothing.
    fn own(&self) -> Own;

    /// Makes a batch durable, and memory what it says. Where it fails, it may be durable all the same: then the link
    /// is [loaded](Self::load) anew.
    fn commit(&self, batch: LinkBatch) -> Result<Committed, StoreError>;

    /// Reads what the link asks for.
    fn read(&self, read: &Read) -> Result<ReadDone, StoreError>;
}
