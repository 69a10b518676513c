//! `seenit filter count query`: how often each key was counted.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_filter::AnyLayout;
use seenit_filter::counting::{Count, CountingFilter, Rule};
use seenit_filter::file::StoredCells;
use seenit_filter::hash::SipKey;
use serde::Serialize;

use super::open::{Work, open};
use crate::keys::KeySource;
use crate::mapped::Mapped;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::{network_key, output};

#[derive(Args)]
#[command(after_help = "Example: seenit filter count query seen.counts --keys today.txt --at-least 20\n\n\
    Prints a line for each key: its count, a tab, the key. A count with a + is the most a cell holds: the truth may be \
    more. No count is below the truth; a few are above it.")]
pub(crate) struct Arguments {
    /// The counting filter file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Keys, one per line; - for standard input
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Keys are hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// Show only keys counted at least so often
    #[arg(long, value_name = "N", default_value_t = 0)]
    at_least: u64,
    /// File with the secret the filter was built with; without it the public key
    #[arg(long, value_name = "FILE")]
    network_key: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The answer. Names are a contract: scripts read them.
#[derive(Default, Serialize)]
struct Answer {
    /// Keys looked up.
    keys: u64,
    /// Those with a count.
    counted: u64,
    /// Those without: they were certainly never counted.
    absent: u64,
    /// Those whose count says "at least".
    saturated: u64,
    /// One for each key that was counted at least so often as was asked for, in the order they came.
    counts: Vec<KeyCount>,
}

#[derive(Serialize)]
struct KeyCount {
    key: String,
    count: u64,
    saturated: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let key = network_key::read(arguments.network_key.as_deref())?;
    let mapped = Mapped::open(&arguments.file)?;
    let view = mapped.checked()?;
    view.expect_key(key.fingerprint()).map_err(Problem::format(mapped.path()))?;
    let answer = open(mapped.path(), &view, Lookup { arguments, key: &key })??;
    if arguments.json {
        output::json(&answer)?;
    } else {
        eprintln!("seenit: {} counted, {} absent", answer.counted, answer.absent);
    }
    Ok(if answer.absent == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

struct Lookup<'a> {
    arguments: &'a Arguments,
    key: &'a SipKey,
}

impl Work for Lookup<'_> {
    type Done = Result<Answer, Problem>;

    fn on<R: Rule, C: StoredCells>(self, counts: &CountingFilter<R, AnyLayout, C>) -> Self::Done {
        let Lookup { arguments, key } = self;
        let mut answer = Answer::default();
        let mut found = Vec::new();
        let mut printing = Ok(());
        let mut out = BufWriter::new(io::stdout().lock());
        let mut progress = Progress::new("looking up keys", None);
        KeySource::new(&arguments.keys, arguments.hex).for_each_batch(|keys| {
            found.resize(keys.len(), Count::default());
            counts.count_many(key, keys, &mut found);
            for (key, count) in keys.iter().zip(&found) {
                answer.add(*count);
                if count.value < arguments.at_least {
                    continue;
                }
                if arguments.json {
                    let key =
                        if arguments.hex { hex::encode(key) } else { String::from_utf8_lossy(key).into() };
                    answer.counts.push(KeyCount { key, count: count.value, saturated: count.saturated });
                } else if printing.is_ok() {
                    printing = print(&mut out, key, *count, arguments.hex);
                }
            }
            progress.advance(keys.len() as u64);
        })?;
        drop(progress);
        output::printed(printing.and_then(|()| out.flush()))?;
        Ok(answer)
    }
}

impl Answer {
    fn add(&mut self, count: Count) {
        self.keys += 1;
        self.counted += u64::from(count.value > 0);
        self.absent += u64::from(count.value == 0);
        self.saturated += u64::from(count.saturated);
    }
}

fn print(out: &mut impl Write, key: &[u8], count: Count, hex: bool) -> io::Result<()> {
    write!(out, "{}{}\t", count.value, if count.saturated { "+" } else { "" })?;
    if hex {
        return writeln!(out, "{}", hex::encode(key));
    }
    out.write_all(key)?;
    out.write_all(b"\n")
}
