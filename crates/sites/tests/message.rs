//! Messages: whose they are, where they lead and what they carry is certain, or they are none.

mod made;

use made::{admin, flips, is_number, message, other_admin, roster, signed_anew, site, statement, too_many};
use proptest::prelude::*;
use seenit_sites::message::{
    HEAD_BYTES, Head, MESSAGE_BYTES_MAX, Message, PAYLOAD_BYTES_MAX, SEQUENCE_MAX, Statement, Stream,
};
use seenit_sites::number::{Generation, Incarnation};
use seenit_sites::{Digest, FormatError};

/// Where the signature begins: it is of all before it.
const SIGNATURE: usize = HEAD_BYTES - 64;

const SEEN: Stream = Stream::Sightings { generation: Generation(20_000) };

fn signed(stream: Stream, previous: u64, sequence: u64, payload: &[u8]) -> Vec<u8> {
    message(1, statement(stream, previous, sequence), payload)
}

fn statement_of(head: &Head) -> Statement {
    let Head { id, previous, manifest, time_secs, .. } = *head;
    let (incarnation, stream) = (id.incarnation, id.stream);
    Statement { incarnation, stream, previous, at: head.chain(), manifest, time_secs }
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_signed(
        incarnation: u64,
        generation in proptest::option::of(any::<u64>()),
        previous in 0..SEQUENCE_MAX - 1000,
        further in 1..1000_u64,
        root: [u8; 32],
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let stream = generation
            .map_or(Stream::Records, |generation| Stream::Sightings { generation: Generation(generation) });
        let sequence = if payload.is_empty() { previous } else { previous.saturating_add(further) };
        let mut said = statement(stream, previous, sequence);
        (said.incarnation, said.at.value) = (Incarnation(incarnation), Digest(root));
        let bytes = message(2, said, &payload);
        let roster = roster(1, &[1, 2]);
        let read = Message::decode(&bytes, &roster).expect("a message of ours");
        prop_assert_eq!(statement_of(&read.head), said);
        prop_assert_eq!((read.head.id.site, read.payload), (site(2).public(), payload.as_slice()));
        prop_assert_eq!(read.head.is_alone(), payload.is_empty());
        let head = Head::decode(&bytes[..HEAD_BYTES], &roster);
        prop_assert_eq!(head, Ok(read.head), "a head proves a root by itself");
        prop_assert_eq!(read.head.bytes(), &bytes[..HEAD_BYTES]);
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(Message::decode(&bytes, &roster(1, &[1])).is_err());
    }

    /// A member that lies about everything it can sign.
    #[test]
    fn any_signed_bytes_are_a_message_or_an_error(
        at in 84..SIGNATURE,
        with in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = signed(SEEN, 4, 5, b"a payload");
        for (place, byte) in bytes.iter_mut().take(SIGNATURE).skip(at).zip(with) {
            *place = byte;
        }
        let bytes = signed_anew(&bytes, SIGNATURE, 1);
        if let Ok(read) = Message::decode(&bytes, &roster(1, &[1])) {
            let again = Message::sign(&site(1), &admin().public(), statement_of(&read.head), read.payload);
            prop_assert_eq!(again, Ok(bytes.clone()), "one message has one encoding");
        }
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    let roster = roster(1, &[1, 2]);
    for bytes in [signed(SEEN, 4, 5, b"some deltas"), signed(Stream::Records, 9, 9, b"")] {
        for (bit, flipped) in flips(&bytes) {
            assert!(Message::decode(&flipped, &roster).is_err(), "bit {bit}");
        }
    }
}

#[test]
fn any_cut_and_any_addition_is_refused() {
    let (roster, bytes) = (roster(1, &[1]), signed(SEEN, 4, 5, b"some deltas"));
    for end in 0..bytes.len() {
        assert!(Message::decode(&bytes[..end], &roster).is_err(), "{end}");
    }
    let longer = [bytes.as_slice(), b"!"].concat();
    assert_eq!(Message::decode(&longer, &roster), Err(FormatError::Surplus(1)));
    assert_eq!(HEAD_BYTES, 265);
}

#[test]
fn strangers_are_not_heard() {
    let bytes = signed(SEEN, 4, 5, b"some deltas");
    let removed = Message::decode(&bytes, &roster(2, &[2, 3])).map(|_| ());
    assert_eq!(removed, Err(FormatError::NoMember(site(1).public().to_string())));
    let elsewhere =
        Message::sign(&site(1), &other_admin().public(), statement(SEEN, 4, 5), b"x").expect("signed");
    let (expected, found) = (admin().public(), other_admin().public().to_string());
    let refused = Message::decode(&elsewhere, &roster(1, &[1])).map(|_| ());
    assert_eq!(refused, Err(FormatError::OtherNetwork { expected, found }));
    // A member that signs in another's name.
    let forged = signed_anew(&bytes, SIGNATURE, 2);
    let refused = Message::decode(&forged, &roster(1, &[1, 2])).map(|_| ());
    assert!(matches!(refused, Err(FormatError::Signature { .. })), "{refused:?}");
}

#[test]
fn a_message_leads_forward_and_a_head_alone_nowhere() {
    let sign = |stream, previous, sequence, payload: &[u8]| {
        Message::sign(&site(1), &admin().public(), statement(stream, previous, sequence), payload)
    };
    assert!(sign(SEEN, 0, 0, b"").is_ok(), "a site that has said nothing yet is alive");
    for (previous, sequence, payload) in [(5, 5, "x"), (6, 5, "x"), (4, 5, ""), (6, 5, "")] {
        let error = FormatError::LeadsNowhere { payload: payload.len(), previous, sequence };
        assert_eq!(sign(Stream::Records, previous, sequence, payload.as_bytes()), Err(error));
    }
    assert!(sign(SEEN, SEQUENCE_MAX - 1, SEQUENCE_MAX, b"x").is_ok());
    let endless = sign(SEEN, SEQUENCE_MAX, SEQUENCE_MAX + 1, b"x");
    assert!(is_number(&endless, "sequence", SEQUENCE_MAX + 1), "nobody can be there");
    let of_none = Statement { manifest: 0, ..statement(SEEN, 4, 5) };
    let refused = Message::sign(&site(1), &admin().public(), of_none, b"x");
    assert!(is_number(&refused, "sightings under manifest", 0), "{refused:?}");
}

#[test]
fn what_was_checked_before_is_read_again_without_its_signature() {
    let (roster, mut bytes) = (roster(1, &[1]), signed(SEEN, 4, 5, b"some deltas"));
    let checked = Message::decode(&bytes, &roster).map(|message| message.head);
    assert_eq!(Message::reread(&bytes, &roster).map(|message| message.head), checked);
    bytes[SIGNATURE] ^= 1;
    let again = Message::reread(&bytes, &roster).expect("its form is sound");
    assert_eq!(Ok(statement_of(&again.head)), checked.map(|head| statement_of(&head)));
    assert_eq!(again.payload, b"some deltas");
    // Not even so is there a member that was removed, or half a head.
    let removed = Message::reread(&bytes, &made::roster(2, &[2])).map(|_| ());
    assert_eq!(removed, Err(FormatError::NoMember(site(1).public().to_string())));
    assert_eq!(Message::reread(&bytes[..HEAD_BYTES - 1], &roster).map(|_| ()), Err(FormatError::Cut));
}

#[test]
fn what_a_member_signed_by_mistake_is_named() {
    let forge = |at: usize, with: &[u8]| {
        let mut bytes = signed(Stream::Records, 4, 5, b"x");
        bytes[at..at + with.len()].copy_from_slice(with);
        let bytes = signed_anew(&bytes, SIGNATURE, 1);
        Message::decode(&bytes, &roster(1, &[1])).map(|_| ())
    };
    assert!(is_number(&forge(92, &[2]), "stream", 2), "cells travel no more");
    assert!(is_number(&forge(92, &[4]), "stream", 4));
    assert!(is_number(&forge(93, &[1]), "records of generation", 1));
    assert_eq!(
        forge(165, &[0xff; 4]),
        Err(too_many("bytes of payload", u32::MAX as usize, PAYLOAD_BYTES_MAX))
    );
    assert!(matches!(forge(169, &[0; 32]), Err(FormatError::OtherPayload { .. })));
    assert_eq!(forge(165, &[2]), Err(FormatError::Cut));
    // Without its payload, too, a head alone carries the digest of nothing and of nothing else.
    let mut alone = signed(Stream::Records, 5, 5, b"");
    alone[169] ^= 1;
    let refused = Head::decode(&signed_anew(&alone, SIGNATURE, 1), &roster(1, &[1]));
    assert!(matches!(refused, Err(FormatError::OtherPayload { .. })), "{refused:?}");
}

#[test]
fn the_largest_message_is_read_and_no_larger_one_is_made() {
    let payload = vec![0; PAYLOAD_BYTES_MAX + 1];
    let bytes = signed(SEEN, 4, 5, &payload[1..]);
    assert_eq!(bytes.len(), MESSAGE_BYTES_MAX);
    assert!(Message::decode(&bytes, &roster(1, &[1])).is_ok());
    let refused = Message::sign(&site(1), &admin().public(), statement(SEEN, 4, 5), &payload);
    assert_eq!(refused, Err(too_many("bytes of payload", payload.len(), PAYLOAD_BYTES_MAX)));
    let larger = [bytes.as_slice(), &[0]].concat();
    let error = FormatError::Many { what: "bytes", found: larger.len(), most: MESSAGE_BYTES_MAX };
    assert_eq!(Message::decode(&larger, &roster(1, &[1])), Err(error));
}
