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
//! 1. `k`, the logarithm of the mean gap between fingerprints, rounded. It follows from the number of sightings, which
//!    is not written: a list ends where the bytes do. As a rule `k` follows from the number of bytes, too, and half a
//!    bit says so ([`Scale`]). Otherwise it is written in 4 bits.
//! 2. For each sighting, the gap between its fingerprint and the one before (before the first: its number). Gaps of
//!    random fingerprints are geometrically distributed. A gap is cut into its quotient by `2^k`, whole steps of
//!    chance 1/e, and the remainder, of which the upper two bits are a little likelier to be 0, and the others are as
//!    likely to be 0 as 1. Since the mean is within half an octave of `2^k`, that costs 0.08 bits too many at most,
//!    and 0.03 on average. That no more whole steps follow is not said where no more would fit.
//! 3. Its increment less one, then its count less the increment, which is 0 where the site sees a signature for the
//!    first time in a generation. Each is a length in unary and the bits below the first, all with chances that are
//!    learned on the way from expectations of everyday mail. Chances of the second depend on how long the first was.
//!
//! # One encoding
//!
//! A list has one encoding, and other bytes have none: what was read is written again and compared. (The chain of a
//! stream is a hash over these bytes: two encodings of one list would be two histories of one site.) The exception is
//! what builds before 18 November 2026 wrote, always with `k` in 4 bits: it is in journals and is read for good.

use super::item::check;
use super::range::{Chance, Coder, END_BYTES_MAX, Learned, Reader, Writer};
use super::{BYTES_MAX, COUNT_MAX, Fingerprint, SIGHTINGS_MAX, Sighting, SightingsError};

/// One more than the largest fingerprint.
const FINGERPRINTS: u64 = 1 << Fingerprint::BITS;

/// Bits of `k`, less the least it can be.
const K_BITS: u32 = 4;
const K_MIN: u32 = 28;
const K_MAX: u32 = K_MIN + (1 << K_BITS) - 1;

/// A sighting of everyday mail takes so many bits more than `k`: 1.4 for its gap, 2.7 for its pair of numbers.
const BITS_ABOVE_K: usize = 4;

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

/// How the mean gap is told, which is `2^k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// By the number of bytes.
    ByLength(u32),
    /// In 4 bits.
    Written(u32),
}

impl Scale {
    fn k(self) -> u32 {
        match self {
            Scale::ByLength(k) | Scale::Written(k) => k,
        }
    }

    /// The `k` of a list of everyday mail that takes so many bytes.
    fn of_length(bytes: usize) -> u32 {
        let fits = |k: &u32| parameter(8 * bytes / (*k as usize + BITS_ABOVE_K)) >= *k;
        (K_MIN..=K_MAX).rev().find(fits).unwrap_or(K_MIN)
    }

    /// How many of the 16 values of a written `k` a list cannot have whose bytes are as many as everyday mail with this
    /// `k` takes. All below `k - 1`: they belong to lists of at least twice as many sightings, and of the bits of a
    /// sighting only `BITS_ABOVE_K` can be saved. So these values are free to say that `k` is not written.
    fn free(k: u32) -> u64 {
        u64::from(k.saturating_sub(K_MIN + 1))
    }

    /// Said to a writer, or read where there are so many bytes.
    fn code(self, coder: &mut impl Coder, k_by_length: u32) -> Self {
        let value = match self {
            Scale::ByLength(_) => 0,
            Scale::Written(k) => u64::from(k - K_MIN),
        };
        match coder.plain_above(K_BITS, Scale::free(k_by_length), value) {
            Some(value) => Scale::Written(value as u32 + K_MIN),
            None => Scale::ByLength(k_by_length),
        }
    }
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
    const fn expecting(zero_percent: u32, next_percent: u32, weight: u8) -> Self {
        let mut lengths = [Learned::expecting(next_percent, weight); LENGTHS];
        lengths[0] = Learned::expecting(zero_percent, weight);
        let bit = Learned::expecting(55, weight);
        Numbers { lengths, bits: [[bit; 1 << (LEARNED_LENGTHS - 1)]; LEARNED_LENGTHS] }
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
    /// What everyday mail is like: most signatures are seen once in an interval, and never before. Of those seen once
    /// in an interval one in five to one in seven was seen before; the encoding with a written scale, which is older,
    /// expects fewer, and is sooner ready to expect something else.
    const fn new(scale: Scale) -> Self {
        let (never_percent, weight) = match scale {
            Scale::ByLength(_) => (83, 16),
            Scale::Written(_) => (87, 10),
        };
        Model {
            increments: Numbers::expecting(74, 72, weight),
            before: [
                Numbers::expecting(never_percent, 55, weight),
                Numbers::expecting(83, 50, weight),
                Numbers::expecting(75, 40, weight),
            ],
        }
    }

    /// The increment, and the count before it.
    #[inline(always)]
    fn code(&mut self, coder: &mut impl Coder, increment: u64, before: u64) -> (u64, u64) {
        let (less_one, length) = self.increments.code(coder, increment - 1);
        (less_one + 1, self.before[length.min(2)].code(coder, before).0)
    }
}

/// A gap behind which there are so many fingerprints more; `None` where it leads beyond all of them.
#[inline(always)]
fn code_gap(coder: &mut impl Coder, scale: Scale, left: u64, gap: u64) -> Option<u64> {
    let k = scale.k();
    let last_step = match scale {
        Scale::ByLength(_) => left >> k,
        // Behind the last step it is said that no more follow: so it was when `k` was always written.
        Scale::Written(_) => u64::MAX,
    };
    let mut quotient = 0;
    while quotient < last_step && coder.decide(ENDS, quotient < gap >> k) {
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
    let bytes = bytes_of(sightings);
    if bytes.len() > BYTES_MAX {
        return Err(SightingsError::TooLong(bytes.len()));
    }
    Ok(bytes)
}

/// The bytes of a list, without a written scale where the number of bytes that come of it tells the scale. It does not
/// for unusual counts, nor always for a number of sightings halfway between two scales.
fn bytes_of(sightings: &[Sighting]) -> Vec<u8> {
    let k = parameter(sightings.len());
    if Scale::free(k) > 0 {
        let bytes = write(sightings, Scale::ByLength(k));
        if Scale::of_length(bytes.len()) == k {
            return bytes;
        }
    }
    write(sightings, Scale::Written(k))
}

fn write(sightings: &[Sighting], scale: Scale) -> Vec<u8> {
    let mut writer = Writer::new();
    let mut model = Model::new(scale);
    scale.code(&mut writer, scale.k());
    let mut next = 0;
    for &Sighting { fingerprint, increment, count } in sightings {
        code_gap(&mut writer, scale, FINGERPRINTS - 1 - next, fingerprint.get() - next);
        model.code(&mut writer, increment, count - increment);
        next = fingerprint.get() + 1;
    }
    writer.finish()
}

/// The list that has these bytes. Bytes that are no list's encoding are refused; none make it panic, or take memory
/// for more than [`SIGHTINGS_MAX`] sightings.
pub fn decode(bytes: &[u8]) -> Result<Vec<Sighting>, SightingsError> {
    let damaged = |why| SightingsError::Damaged { bytes: bytes.len(), why };
    if bytes.len() > BYTES_MAX {
        return Err(SightingsError::TooLong(bytes.len()));
    }
    let mut reader = Reader::new(bytes);
    let k_by_length = Scale::of_length(bytes.len());
    let scale = Scale::ByLength(k_by_length).code(&mut reader, k_by_length);
    let mut model = Model::new(scale);
    let mut sightings = Vec::new();
    let mut next = 0;
    // A sighting takes at least 28 bits, so the reader is at least three bytes further after each; behind the last one
    // there are the bytes of the end, and no others.
    while sightings.is_empty() || reader.shifted() + END_BYTES_MAX < bytes.len() {
        if sightings.len() == SIGHTINGS_MAX {
            return Err(damaged("there are too many sightings"));
        }
        let left =
            (FINGERPRINTS - 1).checked_sub(next).ok_or_else(|| damaged("a fingerprint is too large"))?;
        let gap = code_gap(&mut reader, scale, left, 0).ok_or_else(|| damaged("a gap is too wide"))?;
        let number = next + gap;
        let fingerprint = Fingerprint::new(number).ok_or_else(|| damaged("a fingerprint is too large"))?;
        let (increment, before) = model.code(&mut reader, 1, 0);
        if increment + before > COUNT_MAX {
            return Err(damaged("a count is too large"));
        }
        sightings.push(Sighting { fingerprint, increment, count: increment + before });
        next = number + 1;
    }
    let again = match scale {
        Scale::ByLength(_) => bytes_of(&sightings),
        Scale::Written(_) => write(&sightings, Scale::Written(parameter(sightings.len()))),
    };
    if again != bytes {
        return Err(damaged("the list in them is encoded otherwise"));
    }
    Ok(sightings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits that every sighting takes besides its `k`.
    const LEAST_BITS_ABOVE_K: f64 = 0.17;

    /// A list with a written scale is never taken for one without: the values that say "by length" are none that its
    /// number of bytes allows.
    #[test]
    fn values_that_are_free_are_those_of_no_written_scale() {
        for bytes in 1..=BYTES_MAX {
            let free = Scale::free(Scale::of_length(bytes));
            for value in 0..free as u32 {
                let k = value + K_MIN;
                // The fewest sightings with this scale: (n + 1)^2 is at least 2^(2j-1).
                let least = (f64::from(2 * (Fingerprint::BITS - k) - 1) / 2.0).exp2() - 1.0;
                assert!(parameter(least.ceil() as usize) == k || k == K_MIN, "{k}: {least}");
                let bits = f64::from(K_BITS) + least.ceil() * (f64::from(k) + LEAST_BITS_ABOVE_K);
                // The last byte may spare one.
                assert!(8 * bytes < bits as usize - 8, "{bytes} bytes hold {least} sightings with {k}");
            }
        }
    }

    /// What earlier builds wrote, and what this one writes.
    #[test]
    fn lists_with_a_written_scale_are_read() {
        let list = |sightings: u64| -> Vec<Sighting> {
            let mut random = crate::random::SplitMix(sightings);
            let mut fingerprints: Vec<Fingerprint> =
                (0..sightings).map(|_| Fingerprint::of(random.hash())).collect();
            fingerprints.sort();
            fingerprints.dedup();
            fingerprints
                .into_iter()
                .map(|fingerprint| Sighting { fingerprint, increment: 1, count: 1 + random.below(3) })
                .collect()
        };
        for sightings in (1..200).chain([700, 3300, 9000, 46_000, 65_536]) {
            let list = list(sightings);
            let written = write(&list, Scale::Written(parameter(list.len())));
            assert_eq!(decode(&written).as_ref(), Ok(&list), "{sightings}");
            assert_eq!(decode(&bytes_of(&list)), Ok(list));
        }
    }
}
