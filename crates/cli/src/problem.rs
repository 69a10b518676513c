//! What can go wrong on the command line: one clear line, and an exit code that means something.

use std::io;
use std::path::{Path, PathBuf};

use seenit_filter::delta::DeltaError;
use seenit_filter::{BinError, CutError, FormatError, GeometryError, RetouchError, Unlike};
#[cfg(feature = "lab")]
use seenit_lab::LabError;
use seenit_ledger::OpenError;
use seenit_ledger::private::PrivateError;
use seenit_mailbox::MailError;
use seenit_server::StartError;
use seenit_server::accounts::AccountError;
use seenit_server::broker::BrokerError;
use seenit_server::config::ConfigError;
use seenit_server::secrets::SecretError;
use seenit_words::WordsError;

use crate::client::AskError;
use crate::exit::Exit;

/// Why a command stopped. The codes are those of sysexits.h.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// Exit 65: a damaged, foreign or future file.
    #[error("{}: {error}{}", path.display(), remedy(error))]
    Format { path: PathBuf, error: FormatError },
    /// Exit 65: filters that cannot be united.
    #[error("{} and {}: {error}", first.display(), path.display())]
    Unlike { path: PathBuf, first: PathBuf, error: Unlike },
    /// Exit 65: a damaged or foreign delta, or one for another file.
    #[error("{}: {error}", path.display())]
    Delta { path: PathBuf, error: DeltaError },
    /// Exit 65: a key file with something else in it.
    #[error("{name}: line {line}: {why}")]
    Key { name: String, line: u64, why: String },
    /// Exit 65: nothing to build from.
    #[error("{0}: there are no keys in it; give --capacity to build an empty filter")]
    NoKeys(String),
    /// Exit 65: a network key that protects nothing, or is none.
    #[error(
        "{}: a network key has at least {least} and at most {most} bytes (make one: openssl rand -hex 32)",
        path.display()
    )]
    KeyLength { path: PathBuf, least: usize, most: usize },
    /// Exit 2, or 71 when it is memory that is missing.
    #[error("{0}")]
    Geometry(#[from] GeometryError),
    /// Exit 2: an algorithm that must know the members.
    #[error("--algorithm {0} needs --members; random, maximum-fp and improved-maximum-fp do without")]
    NoMembers(&'static str),
    /// Exit 2: two key files from one pipe.
    #[error("cannot read two inputs from standard input; give - for one of them only")]
    StdinTwice,
    /// Exit 2: more than can be retouched with.
    #[error("{0}")]
    Retouch(#[from] RetouchError),
    /// Exit 2, 66, 71 or 74: an experiment of the lab that stopped.
    #[cfg(feature = "lab")]
    #[error("{0}")]
    Lab(#[from] LabError),
    /// Exit 2, as for any command that a build does not know.
    #[cfg(any(test, not(feature = "lab")))]
    #[error(
        "cannot run `{0}`: this build of seenit has no lab; build one with it from the sources: \
         cargo build --release -p seenit"
    )]
    NoLab(String),
    /// Exit 65: messages that teach nothing; 2 or 71: bins that cannot be made.
    #[error("{0}")]
    Words(#[from] WordsError),
    /// Exit 65: a file that is no model of words.
    #[error("{}: {error}", path.display())]
    WordsFile { path: PathBuf, error: WordsError },
    /// Exit 66, 65 where they are damaged, or 74 when reading broke off: messages that cannot be read. Exit 2: two of
    /// them from one pipe.
    #[error("{0}")]
    Mail(#[from] MailError),
    /// Exit 75, 76, 77 or 65: a server that does not answer, is none, or refuses.
    #[error("{0}")]
    Ask(#[from] AskError),
    /// Exit 2: a server that cannot be.
    #[error("--server {server}: {why}")]
    Server { server: String, why: String },
    /// Exit 65: a file or variable that holds no token.
    #[error(
        "cannot use the token in {}: it is empty or no token; `seenit account token` makes a new one",
        path.display()
    )]
    Token { path: PathBuf },
    /// Exit 65: a file that holds no authority.
    #[error("--ca {}: {why}", path.display())]
    Authority { path: PathBuf, why: String },
    /// Exit 78: a configuration that is wrong.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// Exit 77: a name that nobody has.
    #[error("{0}")]
    Unknown(String),
    /// Exit 2: an option that makes no sense.
    #[error("{0}")]
    Value(String),
    /// Exit 69, 78, 71 or 74: a server that does not start.
    #[error("{0}")]
    Start(#[from] StartError),
    /// Exit 69, 65, 71 or 74: a data folder that cannot be opened.
    #[error("{0}")]
    Ledger(#[from] OpenError),
    /// Exit 73: a folder or file that others may read, or that cannot be written.
    #[error("{0}")]
    Private(#[from] PrivateError),
    /// Exit 65: a file of the admin's that is damaged, or no file of the admin's.
    #[error("{}: {why}", path.display())]
    AdminFile { path: PathBuf, why: String },
    /// Exit 65: a line that is no introduction, or documents that cannot be signed.
    #[error("{0}")]
    Refused(String),
    /// Exit 75, 77 where it refuses, 66 for a file, 2 for an address that is none: the broker between sites.
    #[error("{0}")]
    Broker(#[from] BrokerError),
    /// Exit 66: an input that cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Input { path: PathBuf, error: io::Error },
    /// Exit 73: an output that cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Output { path: PathBuf, error: io::Error },
    /// Exit 74: reading or printing broke off.
    #[error("{what}: {error}")]
    Io { what: String, error: io::Error },
}

impl Problem {
    pub(crate) fn input(path: &Path) -> impl FnOnce(io::Error) -> Problem {
        let path = path.to_owned();
        move |error| Problem::Input { path, error }
    }

    pub(crate) fn output(path: &Path) -> impl FnOnce(io::Error) -> Problem {
        let path = path.to_owned();
        move |error| Problem::Output { path, error }
    }

    pub(crate) fn format(path: &Path) -> impl FnOnce(FormatError) -> Problem {
        let path = path.to_owned();
        move |error| Problem::Format { path, error }
    }

    /// A cut at a threshold every counting filter has: only its memory can be missing.
    pub(crate) fn cut(error: CutError) -> Problem {
        match error {
            CutError::Geometry(error) => Problem::Geometry(error),
            other => Problem::io("cut")(io::Error::other(other)),
        }
    }

    pub(crate) fn delta(path: &Path) -> impl FnOnce(DeltaError) -> Problem {
        let path = path.to_owned();
        move |error| Problem::Delta { path, error }
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Problem {
        let what = what.into();
        move |error| Problem::Io { what, error }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Problem::Format { error: FormatError::Geometry(GeometryError::Memory { .. }), .. } => {
                Exit::NoMemory
            }
            Problem::Format { .. } | Problem::Unlike { .. } | Problem::Key { .. } => Exit::Data,
            Problem::Delta { error: DeltaError::Geometry(GeometryError::Memory { .. }), .. } => {
                Exit::NoMemory
            }
            Problem::Delta {
                error: DeltaError::Format(FormatError::Geometry(GeometryError::Memory { .. })),
                ..
            } => Exit::NoMemory,
            Problem::Delta { .. } => Exit::Data,
            Problem::NoKeys(_) | Problem::KeyLength { .. } => Exit::Data,
            Problem::WordsFile { .. } => Exit::Data,
            Problem::Words(error) => words_code(error),
            Problem::Geometry(GeometryError::Memory { .. }) => Exit::NoMemory,
            Problem::Geometry(_) | Problem::NoMembers(_) | Problem::StdinTwice | Problem::Retouch(_) => {
                Exit::Usage
            }
            #[cfg(feature = "lab")]
            Problem::Lab(error) => lab_code(error),
            #[cfg(any(test, not(feature = "lab")))]
            Problem::NoLab(_) => Exit::Usage,
            Problem::Mail(error) => of_mail(error),
            Problem::Start(error) => start_code(error),
            Problem::Ledger(error) => open_code(error),
            Problem::Ask(error) => error.exit(),
            Problem::Server { .. } | Problem::Value(_) => Exit::Usage,
            Problem::Token { .. } | Problem::Authority { .. } => Exit::Data,
            Problem::Config(_) => Exit::Config,
            Problem::Unknown(_) => Exit::Refused,
            Problem::AdminFile { .. } | Problem::Refused(_) => Exit::Data,
            Problem::Broker(BrokerError::File { .. }) => Exit::NoInput,
            Problem::Broker(BrokerError::Address { .. }) => Exit::Usage,
            Problem::Broker(BrokerError::Refused(_)) => Exit::Refused,
            Problem::Broker(_) => Exit::TryLater,
            Problem::Input { error, .. } | Problem::Io { error, .. } if no_memory(error) => Exit::NoMemory,
            Problem::Input { .. } => Exit::NoInput,
            Problem::Output { .. } | Problem::Private(_) => Exit::NoOutput,
            Problem::Io { .. } => Exit::BrokenOff,
        }
    }
}

/// What to do about a filter file that is damaged.
fn remedy(error: &FormatError) -> &'static str {
    use FormatError::{HeaderDigest, Page, Table};
    match error {
        HeaderDigest | Table | Page(_) => "; copy it again or build it anew",
        _ => "",
    }
}

fn words_code(error: &WordsError) -> Exit {
    match error {
        WordsError::Filter(BinError::Geometry(GeometryError::Memory { .. })) => Exit::NoMemory,
        WordsError::Filter(_) | WordsError::Bins { .. } => Exit::Usage,
        _ => Exit::Data,
    }
}

#[cfg(feature = "lab")]
fn lab_code(error: &LabError) -> Exit {
    match error {
        LabError::Words(error) => words_code(error),
        LabError::Geometry(GeometryError::Memory { .. }) => Exit::NoMemory,
        LabError::File { error, .. } if no_memory(error) => Exit::NoMemory,
        LabError::File { .. } | LabError::Program { .. } => Exit::NoInput,
        LabError::Mail(error) => of_mail(error),
        LabError::Site { .. } => Exit::TryLater,
        LabError::Start(error) => start_code(error),
        _ => Exit::Usage,
    }
}

fn start_code(error: &StartError) -> Exit {
    match error {
        StartError::Ledger(error) => open_code(error),
        StartError::Config(_) | StartError::Tls(_) => Exit::Config,
        StartError::Busy { .. } | StartError::Listen { .. } => Exit::InUse,
        StartError::Private(error) => private_code(error),
        StartError::Accounts(AccountError::File(error)) | StartError::Secrets(SecretError::File(error)) => {
            private_code(error)
        }
        _ => Exit::NoMemory,
    }
}

fn private_code(error: &PrivateError) -> Exit {
    match error {
        PrivateError::Damaged { .. } => Exit::Data,
        _ => Exit::NoOutput,
    }
}

fn open_code(error: &OpenError) -> Exit {
    match error {
        OpenError::Locked(_) => Exit::InUse,
        OpenError::Private(_) => Exit::NoOutput,
        OpenError::Damaged { .. } | OpenError::JournalDamaged { .. } | OpenError::Rows(_) => Exit::Data,
        OpenError::NoIdentity(_) => Exit::Data,
        OpenError::NoDataFolder(_) | OpenError::NoBackup(_) => Exit::NoInput,
        OpenError::Geometry(_) => Exit::NoMemory,
        OpenError::File { error, .. } if error.kind() == io::ErrorKind::NotFound => Exit::NoInput,
        _ => Exit::BrokenOff,
    }
}

/// How a command ends that cannot read its messages.
pub(crate) fn of_mail(error: &MailError) -> Exit {
    match error {
        MailError::Open { error, .. } | MailError::Read { error, .. } if no_memory(error) => Exit::NoMemory,
        MailError::Open { .. } | MailError::Empty { .. } => Exit::NoInput,
        MailError::Index { .. } => Exit::Data,
        MailError::Read { error, .. } if is_damage(error) => Exit::Data,
        MailError::StdinTwice => Exit::Usage,
        _ => Exit::BrokenOff,
    }
}

/// Whether it is what was read that is wrong, and not the reading: archives that are cut, messages too large.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | Other | UnexpectedEof)
}

fn no_memory(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
}
