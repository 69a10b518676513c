//! Clearing bits without looking: what theory can say, and the floor under every algorithm that looks.

use seenit_filter::random::SplitMix;
use seenit_filter::retouch::Known;

use super::world::{K, Size, World};
use crate::bench::LabError;
use crate::interval::Summary;

/// Bits cleared, as shares of all bits.
pub(super) const SHARES: [f64; 6] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

/// So many bits cleared at random, over all runs.
pub(super) struct Blind {
    pub(super) bits: u64,
    /// The share of false positives that disappeared: `df_P`.
    pub(super) gone: Summary,
    /// The share of members that were lost: `df_N`.
    pub(super) lost: Summary,
    /// The difference of the two in each run: zero when chi is 1.
    pub(super) difference: Summary,
    /// What theory has for both: `1 - (1 - s/(p_1 m))^k`.
    pub(super) theory: f64,
}

/// The shares of false positives and of members that one run lost, for each of [`SHARES`].
pub(super) fn clear(world: &World, seed: u64) -> Result<Vec<(f64, f64)>, LabError> {
    let mut rng = SplitMix(seed);
    let known = Known { members: Some(&world.members), others: Some(&world.positives) };
    let cleared = SHARES.map(|share| {
        let done = world.copy()?.clear_random(bits(share, world.size), rng.next(), &known);
        let known = "members and false positives are known, and there are some";
        Ok((done.false_positives_share().expect(known), done.false_negatives_share().expect(known)))
    });
    cleared.into_iter().collect()
}

/// All runs together.
pub(super) fn summed(runs: &[&[(f64, f64)]], size: Size) -> Vec<Blind> {
    let of = |number: usize, what: fn((f64, f64)) -> f64| {
        Summary::of(&runs.iter().map(|run| what(run[number])).collect::<Vec<_>>())
    };
    let one = |(number, share): (usize, f64)| Blind {
        bits: bits(share, size),
        gone: of(number, |(gone, _)| gone),
        lost: of(number, |(_, lost)| lost),
        difference: of(number, |(gone, lost)| gone - lost),
        theory: theory(bits(share, size), size),
    };
    SHARES.into_iter().enumerate().map(one).collect()
}

fn bits(share: f64, size: Size) -> u64 {
    (share * size.bits as f64).round() as u64
}

/// A key keeps its k bits with this probability's complement, whether it is a member or not.
fn theory(bits: u64, size: Size) -> f64 {
    let m = size.bits as f64;
    let set = 1.0 - (f64::from(K) * size.members as f64 * (-1.0 / m).ln_1p()).exp();
    1.0 - (1.0 - bits as f64 / (set * m)).powi(K as i32)
}
