//! Why messages could not be read.

use std::io;
use std::path::{Path, PathBuf};

/// Why messages could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MailError {
    /// A file or folder that cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Reading broke off: a damaged archive, a message too large, a disk that fails.
    #[error("{name}: {error}")]
    Read {
        /// The file, and the one inside where it is an archive.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// A folder that was named, with no file in it that could be mail.
    #[error("{}: {}", path.display(), self.why())]
    Empty {
        /// Which.
        path: PathBuf,
        /// A folder in it that is not searched because of its name.
        hidden: Option<PathBuf>,
    },
    /// Standard input was named more than once, but can be read only once.
    #[error("standard input (-) was named more than once, but can be read only once")]
    StdinTwice,
    /// An index of a corpus that is not one.
    #[error("{}: line {line}: {why}", path.display())]
    Index {
        /// Which.
        path: PathBuf,
        /// The line, counted from one.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

impl MailError {
    /// What the system said of the file, where there is one: the same sentence without its name.
    pub fn why(&self) -> String {
        match self {
            MailError::Open { error, .. } => format!("cannot open it: {error}"),
            MailError::Read { error, .. } => format!("cannot read it: {error}"),
            MailError::Empty { hidden: None, .. } => "there is no message in it".into(),
            MailError::Empty { hidden: Some(folder), .. } => format!(
                "there is no message in it (folders whose names begin with a dot are not searched: name them, e.g. {})",
                folder.display()
            ),
            MailError::StdinTwice | MailError::Index { .. } => self.to_string(),
        }
    }

    pub(crate) fn open(path: &Path) -> impl Fn(io::Error) -> MailError {
        move |error| MailError::Open { path: path.to_owned(), error }
    }

    pub(crate) fn read(name: &str) -> impl Fn(io::Error) -> MailError {
        move |error| MailError::Read { name: name.to_owned(), error }
    }
}
