//! What the ledger takes and gives beside verdicts.

use seenit_signature::Kind;
use serde::Serialize;

use crate::probe::FilterRate;
use crate::record::{Opinion, RecordId, Verb};
use crate::reporter::ReporterId;
use crate::signature::Case;
use crate::verdict::{Judgement, kind_name, kind_names};

/// Something to be remembered.
#[derive(Clone, Debug)]
pub struct Write {
    /// What is said.
    pub verb: Verb,
    /// By whom.
    pub reporter: ReporterId,
    /// Of which messages: one record each.
    pub cases: Vec<Case>,
}

/// What was written, or what a record did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The first record; the others follow it number by number.
    pub id: RecordId,
    /// How many records there are.
    pub records: u32,
    /// What they say.
    pub verb: Verb,
    /// Signatures that were known before, of all records.
    pub matched: u64,
    /// Of a revocation: signatures of its cases that are not spam (any more).
    pub cleared: u64,
    /// Of a revocation: signatures that stay spam, because others' weight is larger.
    pub remaining: u64,
    /// Sites that know of it.
    pub sites: Vec<SiteReceipt>,
    /// Of a protection and of its end: what it did. Not kept: a receipt that is asked for later does not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<ProtectionReceipt>,
}

/// What a write did to protections. They are counted: a signature is protected as long as one message that protects it
/// is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProtectionReceipt {
    /// Messages that are protected since, or no longer.
    pub changed: u32,
    /// Messages that were protected already; of the end of a protection, messages that were not.
    pub unchanged: u32,
    /// Of the end of a protection: signatures of its messages that other messages still protect.
    pub still_protected: u64,
}

/// How often a signature was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    /// Recipients, of those generations that are counted.
    pub recipients: u64,
    /// Marked as MANY.
    pub many: bool,
    /// The count was forgotten once.
    pub forgotten: bool,
}

/// One site that knows of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SiteReceipt {
    /// The site.
    pub site: String,
    /// Whether it has applied it.
    pub applied: bool,
}

/// Everything the journal knows of a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The kind.
    #[serde(serialize_with = "kind_name")]
    pub kind: Kind,
    /// The digest in hexadecimal.
    pub digest: String,
    /// The verdict and reasons of this signature by itself.
    pub judgement: Judgement,
    /// The last opinions of reporters, newest first.
    #[serde(rename = "words")]
    pub opinions: Vec<Spoken>,
    /// Whether there are more opinions than are listed.
    pub more: bool,
    /// Who protects it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected_by: Option<ProtectedBy>,
}

/// Everything the journal knows of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MessageExplanation {
    /// The verdict and why.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// One entry for each record that speaks of it, the newest first.
    pub reports: Vec<Statement>,
    /// Whether there are more than are listed.
    pub more: bool,
    /// Who protects it, or pieces of it.
    pub protected_by: Vec<ProtectedBy>,
    /// What is known of each signature.
    pub signatures: Vec<Explanation>,
}

/// One record that speaks of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// The record.
    pub record: RecordId,
    /// What it says.
    pub verb: Verb,
    /// Who said it.
    pub reporter: String,
    /// When, as RFC 3339 writes it.
    pub time: String,
    /// Points of the reporter then.
    pub weight: u8,
    /// The kinds of the signatures that it shares with the message.
    #[serde(serialize_with = "kind_names")]
    pub kinds: Vec<Kind>,
}

/// One record that protects signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProtectedBy {
    /// The newest record of a message that is still protected.
    pub record: RecordId,
    /// Who protected that message.
    pub reporter: String,
    /// When, as RFC 3339 writes it.
    pub time: String,
    /// The kinds of the signatures that it protects here.
    #[serde(serialize_with = "kind_names")]
    pub kinds: Vec<Kind>,
    /// How many messages protect them.
    pub messages: u64,
}

/// One reporter's last opinion on a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spoken {
    /// Who.
    pub reporter: String,
    /// `spam`, `ham`, or `none` where it was withdrawn.
    #[serde(rename = "word")]
    pub opinion: Opinion,
    /// Points it weighed.
    pub weight: u8,
    /// Times it was said in that generation.
    pub raw: u32,
    /// The generation.
    pub generation: u64,
    /// The record.
    pub record: RecordId,
    /// When, as RFC 3339 writes it.
    pub time: String,
}

/// How a ledger is doing. Numbers for `stats`, `metrics` and alarms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// The site's public key, in hexadecimal.
    pub site: String,
    /// The incarnation of its folder.
    pub incarnation: u64,
    /// The generation it writes into.
    pub generation: u64,
    /// Records written in this incarnation.
    pub records: u64,
    /// Records heard from other sites.
    pub heard: u64,
    /// Of those, since the generation began or the server started, kept and not counted: beyond their site's share.
    pub heard_beyond_share: u64,
    /// The same because the tally was full.
    pub heard_beyond_capacity: u64,
    /// The same because they cannot be read.
    pub heard_unreadable: u64,
    /// Signatures in the tally.
    pub signatures: u64,
    /// Signatures it was made for.
    pub capacity: u64,
    /// Generations whose records count, the present one included: fewer than `record_generations` while the tally is
    /// too small for all of them.
    pub kept_generations: u64,
    /// In how many days the tally is full, if new signatures come as they did; none where old ones expire before.
    pub full_in_days: Option<f64>,
    /// Whether reports of new signatures are refused because the tally is full.
    pub is_full: bool,
    /// The false-positive rate that the tally has now.
    pub tally_rate: f64,
    /// Signatures seen in this generation, estimated: here, or by all other sites together where those are more.
    pub seen: u64,
    /// Signatures a generation was made for.
    pub seen_capacity: u64,
    /// The false-positive rate of seen counts now: of counts of one, other sites' added.
    pub seen_rate: f64,
    /// Bulk signatures of the generations that are kept, each once a generation.
    pub bulk: u64,
    /// Texts known to be spam and good.
    pub near_spam: u64,
    /// Good texts known.
    pub near_ham: u64,
    /// Shingles of 32 that make a replica now.
    pub near_threshold: u32,
    /// What the site's own ham would allow; none while too little is known.
    pub near_threshold_proposed: Option<u32>,
    /// Bytes of memory that filters and tallies take.
    pub memory_bytes: u64,
    /// Bytes of the journal.
    pub journal_bytes: u64,
    /// Bytes free on its disk.
    pub free_bytes: u64,
    /// Reporters known.
    pub reporters: u64,
    /// Seconds since the last snapshot.
    pub snapshot_age_secs: Option<u64>,
    /// Why writes are refused, where they are.
    pub writes_refused: Option<String>,
    /// The false-positive rates of the filters, measured with absent keys.
    pub filters: Vec<FilterRate>,
    /// What somebody should look at: plain sentences.
    pub alarms: Vec<String>,
    /// What happened at start: a replay, a rebuild, a damaged snapshot that was put aside.
    pub recovery: Vec<String>,
}
