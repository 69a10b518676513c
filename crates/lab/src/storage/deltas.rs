//! Deltas of real filters that took more keys, or other keys: their bytes beside the fewest that can say it.

use rayon::prelude::*;
use seenit_filter::cells::{Cells, PackedCells, Packing};
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::delta::{
    Applied, BitGain, Bound, CountGain, DeltaError, Diff, ENVELOPE_BYTES, Follower, bound_of_bits,
    bound_of_cells, cells,
};
use seenit_filter::file::{self, FileView};
use seenit_filter::hash::SipKey;
use seenit_filter::random::SplitMix;
use seenit_filter::{AnyLayout, Filter, Flat, HugePages, Layout};

use super::{Options, STREAM};
use crate::bench::{Bench, LabError};
use crate::draw;

/// Hashes of a key: those of a filter for one in a hundred.
const HASHES: u32 = 7;

/// The shares of bits or cells that new keys are to change; what they did change is measured.
const RATES: [f64; 11] = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 0.5];

/// The kinds of deltas, and what they are about.
pub(super) const KINDS: [(&str, Make); 5] = [
    ("bits-gain", bits_gain),
    ("bits-diff", bits_diff),
    ("cells4-gain", |base, rate| cells_gain(4, base, rate)),
    ("cells8-gain", |base, rate| cells_gain(8, base, rate)),
    ("cells8-diff", |base, rate| cells_diff(8, base, rate)),
];

type Make = fn(&Base, f64) -> Result<Made, LabError>;

/// What the filters of one kind have in common.
pub(super) struct Base {
    bytes: u64,
    random: SplitMix,
}

/// A delta that was made, and whether it led to the new state.
pub(super) struct Made {
    /// Without the envelope.
    bytes: u64,
    bound: Bound,
    /// Bits or cells that could have changed.
    places: u64,
    exact: bool,
}

/// A delta, measured.
pub(super) struct Delta {
    pub(super) kind: &'static str,
    /// The share of places that changed: zeros for a gain of bits, else all bits or cells.
    pub(super) change_rate: f64,
    /// Without the envelope.
    pub(super) bytes: u64,
    pub(super) bound_bytes: u64,
    /// The bytes of the filter itself.
    pub(super) filter_bytes: u64,
    /// Applied to the old state it gave the new one.
    pub(super) exact: bool,
}

impl Delta {
    pub(super) fn ratio(&self) -> f64 {
        self.bytes as f64 / self.bound_bytes.max(1) as f64
    }
}

/// Makes deltas of every kind at every rate.
pub(super) fn run(options: &Options, bench: &Bench<'_>) -> Result<Vec<Delta>, LabError> {
    bench.progress.begin("storage: deltas", (KINDS.len() * RATES.len()) as u64);
    let jobs: Vec<(usize, f64)> = (0..KINDS.len()).flat_map(|kind| RATES.map(|rate| (kind, rate))).collect();
    jobs.par_iter()
        .map(|&(number, rate)| {
            let (kind, make) = KINDS[number];
            let random = draw::stream(bench.seed, &[STREAM, 1, number as u64, rate.to_bits()]);
            let bytes = options.delta_kib << 10;
            let made = make(&Base { bytes, random }, rate)?;
            bench.progress.advance(1);
            Ok(Delta {
                kind,
                change_rate: made.bound.changed as f64 / made.places as f64,
                bytes: made.bytes,
                bound_bytes: made.bound.bytes(),
                filter_bytes: bytes,
                exact: made.exact,
            })
        })
        .collect()
}

/// Keys that fill half of `places` places.
fn half(places: u64) -> u64 {
    (places as f64 * std::f64::consts::LN_2 / f64::from(HASHES)) as u64
}

/// Keys that hit a share `rate` of `places` places, one at least.
fn keys_for(places: u64, rate: f64) -> u64 {
    (-(-rate).ln_1p() * places as f64 / f64::from(HASHES)).ceil() as u64
}

type Bits = Filter<AnyLayout>;

/// A filter that is half full.
fn half_full(base: &Base, random: &mut SplitMix) -> Result<Bits, LabError> {
    let bits = base.bytes * 8;
    let layout = Flat::new(bits, HASHES)?.any();
    let mut filter = Filter::new(layout, None, SipKey::public().fingerprint(), HugePages::Default)?;
    (0..half(bits)).for_each(|_| filter.insert(random.hash()));
    Ok(filter)
}

/// The same filter with keys of its own beside.
fn with_more(old: &Bits, rate: f64, random: &mut SplitMix) -> Result<Bits, LabError> {
    let mut new = Filter::new(*old.layout(), None, old.fingerprint(), HugePages::Default)?;
    new.union(old).map_err(DeltaError::from)?;
    (0..keys_for(old.layout().bits(), rate)).for_each(|_| new.insert(random.hash()));
    Ok(new)
}

/// A filter takes new keys.
fn bits_gain(base: &Base, rate: f64) -> Result<Made, LabError> {
    let mut random = base.random.clone();
    let mut old = half_full(base, &mut random)?;
    let new = with_more(&old, rate, &mut random)?;
    let fill = old.fill();
    let bound = bound_of_bits(&old, &new)?;
    let gain = BitGain::between(&old, &new)?;
    let applied = BitGain::open(gain.bytes())?.apply(&mut old)?;
    Ok(Made {
        bytes: (gain.bytes().len() - ENVELOPE_BYTES) as u64,
        bound,
        places: fill.bits - fill.ones,
        exact: applied == Applied::Now && old.words() == new.words(),
    })
}

/// Two filters with most keys in common, and some of their own.
fn bits_diff(base: &Base, rate: f64) -> Result<Made, LabError> {
    let mut random = base.random.clone();
    let common = half_full(base, &mut random)?;
    let old = with_more(&common, rate, &mut random)?;
    let new = with_more(&common, rate, &mut random)?;
    let bound = bound_of_bits(&old, &new)?;
    let old_file = written(&old);
    let new_file = written(&new);
    let open = |file| FileView::open(file).map_err(DeltaError::from);
    let from = open(&old_file)?;
    let to = open(&new_file)?;
    let diff = Diff::between(&from, &to)?;
    let made = Diff::open(diff.bytes())?.apply(&from)?;
    let mut again = Vec::with_capacity(new_file.len());
    let told = made.write(&mut again);
    Ok(Made {
        bytes: (diff.bytes().len() - ENVELOPE_BYTES) as u64,
        bound,
        places: old.layout().bits(),
        exact: told.is_ok() && again == new_file,
    })
}

/// The filter as a file.
fn written(filter: &Bits) -> Vec<u8> {
    let mut file = Vec::new();
    file::write(filter, &mut file).expect("a vector takes all that is written");
    file
}

type Counts = CountingFilter<Refined, Flat>;

/// A counting filter half of whose cells hold something.
fn half_counted(bits: u32, base: &Base, random: &mut SplitMix) -> Result<Counts, LabError> {
    let packing = Packing::new(bits)?;
    let layout = Flat::new(base.bytes / 8 * packing.per_word(), HASHES)?;
    let fingerprint = SipKey::public().fingerprint();
    let mut counts = CountingFilter::packed(layout, packing, None, fingerprint, HugePages::Default)?;
    report(&mut counts, half(layout.bits()), random);
    Ok(counts)
}

/// Reports so many new keys: most once, one in eight more often.
fn report(counts: &mut Counts, keys: u64, random: &mut SplitMix) {
    for _ in 0..keys {
        let times = 1 + random.next().leading_zeros() / 3;
        counts.insert_weighted(random.hash(), u64::from(times));
    }
}

fn with_more_counted(old: &Counts, rate: f64, random: &mut SplitMix) -> Result<Counts, LabError> {
    let mut new = copy(old)?;
    report(&mut new, keys_for(old.layout().bits(), rate), random);
    Ok(new)
}

fn copy(counts: &Counts) -> Result<Counts, LabError> {
    let cells: PackedCells = counts.cells().try_clone()?;
    Ok(CountingFilter::new(*counts.layout(), cells, None, counts.fingerprint())?)
}

/// A counting filter takes new reports.
fn cells_gain(bits: u32, base: &Base, rate: f64) -> Result<Made, LabError> {
    let mut random = base.random.clone();
    let old = half_counted(bits, base, &mut random)?;
    let new = with_more_counted(&old, rate, &mut random)?;
    let bound = bound_of_cells(old.cells(), new.cells());
    let gain = CountGain::between(&old, &new, 1)?;
    let mut follower = Follower::new(old, 0);
    let applied = follower.apply(&CountGain::open(gain.bytes())?)?;
    Ok(Made {
        bytes: (gain.bytes().len() - ENVELOPE_BYTES) as u64,
        bound,
        places: new.cells().len(),
        exact: applied == Applied::Now && follower.counts().cells().words() == new.cells().words(),
    })
}

/// Two counting filters with most reports in common: the payload, which has no envelope.
fn cells_diff(bits: u32, base: &Base, rate: f64) -> Result<Made, LabError> {
    let mut random = base.random.clone();
    let common = half_counted(bits, base, &mut random)?;
    let old = with_more_counted(&common, rate, &mut random)?;
    let new = with_more_counted(&common, rate, &mut random)?;
    let bound = bound_of_cells(old.cells(), new.cells());
    let payload = cells::diff(old.cells(), new.cells());
    let mut again = old.cells().try_clone()?;
    cells::apply_diff(&mut again, &payload)?;
    Ok(Made {
        bytes: payload.len() as u64,
        bound,
        places: new.cells().len(),
        exact: again.words() == new.cells().words(),
    })
}
