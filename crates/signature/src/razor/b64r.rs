//! Razor2's text form of digests: base 64 with the bits of every hex digit turned round.
//!
//! Hex digits are taken three at a time. Each is written as four bits, the least significant first; the twelve
//! bits are cut into two groups of six, each read with the most significant bit first. Missing digits are zero
//! bits.

use thiserror::Error;

/// What the values 0 to 63 are written as.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Why a text is not the text form of a digest.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Too short or too long for the digest.
    #[error("{found} characters where a signature of this engine has {expected}")]
    Length {
        /// Characters in the text.
        found: usize,
        /// Characters in the text form of such a digest.
        expected: usize,
    },
    /// A byte that the text form never has.
    #[error("byte {byte:#04x} at {at}, which is not one of A-Z a-z 0-9 - _")]
    Character {
        /// The byte.
        byte: u8,
        /// Where it stands, counted from 0.
        at: usize,
    },
    /// The bits that pad the last group are not zero: another text says the same digest.
    #[error("it ends in {0:?}, where the bits that pad a signature are not zero")]
    Padding(String),
}

/// The text form of a digest.
pub fn encode(digest: &[u8]) -> String {
    let digits: Vec<u8> = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
    encode_digits(&digits)
}

/// The digest whose text form is `text`. Only what [`encode`] writes is accepted.
pub fn decode<const N: usize>(text: &[u8]) -> Result<[u8; N], Error> {
    let expected = text_len(2 * N);
    if text.len() != expected {
        return Err(Error::Length { found: text.len(), expected });
    }
    let mut digits = Vec::with_capacity(text.len() / 2 * 3);
    for (at, pair) in text.chunks_exact(2).enumerate() {
        let twelve_bits = value(pair[0], 2 * at)? << 6 | value(pair[1], 2 * at + 1)?;
        digits.extend([twelve_bits >> 8, twelve_bits >> 4 & 15, twelve_bits & 15].map(turned));
    }
    let padding = digits.split_off(2 * N);
    if padding.iter().any(|&digit| digit != 0) {
        let end = &text[text.len() - 2..];
        return Err(Error::Padding(String::from_utf8_lossy(end).into_owned()));
    }
    let mut digest = [0; N];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Ok(digest)
}

/// The text form of hex digits, given by their values.
fn encode_digits(digits: &[u8]) -> String {
    let mut text = String::with_capacity(text_len(digits.len()));
    for three in digits.chunks(3) {
        let bits = |at: usize| three.get(at).map_or(0, |&digit| u16::from(turned(u16::from(digit))));
        let twelve_bits = bits(0) << 8 | bits(1) << 4 | bits(2);
        text.extend([twelve_bits >> 6, twelve_bits & 63].map(|six| char::from(ALPHABET[usize::from(six)])));
    }
    text
}

/// Characters in the text form of so many hex digits.
const fn text_len(digits: usize) -> usize {
    digits.div_ceil(3) * 2
}

/// A digit with its four bits in the opposite order.
fn turned(digit: u16) -> u8 {
    const TURNED: [u8; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];
    TURNED[usize::from(digit & 15)]
}

/// The six bits that a character stands for.
fn value(byte: u8, at: usize) -> Result<u16, Error> {
    let six = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return Err(Error::Character { byte, at }),
    };
    Ok(u16::from(six))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_the_description() {
        let hex = [
            ("0", "AA"),
            ("1", "gA"),
            ("8", "EA"),
            ("123", "hM"),
            ("fff", "__"),
            ("0123456789abcdef", "CEwqbhldO38A"),
            ("da39a3ee5e6b4b0d3255bfef95601890afd80709", "tclcd6dtLQvEqt9_mmCBkF-xDgkA"),
        ];
        for (digits, text) in hex {
            let values: Vec<u8> =
                digits.chars().map(|c| c.to_digit(16).expect("a hex digit") as u8).collect();
            assert_eq!(encode_digits(&values), text, "{digits}");
        }
    }

    #[test]
    fn every_digit_comes_back() {
        for byte in 0..=255u8 {
            let digest: [u8; 8] =
                std::array::from_fn(|at| byte.wrapping_mul(at as u8 + 1).rotate_left(at as u32));
            assert_eq!(decode::<8>(encode(&digest).as_bytes()), Ok(digest));
            let digest: [u8; 20] = std::array::from_fn(|at| byte.wrapping_add(at as u8 * 13));
            assert_eq!(decode::<20>(encode(&digest).as_bytes()), Ok(digest));
        }
    }

    #[test]
    fn only_one_text_says_a_digest() {
        let text = b"CEwqbhldO38A";
        assert!(decode::<8>(text).is_ok());
        assert_eq!(decode::<8>(b"CEwqbhldO38"), Err(Error::Length { found: 11, expected: 12 }));
        assert_eq!(decode::<8>(b"CEwqbhldO38AA"), Err(Error::Length { found: 13, expected: 12 }));
        assert_eq!(decode::<8>(b"CE+qbhldO38A"), Err(Error::Character { byte: b'+', at: 2 }));
        let one_digest =
            ALPHABET.iter().filter(|&&last| decode::<8>(&[&text[..11], &[last]].concat()).is_ok());
        assert_eq!(one_digest.count(), 1);
        assert_eq!(decode::<8>(b"CEwqbhldO38B"), Err(Error::Padding("8B".to_owned())));
        assert_eq!(decode::<8>(b"CEwqbhldO39A"), Err(Error::Padding("9A".to_owned())));
    }
}
