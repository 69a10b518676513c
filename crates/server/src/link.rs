//! The link in a server: one thread that gives the link what the engine brings, and the engine what the link asks for.
//!
//! ```text
//! engine --Arrived--> thread `link` --hear, tick--> Link --> ledger
//! engine <--commands-- thread `link` <---actions---- Link
//! ```
//!
//! With the engine away the thread goes on: the ledger answers and journals as ever, and what was not said is said when
//! the engine is back.

mod journal;
mod sites;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use seenit_ledger::RecordId;
use seenit_ledger::clock::Clock;
use seenit_ledger::ledger::Ledger;
use seenit_link::{Action, Kind, Link, NetworkStatus, Place, Published, Reach, ReplyTo};
use seenit_sites::key::{AdminKey, SiteSecret};
use tokio::runtime::Handle;
use tokio::sync::mpsc::Receiver;

use self::journal::LedgerJournal;
pub(crate) use self::sites::Sites;
use crate::config::Config;
use crate::engine::{
    self, Arrived, Engine, EngineConfig, EngineError, EngineHandle, Login, Servers, SiteLogin, Stream,
};

/// How often the link looks at what the ledger has that is new.
const TICK: Duration = Duration::from_millis(50);

/// Arrivals that are worked through between two ticks.
const ARRIVALS_MAX: usize = 256;

/// How old the list of sites may be that a record's first receipt has.
const FIRST_REACH_MILLIS: u64 = 1_000;

/// Why a site's link does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The engine's files.
    #[error("network: {0}")]
    Engine(#[from] EngineError),
    /// The journal.
    #[error("network: the journal: {0}")]
    Journal(#[from] seenit_link::JournalError),
    /// No thread.
    #[error("network: no thread: {0}")]
    Thread(std::io::Error),
}

/// The link of a server that runs.
pub(crate) struct Site {
    link: Arc<Mutex<Link<LedgerJournal>>>,
    engine: EngineHandle,
    /// Why the engine is not there.
    down: Arc<Mutex<Option<String>>>,
    /// Where a record is applied the moment it is written.
    first_reach: Arc<ArcSwap<Reach>>,
    pace: Pace,
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
        let (handle, arrived, link) =
            open(config, SiteLogin::new(&secret, network, data), (network, &secret), ledger, pace, runtime)?;
        let first_reach = Arc::new(ArcSwap::from_pointee(first_reach(&link, pace.millis())));
        let (link, stop) = (Arc::new(Mutex::new(link)), Arc::new(AtomicBool::new(false)));
        let down = Arc::new(Mutex::new(Some("not connected yet".to_owned())));
        let driver = Driver {
            link: Arc::clone(&link),
            engine: handle.clone(),
            fences: [0, 0],
            pace,
            down: Arc::clone(&down),
            publishing: [None, None],
            first_reach: Arc::clone(&first_reach),
            first_reach_at: pace.millis(),
        };
        let (runtime, stopping) = (runtime.clone(), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("link".into());
        let thread =
            thread.spawn(move || driver.run(&runtime, arrived, &stopping)).map_err(LinkError::Thread)?;
        let thread = Mutex::new(Some(thread));
        Ok(Some(Site { link, engine: handle, down, first_reach, pace, stop, thread }))
    }

    fn link(&self) -> MutexGuard<'_, Link<LedgerJournal>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the link, as work that takes long would.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Drop + '_ {
        self.link()
    }

    /// How the network is doing, as the link sees it.
    pub(crate) fn network(&self) -> NetworkStatus {
        self.link().status(self.pace.millis())
    }

    /// The same with what the engine knows.
    pub(crate) fn status(&self) -> Sites {
        let status = self.network();
        let down = self.down.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let dropped = self.engine.dropped();
        Sites::of(status, down, (dropped.heard(), dropped.said()))
    }

    /// Which sites have applied a record of ours; `None` for records that are not told to the network.
    pub(crate) fn reach(&self, ledger: &Ledger, id: RecordId) -> Option<Reach> {
        let (incarnation, sequence) = ledger.sequence_of(id)?;
        Some(self.link().reach(incarnation, sequence, self.pace.millis()))
    }

    /// The same of a record that is written this moment: no other site has it, and a writer does not wait for the link.
    pub(crate) fn first_reach(&self, ledger: &Ledger, id: RecordId) -> Option<Arc<Reach>> {
        ledger.sequence_of(id).map(|_| self.first_reach.load_full())
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

/// Where a record is applied that no other site has.
fn first_reach(link: &Link<LedgerJournal>, now: u64) -> Reach {
    link.reach(0, u64::MAX, now)
}

/// A site that stands alone tells nobody any more what it counts.
fn leave(ledger: &Ledger) {
    if ledger.network().is_some() {
        match ledger.leave() {
            Ok(()) => tracing::info!("this site has left its network: it stands alone"),
            Err(error) => tracing::warn!(%error, "this site could not leave its network"),
        }
    }
}

fn open(
    config: &Config,
    own: SiteLogin,
    (network, secret): (AdminKey, &SiteSecret),
    ledger: &Arc<Ledger>,
    pace: Pace,
    runtime: &Handle,
) -> Result<(EngineHandle, Receiver<Arrived>, Link<LedgerJournal>), LinkError> {
    let section = &config.network;
    let journal = LedgerJournal::new(Arc::clone(ledger), config.ledger.clone());
    let mut link = Link::open(journal, secret.clone(), network, pace.millis())?;
    link.set_snapshot_secs(section.snapshot_secs);
    let login = match &section.credentials {
        Some(path) => Login::File(path.clone()),
        None => Login::Site(own),
    };
    let servers = Servers::new(section.nats.clone(), login, section.ca.clone(), section.insecure_plaintext)?;
    let after = |kind: Kind, stream: Stream| {
        let Place { born, sequence } = link.place(kind);
        engine::Place { stream, created: born, sequence }
    };
    let after = vec![after(Kind::Records, Stream::Records), after(Kind::Seen, Stream::Seen)];
    let after = after.into_iter().filter(|place| place.sequence > 0).collect();
    let config = EngineConfig { network, site: secret.public(), servers, after };
    let (handle, arrived) = Engine::start(config, runtime)?;
    Ok((handle, arrived, link))
}

/// What the thread has.
struct Driver {
    link: Arc<Mutex<Link<LedgerJournal>>>,
    engine: EngineHandle,
    /// The engine's last number under our name, of records and of seen.
    fences: [u64; 2],
    pace: Pace,
    down: Arc<Mutex<Option<String>>>,
    /// The tickets that are under way.
    publishing: [Option<u64>; 2],
    first_reach: Arc<ArcSwap<Reach>>,
    /// When that was looked at last.
    first_reach_at: u64,
}

impl Driver {
    fn run(mut self, runtime: &Handle, mut arrived: Receiver<Arrived>, stop: &AtomicBool) {
        for kind in [Kind::Records, Kind::Seen] {
            // Nothing is known of what the engine holds: the first that is published finds out.
            self.with_link(|link, now| link.resume(now, kind, None));
        }
        while !stop.load(Relaxed) {
            for _ in 0..ARRIVALS_MAX {
                let next = runtime.block_on(async { tokio::time::timeout(TICK, arrived.recv()).await });
                match next {
                    Ok(Some(one)) => self.take(one),
                    // It is gone for good only when the server is.
                    Ok(None) => return,
                    Err(_) => break,
                }
                if self.is_late() {
                    break;
                }
            }
            self.with_link(|link, now| link.tick(now));
            self.look_at_sites();
        }
    }

    /// Keeps the list of sites for those who write.
    fn look_at_sites(&mut self) {
        let now = self.pace.millis();
        if now >= self.first_reach_at + FIRST_REACH_MILLIS {
            let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
            self.first_reach.store(Arc::new(first_reach(&link, now)));
            self.first_reach_at = now;
        }
    }

    /// Whether it is time to tick, however much arrives.
    fn is_late(&self) -> bool {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        self.pace.millis() >= link.time() + TICK.as_millis() as u64
    }

    fn with_link(&mut self, work: impl FnOnce(&mut Link<LedgerJournal>, u64) -> Vec<Action>) {
        let now = self.pace.millis();
        let actions = {
            let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut link, now)
        };
        actions.into_iter().for_each(|action| self.act(action));
    }

    fn take(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::Bytes { bytes, reply, place } => self.with_link(|link, now| {
                let actions = link.hear(now, &bytes, reply.map(|reply| ReplyTo(reply.0)));
                if let Some((kind, place)) = place.and_then(place_of) {
                    link.set_place(kind, place);
                }
                actions
            }),
            Arrived::Published { ticket, outcome } => self.published(ticket, outcome),
            Arrived::Object { site, name, bytes } => {
                self.with_link(|link, now| link.object(now, site, &name, bytes));
            }
            Arrived::Put { name, is_kept: false } => {
                tracing::warn!(name, "the engine did not keep a part of the snapshot")
            }
            Arrived::Put { .. } => {}
            Arrived::Up => *self.down.lock().unwrap_or_else(PoisonError::into_inner) = None,
            Arrived::Down(why) => *self.down.lock().unwrap_or_else(PoisonError::into_inner) = Some(why),
        }
    }

    fn published(&mut self, ticket: u64, outcome: engine::Published) {
        let Some(place) = self.publishing.iter().position(|one| *one == Some(ticket)) else { return };
        self.publishing[place] = None;
        let outcome = match outcome {
            engine::Published::Stored(number) => {
                self.fences[place] = number;
                Published::Stored
            }
            engine::Published::Fenced { last } => {
                self.fences[place] = last.as_ref().map_or(0, |(number, _)| *number);
                Published::Fenced { last: last.map(|(_, bytes)| bytes.to_vec()) }
            }
            engine::Published::Failed(why) => {
                tracing::debug!(why, "not published yet");
                Published::Failed
            }
        };
        self.with_link(|link, now| link.published(now, ticket, outcome));
    }

    fn act(&mut self, action: Action) {
        let done = match action {
            Action::Publish { ticket, kind, bytes } => {
                let place = kind as usize;
                let kind = match kind {
                    Kind::Records => engine::Kind::Records,
                    Kind::Seen => engine::Kind::Seen,
                };
                self.publishing[place] = Some(ticket);
                self.engine.publish(ticket, kind, bytes, self.fences[place])
            }
            Action::Beat(bytes) => self.engine.beat(bytes),
            Action::Ask { to, bytes } => self.engine.ask(to, bytes),
            Action::Answer { to, bytes } => self.engine.answer(engine::ReplyTo(to.0), bytes),
            Action::Put { name, bytes } => self.engine.put(name, bytes),
            Action::Remove { name } => self.engine.remove(name),
            Action::Get { site, name } => self.engine.get(site, name),
            Action::Note(note) if note.is_warning => return tracing::warn!("{}", note.text),
            Action::Note(note) => return tracing::info!("{}", note.text),
        };
        if done.is_err() {
            // What is lost is said or asked again.
            tracing::debug!("the engine has no room for another command");
        }
    }
}

fn place_of(place: engine::Place) -> Option<(Kind, Place)> {
    let kind = match place.stream {
        Stream::Records => Kind::Records,
        Stream::Seen => Kind::Seen,
        Stream::Papers => return None,
    };
    Some((kind, Place { born: place.created, sequence: place.sequence }))
}

/// The link's time: that of the start, and what has passed since. A clock that is set changes nothing of it.
#[derive(Clone, Copy, Debug)]
struct Pace {
    began: Instant,
    secs: u64,
}

impl Pace {
    /// Milliseconds since the Unix epoch.
    fn millis(&self) -> u64 {
        self.secs * 1000 + self.began.elapsed().as_millis() as u64
    }
}
