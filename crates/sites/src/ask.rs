//! Asks and answers: how a site gets what it missed. Neither is signed: whatever an answer holds proves itself, by
//! what its site once signed, so it does not matter who gives it.

use crate::error::{FormatError, number};
use crate::form::{Field, Reader, Tag};
use crate::message::{HEAD_BYTES, MESSAGE_BYTES_MAX, StreamId};
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

/// What is answered to an ask. Kinds 3 and 4 were leaves and pages of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskAnswer {
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

impl Ask {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Ask::Range { id, after } => tagged(ASK, 1, id, *after),
            Ask::Said { head } => [ASK.as_slice(), &[4], head].concat(),
        }
    }

    /// Reads an ask about a member of this roster.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, FormatError> {
        let mut rest = Reader::new(bytes, &ASK, ASK_BYTES_MAX)?.of_members(roster);
        let ask = match rest.get()? {
            1_u8 => Ask::Range { id: rest.get()?, after: rest.get()? },
            4 => Ask::Said { head: rest.run(HEAD_BYTES)?.to_vec() },
            other => return Err(number("ask of kind", other.into(), "there are 1 and 4")),
        };
        rest.end()?;
        Ok(ask)
    }
}

impl AskAnswer {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            AskAnswer::Message(message) => [ANSWER.as_slice(), &[1], message].concat(),
            AskAnswer::Expired { id, first } => tagged(ANSWER, 2, id, *first),
        }
    }

    /// Reads an answer. What it holds is not believed by that.
    pub fn decode(bytes: &[u8], roster: &Roster) -> Result<Self, FormatError> {
        let mut rest = Reader::new(bytes, &ANSWER, ANSWER_BYTES_MAX)?.of_members(roster);
        match rest.get()? {
            1_u8 => Ok(AskAnswer::Message(rest.rest().to_vec())),
            2 => {
                let answer = AskAnswer::Expired { id: rest.get()?, first: rest.get()? };
                rest.end()?;
                Ok(answer)
            }
            other => Err(number("answer of kind", other.into(), "there are 1 and 2")),
        }
    }
}

fn tagged(tag: Tag, kind: u8, id: &StreamId, sequence: Sequence) -> Vec<u8> {
    let mut out = tag.to_vec();
    kind.write(&mut out);
    id.write(&mut out);
    sequence.write(&mut out);
    out
}
