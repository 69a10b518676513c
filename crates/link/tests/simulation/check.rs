//! What must be true when all is calm.

use std::collections::BTreeMap;

use seenit_link::store::{HeldStream, Store};
use seenit_link::{Position, rows};
use seenit_sites::Digest;
use seenit_sites::key::SiteKey;
use seenit_sites::message::{Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation, Sequence};

use crate::double::messages_of;
use crate::site::{Running, SimSite};
use crate::world::{KEYS, World};

type Streams = BTreeMap<StreamId, (Sequence, Digest)>;
type Items = BTreeMap<StreamId, BTreeMap<u64, Vec<u8>>>;

fn members(world: &World) -> impl Iterator<Item = (usize, &SimSite, Option<&Running>)> {
    let sites = world.sites.iter().enumerate().filter(|(_, site)| site.is_admitted);
    sites.map(|(number, site)| (number, site, world.running(number)))
}

/// How far a site is with every stream, its own included.
fn streams(site: &SimSite, running: &Running) -> Streams {
    let (own, mut streams) = (site.secret.public(), Streams::new());
    for one in running.store.own().streams {
        let id = StreamId { site: own, incarnation: one.incarnation, stream: one.stream };
        let value = running.store.value_at(one.incarnation, one.stream, one.last).expect("it is there");
        streams.insert(id, (one.last, value));
    }
    let disk = running.store.disk.borrow();
    for (key, value) in disk.rows.iter().filter(|(key, _)| key[0] == b'f') {
        let (HeldStream { slot, incarnation, stream }, _) = rows::stream_of(key).expect("a position");
        let position = Position::decode(value).expect("a position");
        let site = disk.peers.iter().find(|peer| peer.slot == slot).expect("of a peer").site;
        let at = (position.at.sequence, position.at.value);
        let held = streams.entry(StreamId { site, incarnation, stream }).or_insert(at);
        *held = (*held).max(at);
    }
    streams.retain(|_, (sequence, _)| *sequence > Sequence::START);
    streams
}

/// All items that a site has, its own included.
fn items(site: &SimSite, running: &Running) -> Items {
    let (own, disk, mut items) = (site.secret.public(), running.store.disk.borrow(), Items::new());
    for said in &disk.said {
        for (stream, said_items) in &said.items {
            let id = StreamId { site: own, incarnation: said.id, stream: *stream };
            items.entry(id).or_default().extend((1..).zip(said_items.iter().cloned()));
        }
    }
    for (HeldStream { slot, incarnation, stream }, held) in &disk.held {
        let site = disk.peers.iter().find(|peer| peer.slot == *slot).expect("of a peer").site;
        let id = StreamId { site, incarnation: *incarnation, stream: *stream };
        for (sequence, item) in &held.items {
            let old = items.entry(id).or_default().insert(*sequence, item.clone());
            assert!(old.is_none(), "an item that is remembered came back");
        }
    }
    items
}

/// Why sites do not agree yet.
pub(crate) fn disagreement(world: &World) -> Option<String> {
    let mut first: Option<Streams> = None;
    for (number, site, running) in members(world) {
        let Some(running) = running else { return Some(format!("site{number} is down")) };
        if !running.link.is_member() {
            return Some(format!("site{number} is no member yet"));
        }
        let mut streams = streams(site, running);
        if let Some(id) = not_fetched(world, &streams) {
            return Some(format!("site{number} has not all that its site still has of {id:?}"));
        }
        streams.retain(|id, _| !is_lost(world, id) && !is_old(world, id));
        match &first {
            None => first = Some(streams),
            Some(first) if *first != streams => {
                return Some(format!(
                    "{}\n{}",
                    differ(number, first, &streams),
                    kept(world, first, &streams)
                ));
            }
            Some(_) => {}
        }
        let status = running.link.status(Default::default());
        if status.records != status.published || status.fenced.is_some() {
            let (published, records) = (status.published, status.records);
            return Some(format!("site{number} has published {published} of {records}, {:?}", status.fenced));
        }
        if let Some(other) = status.sites.iter().find(|other| other.agrees != Some(true)) {
            return Some(format!("site{number} does not agree with {}: {other:#?}", other.name));
        }
    }
    None
}

/// Sightings of a generation that is over somewhere.
fn is_old(world: &World, id: &StreamId) -> bool {
    let running = members(world).filter_map(|(_, _, running)| running);
    let oldest = running.map(|running| running.store.oldest()).max().unwrap_or_default();
    matches!(id.stream, Stream::Sightings { generation } if generation < oldest)
}

/// What sites keep of streams that differ, to be handed on.
fn kept(world: &World, one: &Streams, other: &Streams) -> String {
    let mut lines = Vec::new();
    for (number, _, running) in members(world) {
        let Some(running) = running else { continue };
        let disk = running.store.disk.borrow();
        for id in one.keys().chain(other.keys()).filter(|id| one.get(*id) != other.get(*id)) {
            let Some(peer) = disk.peers.iter().find(|peer| peer.site == id.site) else { continue };
            let stream = HeldStream { slot: peer.slot, incarnation: id.incarnation, stream: id.stream };
            let held: Vec<u64> =
                disk.held.get(&stream).iter().flat_map(|held| held.items.keys()).copied().collect();
            let messages = messages_of(&disk, &stream, &world.roster);
            lines.push(format!("site{number} holds {held:?} of {:?}, messages {messages:?}", id.incarnation));
        }
    }
    lines.join("\n")
}

/// A stream of which somebody has less than its own site remembers.
fn not_fetched(world: &World, streams: &Streams) -> Option<StreamId> {
    for (_, site, running) in members(world) {
        for own in running?.store.own().streams {
            let id =
                StreamId { site: site.secret.public(), incarnation: own.incarnation, stream: own.stream };
            let held = streams.get(&id).map_or(Sequence::START, |(sequence, _)| *sequence);
            if held < own.last && !is_old(world, &id) {
                return Some(id);
            }
        }
    }
    None
}

/// Sightings of an incarnation that is over, because a folder was put back or copied: who took them from a snapshot
/// cannot hand them on, and nobody else can.
fn is_lost(world: &World, id: &StreamId) -> bool {
    let number = world.sites.iter().position(|site| site.secret.public() == id.site).expect("a site");
    let present = world.running(number).map(|running| running.store.own().incarnation);
    let is_over = present.is_some_and(|present| id.incarnation < present);
    id.stream != Stream::Records && world.sites[number].told.was_disturbed && is_over
}

fn differ(number: usize, one: &Streams, other: &Streams) -> String {
    let keys: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let differing = keys.into_iter().filter(|key| one.get(*key) != other.get(*key));
    let line = |key: &StreamId| {
        let (site, incarnation) = (key.site.to_string(), key.incarnation);
        let (one, other) = (one.get(key), other.get(key));
        format!("{site:.8} {incarnation} {:?}: site0 has {one:?}, site{number} {other:?}", key.stream)
    };
    format!("streams differ:\n{}", differing.map(line).collect::<Vec<_>>().join("\n"))
}

/// Everything.
pub(crate) fn all(world: &World) {
    same_items(world);
    records(world);
    counts(world);
    checkpoints(world);
    messages(world);
}

/// What any two sites have of a stream is the same to the byte, and no record is missing that its site still has.
fn same_items(world: &World) {
    let all: Vec<(usize, Items)> = members(world)
        .map(|(number, site, running)| (number, items(site, running.expect("it runs"))))
        .collect();
    for (number, site, running) in members(world) {
        let (own, running) = (site.secret.public(), running.expect("it runs"));
        for said in &running.store.disk.borrow().said {
            let id = StreamId { site: own, incarnation: said.id, stream: Stream::Records };
            let gone = site.told.gone.get(&(said.id, Stream::Records)).copied().unwrap_or(0);
            for (sequence, record) in
                (1..).zip(said.items.get(&Stream::Records).into_iter().flatten()).skip(gone)
            {
                for (other, items) in &all {
                    let held = items.get(&id).and_then(|items| items.get(&sequence));
                    assert_eq!(held, Some(record), "record {sequence} of site{number} at site{other}");
                }
            }
        }
    }
    for (number, one) in &all {
        for (other_number, other) in &all {
            for (id, items) in one {
                for (sequence, item) in items {
                    let same =
                        other.get(id).and_then(|items| items.get(sequence)).is_none_or(|held| held == item);
                    assert!(
                        same,
                        "item {sequence} of {id:?} is another at site{number} and site{other_number}"
                    );
                }
            }
        }
    }
}

/// No acknowledged record is lost; and none is there twice, unless a folder was put back or copied.
fn records(world: &World) {
    let mut held: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut all = Items::new();
    for (_, site, running) in members(world) {
        for (id, some) in items(site, running.expect("it runs")) {
            all.entry(id).or_default().extend(some);
        }
    }
    for (_, some) in all.into_iter().filter(|(id, _)| id.stream == Stream::Records) {
        some.into_values().for_each(|record| *held.entry(record).or_default() += 1);
    }
    for (number, site) in world.sites.iter().enumerate() {
        for (record, is_undone) in &site.told.records {
            let times = held.get(record).copied().unwrap_or(0);
            assert!(times > 0 || *is_undone, "record {record:?} of site{number} is lost");
            assert!(
                times < 2 || site.told.was_disturbed,
                "record {record:?} of site{number} is there {times} times"
            );
        }
    }
}

/// No count is below what was journalled, up to the caps.
fn counts(world: &World) {
    // A generation that is over at one site is not asked for any more by others.
    let stores = || members(world).map(|(_, _, running)| &running.expect("it runs").store);
    let oldest = stores().map(|store| store.oldest()).max().expect("a member");
    for (number, _, running) in members(world) {
        let store = &running.expect("it runs").store;
        for generation in (oldest.0..=store.generation().0).map(Generation) {
            let peers = store.peer_sum(generation);
            for key in 0..KEYS {
                let seen = |site: &SimSite| site.told.seen.get(&(generation, key)).copied().unwrap_or(0);
                let own = store.own_count(generation, key);
                let least = seen(&world.sites[number]);
                assert!(own >= least, "site{number} itself saw key {key} {least} times, and counts {own}");
                let others = world.sites.iter().enumerate().filter(|(other, _)| *other != number);
                let least: u64 = others.map(|(_, other)| seen(other).min(other.seen_cap)).sum();
                let sum = peers.get(&key).copied().unwrap_or(0);
                assert!(sum >= least, "site{number} counts {sum} of key {key}, and {least} others saw it");
            }
        }
    }
}

/// Values that are kept of own chains are those of the chains.
fn checkpoints(world: &World) {
    for (_, _, running) in members(world) {
        let store = &running.expect("it runs").store;
        let kept: Vec<(Incarnation, Stream, Sequence, Vec<u8>)> = {
            let disk = store.disk.borrow();
            let kept = disk.rows.iter().filter(|(key, _)| key[0] == b'k');
            kept.map(|(key, value)| {
                let (incarnation, stream, rest) = rows::own_stream_of(key).expect("a checkpoint");
                let at = u64::from_be_bytes(rest.try_into().expect("a sequence"));
                (incarnation, stream, Sequence(at), value.clone())
            })
            .collect()
        };
        for (incarnation, stream, at, value) in kept {
            let found = store.value_at(incarnation, stream, at);
            assert!(found.is_none_or(|found| found.0.as_slice() == value));
        }
    }
}

/// Messages that are kept lead beyond each other.
fn messages(world: &World) {
    for (_, _, running) in members(world) {
        let disk = running.expect("it runs").store.disk.borrow();
        for stream in disk.held.keys() {
            let kept = messages_of(&disk, stream, &world.roster);
            assert!(kept.windows(2).all(|pair| pair[0].1 < pair[1].1), "{kept:?}");
        }
    }
}

/// Nothing of a removed site is left at the others.
pub(crate) fn is_gone(world: &World, removed: usize) {
    let key: SiteKey = world.sites[removed].secret.public();
    for (number, site, running) in members(world) {
        let running = running.expect("it runs");
        let streams = streams(site, running);
        assert!(streams.keys().all(|id| id.site != key), "site{number} still has something of site{removed}");
        assert!(items(site, running).keys().all(|id| id.site != key));
        let status = running.link.status(Default::default());
        assert!(status.sites.iter().all(|one| one.site != key.to_string()));
    }
}
