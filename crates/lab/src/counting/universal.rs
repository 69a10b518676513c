//! Universal hashing as the paper uses it: `h(x) = ((c x + d) mod p) mod m`, k independent pairs (c, d).

use seenit_filter::random::SplitMix;

/// The prime of the paper's simulations.
///
/// Two different signatures agree in all k hashes with probability about 1/p once they are reduced below p, so a
/// database of n signatures has a false-positive floor of n/p (0.5 % for ten million).
pub(super) const P: u64 = 2_100_000_011;

/// k universal hash functions onto `0..m`, for keys in `1..p`.
#[derive(Clone, Debug)]
pub(super) struct Universal {
    m: u64,
    pairs: Vec<(u64, u64)>,
}

impl Universal {
    /// Draws `k` pairs with `0 < c < p` and `0 <= d < p`, uniform.
    ///
    /// # Panics
    /// When `m` is 0, or above p: positions from p up could never be reached.
    pub(super) fn new(k: usize, m: u64, draw: &mut SplitMix) -> Self {
        assert!((1..=P).contains(&m), "{m} positions");
        let pairs = (0..k).map(|_| (1 + below(P - 1, draw), below(P, draw))).collect();
        Universal { m, pairs }
    }

    /// The positions of `key`, one for each pair; two of them may be equal.
    pub(super) fn positions(&self, key: u64) -> impl Iterator<Item = u64> + '_ {
        self.pairs.iter().map(move |&(c, d)| {
            let value = (u128::from(c) * u128::from(key) + u128::from(d)) % u128::from(P);
            value as u64 % self.m
        })
    }
}

/// A uniform number in `0..n`: words at or above the largest multiple of `n` are drawn again.
fn below(n: u64, draw: &mut SplitMix) -> u64 {
    let uneven = (u64::MAX % n + 1) % n;
    loop {
        let word = draw.next();
        if word <= u64::MAX - uneven {
            return word % n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairwise_collisions_come_at_the_universal_rate() {
        let mut rng = SplitMix(7);
        let collides = |_: &u32| {
            let hash = Universal::new(1, 1000, &mut rng);
            hash.positions(12_345).eq(hash.positions(54_321))
        };
        let equal = (0..20_000).filter(collides).count();
        // Expected 20 with standard deviation 4.5.
        assert!((2..=38).contains(&equal), "{equal} collisions");
    }

    #[test]
    fn seeded_alike_it_hashes_alike_and_stays_below_m() {
        let make = |seed| Universal::new(8, 80_000, &mut SplitMix(seed));
        let positions = |hash: &Universal| hash.positions(99).collect::<Vec<_>>();
        assert_eq!(positions(&make(1)), positions(&make(1)));
        assert_ne!(positions(&make(1)), positions(&make(2)));
        assert!(make(3).positions(u64::MAX).all(|position| position < 80_000));
    }
}
