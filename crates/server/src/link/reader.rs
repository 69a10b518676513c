//! The thread that reads for the link: what it asks for lies on a disk, and the driver does not wait for disks.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use seenit_ledger::ledger::Ledger;
use seenit_link::Ticket;
use seenit_link::store::{Read, ReadDone, Store, StoreError};
use tokio::sync::mpsc;

/// Reads that wait. The link asks for one run of each kind at a time, and for what others ask it, 50 a second.
const READS_MAX: usize = 256;

/// What was read, or why not.
pub(super) type Done = (Ticket, Result<ReadDone, StoreError>);

/// Has things read.
pub(super) struct Reader {
    wanted: SyncSender<(Ticket, Read)>,
}

impl Reader {
    /// Starts the thread; it ends when the reader is dropped.
    pub(super) fn start(ledger: Arc<Ledger>) -> std::io::Result<(Self, mpsc::Receiver<Done>)> {
        let (wanted, to_read) = sync_channel::<(Ticket, Read)>(READS_MAX);
        let (done, results) = mpsc::channel(READS_MAX);
        std::thread::Builder::new().name("link reads".into()).spawn(move || {
            for (ticket, read) in to_read {
                if done.blocking_send((ticket, ledger.read(&read))).is_err() {
                    break;
                }
            }
        })?;
        Ok((Reader { wanted }, results))
    }

    /// Has something read; false where too much waits already. The link asks again for what it does not get.
    pub(super) fn want(&self, ticket: Ticket, read: Read) -> bool {
        match self.wanted.try_send((ticket, read)) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }
}
