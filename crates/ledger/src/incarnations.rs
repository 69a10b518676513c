//! The writer's part in incarnations of the folder: how one ends and the next begins.

use std::sync::{Arc, PoisonError};

use crate::error::{Cause, OpenError, WriteError};
use crate::identity::{Ending, Identity};
use crate::journal::{Journal, JournalError};
use crate::own_log;
use crate::seen::SeenKey;
use crate::shared::Shared;
use crate::writer::Writer;

/// What the present incarnation is to become.
pub(crate) enum IncarnationChange {
    /// One of a network, with these hash keys by first generation.
    Agree { network: [u8; 32], keys: Vec<(u64, SeenKey)> },
    /// A private one.
    Leave,
    /// A new one of the same network. Records of the present one after a sequence belong to it, and deltas after those
    /// of each generation; of generations that are not named, all.
    Renew { records_after: u64, sightings_after: Vec<(u64, u64)> },
    /// A new one of the same network, because the folder is a copy from a backup.
    Restored,
}

/// How an incarnation begins.
struct Beginning {
    /// The first number of its records.
    first: u64,
    /// Of each generation of the one before, the last delta that it keeps.
    sightings: Vec<(u64, u64)>,
    /// The time that gives it its number.
    secs: u64,
    network: Option<[u8; 32]>,
    keys: Vec<(u64, SeenKey)>,
}

impl Writer {
    /// Changes the present incarnation or begins another one, durably.
    pub(crate) fn change_incarnation(&mut self, change: IncarnationChange) -> Result<(), WriteError> {
        let shared = Arc::clone(&self.shared);
        let journal = self.writable(&shared)?;
        let present = shared.identity().incarnation().clone();
        let first = self.next;
        let secs = self.calendar.secs();
        let sightings = Vec::new();
        let next = match change {
            IncarnationChange::Renew { records_after, sightings_after } => {
                // What is pending is among what may be the new one's.
                self.journal_deltas(&shared, &journal).map_err(|error| failed(&shared, error))?;
                let first = present.first.saturating_add(records_after).min(self.next);
                let sightings = self.kept_by(present.id, &sightings_after);
                Beginning { first, secs, sightings, network: present.network, keys: present.keys }
            }
            IncarnationChange::Restored => {
                // The ledger's own time is that of the backup: from the same backup it would be the same number again.
                let secs = shared.clock.now_secs();
                Beginning { first, secs, sightings, network: present.network, keys: present.keys }
            }
            IncarnationChange::Leave if present.network.is_none() => return Ok(()),
            IncarnationChange::Leave => Beginning { first, secs, sightings, network: None, keys: Vec::new() },
            IncarnationChange::Agree { network, keys } if present.network == Some(network) => {
                if present.keys == keys {
                    return Ok(());
                }
                match shared.memory.seen.conflict(&keys) {
                    None => return self.put_keys(&shared, keys),
                    Some((generation, true)) => return Err(WriteError::Terms { generation }),
                    Some(_) => Beginning { first, secs, sightings, network: Some(network), keys },
                }
            }
            IncarnationChange::Agree { network, keys } => {
                Beginning { first, secs, sightings, network: Some(network), keys }
            }
        };
        self.begin_incarnation(&shared, &journal, next)
    }

    /// Takes other hash keys over; those of generations that are counted are the same.
    fn put_keys(&mut self, shared: &Shared, keys: Vec<(u64, SeenKey)>) -> Result<(), WriteError> {
        let fresh = shared.memory.seen.new_own()?;
        let identity = shared.identity().with_keys(keys.clone());
        identity.save(&shared.folder).map_err(not_kept)?;
        put_identity(shared, identity);
        // No generation that is counted in changes its key, so nothing is pending under another one.
        shared.memory.seen.enter(keys, false, fresh);
        // What was heard of a generation before its key was known is counted now.
        self.is_rebuild_due = true;
        Ok(())
    }

    /// The last deltas that an incarnation keeps, of all its generations.
    fn kept_by(&self, incarnation: u64, after: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let named =
            |generation| after.iter().find(|(one, _)| *one == generation).map_or(0, |(_, last)| *last);
        let logs = self.shared.own_logs();
        let streams = logs.iter().filter(|(stream, _)| stream.incarnation == incarnation);
        streams.map(|(stream, log)| (stream.generation, named(stream.generation).min(log.last))).collect()
    }

    /// Ends the present incarnation: what it counted is journalled, and stays counted. Records of the old one from
    /// `first` on are the new one's, and so are deltas after those that it keeps.
    fn begin_incarnation(
        &mut self,
        shared: &Shared,
        journal: &Journal,
        Beginning { first, sightings, secs, network, keys }: Beginning,
    ) -> Result<(), WriteError> {
        self.journal_deltas(shared, journal).map_err(|error| failed(shared, error))?;
        let fresh = shared.memory.seen.new_own()?;
        let (ended, is_other) = {
            let identity = shared.identity();
            (identity.incarnation().id, identity.incarnation().network != network)
        };
        let named = (first < self.next).then_some(self.next - 1);
        let ending = Ending { last: first - 1, next: first, named, sightings };
        let identity = shared.identity().with_incarnation(ending, secs, network, keys.clone());
        identity.save(&shared.folder).map_err(not_kept)?;
        put_identity(shared, identity);
        let pending = shared.memory.seen.enter(keys, is_other, fresh);
        let written = self.write_deltas(shared, journal, ended, pending);
        let moved = written.and_then(|()| {
            let identity = shared.identity();
            let mut logs = shared.own_logs();
            own_log::move_unconfirmed(journal, &identity, &mut logs)
        });
        // The new one has begun all the same; the next start moves what was to be moved.
        moved.map_err(|error| failed(shared, error))
    }
}

fn put_identity(shared: &Shared, identity: Identity) {
    *shared.identity.write().unwrap_or_else(PoisonError::into_inner) = identity;
}

fn not_kept(error: OpenError) -> WriteError {
    WriteError::Journal(Cause::new(error))
}

fn failed(shared: &Shared, error: JournalError) -> WriteError {
    let error = WriteError::from(error);
    shared.state().refused = Some(error.clone());
    error
}
