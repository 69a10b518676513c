//! What memory holds of a key, by definition: the sum of the key's live rows.
//!
//! Memory itself follows the journal change by change (`follow`), which is fast and comes to the same. Where the bits
//! of a tally or the caps of peers do not tell what a change comes to, memory takes the sum from here.

use std::collections::{HashMap, HashSet};

use seenit_filter::hash::Hash128;

use crate::journal::{Journal, JournalError, KeyRow, MarkRow, mark_row};
use crate::near::Units;
use crate::peers::table::Peers;
use crate::record::Opinion;
use crate::reporter::ReporterId;
use crate::tally::{Forgotten, Tally};

/// The sum of a signature's rows: its tally with its marks, and what was forgotten of its seen count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignatureSum {
    pub(crate) tally: Tally,
    pub(crate) forgotten: Option<Forgotten>,
}

/// The rows of a key that count, the newest generation's first.
pub(crate) fn live_rows(journal: &Journal, hash: Hash128) -> Result<Vec<KeyRow>, JournalError> {
    let mut rows = Vec::new();
    for generation in journal.live() {
        rows.extend(journal.rows_of(generation, hash, usize::MAX)?);
    }
    Ok(rows)
}

/// The sum of a signature's live rows in the journal.
pub(crate) fn signature_sum(journal: &Journal, hash: Hash128) -> Result<SignatureSum, JournalError> {
    Ok(signature_sum_of(&live_rows(journal, hash)?, &journal.peers()))
}

/// The sum of rows of a signature, the newest generation's first. Each reporter's last opinion counts, and all raw
/// totals; of each peer at most its caps, all its reporters together.
pub(crate) fn signature_sum_of(rows: &[KeyRow], peers: &Peers) -> SignatureSum {
    let mut sum = SignatureSum::default();
    let mut spoken = HashSet::new();
    let tally = &mut sum.tally;
    let mut of_peers: HashMap<u16, [u32; 2]> = HashMap::new();
    for &KeyRow { generation, reporter, row } in rows.iter().filter(|one| peers.counts(one.reporter)) {
        tally.raw_spam = tally.raw_spam.saturating_add(row.raw_spam.into());
        tally.raw_ham = tally.raw_ham.saturating_add(row.raw_ham.into());
        if !spoken.insert(reporter) || row.opinion == Opinion::None {
            continue;
        }
        let slot = reporter.slot();
        match mark_row(reporter) {
            Some(MarkRow::Protection) => tally.marks.protected = true,
            Some(MarkRow::Many) => tally.marks.many |= peers.believes_many(slot.unwrap_or(0)),
            Some(MarkRow::ProtectedMessage) => {}
            Some(MarkRow::Forgetting) => {
                tally.marks.forgotten = true;
                sum.forgotten = sum.forgotten.max(Some(Forgotten { generation, count: row.count }));
            }
            None => {
                let [spam, ham] = match slot {
                    Some(slot) => of_peers.entry(slot).or_default().each_mut(),
                    None => [&mut tally.spam, &mut tally.ham],
                };
                let side = if row.opinion == Opinion::Spam { spam } else { ham };
                *side = side.saturating_add(row.weight.into());
            }
        }
    }
    for (slot, [spam, ham]) in of_peers {
        tally.spam = tally.spam.saturating_add(spam.min(peers.cap(slot, Opinion::Spam)));
        tally.ham = tally.ham.saturating_add(ham.min(peers.cap(slot, Opinion::Ham)));
    }
    sum
}

/// The sum of rows of a shingle, the newest generation's first: the last opinion of each reporter, and of each peer.
pub(crate) fn shingle_sum_of(rows: &[KeyRow], peers: &Peers) -> Units {
    let mut sum = Units::default();
    let mut spoken = HashSet::new();
    for KeyRow { reporter, row, .. } in rows {
        let is_voice = reporter.slot().is_none_or(|slot| *reporter == ReporterId::voice_of(slot));
        debug_assert!(is_voice, "on a shingle a peer has one voice");
        if spoken.insert(*reporter) {
            sum.add(Units::of(peers.weigh_shingle(*reporter, row.weighed()), row.is_text));
        }
    }
    sum
}
