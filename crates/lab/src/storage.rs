//! The experiment `storage`: how many bits does a true count take, and how many bytes a delta?
//!
//! The paper of collaborative detection describes both, split storage and deltas, and measures neither. Here a refined
//! counting filter takes signatures whose counts fall as a power of their rank (Zipf); its cells are stored in every
//! shape of split storage, low bits s and chunks N. And filters of real keys take more of them: their deltas are set
//! beside the fewest bytes that could say the same.

mod deltas;
mod figures;
mod findings;
mod split;
mod tables;

use serde::Serialize;

use self::deltas::Delta;
use self::split::{Counts, Shape};
use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

/// What this experiment's random numbers are drawn for.
const STREAM: u64 = 6;

/// Of the small version: signatures, and KiB of the filters whose deltas are made.
const SIGNATURES_QUICK: u64 = 20_000;
const DELTA_KIB_QUICK: u64 = 256;

/// The most signatures: a minute's work on two cores.
const SIGNATURES_MAX: u64 = 10_000_000;

/// The largest filters whose deltas are made: likewise.
const DELTA_KIB_MAX: u64 = 1 << 18;

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Signatures in the counting filter.
    pub signatures: u64,
    /// How the counts fall: the r-th of n is `(n/r)^exponent`, so that the last is 1.
    pub exponents: Vec<f64>,
    /// KiB of the filters whose deltas are made.
    pub delta_kib: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { signatures: 100_000, exponents: vec![0.6, 0.8, 1.0, 1.2, 1.4], delta_kib: 4096 }
    }
}

/// A row for machines: one shape of split storage, or one delta. What does not apply is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// `split` or `delta`.
    pub experiment: &'static str,
    /// s: the bits of a count that the base holds.
    pub low_bits: Option<u32>,
    /// N: tables for the rest.
    pub chunks: Option<u64>,
    /// How many signatures were counted.
    pub signatures: Option<u64>,
    /// How fast their counts fall.
    pub exponent: Option<f64>,
    /// The largest count.
    pub top: Option<u64>,
    /// Memory of the filled storage, in bits a signature.
    pub bits_per_signature: Option<f64>,
    /// The same as the chooser reckons.
    pub bits_per_signature_formula: Option<f64>,
    /// Flat cells of 8 bits; the counts that do not fit stay at 255.
    pub flat_8_bits_per_signature: Option<f64>,
    /// Flat cells of 16 bits.
    pub flat_16_bits_per_signature: Option<f64>,
    /// Flat cells of 32 bits.
    pub flat_32_bits_per_signature: Option<f64>,
    /// What kind of delta.
    pub kind: Option<&'static str>,
    /// The share of places that changed: zeros for a gain of bits, else all bits or cells.
    pub change_rate: Option<f64>,
    /// The delta without its envelope.
    pub bytes: Option<u64>,
    /// The fewest bytes that say as much.
    pub bound_bytes: Option<u64>,
    /// `bytes / bound_bytes`.
    pub ratio: Option<f64>,
    /// Whether this is the shape the chooser took. It may take another number of chunks than any row has.
    pub chosen: Option<bool>,
    /// The share of cells with a high part.
    pub flagged_share: Option<f64>,
    /// The entropy of the cells' values: no storage that knows no more than their frequencies takes less.
    pub entropy_bits_per_signature: Option<f64>,
    /// The filter itself, in bytes.
    pub filter_bytes: Option<u64>,
}

/// All that was found.
struct Study {
    counts: Vec<Counts>,
    deltas: Vec<Delta>,
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    check(options)?;
    let small = Options {
        signatures: options.signatures.min(SIGNATURES_QUICK),
        delta_kib: options.delta_kib.min(DELTA_KIB_QUICK),
        ..options.clone()
    };
    let options = &bench.choose(options.clone(), small);
    let study = Study { counts: split::run(options, bench)?, deltas: deltas::run(options, bench)? };
    let shapes =
        study.counts.iter().flat_map(|counts| counts.shapes.iter().map(|shape| split_row(counts, shape)));
    let rows = shapes.chain(study.deltas.iter().map(delta_row)).collect();
    let account = Account {
        tables: tables::all(&study),
        figures: figures::all(&study),
        findings: findings::all(&study),
    };
    Ok(Outcome { rows, account })
}

fn check(options: &Options) -> Result<(), LabError> {
    let refuse = |option, value: String, why| Err(LabError::Option { option, value, why });
    if !(100..=SIGNATURES_MAX).contains(&options.signatures) {
        return refuse("--signatures", options.signatures.to_string(), "100 to 10,000,000");
    }
    if options.exponents.is_empty() {
        return refuse("--exponents", "none".into(), "at least one");
    }
    for &exponent in &options.exponents {
        let top = (options.signatures as f64).powf(exponent);
        if !(1.0..=f64::from(u32::MAX)).contains(&top) {
            let why = "0 or more, and the largest count, signatures^exponent, at most 4,294,967,295";
            return refuse("--exponents", exponent.to_string(), why);
        }
    }
    if !(4..=DELTA_KIB_MAX).contains(&options.delta_kib) {
        return refuse("--delta-kib", options.delta_kib.to_string(), "4 to 262,144");
    }
    Ok(())
}

fn split_row(counts: &Counts, shape: &Shape) -> Row {
    let [flat_8, flat_16, flat_32] = counts.choice.flat.map(|flat| Some(counts.bits_a_signature(flat.bytes)));
    Row {
        experiment: "split",
        low_bits: Some(shape.split.low_bits()),
        chunks: Some(shape.split.chunks()),
        signatures: Some(counts.signatures),
        exponent: Some(counts.exponent),
        top: Some(counts.top),
        bits_per_signature: Some(shape.measured),
        bits_per_signature_formula: Some(shape.expected),
        flat_8_bits_per_signature: flat_8,
        flat_16_bits_per_signature: flat_16,
        flat_32_bits_per_signature: flat_32,
        chosen: Some(shape.split == counts.choice.split),
        flagged_share: Some(shape.flagged),
        entropy_bits_per_signature: Some(counts.entropy_bits),
        ..Row::default()
    }
}

fn delta_row(delta: &Delta) -> Row {
    Row {
        experiment: "delta",
        kind: Some(delta.kind),
        change_rate: Some(delta.change_rate),
        bytes: Some(delta.bytes),
        bound_bytes: Some(delta.bound_bytes),
        ratio: Some(delta.ratio()),
        filter_bytes: Some(delta.filter_bytes),
        ..Row::default()
    }
}
