//! Races counting filters against a hash map of counts: same process, same signatures, interleaved rounds.
//!
//! Signatures are 128-bit numbers; the one of rank i comes `max(1, top/i)` times (Zipf), all occurrences in one random
//! order. Everybody is told how many signatures there will be. A round counts the whole stream, then looks up every
//! signature once, in another order; hashing is inside the clock. A count is wrong when it differs from the truth.

use std::error::Error;

use clap::Args;
use hashbrown::HashMap;
use seenit_filter::cells::{Cells, CellsMut, PackedCells, Packing, Split, SplitCells};
use seenit_filter::counting::{Count, CountingFilter, Refined};
use seenit_filter::hash::{KeyFingerprint, KeyHasher, Unkeyed};
use seenit_filter::{HugePages, Layout, Paged};
use serde::Serialize;

use crate::contender::{clock, nanos_each};
use crate::keys::{Zipf, zipf};
use crate::report::{median, to_2_decimals};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- counting
  cargo run --release -p seenit-lab --bin race -- counting --json > counting.json";

/// Keys handed over in one call by the batched rows: what a caller who reads a file or a socket has at hand.
const SLICE_KEYS: usize = 4096;

/// One geometry for all our rows: so many cells a signature, of which it uses k, all in one cache line.
const CELLS_PER_KEY: u64 = 30;
const K: u32 = 3;
const LINE_WORDS: u64 = 8;
/// Bits of a cell. Packed ones stay at 3, which few signatures exceed; split ones have a low bit and a flag, and go on.
const CELL_BITS: u32 = 2;
/// Tables for the high parts of split storage.
const CHUNKS: u64 = 256;

#[derive(Args)]
pub(crate) struct CountingArgs {
    /// Distinct signatures.
    #[arg(long, value_name = "N", default_value_t = 10_000_000,
          value_parser = clap::value_parser!(u64).range(1..=200_000_000))]
    keys: u64,
    /// How often the most frequent signature comes; the one of rank i comes max(1, TOP/i) times.
    #[arg(long, value_name = "TOP", default_value_t = 20_000,
          value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    top: u64,
    /// Rounds; reported are medians over them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Do not ask for 2 MiB pages. By default everybody has them: our rows ask the kernel, and for the map glibc does,
    /// with GLIBC_TUNABLES=glibc.malloc.hugetlb=1.
    #[arg(long)]
    small_pages: bool,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
}

/// One contender's result. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    #[serde(serialize_with = "to_2_decimals")]
    insert_ns: Option<f64>,
    #[serde(serialize_with = "to_2_decimals")]
    lookup_ns: Option<f64>,
    #[serde(serialize_with = "to_2_decimals")]
    bytes_per_key: Option<f64>,
    wrong_share: f64,
}

/// What one round of one contender gave.
struct Lap {
    insert_ns: f64,
    lookup_ns: f64,
    bytes: u64,
    wrong: u64,
}

type Contender = (&'static str, fn(&Zipf, HugePages) -> Result<Lap, Box<dyn Error>>);

const CONTENDERS: [Contender; 5] = [
    ("seenit-packed", |zipf, huge| time(zipf, packed(zipf, huge)?, singly, counted_singly)),
    ("seenit-packed-batched", |zipf, huge| time(zipf, packed(zipf, huge)?, batched, counted_batched)),
    ("seenit-split", |zipf, huge| time(zipf, split(zipf, huge)?, singly, counted_singly)),
    ("seenit-split-batched", |zipf, huge| time(zipf, split(zipf, huge)?, batched, counted_batched)),
    ("hashbrown", |zipf, _| time(zipf, HashMap::with_capacity(zipf.keys.len()), map_insert, map_counted)),
];

pub(crate) fn run(args: &CountingArgs) -> Result<(), Box<dyn Error>> {
    if !args.small_pages {
        huge_pages_for_all();
    }
    eprintln!("making {} signatures", args.keys);
    let zipf = zipf(args.keys, args.top);
    let huge = if args.small_pages { HugePages::Default } else { HugePages::Advise };
    let mut laps: Vec<Vec<Lap>> = CONTENDERS.iter().map(|_| Vec::new()).collect();
    for round in 0..args.rounds as usize {
        for turn in 0..CONTENDERS.len() {
            let who = (turn + round) % CONTENDERS.len();
            let (name, contender) = CONTENDERS[who];
            let lap = contender(&zipf, huge).map_err(|error| format!("{name}: {error}"))?;
            let insert = lap.insert_ns;
            let lookup = lap.lookup_ns;
            eprintln!(
                "round {}/{}  {name:22} insert {insert:7.2} ns  lookup {lookup:7.2} ns",
                round + 1,
                args.rounds
            );
            laps[who].push(lap);
        }
    }
    let rows: Vec<Row> =
        CONTENDERS.iter().zip(&laps).map(|((name, _), laps)| row(name, args.keys, laps)).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!(
        "{} signatures, {} insertions, the most frequent one {} times, {} rounds, {} pages",
        args.keys,
        zipf.stream.len(),
        args.top,
        args.rounds,
        if args.small_pages { "default" } else { "huge" },
    );
    println!(
        "seenit: refined, {CELLS_PER_KEY} cells of {CELL_BITS} bits a signature, k = {K}, all in one line\n"
    );
    println!("{}", table(&rows));
    targets(&rows).iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Runs this very race in an environment in which glibc asks for 2 MiB pages: it reads that when a program starts.
/// Where that does not work the race goes on, the map with small pages.
fn huge_pages_for_all() {
    const TUNABLES: &str = "GLIBC_TUNABLES";
    if std::env::var_os(TUNABLES).is_some() {
        return;
    }
    #[cfg(target_os = "linux")]
    if let Ok(program) = std::env::current_exe() {
        use std::os::unix::process::CommandExt;
        let arguments = std::env::args_os().skip(1);
        let mut anew = std::process::Command::new(program);
        let failure = anew.args(arguments).env(TUNABLES, "glibc.malloc.hugetlb=1").exec();
        eprintln!("race: the map has small pages: {failure}");
    }
}

fn row(name: &'static str, keys: u64, laps: &[Lap]) -> Row {
    Row {
        name,
        insert_ns: median(laps.iter().map(|lap| lap.insert_ns).collect()),
        lookup_ns: median(laps.iter().map(|lap| lap.lookup_ns).collect()),
        // The same each round, as keys and hashes are; the map's hashes differ and do not matter.
        bytes_per_key: laps.first().map(|lap| lap.bytes as f64 / keys as f64),
        wrong_share: laps.first().map_or(0.0, |lap| lap.wrong as f64 / keys as f64),
    }
}

/// Times one contender: `insert` counts the whole stream, `lookup` gives the counts of some keys.
fn time<F: Memory>(
    zipf: &Zipf,
    mut filter: F,
    insert: fn(&mut F, &[u128]),
    lookup: fn(&F, &[u128], &mut [u64]),
) -> Result<Lap, Box<dyn Error>> {
    let ((), inserting) = clock(|| insert(&mut filter, &zipf.stream));
    // Written to once before: the clock is not for the kernel that hands out zeroed pages.
    let mut counts = vec![u64::MAX; zipf.keys.len()];
    let ((), looking) = clock(|| lookup(&filter, &zipf.keys, &mut counts));
    let wrong = counts.iter().zip(&zipf.counts).filter(|&(&count, &truth)| count != u64::from(truth)).count();
    Ok(Lap {
        insert_ns: nanos_each(inserting, zipf.stream.len()),
        lookup_ns: nanos_each(looking, zipf.keys.len()),
        bytes: filter.memory_bytes(),
        wrong: wrong as u64,
    })
}

/// The bytes a contender really has.
trait Memory {
    fn memory_bytes(&self) -> u64;
}

impl Memory for Packed {
    fn memory_bytes(&self) -> u64 {
        self.cells().words().len() as u64 * 8
    }
}

impl Memory for SplitCounts {
    fn memory_bytes(&self) -> u64 {
        self.cells().memory_bytes()
    }
}

impl Memory for HashMap<u128, u32> {
    fn memory_bytes(&self) -> u64 {
        self.allocation_size() as u64
    }
}

type Packed = CountingFilter<Refined, Paged, PackedCells>;
type SplitCounts = CountingFilter<Refined, Paged, SplitCells>;

const NO_KEY: KeyFingerprint = KeyFingerprint([0; 16]);

fn layout(zipf: &Zipf) -> Result<Paged, Box<dyn Error>> {
    let slots = Packing::new(CELL_BITS)?.per_word() * LINE_WORDS;
    let lines = (zipf.keys.len() as u64 * CELLS_PER_KEY).div_ceil(slots);
    Ok(Paged::with_slots(lines, 1, K, slots)?)
}

fn packed(zipf: &Zipf, huge: HugePages) -> Result<Packed, Box<dyn Error>> {
    Ok(CountingFilter::packed(layout(zipf)?, Packing::new(CELL_BITS)?, None, NO_KEY, huge)?)
}

fn split(zipf: &Zipf, huge: HugePages) -> Result<SplitCounts, Box<dyn Error>> {
    let layout = layout(zipf)?;
    let cells = SplitCells::zeroed(Split::new(CELL_BITS - 1, CHUNKS)?, layout.bits(), huge)?;
    Ok(CountingFilter::new(layout, cells, None, NO_KEY)?)
}

fn singly<C: CellsMut>(filter: &mut CountingFilter<Refined, Paged, C>, stream: &[u128]) {
    for key in stream {
        filter.insert(Unkeyed.hash(key));
    }
}

fn batched<C: CellsMut>(filter: &mut CountingFilter<Refined, Paged, C>, stream: &[u128]) {
    for slice in stream.chunks(SLICE_KEYS) {
        filter.insert_many(&Unkeyed, slice);
    }
}

fn counted_singly<C: Cells>(filter: &CountingFilter<Refined, Paged, C>, keys: &[u128], counts: &mut [u64]) {
    for (key, count) in keys.iter().zip(counts) {
        *count = filter.count(Unkeyed.hash(key)).value;
    }
}

fn counted_batched<C: Cells>(filter: &CountingFilter<Refined, Paged, C>, keys: &[u128], counts: &mut [u64]) {
    let mut found = [Count::default(); SLICE_KEYS];
    for (keys, counts) in keys.chunks(SLICE_KEYS).zip(counts.chunks_mut(SLICE_KEYS)) {
        filter.count_many(&Unkeyed, keys, &mut found[..keys.len()]);
        counts.iter_mut().zip(&found).for_each(|(count, found)| *count = found.value);
    }
}

fn map_insert(map: &mut HashMap<u128, u32>, stream: &[u128]) {
    for key in stream {
        *map.entry(*key).or_insert(0) += 1;
    }
}

fn map_counted(map: &HashMap<u128, u32>, keys: &[u128], counts: &mut [u64]) {
    for (key, count) in keys.iter().zip(counts) {
        *count = map.get(key).map_or(0, |&count| u64::from(count));
    }
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:22} {:>9} {:>9} {:>10} {:>9}  {:>8} {:>8}\n",
        "", "insert ns", "lookup ns", "bytes/key", "wrong %", "x insert", "x lookup"
    );
    let map = rows.iter().find(|row| row.name == "hashbrown");
    for row in rows {
        let faster = |column: fn(&Row) -> Option<f64>| {
            map.and_then(column).zip(column(row)).map_or(f64::NAN, |(map, ours)| map / ours)
        };
        table += &format!(
            "{:22} {:>9.2} {:>9.2} {:>10.2} {:>9.4}  {:>8.2} {:>8.2}\n",
            row.name,
            row.insert_ns.unwrap_or(f64::NAN),
            row.lookup_ns.unwrap_or(f64::NAN),
            row.bytes_per_key.unwrap_or(f64::NAN),
            row.wrong_share * 100.0,
            faster(|row| row.insert_ns),
            faster(|row| row.lookup_ns),
        );
    }
    table + "(x: times as fast as hashbrown)\n"
}

/// The targets, each answered with yes or no and the numbers behind it.
fn targets(rows: &[Row]) -> Vec<String> {
    let Some(map) = rows.iter().find(|row| row.name == "hashbrown") else { return Vec::new() };
    let ours = rows.iter().filter(|row| row.name != map.name);
    let over = |upper: Option<f64>, lower: Option<f64>| upper.zip(lower).map_or(f64::NAN, |(u, l)| u / l);
    let answer = |met: bool, line: String| format!("{}  {line}", if met { "yes" } else { "NO " });
    ours.flat_map(|row| {
        let bytes = over(row.bytes_per_key, map.bytes_per_key);
        let times = over(map.lookup_ns, row.lookup_ns);
        let wanted = if row.name.ends_with("-batched") { 2.0 } else { 1.0 };
        let name = row.name;
        let wrong = row.wrong_share * 100.0;
        [
            answer(bytes <= 0.25, format!("{name} <= 1/4 of the map's bytes: {bytes:.3}")),
            answer(row.wrong_share <= 0.001, format!("{name} wrong share <= 0.1 %: {wrong:.4} %")),
            answer(times >= wanted, format!("{name} lookups >= {wanted}x the map's: {times:.2}x")),
        ]
    })
    .collect()
}
