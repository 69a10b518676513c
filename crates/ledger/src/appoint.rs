//! Appointing reporters: a new one, or a weight that an operator chose.

use std::collections::HashMap;

use crate::error::WriteError;
use crate::reporter::{Reporter, ReporterId};
use crate::shared::Shared;
use crate::stage::Stage;
use crate::trust::POINTS_MAX;
use crate::writer::Reply;

/// A reporter that waits for the commit, and who is to hear of it.
pub(crate) type Added = (Reporter, Reply<Reporter>);

/// What a reporter's word is to weigh.
#[derive(Clone, Copy)]
pub(crate) enum Standing {
    /// A known one's as before, a new one's as accounts begin.
    Usual,
    /// As many points as the operator chose, whatever it says.
    Fixed(u8),
    /// A known one's as before, a new one's nothing.
    Newcomer,
}

/// The most reporters there may be: a few hundred bytes each.
const REPORTERS_MAX: usize = 100_000;

/// Stages a new reporter, or a new weight of a known one.
pub(crate) fn put_reporter(
    shared: &Shared,
    stage: &mut Stage<'_>,
    known: &HashMap<ReporterId, Reporter>,
    added: &[Added],
    name: &str,
    standing: Standing,
) -> Result<Reporter, WriteError> {
    let all = || known.values().chain(added.iter().map(|(reporter, _)| reporter));
    let mut reporter = match all().find(|reporter| reporter.name == name) {
        Some(reporter) => reporter.clone(),
        None if known.len() + added.len() >= REPORTERS_MAX => {
            return Err(WriteError::Reporters(REPORTERS_MAX));
        }
        None => {
            let highest = all().map(|reporter| reporter.id.0).max().unwrap_or(0);
            Reporter {
                id: ReporterId(highest + 1),
                name: name.to_owned(),
                weight: if let Standing::Newcomer = standing { 0 } else { shared.config.account_weight },
                fixed: false,
                confirmed: 0,
                refuted: 0,
                records: 0,
            }
        }
    };
    if let Standing::Fixed(weight) = standing {
        (reporter.weight, reporter.fixed) = (weight.min(POINTS_MAX), true);
    }
    stage.put_reporter(reporter.clone());
    Ok(reporter)
}
