//! The audit trail: a line in the log for each write and each refused login. Who (account, address, user), by which
//! protocol, what (verb, record, signatures), and what the message is now.
//!
//! Lines are written by a thread of their own: a log that nobody reads must not keep the thread that writes waiting,
//! nor clients. All names are logged as quoted text, so that none of them can end a line and forge the next one.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lru::LruCache;
use seenit_ledger::Receipt;
use seenit_ledger::error::WriteError;
use seenit_ledger::ledger::Ledger;
use seenit_ledger::record::Verb;
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::Verdict;

use crate::metrics::FrontEnd;
use crate::network::{Network, plain};
use crate::owner::Uid;

/// Lines that wait for the thread. A disk that stalls for a second or two loses none at a thousand writes a second.
const LINES_WAITING_MAX: usize = 4096;

/// Bytes of signatures that wait for the thread: the verdict of a line is worked out when it is written.
const BYTES_WAITING_MAX: usize = 64 << 20;

/// How long the end of the server waits for a log that takes no lines.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// How often it looks.
const CLOSE_LOOK: Duration = Duration::from_millis(10);

/// Refused logins of one network that are logged one by one in each window; the others are counted. Enough to see who
/// it is, and a network that guesses passwords hides no other's refusals.
const REFUSED_LINES_MAX: u64 = 10;

/// The same for all networks together: too few to fill a disk, 40 MB a day.
const REFUSED_LINES_ALL_MAX: u64 = 200;

/// Networks whose refusals are told apart in a window: more than have lines in it.
const REFUSED_NETWORKS_MAX: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// How long a window of refused logins is.
const REFUSED_WINDOW: Duration = Duration::from_secs(60);

/// The longest name that is logged: whoever is refused chose it.
const NAME_CHARS_MAX: usize = 64;

/// From where something came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) front_end: FrontEnd,
    pub(crate) address: IpAddr,
    /// The user of this machine, where the kernel knows.
    pub(crate) uid: Option<Uid>,
}

impl Origin {
    /// By a protocol, from an address. Which user of this machine it is, is found out for writes only.
    pub(crate) fn at(front_end: FrontEnd, address: IpAddr) -> Self {
        Origin { front_end, address: plain(address), uid: None }
    }
}

/// A write, as it was asked for.
pub(crate) struct Written {
    pub(crate) account: String,
    pub(crate) origin: Origin,
    pub(crate) verb: Verb,
    pub(crate) cases: Vec<Case>,
}

impl Written {
    fn bytes(&self) -> usize {
        self.cases.iter().map(|case| case.bytes().len()).sum()
    }
}

/// A write of which nobody knows yet how it ends. It keeps no ledger alive: the ledger's own thread is what drops it.
pub(crate) struct Pending {
    audit: Arc<Audit>,
    ledger: Weak<Ledger>,
    written: Written,
}

impl Pending {
    /// Leaves a line about it: it is durable, or refused.
    pub(crate) fn ended(self, result: &Result<Receipt, WriteError>) {
        self.audit.leave(Line::Written(self.written, self.ledger, result.clone()));
    }
}

enum Line {
    Written(Written, Weak<Ledger>, Result<Receipt, WriteError>),
    Refused {
        origin: Origin,
        name: String,
        why: &'static str,
    },
    /// So many logins were refused and not logged one by one.
    Counted(u64),
    End,
}

/// Where lines are left.
pub(crate) struct Audit {
    lines: SyncSender<Line>,
    thread: Mutex<Option<JoinHandle<()>>>,
    refused: Mutex<Window>,
    load: Arc<Load>,
}

/// What waits for the thread, and what found no room.
#[derive(Default)]
struct Load {
    bytes: AtomicUsize,
    left_out: AtomicU64,
}

/// How many logins were refused lately.
struct Window {
    began: Instant,
    logged: u64,
    counted: u64,
    /// Those that were logged, by where they came from.
    networks: LruCache<Network, u64>,
}

impl Window {
    fn new(began: Instant) -> Self {
        Window { began, logged: 0, counted: 0, networks: LruCache::new(REFUSED_NETWORKS_MAX) }
    }

    /// Whether one more is logged, and how many of the window before this one were only counted.
    fn add(&mut self, network: Network, now: Instant) -> (bool, u64) {
        let before = self.turn(now);
        let of_network = self.networks.get_or_insert_mut(network, || 0);
        let is_logged = *of_network < REFUSED_LINES_MAX && self.logged < REFUSED_LINES_ALL_MAX;
        if is_logged {
            *of_network += 1;
            self.logged += 1;
        } else {
            self.counted += 1;
        }
        (is_logged, before)
    }

    /// Begins a new window where the old one is over: how many of that were only counted.
    fn turn(&mut self, now: Instant) -> u64 {
        if now.duration_since(self.began) < REFUSED_WINDOW {
            return 0;
        }
        let counted = self.counted;
        *self = Window::new(now);
        counted
    }
}

impl Audit {
    /// Starts the thread that writes the lines.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (lines, waiting) = sync_channel(LINES_WAITING_MAX);
        let load = Arc::new(Load::default());
        let of_thread = Arc::clone(&load);
        let thread = thread::Builder::new().name("seenit-audit".into());
        let thread = thread.spawn(move || log_lines(&waiting, &of_thread))?;
        let refused = Mutex::new(Window::new(Instant::now()));
        Ok(Audit { lines, thread: Mutex::new(Some(thread)), refused, load })
    }

    /// There will be a line about a write.
    pub(crate) fn begun(self: &Arc<Self>, ledger: &Arc<Ledger>, written: Written) -> Pending {
        Pending { audit: Arc::clone(self), ledger: Arc::downgrade(ledger), written }
    }

    /// Leaves a line about somebody who is not who they say, or may not do what they ask for.
    pub(crate) fn refused(&self, origin: Origin, name: &str, why: &'static str) {
        let mut window = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_logged, before) = window.add(Network::of(origin.address), Instant::now());
        drop(window);
        self.leave_counted(before);
        if is_logged {
            let name = name.chars().take(NAME_CHARS_MAX).collect();
            self.leave(Line::Refused { origin, name, why });
        }
    }

    /// Logs what was only counted so far, once its window is over: an attack that has ended is told of as well.
    pub(crate) fn tick(&self) {
        let counted = self.refused.lock().unwrap_or_else(PoisonError::into_inner).turn(Instant::now());
        self.leave_counted(counted);
    }

    /// Waits until every line is written, but not for a log that takes none.
    pub(crate) fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else {
            return;
        };
        let patience = Instant::now() + CLOSE_WAIT;
        let mut is_told = false;
        while !thread.is_finished() && Instant::now() < patience {
            is_told = is_told || !matches!(self.lines.try_send(Line::End), Err(TrySendError::Full(_)));
            thread::sleep(CLOSE_LOOK);
        }
    }

    fn leave_counted(&self, counted: u64) {
        if counted > 0 {
            self.leave(Line::Counted(counted));
        }
    }

    fn leave(&self, line: Line) {
        let bytes = line.bytes();
        let waiting = self.load.bytes.fetch_add(bytes, Relaxed);
        let has_room = waiting.saturating_add(bytes) <= BYTES_WAITING_MAX;
        if !has_room || self.lines.try_send(line).is_err() {
            self.load.bytes.fetch_sub(bytes, Relaxed);
            self.load.left_out.fetch_add(1, Relaxed);
        }
    }
}

impl Line {
    /// Bytes of the signatures that it carries.
    fn bytes(&self) -> usize {
        if let Line::Written(written, ..) = self { written.bytes() } else { 0 }
    }
}

fn log_lines(lines: &Receiver<Line>, load: &Load) {
    while let Ok(line) = lines.recv() {
        load.bytes.fetch_sub(line.bytes(), Relaxed);
        match line {
            Line::Written(written, ledger, result) => log_written(&written, &ledger, result),
            Line::Refused { origin: Origin { front_end, address, uid }, name, why } => {
                let via = front_end.as_str();
                let uid = uid.map(|uid| uid.0);
                tracing::warn!(account = name.as_str(), %address, uid, via, why, "refused");
            }
            Line::Counted(refused) => {
                tracing::warn!(refused, "more logins were refused than are logged one by one");
            }
            Line::End => return,
        }
        let lost = load.left_out.swap(0, Relaxed);
        if lost > 0 {
            tracing::warn!(
                lines = lost,
                "the log is written too slowly: lines of the audit trail are missing"
            );
        }
    }
}

fn log_written(written: &Written, ledger: &Weak<Ledger>, result: Result<Receipt, WriteError>) {
    let Written { account, origin, verb, cases } = written;
    let account = account.as_str();
    let address = origin.address;
    let via = origin.front_end.as_str();
    let uid = origin.uid.map(|uid| uid.0);
    let verb = verb.as_str();
    let signatures: usize = cases.iter().map(Case::len).sum();
    match result {
        Ok(receipt) => {
            let record = receipt.id;
            let records = receipt.records;
            let judged =
                |ledger: Arc<Ledger>| now(cases.iter().map(|case| ledger.check_in_memory(case).verdict));
            let verdict = ledger.upgrade().map(judged).unwrap_or_default();
            let verdict = verdict.as_str();
            tracing::info!(account, %address, uid, via, verb, %record, records, signatures, verdict, "written");
        }
        Err(error) => {
            tracing::warn!(account, %address, uid, via, verb, signatures, why = %error, "not written");
        }
    }
}

/// The verdicts in few words: `spam`, or `spam 3, unknown 1`.
fn now(verdicts: impl Iterator<Item = Verdict>) -> String {
    let mut counted: Vec<(Verdict, u64)> = Vec::new();
    for verdict in verdicts {
        match counted.iter_mut().find(|(other, _)| *other == verdict) {
            Some((_, number)) => *number += 1,
            None => counted.push((verdict, 1)),
        }
    }
    match counted.as_slice() {
        [(verdict, _)] => verdict.as_str().to_owned(),
        several => {
            let one = |(verdict, number): &(Verdict, u64)| format!("{} {number}", verdict.as_str());
            several.iter().map(one).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_refused_logins_are_counted_and_not_logged_one_by_one() {
        let began = Instant::now();
        let mut window = Window::new(began);
        let one = Network::of([192, 0, 2, 1].into());
        let logged = (0..1000).filter(|_| window.add(one, began).0).count() as u64;
        assert_eq!((logged, window.counted), (REFUSED_LINES_MAX, 1000 - REFUSED_LINES_MAX));
        assert!(window.add(Network::of([192, 0, 3, 1].into()), began).0, "another network is still logged");
        assert_eq!(window.turn(began), 0, "the window is not over");
        assert_eq!(window.add(one, began + REFUSED_WINDOW), (true, 1000 - REFUSED_LINES_MAX));
        assert_eq!(window.turn(began + REFUSED_WINDOW * 2), 0, "none was left to tell");
    }

    #[test]
    fn whoever_has_many_networks_fills_no_disk() {
        let began = Instant::now();
        let network = |number: u16| {
            let [high, low] = number.to_be_bytes();
            Network::of([10, high, low, 1].into())
        };
        let mut window = Window::new(began);
        let logged = (0..10_000).filter(|&number| window.add(network(number), began).0).count() as u64;
        assert_eq!(logged, REFUSED_LINES_ALL_MAX);
        assert!(window.networks.len() <= REFUSED_NETWORKS_MAX.get());
    }

    #[test]
    fn verdicts_in_few_words() {
        use Verdict::*;
        assert_eq!(now([Spam].into_iter()), "spam");
        assert_eq!(now([Spam, Spam].into_iter()), "spam");
        assert_eq!(now([Spam, Unknown, Spam].into_iter()), "spam 2, unknown 1");
    }
}
