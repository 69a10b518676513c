//! The client's side: what the anonymous user asks, and what an answer says.

use super::answer::{number, text};
use super::fields::{Field, Fields};
use super::signing::{self, HashedKey};
use super::{ANONYMOUS, Counts, DATAGRAM_BYTES_MAX, Op, decimal};

/// Which lines a digest is of. Only clients understand it, and only writes have it.
const LINES: &str = "20,3,60,3";

/// A request of the anonymous user about one digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// What is asked.
    pub op: Op,
    /// Of what.
    pub digest: [u8; 20],
    /// What the answer repeats. `pyzor` takes random numbers from 1024 on.
    pub thread: u16,
    /// The client's clock, in seconds since 1970.
    pub time: u64,
}

impl Ask {
    /// Appends the datagram, to the byte as `pyzor` writes it. The signature proves nothing, but without it the answer
    /// may be longer than the question, and then a server keeps silent.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        text(out, "Op: ", self.op.name());
        text(out, "Op-Digest: ", &hex::encode(self.digest));
        if matches!(self.op, Op::Report | Op::Whitelist) {
            text(out, "Op-Spec: ", LINES);
        }
        number(out, "Thread: ", self.thread.into());
        text(out, "PV: ", "2.1");
        text(out, "User: ", ANONYMOUS);
        number(out, "Time: ", self.time);
        let fields = Fields::of(out.get(start..).unwrap_or_default());
        let sig = signing::sign(fields, &HashedKey::of(ANONYMOUS, ""), self.time);
        text(out, "Sig: ", &hex::encode(sig));
        out.push(b'\n');
    }
}

/// What an answer says. It borrows from its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PyzorResponse<'a> {
    /// The request's.
    pub thread: u16,
    /// 200, or why the request is not granted.
    pub code: u64,
    /// The same in words.
    pub diagnosis: &'a str,
    /// How often the digest was named, of a check that is granted.
    pub counts: Option<Counts>,
}

impl<'a> PyzorResponse<'a> {
    /// Reads a datagram; none where it is no answer.
    pub fn decode(datagram: &'a [u8]) -> Option<Self> {
        let fields =
            Some(datagram).filter(|datagram| datagram.len() <= DATAGRAM_BYTES_MAX).map(Fields::of)?;
        let value = |name| fields.iter().find(|field| field.is(name)).map(Field::text);
        let count = |name| value(name).and_then(decimal);
        let counts = match (count("Count"), count("WL-Count")) {
            (Some(reports), Some(whitelistings)) => Some(Counts { reports, whitelistings }),
            _ => None,
        };
        Some(Self {
            thread: count("Thread")?.try_into().ok()?,
            code: count("Code")?,
            diagnosis: std::str::from_utf8(value("Diag")?).ok()?,
            counts,
        })
    }
}
