//! One round: elements and hash functions anew, then every experiment on every filter.
//!
//! Experiments of one round share elements and hash functions, so that they differ in the insertions alone; the
//! paper says as much of its experiments 1 to 3, and of 4 and 5. Filters of one round share the order of insertions.

use seenit_filter::HugePages;
use seenit_filter::cells::{Cells, CellsMut, PackedCells, Packing};
use seenit_filter::counting::{Intuitive, Refined, Rule, count_at};
use seenit_filter::random::SplitMix;

use super::plan::{ELEMENTS, Law, Order, PROBES, Plan};
use super::universal::{self, Universal};
use crate::bench::LabError;
use crate::draw::{shuffle, stream};

/// Bits of a cell in the paper's simulations.
const CELL_BITS: u32 = 6;

/// Reports from which on the paper calls a message spam; it counts the cells above.
pub(super) const SPAM_THRESHOLD: u64 = 20;

/// What streams are for.
#[derive(Clone, Copy)]
pub(super) enum Stream {
    Elements = 1,
    Hashes = 2,
    Counts = 3,
    Order = 4,
    Strangers = 5,
    Sizes = 6,
}

/// Every stream of this experiment comes from here.
pub(super) fn stream_of(seed: u64, what: Stream, path: &[u64]) -> SplitMix {
    const COUNTING: u64 = 1;
    stream(seed, &[&[COUNTING, what as u64], path].concat())
}

/// What the counts of one variant were like after all insertions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Errors {
    /// Elements with a wrong count.
    pub(super) wrong: u32,
    /// Their insertions among all insertions: the rate of the tables.
    pub(super) rate: f64,
    /// Their share of the elements that were inserted.
    pub(super) distinct: f64,
    /// Cells that are full.
    pub(super) full: u32,
    /// Cells above [`SPAM_THRESHOLD`].
    pub(super) above: u32,
}

/// One experiment on one filter in one round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) inserted: u64,
    pub(super) intuitive: Errors,
    pub(super) refined: Errors,
    /// Elements that the refined variant counts higher than the intuitive one.
    pub(super) worse: u32,
    /// Elements that either variant counts too low.
    pub(super) too_low: u32,
    /// Experiment 1 alone.
    pub(super) passes: Option<Passes>,
}

/// How experiment 1 goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    /// Elements with a wrong count after the first, second and third pass.
    pub(super) wrong_after: [u32; 3],
    /// Elements that are wrong after the first pass and right in experiment 2, or the other way round.
    pub(super) unlike_in_a_row: u32,
}

/// How often each element is inserted, and in which order if they are shuffled.
#[derive(Clone, Debug)]
pub(super) struct Insertions {
    pub(super) law: Law,
    pub(super) counts: Vec<u32>,
    pub(super) shuffled: Vec<u16>,
}

impl Insertions {
    /// With these counts, in an order of this round.
    pub(super) fn new(law: Law, counts: Vec<u32>, rng: &mut SplitMix) -> Self {
        let elements = (0..ELEMENTS as u16).zip(&counts);
        let mut shuffled: Vec<u16> =
            elements.flat_map(|(element, &count)| std::iter::repeat_n(element, count as usize)).collect();
        shuffle(&mut shuffled, rng);
        Insertions { law, counts, shuffled }
    }
}

/// Different elements, uniform in what the hash functions take.
pub(super) fn draw_elements(rng: &mut SplitMix, how_many: usize) -> Vec<u64> {
    let mut seen = std::collections::HashSet::with_capacity(how_many);
    let draws = std::iter::repeat_with(|| 1 + rng.below(universal::P - 1));
    draws.filter(|&element| seen.insert(element)).take(how_many).collect()
}

/// The number of an experiment, and m and k of one of its filters.
pub(super) type Place = (u8, u64, u32);

/// The elements of a round and what is done with them.
pub(super) struct Round<'a> {
    pub(super) seed: u64,
    pub(super) number: u64,
    pub(super) elements: Vec<u64>,
    pub(super) insertions: Vec<Insertions>,
    pub(super) plans: &'a [&'static Plan],
}

impl Round<'_> {
    /// Every experiment on every filter, and what was seen.
    pub(super) fn run(&self) -> Result<Vec<(Place, Seen)>, LabError> {
        let mut sizes: Vec<u64> = self.plans.iter().flat_map(|plan| plan.sizes).copied().collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut all = Vec::new();
        for m in sizes {
            for k in PROBES {
                let seen = match k {
                    4 => self.run_filter::<4>(m)?,
                    6 => self.run_filter::<6>(m)?,
                    _ => self.run_filter::<8>(m)?,
                };
                all.extend(seen.into_iter().map(|(number, seen)| ((number, m, k), seen)));
            }
        }
        Ok(all)
    }

    pub(super) fn run_filter<const K: usize>(&self, m: u64) -> Result<Vec<(u8, Seen)>, LabError> {
        let mut draw = stream_of(self.seed, Stream::Hashes, &[self.number, m, K as u64]);
        let mut bench = FilterBench::<K>::new(m, &self.elements, &mut draw)?;
        let mut all = Vec::new();
        for insertions in &self.insertions {
            let plans =
                self.plans.iter().filter(|plan| plan.law == insertions.law && plan.sizes.contains(&m));
            let plans: Vec<_> = plans.collect();
            if !plans.is_empty() {
                bench.intuitive(insertions);
                all.extend(plans.iter().map(|plan| (plan.number, bench.refined(insertions, plan.order))));
            }
        }
        // What experiment 1 is after its first pass, experiment 2 should be.
        for (_, seen) in &mut all {
            if let Some(passes) = &mut seen.passes {
                passes.unlike_in_a_row = bench.unlike_in_a_row();
            }
        }
        Ok(all)
    }
}

/// The cells of one (m, k), used again and again, and where the elements' cells lie.
pub(super) struct FilterBench<const K: usize> {
    pub(super) cells: PackedCells,
    pub(super) addresses: Vec<[u64; K]>,
    hashes: Universal,
    intuitive: (Errors, Vec<u64>),
    wrong_after_first: Option<Vec<bool>>,
    wrong_in_a_row: Option<Vec<bool>>,
}

impl<const K: usize> FilterBench<K> {
    pub(super) fn new(m: u64, elements: &[u64], draw: &mut SplitMix) -> Result<Self, LabError> {
        let hashes = Universal::new(K, m, draw);
        let cells = PackedCells::zeroed(Packing::new(CELL_BITS)?, m, HugePages::Default)?;
        let mut bench = FilterBench {
            cells,
            addresses: Vec::new(),
            hashes,
            intuitive: Default::default(),
            wrong_after_first: None,
            wrong_in_a_row: None,
        };
        bench.addresses = elements.iter().map(|&element| bench.address(element)).collect();
        Ok(bench)
    }

    /// Where an element's cells lie.
    pub(super) fn address(&self, element: u64) -> [u64; K] {
        let mut addresses = [0; K];
        for (address, cell) in addresses.iter_mut().zip(self.hashes.positions(element)) {
            *address = self.cells.address(cell);
        }
        addresses
    }

    pub(super) fn clear(&mut self) {
        if let Some((_, words)) = self.cells.packed_mut() {
            words.fill(0);
        }
    }

    /// All insertions of an element at once: a weighted insertion is so many single ones.
    pub(super) fn insert_in_a_row<R: Rule>(&mut self, counts: &[u32]) {
        for (key, &count) in self.addresses.iter().zip(counts) {
            if count > 0 {
                R::add_at(&mut self.cells, key, u64::from(count));
            }
        }
    }

    /// One insertion after the other.
    pub(super) fn insert_shuffled<R: Rule>(&mut self, order: &[u16]) {
        for &element in order {
            R::add_at(&mut self.cells, &self.addresses[usize::from(element)], 1);
        }
    }

    /// The intuitive variant, whose cells do not depend on the order.
    fn intuitive(&mut self, insertions: &Insertions) {
        self.clear();
        self.insert_in_a_row::<Intuitive>(&insertions.counts);
        let counted = self.count_all();
        self.intuitive = (self.errors(&insertions.counts, &counted), counted);
    }

    fn refined(&mut self, insertions: &Insertions, order: Order) -> Seen {
        self.clear();
        let counts = &insertions.counts;
        let passes = match order {
            Order::Passes => Some(self.insert_in_passes(counts[0])),
            Order::InARow => {
                self.insert_in_a_row::<Refined>(counts);
                None
            }
            Order::Shuffled => {
                self.insert_shuffled::<Refined>(&insertions.shuffled);
                None
            }
        };
        let counted = self.count_all();
        if order == Order::InARow && !insertions.law.is_random() {
            self.wrong_in_a_row = Some(wrong(counts, &counted));
        }
        let (intuitive, by_intuitive) = &self.intuitive;
        let counts_of = || counts.iter().map(|&count| u64::from(count)).zip(counted.iter().zip(by_intuitive));
        let inserted = || counts_of().filter(|(count, _)| *count > 0);
        Seen {
            inserted: inserted().count() as u64,
            intuitive: *intuitive,
            refined: self.errors(counts, &counted),
            worse: inserted().filter(|(_, (refined, intuitive))| refined > intuitive).count() as u32,
            too_low: inserted().filter(|(count, (a, b))| *a < count || *b < count).count() as u32,
            passes,
        }
    }

    /// Pass after pass, with a look at the counts after each of the first three.
    fn insert_in_passes(&mut self, passes: u32) -> Passes {
        let mut seen = Passes::default();
        for pass in 1..=passes {
            for key in &self.addresses {
                Refined::add_at(&mut self.cells, key, 1);
            }
            if let Some(after) = seen.wrong_after.get_mut(pass as usize - 1) {
                let wrong = wrong(&[pass; ELEMENTS], &self.count_all());
                *after = wrong.iter().filter(|&&wrong| wrong).count() as u32;
                if pass == 1 {
                    self.wrong_after_first = Some(wrong);
                }
            }
        }
        seen
    }

    fn unlike_in_a_row(&self) -> u32 {
        let first = self.wrong_after_first.iter().flatten();
        let in_a_row = self.wrong_in_a_row.iter().flatten();
        first.zip(in_a_row).filter(|(a, b)| a != b).count() as u32
    }

    /// What the cells say of each element.
    fn count_all(&self) -> Vec<u64> {
        self.addresses.iter().map(|key| count_at(&self.cells, key).value).collect()
    }

    fn errors(&self, counts: &[u32], counted: &[u64]) -> Errors {
        let mut found = Errors::default();
        let mut inserted = 0u32;
        let mut all = 0u64;
        let mut erroneous = 0u64;
        for (&count, &counted) in counts.iter().zip(counted).filter(|(count, _)| **count > 0) {
            let is_wrong = u64::from(count) != counted;
            inserted += 1;
            all += u64::from(count);
            found.wrong += u32::from(is_wrong);
            erroneous += if is_wrong { u64::from(count) } else { 0 };
        }
        found.rate = erroneous as f64 / all as f64;
        found.distinct = f64::from(found.wrong) / f64::from(inserted);
        let cap = self.cells.cap();
        self.cells.for_each_nonzero(|_, value| {
            found.full += u32::from(value == cap);
            found.above += u32::from(value > SPAM_THRESHOLD);
        });
        found
    }
}

/// Which elements have a wrong count.
fn wrong(counts: &[u32], counted: &[u64]) -> Vec<bool> {
    counts.iter().zip(counted).map(|(&count, &counted)| u64::from(count) != counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::plan::PLANS;

    fn round(plans: &[&'static Plan]) -> (Vec<u64>, Vec<Insertions>) {
        let elements = draw_elements(&mut SplitMix(1), ELEMENTS);
        let mut laws: Vec<Law> = plans.iter().map(|plan| plan.law).collect();
        laws.dedup();
        let insertions =
            laws.into_iter().map(|law| Insertions::new(law, law.draw(&mut SplitMix(2)), &mut SplitMix(3)));
        (elements, insertions.collect())
    }

    /// Each insertion by itself, in cells of any height: the elements with a wrong count, intuitive and refined.
    fn naive(elements: &[u64], hashes: &Universal, m: u64, order: &[u16], counts: &[u32]) -> [u32; 2] {
        let positions = elements.iter().map(|&element| {
            let mut positions: Vec<usize> = hashes.positions(element).map(|cell| cell as usize).collect();
            positions.sort_unstable();
            positions.dedup();
            positions
        });
        let positions: Vec<_> = positions.collect();
        let mut cells = [vec![0u32; m as usize], vec![0u32; m as usize]];
        for &element in order {
            let key = &positions[usize::from(element)];
            let least = key.iter().map(|&cell| cells[1][cell]).min();
            for &cell in key {
                cells[0][cell] += 1;
                cells[1][cell] += u32::from(Some(cells[1][cell]) == least);
            }
        }
        cells.map(|cells| {
            let wrong = positions.iter().zip(counts).filter(|(key, count)| {
                **count > 0 && key.iter().map(|&cell| cells[cell]).min() != Some(**count)
            });
            wrong.count() as u32
        })
    }

    #[test]
    fn a_round_is_what_single_insertions_into_plain_arrays_give() {
        let plans: Vec<_> = PLANS.iter().collect();
        let (elements, insertions) = round(&plans);
        let round = Round { seed: 5, number: 6, elements, insertions, plans: &plans };
        let m = 80_000;
        let seen = round.run_filter::<6>(80_000).expect("memory");
        assert_eq!(seen.len(), 8);
        let mut draw = stream_of(5, Stream::Hashes, &[6, m, 6]);
        let hashes = Universal::new(6, m, &mut draw);
        for (number, seen) in seen {
            let plan = &PLANS[usize::from(number) - 1];
            let insertions = round.insertions.iter().find(|one| one.law == plan.law).expect("drawn");
            let mut order = insertions.shuffled.clone();
            match plan.order {
                Order::Shuffled => {}
                Order::InARow => order.sort_unstable(),
                Order::Passes => order = (0..20).flat_map(|_| 0..ELEMENTS as u16).collect(),
            }
            let expected = naive(&round.elements, &hashes, m, &order, &insertions.counts);
            assert_eq!([seen.intuitive.wrong, seen.refined.wrong], expected, "experiment {number}");
            assert!(expected[0] > expected[1] && expected[1] > 0, "experiment {number}: {expected:?}");
            assert_eq!((seen.worse, seen.too_low), (0, 0));
        }
    }

    #[test]
    fn the_rate_weighs_elements_by_their_insertions() {
        let (elements, insertions) = round(&[&PLANS[3]]);
        let mut bench = FilterBench::<4>::new(80_000, &elements, &mut SplitMix(4)).expect("memory");
        bench.insert_in_a_row::<Intuitive>(&insertions[0].counts);
        let counts = &insertions[0].counts;
        let mut counted = bench.count_all();
        counted.iter_mut().zip(counts).for_each(|(counted, &count)| *counted = u64::from(count));
        assert_eq!(bench.errors(counts, &counted).wrong, 0);
        let element = counts.iter().position(|&count| count == 7).expect("some come seven times");
        let never = counts.iter().position(|&count| count == 0).expect("some never come");
        counted[element] += 1;
        counted[never] += 1;
        let errors = bench.errors(counts, &counted);
        let all = counts.iter().sum::<u32>();
        assert_eq!(
            (errors.wrong, errors.rate),
            (1, 7.0 / f64::from(all)),
            "those that never come do not count"
        );
        let inserted = counts.iter().filter(|&&count| count > 0).count();
        assert_eq!(errors.distinct, 1.0 / inserted as f64);
    }
}
