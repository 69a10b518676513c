//! A code for bytes of marks: eight marks, each set with the same chance, become up to twelve bits.
//!
//! Both sides derive it from that chance, in integers, so that every machine has the same code and a payload holds one
//! number in place of a table. It is a Huffman code in which the weight of a byte is its chance, but at least a floor
//! that keeps codes short, so that a table of 32 KiB decodes several bytes at a time.

use super::DeltaError;
use super::stream::{BitReader, BitWriter};

/// Bits of a share.
pub(super) const SHARE_BITS: u32 = 10;
/// A share is so many of so many. It is at least 1 and less than this.
pub(super) const SHARES: u64 = 1 << SHARE_BITS;
/// The longest code. Where a tenth is marked all codes together are 3 % longer than must be, and tables stay in the
/// first-level cache.
pub(super) const LENGTH_MAX: u32 = 12;
/// Bytes in an entry of the table for reading.
pub(super) const ENTRY_BYTES: usize = 6;

/// Where the length of the first byte's code, the number of bytes, and the length of all of them stand in an entry.
const FIRST_AT: u32 = 48;
const COUNT_AT: u32 = 52;
const ALL_AT: u32 = 56;

/// So many bytes or more are in two halves that are read side by side: a code is only found behind the one before, and
/// a processor that waits for one can look up another. Fewer are not worth the bits of [`HALF_BITS`].
const HALVES_MIN: usize = 1024;
/// Bits that say how many bits the first half takes: enough for blocks of 160,000 bytes.
const HALF_BITS: u32 = 20;

const TABLE_LEN: usize = 1 << LENGTH_MAX;

/// The share that is closest, but never one of the ends, at which half of all bytes would have no code.
pub(super) fn share_of(marked: u64, places: u64) -> u64 {
    let share = marked as f64 / places.max(1) as f64 * SHARES as f64;
    (share.round() as u64).clamp(1, SHARES - 1)
}

/// Bytes that are coded: all, or all but zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    All,
    NotZero,
}

/// Codes by byte: the bits, the first one lowest; 16 bits up, how many.
pub(super) struct Writing(Box<[u32; 256]>);

/// The bytes that the next [`LENGTH_MAX`] bits begin with.
pub(super) struct Reading(Box<[u64; TABLE_LEN]>);

impl Writing {
    pub(super) fn new(share: u64, alphabet: Alphabet) -> Self {
        Writing(Box::new(codes(&lengths(share, alphabet))))
    }

    #[inline(always)]
    pub(super) fn write(&self, out: &mut BitWriter, bytes: &[u8]) {
        let mut rest = bytes;
        if bytes.len() >= HALVES_MIN {
            let half;
            (half, rest) = bytes.split_at(bytes.len() / 2);
            let bits: u32 = half.iter().map(|&byte| self.0[usize::from(byte)] >> 16).sum();
            out.push(u64::from(bits), HALF_BITS);
            out.push_coded(&self.0, half);
        }
        out.push_coded(&self.0, rest);
    }
}

impl Reading {
    pub(super) fn new(share: u64, alphabet: Alphabet) -> Self {
        let mut single = vec![(0, 0); TABLE_LEN];
        for (byte, code) in codes(&lengths(share, alphabet)).into_iter().enumerate() {
            let bits = (code & 0xffff) as usize;
            let length = code >> 16;
            if length > 0 {
                single[bits..]
                    .iter_mut()
                    .step_by(1 << length)
                    .for_each(|entry| *entry = (byte as u64, length));
            }
        }
        let table: Vec<u64> = (0..TABLE_LEN).map(|bits| entry(&single, bits)).collect();
        Reading(table.try_into().expect("as long as the table is"))
    }

    /// Fills `bytes`.
    #[inline(always)]
    pub(super) fn read(&self, reader: &mut BitReader, bytes: &mut [u8]) -> Result<(), DeltaError> {
        if bytes.len() < HALVES_MIN {
            reader.take_coded(self, bytes);
            return reader.check();
        }
        let bits = reader.take(HALF_BITS);
        let mut behind = reader.clone();
        behind.skip(bits)?;
        let first = reader.take_coded_halves(self, &mut behind, bytes);
        if first != bits {
            return Err(DeltaError::Payload("half of a block is not as long as stated"));
        }
        *reader = behind;
        reader.check()
    }

    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> Entry {
        Entry(self.0[bits as usize % TABLE_LEN])
    }
}

/// Some bytes and how long their codes are.
#[derive(Clone, Copy)]
pub(super) struct Entry(u64);

impl Entry {
    /// The bytes, and something behind them.
    #[inline(always)]
    pub(super) fn bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    #[inline(always)]
    pub(super) fn count(self) -> usize {
        (self.0 >> COUNT_AT & 0xf) as usize
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        (self.0 >> ALL_AT) as u32
    }

    /// The length of the first byte's code.
    #[inline(always)]
    pub(super) fn first_bits(self) -> u32 {
        (self.0 >> FIRST_AT & 0xf) as u32
    }
}

/// As many bytes as the codes in `bits` are whole, at most [`ENTRY_BYTES`].
fn entry(single: &[(u64, u32)], bits: usize) -> u64 {
    let mut entry = 0;
    let mut count = 0;
    let mut passed = 0;
    while count < ENTRY_BYTES {
        let (byte, length) = single[bits >> passed];
        if passed + length > LENGTH_MAX {
            break;
        }
        entry |= byte << (8 * count);
        passed += length;
        count += 1;
    }
    let first = single[bits].1;
    entry | u64::from(passed) << ALL_AT | (count as u64) << COUNT_AT | u64::from(first) << FIRST_AT
}

/// The lengths of the codes of all bytes; 0 for one that is not coded.
fn lengths(share: u64, alphabet: Alphabet) -> [u32; 256] {
    let chance = |byte: u8| {
        let ones = byte.count_ones();
        u128::from(share).pow(ones) * u128::from(SHARES - share).pow(8 - ones)
    };
    // All chances together are 2^80.
    let mut floor = 1u128 << (8 * SHARE_BITS - LENGTH_MAX - 2);
    let first = u8::from(alphabet == Alphabet::NotZero);
    loop {
        let mut leaves: Vec<(u128, u8)> = (first..=255).map(|byte| (chance(byte).max(floor), byte)).collect();
        leaves.sort_unstable();
        let depths = depths(&leaves);
        if depths.iter().all(|&depth| depth <= LENGTH_MAX) {
            let mut lengths = [0; 256];
            leaves.iter().zip(depths).for_each(|(leaf, depth)| lengths[usize::from(leaf.1)] = depth);
            return lengths;
        }
        // At the latest when all weigh the same, all codes have about eight bits.
        floor += floor / 4;
    }
}

/// The depths of leaves of these weights, which ascend, in the tree that joins the two lightest again and again. Of two
/// that weigh the same a leaf comes before a joint, and what stood or was made first before the other.
fn depths(leaves: &[(u128, u8)]) -> Vec<u32> {
    let mut weights: Vec<u128> = leaves.iter().map(|leaf| leaf.0).collect();
    let mut leaf = 0;
    let mut joint = leaves.len();
    let nodes = 2 * leaves.len() - 1;
    let mut parents = vec![0; nodes];
    while weights.len() < nodes {
        let mut weight = 0;
        for _ in 0..2 {
            let is_leaf =
                leaf < leaves.len() && weights.get(joint).is_none_or(|&other| weights[leaf] <= other);
            let lightest = if is_leaf { &mut leaf } else { &mut joint };
            weight += weights[*lightest];
            parents[*lightest] = weights.len();
            *lightest += 1;
        }
        weights.push(weight);
    }
    let mut depths = vec![0; nodes];
    for node in (0..nodes - 1).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(leaves.len());
    depths
}

/// The canonical code with these lengths: counted upwards, shorter ones first, of one length in the order of bytes.
fn codes(lengths: &[u32; 256]) -> [u32; 256] {
    let mut codes = [0; 256];
    let mut next = 0u32;
    for length in 1..=LENGTH_MAX {
        next <<= 1;
        for byte in (0..256).filter(|&byte| lengths[byte] == length) {
            codes[byte] = next.reverse_bits() >> (32 - length) | length << 16;
            next += 1;
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    const ALPHABETS: [Alphabet; 2] = [Alphabet::All, Alphabet::NotZero];

    #[test]
    fn codes_of_all_shares_are_complete_and_none_begins_with_another() {
        for share in 1..SHARES {
            for alphabet in ALPHABETS {
                let lengths = lengths(share, alphabet);
                assert_eq!(lengths[0] == 0, alphabet == Alphabet::NotZero);
                let coded = lengths.iter().filter(|&&length| length > 0);
                assert_eq!(coded.clone().count(), 256 - usize::from(alphabet == Alphabet::NotZero));
                let sum: u32 = coded.map(|length| 1 << (LENGTH_MAX - length)).sum();
                assert_eq!(sum, 1 << LENGTH_MAX, "{share} {alphabet:?}");
                // The sum being 1, codes are prefix-free if every end of the bits belongs to one of them.
                let mut owners = vec![0; TABLE_LEN];
                for code in codes(&lengths).into_iter().filter(|&code| code > 0) {
                    let bits = code & 0xffff;
                    let length = code >> 16;
                    assert!(bits < 1 << length);
                    owners[bits as usize..].iter_mut().step_by(1 << length).for_each(|owners| *owners += 1);
                }
                assert!(owners.iter().all(|&owners| owners == 1), "{share} {alphabet:?}");
            }
        }
    }

    /// What drawn bytes take against the entropy of their marks.
    #[test]
    fn lengths_are_close_to_the_entropy() {
        for (share, most) in [(1, 90.0), (61, 1.07), (102, 1.03), (245, 1.01), (512, 1.0), (922, 1.03)] {
            let lengths = lengths(share, Alphabet::All);
            let p = share as f64 / SHARES as f64;
            let chance =
                |byte: usize| p.powi(byte.count_ones() as i32) * (1.0 - p).powi(8 - byte.count_ones() as i32);
            let mean: f64 = (0..256).map(|byte| chance(byte) * f64::from(lengths[byte])).sum();
            let entropy = -8.0 * (p * p.log2() + (1.0 - p) * (1.0 - p).log2());
            assert!((1.0..=most).contains(&(mean / entropy)), "{share}: {mean} bits, entropy {entropy}");
        }
    }

    #[test]
    fn bytes_of_all_shares_are_read_as_written() {
        let mut rng = SplitMix(4);
        for share in (1..SHARES).step_by(11).chain([SHARES - 1]) {
            for alphabet in ALPHABETS {
                let mut drawn =
                    || (0..8).fold(0, |byte, _| byte << 1 | u8::from(rng.next() % SHARES < share));
                let bytes: Vec<u8> = (0..3000).map(|i| if i % 9 == 0 { i as u8 } else { drawn() }).collect();
                let bytes: Vec<u8> = bytes
                    .into_iter()
                    .filter(|&byte| alphabet == Alphabet::All || byte > 0)
                    .take(rng.next() as usize % 3000)
                    .collect();
                let mut out = BitWriter::default();
                out.push(5, 3 + share as u32 % 60);
                Writing::new(share, alphabet).write(&mut out, &bytes);
                out.push(9, 4);
                let bits = out.bits();
                let written = out.finish();
                let mut reader = BitReader::new(&written);
                assert_eq!(reader.take(3 + share as u32 % 60), 5);
                let mut read = vec![7; bytes.len()];
                Reading::new(share, alphabet).read(&mut reader, &mut read).expect("sound");
                assert_eq!(read, bytes);
                assert_eq!(reader.take(4), 9);
                reader.finish().expect("all was read");
                let codes = codes(&lengths(share, alphabet));
                let coded: u32 = bytes.iter().map(|&byte| codes[usize::from(byte)] >> 16).sum();
                let halves = if bytes.len() < HALVES_MIN { 0 } else { HALF_BITS };
                assert_eq!(bits, u64::from(3 + share as u32 % 60 + halves + coded + 4));
            }
        }
    }
}
