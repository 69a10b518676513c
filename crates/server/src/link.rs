//! The link in a server: one thread that gives the link what the broker brings, commits what must last, and carries
//! out what the link asks for.
//!
//! ```text
//! broker --Arrived--> driver --hear, tick--> Link --Batch--> ledger, one commit
//! broker <--commands- driver <---actions---- Link
//! status <--Arc------ driver                 Link <--ReadDone-- reader (the ledger's disk)
//! ```
//!
//! Nobody but the driver touches the link: whoever asks how the network is doing reads what the driver showed last.
//! With the broker away the thread goes on: the ledger answers and journals as ever, and what was not published is
//! published when the broker is back.

mod driver;
mod reader;
mod sites;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use arc_swap::ArcSwap;
use seenit_ledger::RecordId;
use seenit_ledger::clock::Clock;
use seenit_ledger::ledger::Ledger;
use seenit_link::store::{Store, StoreError};
use seenit_link::{BrokerPosition, BrokerStream, Link, Millis, NetworkStatus, Reach};
use seenit_sites::key::{AdminKey, SiteSecret};
use seenit_sites::number::{Incarnation, Sequence};
use tokio::runtime::Handle;

use self::driver::Driver;
pub(crate) use self::sites::Sites;
use crate::broker::{self, BrokerConfig, BrokerError, BrokerHandle, Login, Servers, SiteLogin, Stream};
use crate::config::Config;

/// Why a site's link does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The broker's files.
    #[error("network: {0}")]
    Broker(#[from] BrokerError),
    /// The journal.
    #[error("network: {0}")]
    Store(#[from] StoreError),
    /// No thread.
    #[error("network: no thread: {0}")]
    Thread(std::io::Error),
}

/// How the network is doing, as the driver last showed it.
pub(crate) struct Shown {
    status: NetworkStatus,
    /// Where a record is applied the moment it is written: nowhere else.
    first_reach: Arc<Reach>,
}

impl Shown {
    fn of(status: NetworkStatus) -> Self {
        let first_reach = Arc::new(status.reach(Incarnation(0), Sequence(u64::MAX)));
        Shown { status, first_reach }
    }
}

/// The link of a server that runs.
pub(crate) struct Site {
    shown: Arc<ArcSwap<Shown>>,
    broker: BrokerHandle,
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Site {
    /// Starts the link of the network that the configuration names, if it names one.
    pub(crate) fn start(
        config: &Config,
        data: &Path,
        ledger: &Arc<Ledger>,
        clock: &dyn Clock,
        runtime: &Handle,
    ) -> Result<Option<Self>, LinkError> {
        let Some(network) = config.network.key() else {
            leave(ledger);
            return Ok(None);
        };
        let secret = SiteSecret::from_bytes(*ledger.site_secret());
        let pace = Pace { began: Instant::now(), secs: clock.now_secs() };
        let caps = config.network.local_caps();
        let mut link = Link::open(ledger.load()?, secret.clone(), network, caps, pace.now());
        link.set_snapshot_secs(config.network.snapshot_secs);
        let (broker, arrived) =
            broker::start(broker_config(config, data, network, &secret, &link)?, runtime)?;
        let shown = Arc::new(ArcSwap::from_pointee(Shown::of(link.status(pace.now()))));
        let stop = Arc::new(AtomicBool::new(false));
        let driver = Driver::new(link, Arc::clone(ledger), broker.clone(), pace, Arc::clone(&shown))
            .map_err(LinkError::Thread)?;
        let runtime = runtime.clone();
        let stopping = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("link".into());
        let thread =
            thread.spawn(move || driver.run(&runtime, arrived, &stopping)).map_err(LinkError::Thread)?;
        Ok(Some(Site { shown, broker, stop, thread: Mutex::new(Some(thread)) }))
    }

    /// How the network is doing, as the link sees it.
    pub(crate) fn network(&self) -> NetworkStatus {
        self.shown.load().status.clone()
    }

    /// The same with what the connection to the broker lost.
    pub(crate) fn status(&self) -> Sites {
        let dropped = self.broker.dropped();
        Sites::of(self.network(), dropped.heard(), dropped.said())
    }

    /// Which sites have applied a record of ours; `None` for records that are not published to the network.
    pub(crate) fn reach(&self, ledger: &Ledger, id: RecordId) -> Option<Reach> {
        let (incarnation, sequence) = ledger.sequence_of(id)?;
        Some(self.shown.load().status.reach(incarnation, sequence))
    }

    /// The same of a record that is written this moment: no other site has it.
    pub(crate) fn first_reach(&self, ledger: &Ledger, id: RecordId) -> Option<Arc<Reach>> {
        ledger.sequence_of(id).map(|_| Arc::clone(&self.shown.load().first_reach))
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// A site that stands alone publishes no more what it counts.
fn leave(ledger: &Ledger) {
    if ledger.network().is_some() {
        match ledger.leave() {
            Ok(()) => tracing::info!("this site has left its network: it stands alone"),
            Err(error) => tracing::warn!(%error, "this site could not leave its network"),
        }
    }
}

fn broker_config(
    config: &Config,
    data: &Path,
    network: AdminKey,
    secret: &SiteSecret,
    link: &Link,
) -> Result<BrokerConfig, BrokerError> {
    let section = &config.network;
    let login = match &section.credentials {
        Some(path) => Login::File(path.clone()),
        None => Login::Site(SiteLogin::new(secret, network, data)),
    };
    let servers = Servers::new(section.nats.clone(), login, section.ca.clone(), section.insecure_plaintext)?;
    let after = |kind: BrokerStream, stream: Stream| {
        let BrokerPosition { born, sequence } = link.place(kind);
        broker::StreamPosition { stream, created: born, sequence }
    };
    let after =
        vec![after(BrokerStream::Records, Stream::Records), after(BrokerStream::Sightings, Stream::Seen)];
    let after = after.into_iter().filter(|place| place.sequence > 0).collect();
    Ok(BrokerConfig { network, site: secret.public(), servers, after })
}

/// The link's time: that of the start, and what has passed since. A clock that is set changes nothing of it.
#[derive(Clone, Copy, Debug)]
struct Pace {
    began: Instant,
    secs: u64,
}

impl Pace {
    /// Since the Unix epoch.
    fn now(&self) -> Millis {
        Millis(self.secs * 1000 + self.began.elapsed().as_millis() as u64)
    }
}
