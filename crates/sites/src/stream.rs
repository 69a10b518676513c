//! Streams: what a site publishes, each with a sequence of its own.

use crate::error::{FormatError, number};
use crate::form::{Field, Reader, form};
use crate::key::SiteKey;
use crate::number::{Generation, Incarnation};

/// What is published, each with a sequence of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// The log of records.
    Records,
    /// Own sightings of a generation.
    Sightings {
        /// The generation.
        generation: Generation,
    },
}

/// A stream of one incarnation of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    /// Whose.
    pub site: SiteKey,
    /// The incarnation of its data folder.
    pub incarnation: Incarnation,
    /// Records, or sightings of a generation.
    pub stream: Stream,
}

form!(StreamId { site, incarnation, stream });

impl Stream {
    /// Its number in bytes and in keys of rows. 2 was cells of seen counts, which travel no more.
    pub fn code(self) -> u8 {
        match self {
            Stream::Records => 1,
            Stream::Sightings { .. } => 3,
        }
    }

    /// The generation that it is of; records have none.
    pub fn generation(self) -> Option<Generation> {
        match self {
            Stream::Records => None,
            Stream::Sightings { generation } => Some(generation),
        }
    }

    /// The stream of a code and a generation, 0 where there is none.
    pub fn of_code(code: u8, generation: Generation) -> Result<Self, FormatError> {
        match (code, generation) {
            (1, Generation(0)) => Ok(Stream::Records),
            (1, Generation(found)) => Err(number("records of generation", found, "records have none")),
            (3, generation) => Ok(Stream::Sightings { generation }),
            (code, _) => Err(number("stream", code.into(), "there are 1, records, and 3, sightings")),
        }
    }
}

impl Field for Stream {
    fn write(&self, out: &mut Vec<u8>) {
        self.code().write(out);
        self.generation().unwrap_or_default().write(out);
    }

    fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError> {
        let code = rest.get()?;
        Stream::of_code(code, rest.get()?)
    }
}
