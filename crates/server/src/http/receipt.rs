//! Receipts as they are given out: what a record did here, and which sites have applied it.

use seenit_ledger::ledger::Ledger;
use seenit_ledger::record::{RecordId, Verb};
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::{Judgement, Verdict};
use seenit_ledger::{ProtectionReceipt, Receipt};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<ProtectionReceipt>,
    #[serde(flatten)]
    now: Option<Now>,
}

/// What the messages of a write are now. It is told from memory: a write that is durable never waits for it, nor fails
/// by it.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Now {
    /// Of one message: as a check would tell it.
    One(Judgement),
    /// Of several: one verdict each, in their order.
    Many { verdicts: Vec<Verdict> },
}

impl Now {
    pub(crate) fn of(ledger: &Ledger, cases: &[Case]) -> Self {
        match cases {
            [case] => Now::One(ledger.check_in_memory(case)),
            _ => {
                let verdict = |case: &Case| ledger.check_in_memory(case).verdict;
                Now::Many { verdicts: cases.iter().map(verdict).collect() }
            }
        }
    }
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

/// A receipt, where its last record has been applied, and what its messages are now.
pub(crate) fn told(receipt: &Receipt, reach: Option<&Reach>, now: Option<Now>) -> Answered {
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
        protection: receipt.protection,
        now,
    })
}
