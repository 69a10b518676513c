//! Beats: whose they are and what they say is certain, or they are none.

mod made;

use made::{admin, beat, flips, head, other_admin, roster, signed_anew, site, stream_id};
use proptest::prelude::*;
use seenit_sites::beat::{BEAT_BYTES_MAX, Beat, BeatError, HEADS_MAX, HOLDINGS_MAX, Holding, StreamId};
use seenit_sites::message::{HEAD_BYTES, Head, Message, MessageError, SEQUENCE_MAX, Stream};
use seenit_sites::{Arrival, Digest, FormError};

/// Where the number of heads stands.
const HEADS: usize = 20 + 2 * 32 + 2 * 8 + 32;
/// Where the number of holdings stands in a beat with two heads.
const HOLDINGS: usize = HEADS + 2 + 2 * HEAD_BYTES;

fn signed(beat: &Beat) -> Vec<u8> {
    beat.sign(&site(2), &admin().public()).expect("a beat")
}

fn decode(bytes: &[u8]) -> Result<Beat, BeatError> {
    Beat::decode(bytes, &roster(1, &[1, 2, 3]))
}

/// The beat with some bytes changed, signed by its site all the same.
fn forge(at: usize, with: &[u8]) -> Result<Beat, BeatError> {
    let mut bytes = signed(&beat());
    bytes[at..at + with.len()].copy_from_slice(with);
    decode(&signed_anew(&bytes, bytes.len() - 64, 2))
}

fn any_holding() -> impl Strategy<Value = Holding> {
    let stream = proptest::option::of(any::<u64>())
        .prop_map(|generation| generation.map_or(Stream::Records, |generation| Stream::Seen { generation }));
    (1..4_u8, any::<u64>(), stream, 0..=SEQUENCE_MAX, any::<[u8; 8]>()).prop_map(
        |(seed, incarnation, stream, sequence, root)| {
            let id = StreamId { site: site(seed).public(), incarnation, stream };
            Holding { id, sequence, root }
        },
    )
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_signed(
        incarnation: u64,
        time_secs: u64,
        snapshot: [u8; 32],
        sequences in proptest::collection::vec(0..=SEQUENCE_MAX, 0..4),
        held in proptest::collection::vec(any_holding(), 0..20),
    ) {
        let beat = Beat {
            site: site(2).public(),
            incarnation,
            time_secs,
            snapshot: Digest(snapshot),
            heads: sequences.into_iter().map(|sequence| head(2, Stream::Records, sequence)).collect(),
            holdings: held,
        };
        let bytes = signed(&beat);
        prop_assert_eq!(Arrival::of(&bytes), Some(Arrival::Beat));
        prop_assert_eq!(decode(&bytes), Ok(beat));
    }

    #[test]
    fn any_bytes_are_a_beat_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(decode(&bytes).is_err());
        let tagged = [b"seenit beat v1      ".as_slice(), &bytes].concat();
        prop_assert!(decode(&tagged).is_err());
    }

    /// A member that lies about everything it can sign.
    #[test]
    fn any_signed_bytes_are_a_beat_or_an_error(
        at in 84..HOLDINGS + 200,
        with in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = signed(&beat());
        let end = bytes.len() - 64;
        for (place, byte) in bytes.iter_mut().take(end).skip(at).zip(with) {
            *place = byte;
        }
        let bytes = signed_anew(&bytes, end, 2);
        if let Ok(read) = decode(&bytes) {
            // Of holdings of sites that are not known here nothing is left to be written again.
            if read.holdings.len() == beat().holdings.len() {
                prop_assert_eq!(signed(&read), bytes, "one beat has one encoding");
            }
        }
    }
}

#[test]
fn any_flipped_bit_is_refused() {
    let bytes = signed(&beat());
    // Each bit of what stands around the heads, one bit of each byte of them.
    for (bit, flipped) in
        flips(&bytes).filter(|(bit, _)| bit / 8 < HEADS || bit / 8 > HOLDINGS || bit % 8 == 3)
    {
        assert!(decode(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn any_cut_and_any_addition_is_refused() {
    let bytes = signed(&beat());
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "{end}");
    }
    let longer = [bytes.as_slice(), &[0; 64]].concat();
    assert!(matches!(decode(&longer), Err(BeatError::Form(FormError::Signature { .. }))));
    let longer = signed_anew(&longer, longer.len() - 64, 2);
    assert_eq!(decode(&longer), Err(FormError::Surplus(64).into()));
    let large = vec![0; BEAT_BYTES_MAX + 1];
    let error = FormError::Large { found: large.len(), most: BEAT_BYTES_MAX };
    assert_eq!(decode(&large), Err(error.into()));
}

#[test]
fn strangers_are_not_heard() {
    let bytes = signed(&beat());
    let removed = Beat::decode(&bytes, &roster(2, &[1, 3]));
    assert_eq!(removed, Err(MessageError::NoMember(site(2).public().to_string()).into()));
    let elsewhere = beat().sign(&site(2), &other_admin().public()).expect("signed");
    let (expected, found) = (admin().public(), other_admin().public().to_string());
    assert_eq!(decode(&elsewhere), Err(MessageError::OtherNetwork { expected, found }.into()));
    // A member that signs in another's name.
    let forged = decode(&signed_anew(&bytes, bytes.len() - 64, 1));
    assert!(matches!(forged, Err(BeatError::Form(FormError::Signature { .. }))), "{forged:?}");
}

#[test]
fn a_beat_has_heads_of_its_own_site_alone_and_none_with_a_payload() {
    let mut others = beat();
    others.heads = vec![head(1, Stream::Records, 5)];
    assert_eq!(decode(&signed(&others)), Err(BeatError::OtherHead), "another member's head");
    let mut message = beat();
    let bytes = Message::sign(&site(2), &admin().public(), made::state(Stream::Records, 5), 4, b"x");
    let bytes = bytes.expect("a message");
    message.heads = vec![(head(2, Stream::Records, 5).0, bytes[..HEAD_BYTES].to_vec())];
    assert_eq!(decode(&signed(&message)), Err(BeatError::OtherHead), "a head with a payload elsewhere");
    let mut spoilt = beat();
    spoilt.heads[0].1[HEAD_BYTES - 1] ^= 1;
    // The beat vouches for what the head says; a proof for others it is not.
    let read = decode(&signed(&spoilt)).expect("a beat");
    let proof = Head::decode(&read.heads[0].1, &roster(1, &[1, 2, 3]));
    assert!(matches!(proof, Err(MessageError::Form(_))), "{proof:?}");
}

#[test]
fn what_a_member_signed_by_mistake_is_named() {
    assert_eq!(forge(HEADS, &[0xff; 2]), Err(BeatError::Many(0xffff)));
    assert_eq!(forge(HOLDINGS, &[0xff; 2]), Err(BeatError::Many(0xffff)));
    assert_eq!(
        forge(HEADS, &[1, 0]).map(|_| ()),
        Err(BeatError::Many(usize::from(u16::from_le_bytes(*b"se"))))
    );
    assert_eq!(forge(HOLDINGS, &[2]), Err(FormError::Surplus(65).into()));
    assert!(forge(HOLDINGS, &[4]).is_err(), "the signature is no holding");
    let sequence = HOLDINGS + 2 + 32 + 8 + 1 + 8;
    assert_eq!(forge(sequence, &[0xff; 8]), Err(MessageError::Endless(u64::MAX).into()));
    let stream = HOLDINGS + 2 + 32 + 8;
    assert_eq!(forge(stream, &[3]), Err(MessageError::Stream(3).into()));
    assert_eq!(forge(stream + 1, &[1]), Err(MessageError::Generation(1).into()));
}

#[test]
fn a_holding_of_a_site_that_is_not_known_here_is_passed_over() {
    let bytes = signed(&beat());
    let read = Beat::decode(&bytes, &roster(1, &[1, 2])).expect("a beat");
    assert_eq!(read.holdings, beat().holdings[..2], "that of site 3 is gone");
    assert_eq!(read.heads, beat().heads);
}

#[test]
fn the_largest_beat_is_read_and_no_larger_one_is_made() {
    let mut full = beat();
    full.heads = vec![head(2, Stream::Records, 42); HEADS_MAX];
    full.holdings = vec![full.holdings[0]; HOLDINGS_MAX];
    let bytes = signed(&full);
    assert_eq!(bytes.len(), BEAT_BYTES_MAX);
    assert_eq!(decode(&bytes), Ok(full.clone()));
    let mut heads = full.clone();
    heads.heads.push(head(2, Stream::Records, 42));
    assert_eq!(heads.sign(&site(2), &admin().public()), Err(BeatError::Many(HOLDINGS_MAX)));
    let mut holdings = full;
    holdings.holdings.push(Holding { id: stream_id(1, Stream::Records), sequence: 1, root: [0; 8] });
    assert_eq!(holdings.sign(&site(2), &admin().public()), Err(BeatError::Many(HOLDINGS_MAX + 1)));
}
