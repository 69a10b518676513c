//! The one generator of this crate: small, seeded by the caller, the same numbers on every machine. Not for secrets.

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    /// The next word.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number in `0..n`; zero when `n` is. Some are likelier than others by `n / 2^64`, which nobody could measure.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `[0, 1)`, a multiple of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs from seed 1234567, as the generator's author published them.
    #[test]
    fn published_values() {
        let mut random = SplitMix(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn numbers_stay_in_range_and_fill_it() {
        let mut random = SplitMix(1);
        let mut seen = [0; 7];
        let mut sum = 0.0;
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
            let unit = random.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += unit;
        }
        // 5.5 standard deviations: 29 of a count of 1,000, 0.0035 of a mean of 1/2.
        assert!(seen.iter().all(|&count: &i32| (count - 1000).abs() < 160), "{seen:?}");
        assert!((sum / 7000.0 - 0.5).abs() < 0.019, "{sum}");
        assert_eq!(random.below(0), 0);
    }
}
