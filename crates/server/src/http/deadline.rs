//! When a check must be answered, whatever is slow: a mail server waits for it with a message in its hands.

use std::time::{Duration, Instant};

use seenit_ledger::verdict::Verdict;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::Check;

/// The deadline of one check. It is counted from the moment the whole question has been read: how long a client takes
/// to send it is the client's own time, bounded by `http.body_secs`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    read: Instant,
    millis: u64,
}

/// The answer when the deadline has passed: no opinion, and why.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Late {
    verdict: Verdict,
    reasons: [LateReason; 1],
}

#[derive(Clone, Copy, Debug, Serialize)]
struct LateReason {
    rule: &'static str,
    verdict: Verdict,
    deadline_millis: u64,
}

impl Late {
    /// The same of signatures one by one.
    pub(crate) fn answers(self, number: usize) -> Value {
        json!({"answers": vec![json!({"verdict": self.verdict}); number], "reasons": self.reasons})
    }
}

impl Deadline {
    /// The deadline of a question that was read this moment.
    pub(crate) fn from_now(config: &Check) -> Self {
        Deadline { read: Instant::now(), millis: config.deadline_millis }
    }

    pub(crate) fn instant(self) -> Instant {
        self.read + Duration::from_millis(self.millis)
    }

    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.instant()
    }

    /// What is answered when it has passed.
    pub(crate) fn late(self) -> Late {
        let verdict = Verdict::NoOpinion;
        Late { verdict, reasons: [LateReason { rule: "deadline", verdict, deadline_millis: self.millis }] }
    }

    /// One that has passed, for tests.
    #[cfg(test)]
    pub(crate) fn passed() -> Self {
        Deadline { read: Instant::now(), millis: 0 }
    }
}
