//! Sockets: connections are accepted, bounded in number and time, encrypted where told so, and closed in peace.

mod crowd;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::http::{self, Peer, State};
pub(crate) use crowd::Crowd;

/// Bytes that are read at once: a head that is larger by far ends the connection.
const BUFFER_BYTES: usize = 64 << 10;

/// A pause after a failed accept: with no file descriptors left, the next try would fail as well.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What all listeners share.
pub(crate) struct Listening {
    pub(crate) state: Arc<State>,
    room: Arc<Semaphore>,
    crowd: Arc<Crowd>,
}

impl Listening {
    pub(crate) fn new(state: Arc<State>) -> Self {
        let http = &state.config.http;
        let room = Arc::new(Semaphore::new(http.connections_max as usize));
        let crowd = Arc::new(Crowd::new(http.connections_per_network_max));
        Listening { state, room, crowd }
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
                accepted = self.accept(&listener) => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            match accepted {
                Ok((stream, address, permit)) => {
                    self.spawn(stream, address, permit, tls.clone(), open.watcher())
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

    async fn accept(
        &self,
        listener: &TcpListener,
    ) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)?;
        let (stream, address) = listener.accept().await?;
        Ok((stream, address, permit))
    }

    fn spawn(
        self: &Arc<Self>,
        stream: TcpStream,
        address: SocketAddr,
        permit: OwnedSemaphorePermit,
        tls: Option<TlsAcceptor>,
        watcher: Watcher,
    ) {
        let Some(seat) = self.crowd.enter(address.ip()) else {
            self.state.metrics.connections_refused.inc();
            tracing::debug!(client = %address.ip(), "too many connections from its network");
            return;
        };
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let _held_while_open = (permit, seat);
            this.state.metrics.connections.inc();
            if let Err(error) = this.serve(stream, address.ip(), tls, watcher).await {
                tracing::debug!(client = %address.ip(), error, "a connection ended badly");
            }
            this.state.metrics.connections.dec();
        });
    }

    async fn serve(
        &self,
        stream: TcpStream,
        address: IpAddr,
        tls: Option<TlsAcceptor>,
        watcher: Watcher,
    ) -> Result<(), String> {
        // Answers are small and written at once: there is nothing to wait for.
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let local = stream.local_addr().map_err(|error| error.to_string())?;
        let peer = Arc::new(Peer::new(&self.state, address, local.ip()));
        let Some(tls) = tls else {
            return self.speak(stream, peer, watcher).await;
        };
        let handshake = tokio::time::timeout(self.head_time(), tls.accept(stream));
        let stream = handshake.await.map_err(|_| "the TLS handshake took too long")?;
        self.speak(stream.map_err(|error| error.to_string())?, peer, watcher).await
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Arc<Peer>,
        watcher: Watcher,
    ) -> Result<(), String> {
        let service = service_fn(|request| http::serve(Arc::clone(&self.state), Arc::clone(&peer), request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_time())
            .max_buf_size(BUFFER_BYTES)
            .pipeline_flush(true)
            .serve_connection(TokioIo::new(stream), service);
        watcher.watch(connection).await.map_err(|error| error.to_string())
    }

    fn head_time(&self) -> Duration {
        Duration::from_secs(self.state.config.http.head_secs)
    }
}
