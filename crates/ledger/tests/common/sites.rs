//! A site that is in a network, or joins one.

use std::path::Path;
use std::sync::Arc;

use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::sightings::{Fingerprint, Sighting, encode};
use seenit_ledger::{Ledger, LedgerConfig, Structure};
use seenit_link::store::{HeardItems, LinkBatch, NetworkTerms, Own, OwnStream, Renewal, Store, StoreError};
use seenit_sites::key::{AdminKey, AdminSecret};
use seenit_sites::list;
use seenit_sites::manifest::HashKey;
use seenit_sites::message::{HEAD_BYTES, Stream};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use tempfile::TempDir;

use super::{DAY, FIRST_DAY, Hands, config, copy_all, exact, open_with, private_folder, stream_of};

pub const KEY: [u8; 16] = [7; 16];
pub const OTHER_KEY: [u8; 16] = [9; 16];

pub fn network(number: u8) -> AdminKey {
    AdminSecret::from_bytes([number; 32]).public()
}

/// Terms of a network whose hash key holds from long ago on.
pub fn terms(number: u8, key: [u8; 16]) -> NetworkTerms {
    terms_from(number, &[(FIRST_DAY - 100, key)])
}

pub fn terms_from(number: u8, keys: &[(u64, [u8; 16])]) -> NetworkTerms {
    let keys = keys.iter().map(|(first, key)| (Generation(*first), HashKey::from_bytes(*key))).collect();
    NetworkTerms { network: network(number), generation_secs: DAY, keys }
}

pub fn agree(ledger: &Ledger, terms: NetworkTerms) -> Result<(), StoreError> {
    ledger.commit(LinkBatch { terms: Some(terms), ..LinkBatch::default() }).map(|_| ())
}

/// Begins a new incarnation; others are known to hold so many records, and deltas of generations.
pub fn renew(ledger: &Ledger, records_after: u64, sightings_after: &[(u64, u64)]) {
    let after = sightings_after.iter().map(|(generation, last)| (Generation(*generation), Sequence(*last)));
    let renewal = Renewal { records_after: Sequence(records_after), sightings_after: after.collect() };
    ledger.commit(LinkBatch { renewal: Some(renewal), ..LinkBatch::default() }).expect("durable");
}

/// A configuration with one of the structures.
pub fn with(seen: Structure) -> LedgerConfig {
    LedgerConfig { seen, ..config() }
}

pub fn begun_with(config: LedgerConfig) -> (TempDir, Arc<Hands>, Ledger) {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open_with(folder.path(), &hands, config);
    (folder, hands, ledger)
}

pub fn begun() -> (TempDir, Arc<Hands>, Ledger) {
    begun_with(config())
}

pub fn see(ledger: &Ledger, number: u64, recipients: u64) {
    ledger.see(&[exact(number)], recipients).expect("accepted");
}

pub fn seen(ledger: &Ledger, number: u64) -> u64 {
    let case = exact(number);
    ledger.sightings(case.iter().next().expect("a signature")).recipients
}

/// The fingerprint of a message under a key.
pub fn fingerprint(key: [u8; 16], number: u64) -> Fingerprint {
    let case = exact(number);
    Fingerprint::of(SipKey::new(key).hash(&case.iter().next().expect("a signature")))
}

/// A delta under a key: number, increment and count of each message.
pub fn delta(key: [u8; 16], said: &[(u64, u64, u64)]) -> Vec<u8> {
    let sighting = |&(number, increment, count): &(u64, u64, u64)| Sighting {
        fingerprint: fingerprint(key, number),
        increment,
        count,
    };
    let mut sightings: Vec<Sighting> = said.iter().map(sighting).collect();
    sightings.sort_by_key(|one| one.fingerprint);
    encode(&sightings).expect("a delta")
}

pub fn sightings_in(generation: u64) -> Stream {
    Stream::Sightings { generation: Generation(generation) }
}

/// Deltas of a peer after a sequence, in a message without a signature: the link has looked at that.
pub fn heard_sightings(slot: u16, generation: u64, after: u64, items: Vec<Vec<u8>>) -> HeardItems {
    let mut message = vec![0; HEAD_BYTES];
    items.iter().for_each(|item| list::push(&mut message, item));
    let stream = stream_of(slot, sightings_in(generation));
    HeardItems { stream, after: Sequence(after), items, message: Some(message) }
}

pub fn tell(ledger: &Ledger, heard: HeardItems) {
    ledger.commit(LinkBatch { heard: vec![heard], ..LinkBatch::default() }).expect("durable");
}

/// Own streams of sightings: incarnation, generation and last delta.
pub fn own_sightings(ledger: &Ledger) -> Vec<(Incarnation, u64, u64)> {
    let Own { streams, .. } = ledger.own();
    let of = |one: &OwnStream| match one.stream {
        Stream::Sightings { generation } => Some((one.incarnation, generation.0, one.last.0)),
        Stream::Records => None,
    };
    streams.iter().filter_map(of).collect()
}

/// Own streams of records: incarnation and last record.
pub fn own_records(ledger: &Ledger) -> Vec<(Incarnation, u64)> {
    let records = |one: &&OwnStream| one.stream == Stream::Records;
    ledger.own().streams.iter().filter(records).map(|one| (one.incarnation, one.last.0)).collect()
}

/// Journals what was counted, without a snapshot: the second answer comes after the first one's batch was worked off.
pub fn tick(ledger: &Ledger) {
    ledger.confirm_clock().expect("asked");
    for _ in 0..2 {
        ledger.put_reporter("somebody", None).expect("durable");
    }
}

/// The folder as a kill would leave it now.
pub fn killed(folder: &Path) -> TempDir {
    let copy = private_folder();
    copy_all(folder, copy.path());
    copy
}
