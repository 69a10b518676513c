//! `seenit filter build`: keys in, a filter file out. Equal input gives equal bytes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use seenit_filter::{AnyLayout, Filter, HugePages, LayoutName, Promise};

use super::report::Report;
use crate::keys::KeySource;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::{network_key, output};

#[derive(Args)]
#[command(after_help = "Example: seenit filter build --keys digests.txt --hex --rate 0.001 -o spam.filter")]
pub(crate) struct Arguments {
    /// Keys, one per line; - for standard input. Blank lines are passed over
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Keys are hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// Where a key's bits lie: flat (least memory), paged (one page a key), line (one cache line, fastest)
    #[arg(long, value_name = "flat|paged|line", default_value = "line", value_parser = layout_name)]
    layout: LayoutName,
    /// Keys the filter is to hold; by default as many as there are lines
    #[arg(long, value_name = "N")]
    capacity: Option<u64>,
    /// False-positive rate when it holds them, from 1e-9 to below 1
    #[arg(long, value_name = "F", default_value_t = 0.01, allow_negative_numbers = true)]
    rate: f64,
    /// File with the network's secret: 16 bytes or more of anything, a newline at its end aside. Make one
    /// with `openssl rand -hex 32`. Without it a fixed public key
    #[arg(long, value_name = "FILE")]
    network_key: Option<PathBuf>,
    /// The filter file to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn layout_name(name: &str) -> Result<LayoutName, String> {
    name.parse().map_err(|error: seenit_filter::GeometryError| error.to_string())
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
    let layout = AnyLayout::sized(arguments.layout, capacity, arguments.rate)?;
    let promise = Promise { capacity, rate: arguments.rate };
    let mut filter = Filter::new(layout, Some(promise), key.fingerprint(), HugePages::Default)?;

    let mut progress = Progress::new("inserting keys", arguments.capacity.is_none().then_some(capacity));
    let inserted = source.for_each_batch(|keys| {
        filter.insert_many(&key, keys);
        progress.advance(keys.len() as u64);
    })?;
    drop(progress);

    let mut report = Report::of(&arguments.output, &filter);
    report.keys_read = Some(inserted);
    let inputs = [Some(arguments.keys.as_path()), arguments.network_key.as_deref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().collect();
    output::write_filter(&arguments.output, &filter, &inputs)?;
    if report.is_broken() {
        eprintln!("seenit: warning: {inserted} keys in a filter for {capacity}: its promise is broken");
    }
    report.print(arguments.json)?;
    Ok(ExitCode::SUCCESS)
}
