//! Introductions: one line for one site, signed by the site itself.

mod made;

use made::{flips, member, signed_anew, site};
use proptest::prelude::*;
use seenit_sites::FormatError;
use seenit_sites::introduction::{INTRODUCTION_BYTES_MAX, Introduction};
use seenit_sites::key::SIGNATURE_BYTES;
use seenit_sites::roster::NAME_BYTES_MAX;

/// Where the key for the broker stands, and the length of the name.
const BROKER: usize = 84;
const LENGTH: usize = 116;

fn introduction() -> Introduction {
    Introduction::sign(&site(1), member(1).name)
}

/// What a line begins with.
const PREFIX: &str = "seenit-introduction-1:";

/// The bytes with a change that the site signed.
fn forged(change: impl Fn(&mut [u8])) -> Result<Introduction, FormatError> {
    let mut bytes = introduction().bytes().to_vec();
    change(&mut bytes);
    Introduction::decode(&signed_anew(&bytes, bytes.len() - SIGNATURE_BYTES, 1))
}

#[test]
fn what_is_read_is_what_was_signed() {
    let signed = introduction();
    assert_eq!(Introduction::decode(signed.bytes()), Ok(signed.clone()));
    assert_eq!(signed.to_string().parse(), Ok(signed.clone()));
    assert_eq!(signed.broker, site(1).broker_key().public());
    let longest = "a".repeat(NAME_BYTES_MAX).parse().expect("a name");
    assert_eq!(Introduction::sign(&site(1), longest).bytes().len(), INTRODUCTION_BYTES_MAX);
}

#[test]
fn the_key_for_the_broker_is_no_other_key_of_the_site() {
    let (site, broker) = (site(1), site(1).broker_key());
    assert_ne!(broker.public().to_bytes(), site.public().to_bytes());
    assert_ne!(broker.public().to_bytes(), site.sealing().public().to_bytes());
    assert_ne!(broker.to_bytes(), site.to_bytes());
}

#[test]
fn any_flipped_bit_and_any_cut_is_refused() {
    let bytes = introduction().bytes().to_vec();
    for (bit, flipped) in flips(&bytes) {
        assert!(Introduction::decode(&flipped).is_err(), "bit {bit}");
    }
    assert!((0..bytes.len()).all(|end| Introduction::decode(&bytes[..end]).is_err()));
}

#[test]
fn what_a_site_signed_by_mistake_is_named() {
    let weak = forged(|bytes| bytes[BROKER..BROKER + 32].fill(0));
    assert!(matches!(weak, Err(FormatError::Key("broker", _))), "{weak:?}");
    assert!(matches!(forged(|bytes| bytes[LENGTH + 1] = b'A'), Err(FormatError::Name(_))));
    assert_eq!(forged(|bytes| bytes[LENGTH] -= 1), Err(FormatError::Surplus(1)));
    assert_eq!(forged(|bytes| bytes[LENGTH] += 1), Err(FormatError::Cut));
}

#[test]
fn lines_that_are_none_are_refused() {
    let line = introduction().to_string();
    let read = |text: &str| text.parse::<Introduction>();
    assert_eq!(read(""), Err(FormatError::Line(PREFIX)));
    assert_eq!(read(&line.replace("-1:", "-2:")), Err(FormatError::Line(PREFIX)));
    assert_eq!(read(&format!("{line}\n")), Err(FormatError::Line(PREFIX)));
    assert_eq!(read(&line[..line.len() - 1]), Err(FormatError::Line(PREFIX)));
    let (head, digits) = line.split_once(':').expect("a colon");
    assert_eq!(read(&format!("{head}:{}", digits.to_uppercase())), Err(FormatError::Line(PREFIX)));
}

proptest! {
    #[test]
    fn any_bytes_and_any_line_are_an_introduction_or_an_error(bytes: Vec<u8>, text: String) {
        prop_assert!(Introduction::decode(&bytes).is_err());
        prop_assert!(text.parse::<Introduction>().is_err());
    }

    /// Even what a site signs is read with care: the tool that signed it may have been wrong.
    #[test]
    fn any_signed_bytes_are_an_introduction_or_an_error(
        at in 52..140_usize,
        with in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut bytes = introduction().bytes().to_vec();
        for (place, byte) in bytes.iter_mut().skip(at).zip(with) {
            *place = byte;
        }
        let bytes = signed_anew(&bytes, bytes.len() - SIGNATURE_BYTES, 1);
        if let Ok(read) = Introduction::decode(&bytes) {
            prop_assert_eq!(read.bytes(), bytes);
        }
    }
}
