//! `seenit filter count build`: keys in, repeated ones counted, a counting filter file out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use seenit_filter::cells::{CELL_BITS_MAX, CellsMut, PackedCells, Packing, Split, SplitCells};
use seenit_filter::counting::{CountingFilter, Intuitive, Refined, Rule};
use seenit_filter::file::StoredCells;
use seenit_filter::hash::SipKey;
use seenit_filter::{AnyLayout, Flat, GeometryError, HugePages, Layout, Paged, Promise};

use super::open::Work;
use super::report::Describe;
use crate::keys::KeySource;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::{network_key, output};

/// Bits of a packed cell unless asked otherwise: counts up to 255.
const PACKED_BITS: u32 = 8;
/// Bits of a base cell of exact counts unless asked otherwise: counts up to 7 need no table.
const EXACT_BITS: u32 = 4;
/// Tables of exact counts. One owner writes them all; this many keeps each of them small.
const EXACT_CHUNKS: u64 = 64;
/// Or more of them, so that a table never has more cells than it can name.
const CHUNK_CELLS: u64 = 1 << 31;

#[derive(Args)]
#[command(after_help = "Example: seenit filter count build --keys digests.txt --hex --exact -o seen.counts")]
pub(crate) struct Arguments {
    /// Keys, one per line, repeated ones count again; - for standard input. Blank lines are passed over
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Keys are hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// Which cells are moved: refined (only the smallest of a key: exact more often) or intuitive (all of them)
    #[arg(long, value_enum, default_value_t = RuleChoice::Refined)]
    rule: RuleChoice,
    /// Where a key's cells lie: flat (least memory) or paged (one page a key)
    #[arg(long, value_enum, default_value_t = LayoutChoice::Paged)]
    layout: LayoutChoice,
    /// Distinct keys the filter is to hold; by default as many as there are lines
    #[arg(long, value_name = "N")]
    capacity: Option<u64>,
    /// False-positive rate at capacity: the chance that an absent key has a count; no
    /// larger share of all counts is too high
    #[arg(long, value_name = "F", default_value_t = 0.01, allow_negative_numbers = true)]
    rate: f64,
    /// Bits of a cell, 1 to 16: counts stop at 2^N - 1 and then say "at least". With --exact 2 to 16, one of them a
    /// flag. By default 8, or 4 with --exact
    #[arg(long, value_name = "N")]
    cell_bits: Option<u32>,
    /// Keep what does not fit a cell in tables: counts do not stop, they go on beyond four billion
    #[arg(long)]
    exact: bool,
    /// File with the network's secret: 16 bytes or more of anything, a newline at its end aside. Make one
    /// with `openssl rand -hex 32`. Without it a fixed public key
    #[arg(long, value_name = "FILE")]
    network_key: Option<PathBuf>,
    /// The counting filter file to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum RuleChoice {
    Refined,
    Intuitive,
}

#[derive(Clone, Copy, ValueEnum)]
enum LayoutChoice {
    Flat,
    Paged,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let key = network_key::read(arguments.network_key.as_deref())?;
    let mut source = KeySource::new(&arguments.keys, arguments.hex);
    let capacity = match arguments.capacity {
        Some(capacity) => capacity,
        None => match source.count()? {
            0 => return Err(Problem::NoKeys(source.name().into())),
            count => count,
        },
    };
    let job = Job { arguments, key, source, promise: Promise { capacity, rate: arguments.rate } };
    match arguments.rule {
        RuleChoice::Refined => job.with_rule::<Refined>(),
        RuleChoice::Intuitive => job.with_rule::<Intuitive>(),
    }
}

struct Job<'a> {
    arguments: &'a Arguments,
    key: SipKey,
    source: KeySource,
    promise: Promise,
}

impl Job<'_> {
    fn with_rule<R: Rule>(self) -> Result<ExitCode, Problem> {
        let bits = self.arguments.cell_bits;
        if self.arguments.exact {
            let bits = bits.unwrap_or(EXACT_BITS);
            let most = CELL_BITS_MAX;
            if !(2..=most).contains(&bits) {
                return Err(GeometryError::SplitBits { bits, most }.into());
            }
            let layout = self.layout(Packing::new(bits)?)?;
            let chunks = EXACT_CHUNKS.max(layout.bits().div_ceil(CHUNK_CELLS));
            let cells = SplitCells::zeroed(Split::new(bits - 1, chunks)?, layout.bits(), HugePages::Default)?;
            return self.count::<R, _>(layout, cells);
        }
        let packing = Packing::new(bits.unwrap_or(PACKED_BITS))?;
        let layout = self.layout(packing)?;
        let cells = PackedCells::zeroed(packing, layout.bits(), HugePages::Default)?;
        self.count::<R, _>(layout, cells)
    }

    fn layout(&self, packing: Packing) -> Result<AnyLayout, GeometryError> {
        let Promise { capacity, rate } = self.promise;
        Ok(match self.arguments.layout {
            LayoutChoice::Flat => Flat::sized(capacity, rate)?.any(),
            LayoutChoice::Paged => Paged::sized_with_slots(capacity, rate, packing.per_page())?.any(),
        })
    }

    fn count<R: Rule, C: CellsMut + StoredCells>(
        self,
        layout: AnyLayout,
        cells: C,
    ) -> Result<ExitCode, Problem> {
        let Job { arguments, key, source, promise } = self;
        let mut counts = CountingFilter::<R, _, C>::new(layout, cells, Some(promise), key.fingerprint())?;
        let mut progress =
            Progress::new("counting keys", arguments.capacity.is_none().then_some(promise.capacity));
        let read = source.for_each_batch(|keys| {
            counts.insert_many(&key, keys);
            progress.advance(keys.len() as u64);
        })?;
        drop(progress);
        let report = Describe { path: &arguments.output, keys_read: Some(read) }.on(&counts)?;
        let inputs = [Some(arguments.keys.as_path()), arguments.network_key.as_deref()];
        let inputs: Vec<&Path> = inputs.into_iter().flatten().collect();
        output::write_filter(&arguments.output, &counts, &inputs)?;
        if let (None, Some(distinct)) = (arguments.capacity, report.far_fewer_than(promise.capacity)) {
            eprintln!(
                "seenit: note: only about {distinct} of the keys are distinct; --capacity saves memory"
            );
        }
        if report.is_broken() {
            let capacity = promise.capacity;
            eprintln!(
                "seenit: warning: too many distinct keys in a filter for {capacity}: its promise is broken"
            );
        }
        report.print(arguments.json)?;
        Ok(ExitCode::SUCCESS)
    }
}
