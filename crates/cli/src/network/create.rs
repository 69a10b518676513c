//! `seenit network create`: a new network.

use std::process::ExitCode;

use clap::Args;
use seenit_sites::manifest::{GENERATION_SECS_MAX, GENERATION_SECS_MIN, Geometry, HashKey, Terms};
use serde_json::json;

use super::Common;
use super::folder::{Folder, random};
use crate::problem::Problem;

/// Bits of a cell's base: most messages have fewer than eight recipients.
const LOW_BITS: u32 = 3;

/// Tables of high parts: so many writers at a time can raise large counts.
const CHUNKS: u64 = 64;

#[derive(Args)]
#[command(
    after_help = "Capacity, rate and the length of a generation are those of seen counts; every site of the \
    network has them in common.\n\
    Examples:\n  seenit network create --folder admin\n  seenit network create --folder admin --capacity 10000000"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Signatures that all sites together see in one generation
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    capacity: u64,
    /// The false-positive rate of one generation's filter
    #[arg(long, value_name = "RATE", default_value_t = 0.0003)]
    rate: f64,
    /// Seconds of a generation: for ever
    #[arg(long, value_name = "SECS", default_value_t = 86_400,
        value_parser = clap::value_parser!(u64).range(GENERATION_SECS_MIN..=GENERATION_SECS_MAX))]
    generation_secs: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let geometry = Geometry::sized(arguments.capacity, arguments.rate, LOW_BITS, CHUNKS)
        .map_err(|error| Problem::Value(error.to_string()))?;
    let terms = Terms { first_generation: 0, generation_secs: arguments.generation_secs, geometry };
    let (common, key) = (&arguments.common, HashKey::from_bytes(random()?));
    let folder = Folder::create(&common.folder)?;
    let roster = folder.sign_roster(1, Vec::new())?;
    folder.add_manifest(terms, &roster, &key)?;
    folder.keep_roster(&roster)?;
    let network = folder.network();
    common.tell(&json!({"network": network.to_string()}), &format!("{network}\n"))
}
