//! What every experiment is given, and how it may fail.

use std::io;
use std::path::{Path, PathBuf};

use seenit_filter::delta::DeltaError;
use seenit_filter::{BinError, ChoiceError, GeometryError, RetouchError};
use seenit_mailbox::MailError;
use seenit_server::StartError;
use seenit_words::WordsError;

/// The seed when nobody names one.
pub const DEFAULT_SEED: u64 = 2006;

/// Where the corpus lies beside a checkout, and what names another place.
const CORPUS_BESIDE: &str = "../shared/corpus";
const CORPUS_VARIABLE: &str = "SEENIT_CORPUS";

/// What every experiment is given.
pub struct Bench<'a> {
    /// Everything random follows from it.
    pub seed: u64,
    /// How often to repeat, where an experiment repeats: rounds, runs, repetitions. Each has a default of its own.
    pub rounds: Option<u32>,
    /// A folder with the shared corpus of real mail, for experiments that can use it.
    pub corpus: Option<PathBuf>,
    /// A small version of the experiment, for tests: the same code, fewer rounds, coarser grids.
    pub quick: bool,
    /// Who hears how far the work is.
    pub progress: &'a dyn Progress,
}

impl<'a> Bench<'a> {
    /// The usual one.
    pub fn new(progress: &'a dyn Progress) -> Self {
        Bench { seed: DEFAULT_SEED, rounds: None, corpus: None, quick: false, progress }
    }

    /// The rounds asked for, or `full`, or `quick` where the small version is asked for.
    pub fn rounds_or(&self, full: u32, quick: u32) -> u32 {
        self.rounds.unwrap_or(self.choose(full, quick)).max(1)
    }

    /// `full`, or `quick` where the small version is asked for.
    pub fn choose<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The folder of the corpus, for experiments that cannot do without: the one that was given, else that of the
    /// variable `SEENIT_CORPUS`, else `../shared/corpus`.
    pub fn corpus_folder(&self) -> Result<PathBuf, LabError> {
        let beside = || Path::new(CORPUS_BESIDE).join("index.tsv").is_file().then(|| CORPUS_BESIDE.into());
        let folder = self.corpus.clone().or_else(|| std::env::var_os(CORPUS_VARIABLE).map(PathBuf::from));
        folder.or_else(beside).ok_or_else(|| LabError::Option {
            option: "--corpus",
            value: "(not given)".into(),
            why: "give the folder of a corpus: index.tsv and its messages",
        })
    }
}

/// Hears how far the work is, from any thread.
pub trait Progress: Sync {
    /// Now come so many units of `what`; what came before is over.
    fn begin(&self, what: &str, units: u64);

    /// So many units more are done.
    fn advance(&self, units: u64);
}

/// Nobody listens.
impl Progress for () {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// Why an experiment stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A filter that cannot be made, most likely for want of memory.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// Retouching that cannot be done.
    #[error(transparent)]
    Retouch(#[from] RetouchError),
    /// Bins that cannot be cut.
    #[error(transparent)]
    Bins(#[from] BinError),
    /// Split storage that cannot be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// A delta that cannot be made or applied.
    #[error(transparent)]
    Delta(#[from] DeltaError),
    /// Messages of the corpus that cannot be read.
    #[error(transparent)]
    Mail(#[from] MailError),
    /// Words that cannot be trained.
    #[error(transparent)]
    Words(#[from] WordsError),
    /// A server that does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A server that does not do what it was asked.
    #[error("the experiment's own server, {path}: {why}")]
    Site {
        /// What was asked.
        path: String,
        /// What it answered, or why it did not.
        why: String,
    },
    /// Another program that an experiment needs.
    #[error("{program} cannot be run: {why}; it is in the Debian package {package}")]
    Program {
        /// What is missing.
        program: &'static str,
        /// Where it is found.
        package: &'static str,
        /// What the system, or the program, said.
        why: String,
    },
    /// An option out of its range.
    #[error("{option} {value}: {why}")]
    Option {
        /// As it is typed.
        option: &'static str,
        /// What was given.
        value: String,
        /// What would be right.
        why: &'static str,
    },
    /// A file of the corpus, or of the experiment's own, that cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}
