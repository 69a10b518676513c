//! A signature: kind and digest, how much it rests on, and whether it may be anybody's opinion.

use std::fmt;

use crate::kind::Kind;
use crate::near::SHINGLES;

/// A signature of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Its kind.
    pub kind: Kind,
    /// The part of the message it is of; `None` for the whole.
    pub part: Option<u32>,
    /// What is compared.
    pub digest: Digest,
    /// How much there was to take the digest of: see [`information_bits`].
    pub information_bits: u64,
    /// Below the floor of its kind: it gives no opinion.
    pub withheld: bool,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Digest {
    /// The bytes of a hash, shown in hex.
    Bytes(Vec<u8>),
    /// The bytes of a hash, and how the client they come from writes them.
    Text(Vec<u8>, String),
    /// The shingles of `near1`.
    Shingles(Box<[u64; SHINGLES]>),
}

impl Digest {
    /// Its bytes: those of the hash, or the shingles in slot order, each with its lowest byte first.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Digest::Bytes(bytes) | Digest::Text(bytes, _) => bytes.clone(),
            Digest::Shingles(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Digest::Bytes(bytes) => f.write_str(&hex::encode(bytes)),
            Digest::Text(_, text) => f.write_str(text),
            Digest::Shingles(values) => {
                for (slot, value) in values.iter().enumerate() {
                    write!(f, "{}{value:016x}", if slot > 0 { "-" } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

/// The bits of a sequence of bytes if each were drawn for itself as often as it occurs: length times entropy, rounded
/// down. Zero for nothing and for one byte repeated.
pub fn information_bits(bytes: &[u8]) -> u64 {
    let mut times = [0u64; 256];
    bytes.iter().for_each(|&byte| times[usize::from(byte)] += 1);
    let len = bytes.len() as f64;
    let bits = |&times: &u64| if times == 0 { 0.0 } else { times as f64 * (len / times as f64).log2() };
    times.iter().map(bits).sum::<f64>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_is_length_times_entropy() {
        assert_eq!(information_bits(b""), 0);
        assert_eq!(information_bits(&[7; 1000]), 0);
        assert_eq!(information_bits(b"abababab"), 8);
        assert_eq!(information_bits(&(0..=255).collect::<Vec<u8>>()), 2048);
    }
}
