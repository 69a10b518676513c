//! What unit tests share: a network of three sites, each with a journal in memory.

#[path = "../tests/simulation/double.rs"]
#[allow(dead_code, reason = "the simulation uses all of it")]
mod double;

use seenit_filter::delta::CountGain;
use seenit_sites::Digest;
use seenit_sites::beat::{Beat, Holding, StreamId};
use seenit_sites::chain::Chain;
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::manifest::{Geometry, HashKey, Manifest, Terms};
use seenit_sites::message::{Head, Message, State, Stream};
use seenit_sites::roster::{Caps, Member, Roster};
use seenit_sites::{list, part};

pub(crate) use double::{Disk, Double};

use crate::cells::tree_of;
use crate::journal::Counts;
use crate::link::Link;

/// The time of every test, in milliseconds, and its generation.
pub(crate) const NOW: u64 = 1_800_000_000_000;
pub(crate) const GENERATION_SECS: u64 = 60;
pub(crate) const GENERATION: u64 = NOW / 1000 / GENERATION_SECS;

/// What one cell of another site counts for at most.
pub(crate) const CAP: u64 = 10;

/// The life of others.
pub(crate) const LIFE: u64 = 1_700_000_000;

pub(crate) const SEEN: Stream = Stream::Seen { generation: GENERATION };

pub(crate) fn admin() -> AdminSecret {
    AdminSecret::from_bytes([7; 32])
}

pub(crate) fn site(seed: u8) -> SiteSecret {
    SiteSecret::from_bytes([seed; 32])
}

pub(crate) fn id(seed: u8, stream: Stream) -> StreamId {
    StreamId { site: site(seed).public(), incarnation: LIFE, stream }
}

pub(crate) fn roster(version: u64, seeds: &[u8]) -> Roster {
    let member = |seed: &u8| Member {
        site: site(*seed).public(),
        sealing: site(*seed).sealing().public(),
        name: format!("site{seed}").parse().expect("a name"),
        caps: Caps { spam: 10, ham: 10, seen: CAP },
    };
    Roster::sign(&admin(), version, seeds.iter().map(member).collect()).expect("a roster")
}

/// Site 1 in a network of sites 1, 2 and 3.
pub(crate) fn link() -> Link<Double> {
    let roster = roster(1, &[1, 2, 3]);
    let geometry = Geometry::sized(1500, 0.02, 3, 1).expect("a geometry");
    let terms = Terms { first_generation: 0, generation_secs: GENERATION_SECS, geometry };
    let manifest = Manifest::sign(&admin(), 1, terms, &roster, &HashKey::from_bytes([9; 16]), [1; 32]);
    let double = Double::open(Disk::default(), GENERATION, NOW / 1000);
    let mut link = Link::open(double, site(1), admin().public(), NOW).expect("it opens");
    link.hear(NOW, roster.bytes(), None);
    link.hear(NOW, manifest.expect("a manifest").bytes(), None);
    link.journal_mut().set_now(GENERATION);
    assert!(link.is_member());
    link
}

/// A message of a site, in a life.
pub(crate) fn message(seed: u8, at: (StreamId, u64, u64), root: Digest, payload: &[u8]) -> Vec<u8> {
    message_of(NOW / 1000, seed, at, root, payload)
}

/// The same with a time that it says.
pub(crate) fn message_of(
    time_secs: u64,
    seed: u8,
    at: (StreamId, u64, u64),
    root: Digest,
    payload: &[u8],
) -> Vec<u8> {
    let (StreamId { incarnation, stream, .. }, previous, sequence) = at;
    let state = State { incarnation, stream, sequence, manifest: 1, root, time_secs };
    Message::sign(&site(seed), &admin().public(), state, previous, payload).expect("a message")
}

/// Records of a site from the beginning of a life, in one message.
pub(crate) fn records(seed: u8, incarnation: u64, records: &[&[u8]]) -> Vec<u8> {
    let id = StreamId { incarnation, ..id(seed, Stream::Records) };
    let (mut chain, mut payload) = (Chain::begin(&id.site, incarnation), Vec::new());
    for record in records {
        list::push(&mut payload, record);
        chain = chain.then(record);
    }
    message(seed, (id, 0, chain.records()), chain.link(), &payload)
}

/// A beat that says nothing.
pub(crate) fn beat(seed: u8, time_secs: u64) -> Beat {
    let (heads, holdings) = (Vec::new(), Vec::new());
    let snapshot = Digest([0; 32]);
    Beat { site: site(seed).public(), incarnation: LIFE, time_secs, snapshot, heads, holdings }
}

pub(crate) fn signed(seed: u8, beat: &Beat) -> Vec<u8> {
    beat.sign(&site(seed), &admin().public()).expect("a beat")
}

/// The head of a message.
pub(crate) fn head_of(bytes: &[u8]) -> Head {
    *Message::decode(bytes, &roster(1, &[1, 2, 3])).expect("a message").head()
}

/// The gain of a site's cells between two states, in one message.
pub(crate) fn gain(seed: u8, old: &Counts, new: &Counts, sequence: u64) -> Vec<u8> {
    gain_in(LIFE, seed, (old, new), sequence)
}

/// The same in a life.
pub(crate) fn gain_in(incarnation: u64, seed: u8, (old, new): (&Counts, &Counts), sequence: u64) -> Vec<u8> {
    let (mut body, gain) = (Vec::new(), CountGain::between(old, new, sequence).expect("it grew"));
    list::push(&mut body, gain.bytes());
    let payload = part::parts(&body).concat();
    let id = StreamId { incarnation, ..id(seed, SEEN) };
    message(seed, (id, sequence - 1, sequence), tree_of(new).root(), &payload)
}

/// A holding of a stream.
pub(crate) fn holding(id: StreamId, sequence: u64) -> Holding {
    Holding { id, sequence, root: [0; 8] }
}
