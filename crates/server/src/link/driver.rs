//! The driver's loop: drain what arrived, tick, commit once, act, publish the status.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use seenit_ledger::ledger::Ledger;
use seenit_link::store::Store;
use seenit_link::{
    Action, BrokerPosition, BrokerState, BrokerStream, Checked, Checker, Link, Millis, Published, ReplyTo,
    Ticket,
};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};

use super::reader::{Done, Reader};
use super::{Pace, Shown};
use crate::broker::{self, Arrivals, Arrived, BrokerHandle, Stream};

/// How soon after a tick the next one may follow because the ledger has something new: what a site writes in that time
/// is published together.
const TICK_MIN: Duration = Duration::from_millis(50);

/// How long the link goes without a tick when nothing happens. Whatever is due at some time may be so late. An idle
/// site spends most of its time on being woken, so it is woken rarely.
const TICK_MAX: Duration = Duration::from_millis(250);

/// Arrivals of one drain, which are one commit: enough that a disk of 5 ms a sync takes thousands a second, and few
/// enough that a tick is never late by much.
const ARRIVALS_MAX: usize = 1024;

/// Messages of one drain from which on they are checked on several threads, and how many threads those are at most.
const CHECK_APART_MIN: usize = 32;
const CHECK_THREADS_MAX: usize = 4;

/// How often the status is made anew while things happen, and while nothing does.
const STATUS_MILLIS: u64 = 100;
const STATUS_IDLE_MILLIS: u64 = 1_000;

/// What woke the driver.
enum Woken {
    Arrived(Arrived),
    Read(Done),
    Tick,
    End,
}

/// What the thread has.
pub(super) struct Driver {
    link: Link,
    ledger: Arc<Ledger>,
    broker: BrokerHandle,
    reader: Reader,
    reads: mpsc::Receiver<Done>,
    /// The ledger has records or sightings that are not published.
    growth: Arc<Notify>,
    ticked: Instant,
    pace: Pace,
    /// The broker's last number under our name, of records and of sightings.
    fences: [u64; 2],
    /// What is being published.
    publishing: [Option<Ticket>; 2],
    /// A commit failed, and may be durable all the same: the link is loaded anew before anything else is committed.
    is_unsure: bool,
    shown: Arc<ArcSwap<Shown>>,
    shown_at: Millis,
}

impl Driver {
    pub(super) fn new(
        link: Link,
        ledger: Arc<Ledger>,
        broker: BrokerHandle,
        pace: Pace,
        shown: Arc<ArcSwap<Shown>>,
    ) -> std::io::Result<Self> {
        let (reader, reads) = Reader::start(Arc::clone(&ledger))?;
        let growth = Arc::new(Notify::new());
        let grown = Arc::clone(&growth);
        ledger.on_growth(move || grown.notify_one());
        Ok(Driver {
            link,
            ledger,
            broker,
            reader,
            reads,
            growth,
            ticked: Instant::now(),
            pace,
            fences: [0, 0],
            publishing: [None, None],
            is_unsure: false,
            shown,
            shown_at: pace.now(),
        })
    }

    pub(super) fn run(mut self, runtime: &Handle, mut arrived: Arrivals, stop: &AtomicBool) {
        for kind in [BrokerStream::Records, BrokerStream::Sightings] {
            // Nothing is known of what the broker holds: the first that is published finds out.
            self.link.resume(self.pace.now(), kind, None);
        }
        while !stop.load(Relaxed) {
            let mut first = None;
            let mut has_news = true;
            match runtime.block_on(self.wait(&mut arrived)) {
                Woken::Arrived(one) => first = Some(one),
                Woken::Read(done) => self.read(done),
                Woken::Tick => has_news = false,
                // The broker's tasks are gone only when the server is.
                Woken::End => return,
            }
            self.drain(first, &mut arrived);
            self.ticked = Instant::now();
            let own = self.ledger.own();
            self.link.tick(self.pace.now(), &own);
            self.commit();
            self.link.take_actions().into_iter().for_each(|action| self.act(action));
            self.show(has_news);
        }
    }

    async fn wait(&mut self, arrived: &mut Arrivals) -> Woken {
        tokio::select! {
            one = arrived.recv() => one.map_or(Woken::End, Woken::Arrived),
            Some(done) = self.reads.recv() => Woken::Read(done),
            // Where something else comes first, that is followed by a tick, too.
            () = grown(&self.growth, self.ticked + TICK_MIN) => Woken::Tick,
            () = tokio::time::sleep(TICK_MAX) => Woken::Tick,
        }
    }

    /// Takes all that is there, up to a bound, in the order in which it came.
    fn drain(&mut self, first: Option<Arrived>, arrived: &mut Arrivals) {
        let there = std::iter::from_fn(|| arrived.try_recv());
        let all: Vec<Arrived> = first.into_iter().chain(there).take(ARRIVALS_MAX).collect();
        let messages: Vec<Bytes> = all.iter().map(message_of).collect();
        for (one, checked) in all.into_iter().zip(check(&self.link.checker(), &messages)) {
            self.take(one, checked);
        }
        while let Ok(done) = self.reads.try_recv() {
            self.read(done);
        }
    }

    fn take(&mut self, arrived: Arrived, checked: Checked<'_>) {
        let now = self.pace.now();
        match arrived {
            Arrived::Bytes { reply, place, .. } => {
                self.link.hear_checked(now, checked, reply.map(|reply| ReplyTo(reply.0)));
                if let Some((kind, place)) = place.and_then(place_of) {
                    self.link.set_place(kind, place);
                }
            }
            Arrived::Published { ticket, outcome } => self.settle(Ticket(ticket), outcome),
            Arrived::Object { site, name, bytes } => self.link.object(now, site, &name, bytes),
            Arrived::Put { name, is_kept: false } => {
                tracing::warn!(name, "the broker did not keep a part of the snapshot")
            }
            Arrived::Put { .. } => {}
            Arrived::Up => self.link.broker(now, BrokerState::Up),
            Arrived::Down(why) => self.link.broker(now, BrokerState::Down { why }),
        }
    }

    fn settle(&mut self, ticket: Ticket, outcome: broker::Published) {
        let Some(place) = self.publishing.iter().position(|one| *one == Some(ticket)) else { return };
        self.publishing[place] = None;
        let outcome = match outcome {
            broker::Published::Stored(number) => {
                self.fences[place] = number;
                Published::Stored
            }
            broker::Published::Fenced { last } => {
                self.fences[place] = last.as_ref().map_or(0, |(number, _)| *number);
                Published::Fenced { last: last.map(|(_, bytes)| bytes.to_vec()) }
            }
            broker::Published::Failed(why) => Published::Failed { why },
        };
        self.link.published(self.pace.now(), ticket, outcome);
    }

    fn read(&mut self, (ticket, done): Done) {
        self.link.read_done(self.pace.now(), ticket, done);
    }

    /// Makes durable what the link has gathered; after a failure the link first takes up again from what is durable.
    fn commit(&mut self) {
        if self.is_unsure {
            match self.ledger.load() {
                Ok(loaded) => self.link.reload(self.pace.now(), loaded),
                Err(error) => return self.link.failed(self.pace.now(), &error),
            }
            self.is_unsure = false;
        }
        let batch = self.link.take_batch();
        if batch.is_empty() {
            return;
        }
        match self.ledger.commit(batch) {
            Ok(committed) => self.link.committed(self.pace.now(), committed),
            Err(error) => {
                self.is_unsure = true;
                self.link.failed(self.pace.now(), &error);
            }
        }
    }

    fn act(&mut self, action: Action) {
        let done = match action {
            Action::Publish { ticket, kind, bytes } => {
                let place = kind as usize;
                self.publishing[place] = Some(ticket);
                self.broker.publish(ticket.0, kind, bytes, self.fences[place])
            }
            Action::Heartbeat(bytes) => self.broker.heartbeat(bytes),
            Action::Ask { to, bytes } => self.broker.ask(to, bytes),
            Action::Answer { to, bytes } => self.broker.answer(broker::ReplyTo(to.0), bytes),
            Action::Put { name, bytes } => self.broker.put(name, bytes),
            Action::Remove { name } => self.broker.remove(name),
            Action::Get { site, name } => self.broker.get(site, name),
            Action::Read { ticket, read } => {
                if !self.reader.want(ticket, read) {
                    tracing::debug!("too many reads wait for the disk");
                }
                return;
            }
            Action::Note(note) if note.is_warning => return tracing::warn!("{}", note.text),
            Action::Note(note) => return tracing::info!("{}", note.text),
        };
        if done.is_err() {
            // What is lost is said or asked again.
            tracing::debug!("the broker has no room for another command");
        }
    }

    fn show(&mut self, has_news: bool) {
        let now = self.pace.now();
        let due = if has_news { STATUS_MILLIS } else { STATUS_IDLE_MILLIS };
        if now.0 >= self.shown_at.0 + due {
            self.shown.store(Arc::new(Shown::of(self.link.status(now))));
            self.shown_at = now;
        }
    }
}

/// The bytes that the link is to hear, if it is that what arrived.
fn message_of(arrived: &Arrived) -> Bytes {
    match arrived {
        Arrived::Bytes { bytes, .. } => bytes.clone(),
        _ => Bytes::new(),
    }
}

/// Checks messages, many of them on several threads: most of what a drain takes is signatures.
fn check<'a>(checker: &Checker, messages: &'a [Bytes]) -> Vec<Checked<'a>> {
    let check_all = |some: &'a [Bytes]| some.iter().map(|bytes| checker.check(bytes)).collect::<Vec<_>>();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(CHECK_THREADS_MAX);
    if messages.iter().filter(|bytes| !bytes.is_empty()).count() < CHECK_APART_MIN || threads == 1 {
        return check_all(messages);
    }
    std::thread::scope(|scope| {
        let mut chunks = messages.chunks(messages.len().div_ceil(threads));
        let first = chunks.next().unwrap_or_default();
        let others: Vec<_> = chunks.map(|some| scope.spawn(move || check_all(some))).collect();
        let mut checked = check_all(first);
        for other in others {
            match other.join() {
                Ok(some) => checked.extend(some),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        checked
    })
}

fn place_of(place: broker::StreamPosition) -> Option<(BrokerStream, BrokerPosition)> {
    let kind = match place.stream {
        Stream::Records => BrokerStream::Records,
        Stream::Seen => BrokerStream::Sightings,
        Stream::Documents => return None,
    };
    Some((kind, BrokerPosition { born: place.created, sequence: place.sequence }))
}

/// The ledger has something new, and it is not before that time.
async fn grown(growth: &Notify, soonest: Instant) {
    growth.notified().await;
    tokio::time::sleep_until(soonest.into()).await;
}
