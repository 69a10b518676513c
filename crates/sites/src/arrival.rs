//! What bytes claim to be, by the tag that they begin with.

use crate::form::Tag;
use crate::{ask, heartbeat, manifest, message, roster, snapshot};

/// What can arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Records or sightings, or a head alone.
    Message,
    /// A heartbeat.
    Heartbeat,
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
        const TAGS: [(&Tag, Arrival); 8] = [
            (&message::TAG, Arrival::Message),
            (&heartbeat::TAG, Arrival::Heartbeat),
            (&ask::ASK, Arrival::Ask),
            (&ask::ANSWER, Arrival::Answer),
            (&roster::TAG, Arrival::Roster),
            (&manifest::TAG, Arrival::Manifest),
            (&manifest::TAG_V1, Arrival::Manifest),
            (&snapshot::TAG, Arrival::Snapshot),
        ];
        TAGS.iter().find(|(tag, _)| bytes.starts_with(*tag)).map(|(_, arrival)| *arrival)
    }
}
