//! Asks and answers: how a site gets what it missed. Neither is signed: whatever an answer holds proves itself, by
//! what its site once signed, so it does not matter who gives it.

use thiserror::Error;

use crate::form::{self, Bytes, FormError, Tag};
use crate::message::{HEAD_BYTES, MESSAGE_BYTES_MAX, MessageError, StreamId};
use crate::number::Sequence;
use crate::roster::Roster;

pub(crate) const ASK: Tag = *b"seenit ask v1       ";
pub(crate) const ANSWER: Tag = *b"seenit answer v1    ";

/// The largest ask.
pub const ASK_BYTES_MAX: usize = 1000;

/// The largest answer: a message, and what stands around it.
pub const ANSWER_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 1000;

/// What is asked for. Kinds 2 and 3 were leaves and pages of cells, which travel no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Items of a stream.
    Range {
        /// Of which stream.
        id: StreamId,
        /// The last item that the asker has.
        after: Sequence,
    },
    /// No question: whoever receives this once signed this head, and goes on as if it had not.
    Said {
        /// The head.
        head: Vec<u8>,
    },
}

/// What is answered. Kinds 3 and 4 were leaves and pages of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A message, as its site signed it.
    Message(Vec<u8>),
    /// Items before `first` have expired, or were added up.
    Expired {
        /// Of which stream.
        id: StreamId,
        /// The first that is left.
        first: Sequence,
    },
}

/// Why something is no ask or no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AskError {
    /// Not even the form.
    #[error("no ask or answer: {0}")]
    Form(#[from] FormError),
    /// It names no stream.
    #[error("no ask or answer: {0}")]
    Stream(#[from] MessageError),
    /// Of a site that is no member.
    #[error("an ask or answer of a site that is not in the roster")]
    NoMember,
    /// A kind that this program does not know.
    #[error("an ask or answer of kind {0}")]
    Kind(u8),
}

impl Ask {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = ASK.to_vec();
        match self {
            Ask::Range { id, after } => named(&mut out, 1, id, *after),
            Ask::Said { head } => {
                out.push(4);
                out.extend(head);
            }
        }
        out
    }

    /// Reads an ask about a member of this roster.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, AskError> {
        form::at_most(bytes, ASK_BYTES_MAX)?;
        let mut rest = Bytes(bytes);
        rest.tag(&ASK)?;
        let ask = match rest.u8()? {
            1 => Ask::Range { id: stream(&mut rest, roster)?, after: Sequence(rest.u64()?) },
            4 => Ask::Said { head: rest.run(HEAD_BYTES)?.to_vec() },
            other => return Err(AskError::Kind(other)),
        };
        rest.end()?;
        Ok(ask)
    }
}

impl Answer {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = ANSWER.to_vec();
        match self {
            Answer::Message(message) => {
                out.push(1);
                out.extend(message);
            }
            Answer::Expired { id, first } => named(&mut out, 2, id, *first),
        }
        out
    }

    /// Reads an answer. What it holds is not believed by that.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, AskError> {
        form::at_most(bytes, ANSWER_BYTES_MAX)?;
        let mut rest = Bytes(bytes);
        rest.tag(&ANSWER)?;
        match rest.u8()? {
            1 => Ok(Answer::Message(rest.0.to_vec())),
            2 => {
                let answer = Answer::Expired { id: stream(&mut rest, roster)?, first: Sequence(rest.u64()?) };
                rest.end()?;
                Ok(answer)
            }
            other => Err(AskError::Kind(other)),
        }
    }
}

fn named(out: &mut Vec<u8>, kind: u8, id: &StreamId, sequence: Sequence) {
    out.push(kind);
    id.encode(out);
    out.extend(sequence.0.to_le_bytes());
}

fn stream(rest: &mut Bytes<'_>, roster: &Roster) -> Result<StreamId, AskError> {
    StreamId::decode(rest, roster)?.ok_or(AskError::NoMember)
}
