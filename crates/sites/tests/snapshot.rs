//! Manifests of snapshots: whose they are and what they name is certain, or they are none.

mod made;

use made::{admin, flips, is_number, other_admin, roster, signed_anew, site, snapshot, stream_id, too_many};
use proptest::prelude::*;
use seenit_sites::chain::Chain;
use seenit_sites::message::{SEQUENCE_MAX, Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::snapshot::{
    PACK_BYTES, PACKS_MAX, SECTIONS_MAX, SNAPSHOT_BYTES_MAX, Section, Snapshot, pack_digest, snapshot_digest,
};
use seenit_sites::{Arrival, Digest, FormatError};

/// Where the number of sections stands, and the bytes of a section.
const SECTIONS: usize = 20 + 2 * 32 + 8;
const SECTION_BYTES: usize = 145;

fn signed(snapshot: &Snapshot) -> Vec<u8> {
    snapshot.sign(&site(2), &admin().public()).expect("a snapshot")
}

fn decode(bytes: &[u8]) -> Result<Snapshot, FormatError> {
    Snapshot::decode(bytes, &roster(1, &[1, 2, 3]))
}

fn forge(at: usize, with: &[u8]) -> Result<Snapshot, FormatError> {
    let mut bytes = signed(&snapshot());
    bytes[at..at + with.len()].copy_from_slice(with);
    decode(&signed_anew(&bytes, bytes.len() - 64, 2))
}

fn any_section() -> impl Strategy<Value = Section> {
    let stream = proptest::option::of(any::<u64>()).prop_map(|generation| {
        generation.map_or(Stream::Records, |one| Stream::Sightings { generation: Generation(one) })
    });
    let digest = || any::<[u8; 32]>().prop_map(Digest);
    let numbers = (any::<u64>(), any::<u64>(), 0..=SEQUENCE_MAX, 0..=SEQUENCE_MAX, 0..3_000_000_u64);
    (stream, numbers, digest(), digest()).prop_map(|(stream, numbers, start_value, value)| {
        let (incarnation, manifest, one, other, bytes) = numbers;
        let id = StreamId { incarnation: Incarnation(incarnation), ..stream_id(2, stream) };
        let start = Sequence(if stream == Stream::Records { one.min(other) } else { 0 });
        let start = Chain { sequence: start, value: start_value };
        let end = Chain { sequence: Sequence(one.max(other)), value };
        Section { id, manifest, start, end, bytes }
    })
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_signed(
        time_secs: u64,
        sections in proptest::collection::vec(any_section(), 0..6),
    ) {
        let bytes: u64 = sections.iter().map(|section| section.bytes).sum();
        let packs = (0..bytes.div_ceil(PACK_BYTES as u64)).map(|pack| pack_digest(&pack.to_le_bytes())).collect();
        let snapshot = Snapshot { site: site(2).public(), time_secs, sections, packs };
        let bytes = signed(&snapshot);
        prop_assert_eq!(Arrival::of(&bytes), Some(Arrival::Snapshot));
        prop_assert_eq!(decode(&bytes), Ok(snapshot));
    }

    #[test]
    fn any_bytes_are_a_snapshot_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(decode(&bytes).is_err());
    }

    /// A member that lies about everything it can sign.
    #[test]
    fn any_signed_bytes_are_a_snapshot_or_an_error(
        at in 84..440_usize,
        with in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = signed(&snapshot());
        let end = bytes.len() - 64;
        for (place, byte) in bytes.iter_mut().take(end).skip(at).zip(with) {
            *place = byte;
        }
        let bytes = signed_anew(&bytes, end, 2);
        if let Ok(read) = decode(&bytes) {
            prop_assert_eq!(signed(&read), bytes, "one snapshot has one encoding");
        }
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    for (bit, flipped) in flips(&signed(&snapshot())) {
        assert!(decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn any_cut_and_any_addition_is_refused() {
    let bytes = signed(&snapshot());
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "{end}");
    }
    let longer = [bytes.as_slice(), &[0; 64]].concat();
    assert!(matches!(decode(&longer), Err(FormatError::Signature { .. })));
    let longer = signed_anew(&longer, longer.len() - 64, 2);
    assert_eq!(decode(&longer), Err(FormatError::Surplus(64)));
    let large = vec![0; SNAPSHOT_BYTES_MAX + 1];
    let error = FormatError::Many { what: "bytes", found: large.len(), most: SNAPSHOT_BYTES_MAX };
    assert_eq!(decode(&large), Err(error));
}

#[test]
fn strangers_are_not_heard() {
    let bytes = signed(&snapshot());
    let removed = Snapshot::decode(&bytes, &roster(2, &[1, 3]));
    assert_eq!(removed, Err(FormatError::NoMember(site(2).public().to_string())));
    let elsewhere = snapshot().sign(&site(2), &other_admin().public()).expect("signed");
    let (expected, found) = (admin().public(), other_admin().public().to_string());
    assert_eq!(decode(&elsewhere), Err(FormatError::OtherNetwork { expected, found }));
    let forged = decode(&signed_anew(&bytes, bytes.len() - 64, 1));
    assert!(matches!(forged, Err(FormatError::Signature { .. })), "{forged:?}");
}

#[test]
fn a_site_vouches_for_its_own_streams_alone() {
    let mut others = snapshot();
    others.sections[1].id.site = site(1).public();
    assert_eq!(others.sign(&site(2), &admin().public()), Err(FormatError::OtherSite));
    let section = SECTIONS + 2;
    assert_eq!(forge(section, &site(1).public().to_bytes()), Err(FormatError::OtherSite));
    let unknown = forge(section, &site(9).public().to_bytes());
    assert!(matches!(unknown, Err(FormatError::NoMember(_))), "{unknown:?}");
}

#[test]
fn what_a_member_signed_by_mistake_is_named() {
    let stream = SECTIONS + 2 + 32 + 8;
    assert!(is_number(&forge(stream, &[2]), "stream", 2), "cells travel no more");
    assert!(is_number(&forge(stream + 1, &[1]), "records of generation", 1));
    assert!(forge(SECTIONS, &[0xff; 2]).is_err(), "packs are no sections");
    let packs = SECTIONS + 2 + 2 * SECTION_BYTES;
    assert_eq!(forge(packs, &[1]), Err(FormatError::Surplus(32)));
    assert_eq!(forge(packs, &[5]), Err(FormatError::Cut));
    let sequence = SECTIONS + 2 + SECTION_BYTES - 8 - 32 - 8;
    let endless = SEQUENCE_MAX + 1;
    assert!(is_number(&forge(sequence, &endless.to_le_bytes()), "sequence", endless));
    let start = SECTIONS + 2 + 32 + 8 + 1 + 8 + 8;
    assert!(is_number(&forge(start, &[43]), "section after item", 43), "behind its end");
    let middle = forge(start + SECTION_BYTES, &[1]);
    assert!(is_number(&middle, "section after item", 1), "sightings from the middle");
    // As many bytes as no number has, and one more than there are packs for.
    let size = |sections, packs| Err(FormatError::Packs { sections, packs });
    let bytes = SECTIONS + 2 + SECTION_BYTES - 8;
    assert_eq!(forge(bytes, &[0xff; 8]), size(2, 2));
    assert_eq!(forge(bytes, &(PACK_BYTES as u64 + 2).to_le_bytes()), size(2, 2));
}

#[test]
fn the_largest_snapshot_is_read_and_no_larger_one_is_made() {
    let mut full = snapshot();
    let section = Section { bytes: (PACKS_MAX / SECTIONS_MAX * PACK_BYTES) as u64, ..full.sections[0] };
    full.sections = vec![section; SECTIONS_MAX];
    full.packs = vec![pack_digest(b"a pack"); PACKS_MAX];
    let bytes = signed(&full);
    assert_eq!(bytes.len(), SNAPSHOT_BYTES_MAX);
    assert_eq!(decode(&bytes), Ok(full.clone()));
    let refused = |snapshot: &Snapshot, error: FormatError| {
        assert_eq!(snapshot.sign(&site(2), &admin().public()), Err(error));
    };
    let mut sections = full.clone();
    sections.sections.push(Section { bytes: 0, ..section });
    refused(&sections, too_many("sections", SECTIONS_MAX + 1, SECTIONS_MAX));
    let mut packs = full;
    packs.packs.push(pack_digest(b"a pack"));
    refused(&packs, too_many("packs", PACKS_MAX + 1, PACKS_MAX));
    packs.packs.pop();
    packs.sections[0].bytes += 1;
    refused(&packs, FormatError::Packs { sections: SECTIONS_MAX, packs: PACKS_MAX });
}

#[test]
fn packs_and_manifests_of_snapshots_never_share_a_digest() {
    assert_ne!(pack_digest(b"bytes"), snapshot_digest(b"bytes"));
    assert_ne!(pack_digest(b"bytes"), pack_digest(b"byte"));
}
