//! What a word weighs: how many times more often it stands in the messages of one side.

use crate::count::Count;

/// What is added to the counts of a word, were both sides of one size. A tenth makes a word of one message weigh about
/// 10, which is what such words turned out to be worth on messages they were not counted in.
pub const SMOOTHING: f64 = 0.1;

/// The largest weight. Words that one side alone uses have no upper bound but this.
pub const WEIGHT_CAP: f64 = 1000.0;

/// Words that weigh less say next to nothing, and are not kept.
pub const LEAST: f64 = 1.5;

/// The paper's `Ps/Pns`, smoothed and capped; where it is below 1, its inverse with a minus: good words. Zero when it
/// says too little to be kept.
///
/// `Ps/Pns = (s/Ns + a/N) / (h/Nh + a/N)` of a word that stands in s of Ns spam messages and in h of Nh good ones, with
/// a = [`SMOOTHING`] and N the mean of Ns and Nh. The same is added to both shares, so a word that one side alone uses
/// is always a word of that side, however few messages the other has.
pub fn weight(word: Count, messages: Count) -> f64 {
    let added = SMOOTHING / (0.5 * messages.all() as f64);
    let share = |word: u32, all: u32| f64::from(word) / f64::from(all.max(1)) + added;
    let ratio = share(word.spam, messages.spam) / share(word.ham, messages.ham);
    let (side, size) = if ratio >= 1.0 { (1.0, ratio) } else { (-1.0, 1.0 / ratio) };
    if word.all() == 0 || size < LEAST { 0.0 } else { side * size.min(WEIGHT_CAP) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_and_the_cap() {
        let all = Count { spam: 1000, ham: 1000 };
        let of = |spam, ham| weight(Count { spam, ham }, all);
        assert!((of(10, 1) - 10.1 / 1.1).abs() < 1e-12);
        assert!((of(10, 1) + of(1, 10)).abs() < 1e-12);
        assert_eq!(of(500, 0), WEIGHT_CAP);
        assert_eq!((of(10, 9), of(0, 0)), (0.0, 0.0));
    }

    /// With thirty spam messages and thousands of good ones, words of one good message once were spam words.
    #[test]
    fn a_word_that_one_side_alone_uses_is_that_side_s() {
        let all = Count { spam: 30, ham: 4000 };
        assert!(weight(Count { spam: 0, ham: 1 }, all) <= 0.0);
        assert!(weight(Count { spam: 1, ham: 0 }, all) > 0.0);
    }
}
