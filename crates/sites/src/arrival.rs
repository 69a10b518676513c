//! What bytes claim to be, by the tag that they begin with.

use crate::form::Tag;
use crate::{ask, beat, manifest, message, roster, snapshot};

/// What can arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Records or gains, or a heartbeat.
    Message,
    /// A sign of life.
    Beat,
    /// A question.
    Ask,
    /// An answer.
    Answer,
    /// The roster.
    Roster,
    /// A manifest.
    Manifest,
    /// The manifest of a snapshot.
    Snapshot,
}

impl Arrival {
    /// What these bytes claim to be.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        const TAGS: [(&Tag, Arrival); 7] = [
            (&message::TAG, Arrival::Message),
            (&beat::TAG, Arrival::Beat),
            (&ask::ASK, Arrival::Ask),
            (&ask::ANSWER, Arrival::Answer),
            (&roster::TAG, Arrival::Roster),
            (&manifest::TAG, Arrival::Manifest),
            (&snapshot::TAG, Arrival::Snapshot),
        ];
        TAGS.iter().find(|(tag, _)| bytes.starts_with(*tag)).map(|(_, arrival)| *arrival)
    }
}
