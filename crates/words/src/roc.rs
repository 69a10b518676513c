//! How well scores part spam from good mail, and whether a probability is one.

/// The receiver operating characteristic of scores: at every threshold, the share of good messages lost and of spam
/// caught. A threshold takes all messages at or above it, so equal scores are never parted.
#[derive(Clone, Debug, PartialEq)]
pub struct Roc {
    /// Ham lost and spam caught at each threshold, from none to all.
    pub points: Vec<(f64, f64)>,
}

impl Roc {
    /// Of the scores of spam and of good messages, at least one of each.
    pub fn of(spam: &[f64], ham: &[f64]) -> Roc {
        let mut scores: Vec<(f64, bool)> =
            spam.iter().map(|&score| (score, true)).chain(ham.iter().map(|&score| (score, false))).collect();
        scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut caught = 0u64;
        let mut lost = 0u64;
        let mut points = vec![(0.0, 0.0)];
        for equal in scores.chunk_by(|a, b| a.0 == b.0) {
            let spams = equal.iter().filter(|(_, is_spam)| *is_spam).count() as u64;
            (caught, lost) = (caught + spams, lost + equal.len() as u64 - spams);
            points.push((lost as f64 / ham.len() as f64, caught as f64 / spam.len() as f64));
        }
        Roc { points }
    }

    /// The most spam caught while no more than this share of the good messages is lost.
    pub fn caught_at(&self, ham_lost: f64) -> f64 {
        // A share that is exactly reached may be off by a rounding.
        let within = self.points.iter().take_while(|(lost, _)| *lost <= ham_lost + 1e-12);
        within.last().map_or(0.0, |(_, caught)| *caught)
    }

    /// The chance that a spam message scores higher than a good one; equal scores count half.
    pub fn auc(&self) -> f64 {
        self.points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[1].1 + pair[0].1) / 2.0).sum()
    }
}

/// Messages whose probability lies in one range, and what became of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reliability {
    /// The range: from, and up to.
    pub range: (f64, f64),
    /// How many messages.
    pub messages: u64,
    /// Their mean probability.
    pub said: f64,
    /// The share of them that is spam.
    pub was: f64,
}

/// Sets probabilities beside what messages were, in ranges that end at 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99 and 1;
/// ranges without messages are left out.
pub fn reliability(messages: &[(f64, bool)]) -> Vec<Reliability> {
    const ENDS: [f64; 9] = [0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0];
    let rows = ENDS.windows(2).map(|ends| {
        let inside = |p: f64| p >= ends[0] && (p < ends[1] || ends[1] == 1.0);
        let mine: Vec<&(f64, bool)> = messages.iter().filter(|(p, _)| inside(*p)).collect();
        let count = mine.len() as f64;
        Reliability {
            range: (ends[0], ends[1]),
            messages: mine.len() as u64,
            said: mine.iter().map(|(p, _)| p).sum::<f64>() / count,
            was: mine.iter().filter(|(_, is_spam)| *is_spam).count() as f64 / count,
        }
    });
    rows.filter(|row| row.messages > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_filter::random::SplitMix;

    /// Every threshold and every pair, one by one.
    #[test]
    fn as_a_naive_oracle_has_it() {
        let mut random = SplitMix(9);
        for round in 0..200 {
            // Few distinct scores, so that there are ties.
            let mut draw =
                |n: u64, shift: u64| (0..n).map(|_| (random.below(8) + shift) as f64).collect::<Vec<_>>();
            let spam = draw(1 + round % 17, 2);
            let ham = draw(1 + round % 23, 0);
            let roc = Roc::of(&spam, &ham);
            let share = |scores: &[f64], t: f64| {
                scores.iter().filter(|&&s| s >= t).count() as f64 / scores.len() as f64
            };
            for lost in [0.0, 0.001, 0.1, 0.5, 1.0] {
                let thresholds = (0..20).map(f64::from).filter(|&t| share(&ham, t) <= lost + 1e-12);
                let best = thresholds.map(|t| share(&spam, t)).fold(0.0, f64::max);
                assert_eq!(roc.caught_at(lost), best, "{spam:?} {ham:?} {lost}");
            }
            let won = |s: f64, h: f64| {
                if s > h {
                    1.0
                } else if s == h {
                    0.5
                } else {
                    0.0
                }
            };
            let pairs: f64 = spam.iter().flat_map(|&s| ham.iter().map(move |&h| won(s, h))).sum();
            assert!((roc.auc() - pairs / (spam.len() * ham.len()) as f64).abs() < 1e-12);
        }
    }

    #[test]
    fn reliability_by_hand() {
        let rows = reliability(&[(0.2, false), (0.25, true), (1.0, true)]);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].messages, rows[0].was), (2, 0.5));
        assert!((rows[0].said - 0.225).abs() < 1e-12 && rows[1].said == 1.0);
    }
}
