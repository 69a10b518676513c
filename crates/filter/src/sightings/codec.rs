//! The delta of sightings as bytes: what travels, what is journalled, and what bases are made of.
//!
//! # The fewest bits
//!
//! A delta is a set of `n` fingerprints, of which there are `C(2^44, n)`, all as likely, and a pair of numbers for
//! each. So it takes `log2 C(2^44, n)` bits and the entropy of the pairs; nothing can do with less, whatever the code.
//!
//! # How it is coded
//!
//! All of it is a row of decisions for the [range coder](super::range), which spends on each what it is worth:
//!
//! 1. `k` in 4 bits: the logarithm of the mean gap between fingerprints, rounded. It follows from `n`, which is not
//!    written: a list ends where the bytes do.
//! 2. For each sighting, the gap between its fingerprint and the one before (before the first: its number). Gaps of
//!    random fingerprints are geometrically distributed. A gap is cut into its quotient by `2^k`, whole steps of
//!    chance 1/e, and the remainder, of which the upper two bits are a little likelier to be 0, and the others are as
//!    likely to be 0 as 1. Since the mean is within half an octave of `2^k`, that costs 0.08 bits too many at most,
//!    and 0.03 on average.
//! 3. Its increment less one, then its count less the increment, which is 0 where the site sees a signature for the
//!    first time in a generation. Each is a length in unary and the bits below the first, all with chances that are
//!    learned on the way from expectations of everyday mail. Chances of the second depend on how long the first was.
//!
//! # One encoding
//!
//! A list has one encoding, and other bytes have none: what was read is written again and compared. (The chain of a
//! stream is a hash over these bytes: two encodings of one list would be two histories of one site.)

use super::item::check;
use super::range::{Chance, Coder, END_BYTES_MAX, Learned, Reader, Writer};
use super::{BYTES_MAX, COUNT_MAX, Fingerprint, SIGHTINGS_MAX, Sighting, SightingsError};

/// One more than the largest fingerprint.
const FINGERPRINTS: u64 = 1 << Fingerprint::BITS;

/// Bits of `k`, less the least it can be.
const K_BITS: u32 = 4;
const K_MIN: u32 = 28;

/// A gap is less than `2^k` more: 1 - 1/e, if the mean is `2^k`.
const ENDS: Chance = Chance(41_427);
/// The upper bit of a remainder is 0: `1 / (1 + e^(-1/2))`.
const HALF: Chance = Chance(40_793);
/// The next one is 0: `1 / (1 + e^(-1/4))`.
const QUARTER: Chance = Chance(36_843);
/// Bits of a remainder that have a chance of their own.
const SHAPED_BITS: u32 = 2;

/// Lengths of numbers up to [`COUNT_MAX`] less one, plus one: so many bits follow the first.
const LENGTHS: usize = 40;
/// Of numbers up to this length the bits below the first are learned, too.
const LEARNED_LENGTHS: usize = 4;

/// The logarithm of the mean gap of `n` random fingerprints, rounded: `(n + 1)^2` lies between `2^(2j-1)` and
/// `2^(2j+1)` where the mean is `2^44 / (n + 1)`, closest to `2^(44-j)`.
fn parameter(sightings: usize) -> u32 {
    let square = (sightings as u64 + 1).pow(2);
    Fingerprint::BITS - square.ilog2().div_ceil(2)
}

/// What is learned of numbers of one sort.
#[derive(Debug)]
struct Numbers {
    /// By length: whether there are no more bits.
    lengths: [Learned; LENGTHS],
    /// By length, and by the bits that came before.
    bits: [[Learned; 1 << (LEARNED_LENGTHS - 1)]; LEARNED_LENGTHS],
}

impl Numbers {
    /// The first length, zero, is expected so often, and each later one of those that are left.
    const fn expecting(zero_percent: u32, next_percent: u32) -> Self {
        let mut lengths = [Learned::expecting(next_percent); LENGTHS];
        lengths[0] = Learned::expecting(zero_percent);
        Numbers { lengths, bits: [[Learned::expecting(55); 1 << (LEARNED_LENGTHS - 1)]; LEARNED_LENGTHS] }
    }

    /// A number below `2^40 - 1`, and how many bits it has, when it is one more, below the first.
    #[inline(always)]
    fn code(&mut self, coder: &mut impl Coder, number: u64) -> (u64, usize) {
        let wanted = (number + 1).ilog2() as usize;
        let mut length = 0;
        while length + 1 < LENGTHS && coder.learn(&mut self.lengths[length], length < wanted) {
            length += 1;
        }
        let below = (number + 1) & ((1 << length) - 1);
        let below = match self.bits.get_mut(length) {
            Some(learned) => code_learned(coder, learned, length, below),
            None => coder.plain(length as u32, below),
        };
        ((1 << length | below) - 1, length)
    }
}

/// The bits of a short number, the upper ones first, each learned in the company of those above it.
#[inline(always)]
fn code_learned(coder: &mut impl Coder, learned: &mut [Learned], length: usize, below: u64) -> u64 {
    // Those above it behind a one: they number the company.
    let mut above = 1;
    for bit in (0..length).rev() {
        let company = &mut learned[above as usize % (1 << (LEARNED_LENGTHS - 1))];
        above = above << 1 | u64::from(coder.learn(company, below >> bit & 1 == 1));
    }
    above - (1 << length)
}

/// All that is learned while a list is coded.
#[derive(Debug)]
struct Model {
    increments: Numbers,
    /// By the length of the increment.
    before: [Numbers; 3],
}

impl Model {
    /// What everyday mail is like: most signatures are seen once in an interval, and never before.
    const fn new() -> Self {
        Model {
            increments: Numbers::expecting(74, 72),
            before: [Numbers::expecting(87, 55), Numbers::expecting(83, 50), Numbers::expecting(75, 40)],
        }
    }

    /// The increment, and the count before it.
    #[inline(always)]
    fn code(&mut self, coder: &mut impl Coder, increment: u64, before: u64) -> (u64, u64) {
        let (less_one, length) = self.increments.code(coder, increment - 1);
        (less_one + 1, self.before[length.min(2)].code(coder, before).0)
    }
}

/// A gap; `None` where it leads beyond all fingerprints.
#[inline(always)]
fn code_gap(coder: &mut impl Coder, k: u32, gap: u64) -> Option<u64> {
    let mut quotient = 0;
    while coder.decide(ENDS, quotient < gap >> k) {
        quotient += 1;
        if quotient << k >= FINGERPRINTS {
            return None;
        }
    }
    let half = u64::from(coder.decide(HALF, gap >> (k - 1) & 1 == 1));
    let quarter = u64::from(coder.decide(QUARTER, gap >> (k - 2) & 1 == 1));
    let low_bits = k - SHAPED_BITS;
    let low = coder.plain(low_bits, gap & ((1 << low_bits) - 1));
    Some(quotient << k | half << (k - 1) | quarter << (k - 2) | low)
}

/// The bytes of a list: strictly ascending, not empty, at most [`SIGHTINGS_MAX`]; at most [`BYTES_MAX`] bytes.
pub fn encode(sightings: &[Sighting]) -> Result<Vec<u8>, SightingsError> {
    check(sightings)?;
    let (mut writer, mut model, k) = (Writer::new(), Model::new(), parameter(sightings.len()));
    writer.plain(K_BITS, u64::from(k - K_MIN));
    let mut next = 0;
    for &Sighting { fingerprint, increment, count } in sightings {
        code_gap(&mut writer, k, fingerprint.get() - next);
        model.code(&mut writer, increment, count - increment);
        next = fingerprint.get() + 1;
    }
    let bytes = writer.finish();
    if bytes.len() > BYTES_MAX {
        return Err(SightingsError::TooLong(bytes.len()));
    }
    Ok(bytes)
}

/// The list that has these bytes. Bytes that are no list's encoding are refused; none make it panic, or take memory
/// for more than [`SIGHTINGS_MAX`] sightings.
pub fn decode(bytes: &[u8]) -> Result<Vec<Sighting>, SightingsError> {
    let damaged = |why| SightingsError::Damaged { bytes: bytes.len(), why };
    if bytes.len() > BYTES_MAX {
        return Err(SightingsError::TooLong(bytes.len()));
    }
    let (mut reader, mut model) = (Reader::new(bytes), Model::new());
    let k = reader.plain(K_BITS, 0) as u32 + K_MIN;
    let (mut sightings, mut next) = (Vec::new(), 0);
    // A sighting takes at least 28 bits, so the reader is at least three bytes further after each; behind the last one
    // there are the bytes of the end, and no others.
    while sightings.is_empty() || reader.shifted() + END_BYTES_MAX < bytes.len() {
        if sightings.len() == SIGHTINGS_MAX {
            return Err(damaged("there are too many sightings"));
        }
        let gap = code_gap(&mut reader, k, 0).ok_or_else(|| damaged("a gap is too wide"))?;
        let number = next + gap;
        let fingerprint = Fingerprint::new(number).ok_or_else(|| damaged("a fingerprint is too large"))?;
        let (increment, before) = model.code(&mut reader, 1, 0);
        if increment + before > COUNT_MAX {
            return Err(damaged("a count is too large"));
        }
        sightings.push(Sighting { fingerprint, increment, count: increment + before });
        next = number + 1;
    }
    if encode(&sightings)? != bytes {
        return Err(damaged("the list in them is encoded otherwise"));
    }
    Ok(sightings)
}
