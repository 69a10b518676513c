//! How far the engine's streams were read, so that a start need not begin at their beginning. It may lag: what is read
//! twice changes nothing.

use crate::action::Kind;
use crate::journal::{Batch, Journal, JournalError};
use crate::link::Link;
use crate::rows;

/// How often places are journalled.
const SAVE_MILLIS: u64 = 2_000;

/// A place in a stream of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What tells the stream from one that was made anew under its name: when it was made.
    pub born: u64,
    /// The last message that was read.
    pub sequence: u64,
}

/// The places of both kinds, and what is journalled of them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    now: [Place; 2],
    saved: [Place; 2],
    saved_at: u64,
}

const KINDS: [Kind; 2] = [Kind::Records, Kind::Seen];

impl Places {
    pub(crate) fn open<J: Journal>(journal: &J) -> Result<Self, JournalError> {
        let mut now = [Place::default(); 2];
        for (kind, place) in KINDS.into_iter().zip(&mut now) {
            let row = journal.row(&rows::place(kind))?.unwrap_or_default();
            if let Ok(bytes) = <[u8; 16]>::try_from(row.as_slice()) {
                let both = u128::from_be_bytes(bytes);
                *place = Place { born: (both >> 64) as u64, sequence: both as u64 };
            }
        }
        Ok(Places { now, saved: now, saved_at: 0 })
    }
}

impl<J: Journal> Link<J> {
    /// Where reading a stream of the engine goes on.
    pub fn place(&self, kind: Kind) -> Place {
        self.places.now[kind as usize]
    }

    /// Everything up to here was given to [`hear`](Self::hear).
    pub fn set_place(&mut self, kind: Kind, place: Place) {
        self.places.now[kind as usize] = place;
    }

    pub(crate) fn save_places(&mut self) -> Result<(), JournalError> {
        if self.places.now == self.places.saved || self.now < self.places.saved_at + SAVE_MILLIS {
            return Ok(());
        }
        self.places.saved_at = self.now;
        let row = |(kind, place): (Kind, Place)| {
            let both = u128::from(place.born) << 64 | u128::from(place.sequence);
            (rows::place(kind), Some(both.to_be_bytes().to_vec()))
        };
        let rows = KINDS.into_iter().zip(self.places.now).map(row).collect();
        self.journal.commit(Batch { rows, heard: Vec::new() })?;
        self.places.saved = self.places.now;
        Ok(())
    }
}
