//! The protocol of DCC, as a server of its clients speaks it.
//!
//! One datagram is one request, and one datagram answers it. [`Request::decode`] reads what a client sent, without a
//! copy; [`Reply`] writes what it is answered. Not served, and refused as such: greylisting, and flooding between
//! servers. [`whitelist`] reads the file in which a site vouches for senders.

mod ask;
mod count;
mod packet;
mod password;
mod reply;
mod request;
mod sum;
pub mod whitelist;

pub use ask::{Ask, DccResponse};
pub use count::{Count, Targets, Totals};
pub use password::{Password, PasswordError};
pub use reply::{Brand, BrandError, Reply, ServerId, ServerIdError};
pub use request::{Admin, Body, Header, Request, RequestError, Retransmission, Sender};
pub use sum::{Sum, SumKind, Sums};

/// The shortest packet: a header and a signature.
pub const PACKET_BYTES_MIN: usize = HEADER_BYTES + SIGNATURE_BYTES;
/// The longest request that is served: a report with a checksum of each kind.
pub const REQUEST_BYTES_MAX: usize = HEADER_BYTES + 4 + SUMS_MAX * SUM_BYTES + SIGNATURE_BYTES;
/// A request has each kind of checksum at most once.
pub const SUMS_MAX: usize = SumKind::ALL.len();
/// The most targets that one ordinary report may have. DCC's own server drops reports of more.
pub const TARGETS_MAX: u32 = 2000;
/// How far the clock of whoever commands a server may be off: what DCC's own server allows.
pub const CLOCK_SKEW_SECS_MAX: u32 = 64;
/// How long a client may go on repeating a request: twice its longest wait for all answers.
pub const RETRANSMISSION_SECS_MAX: u32 = 32;

/// Length, version, operation, sender and the four numbers of an operation.
const HEADER_BYTES: usize = 24;
/// An MD5, or zeros.
const SIGNATURE_BYTES: usize = 16;
/// A type, a length and an MD5.
const SUM_BYTES: usize = 18;
/// The oldest version that is understood, and the newest. Clients discard answers of a newer one.
const VERSIONS: std::ops::RangeInclusive<u8> = 4..=12;

/// The numbers of the operations.
mod op {
    pub(super) const NOP: u8 = 1;
    pub(super) const REPORT: u8 = 2;
    pub(super) const QUERY: u8 = 3;
    pub(super) const ANSWER: u8 = 4;
    pub(super) const ADMIN: u8 = 5;
    pub(super) const OK: u8 = 6;
    pub(super) const ERROR: u8 = 7;
    pub(super) const DELETE: u8 = 8;
}
