//! From a score to a probability: a logistic curve, fitted to scores of messages left out of their own counts.
//!
//! Platt's method: `P = 1/(1 + e^-(slope x + offset))` with the greatest likelihood, where the targets are not 1 and
//! 0 but what N messages can prove, `(N + 1)/(N + 2)` and `1/(N + 2)`. So a curve exists also where the sides do not
//! overlap.

/// The curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) slope: f64,
    pub(crate) offset: f64,
}

/// Steps of Newton's method: it converges in about ten.
const STEPS: usize = 100;

impl Curve {
    /// Fitted to scores of spam and of good messages.
    pub(crate) fn fit(spam: &[f64], ham: &[f64]) -> Self {
        let (spams, hams) = (spam.len() as f64, ham.len() as f64);
        let targets = [(spam, (spams + 1.0) / (spams + 2.0)), (ham, 1.0 / (hams + 2.0))];
        let loss = |curve: Curve| -> f64 {
            let of = |(scores, target): (&[f64], f64)| {
                let each = |&x: &f64| softplus(curve.logit(x)) - target * curve.logit(x);
                scores.iter().map(each).sum::<f64>()
            };
            targets.into_iter().map(of).sum()
        };
        let mut curve = Curve { slope: 0.0, offset: ((spams + 1.0) / (hams + 1.0)).ln() };
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
        let (mut g, mut h) = ([0.0; 2], [1e-9, 0.0, 1e-9]);
        for &(scores, target) in targets {
            for &x in scores {
                let p = self.at(x);
                let (error, bend) = (target - p, p * (1.0 - p));
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
        let (truth, mut random) = (Curve { slope: 3.0, offset: -1.0 }, SplitMix(1));
        let (mut spam, mut ham) = (Vec::new(), Vec::new());
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
}
