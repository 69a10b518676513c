//! Everything random in the lab: streams of numbers named by what they are for.

use seenit_filter::random::SplitMix;

/// A stream of its own for each path of numbers below a seed: experiment, round, and so on. Threads that draw from
/// streams of their own give the same results in any order.
pub fn stream(seed: u64, path: &[u64]) -> SplitMix {
    path.iter().fold(SplitMix(seed), |mut parent, &step| {
        let a = parent.next();
        let b = SplitMix(step).next();
        SplitMix(a ^ b.rotate_left(32))
    })
}

/// Puts `items` into one of all orders, each equally likely (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], rng: &mut SplitMix) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// A Poisson distribution to draw from, by its cumulated odds.
#[derive(Clone, Debug)]
pub struct Poisson {
    cumulated: Vec<f64>,
}

impl Poisson {
    /// With this mean, at most 500: beyond, `exp(-mean)` is too small a number to start from.
    ///
    /// # Panics
    /// When the mean is larger, or not positive.
    pub fn new(mean: f64) -> Self {
        assert!(mean > 0.0 && mean <= 500.0, "a mean of {mean}");
        let mut odds = (-mean).exp();
        let mut sum = 0.0;
        let mut cumulated = Vec::new();
        while sum < 1.0 && (odds > 0.0 || (cumulated.len() as f64) < mean) {
            sum += odds;
            cumulated.push(sum);
            odds *= mean / cumulated.len() as f64;
        }
        Poisson { cumulated }
    }

    /// A number from it.
    pub fn draw(&self, rng: &mut SplitMix) -> u64 {
        let unit = rng.unit();
        self.cumulated.partition_point(|&sum| sum <= unit) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_in_every_step_of_their_path() {
        let first = |path: &[u64]| stream(7, path).next();
        let firsts = [first(&[]), first(&[0]), first(&[1]), first(&[0, 1]), first(&[1, 0]), first(&[0, 0])];
        for (i, one) in firsts.iter().enumerate() {
            assert!(!firsts[..i].contains(one), "{firsts:?}");
        }
        assert_eq!(first(&[3, 1]), first(&[3, 1]));
    }

    #[test]
    fn a_shuffle_gives_all_orders_equally_often() {
        let mut rng = SplitMix(1);
        let mut times = [0u32; 6];
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, &mut rng);
            times[items[0] * 2 + usize::from(items[1] > items[2])] += 1;
        }
        // Six standard deviations of a binomial with 60,000 throws and odds of 1/6.
        assert!(times.iter().all(|&n| n.abs_diff(10_000) < 548), "{times:?}");
    }

    #[test]
    fn poisson_has_its_mean_and_its_variance() {
        for mean in [0.5, 10.0, 20.0, 500.0] {
            let poisson = Poisson::new(mean);
            let mut rng = SplitMix(2);
            let n = 100_000;
            let draws: Vec<f64> = (0..n).map(|_| poisson.draw(&mut rng) as f64).collect();
            let found = draws.iter().sum::<f64>() / f64::from(n);
            let spread = draws.iter().map(|x| (x - found).powi(2)).sum::<f64>() / f64::from(n);
            assert!((found - mean).abs() < 6.0 * (mean / f64::from(n)).sqrt(), "{found} for {mean}");
            assert!((spread / mean - 1.0).abs() < 0.03, "{spread} for {mean}");
        }
    }
}
