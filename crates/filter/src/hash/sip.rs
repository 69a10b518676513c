//! SipHash-2-4 with 128-bit output: the keyed hash of every signature.
//!
//! Why SipHash: a pseudo-random function for short inputs, analysed in the open since 2012, with published
//! vectors, no tables and no data-dependent time. Why 2-4 and not 1-3: the attacker chooses inputs by the
//! million, and the batched twin brings the larger margin down to a few nanoseconds a key. Why not AES: its
//! speed hangs on one instruction, and the scalar twin would leak through the cache.
//!
//! A round is written once, over a [`Lanes`] of one, four or eight 64-bit words; the twins are the same code.

use zeroize::Zeroize;

use super::{Hash128, KeyHasher};
use crate::simd::{Level, Simd};

/// A secret 128-bit key shared by the sites of a network, and the hash under it.
#[derive(Clone)]
pub struct SipKey {
    pub(super) k0: u64,
    pub(super) k1: u64,
    simd: Simd,
}

/// Whoever has the key can make signatures that meet in a filter: it is not left behind in memory.
impl Drop for SipKey {
    fn drop(&mut self) {
        self.k0.zeroize();
        self.k1.zeroize();
    }
}

/// What a filter file says about the key it was built with: 16 bytes that name it and do not reveal it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyFingerprint(pub [u8; 16]);

impl SipKey {
    /// The key with these 16 bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        let (k0, k1) = bytes.split_at(8);
        SipKey { k0: le_word(k0), k1: le_word(k1), simd: Simd::detect() }
    }

    /// A key derived (BLAKE3, its own context) from a secret of any length: the contents of a key file.
    pub fn derive(secret: &[u8]) -> Self {
        let derived = blake3::derive_key("seenit 2026 network hash key v1", secret);
        Self::new(first_16(&derived))
    }

    /// The fixed key everybody knows. It keeps nobody out: for files without secrets, and for trying things.
    pub fn public() -> Self {
        Self::derive(b"seenit public key")
    }

    /// The same key with its kernels limited to `simd`; for comparing the twins.
    pub fn with_simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }

    /// Names the key without revealing it: a one-way digest, so a file may carry it.
    pub fn fingerprint(&self) -> KeyFingerprint {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.k0.to_le_bytes());
        key[8..].copy_from_slice(&self.k1.to_le_bytes());
        KeyFingerprint(first_16(&blake3::derive_key("seenit 2026 key fingerprint v1", &key)))
    }

    /// The hash of one key of any length.
    #[inline]
    pub fn hash_bytes(&self, key: &[u8]) -> Hash128 {
        let mut state = SipState::<u64>::new((), self.k0, self.k1);
        let (blocks, rest) = key.as_chunks::<8>();
        for block in blocks {
            state.absorb(u64::from_le_bytes(*block));
        }
        state.absorb(last_block(rest, key.len()));
        let (lo, hi) = state.finish();
        Hash128 { lo, hi }
    }
}

/// The key itself never reaches a log or a panic message.
impl std::fmt::Debug for SipKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SipKey({})", self.fingerprint())
    }
}

impl std::fmt::Display for KeyFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<K: AsRef<[u8]>> KeyHasher<K> for SipKey {
    #[inline]
    fn hash(&self, key: &K) -> Hash128 {
        self.hash_bytes(key.as_ref())
    }

    fn hash_many(&self, keys: &[K], hashes: &mut [Hash128]) {
        match self.simd.0 {
            Level::Scalar => one_by_one(self, keys, hashes),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => in_lanes::<8, K>(self, keys, hashes, super::sip_x86::hash_8),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => in_lanes::<16, K>(self, keys, hashes, super::sip_x86::hash_16),
        }
    }
}

fn one_by_one<K: AsRef<[u8]>>(key: &SipKey, keys: &[K], hashes: &mut [Hash128]) {
    let hashes = &mut hashes[..keys.len()];
    for (hash, bytes) in hashes.iter_mut().zip(keys) {
        *hash = key.hash_bytes(bytes.as_ref());
    }
}

/// A kernel that hashes `N` keys of one length, at least 8 bytes each.
#[cfg(target_arch = "x86_64")]
type Kernel<const N: usize> = fn(Simd, &SipKey, &[&[u8]; N], &mut [Hash128; N]);

/// Groups of `N` keys of equal length go through `kernel` together. Digests of one kind always qualify;
/// a mixed or short group is hashed one by one.
#[cfg(target_arch = "x86_64")]
fn in_lanes<const N: usize, K: AsRef<[u8]>>(
    key: &SipKey,
    keys: &[K],
    hashes: &mut [Hash128],
    kernel: Kernel<N>,
) {
    let hashes = &mut hashes[..keys.len()];
    let (groups, rest) = keys.as_chunks::<N>();
    let (group_hashes, rest_hashes) = hashes.as_chunks_mut::<N>();
    for (group, hashes) in groups.iter().zip(group_hashes) {
        let group: [&[u8]; N] = std::array::from_fn(|i| group[i].as_ref());
        let length = group[0].len();
        if length >= 8 && group.iter().all(|key| key.len() == length) {
            kernel(key.simd, key, &group, hashes);
        } else {
            one_by_one(key, &group, hashes);
        }
    }
    one_by_one(key, rest, rest_hashes);
}

/// The words a round works on: one, or several in lockstep.
pub(super) trait Lanes: Copy {
    /// What says that the processor has the instructions of these lanes. Lanes are only made from it, so whoever has
    /// some may work on them.
    type Proof: Copy;
    fn splat(proof: Self::Proof, word: u64) -> Self;
    fn add(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self;
}

impl Lanes for u64 {
    /// Every processor has words.
    type Proof = ();
    #[inline(always)]
    fn splat((): (), word: u64) -> Self {
        word
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        self.rotate_left(LEFT as u32)
    }
}

/// The four words of SipHash's state, for each lane.
pub(super) struct SipState<L: Lanes> {
    proof: L::Proof,
    v: [L; 4],
}

impl<L: Lanes> SipState<L> {
    #[inline(always)]
    pub(super) fn new(proof: L::Proof, k0: u64, k1: u64) -> Self {
        let v = [
            L::splat(proof, k0 ^ 0x736f_6d65_7073_6575),
            L::splat(proof, k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee), // 0xee marks the 128-bit variant
            L::splat(proof, k0 ^ 0x6c79_6765_6e65_7261),
            L::splat(proof, k1 ^ 0x7465_6462_7974_6573),
        ];
        SipState { proof, v }
    }

    /// One 8-byte block: two rounds.
    #[inline(always)]
    pub(super) fn absorb(&mut self, block: L) {
        self.v[3] = self.v[3].xor(block);
        self.rounds::<2>();
        self.v[0] = self.v[0].xor(block);
    }

    /// The two output words: four rounds each.
    #[inline(always)]
    pub(super) fn finish(mut self) -> (L, L) {
        self.v[2] = self.v[2].xor(L::splat(self.proof, 0xee));
        self.rounds::<4>();
        let lo = self.fold();
        self.v[1] = self.v[1].xor(L::splat(self.proof, 0xdd));
        self.rounds::<4>();
        (lo, self.fold())
    }

    #[inline(always)]
    fn fold(&self) -> L {
        self.v[0].xor(self.v[1]).xor(self.v[2].xor(self.v[3]))
    }

    #[inline(always)]
    fn rounds<const N: usize>(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.v;
        for _ in 0..N {
            a = a.add(b);
            b = b.rotate::<13, 51>().xor(a);
            a = a.rotate::<32, 32>();
            c = c.add(d);
            d = d.rotate::<16, 48>().xor(c);
            a = a.add(d);
            d = d.rotate::<21, 43>().xor(a);
            c = c.add(b);
            b = b.rotate::<17, 47>().xor(c);
            c = c.rotate::<32, 32>();
        }
        self.v = [a, b, c, d];
    }
}

/// The last block: what is left of the key, and its length in the top byte.
#[inline(always)]
fn last_block(rest: &[u8], length: usize) -> u64 {
    let mut block = [0; 8];
    block[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(block) | (length as u64) << 56
}

fn le_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn first_16(digest: &[u8; 32]) -> [u8; 16] {
    let (first, _) = digest.as_chunks::<16>();
    first[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use siphasher::sip128::{Hasher128, SipHasher24};
    use std::hash::Hasher;

    fn oracle(key: &[u8; 16], bytes: &[u8]) -> Hash128 {
        let mut hasher = SipHasher24::new_with_key(key);
        hasher.write(bytes);
        let hash = hasher.finish128();
        Hash128 { lo: hash.h1, hi: hash.h2 }
    }

    /// The first and the last of the published SipHash-2-4-128 vectors: key 00..0f, message 00..(n-1).
    #[test]
    fn published_vectors() {
        let key = SipKey::new(std::array::from_fn(|i| i as u8));
        let message: Vec<u8> = (0..63).collect();
        let hex = |hash: Hash128| format!("{:016x}{:016x}", hash.lo.swap_bytes(), hash.hi.swap_bytes());
        assert_eq!(hex(key.hash_bytes(b"")), "a3817f04ba25a8e66df67214c7550293");
        assert_eq!(hex(key.hash_bytes(&message)), "5150d1772f50834a503e069a973fbd7c");
    }

    /// 100,000 keys of every length from 0 to 70 bytes, in groups of equal and of mixed lengths, at every
    /// level, against an independent implementation.
    #[test]
    fn every_twin_agrees_with_an_independent_implementation() {
        let bytes: [u8; 16] = std::array::from_fn(|i| (i * 37 + 11) as u8);
        let source: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let keys: Vec<&[u8]> = (0..100_000usize)
            .map(|i| {
                let length = if i < 50_000 { (i / 700) % 71 } else { (i * 7919) % 71 };
                let start = (i * 31) % (source.len() - 71);
                &source[start..start + length]
            })
            .collect();
        let expected: Vec<Hash128> = keys.iter().map(|key| oracle(&bytes, key)).collect();
        for simd in Simd::all() {
            let key = SipKey::new(bytes).with_simd(simd);
            let mut hashes = vec![Hash128::default(); keys.len()];
            key.hash_many(&keys, &mut hashes);
            assert_eq!(hashes, expected, "{}", simd.name());
            assert_eq!(key.hash(&keys[99]), expected[99]);
        }
    }

    #[test]
    fn a_fingerprint_names_the_key_and_debug_hides_it() {
        let one = SipKey::derive(b"one");
        let two = SipKey::derive(b"two");
        assert_ne!(one.fingerprint(), two.fingerprint());
        assert_eq!(one.fingerprint(), SipKey::derive(b"one").fingerprint());
        let shown = format!("{one:?}");
        assert!(!shown.contains(&format!("{:016x}", one.k0)) && !shown.contains(&one.k0.to_string()));
    }
}
