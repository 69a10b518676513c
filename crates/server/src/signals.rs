//! Signals: which of them the server hears, and what they ask of it.

use std::io;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that are heard.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    hang_up: Signal,
}

/// What a signal asks for.
pub(crate) enum Wanted {
    /// The process is to end.
    End,
    /// Everything that can be read again is to be.
    Reload,
}

impl Signals {
    /// Hears them from now on; none of them ends the process any more.
    pub(crate) fn hear(runtime: &Runtime) -> io::Result<Self> {
        let _guard = runtime.enter();
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Wanted {
        tokio::select! {
            _ = self.interrupt.recv() => Wanted::End,
            _ = self.terminate.recv() => Wanted::End,
            _ = self.quit.recv() => Wanted::End,
            _ = self.hang_up.recv() => Wanted::Reload,
        }
    }
}
