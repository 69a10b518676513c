//! Verdicts and their reasons.

use std::fmt;

use seenit_signature::Kind;
use serde::{Serialize, Serializer};

/// What the ledger says of a signature or a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Reported as spam, by enough weight.
    Spam,
    /// Seen by many recipients. Newsletters are, too.
    Bulk,
    /// Said to be good, by enough weight.
    Ham,
    /// Nobody said enough about it.
    #[default]
    Unknown,
    /// There is nothing to ask about, or nobody to answer.
    NoOpinion,
}

impl Verdict {
    /// Every verdict, the gravest first.
    pub const ALL: [Verdict; 5] =
        [Verdict::Spam, Verdict::Bulk, Verdict::Ham, Verdict::Unknown, Verdict::NoOpinion];

    /// How it is spelt, everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Spam => "spam",
            Verdict::Bulk => "bulk",
            Verdict::Ham => "ham",
            Verdict::Unknown => "unknown",
            Verdict::NoOpinion => "no opinion",
        }
    }

    /// Its number in binary answers.
    pub fn code(self) -> u8 {
        match self {
            Verdict::Unknown => 0,
            Verdict::Spam => 1,
            Verdict::Bulk => 2,
            Verdict::Ham => 3,
            Verdict::NoOpinion => 4,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Which rule a reason stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The spam weight reached the quorum of its kind and exceeds the ham weight clearly.
    Reported,
    /// The ham weight reached the quorum and exceeds the spam weight clearly.
    Revoked,
    /// Known-good mail: no report makes it spam.
    Protected,
    /// Enough shingles are known from spam.
    Replica,
    /// Some shingles are known from spam, too few for a verdict.
    Resembles,
    /// There is weight on both sides, and neither exceeds the other clearly.
    Disputed,
    /// Somebody reported or revoked it, with too little weight for a verdict and none on the other side.
    BelowQuorum,
    /// So many recipients got it.
    Seen,
    /// Only a filter says so whose false-positive rate is beyond its promise: that is no opinion.
    Overfull,
    /// A MANY report or mark.
    Many,
    /// Clients without an account say that they got it, from so many networks that it is worth telling.
    #[serde(rename = "seen-by-strangers")]
    SeenByAnonymous,
    /// A line of a list that an operator keeps.
    Listed,
}

impl Rule {
    /// Whether the signature is known to be good.
    pub(crate) fn is_good(self) -> bool {
        matches!(self, Rule::Protected | Rule::Revoked)
    }
}

/// One reason of a verdict. What does not apply is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The kind of the signature.
    #[serde(serialize_with = "kind_name")]
    pub kind: Kind,
    /// Its digest, in hexadecimal; of shingles nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What it says by itself.
    pub verdict: Verdict,
    /// Why.
    pub rule: Rule,
    /// Points of those who reported it.
    pub weight: u32,
    /// Points of those who revoked it.
    pub against: u32,
    /// Points that a verdict needs.
    pub quorum: u32,
    /// Reports in all, repeats included; "at least" where `saturated`.
    pub raw: u64,
    /// Revocations in all.
    pub raw_against: u64,
    /// Recipients it was seen by, of those generations that are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    /// Client networks without an account that say they got it, at least; not told where they are few.
    #[serde(rename = "stranger_networks", skip_serializing_if = "Option::is_none")]
    pub anonymous_networks: Option<u32>,
    /// Shingles known from spam, of 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shingles: Option<u32>,
    /// Shingles that a verdict needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shingles_needed: Option<u32>,
    /// Reporters whose last opinion counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reporters: Option<u32>,
    /// The newest generation in which somebody said something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The line of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Whether the numbers are "at least".
    pub saturated: bool,
}

impl Reason {
    pub(crate) fn new(kind: Kind, verdict: Verdict, rule: Rule) -> Self {
        Reason {
            kind,
            digest: None,
            verdict,
            rule,
            weight: 0,
            against: 0,
            quorum: 0,
            raw: 0,
            raw_against: 0,
            seen: None,
            anonymous_networks: None,
            shingles: None,
            shingles_needed: None,
            reporters: None,
            generation: None,
            line: None,
            saturated: false,
        }
    }
}

/// Writes a kind by its name.
pub(crate) fn kind_name<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

/// Writes kinds by their names.
pub(crate) fn kind_names<S: Serializer>(kinds: &[Kind], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(kinds.iter().map(|kind| kind.as_str()))
}

/// The verdict of a message and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Every signature that says something, the one that decided first.
    pub reasons: Vec<Reason>,
}

/// What memory alone says of one signature: the answer of batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The verdict of this signature by itself.
    pub verdict: Verdict,
    /// Points of those who reported it; of a text the shingles known from spam.
    pub weight: u16,
    /// Points of those who revoked it.
    pub against: u16,
    /// Reports in all.
    pub raw: u16,
    /// Revocations in all.
    pub raw_against: u16,
    /// Known-good mail.
    pub protected: bool,
    /// Protected, or said to be good by enough weight. The verdict is ham only where the digest is of a whole message.
    pub good: bool,
    /// Marked as MANY.
    pub many: bool,
    /// The numbers are "at least".
    pub saturated: bool,
}

/// The bytes of an [`Answer`] in binary bodies.
pub const ANSWER_BYTES: usize = 8;

impl Answer {
    /// Verdict, marks (1 protected, 2 many, 4 at least, 8 good), weight, weight against, reports: eight bytes, numbers
    /// with their lowest byte first.
    pub fn to_bytes(self) -> [u8; ANSWER_BYTES] {
        let marks = [self.protected, self.many, self.saturated, self.good];
        let marks = marks.iter().rev().fold(0, |bits, &mark| bits << 1 | u8::from(mark));
        let ([w0, w1], [a0, a1]) = (self.weight.to_le_bytes(), self.against.to_le_bytes());
        let [r0, r1] = self.raw.to_le_bytes();
        [self.verdict.code(), marks, w0, w1, a0, a1, r0, r1]
    }
}
