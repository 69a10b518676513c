//! The experiment `pages`: what it costs, and what it saves, to keep a key's bits in one page.
//!
//! The paper ("Minimizing page faults of Bloom filters") has four questions: how long insertion takes, how often
//! strangers hit, the same for real strings, and how many pages an operation touches. Its answers for time rest on
//! filters that fit into memory, where no page faults happen at all; so a fifth part counts the faults of a filter
//! that does not fit.

mod clock;
mod faults;
mod group;
mod insertion;
mod page_faults;
mod printed;
mod rates;
mod strings;
mod theory;
mod touched;
mod words;

use std::ffi::OsString;

use seenit_filter::hash::{KeyFingerprint, SipKey};
use seenit_filter::{AnyLayout, Filter, Flat, GeometryError, HugePages, Layout, PAGE_BITS, Paged};
use serde::Serialize;

use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};
use crate::draw;

pub use faults::{Job, Tally, cold_lookups};

/// The most keys of the timed insertions: the paper's largest filter.
pub const MAX_KEYS_LIMIT: u64 = 110_000_000;

/// The most keys of the timed insertions when nobody names a number.
pub const MAX_KEYS: u64 = 20_000_000;

/// The same in the quick profile.
pub const MAX_KEYS_QUICK: u64 = 200_000;

/// Probes a key, in all of the paper's filters.
const K: u32 = 7;

/// Names this experiment's streams of random numbers.
const STREAM: u64 = 5;

/// What can be chosen.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The most keys of the timed insertions, up to [`MAX_KEYS_LIMIT`]; by default [`MAX_KEYS`].
    pub max_keys: Option<u64>,
    /// The command that hands its last arguments, those of [`Job::arguments`], to [`cold_lookups`] and prints the
    /// tallies, one a line. Only a process of its own can be given less memory than it wants; without one, the pages of
    /// the filter are given back between batches of lookups.
    pub child: Option<Vec<OsString>>,
}

/// A row for machines: one size, one layout, one kind of operation; means over repetitions. What does not apply is
/// null.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `insertion`, `rates`, `strings`, `touched` or `faults`.
    pub experiment: &'static str,
    /// Bits per key asked for; whole pages give somewhat more.
    pub bpe: Option<u64>,
    /// Keys inserted.
    pub keys: Option<u64>,
    /// `standard` (bits anywhere) or `paged` (bits in one page).
    pub layout: &'static str,
    /// The share of strangers that hit.
    pub fpr: Option<f64>,
    /// Of inserting all keys one by one (time of the processor, the median of the repetitions), or of one lookup
    /// (`faults`, time by the clock).
    pub seconds: Option<f64>,
    /// Distinct pages an operation touches.
    pub pages_touched: Option<f64>,
    /// An operation.
    pub major_faults: Option<f64>,
    /// An operation.
    pub minor_faults: Option<f64>,
    /// Of the filter.
    pub pages: u64,
    /// `insert`, `member` (a lookup of a key that is in) or `stranger`.
    pub operation: &'static str,
    /// How many operations were timed or counted, over all repetitions.
    pub operations: u64,
    /// Filters, or timed runs.
    pub repetitions: u32,
    /// The standard deviation between repetitions, of `fpr` or `seconds`.
    pub sd: Option<f64>,
    /// What the formulas say for `fpr` or `pages_touched`.
    pub theory: Option<f64>,
    /// What the paper prints for `fpr`, `seconds` or `pages_touched`; a mean where it prints several.
    pub paper: Option<f64>,
    /// Of inserting all keys in batches, hashed and prefetched ahead.
    pub seconds_batched: Option<f64>,
    /// What kept the filter out of memory: `cgroup-v2`, `cgroup-v1` or `page-out advice`.
    pub limit: Option<&'static str>,
    /// The memory a cgroup allowed.
    pub limit_bytes: Option<u64>,
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let max_keys = options.max_keys.unwrap_or(bench.choose(MAX_KEYS, MAX_KEYS_QUICK));
    if !(1..=MAX_KEYS_LIMIT).contains(&max_keys) {
        let why = "from 1 to 110000000 keys, the paper's largest number";
        return Err(LabError::Option { option: "--max-keys", value: max_keys.to_string(), why });
    }
    let parts = [
        insertion::run(max_keys, bench)?,
        rates::run(bench)?,
        strings::run(bench)?,
        touched::run(bench)?,
        faults::run(options.child.as_deref(), bench)?,
    ];
    let mut all = Outcome { rows: Vec::new(), account: Account::default() };
    for part in parts {
        all.rows.extend(part.rows);
        all.account.tables.extend(part.account.tables);
        all.account.figures.extend(part.account.figures);
        all.account.findings.extend(part.account.findings);
    }
    Ok(all)
}

/// The two layouts of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Standard,
    Paged,
}

impl Variant {
    const BOTH: [Variant; 2] = [Variant::Standard, Variant::Paged];

    fn name(self) -> &'static str {
        match self {
            Variant::Standard => "standard",
            Variant::Paged => "paged",
        }
    }

    fn layout(self, pages: u64) -> Result<AnyLayout, GeometryError> {
        Ok(match self {
            Variant::Standard => standard(pages)?.any(),
            Variant::Paged => paged(pages)?.any(),
        })
    }

    /// What a row of this layout has before anything is measured.
    fn row(self, experiment: &'static str, operation: &'static str, pages: u64) -> Row {
        Row {
            experiment,
            bpe: None,
            keys: None,
            layout: self.name(),
            fpr: None,
            seconds: None,
            pages_touched: None,
            major_faults: None,
            minor_faults: None,
            pages,
            operation,
            operations: 0,
            repetitions: 1,
            sd: None,
            theory: None,
            paper: None,
            seconds_batched: None,
            limit: None,
            limit_bytes: None,
        }
    }
}

/// Bits anywhere in so many pages.
fn standard(pages: u64) -> Result<Flat, GeometryError> {
    Flat::new(pages * PAGE_BITS, K)
}

/// Bits in one of so many pages.
fn paged(pages: u64) -> Result<Paged, GeometryError> {
    Paged::new(pages, 1, K)
}

/// The pages for `keys` keys of `bpe` bits: rounded up for both layouts, as in the paper.
fn pages_for(keys: u64, bpe: u64) -> u64 {
    (keys * bpe).div_ceil(PAGE_BITS)
}

/// An empty filter.
fn empty<L: Layout>(layout: L, fingerprint: KeyFingerprint) -> Result<Filter<L>, GeometryError> {
    Filter::new(layout, None, fingerprint, HugePages::Default)
}

/// A hash key that nobody has seen, from the stream of this path.
fn sip_key(seed: u64, path: &[u64]) -> SipKey {
    let mut rng = draw::stream(seed, path);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&rng.next().to_le_bytes());
    bytes[8..].copy_from_slice(&rng.next().to_le_bytes());
    SipKey::new(bytes)
}

/// The value in the middle: one slow run does not move it.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// Numbers as a list in words: `2, 3 and 5`.
fn list(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    match texts.split_last() {
        None => "none".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (2.0, 2.5));
    }

    #[test]
    fn lists_read_like_sentences() {
        assert_eq!([list(&[]), list(&[2]), list(&[2, 3, 5])], ["none", "2", "2, 3 and 5"]);
    }
}
