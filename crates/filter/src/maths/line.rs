//! The cache-line filter: one line of 512 bits a key, split into eight 64-bit sectors, one bit in each.

use super::sizing::{Wanted, smallest};
use super::{mixture::binomial_mean, set_share};
use crate::layout::{LINE_BITS, LINE_SECTORS, SECTOR_BITS};

/// Expected rate of `lines` lines and n keys: `E[(1 - (63/64)^J)^8]`, J ~ Binomial(n, 1/lines).
///
/// Given its load J, the eight sectors of a line are independent (a key's bit in one says nothing about its bit
/// in another), and the expected share of set bits in a sector is exactly `1 - (63/64)^J`. So this is the exact
/// rate: a line that is *not* split has correlated bits, and the same mixture would be 1 to 4 % too low for it.
pub(crate) fn rate(lines: u64, n: u64) -> f64 {
    binomial_mean(n, 1.0 / lines as f64, |load| set_share(SECTOR_BITS as f64, load).powi(LINE_SECTORS as i32))
}

/// The fewest lines, up to `limit`, that hold `n` keys at `wanted`.
///
/// Eight bits a key are best near a rate of 1 %, where a line filter needs 5 % more memory than a flat one. Far
/// from there they are too many or too few: 22 % more at 10 %, 9 % at 0.1 %, 23 % at 1e-4, 46 % at 1e-5.
pub(crate) fn size(n: u64, wanted: f64, limit: u64) -> Option<u64> {
    let asked = Wanted { keys: n, rate: wanted, unit_bits: LINE_BITS, limit };
    smallest(asked, |lines| rate(lines, n) <= wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::flat;

    #[test]
    fn one_line_is_eight_sectors() {
        let sector = 1.0 - (63.0f64 / 64.0).powi(20);
        assert!((rate(1, 20) - sector.powi(8)).abs() < 1e-14);
    }

    #[test]
    fn memory_against_the_flat_filter_is_as_the_doc_comment_says() {
        let n = 10_000_000;
        for (wanted, more) in [(0.1, 22), (0.01, 5), (1e-3, 9), (1e-4, 23), (1e-5, 46)] {
            let lines = size(n, wanted, 1 << 34).expect("within reach");
            let (flat_bits, _) = flat::size(n, wanted, 1 << 43).expect("within reach");
            let percent = (lines * 512) as f64 / flat_bits as f64 * 100.0 - 100.0;
            assert_eq!(percent.round() as i64, more, "{wanted}: {percent}");
        }
    }

    #[test]
    fn bits_per_key_at_one_per_cent() {
        let n = 50_000_000;
        let lines = size(n, 0.01, 1 << 34).expect("within reach");
        let bits_per_key = (lines * 512) as f64 / n as f64;
        assert!((10.0..10.2).contains(&bits_per_key), "{bits_per_key}");
    }
}
