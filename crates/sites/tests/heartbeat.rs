//! Heartbeats: whose they are and what they say is certain, or they are none.

mod made;

use made::{
    admin, flips, head, heartbeat, is_number, other_admin, roster, signed_anew, site, statement, too_many,
};
use proptest::prelude::*;
use seenit_sites::heartbeat::{HEADS_MAX, HEARTBEAT_BYTES_MAX, HOLDINGS_MAX, Heartbeat, Holding};
use seenit_sites::message::{HEAD_BYTES, Head, SEQUENCE_MAX, Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::{Arrival, Digest, FormatError};

/// Where the number of heads stands.
const HEADS: usize = 20 + 2 * 32 + 3 * 8 + 32;
/// Where the number of holdings stands in a heartbeat with two heads.
const HOLDINGS: usize = HEADS + 2 + 2 * HEAD_BYTES;

fn signed(heartbeat: &Heartbeat) -> Vec<u8> {
    heartbeat.sign(&site(2), &admin().public()).expect("a heartbeat")
}

fn decode(bytes: &[u8]) -> Result<Heartbeat, FormatError> {
    Heartbeat::decode(bytes, &roster(1, &[1, 2, 3]))
}

/// The heartbeat with some bytes changed, signed by its site all the same.
fn forge(at: usize, with: &[u8]) -> Result<Heartbeat, FormatError> {
    let mut bytes = signed(&heartbeat());
    bytes[at..at + with.len()].copy_from_slice(with);
    decode(&signed_anew(&bytes, bytes.len() - 64, 2))
}

fn any_holding() -> impl Strategy<Value = Holding> {
    let stream = proptest::option::of(any::<u64>()).prop_map(|generation| {
        generation.map_or(Stream::Records, |one| Stream::Sightings { generation: Generation(one) })
    });
    (1..4_u8, any::<u64>(), stream, 0..=SEQUENCE_MAX, any::<[u8; 8]>(), any::<(u64, u64)>()).prop_map(
        |(seed, incarnation, stream, sequence, value, (one, other))| {
            let id = StreamId { site: site(seed).public(), incarnation: Incarnation(incarnation), stream };
            let last = if stream == Stream::Records { one % (sequence + 1) } else { 0 };
            let uncounted = if last > 0 { 1 + other % last } else { 0 };
            let (sequence, uncounted_last) = (Sequence(sequence), Sequence(last));
            Holding { id, sequence, value, uncounted, uncounted_last }
        },
    )
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_signed(
        incarnation: u64,
        number: u64,
        time_secs: u64,
        snapshot: [u8; 32],
        sequences in proptest::collection::vec(0..=SEQUENCE_MAX, 0..4),
        held in proptest::collection::vec(any_holding(), 0..20),
    ) {
        let heartbeat = Heartbeat {
            site: site(2).public(),
            incarnation: Incarnation(incarnation),
            number,
            time_secs,
            snapshot: Digest(snapshot),
            heads: sequences.into_iter().map(|sequence| head(2, Stream::Records, sequence)).collect(),
            holdings: held,
        };
        let bytes = signed(&heartbeat);
        prop_assert_eq!(Arrival::of(&bytes), Some(Arrival::Heartbeat));
        prop_assert_eq!(decode(&bytes), Ok(heartbeat));
    }

    #[test]
    fn any_bytes_are_a_heartbeat_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(decode(&bytes).is_err());
        let tagged = [b"seenit heartbeat v2 ".as_slice(), &bytes].concat();
        prop_assert!(decode(&tagged).is_err());
    }

    /// A member that lies about everything it can sign.
    #[test]
    fn any_signed_bytes_are_a_heartbeat_or_an_error(
        at in 84..HOLDINGS + 250,
        with in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = signed(&heartbeat());
        let end = bytes.len() - 64;
        for (place, byte) in bytes.iter_mut().take(end).skip(at).zip(with) {
            *place = byte;
        }
        let bytes = signed_anew(&bytes, end, 2);
        if let Ok(read) = decode(&bytes) {
            // Of holdings of sites that are not known here nothing is left to be written again.
            if read.holdings.len() == heartbeat().holdings.len() {
                prop_assert_eq!(signed(&read), bytes, "one heartbeat has one encoding");
            }
        }
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    let bytes = signed(&heartbeat());
    // Each bit of what stands around the heads, one bit of each byte of them.
    for (bit, flipped) in
        flips(&bytes).filter(|(bit, _)| bit / 8 < HEADS || bit / 8 > HOLDINGS || bit % 8 == 3)
    {
        assert!(decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn any_cut_and_any_addition_is_refused() {
    let bytes = signed(&heartbeat());
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "{end}");
    }
    let longer = [bytes.as_slice(), &[0; 64]].concat();
    assert!(matches!(decode(&longer), Err(FormatError::Signature { .. })));
    let longer = signed_anew(&longer, longer.len() - 64, 2);
    assert_eq!(decode(&longer), Err(FormatError::Surplus(64)));
    let large = vec![0; HEARTBEAT_BYTES_MAX + 1];
    let error = FormatError::Many { what: "bytes", found: large.len(), most: HEARTBEAT_BYTES_MAX };
    assert_eq!(decode(&large), Err(error));
}

#[test]
fn strangers_are_not_heard() {
    let bytes = signed(&heartbeat());
    let removed = Heartbeat::decode(&bytes, &roster(2, &[1, 3]));
    assert_eq!(removed, Err(FormatError::NoMember(site(2).public().to_string())));
    let elsewhere = heartbeat().sign(&site(2), &other_admin().public()).expect("signed");
    let (expected, found) = (admin().public(), other_admin().public().to_string());
    assert_eq!(decode(&elsewhere), Err(FormatError::OtherNetwork { expected, found }));
    // A member that signs in another's name.
    let forged = decode(&signed_anew(&bytes, bytes.len() - 64, 1));
    assert!(matches!(forged, Err(FormatError::Signature { .. })), "{forged:?}");
}

#[test]
fn a_heartbeat_has_heads_of_its_own_site_alone_and_none_with_a_payload() {
    let mut others = heartbeat();
    others.heads = vec![head(1, Stream::Records, 5)];
    assert_eq!(decode(&signed(&others)), Err(FormatError::OtherSite), "another member's head");
    let mut message = heartbeat();
    let head = Head::sign(&site(2), &admin().public(), statement(Stream::Records, 4, 5), b"x");
    message.heads = vec![head.expect("a head")];
    assert_eq!(decode(&signed(&message)), Err(FormatError::OtherSite), "a head with a payload elsewhere");
    // The heartbeat vouches for what the head says; a proof for others it is not.
    let read = forge(HEADS + 2 + HEAD_BYTES - 64, &[0; 64]).expect("a heartbeat");
    let proof = Head::decode(&read.heads[0].bytes(), &roster(1, &[1, 2, 3]));
    assert!(matches!(proof, Err(FormatError::Signature { .. })), "{proof:?}");
}

#[test]
fn what_a_member_signed_by_mistake_is_named() {
    assert_eq!(forge(HEADS, &[0xff; 2]), Err(too_many("heads", 0xffff, HEADS_MAX)));
    assert_eq!(forge(HOLDINGS, &[0xff; 2]), Err(too_many("holdings", 0xffff, HOLDINGS_MAX)));
    let tag = usize::from(u16::from_le_bytes(*b"se"));
    assert_eq!(forge(HEADS, &[1, 0]), Err(too_many("holdings", tag, HOLDINGS_MAX)));
    assert_eq!(forge(HOLDINGS, &[2]), Err(FormatError::Surplus(81)));
    assert!(forge(HOLDINGS, &[4]).is_err(), "the signature is no holding");
    let sequence = HOLDINGS + 2 + 32 + 8 + 1 + 8;
    assert!(is_number(&forge(sequence, &[0xff; 8]), "sequence", u64::MAX));
    let stream = HOLDINGS + 2 + 32 + 8;
    assert!(is_number(&forge(stream, &[2]), "stream", 2), "cells travel no more");
    assert!(is_number(&forge(stream + 1, &[1]), "records of generation", 1));
    // Of 17 records as many are uncounted as there are, up to the last that there is.
    let (uncounted, sequence) = (sequence + 16, 17);
    for (found, last) in [(17, 16), (0, 16), (2, 18), (2, 0)] {
        let numbers = [found, last].map(u64::to_le_bytes).concat();
        let error = FormatError::Uncounted { uncounted: found, last, sequence };
        assert_eq!(forge(uncounted, &numbers), Err(error));
    }
    assert!(forge(uncounted, &[0; 16]).is_ok());
}

#[test]
fn a_holding_of_a_site_that_is_not_known_here_is_passed_over() {
    let bytes = signed(&heartbeat());
    let read = Heartbeat::decode(&bytes, &roster(1, &[1, 2])).expect("a heartbeat");
    assert_eq!(read.holdings, heartbeat().holdings[..2], "that of site 3 is gone");
    assert_eq!(read.heads, heartbeat().heads);
}

#[test]
fn the_largest_heartbeat_is_read_and_no_larger_one_is_made() {
    let mut full = heartbeat();
    full.heads = vec![head(2, Stream::Records, 42); HEADS_MAX];
    full.holdings = vec![full.holdings[0]; HOLDINGS_MAX];
    let bytes = signed(&full);
    assert_eq!(bytes.len(), HEARTBEAT_BYTES_MAX);
    assert_eq!(decode(&bytes), Ok(full.clone()));
    let mut heads = full.clone();
    heads.heads.push(head(2, Stream::Records, 42));
    assert_eq!(heads.sign(&site(2), &admin().public()), Err(too_many("heads", HEADS_MAX + 1, HEADS_MAX)));
    let mut holdings = full;
    holdings.holdings.push(holdings.holdings[0]);
    assert_eq!(
        holdings.sign(&site(2), &admin().public()),
        Err(too_many("holdings", HOLDINGS_MAX + 1, HOLDINGS_MAX))
    );
}
