//! Alarms in the log: when they begin and when they end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::backend::Backend;

/// How often the alarms are looked at. They last for hours, and looking costs a millisecond.
const EVERY: Duration = Duration::from_secs(5);

/// Looks at the alarms until the server stops.
pub(crate) async fn watch(backend: Arc<Backend>, mut stop: watch::Receiver<bool>) {
    let mut known = BTreeMap::new();
    while !*stop.borrow() {
        let looking = Arc::clone(&backend);
        // In a thread of its own and in no queue: it is one at a time.
        if let Ok(alarms) = tokio::task::spawn_blocking(move || all(&looking)).await {
            known = log_changes(&known, alarms);
        }
        backend.audit.tick();
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            changed = stop.changed() => if changed.is_err() { return },
        }
    }
}

/// Everything that somebody should look at.
fn all(backend: &Backend) -> Vec<String> {
    backend.ledger.probe_filters();
    let mut alarms = backend.ledger.stats().alarms;
    alarms.extend(of_site(backend));
    alarms
}

/// What is the matter with the link to other sites.
pub(crate) fn of_site(backend: &Backend) -> impl Iterator<Item = String> {
    backend.site.get().into_iter().flat_map(|site| site.status().all_alarms())
}

/// Logs what began and what ended, and returns what there is now. Alarms have numbers in them that change all the time:
/// two that differ in nothing else are one.
fn log_changes(known: &BTreeMap<String, String>, alarms: Vec<String>) -> BTreeMap<String, String> {
    let now: BTreeMap<String, String> =
        alarms.into_iter().map(|alarm| (without_digits(&alarm), alarm)).collect();
    for alarm in now.iter().filter(|(key, _)| !known.contains_key(*key)).map(|(_, alarm)| alarm.as_str()) {
        tracing::warn!(alarm, "an alarm began");
    }
    for alarm in known.iter().filter(|(key, _)| !now.contains_key(*key)).map(|(_, alarm)| alarm.as_str()) {
        tracing::info!(alarm, "an alarm ended");
    }
    now
}

fn without_digits(alarm: &str) -> String {
    alarm.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_whose_numbers_change_is_the_same_alarm() {
        let first = log_changes(&BTreeMap::new(), vec!["91 records of 100: raise capacity".into()]);
        let second = log_changes(&first, vec!["92 records of 100: raise capacity".into()]);
        assert!(first.keys().eq(second.keys()));
        assert!(log_changes(&second, Vec::new()).is_empty());
    }
}
