//! The one primitive of all deltas: which of `n` things are members, in close to `log2 C(n, d)` bits.
//!
//! A set is its *gaps*: how many things that are no members stand before each member. Gaps of a random set are
//! geometrically distributed, for which Rice codes are within 5 % of the entropy. Where members are the majority, the
//! others are the set that is coded. Both sides know how many members and others there are, so a set
//! without either takes no bits at all.

use super::DeltaError;
use super::stream::{BitReader, BitWriter, REMAINDER_BITS_MAX};

/// Bits that hold a Rice parameter.
const PARAMETER_BITS: u32 = 6;

/// Writes the set with these gaps, and `rest` others behind the last member.
pub(super) fn write_set(out: &mut BitWriter, gaps: &[u64], rest: u64) {
    let members = gaps.len() as u64;
    let others = gaps.iter().sum::<u64>() + rest;
    if members == 0 || others == 0 {
        return;
    }
    if members <= others {
        write_numbers(out, gaps, others - rest);
    } else {
        write_numbers(out, &runs(gaps, rest), members);
    }
}

/// The number of members before each of the others.
fn runs(gaps: &[u64], rest: u64) -> Vec<u64> {
    let mut runs = Vec::new();
    let mut run = 0;
    for &gap in gaps.iter().chain([&rest]) {
        for _ in 0..gap {
            runs.push(std::mem::take(&mut run));
        }
        run += 1;
    }
    runs
}

/// Reads a set of `gaps.len()` members and `others` others; returns how many others stand behind the last member.
pub(super) fn read_set(reader: &mut BitReader, gaps: &mut [u64], others: u64) -> Result<u64, DeltaError> {
    let members = gaps.len() as u64;
    if members == 0 || others == 0 {
        gaps.fill(0);
        return Ok(others);
    }
    if members > others {
        return read_runs(reader, gaps, others);
    }
    let sum = read_numbers(reader, gaps)?;
    others.checked_sub(sum).ok_or(DeltaError::Payload("a member lies beyond the end"))
}

/// A set whose others were coded. They are fewer than the members.
fn read_runs(reader: &mut BitReader, gaps: &mut [u64], others: u64) -> Result<u64, DeltaError> {
    gaps.fill(0);
    let mut runs = vec![0; others as usize];
    read_numbers(reader, &mut runs)?;
    let mut before = 0u64;
    let mut rest = 0;
    for run in runs {
        before = before.saturating_add(run);
        if before > gaps.len() as u64 {
            return Err(DeltaError::Payload("there are more members than stated"));
        }
        *gaps.get_mut(before as usize).unwrap_or(&mut rest) += 1;
    }
    Ok(rest)
}

/// Writes numbers in the Rice code that suits their sum, or about it.
pub(super) fn write_numbers(out: &mut BitWriter, numbers: &[u64], sum: u64) {
    let k = best_parameter(numbers.len() as u64, sum);
    // Taken and put back, so that the compiler keeps it in registers.
    let mut local = std::mem::take(out);
    local.push(u64::from(k), PARAMETER_BITS);
    for &number in numbers {
        local.push_rice(number, k);
    }
    *out = local;
}

/// Reads as many numbers as fit `numbers` and returns their sum.
pub(super) fn read_numbers(reader: &mut BitReader, numbers: &mut [u64]) -> Result<u64, DeltaError> {
    let k = reader.take(PARAMETER_BITS) as u32;
    if k > REMAINDER_BITS_MAX {
        return Err(DeltaError::Payload("a Rice parameter is too large"));
    }
    let sum = reader.take_rices(numbers, k);
    reader.check()?;
    Ok(sum)
}

/// The best parameter for `count` numbers with this sum, if they are geometrically distributed: of numbers of which
/// each next one is `q` times as likely, the smallest k for which `q^(2^k)` is at most `(sqrt(5) - 1) / 2`.
fn best_parameter(count: u64, sum: u64) -> u32 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let q = sum as f64 / (sum + count) as f64;
    let k = (GOLDEN.ln() / q.ln()).max(1.0).log2().ceil();
    (k as u32).min(REMAINDER_BITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::entropy::log2_choose;
    use crate::random::SplitMix;

    /// The gaps of a random set of `n` with about `share * n` members, and the others behind the last.
    fn drawn(n: u64, share: f64, seed: u64) -> (Vec<u64>, u64) {
        let mut rng = SplitMix(seed);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..n {
            if (rng.next() as f64) < share * u64::MAX as f64 {
                gaps.push(std::mem::take(&mut gap));
            } else {
                gap += 1;
            }
        }
        (gaps, gap)
    }

    fn round_trip(gaps: &[u64], rest: u64) -> u64 {
        let mut out = BitWriter::default();
        write_set(&mut out, gaps, rest);
        let bits = out.bits();
        let bytes = out.finish();
        let mut reader = BitReader::new(&bytes);
        let mut read = vec![7; gaps.len()];
        let others = gaps.iter().sum::<u64>() + rest;
        assert_eq!(read_set(&mut reader, &mut read, others).expect("sound"), rest);
        assert_eq!(read, gaps);
        reader.finish().expect("all was read");
        bits
    }

    #[test]
    fn random_sets_come_within_five_percent_of_the_bound() {
        for share in [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9, 0.99, 0.999] {
            let (gaps, rest) = drawn(400_000, share, 5);
            let bound = log2_choose(400_000, gaps.len() as u64);
            let ratio = round_trip(&gaps, rest) as f64 / bound;
            assert!((0.999..1.05).contains(&ratio), "{share}: {ratio}");
        }
    }

    #[test]
    fn sets_at_the_edges() {
        for (gaps, rest) in [
            (vec![], 0),
            (vec![], 5),
            (vec![0; 9], 0),
            (vec![0; 9], 1),
            (vec![1, 0, 0, 0, 0], 0),
            (vec![0, 0, 0, 3, 0], 1),
            (vec![1 << 42], 0),
            (vec![0, 1 << 42, 3], 1 << 40),
        ] {
            round_trip(&gaps, rest);
        }
        assert_eq!(round_trip(&[0; 9], 0), 0);
    }
}
