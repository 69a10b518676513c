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
use crate::exit::Exit;
use crate::keys::KeySource;
use crate::mapped::Mapped;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::{network_key, output};

#[derive(Args)]
#[command(after_help = "Example: seenit filter count query seen.counts --keys today.txt --at-least 20\n\n\
    Prints a line for each key: its count, a tab, the key. A count with a + is the most a cell holds: the truth may be \
    more, so such keys are shown whatever --at-least asks for. No count is below the truth; a few are above it.\n\n\
    Exit code 1 when some key was never counted.")]
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
    /// Show only keys counted at least so often, or so often that their cells are full
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
struct CountQueryReport {
    /// Keys looked up.
    keys: u64,
    /// Those with a count.
    counted: u64,
    /// Those without: they were certainly never counted.
    absent: u64,
    /// Those whose count says "at least".
    saturated: u64,
    /// Those counted at least as often as was asked for, or with full cells.
    shown: u64,
    /// One for each of those, in the order they came.
    counts: Vec<KeyCount>,
}

#[derive(Serialize)]
struct KeyCount {
    /// The key as text, or its hexadecimal digits with --hex; null where it is no text.
    key: Option<String>,
    /// The digits of a key that is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    count: u64,
    saturated: bool,
}

impl KeyCount {
    fn new(key: &[u8], count: Count, hex: bool) -> Self {
        let (key, key_hex) = match (hex, std::str::from_utf8(key)) {
            (true, _) => (Some(hex::encode(key)), None),
            (false, Ok(text)) => (Some(text.to_owned()), None),
            (false, Err(_)) => (None, Some(hex::encode(key))),
        };
        KeyCount { key, key_hex, count: count.value, saturated: count.saturated }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let key = network_key::read(arguments.network_key.as_deref())?;
    let mapped = Mapped::open(&arguments.file)?;
    let view = mapped.checked()?;
    view.expect_key(key.fingerprint()).map_err(Problem::format(mapped.path()))?;
    let Found { answer, cap } = open(mapped.path(), &view, Lookup { arguments, key: &key })??;
    if arguments.at_least > cap && answer.saturated > 0 {
        let wanted = arguments.at_least;
        let full = answer.saturated;
        eprintln!(
            "seenit: warning: counts stop at {cap}: {full} keys with + may have come less than {wanted} times"
        );
    }
    if arguments.json {
        output::json(&answer)?;
    } else {
        let counted = answer.counted;
        let absent = answer.absent;
        let shown = answer.shown;
        eprintln!("seenit: {counted} counted, {absent} absent, {shown} shown");
    }
    Ok(if answer.absent == 0 { ExitCode::SUCCESS } else { Exit::KeysMissed.into() })
}

struct Lookup<'a> {
    arguments: &'a Arguments,
    key: &'a SipKey,
}

struct Found {
    answer: CountQueryReport,
    /// Where counts stop.
    cap: u64,
}

impl Work for Lookup<'_> {
    type Done = Result<Found, Problem>;

    fn on<R: Rule, C: StoredCells>(self, counts: &CountingFilter<R, AnyLayout, C>) -> Self::Done {
        let Lookup { arguments, key } = self;
        let mut answer = CountQueryReport::default();
        let mut found = Vec::new();
        let mut printing = Ok(());
        let mut out = BufWriter::new(io::stdout().lock());
        let mut progress = Progress::new("looking up keys", None);
        KeySource::new(&arguments.keys, arguments.hex).for_each_batch(|keys| {
            found.resize(keys.len(), Count::default());
            counts.count_many(key, keys, &mut found);
            for (key, count) in keys.iter().zip(&found) {
                answer.add(*count);
                // Nobody knows how often a key with full cells was counted: it may well be often enough.
                if count.value < arguments.at_least && !count.saturated {
                    continue;
                }
                answer.shown += 1;
                if arguments.json {
                    answer.counts.push(KeyCount::new(key, *count, arguments.hex));
                } else if printing.is_ok() {
                    printing = print(&mut out, key, *count, arguments.hex);
                }
            }
            progress.advance(keys.len() as u64);
        })?;
        drop(progress);
        output::printed(printing.and_then(|()| out.flush()))?;
        Ok(Found { answer, cap: counts.cells().cap() })
    }
}

impl CountQueryReport {
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
