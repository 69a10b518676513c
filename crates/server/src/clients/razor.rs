//! Razor's connections: one request at a time, and the server speaks first.

mod conversation;
mod peer;
mod registration;
mod upload;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use seenit_wire::razor::Decoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::desk::Desk;
use crate::listen::Crowd;
use conversation::{Conversation, Said};
use peer::{Ends, Peer};
use registration::Registrations;

/// What it is called.
pub(crate) const NAME: &str = "Razor";

/// How long a client may be silent: longer than it waits for us itself.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a conversation may last: a client that reports a folder of mail takes minutes, none takes an hour.
const CONVERSATION: Duration = Duration::from_secs(3600);

/// Bytes that are read at once.
const READ_BYTES: usize = 16 << 10;

/// A pause after a failed accept: with no file descriptors left, the next try would fail as well.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Razor's protocol: discovery, catalogue and nomination in one.
pub(crate) struct Razor {
    desk: Arc<Desk>,
    registrations: Arc<Registrations>,
    room: Arc<Semaphore>,
    crowd: Arc<Crowd>,
}

impl Razor {
    pub(crate) fn new(desk: Arc<Desk>) -> Self {
        let http = &desk.state.config.http;
        let room = Arc::new(Semaphore::new(http.connections_max as usize));
        let crowd = Arc::new(Crowd::new(http.connections_per_network_max));
        let (per_day, networks_max) =
            (desk.state.config.razor.registrations_per_day, desk.state.config.limits.networks_max);
        let registrations = Arc::new(Registrations::new(per_day, networks_max));
        Razor { desk, registrations, room, crowd }
    }

    /// Accepts connections until told to stop.
    pub(crate) async fn run(self, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        loop {
            let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else {
                return;
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            match accepted {
                Ok((stream, address)) => {
                    let Some(seat) = self.crowd.enter(address.ip()) else {
                        self.desk.state.metrics.connections_refused.inc();
                        continue;
                    };
                    let (desk, registrations) = (Arc::clone(&self.desk), Arc::clone(&self.registrations));
                    tokio::spawn(async move {
                        let _held_while_open = (permit, seat);
                        let talk = converse(stream, address, desk, registrations);
                        if let Ok(Err(error)) = timeout(CONVERSATION, talk).await {
                            tracing::debug!(client = %address.ip(), %error, "a Razor connection ended badly");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// Answers one client until it leaves, or says what cannot be read.
async fn converse(
    mut stream: TcpStream,
    peer: SocketAddr,
    desk: Arc<Desk>,
    registrations: Arc<Registrations>,
) -> io::Result<()> {
    // The client takes what it reads at once for the whole answer.
    stream.set_nodelay(true)?;
    let own: SocketAddr = stream.local_addr()?;
    let counts = desk.state.metrics.client(NAME);
    let mut conversation =
        Conversation::new(Arc::clone(&desk), own, Peer::new(desk, registrations, Ends { peer, own }));
    let (mut decoder, mut out) = (Decoder::new(), Vec::new());
    conversation.greet(&mut out)?;
    stream.write_all(&out).await?;
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = timeout(SILENCE, stream.read(&mut buffer)).await.map_err(io::Error::other)??;
        if read == 0 {
            return Ok(());
        }
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            decoder.take_messages(conversation.takes_messages());
            rest = &rest[decoder.feed(rest)..];
            while let Some(request) = decoder.next_request().map_err(io::Error::other)? {
                out.clear();
                counts.requests.inc();
                match conversation.answer(request, &mut out).await? {
                    Said::Answer => {
                        stream.write_all(&out).await?;
                        counts.answers.inc();
                    }
                    Said::Nothing => {}
                    Said::Farewell => return Ok(()),
                }
                decoder.take_messages(conversation.takes_messages());
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
