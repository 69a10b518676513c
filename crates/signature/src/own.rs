//! seenit's own kinds: `exact1`, `near1`, `url1`, `part1`.
//!
//! A digest is the first 20 bytes of BLAKE3 in its key-derivation mode, with the kind's context; that of `near1` is
//! its 32 shingles. Below its *floor* a signature says too little to be anybody's opinion, and is withheld.

use crate::kind::Kind;
use crate::message::{Attachment, Message};
use crate::near;
use crate::signature::{Digest, Signature, information_bits};
use crate::url;
use crate::words::Words;

/// `exact1` is withheld below so many words, or so many letters: "please see attached" is everybody's.
pub const EXACT_WORDS_MIN: usize = 8;
/// See [`EXACT_WORDS_MIN`].
pub const EXACT_LETTERS_MIN: usize = 40;
/// So many of the words must differ: one word repeated is no text.
pub const EXACT_DISTINCT_MIN: usize = 6;

/// `near1` is withheld below so many words. Real mail (`lab run replicas`) gave 4 % more spam caught than with twice as
/// many, and no more ham hit where the ham is known.
pub const NEAR_WORDS_MIN: usize = 16;
/// `near1` is withheld below so many distinct n-grams: a word repeated is no text.
pub const NEAR_GRAMS_MIN: usize = 9;

/// `rspamd` is withheld below so many words: its digest is of few and shortened ones.
pub const RSPAMD_WORDS_MIN: usize = 32;

/// `part1` is withheld below so many bytes: pixels, separators, signatures.
pub const PART_BYTES_MIN: usize = 1024;
/// `part1` is withheld below so many bits of information: files of zeros are everybody's.
pub const PART_BITS_MIN: u64 = 1024;

/// `pyzor` is withheld below so many bits of information in its lines.
pub const PYZOR_BITS_MIN: u64 = 128;

/// Attachments that belong to the sender, not to the message, or differ each time.
const PERSONAL_MEDIA: [&str; 7] = [
    "application/pgp-signature",
    "application/pkcs7-signature",
    "application/x-pkcs7-signature",
    "text/vcard",
    "text/x-vcard",
    "text/directory",
    "text/rfc822-headers",
];

/// `exact1` of some words.
pub fn exact(words: &Words) -> Signature {
    let joined = words.joined();
    Signature {
        kind: Kind::Exact1,
        part: None,
        digest: Digest::Bytes(digest("seenit exact1", joined.as_bytes())),
        information_bits: information_bits(joined.as_bytes()),
        withheld: is_below_floor(words),
    }
}

/// Whether words say too little for an exact digest.
pub fn is_below_floor(words: &Words) -> bool {
    let mut distinct: Vec<&str> = Vec::with_capacity(EXACT_DISTINCT_MIN);
    for word in words.iter() {
        if distinct.len() < EXACT_DISTINCT_MIN && !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    words.len() < EXACT_WORDS_MIN
        || words.letters() < EXACT_LETTERS_MIN
        || distinct.len() < EXACT_DISTINCT_MIN
}

/// `near1` of some words; `None` where there are too few for a single n-gram.
pub fn near(words: &Words) -> Option<Signature> {
    let shingles = near::shingles(&near::grams(words))?;
    Some(Signature {
        kind: Kind::Near1,
        part: None,
        digest: Digest::Shingles(Box::new(shingles.values)),
        information_bits: information_bits(words.joined().as_bytes()),
        withheld: words.len() < NEAR_WORDS_MIN || shingles.grams < NEAR_GRAMS_MIN,
    })
}

/// `url1` of each target of the links of a message.
pub fn urls(message: &Message<'_>) -> Vec<Signature> {
    let targets = url::targets(&message.links, &message.text);
    let signature = |target: url::Target| Signature {
        kind: Kind::Url1,
        part: None,
        digest: Digest::Bytes(digest("seenit url1", target.text.as_bytes())),
        information_bits: information_bits(target.text.as_bytes()),
        withheld: target.withheld,
    };
    targets.into_iter().map(signature).collect()
}

/// `part1` of an attachment.
pub fn part(attachment: &Attachment<'_>) -> Signature {
    let bytes = &attachment.bytes;
    let information_bits = information_bits(bytes);
    Signature {
        kind: Kind::Part1,
        part: Some(attachment.part),
        digest: Digest::Bytes(digest("seenit part1", bytes)),
        information_bits,
        withheld: bytes.len() < PART_BYTES_MIN
            || information_bits < PART_BITS_MIN
            || PERSONAL_MEDIA.contains(&attachment.media.as_str()),
    }
}

fn digest(context: &str, bytes: &[u8]) -> Vec<u8> {
    let mut digest = vec![0; 20];
    blake3::Hasher::new_derive_key(context).update(bytes).finalize_xof().fill(&mut digest);
    digest
}

const _: () = assert!(NEAR_GRAMS_MIN <= near::GRAMS_COUNTED_MAX);
