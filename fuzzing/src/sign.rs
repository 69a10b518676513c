//! The laws of signing, checked on whatever mail the fuzzer comes up with.
//!
//! Any bytes are mail. Signing them twice gives the same, no signature claims to rest on more than there is, and
//! `exact1` of no words is withheld. What a complaint carries is no more than there is, either.

use seenit_signature::complaint::Complaint;
use seenit_signature::razor::Ep4;
use seenit_signature::{Kind, Message, Words, sign};

/// Decoding may make text longer, by character sets and compatibility forms, but not by more than this.
const GROWTH_MAX: u64 = 64;

/// Signs a mail, and holds the signatures against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(mail: &[u8]) {
    let ep4 = Ep4::default();
    let signatures = sign(mail, &ep4);
    assert_eq!(signatures, sign(mail, &ep4), "signing is a function of the bytes");
    let carried: usize = Complaint::read(mail).messages.iter().map(|message| message.len()).sum();
    assert!(carried <= mail.len(), "{carried} bytes are carried by {}", mail.len());
    let words = Words::of(&Message::parse(mail).text);
    assert_eq!(words.iter().count(), words.len());
    assert_eq!(words.iter().map(|word| word.chars().count()).sum::<usize>(), words.letters());
    let bits_max = 8 * GROWTH_MAX * (mail.len() as u64 + 1);
    for signature in &signatures {
        assert!(signature.information_bits <= bits_max, "{signature:?}");
        assert!(!signature.digest.to_string().is_empty(), "{signature:?}");
        assert!(!(words.is_empty() && signature.kind == Kind::Exact1) || signature.withheld, "{signature:?}");
    }
}
