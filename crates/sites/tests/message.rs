//! Messages: whose they are, where they lead and what they carry is certain, or they are none.

mod made;

use made::{admin, flips, other_admin, roster, signed_anew, site, state};
use proptest::prelude::*;
use seenit_sites::message::{
    HEAD_BYTES, Head, MESSAGE_BYTES_MAX, Message, MessageError, PAYLOAD_BYTES_MAX, SEQUENCE_MAX, Stream,
};
use seenit_sites::number::{Generation, Incarnation, Sequence};
use seenit_sites::{Digest, FormError};

/// Where the signature begins: it is of all before it.
const SIGNATURE: usize = HEAD_BYTES - 64;

const SEEN: Stream = Stream::Sightings { generation: Generation(20_000) };

fn signed(stream: Stream, previous: u64, sequence: u64, payload: &[u8]) -> Vec<u8> {
    Message::sign(&site(1), &admin().public(), state(stream, sequence), Sequence(previous), payload)
        .expect("a message")
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
        let mut state = state(stream, sequence);
        (state.incarnation, state.value) = (Incarnation(incarnation), Digest(root));
        let previous = Sequence(previous);
        let bytes = Message::sign(&site(2), &admin().public(), state, previous, &payload).expect("a message");
        let roster = roster(1, &[1, 2]);
        let read = Message::decode(&bytes, &roster).expect("a message of ours");
        prop_assert_eq!((read.head().state(), read.head().previous()), (&state, previous));
        prop_assert_eq!((read.site(), read.payload()), (&site(2).public(), payload.as_slice()));
        prop_assert_eq!(read.is_head_alone(), payload.is_empty());
        let head = Head::decode(read.head_bytes(), &roster);
        prop_assert_eq!(head.as_ref(), Ok(read.head()), "a head proves a root by itself");
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
            let (state, previous) = (*read.head().state(), read.head().previous());
            let again = Message::sign(&site(1), &admin().public(), state, previous, read.payload());
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
    assert_eq!(Message::decode(&longer, &roster), Err(FormError::Surplus(1).into()));
    assert_eq!(HEAD_BYTES, 265);
}

#[test]
fn strangers_are_not_heard() {
    let bytes = signed(SEEN, 4, 5, b"some deltas");
    let removed = Message::decode(&bytes, &roster(2, &[2, 3])).map(|_| ());
    assert_eq!(removed, Err(MessageError::NoMember(site(1).public().to_string())));
    let elsewhere =
        Message::sign(&site(1), &other_admin().public(), state(SEEN, 5), Sequence(4), b"x").expect("signed");
    let (expected, found) = (admin().public(), other_admin().public().to_string());
    let refused = Message::decode(&elsewhere, &roster(1, &[1])).map(|_| ());
    assert_eq!(refused, Err(MessageError::OtherNetwork { expected, found }));
    // A member that signs in another's name.
    let forged = signed_anew(&bytes, SIGNATURE, 2);
    let refused = Message::decode(&forged, &roster(1, &[1, 2])).map(|_| ());
    assert!(matches!(refused, Err(MessageError::Form(FormError::Signature { .. }))), "{refused:?}");
}

#[test]
fn a_message_leads_forward_and_a_head_alone_nowhere() {
    let sign = |stream, previous, sequence, payload: &[u8]| {
        Message::sign(&site(1), &admin().public(), state(stream, sequence), Sequence(previous), payload)
    };
    assert!(sign(SEEN, 0, 0, b"").is_ok(), "a site that has said nothing yet is alive");
    for (previous, sequence, payload) in [(5, 5, "x"), (6, 5, "x"), (4, 5, ""), (6, 5, "")] {
        let error = MessageError::Sequence { payload: payload.len(), previous, sequence };
        assert_eq!(sign(Stream::Records, previous, sequence, payload.as_bytes()), Err(error));
    }
    assert!(sign(SEEN, SEQUENCE_MAX - 1, SEQUENCE_MAX, b"x").is_ok());
    let endless = Err(MessageError::Endless(SEQUENCE_MAX + 1));
    assert_eq!(sign(SEEN, SEQUENCE_MAX, SEQUENCE_MAX + 1, b"x"), endless, "nobody can be there");
    let mut of_none = state(SEEN, 5);
    of_none.manifest = 0;
    let refused = Message::sign(&site(1), &admin().public(), of_none, Sequence(4), b"x");
    assert_eq!(refused, Err(MessageError::NoManifest));
}

#[test]
fn what_was_checked_before_is_read_again_without_its_signature() {
    let (roster, mut bytes) = (roster(1, &[1]), signed(SEEN, 4, 5, b"some deltas"));
    let checked = Message::decode(&bytes, &roster).map(|message| *message.head());
    assert_eq!(Message::reread(&bytes, &roster).map(|message| *message.head()), checked);
    bytes[SIGNATURE] ^= 1;
    let again = Message::reread(&bytes, &roster).expect("its form is sound");
    assert_eq!((Ok(*again.head()), again.payload()), (checked, b"some deltas".as_slice()));
    // Not even so is there a member that was removed, or half a head.
    let removed = Message::reread(&bytes, &made::roster(2, &[2])).map(|_| ());
    assert_eq!(removed, Err(MessageError::NoMember(site(1).public().to_string())));
    assert_eq!(Message::reread(&bytes[..HEAD_BYTES - 1], &roster).map(|_| ()), Err(FormError::Cut.into()));
}

#[test]
fn what_a_member_signed_by_mistake_is_named() {
    let forge = |at: usize, with: &[u8]| {
        let mut bytes = signed(Stream::Records, 4, 5, b"x");
        bytes[at..at + with.len()].copy_from_slice(with);
        let bytes = signed_anew(&bytes, SIGNATURE, 1);
        Message::decode(&bytes, &roster(1, &[1])).map(|_| ()).expect_err("a mistake")
    };
    assert_eq!(forge(92, &[2]), MessageError::Stream(2), "cells travel no more");
    assert_eq!(forge(92, &[4]), MessageError::Stream(4));
    assert_eq!(forge(93, &[1]), MessageError::Generation(1));
    assert_eq!(forge(165, &[0xff; 4]), MessageError::Payload(u32::MAX as usize));
    assert!(matches!(forge(169, &[0; 32]), MessageError::OtherPayload { .. }));
    assert_eq!(forge(165, &[2]), FormError::Cut.into());
    // Without its payload, too, a head alone carries the digest of nothing and of nothing else.
    let mut alone = signed(Stream::Records, 5, 5, b"");
    alone[169] ^= 1;
    let refused = Head::decode(&signed_anew(&alone, SIGNATURE, 1), &roster(1, &[1]));
    assert!(matches!(refused, Err(MessageError::OtherPayload { .. })), "{refused:?}");
}

#[test]
fn the_largest_message_is_read_and_no_larger_one_is_made() {
    let payload = vec![0; PAYLOAD_BYTES_MAX + 1];
    let bytes = signed(SEEN, 4, 5, &payload[1..]);
    assert_eq!(bytes.len(), MESSAGE_BYTES_MAX);
    assert!(Message::decode(&bytes, &roster(1, &[1])).is_ok());
    let refused = Message::sign(&site(1), &admin().public(), state(SEEN, 5), Sequence(4), &payload);
    assert_eq!(refused, Err(MessageError::Payload(payload.len())));
    let larger = [bytes.as_slice(), &[0]].concat();
    let error = FormError::Large { found: larger.len(), most: MESSAGE_BYTES_MAX };
    assert_eq!(Message::decode(&larger, &roster(1, &[1])), Err(error.into()));
}
