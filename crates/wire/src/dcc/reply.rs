//! What a client is answered.

use thiserror::Error;

use super::packet::{self, Head};
use super::password::keyed;
use super::{Header, Password, SIGNATURE_BYTES, Totals, VERSIONS, op};

/// An error's text, without the zero that ends it. Clients have room for no more.
const ERROR_BYTES_MAX: usize = 127;
/// Clients have room for no more.
const TEXT_BYTES_MAX: usize = 1460;
/// A brand's place in a packet.
const BRAND_BYTES: usize = 64;
/// One byte of the place is the zero that ends it.
const BRAND_BYTES_MAX: usize = BRAND_BYTES - 1;
/// Clients of this version and older are told one total a checksum, not two.
const ONE_TOTAL_VERSION_MAX: u8 = 5;
/// Answers to anonymous clients of this version and older are signed with the operation's numbers, newer not at all.
const NUMBERS_SIGN_VERSION_MAX: u8 = 8;

/// The number of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId(u16);

/// Why a number is not that of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a DCC server's number is 100 to 32767, not {0}")]
pub struct ServerIdError(u16);

impl ServerId {
    /// A number from 100 to 32767: with any other, clients leave out the brand.
    pub fn new(number: u16) -> Result<Self, ServerIdError> {
        if (100..=32767).contains(&number) { Ok(Self(number)) } else { Err(ServerIdError(number)) }
    }

    /// The number.
    pub fn number(self) -> u16 {
        self.0
    }
}

/// The name of this server in the header that clients add to mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brand(String);

/// Why a text is no brand.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a DCC brand is 1 to {BRAND_BYTES_MAX} letters and digits, not {0:?}")]
pub struct BrandError(String);

impl Brand {
    /// A name of letters and digits: it becomes part of a header's name.
    pub fn new(name: &str) -> Result<Self, BrandError> {
        let fits = (1..=BRAND_BYTES_MAX).contains(&name.len());
        if fits && name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            Ok(Self(name.to_owned()))
        } else {
            Err(BrandError(name.to_owned()))
        }
    }
}

/// How to answer one request. What is written is appended, so a buffer may be used again and again.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The number of this server.
    pub server: ServerId,
    /// The header of the request.
    pub to: &'a Header,
    /// The password with which the request was signed; none for those who did not or could not.
    pub password: Option<&'a Password>,
}

impl Reply<'_> {
    /// The totals of the request's checksums, in their order. Clients discard answers with fewer or more.
    pub fn totals(&self, totals: &[Totals], out: &mut Vec<u8>) {
        self.packet(op::ANSWER, out, |out| {
            for totals in totals {
                out.extend_from_slice(&totals.current.to_wire().to_be_bytes());
                if self.version() > ONE_TOTAL_VERSION_MAX {
                    out.extend_from_slice(&totals.previous.to_wire().to_be_bytes());
                }
            }
        });
    }

    /// That all is well: who the server is, and how long it will make this client wait for answers on purpose.
    pub fn ok(&self, brand: &Brand, delay_ms: u16, out: &mut Vec<u8>) {
        self.packet(op::OK, out, |out| {
            out.extend_from_slice(&[self.version(), 0]);
            out.extend_from_slice(&delay_ms.to_be_bytes());
            let end = out.len() + BRAND_BYTES;
            out.extend_from_slice(brand.0.as_bytes());
            out.resize(end, 0);
        });
    }

    /// That something went wrong, in words. A long text is cut.
    pub fn error(&self, text: &str, out: &mut Vec<u8>) {
        self.packet(op::ERROR, out, |out| {
            out.extend_from_slice(cut(text, ERROR_BYTES_MAX).as_bytes());
            out.push(0);
        });
    }

    /// The text that an admin command asked for, cut to what its sender has room for.
    pub fn text(&self, text: &str, room: u32, out: &mut Vec<u8>) {
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(TEXT_BYTES_MAX);
        self.packet(op::ADMIN, out, |out| out.extend_from_slice(cut(text, room).as_bytes()));
    }

    fn version(&self) -> u8 {
        self.to.version.clamp(*VERSIONS.start(), *VERSIONS.end())
    }

    fn packet(&self, op: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        let version = self.version();
        let sender = u32::from(self.server.0);
        let numbers = self.to.numbers;
        packet::write(&Head { version, op, sender, numbers }, out, body, |packet| self.signature(packet));
    }

    fn signature(&self, packet: &[u8]) -> [u8; SIGNATURE_BYTES] {
        match self.password {
            Some(password) => password.sign(packet),
            None if self.version() <= NUMBERS_SIGN_VERSION_MAX => keyed(&self.to.numbers, packet),
            None => [0; SIGNATURE_BYTES],
        }
    }
}

fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}
