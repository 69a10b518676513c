//! What the link asks of whoever moves its bytes.

use seenit_sites::key::SiteKey;

/// Which stream of the engine something is published to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Logs of records.
    Records,
    /// Gains of seen cells.
    Seen,
}

/// Where an answer goes: whoever moves the bytes knows what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplyTo(pub u64);

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Publish, if nobody has published under our name since; and say what came of it. At most one of each kind is
    /// under way.
    Publish {
        /// What the outcome is told with.
        ticket: u64,
        /// Where.
        kind: Kind,
        /// What.
        bytes: Vec<u8>,
    },
    /// Tell everybody; nobody need store it.
    Beat(Vec<u8>),
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
    /// Put an object into our own store.
    Put {
        /// Its name.
        name: String,
        /// It.
        bytes: Vec<u8>,
    },
    /// Remove one from there.
    Remove {
        /// Its name.
        name: String,
    },
    /// Get an object from a site's store, and say what came of it.
    Get {
        /// Whose.
        site: SiteKey,
        /// Its name.
        name: String,
    },
    /// Something worth a line in the log.
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
    /// Not now.
    Failed,
}
