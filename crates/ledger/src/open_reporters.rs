//! The reporters of a journal when it is opened: the built-in ones, and what those of older versions become.

use crate::config::LedgerConfig;
use crate::error::OpenError;
use crate::journal::Journal;
use crate::reporter::{LOCAL, LOCAL_WEIGHT, OPERATOR, Reporter, Standing};
use crate::trust::{POINTS_MAX, standing_of_fixed};

/// Says in a journal that the weight of `local` is the operator's to set, and not a key of the configuration any more.
const LOCAL_IS_WEIGHED: &str = "local_is_weighed";

/// What `local` weighed by default when that was a key of the configuration.
const LOCAL_WEIGHT_BEFORE: u8 = 10;

/// Says in a journal that its reporters have standings.
const HAVE_STANDINGS: &str = "reporters_have_standings";

/// Before there were standings, accounts that clients made for themselves were known by their names alone. The operator
/// could not make an account of such a name.
const REGISTERED_BEFORE: &str = "razor.";

/// The reporters of the journal, the built-in ones among them.
pub(crate) fn reporters(journal: &Journal, config: &LedgerConfig) -> Result<Vec<Reporter>, OpenError> {
    let mut reporters = journal.reporters()?;
    let mut batch = journal.batch();
    for (id, name, standing, weight) in [
        (LOCAL, "local", Standing::Stranger, LOCAL_WEIGHT),
        (OPERATOR, "operator", Standing::Vouched, POINTS_MAX),
    ] {
        if !reporters.iter().any(|reporter| reporter.id == id) {
            let new = Reporter { fixed: true, ..Reporter::new(id, name, standing, weight) };
            batch.reporter(&new)?;
            reporters.push(new);
        }
    }
    if journal.number(LOCAL_IS_WEIGHED)?.is_none() {
        // Another weight than the default was somebody's choice, and stays.
        let local = reporters.iter_mut().find(|one| one.id == LOCAL && one.weight == LOCAL_WEIGHT_BEFORE);
        if let Some(local) = local {
            local.weight = LOCAL_WEIGHT;
            batch.reporter(local)?;
        }
        batch.number(LOCAL_IS_WEIGHED, 1);
    }
    if journal.number(HAVE_STANDINGS)?.is_none() {
        for reporter in &mut reporters {
            give_standing(reporter);
            batch.reporter(reporter)?;
        }
        batch.number(HAVE_STANDINGS, 1);
    }
    batch.commit()?;
    reporters.iter_mut().for_each(|reporter| limit(reporter, config));
    Ok(reporters)
}

/// What a reporter of a version without standings becomes. Those who had registered lose what they had earned: it could
/// be had in seconds, by accounts that confirmed each other.
fn give_standing(reporter: &mut Reporter) {
    reporter.standing = match reporter.id {
        OPERATOR => Standing::Vouched,
        LOCAL if reporter.weight == LOCAL_WEIGHT => Standing::Stranger,
        _ if reporter.fixed => standing_of_fixed(reporter.weight),
        _ if reporter.name.starts_with(REGISTERED_BEFORE) => {
            reporter.weight = 0;
            Standing::Stranger
        }
        _ => Standing::Known,
    };
}

/// Weights end where the configuration ends them, which may have changed since they were earned.
fn limit(reporter: &mut Reporter, config: &LedgerConfig) {
    match reporter.standing {
        Standing::Stranger => reporter.weight = reporter.weight.min(config.strangers_max()),
        Standing::Known if !reporter.fixed => reporter.weight = reporter.weight.min(config.known_max()),
        Standing::Known | Standing::Vouched => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(journal: &Journal) -> Vec<Reporter> {
        reporters(journal, &LedgerConfig::default()).expect("reporters")
    }

    fn weight_of_local(reporters: &[Reporter]) -> Option<u8> {
        reporters.iter().find(|reporter| reporter.id == LOCAL).map(|reporter| reporter.weight)
    }

    #[test]
    fn the_old_default_weight_of_local_becomes_the_new_one_once_and_a_chosen_one_stays() {
        for (before, after) in [(LOCAL_WEIGHT_BEFORE, LOCAL_WEIGHT), (3, 3), (0, 0)] {
            let folder = tempfile::tempdir().expect("a folder");
            let journal = Journal::open(folder.path()).expect("a journal");
            let put = |weight| {
                let local = Reporter::new(LOCAL, "local", standing_of_fixed(weight), weight);
                let mut batch = journal.batch();
                batch.reporter(&Reporter { fixed: true, ..local }).expect("encoded");
                batch.commit().expect("durable");
            };
            put(before);
            assert_eq!(weight_of_local(&opened(&journal)), Some(after));
            assert_eq!(weight_of_local(&journal.reporters().expect("rows")), Some(after), "durable");
            // From now on it is the operator's choice, whatever it is.
            put(LOCAL_WEIGHT_BEFORE);
            assert_eq!(weight_of_local(&opened(&journal)), Some(LOCAL_WEIGHT_BEFORE));
        }
    }

    #[test]
    fn in_a_new_journal_local_weighs_less_than_trust_and_than_a_veto() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Journal::open(folder.path()).expect("a journal");
        let local = weight_of_local(&opened(&journal)).expect("built in");
        let config = LedgerConfig::default();
        let quorum = config.quorum;
        assert!(!config.outweighs(quorum, local.into(), 0), "it lists nothing alone");
        assert!(config.outweighs(quorum, quorum, local.into()), "nor unlists anything");
        let strict = LedgerConfig { ratio: 9, ..config };
        let local = weight_of_local(&reporters(&journal, &strict).expect("reporters")).expect("built in");
        assert_eq!(local, 1, "it follows the configuration");
    }
}
