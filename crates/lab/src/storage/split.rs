//! Split storage filled with counts that fall as a power of their rank: what each shape takes, and which is chosen.

use std::collections::BTreeMap;

use rayon::prelude::*;
use seenit_filter::cells::split::{LOW_BITS_MAX, Savings, choose, expected_bytes};
use seenit_filter::cells::{Cells, CellsMut, Split, SplitCells};
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::hash::SipKey;
use seenit_filter::maths::entropy;
use seenit_filter::{Flat, HugePages, PAGE_BYTES};

use super::{Options, STREAM};
use crate::bench::{Bench, LabError};
use crate::draw;

/// Cells a signature and hashes of a signature: the paper's middle size, 160K cells for 10,000 signatures.
pub(super) const CELLS_PER_SIGNATURE: u64 = 16;
pub(super) const HASHES: u32 = 4;

/// Numbers of chunks. More than there are pages cannot be had.
pub(super) const CHUNKS: [u64; 4] = [1, 4, 16, 64];

/// Counts of one exponent, and what they take.
pub(super) struct Counts {
    pub(super) exponent: f64,
    pub(super) signatures: u64,
    /// The most frequent signature's count.
    pub(super) top: u64,
    pub(super) shapes: Vec<Shape>,
    /// What the chooser took, for the cells of the first round.
    pub(super) choice: Savings,
    /// Bits a signature of the shape it took, built and measured.
    pub(super) chosen_bits: f64,
    /// What no storage can be below that knows how many cells have which value, but not where: bits a signature.
    pub(super) entropy_bits: f64,
    /// The share of cells that hold something.
    pub(super) filled: f64,
}

/// One shape of storage, and the bits a signature takes in it.
pub(super) struct Shape {
    pub(super) split: Split,
    /// Built and filled, mean over rounds.
    pub(super) measured: f64,
    /// What the chooser reckons with, likewise.
    pub(super) expected: f64,
    /// The base alone, without tables.
    pub(super) base: f64,
    /// The share of cells with a high part.
    pub(super) flagged: f64,
}

impl Counts {
    /// The shape that took the fewest bits.
    pub(super) fn best(&self) -> &Shape {
        let least = |best: &'_ Shape, next: &'_ Shape| next.measured < best.measured;
        self.shapes
            .iter()
            .skip(1)
            .fold(&self.shapes[0], |best, next| if least(best, next) { next } else { best })
    }

    /// Bits a signature of `bytes`.
    pub(super) fn bits_a_signature(&self, bytes: f64) -> f64 {
        8.0 * bytes / self.signatures as f64
    }

    pub(super) fn shape(&self, low_bits: u32, chunks: u64) -> Option<&Shape> {
        self.shapes.iter().find(|one| (one.split.low_bits(), one.split.chunks()) == (low_bits, chunks))
    }
}

/// What one round found: the cells' values, and the bytes of each shape.
struct Round {
    histogram: Vec<(u64, u64)>,
    /// Measured and expected.
    bytes: Vec<(f64, f64)>,
    chosen: Savings,
    chosen_bytes: f64,
}

/// Fills all shapes with counts of every exponent.
pub(super) fn run(options: &Options, bench: &Bench<'_>) -> Result<Vec<Counts>, LabError> {
    let rounds = bench.rounds_or(4, 2);
    let signatures = options.signatures;
    let jobs: Vec<(f64, u32)> = options
        .exponents
        .iter()
        .flat_map(|&exponent| (0..rounds).map(move |round| (exponent, round)))
        .collect();
    bench.progress.begin("storage: split cells", jobs.len() as u64);
    let found: Vec<Round> = jobs
        .par_iter()
        .map(|&(exponent, number)| {
            let round = round(options, exponent, number, bench.seed)?;
            bench.progress.advance(1);
            Ok(round)
        })
        .collect::<Result<_, LabError>>()?;
    let of_rounds = options.exponents.iter().zip(found.chunks_exact(rounds as usize));
    of_rounds.map(|(&exponent, rounds)| counts(exponent, signatures, rounds)).collect()
}

fn shapes() -> Result<Vec<Split>, LabError> {
    let all = (1..=LOW_BITS_MAX).flat_map(|low_bits| CHUNKS.map(|chunks| Split::new(low_bits, chunks)));
    Ok(all.collect::<Result<_, _>>()?)
}

fn round(options: &Options, exponent: f64, number: u32, seed: u64) -> Result<Round, LabError> {
    let (cells, values) = values(options, exponent, number, seed)?;
    let mut histogram = BTreeMap::new();
    values.iter().for_each(|&(_, value)| *histogram.entry(value).or_insert(0u64) += 1);
    let histogram: Vec<(u64, u64)> = histogram.into_iter().collect();
    let bytes = shapes()?
        .into_iter()
        .map(|split| Ok((built(split, cells, &values)?, expected_bytes(&split, cells, &histogram))))
        .collect::<Result<_, LabError>>()?;
    let chosen = choose(cells, &histogram)?;
    Ok(Round { bytes, chosen_bytes: built(chosen.split, cells, &values)?, chosen, histogram })
}

/// The cells of a refined counting filter that hold something, and how many cells there are.
fn values(
    options: &Options,
    exponent: f64,
    number: u32,
    seed: u64,
) -> Result<(u64, Vec<(u64, u64)>), LabError> {
    let cells = options.signatures * CELLS_PER_SIGNATURE;
    let storage = SplitCells::zeroed(Split::new(LOW_BITS_MAX, 1)?, cells, HugePages::Default)?;
    let fingerprint = SipKey::public().fingerprint();
    let layout = Flat::new(cells, HASHES)?;
    let mut filter = CountingFilter::<Refined, Flat, SplitCells>::new(layout, storage, None, fingerprint)?;
    let mut random = draw::stream(seed, &[STREAM, 0, exponent.to_bits(), u64::from(number)]);
    let mut ranks: Vec<u64> = (1..=options.signatures).collect();
    draw::shuffle(&mut ranks, &mut random);
    for rank in ranks {
        filter.insert_weighted(random.hash(), count_of(options.signatures, rank, exponent));
    }
    let mut values = Vec::new();
    filter.cells().for_each_nonzero(|cell, value| values.push((cell, value)));
    Ok((cells, values))
}

/// How often the signature of this rank was reported; the last one once.
fn count_of(signatures: u64, rank: u64, exponent: f64) -> u64 {
    (signatures as f64 / rank as f64).powf(exponent).round() as u64
}

/// The bytes of storage of this shape once it holds these values. Every value must be found again.
fn built(split: Split, cells: u64, values: &[(u64, u64)]) -> Result<f64, LabError> {
    let mut storage = SplitCells::zeroed(split, cells, HugePages::Default)?;
    values.iter().for_each(|&(cell, value)| storage.set(cell, value));
    let lost = values.iter().find(|&&(cell, value)| storage.get(cell) != value);
    assert_eq!(lost, None, "{split:?} lost a count");
    Ok(storage.memory_bytes() as f64)
}

fn counts(exponent: f64, signatures: u64, rounds: &[Round]) -> Result<Counts, LabError> {
    let bits = |bytes: f64| 8.0 * bytes / signatures as f64;
    let mean = |of: &dyn Fn(&Round) -> f64| rounds.iter().map(of).sum::<f64>() / rounds.len() as f64;
    let cells = signatures * CELLS_PER_SIGNATURE;
    let first = &rounds[0];
    let flagged = |split: &Split| {
        let high = first.histogram.iter().filter(|(value, _)| value >> split.low_bits() > 0);
        high.map(|&(_, count)| count).sum::<u64>() as f64 / cells as f64
    };
    let shapes = shapes()?
        .into_iter()
        .enumerate()
        .map(|(place, split)| Shape {
            split,
            measured: bits(mean(&|round| round.bytes[place].0)),
            expected: bits(mean(&|round| round.bytes[place].1)),
            base: bits((split.base().pages(cells) * PAGE_BYTES as u64) as f64),
            flagged: flagged(&split),
        })
        .collect();
    let filled: u64 = first.histogram.iter().map(|&(_, count)| count).sum();
    let of_values = first.histogram.iter().map(|&(_, count)| count).chain([cells - filled]);
    Ok(Counts {
        exponent,
        signatures,
        top: count_of(signatures, 1, exponent),
        shapes,
        choice: first.chosen,
        chosen_bits: bits(first.chosen_bytes),
        entropy_bits: entropy::of_counts(of_values) / signatures as f64,
        filled: filled as f64 / cells as f64,
    })
}
