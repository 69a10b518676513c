//! Keys as nats-server writes them: a byte or two that say whose, the key, a checksum, in base 32.

use seenit_sites::key::{AdminKey, BrokerKey, BrokerSecret, KEY_BYTES};

/// What a user's public key begins with: the letter U.
const USER: u8 = 20 << 3;
/// An account's: the letter A.
const ACCOUNT: u8 = 0;
/// An operator's: the letter O.
const OPERATOR: u8 = 14 << 3;
/// What every secret begins with: the letter S.
const SEED: u8 = 18 << 3;

const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The public key of a user: `U...`.
pub fn public(key: &BrokerKey) -> String {
    encode(&[USER], &key.to_bytes())
}

/// The account of a network: `A...`. It is the network's own key, so whoever knows the network can check what the
/// account signed.
pub fn account(network: &AdminKey) -> String {
    account_of(&network.to_bytes())
}

/// An account with this public key.
pub(super) fn account_of(key: &[u8; KEY_BYTES]) -> String {
    encode(&[ACCOUNT], key)
}

/// An operator with this public key: `O...`.
pub(super) fn operator(key: &[u8; KEY_BYTES]) -> String {
    encode(&[OPERATOR], key)
}

/// The secret of a user: `SU...`.
pub(super) fn seed(secret: &BrokerSecret) -> String {
    // Five bits of "secret", then five bits of "user", so that both are letters.
    encode(&[SEED | (USER >> 5), (USER & 31) << 3], &secret.to_bytes())
}

fn encode(prefix: &[u8], key: &[u8; KEY_BYTES]) -> String {
    let mut bytes = [prefix, key].concat();
    let sum = checksum(&bytes);
    bytes.extend(sum.to_le_bytes());
    base32(&bytes)
}

/// CRC-16 with the polynomial 0x1021, from 0 on.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ (u16::from(*byte) << 8), |sum, _| {
            if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ 0x1021 }
        })
    })
}

/// Five bits to a letter, without padding.
fn base32(bytes: &[u8]) -> String {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let letters = (8 * bytes.len()).div_ceil(5);
    let letter = |at: usize| (0..5).fold(0, |value, next| value << 1 | bit(5 * at + next));
    (0..letters).map(|at| char::from(LETTERS[usize::from(letter(at))])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_the_brokers_own_library_writes_them() {
        for byte in [0, 1, 77, 255] {
            let secret = BrokerSecret::from_bytes([byte; 32]);
            let theirs = nkeys::KeyPair::new_from_raw(nkeys::KeyPairType::User, [byte; 32]).expect("a key");
            assert_eq!(public(&secret.public()), theirs.public_key());
            assert_eq!(seed(&secret), theirs.seed().expect("a secret"));
            let of = |role| nkeys::KeyPair::new_from_raw(role, [byte; 32]).expect("a key").public_key();
            let key = secret.public().to_bytes();
            assert_eq!(account_of(&key), of(nkeys::KeyPairType::Account));
            assert_eq!(operator(&key), of(nkeys::KeyPairType::Operator));
        }
    }
}
