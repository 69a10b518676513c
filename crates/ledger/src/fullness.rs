//! How full the tally is, and what that means for records: for `stats`, alarms and readiness.

use std::sync::atomic::Ordering::Relaxed;

use seenit_signature::Kind;

use crate::error::WriteError;
use crate::journal::LASTING;
use crate::ledger::Ledger;
use crate::shared::Shared;
use crate::tally_growth::Fill;

/// How long before a tally is full it is an alarm.
const ALARM_DAYS: f64 = 7.0;

const DAY_SECS: u64 = 86_400;

/// What `stats` says of it.
pub(crate) struct Fullness {
    /// Generations whose records count.
    pub(crate) kept_generations: u64,
    /// When the tally will be full, if signatures come as they did; none where old ones expire before.
    pub(crate) full_in_days: Option<f64>,
    pub(crate) alarms: Vec<String>,
}

impl Ledger {
    /// Whether writes are taken, the writer gets on with them and reports find room; and why not. Lists what works
    /// worse than it should, in plain sentences.
    pub fn ready(&self) -> Result<Vec<String>, WriteError> {
        self.writable()?;
        let why = self.shared.stuck().or_else(|| self.shared.state().full.clone());
        why.map_or_else(|| Ok(self.shared.kept_too_short().into_iter().collect()), Err)
    }
}

impl Shared {
    pub(crate) fn fullness(&self) -> Fullness {
        let fill = self.fill();
        let full_in = self.growth().full_in(fill);
        let full_in_days =
            full_in.map(|generations| generations * self.config.generation_secs as f64 / DAY_SECS as f64);
        let mut alarms = Vec::new();
        alarms.extend(self.state().full.as_ref().map(|error| format!("reports are refused: {error}")));
        match (self.kept_too_short(), full_in_days) {
            (Some(sentence), _) => alarms.push(sentence),
            // That it is full is an alarm of its own.
            (None, Some(days)) if days <= ALARM_DAYS && alarms.is_empty() => {
                alarms.push(self.soon_full(days, fill))
            }
            _ => {}
        }
        Fullness { kept_generations: self.kept_generations(), full_in_days, alarms }
    }

    /// Generations whose records count, the present one included.
    fn kept_generations(&self) -> u64 {
        let since = (self.generation() + 1).saturating_sub(self.hidden_before.load(Relaxed));
        since.min(self.config.record_generations)
    }

    fn fill(&self) -> Fill {
        let hidden_before = self.hidden_before.load(Relaxed);
        let generations = self.journal().map(|journal| journal.generations()).unwrap_or_default();
        let mut counted = generations.into_iter().filter(|one| *one >= hidden_before && *one != LASTING);
        Fill {
            held: self.memory.table.len(),
            capacity: self.config.capacity,
            now: self.generation(),
            oldest: counted.next().unwrap_or(hidden_before),
            record_generations: self.config.record_generations,
        }
    }

    /// Says that records are forgotten before they expire.
    fn kept_too_short(&self) -> Option<String> {
        let kept = self.kept_generations();
        let wanted = self.config.record_generations;
        if kept == wanted || !self.is_kept_short.load(Relaxed) {
            return None;
        }
        let enough = self.growth().enough(self.fill());
        let days = if self.config.generation_secs == DAY_SECS { "days" } else { "generations" };
        let capacity = self.config.capacity;
        Some(format!(
            "records are kept for {kept} {days}, not {wanted}: the tally of {capacity} signatures is full; set \
             [ledger] capacity to {enough} and restart the server, which brings back those that have not expired"
        ))
    }

    fn soon_full(&self, days: f64, fill: Fill) -> String {
        let growth = self.growth();
        let rate = growth.rate(fill.now);
        let enough = growth.enough(fill);
        let when = if days < 1.0 { "less than a day".to_owned() } else { format!("about {days:.0} days") };
        format!(
            "the tally of {} signatures is full in {when}: it holds {} and gets {rate} new ones a generation; from \
             then on the oldest records are forgotten early; set [ledger] capacity to {enough} and restart the server",
            fill.capacity, fill.held
        )
    }

    /// Texts that the shingle filters hold, by either kind of shingles: of spam or of ham, whichever are more.
    pub(crate) fn texts(&self) -> u64 {
        let [near, rspamd] = [Kind::Near1, Kind::RspamdNear].map(|kind| self.memory.near.texts(kind));
        (near[0] + rspamd[0]).max(near[1] + rspamd[1])
    }
}
