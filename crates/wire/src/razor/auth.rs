//! The proof that a client knows its password. It looks like HMAC-SHA-1, but its pads are the wrong way round and the
//! inner digest is hashed as hex digits, so no HMAC of a library computes it.

use seenit_signature::razor::b64r;
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

/// Bytes in a block of SHA-1, which is as long as the pads are.
const BLOCK_BYTES: usize = 64;

/// What a client answers to a challenge: `aresp`.
pub fn response(password: &[u8], challenge: &[u8]) -> String {
    let inner = hex::encode(keyed(0x5c, password, challenge));
    b64r::encode(&keyed(0x36, password, inner.as_bytes()))
}

/// Whether `aresp` is the answer to a challenge.
pub fn proves(aresp: &[u8], password: &[u8], challenge: &[u8]) -> bool {
    // In constant time: how long it takes does not say how much of it is right.
    response(password, challenge).as_bytes().ct_eq(aresp).into()
}

/// The digest of a padded password and a text. Of a password that is longer than a block only the first block is
/// padded.
fn keyed(pad: u8, password: &[u8], text: &[u8]) -> [u8; 20] {
    let mut block = [pad; BLOCK_BYTES];
    for (byte, key) in block.iter_mut().zip(password) {
        *byte ^= key;
    }
    let mut hash = Sha1::new_with_prefix(block);
    hash.update(password.get(BLOCK_BYTES..).unwrap_or_default());
    hash.update(text);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_those_of_the_client() {
        let long = "x".repeat(70);
        let cases = [
            ("Chal-lenge_0123456789abc", "hunter2", "OfLeBlOmsWPlmhvLz5S7haGZc9IA"),
            ("Chal-lenge_0123456789abc", "s3cr=t &p", "qWPs-Ib_3srDbSm8cWCEZ6YHlhwA"),
            ("abc", &long, "FCTgFN7uF34pbOtzmrCofcd3Y-sA"),
        ];
        for (challenge, password, aresp) in cases {
            assert_eq!(response(password.as_bytes(), challenge.as_bytes()), aresp);
            assert!(proves(aresp.as_bytes(), password.as_bytes(), challenge.as_bytes()));
            assert!(!proves(aresp.as_bytes(), b"another", challenge.as_bytes()));
            assert!(!proves(aresp.as_bytes(), password.as_bytes(), b"another"));
            assert!(!proves(&aresp.as_bytes()[1..], password.as_bytes(), challenge.as_bytes()));
            assert!(!proves(format!("{aresp}A").as_bytes(), password.as_bytes(), challenge.as_bytes()));
            assert!(!proves(b"", password.as_bytes(), challenge.as_bytes()));
        }
    }
}
