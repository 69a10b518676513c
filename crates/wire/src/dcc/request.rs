//! What a client sends.

use thiserror::Error;

use super::{Password, SIGNATURE_BYTES, Sum, Sums, Targets, VERSIONS, op};

/// Clients try versions up to this one when they ask whether a server is there.
const NOP_VERSION_MAX: u8 = 32;
/// The longest argument of an admin request.
const ADMIN_ARGUMENT_BYTES_MAX: usize = 64;
/// The number of everybody without one.
pub(super) const ANONYMOUS_ID: u32 = 1;
/// The first number of a server, and of a client with a password; what is between the anonymous 1 and the first is
/// nobody's.
const SERVER_ID_MIN: u32 = 100;
const CLIENT_ID_MIN: u32 = 32768;
const CLIENT_ID_MAX: u32 = 0x00ff_ffff;

/// One datagram of a client. It borrows the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Who sends it, and what an answer must repeat.
    pub header: Header,
    /// What is asked.
    pub body: Body<'a>,
    signed: &'a [u8],
    signature: [u8; SIGNATURE_BYTES],
}

/// What every packet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the protocol.
    pub version: u8,
    /// Who claims to send it.
    pub sender: Sender,
    /// Which operation of which process of which host it is, and the how manyeth transmission: 16 bytes that only the
    /// client understands. Answers repeat them.
    pub numbers: [u8; 16],
}

/// Who claims to have sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// Anybody.
    Anonymous,
    /// A server, or its operator.
    Server(u16),
    /// A client with a password.
    Client(u32),
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Is there a server, and how fast is it?
    Nop,
    /// A message with these checksums was sent to so many: count it, and say the totals.
    Report(Targets, Sums<'a>),
    /// Say the totals.
    Query(Sums<'a>),
    /// Forget this checksum.
    Delete {
        /// The sender's clock, in seconds of Unix.
        date: u32,
        /// What to forget.
        sum: Sum,
    },
    /// A command to the server.
    Admin(Admin),
}

/// A command to the server. Its long argument, which only commands that are not served have, is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admin {
    /// The sender's clock, in seconds of Unix.
    pub date: u32,
    /// The argument: for [`Admin::STATISTICS`], how long the text may be.
    pub value: u32,
    /// The number of the command.
    pub command: u8,
}

impl Admin {
    /// The command that asks for a text about the server.
    pub const STATISTICS: u8 = 6;
}

/// Why a datagram is no request that is served. All of them are met with silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The datagram is not as long as it says, or as it must be.
    #[error("a datagram of {0} bytes is no DCC packet of its kind")]
    Length(usize),
    /// The protocol has no such version, or not for this operation.
    #[error("version {0} of DCC is not spoken")]
    Version(u8),
    /// The number is nobody's.
    #[error("{0} is no number of a DCC client or server")]
    Sender(u32),
    /// Not a request, or none that is served.
    #[error("DCC operation {0} is not served")]
    Operation(u8),
    /// More than a message can have.
    #[error("{0:#x} is no number of DCC targets")]
    Targets(u32),
    /// A checksum is malformed, of an unknown type or out of order.
    #[error("the checksums are not those of a DCC client")]
    Sums,
}

impl<'a> Request<'a> {
    /// Reads a datagram.
    pub fn decode(datagram: &'a [u8]) -> Result<Self, RequestError> {
        let wrong_length = RequestError::Length(datagram.len());
        let (signed, signature) = datagram.split_last_chunk().ok_or(wrong_length)?;
        let (length, rest) = signed.split_first_chunk().ok_or(wrong_length)?;
        let ([version, op], rest) = rest.split_first_chunk().ok_or(wrong_length)?;
        let (sender, rest) = rest.split_first_chunk().ok_or(wrong_length)?;
        let (numbers, body) = rest.split_first_chunk().ok_or(wrong_length)?;
        if usize::from(u16::from_be_bytes(*length)) != datagram.len() {
            return Err(wrong_length);
        }
        let is_spoken = match *op {
            op::NOP => (*VERSIONS.start()..=NOP_VERSION_MAX).contains(version),
            _ => VERSIONS.contains(version),
        };
        if !is_spoken {
            return Err(RequestError::Version(*version));
        }
        let header = Header {
            version: *version,
            sender: Sender::from_wire(u32::from_be_bytes(*sender))?,
            numbers: *numbers,
        };
        let body = Body::decode(*op, body, wrong_length)?;
        Ok(Self { header, body, signed, signature: *signature })
    }

    /// Whether the sender proved to know the password, and its number is one that may ask this with a password:
    /// a server's number is not a client's. Everyone else is to be served as anonymous.
    pub fn is_signed_by(&self, password: &Password) -> bool {
        let may_sign = match self.body {
            Body::Report(..) | Body::Query(_) => matches!(self.header.sender, Sender::Client(_)),
            Body::Nop | Body::Delete { .. } | Body::Admin(_) => self.header.sender != Sender::Anonymous,
        };
        may_sign && password.has_signed(self.signed, &self.signature)
    }

    /// What this request has in common with its retransmissions, and with nothing else of the same address.
    pub fn retransmission(&self) -> Retransmission<'a> {
        let [numbers @ .., _, _, _, _] = self.header.numbers;
        Retransmission {
            sender: self.header.sender,
            numbers,
            operation: self.signed.get(3).copied().unwrap_or_default(),
            body: self.signed.get(super::HEADER_BYTES..).unwrap_or_default(),
        }
    }
}

/// What the retransmissions of a request have in common. Together with the client's address, but without its port,
/// which changes with the second transmission, it tells whether a report was counted already. Meant to be hashed, with
/// a key that clients do not know, and to be kept for [`RETRANSMISSION_SECS_MAX`](super::RETRANSMISSION_SECS_MAX).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retransmission<'a> {
    sender: Sender,
    numbers: [u8; 12],
    operation: u8,
    body: &'a [u8],
}

impl Sender {
    fn from_wire(number: u32) -> Result<Self, RequestError> {
        match number {
            ANONYMOUS_ID => Ok(Self::Anonymous),
            CLIENT_ID_MIN..=CLIENT_ID_MAX => Ok(Self::Client(number)),
            _ => match u16::try_from(number) {
                Ok(server) if number >= SERVER_ID_MIN => Ok(Self::Server(server)),
                _ => Err(RequestError::Sender(number)),
            },
        }
    }
}

impl<'a> Body<'a> {
    fn decode(op: u8, body: &'a [u8], wrong_length: RequestError) -> Result<Self, RequestError> {
        match op {
            op::NOP if body.is_empty() => Ok(Self::Nop),
            op::NOP => Err(wrong_length),
            op::REPORT | op::QUERY => {
                let (targets, sums) = body.split_first_chunk().ok_or(wrong_length)?;
                let sums = Sums::from_wire(sums).ok_or(RequestError::Sums)?;
                if op == op::QUERY {
                    return Ok(Self::Query(sums));
                }
                let targets = u32::from_be_bytes(*targets);
                Ok(Self::Report(Targets::from_wire(targets).ok_or(RequestError::Targets(targets))?, sums))
            }
            op::DELETE => {
                let (date, rest) = body.split_first_chunk().ok_or(wrong_length)?;
                let (sum, padding) = rest.split_first_chunk().ok_or(wrong_length)?;
                if padding.len() != 2 {
                    return Err(wrong_length);
                }
                let sum = Sum::from_wire(sum).ok_or(RequestError::Sums)?;
                Ok(Self::Delete { date: u32::from_be_bytes(*date), sum })
            }
            op::ADMIN => {
                let (date, rest) = body.split_first_chunk().ok_or(wrong_length)?;
                let (value, rest) = rest.split_first_chunk().ok_or(wrong_length)?;
                let ([command, ..], argument) = rest.split_first_chunk::<4>().ok_or(wrong_length)?;
                if argument.len() > ADMIN_ARGUMENT_BYTES_MAX {
                    return Err(wrong_length);
                }
                let date = u32::from_be_bytes(*date);
                let value = u32::from_be_bytes(*value);
                Ok(Self::Admin(Admin { date, value, command: *command }))
            }
            _ => Err(RequestError::Operation(op)),
        }
    }
}
