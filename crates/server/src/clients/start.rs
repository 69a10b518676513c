//! Sockets of the clients' protocols: taken before the ledger is opened, served until the server stops.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::credit::Credit;
use super::dcc::Dcc;
use super::desk::Desk;
use super::fuzzy::{self, Fuzzy};
use super::pyzor::Pyzor;
use super::razor::{self, Razor};
use super::udp::{self, Datagrams};
use crate::backend::Served;
use crate::config::{Config, Listen};
use crate::error::StartError;

/// Addresses that were asked for, in place of those in the configuration.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ClientAddresses {
    /// Pyzor's.
    pub pyzor: Option<Listen>,
    /// Razor's.
    pub razor: Option<Listen>,
    /// DCC's.
    pub dcc: Option<Listen>,
    /// rspamd's.
    pub fuzzy: Option<Listen>,
}

impl ClientAddresses {
    pub(crate) fn put_into(&self, config: &mut Config) {
        if let Some(listen) = self.pyzor {
            config.pyzor.listen = listen;
        }
        if let Some(listen) = self.razor {
            config.razor.listen = listen;
        }
        if let Some(listen) = self.dcc {
            config.dcc.listen = listen;
        }
        if let Some(listen) = self.fuzzy {
            config.fuzzy.listen = listen;
        }
    }
}

/// Sockets that were taken.
pub(crate) struct Sockets {
    pyzor: Option<Arc<UdpSocket>>,
    razor: Option<TcpListener>,
    dcc: Option<Arc<UdpSocket>>,
    fuzzy: Option<UdpSocket>,
}

/// The threads that answer clients.
pub(crate) struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<(&'static str, SocketAddr)>,
    fuzzy_key: Option<String>,
}

impl Sockets {
    /// Takes the ports. One that nobody asked for may be in use: that protocol is not served then, and a warning says
    /// so.
    pub(crate) fn take(config: &Config, asked: &ClientAddresses) -> Result<Self, StartError> {
        let defaults = Config::default();
        let is_default = asked.pyzor.is_none() && config.pyzor.listen == defaults.pyzor.listen;
        let pyzor = bind("Pyzor", config.pyzor.listen, is_default, UdpSocket::bind)?;
        let is_default = asked.razor.is_none() && config.razor.listen == defaults.razor.listen;
        let razor = bind(razor::NAME, config.razor.listen, is_default, TcpListener::bind)?;
        let is_default = asked.dcc.is_none() && config.dcc.listen == defaults.dcc.listen;
        let dcc = bind("DCC", config.dcc.listen, is_default, UdpSocket::bind)?;
        let is_default = asked.fuzzy.is_none() && config.fuzzy.listen == defaults.fuzzy.listen;
        let fuzzy = bind(fuzzy::NAME, config.fuzzy.listen, is_default, UdpSocket::bind)?;
        Ok(Sockets { pyzor: pyzor.map(Arc::new), razor, dcc: dcc.map(Arc::new), fuzzy })
    }
}

/// Threads of a protocol.
fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Takes the port of a protocol; none where it is off, or where a default port is not free.
fn bind<S>(
    name: &'static str,
    listen: Listen,
    is_default: bool,
    bind: impl FnOnce(SocketAddr) -> io::Result<S>,
) -> Result<Option<S>, StartError> {
    let Listen::At(address) = listen else {
        return Ok(None);
    };
    match bind(address) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_default => {
            tracing::warn!(%address, "the default port of {name} is in use by another process: {name} is not served");
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Err(StartError::Busy { address, protocol: name, instead: instead_of(name) })
        }
        Err(error) => Err(StartError::Listen { address, error }),
    }
}

/// What to do where the port of a protocol is taken.
fn instead_of(name: &str) -> &'static str {
    match name {
        "Pyzor" => "--pyzor 127.0.0.1:0, or --pyzor off",
        razor::NAME => "--razor 127.0.0.1:0, or --razor off",
        "DCC" => "--dcc 127.0.0.1:0, or --dcc off",
        _ => "--fuzzy 127.0.0.1:0, or --fuzzy off",
    }
}

impl Clients {
    /// Answers clients, with a thread for each processor and protocol.
    pub(crate) fn start(
        sockets: Sockets,
        desk: Arc<Desk>,
        data: &Path,
        runtime: &Runtime,
        stop: &watch::Sender<bool>,
    ) -> Result<Self, StartError> {
        let mut clients =
            Clients { stop: Arc::default(), threads: Vec::new(), addresses: Vec::new(), fuzzy_key: None };
        if let Some(socket) = sockets.pyzor {
            clients.serve("Pyzor", vec![socket], Arc::new(Pyzor::new(Arc::clone(&desk))), &desk)?;
        }
        if let Some(socket) = sockets.dcc {
            clients.serve("DCC", vec![socket], Arc::new(Dcc::new(Arc::clone(&desk))?), &desk)?;
        }
        if let Some(socket) = sockets.fuzzy {
            let key = fuzzy::key_in(data)?;
            clients.fuzzy_key = Some(key.public().to_string());
            let sockets = udp::by_sender(socket, threads())
                .map_err(|error| StartError::System(format!("more sockets for {}: {error}", fuzzy::NAME)))?;
            let sockets = sockets.into_iter().map(Arc::new).collect();
            clients.serve(fuzzy::NAME, sockets, Arc::new(Fuzzy::new(Arc::clone(&desk), key)), &desk)?;
        }
        if let Some(listener) = sockets.razor {
            let system = |error: io::Error| StartError::System(error.to_string());
            listener.set_nonblocking(true).map_err(system)?;
            clients.addresses.push((razor::NAME, listener.local_addr().map_err(system)?));
            let _guard = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener).map_err(system)?;
            runtime.spawn(Razor::new(desk).run(listener, stop.subscribe()));
        }
        Ok(clients)
    }

    /// Serves a protocol with a thread for each processor, which share its sockets.
    fn serve(
        &mut self,
        name: &'static str,
        sockets: Vec<Arc<UdpSocket>>,
        protocol: Arc<dyn Datagrams>,
        desk: &Desk,
    ) -> Result<(), StartError> {
        let system = |error: io::Error| StartError::System(error.to_string());
        if let Some(socket) = sockets.first() {
            self.addresses.push((name, socket.local_addr().map_err(system)?));
        }
        let credit = Arc::new(Credit::new());
        for socket in sockets.iter().cycle().take(threads()) {
            let socket = Arc::clone(socket);
            let protocol = Arc::clone(&protocol);
            let stop = Arc::clone(&self.stop);
            let credit = Arc::clone(&credit);
            let builder = thread::Builder::new().name(format!("seenit-{}", name.to_lowercase()));
            let counts = desk.backend.metrics.client(name);
            let serving = builder.spawn(move || udp::serve(&socket, &*protocol, &credit, &counts, &stop));
            self.threads.push(serving.map_err(system)?);
        }
        Ok(())
    }

    /// The protocols that are served, and where.
    pub(crate) fn addresses(&self) -> &[(&'static str, SocketAddr)] {
        &self.addresses
    }

    /// The public key that commands of rspamd are sealed for, where they are served.
    pub(crate) fn fuzzy_key(&self) -> Option<&str> {
        self.fuzzy_key.as_deref()
    }

    /// What a client must know.
    pub(crate) fn served(&self, config: &Config) -> Served {
        let clients = self.addresses.iter().map(|(name, address)| (name.to_lowercase(), *address)).collect();
        let fuzzy_flag = self.fuzzy_key().and_then(|_| config.fuzzy.spam_flags.first().copied());
        Served { clients, fuzzy_key: self.fuzzy_key.clone(), fuzzy_flag }
    }

    /// Stops answering. What was asked before is answered.
    pub(crate) fn stop(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to do.
            let _ = thread.join();
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.stop();
    }
}
