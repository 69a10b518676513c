//! Asks and answers. Nobody signs them, so all that is certain is what they say; what an answer holds proves itself.

mod made;

use made::{SIGHTINGS, flips, head, is_number, roster, stream_id};
use proptest::prelude::*;
use seenit_sites::ask::{ANSWER_BYTES_MAX, ASK_BYTES_MAX, Ask, AskAnswer};
use seenit_sites::message::{MESSAGE_BYTES_MAX, Stream};
use seenit_sites::number::Sequence;
use seenit_sites::{Arrival, FormatError};

/// Where the kind stands, and behind it the stream: site, incarnation, stream, generation.
const KIND: usize = 20;
const STREAM: usize = KIND + 1 + 32 + 8;

fn read_ask(bytes: &[u8]) -> Result<Ask, FormatError> {
    Ask::decode(bytes, &roster(1, &[1, 2, 3]))
}

fn read_answer(bytes: &[u8]) -> Result<AskAnswer, FormatError> {
    AskAnswer::decode(bytes, &roster(1, &[1, 2, 3]))
}

fn asks() -> [Ask; 3] {
    [
        Ask::Range { id: stream_id(1, Stream::Records), after: Sequence(17) },
        Ask::Range { id: stream_id(3, SIGHTINGS), after: Sequence(u64::MAX) },
        Ask::Said { head: head(2, SIGHTINGS, 9).bytes() },
    ]
}

fn answers() -> [AskAnswer; 3] {
    [
        AskAnswer::Message(b"whatever a site signed".to_vec()),
        AskAnswer::Expired { id: stream_id(1, Stream::Records), first: Sequence(18) },
        AskAnswer::Expired { id: stream_id(3, SIGHTINGS), first: Sequence(u64::MAX) },
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_an_ask_of_one_form_or_an_error(
        kind in 0..6_u8,
        stream in 0..4_u8,
        numbers in proptest::collection::vec(0..40_u64, 0..40),
        rest in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = [b"seenit ask v1       ".as_slice(), &[kind]].concat();
        bytes.extend(made::site(1).public().to_bytes());
        bytes.extend([0; 8]);
        bytes.push(stream);
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        for bytes in [[bytes.as_slice(), &rest].concat(), bytes, rest] {
            if let Ok(ask) = read_ask(&bytes) {
                prop_assert_eq!(ask.encode(), bytes, "an ask has one encoding");
            }
        }
    }

    #[test]
    fn any_bytes_are_an_answer_of_one_form_or_an_error(
        which in 0..3_usize,
        at in KIND..90_usize,
        with in proptest::collection::vec(any::<u8>(), 1..40),
        cut in 0..40_usize,
    ) {
        let mut bytes = answers()[which].encode();
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        for (place, byte) in bytes.iter_mut().skip(at).zip(&with) {
            *place = *byte;
        }
        let tagged = [b"seenit answer v1    ".as_slice(), &with].concat();
        for bytes in [bytes, tagged, with] {
            if let Ok(answer) = read_answer(&bytes) {
                prop_assert_eq!(answer.encode(), bytes, "an answer has one encoding");
            }
        }
    }
}

#[test]
fn what_is_read_is_what_was_asked_and_answered() {
    for ask in asks() {
        let bytes = ask.encode();
        assert_eq!(Arrival::of(&bytes), Some(Arrival::Ask));
        assert_eq!(read_ask(&bytes), Ok(ask));
        assert!(read_answer(&bytes).is_err(), "an ask is no answer");
    }
    for answer in answers() {
        let bytes = answer.encode();
        assert_eq!(Arrival::of(&bytes), Some(Arrival::Answer));
        assert_eq!(read_answer(&bytes), Ok(answer));
        assert!(read_ask(&bytes).is_err(), "an answer is no ask");
    }
}

#[test]
fn any_cut_and_any_addition_is_refused() {
    for bytes in asks().map(|ask| ask.encode()) {
        assert!((0..bytes.len()).all(|end| read_ask(&bytes[..end]).is_err()));
        assert_eq!(read_ask(&[bytes.as_slice(), b"!"].concat()), Err(FormatError::Surplus(1)));
    }
    // The message of the first says itself where it ends.
    for bytes in answers().into_iter().skip(1).map(|answer| answer.encode()) {
        assert!((0..bytes.len()).all(|end| read_answer(&bytes[..end]).is_err()));
        assert!(read_answer(&[bytes.as_slice(), b"!"].concat()).is_err());
    }
}

#[test]
fn a_flipped_bit_says_something_else_or_nothing() {
    for ask in asks() {
        for (bit, flipped) in flips(&ask.encode()) {
            assert_ne!(read_ask(&flipped).as_ref(), Ok(&ask), "bit {bit}");
        }
    }
    for answer in answers() {
        for (bit, flipped) in flips(&answer.encode()) {
            assert_ne!(read_answer(&flipped).as_ref(), Ok(&answer), "bit {bit}");
        }
    }
}

#[test]
fn asks_and_answers_about_sites_that_are_no_members_are_refused() {
    let few = roster(2, &[2]);
    let ask = Ask::Range { id: stream_id(1, Stream::Records), after: Sequence(17) }.encode();
    assert!(matches!(Ask::decode(&ask, &few), Err(FormatError::NoMember(_))));
    let answer = AskAnswer::Expired { id: stream_id(1, Stream::Records), first: Sequence(18) }.encode();
    assert!(matches!(AskAnswer::decode(&answer, &few), Err(FormatError::NoMember(_))));
}

#[test]
fn what_nobody_can_ask_or_answer_is_named() {
    let with = |bytes: &[u8], at: usize, byte: u8| {
        let mut bytes = bytes.to_vec();
        bytes[at] = byte;
        bytes
    };
    let ask = asks()[0].encode();
    assert!(is_number(&read_ask(&with(&ask, KIND, 5)), "ask of kind", 5));
    assert!(is_number(&read_ask(&with(&ask, KIND, 2)), "ask of kind", 2), "cells travel no more");
    assert!(is_number(&read_ask(&with(&ask, STREAM, 2)), "stream", 2));
    assert!(is_number(&read_ask(&with(&ask, STREAM + 1, 1)), "records of generation", 1));
    let answer = answers()[1].encode();
    assert!(is_number(&read_answer(&with(&answer, KIND, 0)), "answer of kind", 0));
    assert!(is_number(&read_answer(&with(&answer, STREAM, 0)), "stream", 0));
}

#[test]
fn more_than_may_be_asked_or_answered_is_refused() {
    let error = FormatError::Many { what: "bytes", found: ASK_BYTES_MAX + 1, most: ASK_BYTES_MAX };
    assert_eq!(read_ask(&[0; ASK_BYTES_MAX + 1]), Err(error));
    let message = AskAnswer::Message(vec![0; MESSAGE_BYTES_MAX]);
    assert_eq!(read_answer(&message.encode()), Ok(message), "the largest message can be an answer");
    let error = FormatError::Many { what: "bytes", found: ANSWER_BYTES_MAX + 1, most: ANSWER_BYTES_MAX };
    assert_eq!(read_answer(&vec![0; ANSWER_BYTES_MAX + 1]), Err(error));
}
