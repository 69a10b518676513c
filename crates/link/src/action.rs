//! What the link asks of its driver, and what the driver says came of it.

use seenit_sites::key::SiteKey;
use seenit_sites::message::Stream;

use crate::store::Read;

/// Milliseconds since the Unix epoch, by a clock that never goes back while the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    /// How many milliseconds have passed since then.
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time so many milliseconds later.
    #[must_use]
    pub fn after(self, millis: u64) -> Millis {
        Millis(self.0.saturating_add(millis))
    }

    /// Whole seconds since the Unix epoch.
    pub fn secs(self) -> u64 {
        self.0 / 1000
    }
}

/// Which stream of the broker something is published to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BrokerStream {
    /// Logs of records.
    Records,
    /// Deltas of sightings.
    Sightings,
}

impl BrokerStream {
    /// Both.
    pub const ALL: [BrokerStream; 2] = [BrokerStream::Records, BrokerStream::Sightings];

    /// The one that a site's stream is published to.
    pub fn of(stream: Stream) -> Self {
        match stream {
            Stream::Records => BrokerStream::Records,
            Stream::Sightings { .. } => BrokerStream::Sightings,
        }
    }
}

/// Where an answer goes: the driver knows what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplyTo(pub u64);

/// Names something that was asked of the driver, so that its outcome finds back. No two are equal while a link lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Publish, if nobody has published under our name since, and report the outcome. At most one message of each kind
    /// is under way.
    Publish {
        /// What the outcome is reported with.
        ticket: Ticket,
        /// Where.
        kind: BrokerStream,
        /// What.
        bytes: Vec<u8>,
    },
    /// Send to all sites; the broker need not store it.
    Heartbeat(Vec<u8>),
    /// Ask a site.
    Ask {
        /// Whom.
        to: SiteKey,
        /// What.
        bytes: Vec<u8>,
    },
    /// Answer.
    Answer {
        /// Whom.
        to: ReplyTo,
        /// What.
        bytes: Vec<u8>,
    },
    /// Put an object into our own bucket.
    Put {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Remove an object from our own bucket.
    Remove {
        /// Its name.
        name: String,
    },
    /// Get an object from a site's bucket, and report the outcome with [`object`](crate::Link::object).
    Get {
        /// Whose.
        site: SiteKey,
        /// Its name.
        name: String,
    },
    /// Read something from the store, and report the outcome with [`read_done`](crate::Link::read_done): in any order,
    /// late or never.
    Read {
        /// What the outcome is reported with.
        ticket: Ticket,
        /// What.
        read: Read,
    },
    /// Write a line to the log.
    Note(Note),
}

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Whether somebody should look at it.
    pub is_warning: bool,
    /// In words.
    pub text: String,
}

/// What came of publishing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is stored.
    Stored,
    /// Something else is the last under our name: this, or nothing.
    Fenced {
        /// The last message there.
        last: Option<Vec<u8>>,
    },
    /// Not stored, for a reason that may pass.
    Failed {
        /// In words.
        why: String,
    },
}

/// Whether the broker is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerState {
    /// Connected.
    Up,
    /// Not connected.
    Down {
        /// In words.
        why: String,
    },
}

/// How far a stream of the broker was read, so that a start need not begin at its beginning. It may lag: what is read
/// twice changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrokerPosition {
    /// When the stream was made: tells it from one that was made anew under its name.
    pub born: u64,
    /// The last message that was read.
    pub sequence: u64,
}
