//! The race of filters: same process, same keys, interleaved rounds.
//!
//! One round has every contender insert all keys into a fresh filter, look up keys that are there, and look
//! up keys that are not; the next round does it again, beginning with the next contender, so that a spell of
//! a busy machine hits all of them alike. Reported are medians over the rounds. [`contender`](crate::contender) has
//! the rules.

use std::error::Error;

use clap::{Args, ValueEnum};
use seenit_filter::{HugePages, Simd};

use crate::contender::{Contender, Lap};
use crate::keys::Keys;
use crate::report::{self, Row};
use crate::{floor, rivals, seenit, targets};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- filters --keys 1000000
  cargo run --release -p seenit-lab --bin race -- \\
      filters --keys 50000000 --huge-pages --json > race.json
  cargo run --release -p seenit-lab --bin race -- \\
      filters --keys 10000000 --only seenit-line,seenit-line-batched,fastbloom,floor-one-line";

#[derive(Args)]
pub(crate) struct FiltersArgs {
    /// Keys put into each filter.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    keys: u64,
    /// The false-positive rate each filter is sized for.
    #[arg(long, default_value_t = 0.01)]
    rate: f64,
    /// Rounds; reported are medians over them.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Keys that are not there, looked up each round. Fewer than the default are for trying things out: the
    /// false-positive rate is measured over them.
    #[arg(long, value_name = "M", default_value_t = 10_000_000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    absent: u64,
    /// The instruction set of our own rows; the rivals choose theirs themselves.
    #[arg(long, value_enum, default_value_t = SimdChoice::Auto)]
    simd: SimdChoice,
    /// Ask for 2 MiB pages for our own rows and the floor. The rivals allocate for themselves; with
    /// GLIBC_TUNABLES=glibc.malloc.hugetlb=1 in the environment glibc asks for theirs.
    #[arg(long)]
    huge_pages: bool,
    /// Race these only.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SimdChoice {
    /// The best this processor has.
    Auto,
    Scalar,
    Avx2,
    Avx512,
}

impl SimdChoice {
    fn simd(self) -> Result<Simd, String> {
        let (simd, name) = match self {
            SimdChoice::Auto => (Some(Simd::detect()), "auto"),
            SimdChoice::Scalar => (Some(Simd::SCALAR), "scalar"),
            SimdChoice::Avx2 => (Simd::avx2(), "avx2"),
            SimdChoice::Avx512 => (Simd::avx512(), "avx512"),
        };
        simd.ok_or_else(|| format!("--simd {name}: this processor has it not"))
    }
}

pub(crate) fn run(args: &FiltersArgs) -> Result<(), Box<dyn Error>> {
    let setup = seenit::Setup {
        keys: args.keys,
        rate: args.rate,
        simd: args.simd.simd()?,
        huge: if args.huge_pages { HugePages::Advise } else { HugePages::Default },
    };
    let contenders = contenders(setup, &args.only)?;
    eprintln!("making keys: {} present, {} absent", args.keys, args.absent);
    let keyed = contenders.iter().any(|contender| contender.is_keyed());
    let keys = Keys::new(args.keys, args.absent, keyed);
    let laps = race(&contenders, &keys, args.rounds)?;
    let rows: Vec<Row> = contenders
        .iter()
        .zip(&laps)
        .map(|(contender, laps)| Row::new(contender.name(), args.keys, laps))
        .collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!(
        "{} keys, {} absent, sized for a rate of {}, {} rounds, {}, {} pages for seenit and the floor\n",
        args.keys,
        args.absent,
        args.rate,
        args.rounds,
        setup.simd.name(),
        if args.huge_pages { "huge" } else { "default" },
    );
    println!("{}", report::table(&rows));
    for line in targets::lines(&rows, args.rate) {
        println!("{line}");
    }
    Ok(())
}

/// Everybody, or those named in `only`, in the order of the report.
fn contenders(setup: seenit::Setup, only: &[String]) -> Result<Vec<Box<dyn Contender>>, Box<dyn Error>> {
    // Refuses impossible promises before a rival panics over them.
    let mut all = seenit::rows(setup)?;
    all.extend(rivals::rows(setup.keys, setup.rate));
    all.push(Box::new(floor::Floor::new(setup.keys, setup.rate, setup.huge)?));
    for name in only {
        if !all.iter().any(|contender| contender.name() == name) {
            let names: Vec<&str> = all.iter().map(|contender| contender.name()).collect();
            return Err(format!("--only: there is no {name:?}; there are {}", names.join(", ")).into());
        }
    }
    all.retain(|contender| only.is_empty() || only.iter().any(|name| name == contender.name()));
    Ok(all)
}

/// Every contender's laps, in the order of `contenders`.
fn race(
    contenders: &[Box<dyn Contender>],
    keys: &Keys,
    rounds: u32,
) -> Result<Vec<Vec<Lap>>, Box<dyn Error>> {
    let mut laps: Vec<Vec<Lap>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds as usize {
        for turn in 0..contenders.len() {
            let who = (turn + round) % contenders.len();
            let name = contenders[who].name();
            let lap = contenders[who].round(keys).map_err(|error| format!("{name}: {error}"))?;
            eprintln!("round {}/{rounds}  {name:27} {}", round + 1, summary(&lap));
            laps[who].push(lap);
        }
    }
    Ok(laps)
}

/// One round of one contender, for the progress line.
fn summary(lap: &Lap) -> String {
    let miss = format!("miss {:7.2} ns", lap.miss_ns);
    match &lap.filter {
        Some(filter) => format!("insert {:7.2} ns  hit {:7.2} ns  {miss}", filter.insert_ns, filter.hit_ns),
        None => format!("{:17}  {:14}  {miss}", "", ""),
    }
}
