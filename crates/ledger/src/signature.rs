//! Signatures as the ledger takes them: kind, length and digest in one run of bytes.
//!
//! The same bytes are hashed, journalled, and sent in binary bodies, so nothing is copied on the way:
//!
//! ```text
//! kind    1 byte, see `Kind::code`
//! length  2 bytes, lowest first
//! digest  that many bytes; each kind has one length
//! ```

use seenit_signature::razor::Ep4;
use seenit_signature::{Kind, Signature};

use crate::error::SignatureError;

/// Kind and length.
pub const HEAD_BYTES: usize = 3;

/// The most signatures of one case. A message has about ten, one with many links and attachments some dozens; what a
/// sender adds beyond that only makes the ledger work.
pub const SIGNATURES_MAX: usize = 256;

/// One signature in its encoded form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignatureRef<'a> {
    kind: Kind,
    bytes: &'a [u8],
}

impl<'a> SignatureRef<'a> {
    /// Takes the signature that `bytes` begin with, and gives back the rest.
    pub fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), SignatureError> {
        let Some(&[code, low, high]) = bytes.first_chunk::<HEAD_BYTES>() else {
            return Err(SignatureError::Cut { has: bytes.len(), needs: HEAD_BYTES });
        };
        let kind = Kind::from_code(code).ok_or(SignatureError::Kind(code))?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        check_length(kind, length)?;
        let needs = HEAD_BYTES + length;
        let (bytes, rest) =
            bytes.split_at_checked(needs).ok_or(SignatureError::Cut { has: bytes.len(), needs })?;
        Ok((SignatureRef { kind, bytes }, rest))
    }

    /// Its kind.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Its digest.
    pub fn digest(self) -> &'a [u8] {
        &self.bytes[HEAD_BYTES..]
    }

    /// All of it, encoded.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }
}

/// So that hashers take signatures as they are.
impl AsRef<[u8]> for SignatureRef<'_> {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

fn check_length(kind: Kind, length: usize) -> Result<(), SignatureError> {
    if length == kind.digest_bytes() {
        Ok(())
    } else {
        Err(SignatureError::Length { kind, length, needs: kind.digest_bytes() })
    }
}

/// The signatures of one message: what is checked, seen, reported and revoked together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    bytes: Vec<u8>,
    len: usize,
}

impl Case {
    /// No signatures yet.
    pub fn new() -> Self {
        Case::default()
    }

    /// Every signature of a message that may be somebody's opinion: those below their floor are left out.
    pub fn of_message(mail: &[u8], ep4: &Ep4) -> Self {
        Case::of_signatures(&seenit_signature::sign(mail, ep4))
    }

    /// The signatures that are not withheld, each once, up to [`SIGNATURES_MAX`].
    pub fn of_signatures(signatures: &[Signature]) -> Self {
        let mut case = Case::new();
        for signature in signatures.iter().filter(|signature| !signature.withheld) {
            // What `sign` makes has the length of its kind; beyond the limit the rest is left out.
            if case.push(signature.kind, &signature.digest.to_bytes()).is_err() {
                break;
            }
        }
        case
    }

    /// Reads signatures that follow each other to the end of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, SignatureError> {
        let (mut case, mut rest) = (Case::new(), bytes);
        while !rest.is_empty() {
            let (signature, after) = SignatureRef::split(rest)?;
            case.add(signature)?;
            rest = after;
        }
        Ok(case)
    }

    /// Adds a signature unless it is there.
    pub fn push(&mut self, kind: Kind, digest: &[u8]) -> Result<(), SignatureError> {
        check_length(kind, digest.len())?;
        let before = self.bytes.len();
        self.bytes.push(kind.code());
        self.bytes.extend_from_slice(&(digest.len() as u16).to_le_bytes());
        self.bytes.extend_from_slice(digest);
        let bytes = self.bytes.split_off(before);
        self.add(SignatureRef { kind, bytes: &bytes })
    }

    /// Adds a signature unless it is there.
    pub fn add(&mut self, signature: SignatureRef<'_>) -> Result<(), SignatureError> {
        if self.iter().any(|known| known == signature) {
            return Ok(());
        }
        if self.len == SIGNATURES_MAX {
            return Err(SignatureError::TooMany { most: SIGNATURES_MAX });
        }
        self.bytes.extend_from_slice(signature.bytes);
        self.len += 1;
        Ok(())
    }

    /// Each signature as a case of its own.
    pub(crate) fn singles(&self) -> Vec<Case> {
        self.iter().map(|signature| Case { bytes: signature.bytes().to_vec(), len: 1 }).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Them, encoded one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Them, one by one.
    pub fn iter(&self) -> impl Iterator<Item = SignatureRef<'_>> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let (signature, after) = SignatureRef::split(rest).ok()?;
            rest = after;
            Some(signature)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_what_is_there_is_not_added_again() {
        let mut case = Case::new();
        case.push(Kind::Pyzor, &[7; 20]).expect("a digest");
        case.push(Kind::RazorE8, &[8; 8]).expect("a digest");
        case.push(Kind::Pyzor, &[7; 20]).expect("a digest");
        assert_eq!(case.len(), 2);
        assert_eq!(case.bytes()[..4], [5, 20, 0, 7]);
        assert_eq!(Case::decode(case.bytes()), Ok(case));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let error = |bytes: &[u8]| Case::decode(bytes).expect_err("not a case").to_string();
        assert_eq!(error(&[5, 20]), "a signature is cut off: 2 bytes of 3");
        assert_eq!(error(&[99, 20, 0]), "there is no kind with number 99");
        assert_eq!(error(&[5, 19, 0]), "a digest of pyzor has 20 bytes, not 19");
        assert_eq!(error(&[5, 20, 0, 1]), "a signature is cut off: 4 bytes of 23");
        let mut many = Case::new();
        let push = |case: &mut Case, number: u16| {
            let mut digest = [0; 8];
            digest[..2].copy_from_slice(&number.to_le_bytes());
            case.push(Kind::RazorE8, &digest)
        };
        (0..256).for_each(|number| push(&mut many, number).expect("room"));
        assert_eq!(push(&mut many, 256).expect_err("full").to_string(), "a case has at most 256 signatures");
    }

    #[test]
    fn signatures_below_their_floor_are_left_out() {
        let mail = b"Subject: hi\r\n\r\nsee you\r\n";
        assert!(Case::of_message(mail, &Ep4::default()).iter().all(|one| one.kind() != Kind::Exact1));
    }
}
