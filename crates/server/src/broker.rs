//! The broker between sites: NATS with JetStream, which keeps what sites say for those who were away.
//!
//! ```text
//! driver --BrokerHandle--> run --> publish (one task for records, one for seen)
//!                               -> talk    (heartbeats, questions, answers: nothing is kept)
//!                               -> objects (snapshots: one at a time)
//! driver <--Arrived------- read (one task for each stream), talk, publish, objects, the connection
//! ```
//!
//! The broker is not trusted and need not be there. What it brings are bytes, which are checked elsewhere; while it is
//! away, publishing fails and everything else waits. All queues are bounded: streams are read no faster than the driver
//! takes what arrives, and of what is said in passing the oldest is dropped, and counted.
//!
//! Sites read streams by asking for messages one by one, a window at a time, and never by consumers: whoever may make a
//! consumer may have it deliver to any subject, others' included, whatever else the broker forbids.

mod admission;
mod arrivals;
mod connect;
mod invite;
mod jwt;
mod names;
mod nkey;
mod objects;
mod operator;
mod permissions;
mod publish;
mod read;
mod recent;
mod talk;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use async_nats::{Client, Event};
use bytes::Bytes;
use seenit_link::BrokerStream;
use seenit_sites::key::{AdminKey, SiteKey};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use admission::{SiteLogin, deposit, is_admitted};
pub use arrivals::{Arrivals, Gone};
pub use connect::{Login, Servers};
pub(crate) use connect::{check_address, check_authority, check_credentials};
pub use invite::{BrokerAddress, INVITE_LETTERS_MAX, Invite, InviteError};
pub use jwt::{Authority, User};
pub use names::{Names, Stream};
pub use nkey::{account as nkey_account, public as nkey};
pub use operator::{Change, Limits, Made, Operator, SignedDocument, StreamState, System};

/// Commands that were given and not taken yet.
const COMMANDS_MAX: usize = 256;

/// How long JetStream may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// What a site's broker takes to start.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// The network.
    pub network: AdminKey,
    /// The site that speaks.
    pub site: SiteKey,
    /// Where the broker is.
    pub servers: Servers,
    /// The last places that were read, of whichever streams: reading goes on after them. Signed documents are always
    /// read from the beginning.
    pub after: Vec<StreamPosition>,
}

/// Why a broker does not start, or why the admin's tool stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// A file that cannot be used.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// What is said to be a server's address is none.
    #[error("the broker: cannot use the address {address:?}: it {why}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The broker does not let us in.
    #[error("the broker: {0}")]
    Refused(String),
    /// The broker is not there, or something went wrong.
    #[error("the broker: {0}")]
    Failed(String),
}

impl From<BrokerStream> for Stream {
    fn from(kind: BrokerStream) -> Self {
        match kind {
            BrokerStream::Records => Stream::Records,
            BrokerStream::Sightings => Stream::Seen,
        }
    }
}

/// Where in a stream something was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPosition {
    /// Which stream.
    pub stream: Stream,
    /// When that stream was made, in nanoseconds since the Unix epoch: one that was made anew counts anew.
    pub created: u64,
    /// Its number there, from 1 on.
    pub sequence: u64,
}

/// Whom to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplyTo(pub u64);

/// What the broker has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// Bytes of somebody: a message, a document, a heartbeat, a question, an answer.
    Bytes {
        /// As they came.
        bytes: Bytes,
        /// Whom to answer, if they are a question.
        reply: Option<ReplyTo>,
        /// Where they are kept, if they are.
        place: Option<StreamPosition>,
    },
    /// What became of something published.
    Published {
        /// Its number.
        ticket: u64,
        /// What became of it.
        outcome: Published,
    },
    /// An object that was asked for.
    Object {
        /// Whose.
        site: SiteKey,
        /// Its name.
        name: String,
        /// Nothing if there is none, or if it could not be had.
        bytes: Option<Vec<u8>>,
    },
    /// What became of an object that was put.
    Put {
        /// Its name.
        name: String,
        /// Whether it is kept now. If not, it may be put again.
        is_kept: bool,
    },
    /// The connection is there.
    Up,
    /// The connection is not there any more, and why.
    Down(String),
}

/// What became of something published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is kept, under this number of the stream. What follows expects this number.
    Stored(u64),
    /// Another message stands where this site's last one was expected.
    Fenced {
        /// Its number and bytes; nothing if there is none, so that 0 is to be expected.
        last: Option<(u64, Bytes)>,
    },
    /// Nobody knows, and it is to be published again as it is: that makes no second message.
    Failed(String),
}

/// What the broker is told to do.
#[derive(Debug)]
enum Command {
    Publish { kind: BrokerStream, wanted: publish::Wanted },
    Say(talk::Said),
    Object(objects::Wanted),
}

/// The broker has no room for another command: it is to be given again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the broker is busy: its queue of commands is full")]
pub struct Busy;

/// What was lost because it was too much.
#[derive(Debug, Default)]
pub struct Dropped {
    heard: AtomicU64,
    said: AtomicU64,
}

impl Dropped {
    /// Beats, questions and answers of others that came faster than they were taken.
    pub fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// Beats, questions and answers of this site that could not be sent.
    pub fn said(&self) -> u64 {
        self.said.load(Ordering::Relaxed)
    }
}

/// What commands the broker. When the last one is dropped, the broker ends.
#[derive(Clone, Debug)]
pub struct BrokerHandle {
    commands: mpsc::Sender<Command>,
    dropped: Arc<Dropped>,
}

impl BrokerHandle {
    /// Publishes in a stream, if the site's last message there has this number (0: if there is none).
    pub fn publish(
        &self,
        ticket: u64,
        kind: BrokerStream,
        bytes: Vec<u8>,
        expected: u64,
    ) -> Result<(), Busy> {
        let wanted = publish::Wanted { ticket, bytes: bytes.into(), expected };
        self.give(Command::Publish { kind, wanted })
    }

    /// Sends a heartbeat to whoever listens.
    pub fn heartbeat(&self, bytes: Vec<u8>) -> Result<(), Busy> {
        self.give(Command::Say(talk::Said::Heartbeat(bytes.into())))
    }

    /// Asks a site. Answers arrive as bytes.
    pub fn ask(&self, to: SiteKey, bytes: Vec<u8>) -> Result<(), Busy> {
        self.give(Command::Say(talk::Said::Ask { to, bytes: bytes.into() }))
    }

    /// Answers a question, if it is not too long ago.
    pub fn answer(&self, to: ReplyTo, bytes: Vec<u8>) -> Result<(), Busy> {
        self.give(Command::Say(talk::Said::Answer { to, bytes: bytes.into() }))
    }

    /// Puts an object into this site's bucket, in place of one of the same name.
    pub fn put(&self, name: String, bytes: Vec<u8>) -> Result<(), Busy> {
        self.give(Command::Object(objects::Wanted::Put { name, bytes }))
    }

    /// Takes an object out of this site's bucket.
    pub fn remove(&self, name: String) -> Result<(), Busy> {
        self.give(Command::Object(objects::Wanted::Remove { name }))
    }

    /// Gets an object out of a site's bucket.
    pub fn get(&self, site: SiteKey, name: String) -> Result<(), Busy> {
        self.give(Command::Object(objects::Wanted::Get { site, name }))
    }

    /// What was lost so far.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    fn give(&self, command: Command) -> Result<(), Busy> {
        self.commands.try_send(command).map_err(|_| Busy)
    }
}

/// What all tasks of a broker share.
#[derive(Clone)]
struct Shared {
    client: Client,
    context: Context,
    names: Names,
    site: SiteKey,
    arrived: arrivals::Arriving,
    dropped: Arc<Dropped>,
}

/// Starts the tasks that speak to the broker, whether it is there or not. Only files that cannot be used are an error.
pub fn start(config: BrokerConfig, runtime: &Handle) -> Result<(BrokerHandle, Arrivals), BrokerError> {
    let options = config.servers.options(&config.site.to_string())?;
    let (commands, to_do) = mpsc::channel(COMMANDS_MAX);
    let (sender, arrived) = arrivals::queue();
    let dropped = Arc::new(Dropped::default());
    let handle = BrokerHandle { commands, dropped: dropped.clone() };
    runtime.spawn(async move {
        // One that was invited and is not admitted yet could only be refused.
        if let Login::Site(site) = &config.servers.login {
            site.wait(&config.servers, &sender).await;
        }
        let (client, events) = match config.servers.connect(options).await {
            Ok(connected) => connected,
            // Addresses that are none: the configuration checks them before.
            Err(error) => {
                let _ = sender.send(Arrived::Down(error.to_string())).await;
                return;
            }
        };
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ANSWER_TIME);
        let names = Names::of(&config.network);
        let shared = Shared { client, context, names, site: config.site, arrived: sender, dropped };
        run(shared, &config, to_do, events).await;
    });
    Ok((handle, arrived))
}

/// Runs until nobody commands any more; all tasks end with it.
async fn run(
    shared: Shared,
    config: &BrokerConfig,
    mut commands: mpsc::Receiver<Command>,
    mut events: mpsc::Receiver<Event>,
) {
    let mut tasks = JoinSet::new();
    let news = read::start(&mut tasks, &shared, &config.after);
    let records = publish::start(&mut tasks, &shared, BrokerStream::Records);
    let seen = publish::start(&mut tasks, &shared, BrokerStream::Sightings);
    let objects = objects::start(&mut tasks, &shared);
    let talk = talk::start(&mut tasks, &shared);
    if let Login::Site(site) = config.servers.login.clone() {
        tasks.spawn(site.keep_fresh(shared.context.clone()));
    }
    tasks.spawn({
        let shared = shared.clone();
        async move {
            let mut why = None;
            while let Some(event) = events.recv().await {
                told(&shared, event, &news, &mut why).await;
            }
        }
    });
    while let Some(command) = commands.recv().await {
        match command {
            Command::Publish { kind: BrokerStream::Records, wanted } => {
                publish::give(&shared, &records, wanted).await
            }
            Command::Publish { kind: BrokerStream::Sightings, wanted } => {
                publish::give(&shared, &seen, wanted).await
            }
            Command::Say(said) => talk.say(said).await,
            Command::Object(wanted) => objects::give(&shared, &objects, wanted).await,
        }
    }
}

/// Tells what happened to the connection. `why` is what was said last of a connection that is not there.
async fn told(shared: &Shared, event: Event, news: &read::News, why: &mut Option<String>) {
    let arrived = match event {
        Event::Connected => {
            tracing::info!("the broker is connected");
            news.look();
            *why = None;
            Arrived::Up
        }
        Event::Disconnected | Event::Closed => down("the connection is lost".to_owned(), why),
        // Each attempt to connect fails in the same way: once is enough.
        Event::ClientError(error) if why.as_ref() == Some(&connect::plainly(&error)) => return,
        Event::ClientError(error) => down(connect::plainly(&error), why),
        Event::ServerError(error) => return tracing::warn!(%error, "the broker reports an error"),
        Event::SlowConsumer(_) => {
            shared.dropped.heard.fetch_add(1, Ordering::Relaxed);
            return;
        }
        other => return tracing::debug!(event = %other, "the broker"),
    };
    let _ = shared.arrived.send(arrived).await;
}

fn down(now: String, why: &mut Option<String>) -> Arrived {
    tracing::warn!(why = now, "the broker cannot be reached");
    *why = Some(now.clone());
    Arrived::Down(now)
}
