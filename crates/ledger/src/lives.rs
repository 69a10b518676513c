//! The writer's part in lives of the folder: how one ends and the next begins.

use std::sync::{Arc, PoisonError};

use crate::error::{OpenError, WriteError};
use crate::identity::{Ending, Identity};
use crate::journal::{Journal, JournalError};
use crate::seen::{Change, Ended};
use crate::shared::Shared;
use crate::terms::Terms;
use crate::writer::Writer;

/// What the present life is to become.
pub(crate) enum LifeChange {
    /// One of a network, with these terms by first generation.
    Agree { network: [u8; 32], terms: Vec<(u64, Terms)> },
    /// A private one.
    Leave,
    /// A new one of the same network, to which records of the present one after a sequence belong, and what it counted
    /// in the present generation.
    Renew { after: u64 },
    /// A new one of the same network, because the folder is a copy from a backup.
    Restored,
}

/// How a life begins.
struct Beginning {
    /// The first number of its records.
    first: u64,
    /// The generation whose seen cells it takes over.
    carried_over: Option<u64>,
    /// The time that gives it its number.
    secs: u64,
}

impl Writer {
    /// Changes the present life or begins another one, durably.
    pub(crate) fn change_life(&mut self, change: LifeChange) -> Result<(), WriteError> {
        let shared = Arc::clone(&self.shared);
        let journal = self.writable(&shared)?;
        let present = shared.identity().incarnation().clone();
        let (network, terms) = match change {
            LifeChange::Renew { after } => {
                let first = present.first.saturating_add(after).min(self.next);
                let carried_over = present.terms_at(shared.generation()).map(|_| shared.generation());
                let of = (present.network, present.terms);
                let beginning = Beginning { first, carried_over, secs: self.calendar.secs() };
                self.begin_life(&shared, &journal, beginning, of)?;
                return self.journal_deltas(&shared, &journal).map_err(|error| failed(&shared, &error));
            }
            LifeChange::Restored => {
                // The ledger's own time is that of the backup: from the same backup it would be the same number again.
                let secs = shared.clock.now_secs();
                let beginning = Beginning { first: self.next, carried_over: None, secs };
                return self.begin_life(&shared, &journal, beginning, (present.network, present.terms));
            }
            LifeChange::Leave if present.network.is_none() => return Ok(()),
            LifeChange::Leave => (None, Vec::new()),
            LifeChange::Agree { network, terms } if present.network == Some(network) => {
                if present.terms == terms {
                    return Ok(());
                }
                match shared.memory.seen.change_of_terms(&terms) {
                    Change::Fits => return self.put_terms(&shared, terms),
                    Change::Refused(generation) => return Err(WriteError::Terms { generation }),
                    Change::Begins => (Some(network), terms),
                }
            }
            LifeChange::Agree { network, terms } => (Some(network), terms),
        };
        let beginning = Beginning { first: self.next, carried_over: None, secs: self.calendar.secs() };
        self.begin_life(&shared, &journal, beginning, (network, terms))
    }

    fn put_terms(&self, shared: &Shared, terms: Vec<(u64, Terms)>) -> Result<(), WriteError> {
        let identity = shared.identity().with_terms(terms.clone());
        identity.save(&shared.folder).map_err(not_kept)?;
        put_identity(shared, identity);
        shared.memory.seen.put_terms(terms);
        Ok(())
    }

    /// Ends the present life: what it counted is journalled and frozen. Only when the new one is durable does anybody
    /// count in it. Records of the old one from `first` on are the new one's. So are the cells of a generation that is
    /// `carried_over`: what of them others hold cannot be told apart, so all of it is told again. Until the first delta
    /// of the new life has them, those of the old one do, and a start takes them over once more.
    fn begin_life(
        &mut self,
        shared: &Shared,
        journal: &Journal,
        Beginning { first, carried_over, secs }: Beginning,
        of: (Option<[u8; 32]>, Vec<(u64, Terms)>),
    ) -> Result<(), WriteError> {
        self.journal_deltas(shared, journal).map_err(|error| failed(shared, &error))?;
        let named = (first < self.next).then_some(self.next - 1);
        let ending = Ending { last: first - 1, named, carried_over };
        let identity = shared.identity().with_life(ending, (first, secs), of);
        let life = identity.incarnation().clone();
        let beginning = shared.memory.seen.prepare(life, Some(shared.generation()), carried_over);
        let beginning = beginning.map_err(|error| WriteError::Cells(error.to_string()))?;
        identity.save(&shared.folder).map_err(not_kept)?;
        put_identity(shared, identity);
        let ended = shared.memory.seen.enter(beginning);
        if let Err(error) = self.journal_last(shared, journal, &ended) {
            // The new life has begun all the same. Cells of the old one count here, and nobody is told of them.
            failed(shared, &error);
        }
        Ok(())
    }

    /// Journals what a life gained after its deltas were journalled and before it ended.
    fn journal_last(&self, shared: &Shared, journal: &Journal, ended: &[Ended]) -> Result<(), JournalError> {
        let mut batch = journal.batch();
        let mut deltas = Vec::new();
        for one in ended {
            let delta = one.last_delta()?;
            if let Some(delta) = &delta {
                batch.delta(one.incarnation, delta.generation, delta.sequence, &delta.bytes);
            }
            deltas.push((one, delta));
        }
        batch.commit()?;
        for (one, delta) in deltas {
            shared.memory.seen.settle(one, delta.as_ref());
        }
        Ok(())
    }
}

fn put_identity(shared: &Shared, identity: Identity) {
    *shared.identity.write().unwrap_or_else(PoisonError::into_inner) = identity;
}

fn not_kept(error: OpenError) -> WriteError {
    WriteError::Journal(error.to_string())
}

fn failed(shared: &Shared, error: &JournalError) -> WriteError {
    let error = WriteError::Journal(error.to_string());
    shared.state().refused = Some(error.clone());
    error
}
