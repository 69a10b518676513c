//! What can go wrong with the journal, in plain words, and reading what it may have wrong.

use std::path::Path;

use seenit_filter::GeometryError;
use seenit_filter::sightings::SightingsError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Cause, OpenError};
use crate::record::{Record, RecordError};

/// What the store says when it fails, or rows that make no sense.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error("{}", plain(.0))]
    Store(#[from] fjall::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{of}: {error}")]
    Json {
        of: &'static str,
        #[source]
        error: serde_json::Error,
    },
    #[error("record {number}: {error}")]
    Record {
        number: u64,
        #[source]
        error: RecordError,
    },
    #[error("{0}")]
    Rows(#[source] Cause),
}

impl JournalError {
    pub(crate) fn rows(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        JournalError::Rows(Cause::new(error))
    }
}

/// Sightings that cannot be read, or not be added up.
impl From<SightingsError> for JournalError {
    fn from(error: SightingsError) -> Self {
        JournalError::rows(error)
    }
}

/// There is no memory for what it says.
impl From<GeometryError> for JournalError {
    fn from(error: GeometryError) -> Self {
        JournalError::rows(error)
    }
}

/// What the store says, without its own words where the system has said it.
fn plain(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(error) => error.to_string(),
        fjall::Error::Poisoned => "an earlier write failed".into(),
        other => other.to_string(),
    }
}

pub(super) fn open_error(path: &Path, error: fjall::Error) -> OpenError {
    use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    let path = path.to_owned();
    match error {
        fjall::Error::Io(why) if matches!(why.kind(), InvalidData | NotFound | UnexpectedEof) => {
            OpenError::JournalDamaged { path, why: Cause::new(why) }
        }
        fjall::Error::Io(_) | fjall::Error::Locked => OpenError::Journal { path, error },
        damage => OpenError::JournalDamaged { path, why: Cause::new(damage) },
    }
}

pub(super) fn record_of(number: u64, bytes: &[u8]) -> Result<Record, JournalError> {
    Record::decode(bytes).map_err(|error| JournalError::Record { number, error })
}

pub(super) fn from_json<T: DeserializeOwned>(of: &'static str, json: &[u8]) -> Result<T, JournalError> {
    serde_json::from_slice(json).map_err(|error| JournalError::Json { of, error })
}

pub(super) fn to_json(of: &'static str, value: &impl Serialize) -> Result<Vec<u8>, JournalError> {
    serde_json::to_vec(value).map_err(|error| JournalError::Json { of, error })
}

pub(super) fn odd_row() -> JournalError {
    JournalError::Rows("a row of another shape than this program writes".into())
}
