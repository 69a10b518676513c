//! Keys, rosters and manifests for tests: made of small numbers, the same in every run.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]

use ed25519_dalek::{Signer, SigningKey};
use proptest::prelude::*;
use seenit_sites::chain::Chain;
use seenit_sites::heartbeat::{Heartbeat, Holding};
use seenit_sites::key::{AdminSecret, SIGNATURE_BYTES, SiteSecret};
use seenit_sites::manifest::{HashKey, Manifest, ManifestTerms};
use seenit_sites::message::{Head, Message, SEQUENCE_MAX, Statement, Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::roster::{Caps, Member, Roster};
use seenit_sites::snapshot::{PACK_BYTES, Section, Snapshot, pack_digest};
use seenit_sites::{Digest, FormatError};

/// The admin of every network here, and another one.
pub const ADMIN: u8 = 200;
pub const OTHER_ADMIN: u8 = 201;

pub fn admin() -> AdminSecret {
    AdminSecret::from_bytes([ADMIN; 32])
}

pub fn other_admin() -> AdminSecret {
    AdminSecret::from_bytes([OTHER_ADMIN; 32])
}

pub fn site(seed: u8) -> SiteSecret {
    SiteSecret::from_bytes([seed; 32])
}

pub fn member(seed: u8) -> Member {
    let secret = site(seed);
    let caps = Caps { spam: 100 + u32::from(seed), ham: 50, seen: 1_000_000 };
    let name = format!("site-{seed}.example").parse().expect("a name");
    Member { site: secret.public(), sealing: secret.sealing().public(), name, caps }
}

pub fn roster(version: u64, seeds: &[u8]) -> Roster {
    Roster::sign(&admin(), version, seeds.iter().map(|&seed| member(seed)).collect()).expect("a roster")
}

pub fn hash_key(seed: u8) -> HashKey {
    HashKey::from_bytes([seed; 16])
}

pub fn terms(first_generation: u64) -> ManifestTerms {
    ManifestTerms { first_generation: Generation(first_generation), generation_secs: 86_400 }
}

/// Sightings of a generation.
pub const SIGHTINGS: Stream = Stream::Sightings { generation: Generation(20_001) };

/// A manifest for sites 1, 2 and 3.
pub fn manifest(number: u64, first: u64, key: u8) -> Manifest {
    let (roster, key) = (roster(1, &[1, 2, 3]), hash_key(key));
    Manifest::sign(&admin(), number, terms(first), &roster, &key, [number as u8; 32]).expect("a manifest")
}

/// The chain of a value that is made of one number, after so many items.
pub fn at(sequence: u64, value: u8) -> Chain {
    Chain { sequence: Sequence(sequence), value: Digest([value; 32]) }
}

pub fn statement(stream: Stream, previous: u64, sequence: u64) -> Statement {
    let (incarnation, previous, at) = (Incarnation(1_700_000_000), Sequence(previous), at(sequence, 7));
    Statement { incarnation, stream, previous, at, manifest: 3, time_secs: 1_728_000_123 }
}

/// The bytes of a message of a site.
pub fn message(seed: u8, statement: Statement, payload: &[u8]) -> Vec<u8> {
    Message::sign(&site(seed), &admin().public(), statement, payload).expect("a message")
}

pub fn stream_id(seed: u8, stream: Stream) -> StreamId {
    StreamId { site: site(seed).public(), incarnation: Incarnation(1_700_000_000), stream }
}

/// A head alone of a site.
pub fn head(seed: u8, stream: Stream, sequence: u64) -> Head {
    Head::sign(&site(seed), &admin().public(), statement(stream, sequence, sequence), b"").expect("a head")
}

/// A heartbeat of site 2, which holds something of sites 1 and 3.
pub fn heartbeat() -> Heartbeat {
    let holding = |seed, stream, sequence, uncounted: (u64, u64)| Holding {
        id: stream_id(seed, stream),
        sequence: Sequence(sequence),
        value: [seed; 8],
        uncounted: uncounted.0,
        uncounted_last: Sequence(uncounted.1),
    };
    Heartbeat {
        site: site(2).public(),
        incarnation: Incarnation(1_700_000_000),
        number: 77,
        time_secs: 1_728_000_123,
        snapshot: Digest([9; 32]),
        heads: vec![head(2, Stream::Records, 42), head(2, SIGHTINGS, 9)],
        holdings: vec![
            holding(1, Stream::Records, 17, (2, 16)),
            holding(1, SIGHTINGS, 3, (0, 0)),
            holding(3, Stream::Records, SEQUENCE_MAX, (0, 0)),
        ],
    }
}

/// A snapshot of site 2: records that fill a pack and some, and sightings.
pub fn snapshot() -> Snapshot {
    let section = |stream, start: u64, end: u64, bytes: u64| {
        let manifest = if stream == Stream::Records { 0 } else { 3 };
        let (start, end) = (at(start, start as u8), at(end, end as u8));
        Section { id: stream_id(2, stream), manifest, start, end, bytes }
    };
    let sections = vec![
        section(Stream::Records, 7, 42, PACK_BYTES as u64 + 1),
        section(SIGHTINGS, 0, 9, PACK_BYTES as u64 - 1),
    ];
    let packs = vec![pack_digest(b"one"), pack_digest(b"two")];
    Snapshot { site: site(2).public(), time_secs: 1_728_000_123, sections, packs }
}

/// Bytes with their last 64 replaced by what the owner of the secret signs of those before `end`.
pub fn signed_anew(bytes: &[u8], end: usize, secret: u8) -> Vec<u8> {
    let signature = SigningKey::from_bytes(&[secret; 32]).sign(&bytes[..end]).to_bytes();
    let mut anew = bytes.to_vec();
    anew[end..end + SIGNATURE_BYTES].copy_from_slice(&signature);
    anew
}

/// The same for what is signed to its end.
pub fn signed_by_admin(bytes: &[u8]) -> Vec<u8> {
    signed_anew(bytes, bytes.len() - SIGNATURE_BYTES, ADMIN)
}

/// All bytes with one bit flipped.
pub fn flips(bytes: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> + '_ {
    (0..8 * bytes.len()).map(|bit| {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (bit, flipped)
    })
}

/// Any member of a seed.
pub fn any_member(seed: u8) -> impl Strategy<Value = Member> {
    (any::<u32>(), any::<u32>(), any::<u64>(), "[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?").prop_map(
        move |(spam, ham, seen, text)| {
            let caps = Caps { spam, ham, seen };
            Member { name: format!("{text}{seed}").parse().expect("a name"), caps, ..member(seed) }
        },
    )
}

/// Any few members, in any order.
pub fn any_members() -> impl Strategy<Value = Vec<Member>> {
    // The seed ends the name, and a dash keeps it apart, so that no two are equal.
    proptest::collection::btree_set(0..100_u8, 0..6)
        .prop_flat_map(|seeds| seeds.into_iter().map(any_member).collect::<Vec<_>>())
        .prop_map(|mut members| {
            for member in &mut members {
                let name = format!("{}-{}", member.name, &member.site.to_string()[..8]);
                member.name = name.parse().expect("a name");
            }
            members
        })
        .prop_shuffle()
}

/// Whether something was refused for a number.
pub fn is_number<T>(refused: &Result<T, FormatError>, what: &str, found: u64) -> bool {
    matches!(refused, Err(FormatError::Number { what: named, found: one, .. }) if *named == what && *one == found)
}

pub fn too_many(what: &'static str, found: usize, most: usize) -> FormatError {
    FormatError::Many { what, found, most }
}
