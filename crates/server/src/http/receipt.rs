//! Receipts as they are given out: what a record did here, and which sites have applied it.

use seenit_ledger::Receipt;
use seenit_ledger::record::{RecordId, Verb};
use seenit_link::Reach;
use serde::Serialize;

use super::answer::{self, Answered};

#[derive(Serialize)]
struct Told<'a> {
    id: RecordId,
    records: u32,
    verb: Verb,
    matched: u64,
    cleared: u64,
    remaining: u64,
    sites: Vec<Site<'a>>,
    /// The sentence that people read; none where the record is this site's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<String>,
}

#[derive(Serialize)]
struct Site<'a> {
    site: &'a str,
    applied: bool,
    #[serde(flatten)]
    other: Option<Other<'a>>,
}

/// What is said of other sites only.
#[derive(Serialize)]
struct Other<'a> {
    name: &'a str,
    silent_secs: Option<u64>,
}

/// The last record of a receipt: what has applied it has applied all of them.
pub(crate) fn last(receipt: &Receipt) -> RecordId {
    RecordId { number: receipt.id.number + u64::from(receipt.records.saturating_sub(1)), ..receipt.id }
}

/// A receipt, and where its last record has been applied.
pub(crate) fn told(receipt: &Receipt, reach: Option<&Reach>) -> Answered {
    let own = receipt.sites.iter().map(|one| Site { site: &one.site, applied: one.applied, other: None });
    let others = reach.into_iter().flat_map(|reach| &reach.each).map(|one| Site {
        site: &one.site,
        applied: one.applied,
        other: Some(Other { name: &one.name, silent_secs: one.silent_secs }),
    });
    answer::json(&Told {
        id: receipt.id,
        records: receipt.records,
        verb: receipt.verb,
        matched: receipt.matched,
        cleared: receipt.cleared,
        remaining: receipt.remaining,
        sites: own.chain(others).collect(),
        reach: reach.map(ToString::to_string),
    })
}
