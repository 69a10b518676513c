//! Universal hashing as the papers use it: `h(x) = ((c x + d) mod p) mod m`, k independent pairs (c, d).

use crate::error::GeometryError;

/// The prime of the collaborative spam detection paper's simulations.
pub const P_PAPER: u64 = 2_100_000_011;

/// The Mersenne prime 2^61 - 1.
///
/// With [`P_PAPER`] two different signatures agree in all k hashes with probability about 1/p once they are
/// reduced below p, so a database of n signatures has a false-positive floor of n/p (0.5 % for ten million).
/// This prime puts the floor out of reach.
pub const P_2_61: u64 = (1 << 61) - 1;

/// k universal hash functions onto `0..m`, for keys in `1..p`.
#[derive(Clone, Debug)]
pub struct Universal {
    p: u64,
    m: u64,
    pairs: Vec<(u64, u64)>,
}

impl Universal {
    /// Draws `k` pairs with `0 < c < p` and `0 <= d < p`, uniform, from `draw`, a source of uniform words.
    ///
    /// Refuses `k` or `m` of zero, a `p` the arithmetic is not made for, and `m > p`, where positions from p
    /// up could never be reached.
    pub fn new(k: u32, m: u64, p: u64, draw: &mut impl FnMut() -> u64) -> Result<Self, GeometryError> {
        if k == 0 {
            return Err(GeometryError::Zero("k"));
        }
        if m == 0 {
            return Err(GeometryError::Zero("bits"));
        }
        if p != P_PAPER && p != P_2_61 {
            return Err(GeometryError::Prime(p));
        }
        if m > p {
            return Err(GeometryError::UnreachableBits { bits: m, reachable: p });
        }
        let pairs = (0..k).map(|_| (1 + below(p - 1, draw), below(p, draw))).collect();
        Ok(Universal { p, m, pairs })
    }

    /// The positions of `key`, one for each pair; two of them may be equal.
    pub fn positions(&self, key: u64) -> impl Iterator<Item = u64> + '_ {
        let p = u128::from(self.p);
        self.pairs.iter().map(move |&(c, d)| {
            let value = (u128::from(c) * u128::from(key) + u128::from(d)) % p;
            value as u64 % self.m
        })
    }
}

/// A uniform number in `0..n`: words at or above the largest multiple of `n` are drawn again.
fn below(n: u64, draw: &mut impl FnMut() -> u64) -> u64 {
    let uneven = (u64::MAX % n + 1) % n;
    loop {
        let word = draw();
        if word <= u64::MAX - uneven {
            return word % n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn pairwise_collisions_come_at_the_universal_rate() {
        for p in [P_PAPER, P_2_61] {
            let (m, families, mut equal) = (1000, 20_000, 0u32);
            let mut rng = SplitMix(7);
            for _ in 0..families {
                let hash = Universal::new(1, m, p, &mut || rng.next()).expect("a good geometry");
                equal += u32::from(hash.positions(12_345).eq(hash.positions(54_321)));
            }
            // Expected 20 with standard deviation 4.5.
            assert!((2..=38).contains(&equal), "p {p}: {equal} collisions");
        }
    }

    #[test]
    fn seeded_alike_it_hashes_alike_and_stays_below_m() {
        let make = |seed| {
            let mut rng = SplitMix(seed);
            Universal::new(8, 80_000, P_2_61, &mut || rng.next()).expect("a good geometry")
        };
        let positions = |hash: &Universal| hash.positions(99).collect::<Vec<_>>();
        assert_eq!(positions(&make(1)), positions(&make(1)));
        assert_ne!(positions(&make(1)), positions(&make(2)));
        assert!(make(3).positions(u64::MAX).all(|position| position < 80_000));
    }

    #[test]
    fn bad_parameters_are_refused() {
        let mut draw = || 1;
        let refused = |k, m, p, draw: &mut dyn FnMut() -> u64| {
            Universal::new(k, m, p, &mut || draw()).expect_err("must be refused").to_string()
        };
        assert!(refused(0, 10, P_PAPER, &mut draw).contains("k"));
        assert!(refused(4, 0, P_PAPER, &mut draw).contains("bits"));
        assert!(refused(4, 10, 97, &mut draw).contains("97"));
        assert!(refused(4, P_PAPER + 1, P_PAPER, &mut draw).contains("2100000012"));
    }
}
