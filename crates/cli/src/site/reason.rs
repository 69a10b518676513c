//! Verdicts as they are told: by servers, by snapshots, and to people.

use seenit_ledger::{Judgement, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is said of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Judged {
    pub(crate) verdict: String,
    pub(crate) reasons: Vec<Value>,
}

impl Judged {
    /// Nobody said anything.
    pub(crate) fn no_opinion() -> Self {
        Judged { verdict: Verdict::NoOpinion.as_str().to_owned(), reasons: Vec::new() }
    }

    /// As a server would tell it.
    pub(crate) fn of(judgement: &Judgement) -> Self {
        let reasons = judgement.reasons.iter().filter_map(|reason| serde_json::to_value(reason).ok());
        Judged { verdict: judgement.verdict.as_str().to_owned(), reasons: reasons.collect() }
    }

    pub(crate) fn is(&self, verdict: Verdict) -> bool {
        self.verdict == verdict.as_str()
    }

    /// The reason that decided, in words.
    pub(crate) fn why(&self) -> String {
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
        "listed" => format!("its {kind} is on a list: {}", text("line")),
        rule => format!("its {kind}: {rule}"),
    }
}
