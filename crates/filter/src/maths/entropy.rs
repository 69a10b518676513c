//! The fewest bits a change can take: what deltas are held against.

/// `log2 n!`, by Stirling's series; below 16 by multiplication. Its relative error is below 1e-13.
pub(crate) fn log2_factorial(n: u64) -> f64 {
    if n < 16 {
        return ((1..=n).product::<u64>() as f64).log2();
    }
    let x = n as f64;
    let ln = x * x.ln() - x + 0.5 * (std::f64::consts::TAU * x).ln() + 1.0 / (12.0 * x)
        - 1.0 / (360.0 * x.powi(3))
        + 1.0 / (1260.0 * x.powi(5));
    ln / std::f64::consts::LN_2
}

/// `log2 C(n, d)`: the bits it takes to say which `d` of `n` things are meant, when any are as likely as others.
pub fn log2_choose(n: u64, d: u64) -> f64 {
    assert!(d <= n, "{d} of {n}");
    (log2_factorial(n) - log2_factorial(d) - log2_factorial(n - d)).max(0.0)
}

/// The empirical entropy, in bits, of a sequence in which the i-th value occurs `counts[i]` times:
/// the sum of `c log2(total/c)`.
pub fn of_counts(counts: impl IntoIterator<Item = u64> + Clone) -> f64 {
    let total = counts.clone().into_iter().sum::<u64>() as f64;
    counts
        .into_iter()
        .filter(|&count| count > 0)
        .map(|count| count as f64 * (total / count as f64).log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_are_those_of_multiplication() {
        let mut sum = 0.0;
        for n in 1..5000u64 {
            sum += (n as f64).log2();
            assert!((log2_factorial(n) - sum).abs() < 1e-10 * sum.max(1.0), "{n}");
        }
        assert_eq!(log2_factorial(0), 0.0);
    }

    #[test]
    fn choices_and_entropies_known_by_heart() {
        assert!((log2_choose(52, 5).exp2() - 2_598_960.0).abs() < 1e-3);
        assert_eq!((log2_choose(9, 0), log2_choose(9, 9), log2_choose(0, 0)), (0.0, 0.0, 0.0));
        assert!((log2_choose(1 << 40, 1) - 40.0).abs() < 0.01);
        assert_eq!(of_counts([8, 8]), 16.0);
        assert_eq!(of_counts([7, 0]), 0.0);
        // A sequence takes no more than its set and vice versa, but for a few bits.
        let set = log2_choose(100_000, 10_000);
        let sequence = of_counts([10_000, 90_000]);
        assert!(set < sequence && sequence - set < 10.0, "{set} {sequence}");
    }
}
