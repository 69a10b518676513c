//! How full the lines of a table of fingerprints are, and how often a stranger is taken for a key.
//!
//! A new key goes to the emptier of two lines. With many lines the share `s_i` of lines that hold `i` keys or more
//! follows, per key and line (Mitzenmacher's fluid limit of two choices),
//!
//! ```text
//! ds_i/dt = s_(i-1)^2 - s_i^2  +  s_8^2 (1 + s_8 + ... + s_8^5) (s_(i-1) - s_i)
//! ```
//!
//! from `s_0 = 1`, all others 0. The second term is of the keys that found both lines full, with probability `s_8^2`,
//! and then one further line after the other, of six.
//!
//! A stranger is compared with the keys of two lines, and of further ones if those are full: with
//! `a (2 + s_8^2 (1 + s_8 + ... + s_8^5))` keys, where a line holds `a` on average. Each has its print with probability
//! `1 / (2^24 - 1)`.

use crate::table::{LINE_SLOTS, LINES_MAX, PRINTS};

/// Steps of the integration, per key and line. Sixteen times as many change no digit that is shown.
const STEPS_PER_KEY: f64 = 256.0;

/// The lines of a table that keys were only ever added to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// `at_least[i]`: the share of lines that hold i keys or more.
    pub at_least: [f64; LINE_SLOTS + 1],
    /// The share of keys that lie beyond their first two lines.
    pub beyond: f64,
    /// The expected number of keys that found no room at all, per line.
    pub refused: f64,
}

/// The expected number of further lines that are looked at where a line is full with probability `full`:
/// `full^2 (1 + full + ... + full^5)`.
pub(crate) fn further_lines(full: f64) -> f64 {
    (2..LINES_MAX as i32).map(|lines| full.powi(lines)).sum()
}

/// The lines of a table of which each holds `keys_per_line` keys on average.
pub fn occupancy(keys_per_line: f64) -> Occupancy {
    let steps = (keys_per_line * STEPS_PER_KEY).ceil().max(1.0);
    let step = keys_per_line / steps;
    let mut at_least = [0.0; LINE_SLOTS + 1];
    at_least[0] = 1.0;
    let (mut beyond, mut refused) = (0.0, 0.0);
    for _ in 0..steps as u64 {
        // The midpoint rule.
        let middle = moved(&at_least, &slope(&at_least), step / 2.0);
        let full = middle[LINE_SLOTS];
        at_least = moved(&at_least, &slope(&middle), step);
        beyond += step * (full * full - full.powi(LINES_MAX as i32));
        refused += step * full.powi(LINES_MAX as i32);
    }
    let beyond = if keys_per_line > 0.0 { beyond / keys_per_line } else { 0.0 };
    Occupancy { at_least, beyond, refused }
}

fn slope(at_least: &[f64; LINE_SLOTS + 1]) -> [f64; LINE_SLOTS + 1] {
    let further = further_lines(at_least[LINE_SLOTS]);
    std::array::from_fn(|i| {
        let Some(below) = i.checked_sub(1).map(|below| at_least[below]) else { return 0.0 };
        (below * below - at_least[i] * at_least[i]) + further * (below - at_least[i])
    })
}

fn moved(from: &[f64; LINE_SLOTS + 1], slope: &[f64; LINE_SLOTS + 1], step: f64) -> [f64; LINE_SLOTS + 1] {
    std::array::from_fn(|i| from[i] + step * slope[i])
}

/// The chance that a stranger is taken for a key where a line holds `keys_per_line` on average and a share `full` of
/// the lines has no empty slot.
pub fn rate(keys_per_line: f64, full: f64) -> f64 {
    keys_per_line * (2.0 + further_lines(full)) / PRINTS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_neither_lost_nor_made() {
        for keys_per_line in [0.0, 0.5, 3.0, 6.8, 7.5] {
            let lines = occupancy(keys_per_line);
            let held: f64 = lines.at_least[1..].iter().sum();
            assert!((held + lines.refused - keys_per_line).abs() < 1e-5, "{keys_per_line}: {lines:?}");
            assert!(lines.at_least.is_sorted_by(|more, fewer| more >= fewer));
        }
    }

    #[test]
    fn a_stranger_is_compared_with_two_lines_and_more_when_they_are_full() {
        assert_eq!(rate(0.0, 0.0), 0.0);
        assert!((rate(4.0, 0.0) * PRINTS as f64 - 8.0).abs() < 1e-12);
        assert!((rate(8.0, 1.0) * PRINTS as f64 - 64.0).abs() < 1e-12);
    }
}
