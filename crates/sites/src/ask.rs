//! Asks and answers: how a site gets what it missed. Neither is signed: whatever an answer holds proves itself, by
//! what its site once signed, so it does not matter who gives it.

use thiserror::Error;

use crate::beat::StreamId;
use crate::form::{self, Bytes, FormError, Tag};
use crate::list;
use crate::message::{HEAD_BYTES, MESSAGE_BYTES_MAX, MessageError};
use crate::root::{Branch, Path, PathError};
use crate::roster::Roster;

pub(crate) const ASK: Tag = *b"seenit ask v1       ";
pub(crate) const ANSWER: Tag = *b"seenit answer v1    ";

/// The most pages asked for at once: with four thousand cells each, and few of them above 127, half a message.
pub const PAGES_ASKED_MAX: usize = 32;

/// The largest ask.
pub const ASK_BYTES_MAX: usize = 1000;

/// The largest answer: a message, and what stands around it.
pub const ANSWER_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 1000;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The records after a sequence.
    Records {
        /// Of which log.
        id: StreamId,
        /// The last one that is there.
        after: u64,
    },
    /// The leaves of the branch that a page is on.
    Leaves {
        /// Of which cells.
        id: StreamId,
        /// The page.
        page: u64,
    },
    /// Pages.
    Pages {
        /// Of which cells.
        id: StreamId,
        /// At most [`PAGES_ASKED_MAX`].
        pages: Vec<u64>,
    },
    /// No question: the one who is told once signed this head, and goes on as if it had not.
    Said {
        /// The head.
        head: Vec<u8>,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A message, as its site signed it.
    Message(Vec<u8>),
    /// Records before `first` have expired.
    Expired {
        /// Of which log.
        id: StreamId,
        /// The first that is left.
        first: u64,
    },
    /// Leaves, and the signed head whose root they lead to.
    Leaves {
        /// The head.
        head: Vec<u8>,
        /// The branch.
        branch: Branch,
    },
    /// Pages, and the signed head whose root they lead to.
    Pages {
        /// The head.
        head: Vec<u8>,
        /// Each with its path.
        pages: Vec<(Path, Vec<u8>)>,
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
    /// A path or branch that is none.
    #[error("no answer: {0}")]
    Path(#[from] PathError),
    /// A kind that this program does not know.
    #[error("an ask or answer of kind {0}")]
    Kind(u8),
    /// Too many pages at once.
    #[error("{0} pages asked for at once: there may be {PAGES_ASKED_MAX}")]
    Pages(usize),
}

impl Ask {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = ASK.to_vec();
        let named = |out: &mut Vec<u8>, kind: u8, id: &StreamId, number: u64| {
            out.push(kind);
            id.encode(out);
            out.extend(number.to_le_bytes());
        };
        match self {
            Ask::Records { id, after } => named(&mut out, 1, id, *after),
            Ask::Leaves { id, page } => named(&mut out, 2, id, *page),
            Ask::Pages { id, pages } => {
                named(&mut out, 3, id, pages.len() as u64);
                pages.iter().for_each(|page| out.extend(page.to_le_bytes()));
            }
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
        let kind = rest.u8()?;
        let ask = match kind {
            1 => Ask::Records { id: stream(&mut rest, roster)?, after: rest.u64()? },
            2 => Ask::Leaves { id: stream(&mut rest, roster)?, page: rest.u64()? },
            3 => {
                let id = stream(&mut rest, roster)?;
                let count = usize::try_from(rest.u64()?).unwrap_or(usize::MAX);
                if count > PAGES_ASKED_MAX {
                    return Err(AskError::Pages(count));
                }
                Ask::Pages { id, pages: (0..count).map(|_| rest.u64()).collect::<Result<_, _>>()? }
            }
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
            Answer::Expired { id, first } => {
                out.push(2);
                id.encode(&mut out);
                out.extend(first.to_le_bytes());
            }
            Answer::Leaves { head, branch } => {
                out.push(3);
                out.extend(head);
                branch.encode(&mut out);
            }
            Answer::Pages { head, pages } => {
                out.push(4);
                out.extend(head);
                out.extend((pages.len() as u16).to_le_bytes());
                for (path, page) in pages {
                    let mut bytes = Vec::new();
                    path.encode(&mut bytes);
                    list::push(&mut out, &bytes);
                    list::push(&mut out, page);
                }
            }
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
                let answer = Answer::Expired { id: stream(&mut rest, roster)?, first: rest.u64()? };
                rest.end()?;
                Ok(answer)
            }
            3 => {
                let head = rest.run(HEAD_BYTES)?.to_vec();
                Ok(Answer::Leaves { head, branch: Branch::decode(rest.0)? })
            }
            4 => {
                let head = rest.run(HEAD_BYTES)?.to_vec();
                let count = usize::from(rest.u16()?);
                if count > PAGES_ASKED_MAX {
                    return Err(AskError::Pages(count));
                }
                let items = list::items(rest.0, 2 * count as u64)?;
                let page = |pair: &[&[u8]]| match pair {
                    [path, page] => Ok((Path::decode(path)?, page.to_vec())),
                    _ => Err(FormError::Cut.into()),
                };
                let pages = items.chunks(2).map(page).collect::<Result<_, AskError>>()?;
                Ok(Answer::Pages { head, pages })
            }
            other => Err(AskError::Kind(other)),
        }
    }
}

fn stream(rest: &mut Bytes<'_>, roster: &Roster) -> Result<StreamId, AskError> {
    StreamId::decode(rest, roster)?.ok_or(AskError::NoMember)
}
