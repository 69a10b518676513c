//! The client's side: what it asks, and what an answer says.

use std::borrow::Cow;

use super::answer::{end_batch, end_line, number, pair};
use super::command::{Query, Signature};
use super::{Listing, sis};

/// What asks: its name and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// A request. Keys are in the order of their letters, as the client has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask<'a> {
    /// What asks. There is no answer.
    Program(Program<'a>),
    /// Is this signature listed?
    Check(Query<'a>),
    /// This signature is spam.
    Report(Query<'a>),
    /// This mail is spam: what a server asks for after [`Ask::Report`].
    Upload {
        /// Its header: lines that end in a line feed.
        header: &'a [u8],
        /// Its parts: a header, an empty line and a body each. Their lines end in a line feed, too.
        parts: &'a [&'a [u8]],
    },
    /// This signature is not spam.
    Revoke(Signature),
    /// The account, to be given a challenge.
    Identify(Program<'a>, &'a str),
    /// The answer to the challenge: see [`super::response`].
    Authenticate(&'a str),
    /// The end. There is no answer.
    Quit,
}

impl Ask<'_> {
    /// Appends the request.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Program(program) => program.write(out),
            Self::Check(query) => write_query("c", query, out),
            Self::Report(query) => write_query("r", query, out),
            Self::Upload { header, parts } => return write_upload(header, parts, out),
            Self::Revoke(signature) => {
                write_query("revoke", &Query { signature: *signature, ep4: None }, out);
            }
            Self::Identify(program, user) => {
                out.extend_from_slice(b"a=ai&");
                program.write(out);
                out.push(b'&');
                pair("user", user.as_bytes(), out);
            }
            Self::Authenticate(response) => {
                out.extend_from_slice(b"a=auth&");
                pair("aresp", response.as_bytes(), out);
            }
            Self::Quit => out.extend_from_slice(b"a=q"),
        }
        end_line(out);
    }
}

impl Program<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        pair("cn", self.name.as_bytes(), out);
        out.push(b'&');
        pair("cv", self.version.as_bytes(), out);
    }
}

fn write_query(action: &str, query: &Query<'_>, out: &mut Vec<u8>) {
    let (engine, text) = match &query.signature {
        Signature::E4(e4) => (4, e4.to_string()),
        Signature::E8(e8) => (8, e8.to_string()),
    };
    pair("a", action.as_bytes(), out);
    out.push(b'&');
    number("e", engine, out);
    if let Some(ep4) = &query.ep4 {
        out.push(b'&');
        pair("ep4", ep4, out);
    }
    out.push(b'&');
    pair("s", text.as_bytes(), out);
}

/// A carriage return and a line feed separate the header and the parts, so no line of theirs may end so.
fn write_upload(header: &[u8], parts: &[&[u8]], out: &mut Vec<u8>) {
    out.extend_from_slice(b"-a=r&message=*");
    end_line(out);
    out.extend_from_slice(header);
    for part in parts {
        end_line(out);
        out.extend_from_slice(part);
    }
    end_line(out);
    end_batch(out);
}

/// What a server greets with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The parameters of engine 4, if it says any.
    pub ep4: Option<Cow<'a, [u8]>>,
}

impl<'a> Greeting<'a> {
    /// Reads the first line of a connection, without its end; none where it greets nobody.
    pub fn decode(line: &'a [u8]) -> Option<Self> {
        sis::value(line, b"sn").filter(|name| !name.is_empty())?;
        Some(Self { ep4: sis::value(line, b"ep4").map(sis::unescaped) })
    }
}

/// What an answer of one line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RazorResponse<'a> {
    /// Not spam.
    Unlisted,
    /// Spam, if the confidence is enough.
    Listed(Listing),
    /// Yes.
    Accepted,
    /// No.
    Rejected,
    /// What an account is to be proved with.
    Challenge(Cow<'a, [u8]>),
    /// It did not work, or more is needed: the numbers are those of [`super::ErrorCode`].
    Error(u16),
}

impl<'a> RazorResponse<'a> {
    /// Reads a line, without its end; none where it is no answer.
    pub fn decode(line: &'a [u8]) -> Option<Self> {
        let get = |key: &str| sis::value(line, key.as_bytes());
        let number = |key| get(key).and_then(|text| std::str::from_utf8(text).ok()?.parse::<u16>().ok());
        if let Some(code) = number("err") {
            return Some(Self::Error(code));
        }
        if let Some(challenge) = get("achal") {
            return Some(Self::Challenge(sis::unescaped(challenge)));
        }
        match (number("p"), number("res")) {
            (Some(0), None) => Some(Self::Unlisted),
            (Some(1), None) => Some(Self::Listed(Listing {
                // A server that says none is sure.
                confidence: number("cf").map_or(100, |confidence| confidence.min(100) as u8),
                contested: number("ct") == Some(1),
            })),
            (None, Some(1)) => Some(Self::Accepted),
            (None, Some(0)) => Some(Self::Rejected),
            _ => None,
        }
    }
}
