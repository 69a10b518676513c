//! The ledger as the link needs it.

use std::sync::Arc;

use seenit_ledger::ledger::Ledger;
use seenit_ledger::{LedgerConfig, peers};
use seenit_link::{Batch, Counts, Frozen, Heard, Journal, JournalError, Peer, Run, Terms};

/// A ledger, for the link.
pub(crate) struct LedgerJournal {
    ledger: Arc<Ledger>,
    config: LedgerConfig,
}

impl LedgerJournal {
    pub(crate) fn new(ledger: Arc<Ledger>, config: LedgerConfig) -> Self {
        LedgerJournal { ledger, config }
    }
}

fn failed(error: impl std::fmt::Display) -> JournalError {
    JournalError(error.to_string())
}

impl Journal for LedgerJournal {
    fn incarnation(&self) -> u64 {
        self.ledger.incarnation()
    }

    fn lives(&self) -> Vec<(u64, u64)> {
        let lives = self.ledger.lives().into_iter();
        // Of a life whose end the journal lost, what is left counts.
        lives.map(|(life, end)| (life, self.ledger.records_end(life).unwrap_or(end))).collect()
    }

    fn records(&self, incarnation: u64, after: u64, bytes_max: usize) -> Result<Run, JournalError> {
        let run = self.ledger.records(incarnation, after, bytes_max).map_err(failed)?;
        Ok(Run { first: run.first, records: run.records })
    }

    fn kept_from(&self) -> u64 {
        let first = (self.now() + 1).saturating_sub(self.config.record_generations);
        first * self.config.generation_secs
    }

    fn generations(&self) -> Vec<(u64, u64)> {
        self.ledger.shared_generations()
    }

    fn gains(&self, generation: u64, after: u64, bytes_max: usize) -> Result<Vec<Vec<u8>>, JournalError> {
        self.ledger.gains(generation, after, bytes_max).map_err(failed)
    }

    fn own_cells(&self, generation: u64, look: &mut dyn FnMut(&Counts, u64)) -> Result<(), JournalError> {
        self.ledger.own_cells(generation, look);
        Ok(())
    }

    fn renew(&mut self, after: u64) -> Result<(), JournalError> {
        self.ledger.renew(after).map_err(failed)
    }

    fn frozen(&self) -> Vec<Frozen> {
        let frozen = self.ledger.frozen_cells().inspect_err(|error| {
            tracing::warn!(%error, "cells of an earlier life cannot be copied: they count here alone");
        });
        let part = |one: seenit_ledger::FrozenCells| Frozen {
            incarnation: one.incarnation,
            generation: one.generation,
            counts: one.counts,
            sequence: one.sequence,
        };
        frozen.unwrap_or_default().into_iter().map(part).collect()
    }

    fn drop_frozen(&mut self, incarnation: u64, generation: u64) {
        self.ledger.drop_frozen(incarnation, generation);
    }

    fn row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError> {
        self.ledger.link_row(key).map_err(failed)
    }

    fn rows_from(
        &self,
        prefix: &[u8],
        from: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), JournalError> {
        self.ledger.link_rows(prefix, from, visit).map_err(failed)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), JournalError> {
        let heard = batch.heard.into_iter();
        let heard = heard.map(|Heard { slot, incarnation, first, records }| peers::Heard {
            slot,
            incarnation,
            first,
            records,
        });
        let batch = peers::Batch { heard: heard.collect(), rows: batch.rows };
        self.ledger.commit_link(batch).map_err(failed)
    }

    fn set_peers(&mut self, members: &[Peer]) -> Result<(), JournalError> {
        let peer = |one: &Peer| peers::Peer {
            slot: one.slot,
            site: one.site,
            name: one.name.clone(),
            spam: one.spam,
            ham: one.ham,
            seen: one.seen,
        };
        let members: Vec<peers::Peer> = members.iter().map(peer).collect();
        self.ledger.set_peers(&members).map_err(failed)
    }

    fn agree(&mut self, network: [u8; 32], terms: &[Terms]) -> Result<(), JournalError> {
        let own = self.config.generation_secs;
        if let Some(other) = terms.iter().find(|terms| terms.generation_secs != own) {
            let secs = other.generation_secs;
            return Err(JournalError(format!(
                "the network's generations have {secs} s, and ledger.generation_secs is {own} here"
            )));
        }
        let kept = |one: &Terms| {
            let (key, geometry) = (one.hash_key.to_bytes(), &one.geometry);
            let terms =
                seenit_ledger::Terms::new(key, geometry.layout(), geometry.split(), geometry.promise());
            Ok((one.first_generation, terms.map_err(failed)?))
        };
        let terms = terms.iter().map(kept).collect::<Result<Vec<_>, JournalError>>()?;
        self.ledger.agree(network, &terms).map_err(failed)
    }

    fn now(&self) -> u64 {
        self.ledger.generation()
    }

    fn oldest(&self) -> u64 {
        (self.now() + 1).saturating_sub(self.config.seen_generations)
    }

    fn empty(&self, generation: u64) -> Result<Counts, JournalError> {
        self.ledger.empty_cells(generation).map_err(failed)
    }

    fn others_cell(&self, generation: u64, cell: u64) -> u64 {
        self.ledger.others_cell(generation, cell)
    }

    fn raise_others(&mut self, generation: u64, gains: &[(u64, u64)]) -> Result<(), JournalError> {
        self.ledger.raise_others(generation, gains).map_err(failed)
    }

    fn put_others(&mut self, generation: u64, counts: Option<Counts>) -> Result<(), JournalError> {
        self.ledger.put_others(generation, counts).map_err(failed)
    }
}
