//! The race of stores: what a durable journal costs in redb and in fjall.
//!
//! The pattern is the journal's: one writer, commits of many records, each on the disk before the next begins. A record
//! is a row of the log, appended by its number, and a row of the index under a random key. Every lap runs in a process
//! of its own, so that resident bytes are those of one store. The process ends without closing its store, as in a
//! crash, and a second one opens it: that is what a restart takes, and whether all that was committed is there.

mod fjall;
mod lap;
mod records;
mod redb;
mod table;

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::process;

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- store
  cargo run --release -p seenit-lab --bin race -- store --rows 10000000 --json > store.json
  cargo run --release -p seenit-lab --bin race -- store --commit 1000 --only fjall-default,fjall-cache-1";

/// The contenders of a race when nobody names others.
const CONTENDERS: [&str; 2] = ["redb", "fjall"];
/// Records a commit: reports that came one by one while the last commit was on its way, and batches.
const COMMITS: [u64; 2] = [64, 1000];
/// What is written.
const PATTERNS: [&str; 2] = ["log", "log+index"];

#[derive(Args)]
pub(crate) struct StoreArgs {
    /// Records in all.
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Records a commit; both 64 and 1000 when not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    commit: Option<u64>,
    /// Only this pattern: the log alone, or the log and the index.
    #[arg(long, value_parser = PATTERNS)]
    pattern: Option<String>,
    /// Stores, or settings of a store, by name.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = CONTENDERS)]
    only: Vec<String>,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
    /// Run one lap in this process: a plan in JSON.
    #[arg(long, hide = true)]
    lap: Option<String>,
    /// Open the store that a lap has left: a plan in JSON.
    #[arg(long, hide = true, conflicts_with = "lap")]
    reopen: Option<String>,
}

/// One lap: who does what, and where.
#[derive(Clone, Serialize, Deserialize)]
struct Plan {
    store: String,
    /// Whether the index is written too.
    indexed: bool,
    commit_records: u64,
    rows: u64,
    folder: std::path::PathBuf,
}

/// What one lap and the restart after it gave. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    store: String,
    pattern: &'static str,
    commit: u64,
    rows: u64,
    #[serde(flatten)]
    lap: lap::Lap,
    #[serde(flatten)]
    restart: lap::Restart,
}

pub(crate) fn run(args: &StoreArgs) -> Result<(), Box<dyn Error>> {
    if let Some(plan) = &args.lap {
        return process::answer_and_crash(lap::run(&serde_json::from_str(plan)?)?);
    }
    if let Some(plan) = &args.reopen {
        return process::answer_and_crash(lap::reopen(&serde_json::from_str(plan)?)?);
    }
    let rows = race(args)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        println!("{}", table::table(&rows));
    }
    Ok(())
}

fn race(args: &StoreArgs) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for indexed in [false, true] {
        if args.pattern.as_ref().is_some_and(|only| only != PATTERNS[usize::from(indexed)]) {
            continue;
        }
        for &commit_records in args.commit.as_ref().map_or(&COMMITS[..], std::slice::from_ref) {
            for store in &args.only {
                rows.push(row(store, indexed, commit_records, args.rows)?);
            }
        }
    }
    Ok(rows)
}

fn row(store: &str, indexed: bool, commit_records: u64, rows: u64) -> Result<Row, Box<dyn Error>> {
    // Beside the binary: a temporary folder may lie in memory, where nothing can be made durable.
    let binary = std::env::current_exe()?;
    let folder = tempfile::tempdir_in(binary.parent().unwrap_or(Path::new(".")))?;
    let plan = Plan { store: store.into(), indexed, commit_records, rows, folder: folder.path().into() };
    let lap: lap::Lap = child(&binary, "--lap", &plan)?;
    let restart: lap::Restart = child(&binary, "--reopen", &plan)?;
    let pattern = PATTERNS[usize::from(indexed)];
    eprintln!("{store:23} {pattern:9} {commit_records:5} {:9.0} rows/s", lap.rows_per_s);
    Ok(Row { store: store.into(), pattern, commit: commit_records, rows, lap, restart })
}

fn child<T: for<'a> Deserialize<'a>>(binary: &Path, task: &str, plan: &Plan) -> Result<T, Box<dyn Error>> {
    let argument = serde_json::to_string(plan)?;
    let output = Command::new(binary).args(["store", task, &argument]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} of {}: {}", task, plan.store, output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
