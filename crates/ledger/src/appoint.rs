//! Appointing reporters: a new one, or a weight or a standing that an operator chose.

use std::collections::HashMap;

use crate::config::LedgerConfig;
use crate::error::WriteError;
use crate::reporter::{LOCAL, OPERATOR, Reporter, ReporterId, Standing, Toward};
use crate::shared::Shared;
use crate::stage::Stage;
use crate::trust::{POINTS_MAX, standing_of_fixed};
use crate::writer::Reply;

/// A reporter that waits for the commit, and who is to hear of it.
pub(crate) type Added = (Reporter, Reply<Reporter>);

/// What becomes of a reporter.
#[derive(Clone, Copy)]
pub(crate) enum Appointment {
    /// Made by hand: a new one, or one who was a stranger, is known from now on; any other stays as it is.
    ByHand,
    /// As many points as the operator chose, whatever it says.
    Fixed(u8),
    /// A new one that nobody vouches for; a known one stays as it is.
    Newcomer,
    /// The standing that the operator chose, with what that begins with.
    Standing(Standing),
}

/// The most reporters there may be: a few hundred bytes each.
const REPORTERS_MAX: usize = 100_000;

/// Stages a new reporter, or what becomes of a known one.
pub(crate) fn put_reporter(
    shared: &Shared,
    stage: &mut Stage<'_>,
    known: &HashMap<ReporterId, Reporter>,
    added: &[Added],
    name: &str,
    appointment: Appointment,
) -> Result<Reporter, WriteError> {
    let all = || known.values().chain(added.iter().map(|(reporter, _)| reporter));
    let mut reporter = match all().find(|reporter| reporter.name == name) {
        // What the same batch settled stays settled.
        Some(reporter) => stage.reporter(reporter.id).unwrap_or(reporter).clone(),
        None if known.len() + added.len() >= REPORTERS_MAX => {
            return Err(WriteError::Reporters(REPORTERS_MAX));
        }
        None => {
            let highest = all().map(|reporter| reporter.id.0).max().unwrap_or(0);
            Reporter::new(ReporterId(highest + 1), name, Standing::Stranger, 0)
        }
    };
    appoint(&mut reporter, appointment, &shared.config);
    stage.put_reporter(reporter.clone());
    Ok(reporter)
}

fn appoint(reporter: &mut Reporter, appointment: Appointment, config: &LedgerConfig) {
    let (standing, weight, fixed) = match appointment {
        Appointment::Newcomer => return,
        Appointment::ByHand if reporter.standing != Standing::Stranger => return,
        Appointment::Fixed(weight) => (standing_of_fixed(weight), weight.min(POINTS_MAX), true),
        Appointment::Standing(Standing::Vouched) => (Standing::Vouched, POINTS_MAX, true),
        Appointment::ByHand | Appointment::Standing(Standing::Known) => {
            (Standing::Known, config.account_weight, false)
        }
        Appointment::Standing(Standing::Stranger) if reporter.id == LOCAL => {
            (Standing::Stranger, config.strangers_max(), true)
        }
        Appointment::Standing(Standing::Stranger) => (Standing::Stranger, 0, false),
    };
    (reporter.weight, reporter.fixed, reporter.toward) = (weight, fixed, Toward::default());
    // The operator vouches for itself, whatever its opinion weighs.
    if reporter.id != OPERATOR {
        reporter.standing = standing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_follows_from_what_the_operator_did_and_nothing_else() {
        let config = LedgerConfig::default();
        let after = |standing, weight, appointment| {
            let mut one = Reporter::new(ReporterId(7), "seven", standing, weight);
            appoint(&mut one, appointment, &config);
            (one.standing, one.weight, one.fixed)
        };
        let vouched = Standing::Vouched;
        let known = Standing::Known;
        let stranger = Standing::Stranger;
        assert_eq!(after(stranger, 0, Appointment::Newcomer), (stranger, 0, false));
        assert_eq!(after(stranger, 0, Appointment::ByHand), (known, 4, false));
        assert_eq!(after(known, 2, Appointment::ByHand), (known, 2, false), "what it lost stays lost");
        assert_eq!(after(stranger, 0, Appointment::Fixed(5)), (vouched, 5, true));
        assert_eq!(after(vouched, 10, Appointment::Fixed(4)), (known, 4, true));
        assert_eq!(after(known, 9, Appointment::Standing(stranger)), (stranger, 0, false));
        assert_eq!(after(stranger, 0, Appointment::Standing(vouched)), (vouched, 10, true));
        assert_eq!(after(vouched, 10, Appointment::Standing(known)), (known, 4, false));
        let mut operator = Reporter::new(OPERATOR, "operator", vouched, 10);
        appoint(&mut operator, Appointment::Fixed(3), &config);
        assert_eq!((operator.standing, operator.weight), (vouched, 3));
    }
}
