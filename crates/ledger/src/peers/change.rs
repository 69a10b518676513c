//! Peers that come, go, or count for more or less: memory is made right, and what those said who are gone is deleted.
//!
//! The new table is journalled first, with the slots that are being given up. From then on a process that ends makes
//! tallies anew at its next start, because those of its snapshots are of another table, and goes on deleting.

use std::collections::HashSet;
use std::sync::Arc;

use seenit_link::rows;
use seenit_link::store::PeerSlot;

use super::table::Peers;
use crate::age::fold_bulk;
use crate::follow::put_key;
use crate::journal::{Journal, JournalBatch, JournalError, LASTING, row_key};
use crate::memory::Memory;
use crate::reporter::ReporterId;

/// What is deleted between commits.
const TOGETHER: usize = 10_000;

/// Memory counts by a new table that is journalled, in place of `old`; the present generation is `now`.
pub(crate) fn follow(
    memory: &Memory,
    journal: &Journal,
    old: &Peers,
    new: &Arc<Peers>,
    now: u64,
    bulk_threshold: u64,
) -> Result<(), JournalError> {
    let differing: HashSet<u16> = new.differing(old).collect();
    let differs = |reporter: ReporterId| reporter.slot().is_some_and(|slot| differing.contains(&slot));
    journal.count_peers(Arc::clone(new));
    if differing.is_empty() {
        return finish(journal);
    }
    journal.each_key(|hash, rows| {
        if rows.iter().any(|one| differs(one.reporter)) {
            put_key(memory, hash, rows, Some(old), new);
        }
        Ok(())
    })?;
    let mut has_bulk = false;
    journal.each_bulk(|_, _, slot| has_bulk |= differing.contains(&slot))?;
    finish(journal)?;
    if has_bulk {
        memory.clear_all_bulk();
        fold_bulk(memory, journal, now, bulk_threshold)?;
    }
    Ok(())
}

/// Deletes what those said who are gone, and gives up their slots.
pub(crate) fn finish(journal: &Journal) -> Result<(), JournalError> {
    let peers = journal.peers();
    if peers.leaving.is_empty() {
        return Ok(());
    }
    for generation in journal.generations().into_iter().filter(|one| *one != LASTING) {
        delete_heard(journal, generation, &peers.leaving)?;
    }
    let mut batch = journal.batch();
    journal.each_bulk(|generation, hash, slot| {
        if peers.leaving.contains(&slot) {
            batch.remove_bulk(generation, hash, slot);
        }
    })?;
    for &slot in &peers.leaving {
        forget_rows(journal, &mut batch, slot)?;
    }
    let left = peers.left();
    batch.peers(&left)?;
    batch.commit()?;
    journal.count_peers(Arc::new(left));
    Ok(())
}

/// Deletes what the link keeps of a peer's streams: positions, messages and bases.
pub(crate) fn forget_rows(
    journal: &Journal,
    batch: &mut JournalBatch<'_>,
    slot: u16,
) -> Result<(), JournalError> {
    for first in [b'f', b'l', b'b'] {
        journal.link_rows(&rows::of_slot(first, PeerSlot(slot)), &[], &mut |key, _| {
            batch.link(key, None);
            true
        })?;
    }
    Ok(())
}

/// Deletes rows and records of these slots in one generation.
fn delete_heard(journal: &Journal, generation: u64, leaving: &[u16]) -> Result<(), JournalError> {
    let mut deleting = Deleting { journal, batch: journal.batch(), deleted: 0 };
    journal.each_row(generation, |hash, reporter, _| {
        if reporter.slot().is_some_and(|slot| leaving.contains(&slot)) {
            deleting.batch.remove_row(generation, &row_key(hash, reporter))?;
            deleting.next()?;
        }
        Ok(())
    })?;
    journal.each_heard(generation, 0, |serial, origin, _| {
        if leaving.contains(&origin.slot) {
            deleting.batch.remove_heard(generation, serial)?;
            deleting.next()?;
        }
        Ok(())
    })?;
    deleting.batch.commit()
}

/// A deletion in several commits.
struct Deleting<'a> {
    journal: &'a Journal,
    batch: JournalBatch<'a>,
    deleted: usize,
}

impl Deleting<'_> {
    fn next(&mut self) -> Result<(), JournalError> {
        self.deleted += 1;
        if self.deleted.is_multiple_of(TOGETHER) {
            return std::mem::replace(&mut self.batch, self.journal.batch()).commit();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clock::SystemClock;
    use crate::config::LedgerConfig;
    use crate::ledger::Ledger;
    use crate::open::JOURNAL_FOLDER;
    use crate::record::{Record, Verb};
    use crate::signature::Case;
    use crate::testing::{heard, peer as peer_of};
    use seenit_link::store::{LinkBatch as Link, PeerSite, Store};
    use seenit_sites::roster::Caps;

    fn open(folder: &Path) -> Ledger {
        let config = LedgerConfig {
            capacity: 1000,
            seen_capacity: 1000,
            free_bytes_min: 0,
            ..LedgerConfig::default()
        };
        Ledger::open(folder, config, Arc::new(SystemClock::default())).expect("a ledger")
    }

    fn case() -> Case {
        let mut case = Case::new();
        case.push(seenit_signature::Kind::Pyzor, &[7; 20]).expect("a digest");
        case.push(seenit_signature::Kind::Near1, &[9; 256]).expect("shingles");
        case
    }

    fn peer(slot: u16) -> PeerSite {
        peer_of(slot, Caps { spam: 10, ham: 10, seen: 20 })
    }

    fn set_peers(ledger: &Ledger, peers: &[PeerSite]) {
        let batch = Link { peers: Some(peers.to_vec()), ..Link::default() };
        ledger.commit(batch).expect("durable");
    }

    fn tell(ledger: &Ledger, slot: u16) {
        let time = crate::clock::Clock::now_secs(&SystemClock::default());
        let said = |verb| Record {
            verb,
            reporter: ReporterId(3),
            weight: 10,
            time,
            count: 0,
            case: case(),
            befores: Vec::new(),
        };
        let records = [Verb::Report, Verb::Promote].map(|verb| said(verb).travelling()).to_vec();
        ledger.commit(heard(slot, records)).expect("durable");
    }

    /// All keys of the journal that are a peer's.
    fn left_of(journal: &Journal, slot: u16) -> usize {
        let mut left = 0;
        for generation in journal.generations() {
            let row = |_, reporter: ReporterId, _| {
                left += usize::from(reporter.slot() == Some(slot));
                Ok(())
            };
            journal.each_row(generation, row).expect("readable");
            let heard = |_, origin: crate::journal::heard::Origin, _| {
                left += usize::from(origin.slot == slot);
                Ok(())
            };
            journal.each_heard(generation, 0, heard).expect("readable");
        }
        journal.each_bulk(|_, _, of| left += usize::from(of == slot)).expect("readable");
        left
    }

    #[test]
    fn a_removal_that_was_cut_off_is_finished_at_the_next_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = open(folder.path());
        set_peers(&ledger, &[peer(1), peer(2)]);
        tell(&ledger, 1);
        tell(&ledger, 2);
        assert_eq!((ledger.check(&case()).reasons[0].weight, ledger.stats().near_spam), (20, 2));
        drop(ledger);
        {
            let journal = Journal::open(&folder.path().join(JOURNAL_FOLDER)).expect("a journal");
            assert_eq!(left_of(&journal, 1), 1 + 32 + 2 + 1, "its rows, its records, its bulk mark");
            let mut batch = journal.batch();
            let left = [crate::peers::table::JournalPeer::from(&peer(2))];
            batch.peers(&journal.peers().changed_to(&left, [0xee; 32]).expect("a table")).expect("staged");
            batch.number("heard", 4);
            batch.commit().expect("durable");
        }
        let ledger = open(folder.path());
        assert_eq!((ledger.check(&case()).reasons[0].weight, ledger.stats().near_spam), (10, 1));
        set_peers(&ledger, &[peer(2), peer(1)]);
        drop(ledger);
        let journal = Journal::open(&folder.path().join(JOURNAL_FOLDER)).expect("a journal");
        assert_eq!((left_of(&journal, 1), left_of(&journal, 2)), (0, 36));
    }
}
