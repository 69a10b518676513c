//! Making everything anew from the log: the index, and tallies of any size.

use std::path::Path;
use std::sync::Arc;

use crate::age;
use crate::answers::Stats;
use crate::clock::Clock;
use crate::config::LedgerConfig;
use crate::error::{Cause, OpenError};
use crate::identity::{FolderLock, Identity};
use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::memory::Memory;
use crate::open::JOURNAL_FOLDER;
use crate::private;

/// Makes the index from the log and the tallies from the index, with the sizes of `config`, and takes a snapshot.
/// No server may be running on the folder. `progress` hears of every record. Seen counts
/// need none of it: every start makes them anew from the log of sightings.
pub fn rebuild(
    folder: &Path,
    config: LedgerConfig,
    clock: Arc<dyn Clock>,
    progress: impl FnMut(),
) -> Result<Stats, OpenError> {
    private::check_private(folder)?;
    {
        let _lock = FolderLock::take(folder)?;
        let identity = Identity::read(folder)?;
        let journal = Journal::open(&folder.join(JOURNAL_FOLDER))?;
        // Only its hash key is needed.
        let memory = Memory::new(&LedgerConfig { capacity: 1000, ..config.clone() }, identity.hash_key())?;
        age::reindex(&memory, &journal, config.raw_max, progress)?;
    }
    let ledger = Ledger::open_anew(folder, config, clock)?;
    ledger.snapshot().map_err(|error| OpenError::Rows(Cause::new(error)))?;
    Ok(ledger.stats())
}
