//! From a score to a probability: a logistic curve, fitted to scores of messages left out of their own counts.
//!
//! Platt's method: `P = 1/(1 + e^-(slope x + offset))` with the greatest likelihood, where the targets are not 1 and
//! 0 but what N messages can prove, `(N + 1)/(N + 2)` and `1/(N + 2)`. So a curve exists also where the sides do not
//! overlap.
//!
//! Where the words say nothing, the best slope may be zero, less, or beyond all bounds. A curve always rises: there it
//! is all but flat, at the share of spam among the messages.

/// The curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) slope: f64,
    pub(crate) offset: f64,
}

/// The least slope. Scores are within 100 of zero, so such a curve moves no probability by more than one in ten
/// thousand; yet it rises, so messages keep their order.
pub(crate) const SLOPE_MIN: f64 = 1e-6;

/// The largest slope. Sides that part within a few hundred thousandths of a score are parted by rounding.
pub(crate) const SLOPE_MAX: f64 = 1e6;

/// The largest offset, either way: the largest slope times the largest score.
pub(crate) const OFFSET_MAX: f64 = 1e8;

/// Steps of Newton's method: it converges in about ten.
const STEPS: usize = 100;

impl Curve {
    /// Fitted to scores of spam and of good messages; within the limits that a model has.
    pub(crate) fn fit(spam: &[f64], ham: &[f64]) -> Self {
        let curve = Curve::likeliest(spam, ham);
        if (SLOPE_MIN..=SLOPE_MAX).contains(&curve.slope) && curve.offset.abs() <= OFFSET_MAX {
            return curve;
        }
        Curve { slope: SLOPE_MIN, ..Curve::flat(spam, ham) }
    }

    /// What is known without scores: how many messages there are of each side.
    fn flat(spam: &[f64], ham: &[f64]) -> Self {
        Curve { slope: 0.0, offset: ((spam.len() as f64 + 1.0) / (ham.len() as f64 + 1.0)).ln() }
    }

    /// The curve with the greatest likelihood.
    fn likeliest(spam: &[f64], ham: &[f64]) -> Self {
        let spams = spam.len() as f64;
        let hams = ham.len() as f64;
        let targets = [(spam, (spams + 1.0) / (spams + 2.0)), (ham, 1.0 / (hams + 2.0))];
        let loss = |curve: Curve| -> f64 {
            let of = |(scores, target): (&[f64], f64)| {
                let each = |&x: &f64| softplus(curve.logit(x)) - target * curve.logit(x);
                scores.iter().map(each).sum::<f64>()
            };
            targets.into_iter().map(of).sum()
        };
        let mut curve = Curve::flat(spam, ham);
        let mut now = loss(curve);
        for _ in 0..STEPS {
            let step = curve.newton(&targets);
            // A full step may leap too far; half of it, or a quarter, does not.
            let tries = (0..30).map(|halvings| 0.5f64.powi(halvings));
            let better = tries
                .map(|part| Curve {
                    slope: curve.slope + part * step.0,
                    offset: curve.offset + part * step.1,
                })
                .find(|&next| loss(next) < now);
            let Some(next) = better else { break };
            let gain = now - loss(next);
            (curve, now) = (next, now - gain);
            if gain < 1e-10 * now {
                break;
            }
        }
        curve
    }

    /// Gradient over curvature.
    fn newton(self, targets: &[(&[f64], f64); 2]) -> (f64, f64) {
        // A trace of ridge: one message alone has no curvature.
        let mut g = [0.0; 2];
        let mut h = [1e-9, 0.0, 1e-9];
        for &(scores, target) in targets {
            for &x in scores {
                let p = self.at(x);
                let error = target - p;
                let bend = p * (1.0 - p);
                g = [g[0] + error * x, g[1] + error];
                h = [h[0] + bend * x * x, h[1] + bend * x, h[2] + bend];
            }
        }
        let det = h[0] * h[2] - h[1] * h[1];
        ((g[0] * h[2] - g[1] * h[1]) / det, (g[1] * h[0] - g[0] * h[1]) / det)
    }

    pub(crate) fn logit(self, x: f64) -> f64 {
        self.slope * x + self.offset
    }

    /// The probability at a score.
    pub(crate) fn at(self, x: f64) -> f64 {
        1.0 / (1.0 + (-self.logit(x)).exp())
    }
}

/// `ln(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_filter::random::SplitMix;

    /// Scores of a known curve give that curve back.
    #[test]
    fn a_known_curve_is_found() {
        let truth = Curve { slope: 3.0, offset: -1.0 };
        let mut random = SplitMix(1);
        let mut spam = Vec::new();
        let mut ham = Vec::new();
        for _ in 0..100_000 {
            let x = 4.0 * random.unit() - 2.0;
            if random.unit() < truth.at(x) { spam.push(x) } else { ham.push(x) }
        }
        let found = Curve::fit(&spam, &ham);
        assert!((found.slope - 3.0).abs() < 0.08 && (found.offset + 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn sides_that_do_not_overlap_have_a_curve_too() {
        let curve = Curve::fit(&[1.0; 50], &[-1.0; 100]);
        assert!(
            (curve.at(1.0) - 51.0 / 52.0).abs() < 1e-6 && (curve.at(-1.0) - 1.0 / 102.0).abs() < 1e-6,
            "{curve:?}"
        );
        let one = Curve::fit(&[0.5], &[0.5]);
        assert!((one.at(0.5) - 0.5).abs() < 1e-6, "{one:?}");
    }

    /// A slope of zero or less would have been written, and turned every verdict round.
    #[test]
    fn scores_that_say_nothing_or_lie_give_a_flat_curve_at_the_share_of_spam() {
        let sides: [(&[f64], &[f64]); 4] = [
            (&[0.0; 30], &[0.0; 10]),
            (&[-1.0; 30], &[1.0; 10]),
            (&[1e-17; 30], &[0.0; 10]),
            (&[0.5, 1.0, f64::MIN_POSITIVE], &[0.7]),
        ];
        for (spam, ham) in sides {
            let curve = Curve::fit(spam, ham);
            let prior = (spam.len() as f64 + 1.0) / (spam.len() + ham.len() + 2) as f64;
            assert_eq!(curve.slope, SLOPE_MIN);
            assert!((curve.at(0.7) - prior).abs() < 1e-4, "{curve:?}, {prior}");
        }
        assert_eq!(Curve::fit(&[], &[]).slope, SLOPE_MIN);
    }
}
