//! Sockets: connections are accepted, bounded in number and time, encrypted where told so, and closed in peace.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::backend::Backend;
use crate::connections::{Seat, Watched};
use crate::http::{self, Connection};

/// Bytes that are read at once: a head that is larger by far ends the connection.
const BUFFER_BYTES: usize = 64 << 10;

/// Bytes that TLS encrypts ahead of a peer that does not read: one record.
const TLS_BUFFER_BYTES: usize = 16 << 10;

/// A pause after a failed accept: with no file descriptors left, the next try would fail as well.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What all listeners share.
pub(crate) struct Listening {
    pub(crate) backend: Arc<Backend>,
}

impl Listening {
    pub(crate) fn new(backend: Arc<Backend>) -> Self {
        Listening { backend }
    }

    /// Accepts connections until told to stop, then waits for those that are open.
    pub(crate) async fn run(
        self: Arc<Self>,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        mut stop: watch::Receiver<bool>,
    ) {
        let open = GracefulShutdown::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            match accepted {
                Ok((stream, address)) => {
                    let seat = tokio::select! {
                        seat = self.backend.crowd.enter(address.ip()) => seat,
                        _ = stop.wait_for(|stop| *stop) => break,
                    };
                    match seat {
                        Some(seat) => self.spawn(stream, address, seat, tls.clone(), open.watcher()),
                        None => {
                            self.backend.metrics.connections_refused.inc();
                            tracing::debug!(client = %address.ip(), "too many connections from its network");
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        open.shutdown().await;
    }

    fn spawn(
        self: &Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        seat: Seat,
        tls: Option<TlsAcceptor>,
        watcher: Watcher,
    ) {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let guest = Arc::clone(&seat.guest);
            this.backend.metrics.connections.inc();
            // What has arrived is looked at before the connection is closed: it may be a request.
            tokio::select! {
                biased;
                served = this.serve(stream, address, seat, tls, watcher) => {
                    if guest.leaves_after_answer() {
                        this.backend.metrics.connections_closed.inc();
                    }
                    if let Err(error) = served {
                        tracing::debug!(client = %address.ip(), error, "a connection ended badly");
                    }
                }
                () = guest.told_to_leave() => {
                    this.backend.metrics.connections_closed.inc();
                    tracing::debug!(client = %address.ip(), "an idle connection made room for another one");
                }
            }
            this.backend.metrics.connections.dec();
        });
    }

    async fn serve(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        seat: Seat,
        tls: Option<TlsAcceptor>,
        watcher: Watcher,
    ) -> Result<(), String> {
        // Answers are small and written at once: there is nothing to wait for.
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let local = stream.local_addr().map_err(|error| error.to_string())?;
        let peer = Arc::new(Connection::new(&self.backend, address.ip(), local.ip(), seat));
        let Some(tls) = tls else {
            return self.speak(stream, peer, watcher).await;
        };
        let accept = tls.accept_with(stream, |tls| tls.set_buffer_limit(Some(TLS_BUFFER_BYTES)));
        let handshake = tokio::time::timeout(self.head_time(), Box::pin(accept));
        let stream = handshake.await.map_err(|_| "the TLS handshake took too long")?;
        // In a box of its own: most connections have no TLS, and would have room for its state all the same.
        Box::pin(self.speak(stream.map_err(|error| error.to_string())?, peer, watcher)).await
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Arc<Connection>,
        watcher: Watcher,
    ) -> Result<(), String> {
        let time = Duration::from_secs(self.backend.config.http.answer_secs);
        let stream = Watched::new(stream, Arc::clone(&peer.unread), time);
        let service =
            service_fn(|request| http::serve(Arc::clone(&self.backend), Arc::clone(&peer), request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_time())
            .max_buf_size(BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        watcher.watch(connection).await.map_err(|error| error.to_string())
    }

    fn head_time(&self) -> Duration {
        Duration::from_secs(self.backend.config.http.head_secs)
    }
}
