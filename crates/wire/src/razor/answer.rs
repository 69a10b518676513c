//! What a server says. Lines end in a carriage return and a line feed: with less the client misreads a batch.

use thiserror::Error;

use super::command::Servers;
use super::decoder::{BATCH_QUERIES_MAX, MESSAGE_KIB_MAX};
use super::sis::write_escaped;

/// Bytes in the longest answer: the client reads once, and no more than this.
pub const ANSWER_BYTES_MAX: usize = 1024;

/// The engine whose signatures a report sends first. With 1 clients cannot report, and 8 they send wrong.
const REPORT_ENGINE: u64 = 4;

/// Engines 4 and 8, as bits 3 and 7 in hex.
const ENGINES: &str = "88";

/// The answer to one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RazorAnswer<'a> {
    /// To a check: not spam. It says no confidence, because SpamAssassin would take that for a hit.
    Unlisted,
    /// To a check: spam, if the confidence is enough for the client.
    Listed(Listing),
    /// To a report, a revocation or a proof of identity: yes.
    Accepted,
    /// To the same: no.
    Rejected,
    /// To a client that named its account: what to prove it with. It must be neither empty nor `0`.
    Challenge(&'a str),
    /// To a client that wants an account: this is yours.
    Registered {
        /// The name. The client makes it a part of a file's name.
        user: &'a [u8],
        /// The password.
        password: &'a [u8],
    },
    /// To anything: it did not work, or more is needed.
    Error(ErrorCode),
}

/// How sure a server is that a signature is spam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// 0 to 100; more counts as 100. Clients compare it with the server's average.
    pub confidence: u8,
    /// Whether somebody says otherwise. Of the answers for a part of a mail only the last one's counts.
    pub contested: bool,
}

/// Why something did not work. The client gives a meaning of its own to three of them and prints the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The query cannot be read, or asks for what we do not know.
    Malformed = 202,
    /// There is a user of that name already: the client tries to prove that it is that user.
    UserExists = 210,
    /// The user or the password is wrong, or nothing was proved.
    NotAuthenticated = 212,
    /// There is no such user: the client registers, and tries again.
    UnknownUser = 213,
    /// The user may not do this.
    Forbidden = 214,
    /// Not refused, but send the whole mail.
    SendMail = 230,
    /// The server cannot do what it should.
    Internal = 500,
    /// This client asks too often.
    TooMany = 503,
}

/// The settings of a server, as far as they are not fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSettings<'a> {
    /// The confidence from which on clients call it spam, 0 to 100.
    pub average_confidence: u8,
    /// The parameters of engine 4. Clients take a change only with a higher revision.
    pub ep4: &'a str,
    /// The revision of these settings.
    pub revision: u32,
}

/// An answer of which the client would lose the end. Nothing was written.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("an answer of {bytes} bytes, of which a client would read {ANSWER_BYTES_MAX}")]
pub struct AnswerTooLong {
    /// Its length.
    pub bytes: usize,
}

/// Appends the line that greets a client. After `a=cg` the client says what it is.
pub fn write_greeting(state: &ServerSettings<'_>, out: &mut Vec<u8>) -> Result<(), AnswerTooLong> {
    bounded(out, |out| {
        out.extend_from_slice(b"sn=C&");
        number("srl", u64::from(state.revision), out);
        out.extend_from_slice(b"&a=l&a=cg&");
        pair("ep4", state.ep4.as_bytes(), out);
        end_line(out);
    })
}

/// Appends the answer to a query that asks for the settings.
pub fn write_state(state: &ServerSettings<'_>, out: &mut Vec<u8>) -> Result<(), AnswerTooLong> {
    bounded(out, |out| {
        out.push(b'-');
        for (key, value) in [
            ("ac", u64::from(state.average_confidence.min(100))),
            ("bql", BATCH_QUERIES_MAX as u64),
            ("bqs", MESSAGE_KIB_MAX as u64),
            ("dre", REPORT_ENGINE),
        ] {
            number(key, value, out);
            end_line(out);
        }
        for (key, value) in [("ep4", state.ep4), ("se", ENGINES)] {
            pair(key, value.as_bytes(), out);
            end_line(out);
        }
        number("srl", u64::from(state.revision), out);
        end_line(out);
        end_batch(out);
    })
}

/// Appends the answer to a query that asks for servers, each as `host` or `host:port`. A client takes only those with a
/// dot in them. If it knows fewer than two, it asks again whenever it is run.
pub fn write_servers(kind: Servers, servers: &[&str], out: &mut Vec<u8>) -> Result<(), AnswerTooLong> {
    let key = match kind {
        Servers::Catalogue => "csl",
        Servers::Nomination => "nsl",
    };
    bounded(out, |out| {
        out.push(b'-');
        for server in servers {
            pair(key, server.as_bytes(), out);
            end_line(out);
        }
        end_batch(out);
    })
}

/// Appends the answer to a single query, or to a mail.
pub fn write_line(answer: &RazorAnswer<'_>, out: &mut Vec<u8>) -> Result<(), AnswerTooLong> {
    bounded(out, |out| answer.write(out))
}

/// Appends the answers to a batch. There must be as many as there were queries: with more the client fails, with fewer
/// it takes the rest for "not spam".
pub fn write_batch<'a>(
    answers: impl IntoIterator<Item = RazorAnswer<'a>>,
    out: &mut Vec<u8>,
) -> Result<(), AnswerTooLong> {
    bounded(out, |out| {
        out.push(b'-');
        for answer in answers {
            answer.write(out);
        }
        end_batch(out);
    })
}

impl RazorAnswer<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Unlisted => number("p", 0, out),
            Self::Listed(listing) => listing.write(out),
            Self::Accepted => number("res", 1, out),
            Self::Rejected => number("res", 0, out),
            Self::Challenge(text) => pair("achal", text.as_bytes(), out),
            Self::Registered { user, password } => {
                pair("pass", password, out);
                out.extend_from_slice(b"&res=1&");
                pair("user", user, out);
            }
            Self::Error(code) => number("err", *code as u64, out),
        }
        end_line(out);
    }
}

impl Listing {
    fn write(self, out: &mut Vec<u8>) {
        number("cf", u64::from(self.confidence.min(100)), out);
        out.extend_from_slice(if self.contested { b"&ct=1&p=1" } else { b"&p=1" });
    }
}

/// Keeps what `write` appends, unless a client would lose the end of it.
fn bounded(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), AnswerTooLong> {
    let before = out.len();
    write(out);
    let bytes = out.len() - before;
    if bytes > ANSWER_BYTES_MAX {
        out.truncate(before);
        return Err(AnswerTooLong { bytes });
    }
    Ok(())
}

/// Appends a pair whose value is a number.
pub(super) fn number(key: &str, value: u64, out: &mut Vec<u8>) {
    pair(key, itoa::Buffer::new().format(value).as_bytes(), out);
}

/// Appends a pair.
pub(super) fn pair(key: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    write_escaped(value, out);
}

/// Ends a line.
pub(super) fn end_line(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Ends a batch, behind a line.
pub(super) fn end_batch(out: &mut Vec<u8>) {
    out.extend_from_slice(b".\r\n");
}
