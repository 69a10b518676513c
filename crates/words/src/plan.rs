//! Cutting the weights of each side into bins, and splitting the memory over the bins of both.

use seenit_filter::BinError;
use seenit_filter::bins::{Goal, KEYS_CUT_MAX, Schedule, Weights, anneal, best_cuts};
use seenit_filter::maths::bins::Bin;

/// Moves of annealing: some tenths of a second, and within a percent of the best cuts.
const ANNEAL_MOVES: u64 = 100_000;

/// The bins of both sides: spam words first, each side heaviest first.
#[derive(Debug, Default)]
pub(crate) struct Bins {
    /// Keys and mean weights; negative for good words.
    pub(crate) bins: Vec<Bin>,
    /// The bits of each.
    pub(crate) bits: Vec<u64>,
    /// For spam words and good words: where each bin ends on the scale of weights.
    floors: [Vec<f64>; 2],
}

impl Bins {
    /// Of these weights, negative for good words: up to `bins` bins a side, `bits` bits in all.
    pub(crate) fn of(
        weights: &[f64],
        bins: usize,
        bits: u64,
        annealing_seed: Option<u64>,
    ) -> Result<Bins, BinError> {
        let mut planned = Bins::default();
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let mut sizes: Vec<f64> =
                weights.iter().map(|weight| sign * weight).filter(|&size| size > 0.0).collect();
            if sizes.is_empty() {
                continue;
            }
            sizes.sort_unstable_by(|a, b| b.total_cmp(a));
            // A side may use its own words' share of the memory.
            let share = u128::from(bits) * sizes.len() as u128 / weights.len() as u128;
            let cuts = cuts(&sizes, bins, (share as u64).max(1), annealing_seed)?;
            let sizes = Weights::new(&sizes)?;
            planned.floors[side] = floors(sizes.sorted(), &cuts);
            planned
                .bins
                .extend(sizes.bins(&cuts).iter().map(|bin| Bin { weight: sign * bin.weight, ..*bin }));
        }
        let stakes: Vec<Bin> =
            planned.bins.iter().map(|bin| Bin { weight: bin.weight.abs(), ..*bin }).collect();
        planned.bits = Goal::AbsentCredit.real_split(&stakes, bits);
        // A whole side may get nothing. Where the bits are too few to tell any word from any other no bin gets some,
        // but a file has a bin: the first one takes them all, and fires for every word.
        if planned.bits.iter().all(|&bits| bits == 0) {
            planned.bits[0] = bits;
        }
        Ok(planned)
    }

    /// The place of a word with this weight: none if it has no weight, or its bin has no bits.
    pub(crate) fn place(&self, weight: f64) -> Option<usize> {
        let side = usize::from(weight < 0.0);
        let place = self.floors[side].iter().position(|&floor| weight.abs() >= floor)?;
        let place = place + if side == 1 { self.floors[0].len() } else { 0 };
        (weight != 0.0 && self.bits[place] > 0).then_some(place)
    }
}

/// Where bins of these sizes, heaviest first, end. Words of one weight are never parted, so there may be fewer bins.
fn cuts(sizes: &[f64], bins: usize, bits: u64, annealing_seed: Option<u64>) -> Result<Vec<usize>, BinError> {
    // The exact programme takes so many keys; of more every second, every third, ... stands for its neighbours.
    let step = match annealing_seed {
        Some(_) => 1,
        None => sizes.len().div_ceil(KEYS_CUT_MAX as usize),
    };
    let sample = Weights::new(&sizes.iter().copied().step_by(step).collect::<Vec<_>>())?;
    let bins = bins.min(sample.keys());
    let bits = (bits / step as u64).max(1);
    let goal = Goal::Invalidation;
    let found = match annealing_seed {
        None => best_cuts(goal, &sample, bins, bits)?.cuts,
        Some(seed) => {
            let even = goal.ideal_cost(&sample.bins(&sample.even_cuts(bins)?), bits as f64);
            anneal(goal, &sample, bins, bits, Schedule::tuned(even, ANNEAL_MOVES), seed)?.cuts
        }
    };
    let mut cuts: Vec<usize> = found.iter().map(|&cut| whole(sizes, (cut * step).min(sizes.len()))).collect();
    cuts.push(sizes.len());
    cuts.dedup();
    Ok(cuts)
}

/// Where each bin ends on the scale of weights: half way, in logarithms, to the next bin's heaviest word. A word that
/// loses one message weighs a little less; it must not fall out of a bin whose words all weigh the same.
fn floors(sizes: &[f64], cuts: &[usize]) -> Vec<f64> {
    let floor = |&cut: &usize| sizes.get(cut).map_or(0.0, |next| (sizes[cut - 1] * next).sqrt());
    cuts.iter().map(floor).collect()
}

/// The nearest cut that does not part words of one weight.
fn whole(sizes: &[f64], cut: usize) -> usize {
    let size = sizes[cut - 1];
    let above = sizes.partition_point(|&other| other > size);
    let below = sizes.partition_point(|&other| other >= size);
    if above > 0 && cut - above < below - cut { above } else { below }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_filter::random::SplitMix;

    #[test]
    fn every_word_is_in_the_bin_of_its_weight() {
        let mut random = SplitMix(3);
        let weights: Vec<f64> = (0..3000)
            .map(|_| {
                (1.5 + 20.0 * random.unit().powi(3)).round() * if random.below(3) == 0 { 1.0 } else { -1.0 }
            })
            .collect();
        for seed in [None, Some(5)] {
            let bins = Bins::of(&weights, 6, 30_000, seed).expect("planned");
            assert_eq!(bins.bits.iter().sum::<u64>(), 30_000);
            let mut keys = vec![0; bins.bins.len()];
            for &weight in &weights {
                if let Some(place) = bins.place(weight) {
                    keys[place] += 1;
                    assert_eq!(bins.bins[place].weight < 0.0, weight < 0.0);
                }
            }
            for (place, bin) in bins.bins.iter().enumerate().filter(|(place, _)| bins.bits[*place] > 0) {
                assert_eq!(bin.keys, keys[place], "bin {place}");
            }
        }
    }

    /// Bins once ended at their lightest word: a word of all messages fell out of its bin when one was left out.
    #[test]
    fn a_word_that_loses_one_message_stays_in_its_bin() {
        let bins = Bins::of(&[600.0, 600.0, 600.0, 10.0, 10.0], 2, 200, None).expect("planned");
        assert_eq!((bins.place(590.0), bins.place(600.0)), (Some(0), Some(0)));
        assert_eq!((bins.place(9.0), bins.place(11.0)), (Some(1), Some(1)));
    }

    /// Training once failed, with "bits must be at least 1, not 0", where all the memory went to one side.
    #[test]
    fn a_side_may_get_no_bits_and_few_bits_still_make_a_bin() {
        let weights: Vec<f64> = [1000.0; 20].into_iter().chain([-1.6]).collect();
        let bins = Bins::of(&weights, 8, 8 * 21, None).expect("planned");
        assert_eq!((bins.bits.as_slice(), bins.floors[1].len()), ([8 * 21, 0].as_slice(), 1));
        assert_eq!((bins.place(1000.0), bins.place(-1.6)), (Some(0), None));
        for bits in 1..=60 {
            let bins = Bins::of(&weights, 8, bits, None).expect("planned");
            assert_eq!(bins.bits.iter().sum::<u64>(), bits);
        }
        let many = Bins::of(&[2.0; 5000], 8, 1, None).expect("planned");
        assert_eq!(many.bits, [1], "a filter of one bit fires for all, and is one");
    }

    #[test]
    fn a_product_of_bits_and_words_does_not_wrap() {
        let bins = Bins::of(&[3.0, 3.0, -3.0, -3.0], 1, u64::MAX / 2, None);
        assert!(bins.is_err_and(|error| error.to_string().contains("limit")));
    }

    #[test]
    fn one_word_and_one_side_are_enough() {
        let bins = Bins::of(&[3.0], 8, 64, None).expect("planned");
        assert_eq!(
            (bins.bins.len(), bins.place(3.0), bins.place(-3.0), bins.place(0.0)),
            (1, Some(0), None, None)
        );
    }
}
