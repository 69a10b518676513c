//! What a word weighs: how many times more often it stands in the messages of one side.

use crate::count::Count;

/// What is added to both counts of a word. A tenth makes a word of one message weigh about 10, which is what such words
/// turned out to be worth on messages they were not counted in.
pub const SMOOTHING: f64 = 0.1;

/// The largest weight. Words that one side alone uses have no upper bound but this.
pub const WEIGHT_CAP: f64 = 1000.0;

/// Words that weigh less say next to nothing, and are not kept.
pub const LEAST: f64 = 1.5;

/// The paper's `Ps/Pns`, smoothed and capped; where it is below 1, its inverse with a minus: good words. Zero when it
/// says too little to be kept.
///
/// `Ps/Pns = ((s + a)/(Ns + 2a)) / ((h + a)/(Nh + 2a))` of a word that stands in s of Ns spam messages and in h of Nh
/// good ones, with a = [`SMOOTHING`].
pub fn weight(word: Count, messages: Count) -> f64 {
    let share = |word: u32, all: u32| (f64::from(word) + SMOOTHING) / (f64::from(all) + 2.0 * SMOOTHING);
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
        assert_eq!(of(10, 1), -of(1, 10));
        assert_eq!(of(500, 0), WEIGHT_CAP);
        assert_eq!((of(10, 9), of(0, 0)), (0.0, 0.0));
    }
}
