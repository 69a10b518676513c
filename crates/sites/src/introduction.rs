//! The introduction: what a site tells an admin who is to admit it. Signed by the site, so that nobody is admitted
//! under a key that is not theirs.
//!
//! It travels through a broker that nobody trusts. So both sides compare six words made from it by another way, such as
//! a telephone, before the site is admitted.

use std::fmt;
use std::str::FromStr;

use crate::digest::{Digest, Domain};
use crate::error::{FormatError, at_most};
use crate::form::{Field, Reader, Tag};
use crate::key::{BrokerKey, KEY_BYTES, SIGNATURE_BYTES, SealingKey, SiteKey, SiteSecret};
use crate::roster::{NAME_BYTES_MAX, Name};

const TAG: Tag = *b"seenit introduce v1 ";

/// The version of the format, in front of the line.
const PREFIX: &str = "seenit-introduction-1:";

/// The largest introduction: some 250 bytes, which are 500 letters.
pub const INTRODUCTION_BYTES_MAX: usize = TAG.len() + 3 * KEY_BYTES + 1 + NAME_BYTES_MAX + SIGNATURE_BYTES;

/// What the digest for the words is of.
const WORDS_DOMAIN: &Domain = b"seenit 2026 introduction words  ";

/// Letters of words: sixteen consonants and four vowels.
const CONSONANTS: [char; 16] =
    ['b', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v', 'z'];
const VOWELS: [char; 4] = ['a', 'i', 'o', 'u'];

/// An introduction, checked in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduction {
    /// Who it is.
    pub site: SiteKey,
    /// What secrets are sealed to it with.
    pub sealing: SealingKey,
    /// What the broker knows it by.
    pub broker: BrokerKey,
    /// What it would like to be called. The admin may think of another name.
    pub name: Name,
    /// The bytes that are signed, and the signature.
    bytes: Vec<u8>,
}

impl Introduction {
    /// What a site says of itself.
    pub fn sign(secret: &SiteSecret, name: Name) -> Self {
        let site = secret.public();
        let sealing = secret.sealing().public();
        let broker = secret.broker_key().public();
        let mut bytes = TAG.to_vec();
        site.write(&mut bytes);
        sealing.write(&mut bytes);
        broker.write(&mut bytes);
        name.write(&mut bytes);
        secret.sign(&mut bytes);
        Introduction { site, sealing, broker, name, bytes }
    }

    /// Reads one. All of it is checked, the signature before all else but the key that made it.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut rest = Reader::new(bytes, &TAG, INTRODUCTION_BYTES_MAX)?;
        let site = rest.get()?;
        rest.signed_by(&site)?;
        let sealing = rest.get()?;
        let broker = rest.get()?;
        let name = rest.get()?;
        rest.end()?;
        Ok(Introduction { site, sealing, broker, name, bytes: bytes.to_vec() })
    }

    /// Six words that stand for it, to be read out to the other side: 96 bits of its digest, so that nobody finds
    /// another introduction with the same words. Each word is two syllables and a consonant, so there is no list of
    /// words to be carried.
    pub fn words(&self) -> [String; 6] {
        let digest = Digest::of(WORDS_DOMAIN, &[&self.bytes]);
        let (pairs, _) = digest.0.as_chunks::<2>();
        std::array::from_fn(|at| word(pairs.get(at).map_or(0, |pair| u16::from_be_bytes(*pair))))
    }

    /// The bytes that are signed, and the signature.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Sixteen bits as a word: consonant, vowel, consonant, vowel, consonant.
fn word(bits: u16) -> String {
    let letter =
        |letters: &[char], shift: u32| letters.get(usize::from(bits >> shift) % letters.len()).copied();
    let letters =
        [(CONSONANTS.as_slice(), 12), (&VOWELS, 10), (&CONSONANTS, 6), (&VOWELS, 4), (&CONSONANTS, 0)];
    letters.into_iter().filter_map(|(letters, shift)| letter(letters, shift)).collect()
}

impl fmt::Display for Introduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex::encode(&self.bytes))
    }
}

impl FromStr for Introduction {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let digits = text.strip_prefix(PREFIX).ok_or(FormatError::Line(PREFIX))?;
        at_most("digits", digits.len(), 2 * INTRODUCTION_BYTES_MAX)?;
        if digits.bytes().any(|digit| digit.is_ascii_uppercase()) {
            return Err(FormatError::Line(PREFIX));
        }
        Introduction::decode(&hex::decode(digits).map_err(|_| FormatError::Line(PREFIX))?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_numbers_make_one_word() {
        let words: HashSet<String> = (0..=u16::MAX).map(word).collect();
        assert_eq!(words.len(), 1 << 16);
        assert!(words.iter().all(|word| word.len() == 5));
    }

    #[test]
    fn words_are_those_of_one_introduction() {
        let of = |seed: u8, name: &str| {
            let site = SiteSecret::from_bytes([seed; KEY_BYTES]);
            Introduction::sign(&site, name.parse().expect("a name")).words()
        };
        assert_eq!(of(1, "a"), of(1, "a"));
        assert_ne!(of(1, "a"), of(1, "b"));
        assert_ne!(of(1, "a"), of(2, "a"));
    }
}
