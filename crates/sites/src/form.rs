//! What all formats have in common: a tag in front, fields one after the other, a signature behind.
//!
//! A [`Field`] knows how it is written and read. A structure of fields lists them once, with `form!`, in the order of
//! the bytes; so what is written is what is read.

use crate::error::{FormatError, at_most};
use crate::key::{AdminKey, BrokerKey, KEY_BYTES, PublicKey, Role, SIGNATURE_BYTES, SiteKey};
use crate::roster::Roster;

/// What signed bytes begin with: which format, which version. It is among the bytes that are signed, all tags have
/// one length and no two are equal, so a signature of one thing never is one of another.
pub(crate) type Tag = [u8; 20];

/// Something that is written as bytes, and read from them. Numbers have their lowest byte first.
pub(crate) trait Field: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError>;
}

/// Lists the fields of a structure, in the order of the bytes; or says that a type is written as what it wraps.
macro_rules! form {
    ($name:ident) => {
        impl $crate::form::Field for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $crate::form::Field::write(&self.0, out);
            }

            fn read(rest: &mut $crate::form::Reader<'_>) -> Result<Self, $crate::error::FormatError> {
                rest.get().map($name)
            }
        }
    };
    ($name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::form::Field for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $($crate::form::Field::write(&self.$field, out);)+
            }

            fn read(rest: &mut $crate::form::Reader<'_>) -> Result<Self, $crate::error::FormatError> {
                Ok($name { $($field: $crate::form::Field::read(rest)?),+ })
            }
        }
    };
}
pub(crate) use form;

macro_rules! integers {
    ($($name:ty),+) => {$(
        impl Field for $name {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError> {
                rest.get().map(<$name>::from_le_bytes)
            }
        }
    )+};
}
integers!(u8, u16, u32, u64);

impl<const N: usize> Field for [u8; N] {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self);
    }

    fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError> {
        let (array, after) = rest.bytes.split_first_chunk().ok_or(FormatError::Cut)?;
        rest.bytes = after;
        Ok(*array)
    }
}

/// What is left to be read of a document, and what it is read by.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    document: &'a [u8],
    bytes: &'a [u8],
    /// The network that the document is to be of.
    network: Option<AdminKey>,
    /// The members that it is to speak of.
    roster: Option<&'a Roster>,
}

impl<'a> Reader<'a> {
    /// Of a document that begins with a tag. Refuses more bytes than anything of its kind has.
    pub(crate) fn new(
        document: &'a [u8],
        tag: &'static Tag,
        bytes_max: usize,
    ) -> Result<Reader<'a>, FormatError> {
        at_most("bytes", document.len(), bytes_max)?;
        let mut rest = Reader::untagged(document);
        let expected = std::str::from_utf8(tag).unwrap_or_default().trim_end();
        if rest.get::<Tag>()? == *tag { Ok(rest) } else { Err(FormatError::Tag { expected }) }
    }

    /// Of bytes without a tag.
    pub(crate) fn untagged(document: &'a [u8]) -> Reader<'a> {
        Reader { document, bytes: document, network: None, roster: None }
    }

    /// Every network's key is to be this one.
    pub(crate) fn of_network(self, network: &AdminKey) -> Self {
        Reader { network: Some(*network), ..self }
    }

    /// The same; and every site's key is to be a member's.
    pub(crate) fn of_members(self, roster: &'a Roster) -> Self {
        Reader { roster: Some(roster), ..self.of_network(&roster.network) }
    }

    /// The next field.
    pub(crate) fn get<T: Field>(&mut self) -> Result<T, FormatError> {
        T::read(self)
    }

    /// So many fields of one kind, and no more than there may be.
    pub(crate) fn list<T: Field>(
        &mut self,
        what: &'static str,
        count: usize,
        most: usize,
    ) -> Result<Vec<T>, FormatError> {
        at_most(what, count, most)?;
        (0..count).map(|_| self.get()).collect()
    }

    /// So many bytes.
    pub(crate) fn run(&mut self, length: usize) -> Result<&'a [u8], FormatError> {
        let (run, rest) = self.bytes.split_at_checked(length).ok_or(FormatError::Cut)?;
        self.bytes = rest;
        Ok(run)
    }

    /// All that is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Refuses a document that does not end with this signer's signature of all that stands before; the rest ends
    /// before it.
    pub(crate) fn signed_by<R: Role>(&mut self, signer: &PublicKey<R>) -> Result<(), FormatError> {
        let (body, signature) = self.document.split_last_chunk().ok_or(FormatError::Cut)?;
        self.bytes = self.bytes.split_last_chunk::<SIGNATURE_BYTES>().ok_or(FormatError::Cut)?.0;
        let verifier = self.roster.and_then(|roster| roster.verifier(&signer.to_bytes()));
        let is_signed = match verifier {
            Some(verifier) => verifier.verifies(body, signature),
            None => signer.verifies(body, signature),
        };
        if is_signed {
            Ok(())
        } else {
            Err(FormatError::Signature { role: R::NAME, signer: signer.to_string() })
        }
    }

    /// Refuses what has more than was read.
    pub(crate) fn end(&self) -> Result<(), FormatError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(FormatError::Surplus(self.bytes.len())) }
    }

    fn sound_key<R: Role>(&self, bytes: &[u8; KEY_BYTES]) -> Result<PublicKey<R>, FormatError> {
        PublicKey::from_bytes(bytes).map_err(|error| FormatError::Key(R::NAME, error))
    }
}

impl Field for AdminKey {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.to_bytes());
    }

    fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError> {
        let found: [u8; KEY_BYTES] = rest.get()?;
        match rest.network {
            Some(expected) if found != expected.to_bytes() => {
                Err(FormatError::OtherNetwork { expected, found: hex::encode(found) })
            }
            Some(expected) => Ok(expected),
            None => rest.sound_key(&found),
        }
    }
}

impl Field for SiteKey {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.to_bytes());
    }

    /// A member's key is known to be a sound one; to find that out takes longer than to look it up.
    fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError> {
        let found = rest.get()?;
        match rest.roster {
            Some(roster) => roster.key_of(&found).ok_or_else(|| FormatError::NoMember(hex::encode(found))),
            None => rest.sound_key(&found),
        }
    }
}

impl Field for BrokerKey {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.to_bytes());
    }

    fn read(rest: &mut Reader<'_>) -> Result<Self, FormatError> {
        let found = rest.get()?;
        rest.sound_key(&found)
    }
}
