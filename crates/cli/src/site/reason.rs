//! Verdicts as they are told: by servers, by snapshots, and to people.

use seenit_ledger::{Judgement, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// A reason in words.
pub(crate) fn words(reason: &Value) -> String {
    let text = |name: &str| reason[name].as_str().unwrap_or_default();
    let number = |name: &str| reason[name].as_u64().unwrap_or(0);
    let (kind, at_least) = (text("kind"), if reason["saturated"] == true { "at least " } else { "" });
    let said = |what: &str, points: &str, times: &str| {
        let (points, needed, times) = (number(points), number("quorum"), number(times));
        let by = match number("reporters") {
            0 => String::new(),
            1 => " by 1 reporter".into(),
            reporters => format!(" by {reporters} reporters"),
        };
        let times = if times > 1 { format!(", {at_least}{times} times") } else { String::new() };
        format!("its {kind} was {what}{by}{times}, with {points} points where {needed} are needed")
    };
    let shingles = || (number("shingles"), number("shingles_needed"));
    match text("rule") {
        "reported" => said("reported as spam", "weight", "raw"),
        "revoked" => said("said to be good", "against", "raw_against"),
        "protected" => format!("its {kind} is protected as known-good mail"),
        "replica" => {
            let (known, needed) = shingles();
            format!("{known} of 32 shingles of its text are known from spam, where {needed} are needed")
        }
        "resembles" => {
            let (known, needed) = shingles();
            format!("only {known} of 32 shingles of its text are known from spam, where {needed} are needed")
        }
        "disputed" if number("weight") + number("against") == 0 => {
            format!("what was said of its {kind} is taken back, or weighs nothing")
        }
        "disputed" => format!(
            "its {kind} has {} points for spam and {} against, which is no verdict",
            number("weight"),
            number("against")
        ),
        "seen" if number("seen") == 0 => format!("its {kind} is marked as bulk"),
        "seen" => format!("its {kind} was seen by {at_least}{} recipients", number("seen")),
        "many" => format!("its {kind} is marked as sent to many"),
        "deadline" => {
            format!("deadline: the server had no answer within {} ms", number("deadline_millis"))
        }
        "listed" => format!("its {kind} is on a list: {}", text("line")),
        rule => format!("its {kind}: {rule}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_rule_of_the_ledger_has_words() {
        let told = |rule: &str| {
            words(&json!({
                "kind": "exact1", "rule": rule, "weight": 12, "against": 3, "quorum": 10, "raw": 7, "raw_against": 1,
                "seen": 25, "shingles": 20, "shingles_needed": 17, "reporters": 2, "saturated": true, "line": "line 3",
            }))
        };
        assert_eq!(
            told("reported"),
            "its exact1 was reported as spam by 2 reporters, at least 7 times, with 12 points where 10 are needed"
        );
        assert_eq!(
            told("revoked"),
            "its exact1 was said to be good by 2 reporters, with 3 points where 10 are needed"
        );
        assert_eq!(told("disputed"), "its exact1 has 12 points for spam and 3 against, which is no verdict");
        assert_eq!(told("seen"), "its exact1 was seen by at least 25 recipients");
        assert_eq!(told("listed"), "its exact1 is on a list: line 3");
        let late = words(&json!({"rule": "deadline", "verdict": "no opinion", "deadline_millis": 2000}));
        assert_eq!(late, "deadline: the server had no answer within 2000 ms");
        for rule in ["protected", "replica", "resembles", "many"] {
            assert_ne!(told(rule), told("something new").replace("something new", rule), "{rule}");
        }
    }

    #[test]
    fn numbers_that_are_missing_are_not_made_up() {
        let reason = |rule: &str| words(&json!({"kind": "pyzor", "rule": rule}));
        assert_eq!(reason("seen"), "its pyzor is marked as bulk");
        assert_eq!(reason("disputed"), "what was said of its pyzor is taken back, or weighs nothing");
        assert_eq!(words(&json!(null)), "its : ", "a foreign answer is no panic");
    }
}
