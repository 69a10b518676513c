//! What can go wrong, in plain words.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seenit_filter::{GeometryError, readable};
use seenit_signature::Kind;

use crate::journal::JournalError;
use crate::private::PrivateError;

/// Why something failed, for all who wait for it: the error that was found first, or a sentence.
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// Another error is why.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Cause(Arc::new(error))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Two that say the same are the same.
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Cause {}

impl From<String> for Cause {
    fn from(why: String) -> Self {
        Cause(Box::<dyn Error + Send + Sync>::from(why).into())
    }
}

impl From<&str> for Cause {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

/// Bytes that are no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// They end too early.
    #[error("a signature is cut off: {has} bytes of {needs}")]
    Cut {
        /// Bytes there are.
        has: usize,
        /// Bytes there should be.
        needs: usize,
    },
    /// A number nobody gave to a kind.
    #[error("there is no kind with number {0}")]
    Kind(u8),
    /// A digest of another length than its kind's.
    #[error("a digest of {kind} has {needs} bytes, not {length}")]
    Length {
        /// The kind.
        kind: Kind,
        /// The length given.
        length: usize,
        /// The length it has.
        needs: usize,
    },
    /// More than a case takes.
    #[error("a case has at most {most} signatures")]
    TooMany {
        /// The limit.
        most: usize,
    },
}

/// A ledger that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A file or folder.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Others than its owner may look into it.
    #[error(transparent)]
    Private(PrivateError),
    /// Another process has it.
    #[error("{}: another seenit is using this folder: stop it first, or name another folder with --data", .0.display())]
    Locked(PathBuf),
    /// A journal whose keys are lost.
    #[error(
        "cannot open the data folder {name}: identity.json is missing, but there is a journal; without its keys \
         nothing in it can be read. Put identity.json back from a backup (seenit restore), or move {name} away to \
         begin anew",
        name = .0.display()
    )]
    NoIdentity(PathBuf),
    /// A folder that no server ever used.
    #[error("{} is no data folder of seenit (it has no identity.json)", .0.display())]
    NoDataFolder(PathBuf),
    /// The same, as a backup.
    #[error("cannot restore from {}: it is no data folder of seenit (no identity.json in it)", .0.display())]
    NoBackup(PathBuf),
    /// The store inside the folder.
    #[error("{}: the journal cannot be opened: {error}", path.display())]
    Journal {
        /// Its folder.
        path: PathBuf,
        /// Why.
        #[source]
        error: fjall::Error,
    },
    /// The store inside the folder is damaged.
    #[error(
        "{0}: the journal is damaged and cannot be opened: {why}; put a backup back (`seenit restore`), or move {0} \
         away and start again: verdicts stay as the last snapshot has them, but who reported what, and what was \
         reported after it, are gone",
        path.display()
    )]
    JournalDamaged {
        /// Its folder.
        path: PathBuf,
        /// What the store found.
        #[source]
        why: Cause,
    },
    /// A file whose contents make no sense.
    #[error("{}: {why}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        why: Cause,
    },
    /// Filters that cannot be made.
    #[error("the filters cannot be made: {0}")]
    Geometry(#[from] GeometryError),
    /// A journal whose rows make no sense.
    #[error("the journal is damaged: {0}")]
    Rows(#[source] Cause),
}

impl From<PrivateError> for OpenError {
    fn from(error: PrivateError) -> Self {
        match error {
            PrivateError::File { path, error } => OpenError::File { path, error },
            PrivateError::Damaged { path, why } => OpenError::Damaged { path, why: why.into() },
            open => OpenError::Private(open),
        }
    }
}

impl From<JournalError> for OpenError {
    fn from(error: JournalError) -> Self {
        OpenError::Rows(Cause::new(error))
    }
}

impl From<JournalError> for WriteError {
    fn from(error: JournalError) -> Self {
        WriteError::Journal(Cause::new(error))
    }
}

impl From<GeometryError> for WriteError {
    fn from(error: GeometryError) -> Self {
        WriteError::Seen(Cause::new(error))
    }
}

impl OpenError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
        let path = path.to_owned();
        move |error| OpenError::File { path, error }
    }
}

/// A write that was not taken. Nothing of it is remembered, or at worst it is remembered and not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The disk is nearly full.
    #[error(
        "only {} are free where the journal lies, and {} are kept: no writes until there are more",
        readable::bytes(*free),
        readable::bytes(*floor)
    )]
    DiskLow {
        /// Bytes that are free.
        free: u64,
        /// Bytes that are kept.
        floor: u64,
    },
    /// The journal could not be written; reads go on.
    #[error("the journal cannot be written: {0}")]
    Journal(#[source] Cause),
    /// The tally holds as many signatures as it was made for.
    #[error(
        "the tally is full: {held} of {capacity} signatures, and too few of them are of earlier generations, which \
         could be forgotten; set [ledger] capacity higher and restart the server: what was reported so far is kept"
    )]
    Full {
        /// Signatures it holds.
        held: u64,
        /// Signatures it was made for.
        capacity: u64,
    },
    /// The reporter has had its share of the tally.
    #[error(
        "{reporter} has added {added} of the signatures that are kept, and may add {most} (`reporter_percent` of \
         `capacity`): more when these expire, or when the operator vouches for it"
    )]
    Share {
        /// Its name.
        reporter: String,
        /// What it added.
        added: u64,
        /// What it may.
        most: u64,
    },
    /// The reporter has said as much in this generation as it may, be it new or not.
    #[error(
        "{reporter}, or all whose opinions weigh nothing together, named {named} signatures and shingles in this \
         generation, and may name {most}: more in the next one, or when the operator vouches for it"
    )]
    Named {
        /// Its name.
        reporter: String,
        /// What was named.
        named: u64,
        /// What may be.
        most: u64,
    },
    /// All whom the operator does not vouch for have had their share of this generation.
    #[error(
        "accounts that the operator does not vouch for have added {added} signatures in this generation, and may add \
         {most}: the rest of `capacity` is reserved for those whom the operator vouches for"
    )]
    Reserved {
        /// What they added.
        added: u64,
        /// What they may.
        most: u64,
    },
    /// The seen counts of this generation have no room for it.
    #[error(
        "{refused} of {messages} messages were not counted: the seen counts of this generation hold {held} signatures, \
         and may hold {most} (`seen_capacity`)"
    )]
    SeenFull {
        /// Messages that were not counted.
        refused: usize,
        /// Messages that were to be.
        messages: usize,
        /// Signatures that they hold.
        held: u64,
        /// How many there may be.
        most: u64,
    },
    /// More writes wait than may.
    #[error("{waiting} writes are waiting already: try again")]
    Busy {
        /// How many.
        waiting: usize,
    },
    /// The thread that writes has been doing one thing for too long.
    #[error(
        "the thread that writes has been busy with {step} for {secs} s, and writes wait for it: look at the disk"
    )]
    Stuck {
        /// What it does.
        step: &'static str,
        /// For how long.
        secs: u64,
    },
    /// The ledger is being closed.
    #[error("the ledger is being closed")]
    Closed,
    /// Nothing to write.
    #[error("it has too little text to be told from other messages")]
    Empty,
    /// More than one write takes.
    #[error("a write has at most {most} cases, not {cases}")]
    TooMany {
        /// Cases given.
        cases: usize,
        /// The limit.
        most: usize,
    },
    /// No such reporter.
    #[error("there is no reporter {0}")]
    Reporter(String),
    /// Terms that would make two things of one generation.
    #[error("the hash key of generation {generation} cannot change: it is being counted under another")]
    Terms {
        /// Which generation.
        generation: u64,
    },
    /// Memory that cannot be had.
    #[error("there is no memory for seen counts: {0}")]
    Seen(#[source] Cause),
    /// The most reporters there may be.
    #[error("there are {0} reporters already")]
    Reporters(usize),
    /// What the link to other sites may not ask for.
    #[error("{0}")]
    Link(#[source] Cause),
}

impl WriteError {
    /// Whether its reporter said too much, or all did: what was said is right and may be said later.
    pub fn is_too_much(&self) -> bool {
        use WriteError::{Busy, Named, Reserved, Share};
        matches!(self, Busy { .. } | Share { .. } | Named { .. } | Reserved { .. })
    }
}
