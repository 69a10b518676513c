//! Answers, in the order of fields that `pyzord` has. SpamAssassin's client looks for the bytes of the `Thread` line
//! with a line feed on either side, and for an empty line at the end.

use thiserror::Error;

/// What `pong` counts: the largest number that `pyzord` could count to.
const PONG_COUNT: u64 = i64::MAX as u64;

/// What to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PyzorAnswer {
    /// To `ping`, `report` and `whitelist`; and to a `check` or an `info` of no digest at all.
    Done,
    /// To `pong`.
    Pong,
    /// To `check`.
    Counts(Counts),
    /// To `info`. Times that nobody kept are left out, and clients do without.
    Info(Option<Times>, Counts),
    /// To a request that is not granted.
    Refused(Refusal),
}

/// How often a digest was named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// In reports.
    pub reports: u64,
    /// In whitelistings.
    pub whitelistings: u64,
}

/// When a digest was named, in seconds since 1970. `pyzor` prints "Never" for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// First, in a report.
    pub reported_first: Option<u64>,
    /// Last, in a report.
    pub reported_last: Option<u64>,
    /// First, in a whitelisting.
    pub whitelisted_first: Option<u64>,
    /// Last, in a whitelisting.
    pub whitelisted_last: Option<u64>,
}

/// Why a request is not granted, in the words of `pyzord` where it has any.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{} {}", self.line().0, self.line().1)]
#[non_exhaustive]
pub enum Refusal {
    /// `PV` is not a number.
    BadVersion,
    /// An `Op-Digest` is not a SHA-1 digest.
    BadDigest,
    /// The account does not exist.
    UnknownUser,
    /// The signature is not the account's.
    BadSignature,
    /// The signature was made too long ago, or too far in the future.
    TooOld,
    /// The user may not do this, or nobody can.
    Forbidden,
    /// The digest of an empty message is not counted.
    EmptyMessage,
    /// This sender asks too often.
    TooMany,
    /// The server cannot do what it should.
    Internal,
    /// `PV` is a number, but not 2.
    OtherVersion,
}

impl Refusal {
    /// Its code and its diagnosis.
    fn line(self) -> (u64, &'static str) {
        match self {
            Self::BadVersion => (400, "Bad request: Invalid Protocol Version"),
            Self::BadDigest => (400, "Bad request: Op-Digest is not 40 hex digits"),
            Self::UnknownUser => (401, "Unauthorized: Signature Error: Unknown user."),
            Self::BadSignature => (401, "Unauthorized: Signature Error: Invalid signature."),
            Self::TooOld => (401, "Unauthorized: Signature Error: Timestamp not within allowed range."),
            Self::Forbidden => (403, "Forbidden: User is not authorized to request the operation."),
            Self::EmptyMessage => (403, "Forbidden: Empty message."),
            Self::TooMany => (403, "Forbidden: Too many requests."),
            Self::Internal => (500, "Internal Server Error: Try again later."),
            Self::OtherVersion => (505, "Version Not Supported: "),
        }
    }
}

impl PyzorAnswer {
    /// Appends the datagram that answers the request of `thread`. It allocates nothing if `out` has the room.
    pub fn write(&self, thread: u16, out: &mut Vec<u8>) {
        let (code, diagnosis) = if let Self::Refused(refusal) = self { refusal.line() } else { (200, "OK") };
        number(out, "Code: ", code);
        text(out, "Diag: ", diagnosis);
        text(out, "PV: ", "2.1");
        number(out, "Thread: ", u64::from(thread));
        match self {
            Self::Done | Self::Refused(_) => {}
            Self::Pong => Counts { reports: PONG_COUNT, whitelistings: 0 }.write(out),
            Self::Counts(counts) => counts.write(out),
            Self::Info(times, counts) => {
                if let Some(times) = times {
                    times.write(out);
                }
                counts.write(out);
            }
        }
        out.push(b'\n');
    }
}

impl Counts {
    fn write(self, out: &mut Vec<u8>) {
        number(out, "Count: ", self.reports);
        number(out, "WL-Count: ", self.whitelistings);
    }
}

impl Times {
    fn write(self, out: &mut Vec<u8>) {
        let lines = [
            ("Entered: ", self.reported_first),
            ("Updated: ", self.reported_last),
            ("WL-Entered: ", self.whitelisted_first),
            ("WL-Updated: ", self.whitelisted_last),
        ];
        for (name, time) in lines {
            // `pyzord` says 0, which `pyzor` prints as 1970; -1 it prints as "Never".
            match time {
                Some(secs) => number(out, name, secs),
                None => text(out, name, "-1"),
            }
        }
    }
}

/// Appends a field with a number.
pub(super) fn number(out: &mut Vec<u8>, name: &str, value: u64) {
    text(out, name, itoa::Buffer::new().format(value));
}

/// Appends a field. Its name ends in a colon and a space.
pub(super) fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(value.as_bytes());
    out.push(b'\n');
}
