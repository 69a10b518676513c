//! The server as a whole: started, running, stopped.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use seenit_ledger::clock::{Clock, SystemClock};
use seenit_ledger::ledger::Ledger;
use seenit_ledger::private as private_file;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::accounts::Accounts;
use crate::alarms;
use crate::audit::Audit;
use crate::backend::{Backend, Live, Queues, SharedAnswer};
use crate::clients::{ClientAddresses, Clients, Desk, Sockets};
use crate::config::Config;
use crate::descriptors::Descriptors;
use crate::error::StartError;
use crate::limits::{Budget, Networks};
use crate::link::Site;
use crate::listen::Listening;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::operator::{self, TokenFiles};
use crate::reload::Reloader;
use crate::secrets::Secrets;
use crate::signals::{Signals, Wanted};
use crate::tls::{self, Certificate};
use crate::token::Token;

/// Connections that wait to be accepted, for each socket: a burst of reconnecting clients.
const BACKLOG: u32 = 1024;

/// A server that can be started.
pub struct Server {
    config: Config,
    data: PathBuf,
    http: Option<SocketAddr>,
    asked: ClientAddresses,
    token_folders: Option<Vec<PathBuf>>,
    hears_signals: bool,
    config_file: Option<PathBuf>,
    clock: Arc<dyn Clock>,
}

/// A server that runs. Dropped, it stops at once; [`Running::shutdown`] lets requests finish.
pub struct Running {
    runtime: Option<Runtime>,
    listeners: JoinSet<()>,
    stop: watch::Sender<bool>,
    addresses: Vec<SocketAddr>,
    token: Token,
    token_files: TokenFiles,
    signals: Option<Signals>,
    reloading: Reloading,
    clients: Clients,
    pub(crate) backend: Arc<Backend>,
}

/// What SIGHUP reads again, and the certificate that it replaces.
struct Reloading {
    reloader: Reloader,
    certificate: Option<Arc<Certificate>>,
}

impl Server {
    /// A server with its data in a folder.
    pub fn new(config: Config, data: impl Into<PathBuf>) -> Self {
        Server {
            config,
            data: data.into(),
            http: None,
            asked: ClientAddresses::default(),
            token_folders: None,
            hears_signals: false,
            config_file: None,
            clock: Arc::new(SystemClock::default()),
        }
    }

    /// Listens on this address only, whatever the configuration says.
    pub fn http(mut self, address: SocketAddr) -> Self {
        self.http = Some(address);
        self
    }

    /// Answers clients there, whatever the configuration says. A port that is asked for here must be free.
    pub fn clients(mut self, addresses: ClientAddresses) -> Self {
        self.asked = addresses;
        self
    }

    /// Writes the operator's token there, not to the user's state folder.
    pub fn token_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.token_folders = Some(vec![folder.into()]);
        self
    }

    /// The file that the configuration was read from: SIGHUP reads it again.
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.config_file = Some(path.into());
        self
    }

    /// Hears SIGINT, SIGTERM, SIGQUIT and SIGHUP as soon as there is something to clean up: from then on they do not
    /// end the process, [`Running::wait_for_signal`] obeys them.
    pub fn hear_signals(mut self) -> Self {
        self.hears_signals = true;
        self
    }

    /// Takes the time from elsewhere.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the ledger, listens, and writes the operator's token. Ports are taken before the ledger is opened, so that
    /// a second server fails at once.
    pub fn start(mut self) -> Result<Running, StartError> {
        let reloader = Reloader::new(self.config_file.take(), self.config.clone());
        if let Some(address) = self.http {
            self.config.http.listen = vec![address];
        }
        self.asked.put_into(&mut self.config);
        self.config.check()?;
        let (acceptor, certificate) = self.config.tls.files().map(tls::acceptor).transpose()?.unzip();
        let runtime = runtime()?;
        let sockets = {
            let _guard = runtime.enter();
            let addresses = self.config.http.listen.iter();
            addresses.map(|address| bind(*address)).collect::<Result<Vec<_>, _>>()?
        };
        let client_sockets = Sockets::take(&self.config, &self.asked)?;
        private_file::folder(&self.data)?;
        let backend = self.open()?;
        let token = Token::random().map_err(|error| StartError::System(error.to_string()))?;
        backend.accounts.set_operator(&token, self.clock.now_secs());
        let addresses = addresses_of(&sockets)?;
        let (stop, _) = watch::channel(false);
        let desk = Arc::new(Desk::new(Arc::clone(&backend)));
        let clients = Clients::start(client_sockets, desk, &self.data, &runtime, &stop)?;
        // Before anybody can ask for it.
        backend.served.get_or_init(|| clients.served(&self.config));
        if let Some(site) =
            Site::start(&self.config, &self.data, &backend.ledger, &*self.clock, runtime.handle())?
        {
            backend.site.get_or_init(|| site);
        }
        let listeners = spawn_listeners(&runtime, &backend, sockets, acceptor, &stop);
        let heard = self.hears_signals.then(|| Signals::hear(&runtime)).transpose();
        let signals = heard.map_err(|error| StartError::System(error.to_string()))?;
        let folders = self.token_folders.clone().unwrap_or_else(|| operator::folders(Some(&self.data)));
        let token_files = TokenFiles::write(&folders, &addresses, &token)?;
        tracing::info!(?addresses, clients = ?clients.addresses(), data = %self.data.display(), "serving");
        let runtime = Some(runtime);
        let reloading = Reloading { reloader, certificate };
        Ok(Running {
            runtime,
            listeners,
            stop,
            addresses,
            token,
            token_files,
            signals,
            reloading,
            clients,
            backend,
        })
    }

    pub(crate) fn open(&self) -> Result<Arc<Backend>, StartError> {
        let descriptors = Descriptors::raise();
        descriptors.warn_of_few(&self.config.http);
        let ledger = Arc::new(Ledger::open(&self.data, self.config.ledger.clone(), Arc::clone(&self.clock))?);
        let reporter = |name: &str| match ledger.reporter(name) {
            Some(reporter) => Ok(reporter.id),
            None => {
                // A journal older than the accounts: what this one had earned, or lost, nobody knows.
                tracing::warn!(
                    account = name,
                    "the ledger does not know this account: its opinions weigh nothing yet"
                );
                ledger.admit_reporter(name).map(|reporter| reporter.id)
            }
        };
        let accounts = Arc::new(Accounts::open(&self.data, &self.config.limits, reporter)?);
        warn_of_lost_accounts(&accounts, &ledger);
        Ok(Arc::new(Backend {
            networks: Networks::new(&self.config.limits),
            metrics: Metrics::new(),
            audit: Arc::new(Audit::start().map_err(|error| StartError::System(error.to_string()))?),
            served: OnceLock::new(),
            site: OnceLock::new(),
            clock: Arc::clone(&self.clock),
            started: Instant::now(),
            queues: Queues::new(self.config.http.at_a_time),
            crowd: Arc::new(descriptors.crowd(&self.config.http)),
            memory: Memory::new(&self.config.http),
            stats: SharedAnswer::default(),
            scrape: SharedAnswer::default(),
            local: Arc::new(Budget::of_this_machine(&self.config.limits)),
            live: ArcSwap::from_pointee(Live::of(self.config.clone())?),
            config: self.config.clone(),
            ledger,
            accounts,
            secrets: Secrets::open(&self.data)?,
        }))
    }
}

/// Accounts come and go, and what they said stays. But if nobody at all holds a token, and somebody spoke who is not
/// built in, the file was lost more likely than all were removed.
fn warn_of_lost_accounts(accounts: &Accounts, ledger: &Ledger) {
    let Some(file) = accounts.missing_file() else { return };
    let reporters = ledger.reporters().into_iter().filter(|reporter| !reporter.id.is_local());
    let lost: Vec<String> = reporters.map(|reporter| reporter.name).collect();
    if !lost.is_empty() {
        tracing::warn!(
            reporters = lost.join(" "),
            "{} is missing, but these reporters have spoken: their tokens do not work any more; put the file back from \
             a backup, or add the accounts again (seenit account add)",
            file.display()
        );
    }
}

impl Running {
    /// Where it listens, in the order of the configuration.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The clients' protocols that are served, and where.
    pub fn clients(&self) -> &[(&'static str, SocketAddr)] {
        self.clients.addresses()
    }

    /// The public key that commands of rspamd are sealed for, where they are served.
    pub fn fuzzy_key(&self) -> Option<&str> {
        self.clients.fuzzy_key()
    }

    /// The files with the operator's token: one for each address.
    pub fn token_files(&self) -> &[PathBuf] {
        self.token_files.paths()
    }

    /// Removes the files with the operator's token: before anything that may end the process without more ado.
    pub fn remove_token_files(&self) {
        self.token_files.remove();
    }

    /// The operator's token, for a client in the same process.
    pub fn operator_token(&self) -> &Token {
        &self.token
    }

    /// The ledger.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.backend.ledger
    }

    /// How the network is doing, where there is one.
    pub fn network(&self) -> Option<seenit_link::NetworkStatus> {
        self.backend.site.get().map(Site::network)
    }

    /// The accounts.
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.backend.accounts
    }

    /// Waits until the process is told to end, and reloads whenever it is told to. Returns at once where signals are
    /// not heard ([`Server::hear_signals`]).
    pub fn wait_for_signal(&mut self) {
        while let (Some(runtime), Some(signals)) = (&self.runtime, &mut self.signals) {
            match runtime.block_on(signals.next()) {
                Wanted::End => return,
                Wanted::Reload => {
                    let Reloading { reloader, certificate } = &mut self.reloading;
                    reloader.reload(&self.backend, certificate.as_deref());
                }
            }
        }
    }

    /// Stops listening, lets requests under way finish for `http.shutdown_secs`, and closes the ledger.
    pub fn shutdown(mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        self.token_files.remove();
        self.stop.send_replace(true);
        self.clients.stop();
        self.backend.site.get().into_iter().for_each(Site::stop);
        let deadline = Duration::from_secs(self.backend.config.http.shutdown_secs);
        let mut listeners = std::mem::take(&mut self.listeners);
        let finished = runtime.block_on(async {
            tokio::time::timeout(deadline, async { while listeners.join_next().await.is_some() {} }).await
        });
        if finished.is_err() {
            tracing::warn!(
                secs = deadline.as_secs(),
                "requests were still under way at the end of http.shutdown_secs, and were cut off"
            );
        }
        runtime.shutdown_timeout(deadline);
        self.backend.ledger.close();
        // After the ledger: what was still waiting to be written has its line, too.
        self.backend.audit.close();
        tracing::info!("stopped");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.token_files.remove();
        self.backend.site.get().into_iter().for_each(Site::stop);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn runtime() -> Result<Runtime, StartError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.enable_all().thread_name("seenit-http").build();
    built.map_err(|error| StartError::System(error.to_string()))
}

/// Takes a port. One that is taken is an error, the default one, too: clients would ask whoever has it.
fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    listen(address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let instead = "--http 127.0.0.1:0, which takes a free port";
            StartError::Busy { address, protocol: "HTTP", instead }
        }
        _ => StartError::Listen { address, error },
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
    };
    // A port whose last connections are only just closed is free.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn addresses_of(sockets: &[TcpListener]) -> Result<Vec<SocketAddr>, StartError> {
    let addresses: io::Result<Vec<_>> = sockets.iter().map(TcpListener::local_addr).collect();
    addresses.map_err(|error| StartError::System(error.to_string()))
}

fn spawn_listeners(
    runtime: &Runtime,
    backend: &Arc<Backend>,
    sockets: Vec<TcpListener>,
    acceptor: Option<TlsAcceptor>,
    stop: &watch::Sender<bool>,
) -> JoinSet<()> {
    let listening = Arc::new(Listening::new(Arc::clone(backend)));
    let mut listeners = JoinSet::new();
    for socket in sockets {
        let is_loopback = socket.local_addr().is_ok_and(|address| address.ip().is_loopback());
        let tls = acceptor.clone().filter(|_| !is_loopback || backend.config.tls.loopback);
        listeners.spawn_on(Arc::clone(&listening).run(socket, tls, stop.subscribe()), runtime.handle());
    }
    listeners.spawn_on(alarms::watch(Arc::clone(backend), stop.subscribe()), runtime.handle());
    listeners
}
