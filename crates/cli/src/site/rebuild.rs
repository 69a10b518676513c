//! `seenit rebuild`: tallies made anew from the journal.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use seenit_ledger::SystemClock;
use seenit_server::config::Wrong;

use super::serve::read_config;
use crate::client::DATA_FOLDER;
use crate::output;
use crate::plural::counted;
use crate::problem::Problem;
use crate::progress::Progress;

#[derive(Args)]
#[command(
    after_help = "No server may be running on the folder. Without --config or --capacity the tallies are made for \
    the default capacity. For another size a restart with another `capacity` is enough: this is for tallies that are \
    damaged or in doubt. Seen counts stay as they are.\n\
    Example: seenit rebuild --data seenit-data --capacity 10000000"
)]
pub(crate) struct Arguments {
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_FOLDER)]
    data: PathBuf,
    /// The configuration the server will be started with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Signatures that the tally shall hold, whatever the configuration says
    #[arg(long, value_name = "N")]
    capacity: Option<u64>,
    /// Print one JSON object: what `stats` prints
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let mut config = read_config(arguments.config.as_deref())?;
    config.ledger.capacity = arguments.capacity.unwrap_or(config.ledger.capacity);
    config.check().map_err(|wrong: Wrong| Problem::Value(wrong.to_string()))?;
    let mut progress = Progress::new("records", None);
    let mut records = 0u64;
    let clock = Arc::new(SystemClock::default());
    let stats = seenit_ledger::rebuild(&arguments.data, config.ledger, clock, || {
        records += 1;
        progress.advance(1);
    })?;
    drop(progress);
    if arguments.json {
        output::json(&stats)?;
    } else {
        let signatures = stats.signatures;
        let capacity = stats.capacity;
        let mut text = format!(
            "{} read, {signatures} signatures of {capacity} in the tally\n",
            counted(records, "record")
        );
        if arguments.capacity.is_some() {
            text += &format!(
                "Serve with `capacity = {capacity}` in [ledger], or it is made for another number.\n"
            );
        }
        output::text(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
