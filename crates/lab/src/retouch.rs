//! The experiment `retouch`.

use serde::Serialize;

use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

/// What can be chosen.
#[derive(Clone, Debug, Default)]
pub struct Options {}

/// A row for machines.
#[derive(Clone, Debug, Serialize)]
pub struct Row {}

/// Runs the experiment.
pub fn run(_options: &Options, _bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    Ok(Outcome { rows: Vec::new(), account: Account::default() })
}
