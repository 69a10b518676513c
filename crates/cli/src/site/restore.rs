//! `seenit restore`: a backup put in place, under a new incarnation.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use seenit_ledger::SystemClock;
use seenit_server::config::Wrong;
use serde::Serialize;

use super::serve::read_config;
use crate::client::DATA_FOLDER;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Copies BACKUP, the copy of a data folder, to DIR and begins a new incarnation there. DIR must \
    be absent or empty. Without BACKUP it begins one in DIR itself: do that when DIR was put back by rsync, by a \
    snapshot of the file system or by hand. No server may be running on either folder.\n\n\
    Why: records that were written after the backup may be known elsewhere by their names. Without a new incarnation \
    the next records would get the same names.\n\n\
    Example: seenit restore /backup/seenit-data --data /var/lib/seenit/data"
)]
pub(crate) struct Arguments {
    /// The copy of a data folder; without it, DIR is one already
    #[arg(value_name = "BACKUP")]
    backup: Option<PathBuf>,
    /// The data folder
    #[arg(long, value_name = "DIR", default_value = DATA_FOLDER)]
    data: PathBuf,
    /// The configuration the server will be started with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    data: &'a PathBuf,
    backup: Option<&'a PathBuf>,
    site: String,
    incarnation_before: u64,
    incarnation: u64,
    records: u64,
    signatures: u64,
    recovery: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let config = read_config(arguments.config.as_deref())?;
    config.check().map_err(|wrong: Wrong| Problem::Value(wrong.to_string()))?;
    let data = &arguments.data;
    let clock = Arc::new(SystemClock::default());
    let restored = match &arguments.backup {
        Some(backup) => seenit_ledger::restore(backup, data, config.ledger, clock)?,
        None => seenit_ledger::restore_in_place(data, config.ledger, clock)?,
    };
    let stats = restored.stats;
    let told = Told {
        data,
        backup: arguments.backup.as_ref(),
        site: stats.site,
        incarnation_before: restored.incarnation_before,
        incarnation: stats.incarnation,
        records: stats.records,
        signatures: stats.signatures,
        recovery: stats.recovery,
    };
    if arguments.json {
        output::json(&told)?;
    } else {
        output::text(&text(&told))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(told: &Told<'_>) -> String {
    let mut text = format!(
        "restored {}: the last record is {}, {} signatures count\n\
         incarnation {:x} begins; {:x} has ended\n",
        told.data.display(),
        told.records,
        told.signatures,
        told.incarnation,
        told.incarnation_before,
    );
    for sentence in &told.recovery {
        text += &format!("recovery: {sentence}\n");
    }
    text + "If `seenit stats` says that the clock leapt ahead, run `seenit clock confirm`.\n"
}
