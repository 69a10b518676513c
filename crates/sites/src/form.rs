//! What all formats have in common: a tag in front, numbers with their lowest byte first, a signature behind.

use thiserror::Error;

use crate::key::{PublicKey, Role, SIGNATURE_BYTES};

/// What signed bytes begin with: which format, which version. It is among the bytes that are signed, all tags have
/// one length and no two are equal, so a signature of one thing never is one of another.
pub(crate) type Tag = [u8; 20];

/// Why bytes have not even the form of what they should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormError {
    /// Something is missing.
    #[error("the bytes end too early")]
    Cut,
    /// Something is left.
    #[error("there are {0} bytes too many")]
    Surplus(usize),
    /// More than any of its kind can have.
    #[error("it has {found} bytes, and may have {most}")]
    Large {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// Another format, or another version of it.
    #[error(
        "the bytes do not begin with {expected:?}: another format, or a version this program does not read"
    )]
    Tag {
        /// What they should begin with.
        expected: &'static str,
    },
    /// Somebody else made it, or changed it.
    #[error("the signature is not that of {role} {signer}")]
    Signature {
        /// What the signer is.
        role: &'static str,
        /// Whose signature it should be.
        signer: String,
    },
}

/// Bytes that are read from the front.
#[derive(Clone, Debug)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn run(&mut self, length: usize) -> Result<&'a [u8], FormError> {
        let (run, rest) = self.0.split_at_checked(length).ok_or(FormError::Cut)?;
        self.0 = rest;
        Ok(run)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], FormError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(FormError::Cut)?;
        self.0 = rest;
        Ok(*array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, FormError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, FormError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FormError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FormError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn tag(&mut self, tag: &'static Tag) -> Result<(), FormError> {
        let expected = std::str::from_utf8(tag).unwrap_or_default().trim_end();
        if self.array()? == *tag { Ok(()) } else { Err(FormError::Tag { expected }) }
    }

    pub(crate) fn end(&self) -> Result<(), FormError> {
        if self.0.is_empty() { Ok(()) } else { Err(FormError::Surplus(self.0.len())) }
    }
}

/// Refuses more bytes than anything of its kind has.
pub(crate) fn at_most(bytes: &[u8], most: usize) -> Result<(), FormError> {
    if bytes.len() <= most { Ok(()) } else { Err(FormError::Large { found: bytes.len(), most }) }
}

/// What stands before the signature at the end, if that is the signature of `signer`.
pub(crate) fn signed_by<'a, R: Role>(bytes: &'a [u8], signer: &PublicKey<R>) -> Result<&'a [u8], FormError> {
    let (body, signature) = bytes.split_last_chunk::<SIGNATURE_BYTES>().ok_or(FormError::Cut)?;
    if signer.verifies(body, signature) {
        return Ok(body);
    }
    Err(FormError::Signature { role: R::NAME, signer: signer.to_string() })
}
