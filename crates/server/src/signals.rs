//! Signals: which of them the server hears, and what they ask of it.

use std::io;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that are heard.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
}

impl Signals {
    /// Hears them from now on; none of them ends the process any more.
    pub(crate) fn hear(runtime: &Runtime) -> io::Result<Self> {
        let _guard = runtime.enter();
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// Waits for one that tells the process to end.
    pub(crate) async fn end(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
            _ = self.quit.recv() => (),
        }
    }
}
