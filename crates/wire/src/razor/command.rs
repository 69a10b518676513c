//! What a query asks for.

use std::borrow::Cow;

use seenit_signature::razor::{E4, E8, b64r};
use thiserror::Error;

use super::sis;

/// A query. It borrows from the decoder's buffer, but for values with escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `cn=`: the client says what it is. It does not wait for an answer, and must get none.
    Client,
    /// `a=g`: asks about the server.
    Get(Subject),
    /// `a=c`: is this signature listed?
    Check(Query<'a>),
    /// `a=r`: this signature is spam. The answer may ask for the whole mail.
    Report(Query<'a>),
    /// `a=revoke`: this signature is not spam. Engine 4 comes without its parameters: the server's own are meant.
    Revoke(Query<'a>),
    /// `a=reg`: wants an account.
    Register {
        /// The name, or none if the server is to choose one.
        user: Option<Cow<'a, [u8]>>,
        /// The password, or none if the server is to choose one.
        password: Option<Cow<'a, [u8]>>,
    },
    /// `a=ai`: names its account, and wants a challenge.
    Identify {
        /// The name.
        user: Cow<'a, [u8]>,
    },
    /// `a=auth`: answers the challenge.
    Authenticate {
        /// The answer: see [`super::proves`].
        response: Cow<'a, [u8]>,
    },
    /// `a=q`: the end. It gets no answer.
    Quit,
}

/// What can be asked about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Its settings.
    State,
    /// Which other servers there are.
    Servers(Servers),
}

/// What servers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// Checks.
    Catalogue,
    /// Accounts, reports and revocations.
    Nomination,
}

/// A signature, and what it was computed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The signature.
    pub signature: Signature,
    /// The parameters of engine 4, if they were sent.
    pub ep4: Option<Cow<'a, [u8]>>,
}

/// A signature of one of the two engines that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signature {
    /// Of the text.
    E4(E4),
    /// Of a host that the text links to.
    E8(E8),
}

/// Why a query is not one. It must be answered all the same.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// No line of a client: its first key is neither `a` nor `cn`, as it is of every client.
    #[error("a line that begins with neither a= nor cn=: {0:?}")]
    Foreign(String),
    /// Nothing says what is asked for, or nothing we know.
    #[error("unknown action {0:?}")]
    Action(String),
    /// Something about the server that we do not know.
    #[error("unknown parameter {0:?}")]
    Subject(String),
    /// A signature of an engine that we do not know.
    #[error("unknown engine {0:?}")]
    Engine(String),
    /// A text that is no signature.
    #[error("not a signature: {0}")]
    Signature(#[from] b64r::Error),
    /// A key is missing.
    #[error("nothing is said about {0}")]
    Missing(&'static str),
}

impl Malformed {
    /// Whether no client of Razor sends such a line to any server: whoever does speaks another protocol.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_) | Self::Action(_))
    }
}

impl<'a> Command<'a> {
    /// Reads one line, without its end. Clients sort their keys, so that the first one is `a`, or `cn` where there is
    /// no `a`. Keys further on do not make a line one of Razor's: a web page chooses most of a request line of HTTP,
    /// but not its beginning, which is a method and has no `=`.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, Malformed> {
        if !line.starts_with(b"a=") && !line.starts_with(b"cn=") {
            return Err(Malformed::Foreign(lossy(line)));
        }
        let get = |key: &str| sis::value(line, key.as_bytes()).map(sis::unescaped);
        let needed = |key: &'static str| get(key).ok_or(Malformed::Missing(key));
        let Some(action) = get("a") else {
            return Ok(Self::Client);
        };
        Ok(match action.as_ref() {
            b"c" => Self::Check(Query::read(line)?),
            b"r" => Self::Report(Query::read(line)?),
            b"revoke" => Self::Revoke(Query::read(line)?),
            b"g" => Self::Get(Subject::named(&needed("pm")?)?),
            b"reg" => Self::Register { user: get("user"), password: get("pass") },
            b"ai" => Self::Identify { user: needed("user")? },
            b"auth" => Self::Authenticate { response: needed("aresp")? },
            b"q" => Self::Quit,
            other => return Err(Malformed::Action(lossy(other))),
        })
    }
}

impl Subject {
    fn named(name: &[u8]) -> Result<Self, Malformed> {
        match name {
            b"state" => Ok(Self::State),
            b"csl" => Ok(Self::Servers(Servers::Catalogue)),
            b"nsl" => Ok(Self::Servers(Servers::Nomination)),
            other => Err(Malformed::Subject(lossy(other))),
        }
    }
}

impl<'a> Query<'a> {
    fn read(line: &'a [u8]) -> Result<Self, Malformed> {
        let get = |key: &str| sis::value(line, key.as_bytes()).map(sis::unescaped);
        let needed = |key: &'static str| get(key).ok_or(Malformed::Missing(key));
        let text = needed("s")?;
        let signature = match needed("e")?.as_ref() {
            b"4" => Signature::E4(E4(b64r::decode(&text)?)),
            b"8" => Signature::E8(E8(b64r::decode(&text)?)),
            other => return Err(Malformed::Engine(lossy(other))),
        };
        Ok(Self { signature, ep4: get("ep4") })
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A reported mail: its header, and its parts as the client prepares them for signing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upload<'a> {
    message: &'a [u8],
}

impl<'a> Upload<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { message }
    }

    /// The header of the mail, in lines that end in a line feed, the last one included.
    pub fn header(&self) -> &'a [u8] {
        self.chunks().next().unwrap_or_default()
    }

    /// The parts. Each has a header of its own, an empty line, and a body that is still encoded. A mail that is too
    /// long for one upload comes in several, each with the same header and some of the parts.
    pub fn parts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.chunks().skip(1)
    }

    /// The client leaves no carriage return before a line feed in what it sends, so this one separates.
    fn chunks(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        super::decoder::lines(self.message)
    }
}
