//! Chunked-digest hashing: a digest cut into k chunks, each reduced to a position. And why it runs out.

use crate::error::GeometryError;

/// How the k chunks share the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// All chunks address one vector of m bits.
    One,
    /// Chunk i addresses the i-th of k sub-vectors of m/k bits.
    OnePerChunk,
}

/// How many of `m` bits `k` chunks of a digest of `digest_bits` bits can reach.
///
/// A chunk has `floor(digest_bits / k)` bits, so one shared vector has at most `min(m, 2^(H/k))` utilisable
/// bits and k sub-vectors together at most `min(m, k 2^(H/k))`: SHA-1 with k = 8 reaches 2^20 bits, whatever m.
pub fn utilisable_size(digest_bits: u32, k: u32, m: u64, vectors: Vectors) -> u64 {
    let chunk_bits = digest_bits.checked_div(k).unwrap_or(0);
    let values = 1u64.checked_shl(chunk_bits).unwrap_or(u64::MAX);
    match vectors {
        Vectors::One => m.min(values),
        Vectors::OnePerChunk => m.min(values.saturating_mul(u64::from(k))),
    }
}

/// Positions cut from a digest; only for geometries in which every bit can be reached.
#[derive(Clone, Copy, Debug)]
pub struct ChunkedDigest {
    chunk_bits: u32,
    k: u32,
    m: u64,
    vectors: Vectors,
}

impl ChunkedDigest {
    /// Refuses zero `k` or `m`, sub-vectors that do not divide `m`, and an `m` with unreachable bits.
    pub fn new(digest_bits: u32, k: u32, m: u64, vectors: Vectors) -> Result<Self, GeometryError> {
        if k == 0 {
            return Err(GeometryError::Zero("k"));
        }
        if m == 0 {
            return Err(GeometryError::Zero("bits"));
        }
        if vectors == Vectors::OnePerChunk && !m.is_multiple_of(u64::from(k)) {
            return Err(GeometryError::Uneven { bits: m, parts: u64::from(k) });
        }
        let reachable = utilisable_size(digest_bits, k, m, vectors);
        if reachable < m {
            return Err(GeometryError::UnreachableBits { bits: m, reachable });
        }
        Ok(ChunkedDigest { chunk_bits: digest_bits / k, k, m, vectors })
    }

    /// The k positions of `digest`, most significant chunk first. `None` when the digest is too short.
    pub fn positions(&self, digest: &[u8]) -> Option<Vec<u64>> {
        if (digest.len() as u64) * 8 < u64::from(self.chunk_bits) * u64::from(self.k) {
            return None;
        }
        Some((0..self.k).map(|i| self.position(digest, i)).collect())
    }

    fn position(&self, digest: &[u8], i: u32) -> u64 {
        let size = match self.vectors {
            Vectors::One => self.m,
            Vectors::OnePerChunk => self.m / u64::from(self.k),
        };
        let start = i * self.chunk_bits;
        // Bit by bit and reduced on the way, so that chunks longer than a word need no special case.
        let value = (start..start + self.chunk_bits).fold(0u128, |value, bit| {
            let set = digest[bit as usize / 8] >> (7 - bit % 8) & 1;
            (value * 2 + u128::from(set)) % u128::from(size)
        });
        let offset = if self.vectors == Vectors::OnePerChunk { size * u64::from(i) } else { 0 };
        offset + value as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilisable_sizes_of_md5_and_sha1() {
        assert_eq!(utilisable_size(128, 8, 1 << 30, Vectors::One), 1 << 16);
        assert_eq!(utilisable_size(160, 8, 1 << 30, Vectors::One), 1 << 20);
        assert_eq!(utilisable_size(160, 8, 1 << 30, Vectors::OnePerChunk), 8 << 20);
        assert_eq!(utilisable_size(160, 4, 1 << 30, Vectors::One), 1 << 30);
        assert_eq!(utilisable_size(160, 2, 1 << 30, Vectors::OnePerChunk), 1 << 30);
        assert_eq!(utilisable_size(160, 0, 100, Vectors::One), 1);
    }

    #[test]
    fn unreachable_bits_are_refused_with_the_number_that_is_reachable() {
        let error = ChunkedDigest::new(160, 8, (1 << 20) + 1, Vectors::One).expect_err("one bit too many");
        assert!(error.to_string().contains("1048576"), "{error}");
        assert!(ChunkedDigest::new(160, 8, 1 << 20, Vectors::One).is_ok());
        assert!(ChunkedDigest::new(160, 8, 1 << 23, Vectors::OnePerChunk).is_ok());
        assert!(ChunkedDigest::new(160, 8, (1 << 23) + 8, Vectors::OnePerChunk).is_err());
        assert!(ChunkedDigest::new(160, 8, 100_001, Vectors::OnePerChunk).is_err());
    }

    #[test]
    fn chunks_are_read_most_significant_first() {
        let digest: Vec<u8> = (1..=20).collect();
        let shared = ChunkedDigest::new(160, 10, 1 << 16, Vectors::One).expect("reachable");
        assert_eq!(shared.positions(&digest).expect("long enough")[..2], [0x0102, 0x0304]);
        let parted = ChunkedDigest::new(160, 10, 10 << 16, Vectors::OnePerChunk).expect("reachable");
        assert_eq!(parted.positions(&digest).expect("long enough")[1], (1 << 16) + 0x0304);
        assert_eq!(parted.positions(&digest[..19]), None);
    }
}
