//! A snapshot without its server: what `check --local` asks.

use std::path::Path;

use crate::config::LedgerConfig;
use crate::error::{Cause, OpenError};
use crate::identity::Identity;
use crate::judge::Judge;
use crate::memory::{BULK_GENERATIONS, Memory};
use crate::migrate;
use crate::open::restore;
use crate::private;
use crate::signature::Case;
use crate::snapshot::{FILES, Snapshot, SnapshotError};
use crate::verdict::Judgement;

/// A site's memory as its last snapshot has it. It knows no journal: reasons have no reporters and no counts of
/// recipients (what is bulk is marked), and what was said since is not in it.
pub struct Local {
    memory: Memory,
    config: LedgerConfig,
    generation: u64,
    time: u64,
}

impl Local {
    /// Reads the snapshot of a data folder. A server may be running on it.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        // First: advice on the rights of somebody's Maildir would be wrong.
        let identity = Identity::of_site(folder)?;
        private::check_private(folder)?;
        let path = folder.join(FILES[0]);
        let damaged = |why: Cause| OpenError::Damaged { path: path.clone(), why };
        let unreadable = |error: SnapshotError| damaged(Cause::new(error));
        let snapshot = Snapshot::open(&path).map_err(unreadable)?;
        let snapshot = snapshot.ok_or_else(|| damaged("there is no snapshot yet".into()))?;
        let config = snapshot.head.config.clone();
        let memory = restore(&snapshot, &config, &identity).map_err(unreadable)?;
        migrate::put_snapshot(&memory, &snapshot, &identity).map_err(unreadable)?;
        let head = &snapshot.head;
        for (generation, hash) in snapshot.bulk().map_err(unreadable)? {
            if generation <= head.generation && generation + BULK_GENERATIONS > head.generation {
                memory.promote(generation, hash);
            }
        }
        let generation = head.generation;
        let time = head.time;
        Ok(Local { memory, config, generation, time })
    }

    /// Judges a message.
    pub fn check(&self, case: &Case) -> Judgement {
        let Local { memory, config, generation, .. } = self;
        Judge { memory, config, generation: *generation, journal: None }.message(case)
    }

    /// When the snapshot was taken, in seconds since the Unix epoch.
    pub fn taken_secs(&self) -> u64 {
        self.time
    }
}
