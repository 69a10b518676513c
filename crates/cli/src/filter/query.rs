//! `seenit filter query`: which keys a filter may hold, and which it surely does not, unless it was retouched.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::exit::Exit;
use crate::keys::KeySource;
use crate::mapped::Mapped;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::{network_key, output};

#[derive(Args)]
#[command(after_help = "Example: seenit filter query spam.filter --keys today.txt --hex --list hits")]
pub(crate) struct Arguments {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Keys, one per line; - for standard input
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Keys are hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// File with the secret the filter was built with; without it the public key
    #[arg(long, value_name = "FILE")]
    network_key: Option<PathBuf>,
    /// Print the keys that hit, or that missed, one per line (hexadecimal with --hex)
    #[arg(long, value_name = "WHICH", conflicts_with = "json")]
    list: Option<List>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum List {
    Hits,
    Misses,
}

/// The answer. Names are a contract: scripts read them.
#[derive(Default, Serialize)]
struct QueryReport {
    hits: u64,
    misses: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let key = network_key::read(arguments.network_key.as_deref())?;
    let mapped = Mapped::open(&arguments.file)?;
    let view = mapped.checked()?;
    view.expect_key(key.fingerprint()).map_err(Problem::format(mapped.path()))?;
    let filter = view.filter().map_err(Problem::format(mapped.path()))?;

    let mut answer = QueryReport::default();
    let mut found = Vec::new();
    let mut listing = Ok(());
    let mut out = BufWriter::new(io::stdout().lock());
    let mut progress = Progress::new("looking up keys", None);
    KeySource::new(&arguments.keys, arguments.hex).for_each_batch(|keys| {
        found.resize(keys.len(), false);
        filter.contains_many(&key, keys, &mut found);
        let hits = found.iter().filter(|&&found| found).count() as u64;
        answer.hits += hits;
        answer.misses += keys.len() as u64 - hits;
        if let (Some(list), Ok(())) = (arguments.list, &listing) {
            listing = print_keys(&mut out, keys, &found, list == List::Hits, arguments.hex);
        }
        progress.advance(keys.len() as u64);
    })?;
    drop(progress);
    output::printed(listing.and_then(|()| out.flush()))?;
    drop(out);

    match (arguments.json, arguments.list) {
        (true, _) => output::json(&answer)?,
        (false, None) => output::text(&format!("{} hits, {} misses\n", answer.hits, answer.misses))?,
        (false, Some(_)) => eprintln!("seenit: {} hits, {} misses", answer.hits, answer.misses),
    }
    Ok(if answer.misses == 0 { ExitCode::SUCCESS } else { Exit::KeysMissed.into() })
}

/// Prints the keys whose answer is `wanted`.
fn print_keys(
    out: &mut impl Write,
    keys: &[&[u8]],
    found: &[bool],
    wanted: bool,
    hex: bool,
) -> io::Result<()> {
    for (key, _) in keys.iter().zip(found).filter(|&(_, &found)| found == wanted) {
        if hex {
            writeln!(out, "{}", hex::encode(key))?;
        } else {
            out.write_all(key)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}
