//! Expectations over a binomial load: how many of n keys fall into one page or line.

/// A million keys in one page or line have a relative scatter of a thousandth, and fill it long before.
const SUMMED_MEAN_MAX: f64 = 1e6;

/// `E[g(J)]` for J ~ Binomial(n, p).
///
/// Summed outwards from the mode by the ratio of neighbouring weights and divided by the weights' own sum, so
/// that no factorials are needed. Terms below 1e-17 of the mode's are left off. The sum has some 17 standard
/// deviations of terms; where the mean is beyond [`SUMMED_MEAN_MAX`], three nodes of a normal law stand for it.
pub(crate) fn binomial_mean(n: u64, p: f64, g: impl Fn(f64) -> f64) -> f64 {
    const NEGLIGIBLE: f64 = 1e-17;
    let n = n as f64;
    if p >= 1.0 || n == 0.0 {
        return g(n);
    }
    let mean = n * p;
    if mean > SUMMED_MEAN_MAX {
        let reach = (3.0 * mean * (1.0 - p)).sqrt();
        return (g(mean - reach) + 4.0 * g(mean) + g(mean + reach)) / 6.0;
    }
    let odds = p / (1.0 - p);
    let mode = ((n + 1.0) * p).floor().min(n);
    let mut sum = g(mode);
    let mut total = 1.0;
    let mut j = mode;
    let mut weight = 1.0;
    while j < n && weight > NEGLIGIBLE {
        weight *= (n - j) / (j + 1.0) * odds;
        j += 1.0;
        sum += weight * g(j);
        total += weight;
    }
    (j, weight) = (mode, 1.0);
    while j > 0.0 && weight > NEGLIGIBLE {
        weight *= j / (n - j + 1.0) / odds;
        j -= 1.0;
        sum += weight * g(j);
        total += weight;
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_of_the_load_are_the_binomial_ones() {
        for (n, p) in [(1u64, 0.5), (10, 0.1), (1000, 0.3), (1_000_000, 1e-5), (50_000_000, 1e-6)] {
            let mean = n as f64 * p;
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
            assert!(close(binomial_mean(n, p, |j| j), mean), "{n} {p}");
            let variance = binomial_mean(n, p, |j| (j - mean) * (j - mean));
            assert!(close(variance, mean * (1.0 - p)), "{n} {p}: {variance}");
        }
    }

    /// Found in review: sizing for 2^64 keys never ended.
    #[test]
    fn large_loads_are_quick_and_join_the_sum_smoothly() {
        let g = |j: f64| 1.0 - (-1e-6 * j).exp();
        let below = binomial_mean(1_999_998, 0.5, g);
        let above = binomial_mean(2_000_002, 0.5, g);
        assert!((above - below).abs() < 2e-6 && above > below, "{below} {above}");
        assert!((binomial_mean(u64::MAX, 0.5, |j| j) / (u64::MAX as f64 / 2.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_certain_load_is_itself() {
        assert_eq!(binomial_mean(7, 1.0, |j| j), 7.0);
        assert_eq!(binomial_mean(0, 0.3, |j| j), 0.0);
    }
}
