//! Signatures are checked before the link hears a message, on any thread: they are most of the work of catching up.

use std::sync::Arc;

use seenit_sites::message::{Head, Message};
use seenit_sites::roster::Roster;
use seenit_sites::{Arrival, FormatError};

use crate::link::Link;

/// Checks messages against the roster that the link had when this was made.
#[derive(Clone, Debug)]
pub struct Checker(Option<Arc<Roster>>);

/// Bytes that arrived, and what a [`Checker`] found if they are a message.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    pub(crate) bytes: &'a [u8],
    found: Option<(Arc<Roster>, Result<Head, FormatError>)>,
}

impl Checker {
    /// Checks bytes in full if they are a message. Everything else is left for the link to check.
    pub fn check<'a>(&self, bytes: &'a [u8]) -> Checked<'a> {
        let roster = self.0.as_ref().filter(|_| Arrival::of(bytes) == Some(Arrival::Message));
        Checked { bytes, found: roster.map(|roster| (Arc::clone(roster), decoded(bytes, roster))) }
    }
}

impl<'a> Checked<'a> {
    /// Bytes that nobody has checked yet.
    pub(crate) fn not_yet(bytes: &'a [u8]) -> Self {
        Checked { bytes, found: None }
    }

    /// The head of the message, by this roster. What was found by another roster is not believed.
    pub(crate) fn head(self, roster: &Arc<Roster>) -> Result<Head, FormatError> {
        match self.found {
            Some((found_by, found)) if Arc::ptr_eq(&found_by, roster) => found,
            _ => decoded(self.bytes, roster),
        }
    }
}

fn decoded(bytes: &[u8], roster: &Roster) -> Result<Head, FormatError> {
    Message::decode(bytes, roster).map(|message| message.head)
}

impl Link {
    /// What checks messages on other threads, until the roster changes.
    pub fn checker(&self) -> Checker {
        Checker(self.documents.roster.clone())
    }
}
