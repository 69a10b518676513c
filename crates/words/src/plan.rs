//! Cutting the weights of each side into bins, and splitting the memory over the bins of both.

use seenit_filter::BinError;
use seenit_filter::bins::{Goal, KEYS_CUT_MAX, Plan, Schedule, Weights, anneal, best_cuts, compare};
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
    /// The weight of spam words that a word in no bin is credited with, on average.
    pub(crate) ham_credit: f64,
    /// How far a word's credit is from its weight, on average over the words of both sides.
    pub(crate) member_error: f64,
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
        let mut cut_sides = Vec::new();
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let mut sizes: Vec<f64> =
                weights.iter().map(|weight| sign * weight).filter(|&size| size > 0.0).collect();
            if sizes.is_empty() {
                continue;
            }
            sizes.sort_unstable_by(|a, b| b.total_cmp(a));
            // A side may use its own words' share of the memory.
            let share = (bits * sizes.len() as u64 / weights.len() as u64).max(1);
            let cuts = cuts(&sizes, bins, share, annealing_seed)?;
            let sizes = Weights::new(&sizes)?;
            planned.floors[side] = floors(sizes.sorted(), &cuts);
            planned
                .bins
                .extend(sizes.bins(&cuts).iter().map(|bin| Bin { weight: sign * bin.weight, ..*bin }));
            cut_sides.push((side, sizes, cuts));
        }
        let stakes: Vec<Bin> =
            planned.bins.iter().map(|bin| Bin { weight: bin.weight.abs(), ..*bin }).collect();
        planned.bits = Goal::StrangerCredit.real_split(&stakes, bits);
        let mut rest = &planned.bits[..];
        for (side, sizes, cuts) in cut_sides {
            let (mine, others) = rest.split_at(cuts.len());
            rest = others;
            let standing = compare(&sizes, &Plan::new(cuts, mine.to_vec())?)?.bin_filter;
            planned.ham_credit += if side == 0 { standing.stranger_credit } else { 0.0 };
            planned.member_error += standing.member_error() * sizes.keys() as f64 / weights.len() as f64;
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
    let (bins, bits) = (bins.min(sample.keys()), (bits / step as u64).max(1));
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
    let (above, below) =
        (sizes.partition_point(|&other| other > size), sizes.partition_point(|&other| other >= size));
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
            assert!(bins.ham_credit > 0.0 && bins.member_error > 0.0);
        }
    }

    /// Bins once ended at their lightest word: a word of all messages fell out of its bin when one was left out.
    #[test]
    fn a_word_that_loses_one_message_stays_in_its_bin() {
        let bins = Bins::of(&[600.0, 600.0, 600.0, 10.0, 10.0], 2, 200, None).expect("planned");
        assert_eq!((bins.place(590.0), bins.place(600.0)), (Some(0), Some(0)));
        assert_eq!((bins.place(9.0), bins.place(11.0)), (Some(1), Some(1)));
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
