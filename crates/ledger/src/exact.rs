//! What the journal knows of one signature: what its tally means where bits or caps do not tell.

use std::collections::{HashMap, HashSet};

use seenit_filter::hash::Hash128;

use crate::journal::{Journal, JournalError, MarkRow, Row, Said, mark_row};
use crate::peers::table::Peers;
use crate::record::Opinion;
use crate::reporter::ReporterId;
use crate::tally::Tally;

/// The tally of a signature with its marks, and what was forgotten of its seen count: in which generation, and how
/// much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exact {
    pub(crate) tally: Tally,
    pub(crate) forgotten: Option<(u64, u64)>,
}

/// Reads it from the rows that count.
pub(crate) fn exact(journal: &Journal, hash: Hash128) -> Result<Exact, JournalError> {
    Ok(exact_of(&live_rows(journal, hash)?, &journal.peers()))
}

/// The rows of a key that count, the newest generation's first.
pub(crate) fn live_rows(journal: &Journal, hash: Hash128) -> Result<Vec<Said>, JournalError> {
    let mut rows = Vec::new();
    for generation in journal.live() {
        let found = journal.rows_of(generation, hash, usize::MAX)?;
        rows.extend(found.into_iter().map(|(reporter, row)| (generation, reporter, row)));
    }
    Ok(rows)
}

/// What rows say of a signature, the newest generation's first. Each reporter's last opinion counts, and all raw
/// totals; of each peer at most its caps, all its reporters together.
pub(crate) fn exact_of(rows: &[Said], peers: &Peers) -> Exact {
    let (mut exact, mut spoken) = (Exact::default(), HashSet::new());
    let tally = &mut exact.tally;
    let mut of_peers: HashMap<u16, [u32; 2]> = HashMap::new();
    for &(generation, reporter, row) in rows.iter().filter(|(_, reporter, _)| peers.counts(*reporter)) {
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
                exact.forgotten = exact.forgotten.max(Some((generation, row.count)));
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
    exact
}

/// The last opinions on a shingle: of each reporter that of the newest generation.
pub(crate) fn last_words(rows: &[Said]) -> impl Iterator<Item = (ReporterId, Row)> {
    let mut spoken = HashSet::new();
    rows.iter().filter(move |(_, reporter, _)| spoken.insert(*reporter)).map(|&(_, whose, row)| (whose, row))
}
