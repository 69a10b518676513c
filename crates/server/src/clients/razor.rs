//! Razor's connections: one request at a time, and the server speaks first.

mod arrival;
mod conversation;
mod login;
mod registration;
mod upload;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use seenit_wire::razor::{Command, Decoder, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use super::desk::Desk;
use crate::connections::{Crowd, Doing, Seat};
use crate::descriptors::Descriptors;
use arrival::Arrival;
use conversation::{Conversation, Said};
use login::{Ends, RazorLogin};
use registration::Registrations;

/// What it is called.
pub(crate) const NAME: &str = "Razor";

/// How long a client may be silent: longer than it waits for us itself.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a conversation may last: a client that reports a folder of mail takes minutes, none takes an hour.
const CONVERSATION: Duration = Duration::from_secs(3600);

/// Bytes that are read at once. Every connection has as many of its own.
const READ_BYTES: usize = 4 << 10;

/// A pause after a failed accept: with no file descriptors left, the next try would fail as well.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Razor's protocol: discovery, catalogue and nomination in one.
pub(crate) struct Razor {
    desk: Arc<Desk>,
    registrations: Arc<Registrations>,
    crowd: Arc<Crowd>,
}

impl Razor {
    pub(crate) fn new(desk: Arc<Desk>) -> Self {
        let http = &desk.backend.config.http;
        let crowd = Arc::new(Descriptors::raise().crowd(http));
        let per_day = desk.backend.config.razor.registrations_per_day;
        let networks_max = desk.backend.config.limits.networks_max;
        let registrations = Arc::new(Registrations::new(per_day, networks_max));
        Razor { desk, registrations, crowd }
    }

    /// Accepts connections until told to stop.
    pub(crate) async fn run(self, listener: TcpListener, mut stop: watch::Receiver<bool>) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            match accepted {
                Ok((stream, address)) => {
                    let seat = tokio::select! {
                        seat = self.crowd.enter(address.ip()) => seat,
                        _ = stop.wait_for(|stop| *stop) => return,
                    };
                    match seat {
                        Some(seat) => self.spawn(stream, address, seat),
                        None => {
                            self.desk.backend.metrics.connections_refused.inc();
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn spawn(&self, stream: TcpStream, address: SocketAddr, seat: Seat) {
        let desk = Arc::clone(&self.desk);
        let registrations = Arc::clone(&self.registrations);
        let guest = Arc::clone(&seat.guest);
        let closed = desk.backend.metrics.connections_closed.clone();
        tokio::spawn(async move {
            let talk = timeout(CONVERSATION, converse(stream, address, seat, desk, registrations));
            // What has arrived is looked at before the connection is closed: it may be a request.
            tokio::select! {
                biased;
                talk = talk => if let Ok(Err(error)) = talk {
                    tracing::debug!(client = %address.ip(), %error, "a Razor connection ended badly");
                },
                () = guest.told_to_leave() => {
                    closed.inc();
                }
            }
        });
    }
}

/// Answers one client until it leaves, or says what cannot be read.
async fn converse(
    mut stream: TcpStream,
    peer: SocketAddr,
    seat: Seat,
    desk: Arc<Desk>,
    registrations: Arc<Registrations>,
) -> io::Result<()> {
    // The client takes what it reads at once for the whole answer.
    stream.set_nodelay(true)?;
    let own: SocketAddr = stream.local_addr()?;
    let counts = desk.backend.metrics.client(NAME);
    let mut arrival = Arrival::new(Arc::clone(&desk.backend), Arc::clone(&seat.guest));
    let peer = RazorLogin::new(Arc::clone(&desk), registrations, Ends { peer, own });
    let mut conversation = Conversation::new(desk, own, peer);
    let mut decoder = Decoder::new();
    let mut out = Vec::new();
    conversation.greet(&mut out)?;
    send(&mut stream, &out).await?;
    let mut buffer = vec![0; READ_BYTES];
    let mut is_introduced = false;
    loop {
        let read =
            timeout(arrival.patience(), stream.read(&mut buffer)).await.map_err(io::Error::other)??;
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
                is_introduced = is_introduced || introduces(&request);
                if !is_introduced || is_foreign(&request) && !conversation.is_proved() {
                    return Err(io::Error::other("a line that is none of Razor's"));
                }
                let is_proof = matches!(request, Request::Query(Ok(Command::Authenticate { .. })));
                seat.progress(Doing::Working);
                let said = conversation.answer(request, &mut out).await?;
                seat.progress(Doing::Waiting);
                if is_proof && conversation.is_known() {
                    seat.guest.is_known();
                }
                match said {
                    Said::Answer => {
                        send(&mut stream, &out).await?;
                        counts.answers.inc();
                    }
                    Said::Nothing => {}
                    Said::Farewell => return Ok(()),
                }
                if seat.guest.leaves_after_answer() {
                    return Ok(());
                }
                arrival.ends();
                decoder.take_messages(conversation.takes_messages());
            }
            arrival.goes_on(decoder.pending_bytes(), || conversation.holder()).await?;
        }
    }
}

/// Whether a connection begins as clients of Razor begin it: with who they are, or with a question for servers. A web
/// page can make a browser send any bytes to this port, but not as the first line: that is HTTP's, or TLS's.
fn introduces(request: &Request<'_>) -> bool {
    matches!(request, Request::Query(Ok(Command::Client | Command::Get(_) | Command::Quit)))
}

/// Whether a line is another protocol's. A client that has proved who it is gets an answer all the same.
fn is_foreign(request: &Request<'_>) -> bool {
    matches!(request, Request::Query(Err(malformed)) if malformed.is_foreign())
}

/// Writes an answer to a client that reads.
async fn send(stream: &mut TcpStream, answer: &[u8]) -> io::Result<()> {
    timeout(SILENCE, stream.write_all(answer)).await.map_err(io::Error::other)?
}

#[cfg(test)]
pub(super) mod tests;
