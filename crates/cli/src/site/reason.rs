//! Verdicts as they are told: by servers, by snapshots, and to people.

use seenit_ledger::{Judgement, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plural::counted;

/// What is said of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Judged {
    pub(crate) verdict: String,
    pub(crate) reasons: Vec<Value>,
    /// Whether recipients were counted, where that was asked for, and why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_counted: Option<String>,
}

impl Judged {
    /// Nobody said anything.
    pub(crate) fn no_opinion() -> Self {
        Judged::new(Verdict::NoOpinion, Vec::new())
    }

    /// As a server would tell it.
    pub(crate) fn of(judgement: &Judgement) -> Self {
        let reasons = judgement.reasons.iter().filter_map(|reason| serde_json::to_value(reason).ok());
        Judged::new(judgement.verdict, reasons.collect())
    }

    fn new(verdict: Verdict, reasons: Vec<Value>) -> Self {
        Judged { verdict: verdict.as_str().to_owned(), reasons, counted: None, not_counted: None }
    }

    pub(crate) fn is(&self, verdict: Verdict) -> bool {
        self.verdict == verdict.as_str()
    }

    /// The reason that decided, in words, and why recipients were not counted.
    pub(crate) fn why(&self) -> String {
        let why = self.decided();
        match (self.counted, &self.not_counted) {
            (Some(false), Some(not)) => format!("{why} (not counted: {not})"),
            _ => why,
        }
    }

    fn decided(&self) -> String {
        match self.reasons.first() {
            Some(reason) => words(reason),
            None if self.is(Verdict::NoOpinion) => "it has too little text for an opinion".into(),
            None => "nobody said anything about it".into(),
        }
    }
}

/// What a signature of a kind is, to people.
pub(crate) fn plain(kind: &str) -> &str {
    match kind {
        "exact1" => "exact text",
        "near1" => "similar text",
        "url1" => "link",
        "part1" => "attachment",
        "pyzor" => "Pyzor digest",
        "razor-e4" => "Razor digest",
        "razor-e8" => "host",
        "dcc-body" | "dcc-fuz1" | "dcc-fuz2" => "DCC checksum",
        "rspamd" => "rspamd digest",
        "rspamd-near" => "similar text (rspamd)",
        other => other,
    }
}

/// A reason in words.
pub(crate) fn words(reason: &Value) -> String {
    let text = |name: &str| reason[name].as_str().unwrap_or_default();
    let number = |name: &str| reason[name].as_u64().unwrap_or(0);
    let kind = plain(text("kind"));
    let at_least = if reason["saturated"] == true { "at least " } else { "" };
    let by = || match number("reporters") {
        0 => String::new(),
        1 => " by 1 reporter".into(),
        reporters => format!(" by {reporters} reporters"),
    };
    let said = |what: &str, points: &str, times: &str| {
        let points = number(points);
        let quorum = number("quorum");
        let times = number(times);
        let times = if times > 1 { format!(", {at_least}{times} times") } else { String::new() };
        format!("{kind}: {what}{}{times} (weight {points}, quorum {quorum})", by())
    };
    let shingles = || format!("{} of its 32 shingles", number("shingles"));
    let needed = || format!("(threshold {})", number("shingles_needed"));
    match text("rule") {
        "reported" => said("reported as spam", "weight", "raw"),
        "revoked" => said("said to be good", "against", "raw_against"),
        "protected" => format!("{kind}: protected as known-good mail"),
        "replica" => format!("{kind}: {} are known from spam {}", shingles(), needed()),
        "resembles" => format!("{kind}: only {} are known from spam {}", shingles(), needed()),
        "below-quorum" if number("weight") > 0 => said("reported as spam", "weight", "raw"),
        "below-quorum" if number("against") > 0 => said("said to be good", "against", "raw_against"),
        "below-quorum" => {
            format!(
                "{kind}: what was said of it has been taken back or weighs 0 (quorum {})",
                number("quorum")
            )
        }
        "disputed" => format!(
            "{kind}: disputed{}: weight {} for spam, {} against",
            by(),
            number("weight"),
            number("against")
        ),
        "seen" if number("seen") == 0 => format!("{kind}: marked as bulk"),
        "seen" => format!("{kind}: seen by {at_least}{}", counted(number("seen"), "recipient")),
        "overfull" => {
            format!("{kind}: no opinion: only a filter knows it that holds too much to be believed")
        }
        "seen-by-strangers" => {
            let networks = number("stranger_networks");
            let networks = counted(networks, "network");
            format!("{kind}: seen by clients without an account, from at least {networks}")
        }
        "many" => format!("{kind}: marked as sent to many"),
        "deadline" => {
            format!("deadline: the server had no answer within {} ms", number("deadline_millis"))
        }
        "listed" => format!("{kind}: on a list: {}", text("line")),
        rule => format!("{kind}: {rule}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(rule: &str) -> String {
        words(&json!({
            "kind": "exact1", "rule": rule, "weight": 12, "against": 3, "quorum": 10, "raw": 7, "raw_against": 1,
            "seen": 25, "shingles": 20, "shingles_needed": 17, "reporters": 2, "saturated": true, "line": "line 3",
        }))
    }

    #[test]
    fn every_rule_of_the_ledger_has_words() {
        assert_eq!(
            told("reported"),
            "exact text: reported as spam by 2 reporters, at least 7 times (weight 12, quorum 10)"
        );
        assert_eq!(told("revoked"), "exact text: said to be good by 2 reporters (weight 3, quorum 10)");
        assert_eq!(told("disputed"), "exact text: disputed by 2 reporters: weight 12 for spam, 3 against");
        assert_eq!(told("seen"), "exact text: seen by at least 25 recipients");
        assert_eq!(told("listed"), "exact text: on a list: line 3");
        assert_eq!(told("replica"), "exact text: 20 of its 32 shingles are known from spam (threshold 17)");
        let late = words(&json!({"rule": "deadline", "verdict": "no opinion", "deadline_millis": 2000}));
        assert_eq!(late, "deadline: the server had no answer within 2000 ms");
        for rule in ["protected", "resembles", "many", "overfull", "below-quorum"] {
            assert_ne!(told(rule), told("something new").replace("something new", rule), "{rule}");
        }
    }

    #[test]
    fn ten_points_of_a_hundred_are_not_called_disputed() {
        let below = |weight: u64, against: u64| {
            words(&json!({
                "kind": "url1", "rule": "below-quorum", "weight": weight, "against": against, "quorum": 100,
                "raw": 1, "raw_against": 1, "reporters": 1,
            }))
        };
        assert_eq!(below(10, 0), "link: reported as spam by 1 reporter (weight 10, quorum 100)");
        assert_eq!(below(0, 10), "link: said to be good by 1 reporter (weight 10, quorum 100)");
        assert_eq!(below(0, 0), "link: what was said of it has been taken back or weighs 0 (quorum 100)");
    }

    #[test]
    fn numbers_that_are_missing_are_not_made_up() {
        let reason = |rule: &str| words(&json!({"kind": "pyzor", "rule": rule}));
        assert_eq!(reason("seen"), "Pyzor digest: marked as bulk");
        assert_eq!(words(&json!(null)), ": ", "a foreign answer is no panic");
    }
}
