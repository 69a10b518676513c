//! From the bytes of a connection to requests.

use memchr::memmem;
use thiserror::Error;

use super::command::{Command, Malformed, Upload};
use super::sis;

/// Bytes in the longest line, which is a registration. The client reads no more of ours at once, and our answer has to
/// repeat the name and the password.
pub const LINE_BYTES_MAX: usize = 1024;

/// Queries in the longest batch, `bql` in the server's state: so many answers fit into [`super::ANSWER_BYTES_MAX`].
pub const BATCH_QUERIES_MAX: usize = 50;

/// Bytes in the longest batch of queries. A query is about 55 bytes, so this is three times what clients send.
pub const BATCH_BYTES_MAX: usize = 8 * 1024;

/// KiB in the longest mail, `bqs` in the server's state. Below 80 the client loops until it is out of memory; 128 is
/// what it has by default.
pub const MESSAGE_KIB_MAX: usize = 128;

/// Bytes in the longest mail, with the line that announces it and the line that ends it.
pub const MESSAGE_BYTES_MAX: usize = MESSAGE_KIB_MAX * 1024 + LINE_BYTES_MAX;

const LINE_END: &[u8] = b"\r\n";
const BATCH_END: &[u8] = b"\r\n.\r\n";

/// What a client sends before it waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// One query on a line.
    Query(Result<Command<'a>, Malformed>),
    /// Several queries, which need as many answers.
    Batch(QueryBatch<'a>),
    /// A reported mail, which needs one answer.
    Upload(Upload<'a>),
}

/// The queries of a batch, in their order: at least one, at most [`BATCH_QUERIES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryBatch<'a> {
    text: &'a [u8],
}

/// Why nothing more can be read from a connection. Close it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// A line without an end.
    #[error("a line of more than {LINE_BYTES_MAX} bytes")]
    Line,
    /// A batch without an end.
    #[error("a batch of more than {BATCH_BYTES_MAX} bytes")]
    BatchBytes,
    /// More queries than can be answered at once.
    #[error("a batch of {0} queries, where {BATCH_QUERIES_MAX} are allowed")]
    BatchQueries(usize),
    /// A mail that is too long.
    #[error("a mail of more than {MESSAGE_KIB_MAX} KiB")]
    Message,
    /// A mail from a client that may not send any.
    #[error("a mail that nobody asked for")]
    Unwanted,
}

/// How the request at the front of the buffer is framed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shape {
    /// Not a line of it is whole.
    #[default]
    Unknown,
    Batch,
    Message,
}

/// Reads requests from the bytes of one connection.
///
/// It holds at most [`LINE_BYTES_MAX`] bytes of a line, [`BATCH_BYTES_MAX`] of a batch and [`MESSAGE_BYTES_MAX`] of a
/// mail, and looks at no byte more than a few times however slowly they come.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Bytes at the front that were handed out.
    used: usize,
    /// Bytes behind them that were searched for an end in vain.
    searched: usize,
    shape: Shape,
    takes_messages: bool,
}

impl Decoder {
    /// For a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether mails are read. At first they are not: who has not proved an account has no business with 128 KiB of our
    /// memory.
    pub fn take_messages(&mut self, take: bool) {
        self.takes_messages = take;
    }

    /// Takes bytes that arrived, as many as there is room for, and says how many those are. Ask for requests with
    /// [`Decoder::next_request`] until there is none before the next bytes: then there is always room, or an error.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        self.forget_used();
        let room = MESSAGE_BYTES_MAX.saturating_sub(self.buffer.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.buffer.extend_from_slice(taken);
        taken.len()
    }

    /// The next request, or none before more bytes arrive. After an error there is nothing but that error.
    pub fn next_request(&mut self) -> Result<Option<Request<'_>>, DecodeError> {
        match self.pending().first() {
            None => {
                self.forget_used();
                Ok(None)
            }
            Some(b'-') => self.next_batch(),
            Some(_) => self.next_line(),
        }
    }

    /// Bytes of the request that is not whole yet.
    pub fn pending_bytes(&self) -> usize {
        self.pending().len()
    }

    fn forget_used(&mut self) {
        self.buffer.drain(..self.used);
        self.used = 0;
        if self.buffer.is_empty() {
            // The memory of a mail is not kept for a connection that may never send another.
            self.buffer.shrink_to(BATCH_BYTES_MAX);
        }
    }

    fn next_line(&mut self) -> Result<Option<Request<'_>>, DecodeError> {
        let end = self.search(LINE_END);
        self.check_line(end)?;
        Ok(end.map(|end| Request::Query(Command::read(self.hand_out(end, LINE_END)))))
    }

    fn next_batch(&mut self) -> Result<Option<Request<'_>>, DecodeError> {
        if self.shape == Shape::Unknown && !self.see_first_line()? {
            return Ok(None);
        }
        let end = self.search(BATCH_END);
        let bytes = end.unwrap_or(self.pending().len());
        let message = self.shape == Shape::Message;
        match message {
            true if bytes >= MESSAGE_BYTES_MAX => return Err(DecodeError::Message),
            false if bytes > BATCH_BYTES_MAX => return Err(DecodeError::BatchBytes),
            _ => {}
        }
        let Some(end) = end else {
            return Ok(None);
        };
        if !message {
            self.check_queries(end)?;
        }
        let text = self.hand_out(end, BATCH_END);
        Ok(Some(if message { upload(text) } else { Request::Batch(QueryBatch::of(text)) }))
    }

    /// Learns from the first line of a batch what the batch is. False if the line is not whole yet.
    fn see_first_line(&mut self) -> Result<bool, DecodeError> {
        let end = self.search(LINE_END);
        self.check_line(end)?;
        let Some(line) = end.and_then(|end| self.pending().get(..end)) else {
            return Ok(false);
        };
        let message = sis::announces_message(line);
        if message && !self.takes_messages {
            return Err(DecodeError::Unwanted);
        }
        self.shape = if message { Shape::Message } else { Shape::Batch };
        Ok(true)
    }

    /// Refuses a batch that ends at `end` but has too many lines. It stays pending: an error stays an error.
    fn check_queries(&self, end: usize) -> Result<(), DecodeError> {
        let queries = QueryBatch::of(self.pending().get(..end).unwrap_or_default()).len();
        if queries > BATCH_QUERIES_MAX { Err(DecodeError::BatchQueries(queries)) } else { Ok(()) }
    }

    /// Refuses a line that ends too late, or cannot end in time. One byte more may be half of its end.
    fn check_line(&self, end: Option<usize>) -> Result<(), DecodeError> {
        let bytes = end.unwrap_or(self.pending().len().saturating_sub(1));
        if bytes > LINE_BYTES_MAX { Err(DecodeError::Line) } else { Ok(()) }
    }

    fn pending(&self) -> &[u8] {
        self.buffer.get(self.used..).unwrap_or_default()
    }

    /// Where `needle` begins in what is pending. What was searched is not searched again.
    fn search(&mut self, needle: &[u8]) -> Option<usize> {
        // Its beginning may have been there.
        let from = self.searched.saturating_sub(needle.len() - 1);
        let pending = self.pending();
        let found = pending.get(from..).and_then(|rest| memmem::find(rest, needle)).map(|at| from + at);
        self.searched = found.unwrap_or(pending.len());
        found
    }

    /// Hands out the pending bytes before `end`, and forgets them and the end mark.
    fn hand_out(&mut self, end: usize, mark: &[u8]) -> &[u8] {
        let start = self.used;
        self.used = start + end + mark.len();
        self.searched = 0;
        self.shape = Shape::Unknown;
        self.buffer.get(start..start + end).unwrap_or_default()
    }
}

/// A message, behind the line that announces it.
fn upload(text: &[u8]) -> Request<'_> {
    let text = without_dash(text);
    let (first, message) = memmem::find(text, LINE_END)
        .and_then(|at| Some((text.get(..at)?, text.get(at + LINE_END.len()..)?)))
        .unwrap_or((text, b""));
    match sis::value(first, b"a") {
        Some(b"r") => Request::Upload(Upload::of(message)),
        // Nothing else comes with a message.
        other => {
            Request::Query(Err(Malformed::Action(String::from_utf8_lossy(other.unwrap_or_default()).into())))
        }
    }
}

/// The dash belongs to the frame, not to the first key.
fn without_dash(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"-").unwrap_or(text)
}

/// The lines of a text, without their ends.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memmem::find(text, LINE_END);
        rest = end.and_then(|end| text.get(end + LINE_END.len()..));
        text.get(..end.unwrap_or(text.len()))
    })
}

impl<'a> QueryBatch<'a> {
    fn of(framed: &'a [u8]) -> Self {
        Self { text: without_dash(framed) }
    }

    /// How many queries there are.
    #[expect(clippy::len_without_is_empty, reason = "no batch is empty")]
    pub fn len(&self) -> usize {
        lines(self.text).count()
    }

    /// The queries. Each needs an answer, also one that cannot be read.
    pub fn queries(&self) -> impl Iterator<Item = Result<Command<'a>, Malformed>> + use<'a> {
        lines(self.text).map(Command::read)
    }
}
