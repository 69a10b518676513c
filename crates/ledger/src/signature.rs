//! Signatures as the ledger takes them: kind, length and digest in one run of bytes.
//!
//! The same bytes are hashed, journalled, and sent in binary bodies, so nothing is copied on the way:
//!
//! ```text
//! kind    1 byte, see `Kind::code`
//! length  2 bytes, lowest first
//! digest  that many bytes; each kind has one length
//! ```

use seenit_signature::razor::{self, E4, Ep4};
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

    /// The signatures that are not withheld, each once, up to [`SIGNATURES_MAX`]. Those of Razor's engine 4 are one: of
    /// all parts together, those below their floor included, unless all of them are.
    pub fn of_signatures(signatures: &[Signature]) -> Self {
        let e4 = |signature: &Signature| {
            let digest = Some(signature.digest.to_bytes()).filter(|_| signature.kind == Kind::RazorE4);
            digest.and_then(|digest| digest.try_into().ok()).map(E4)
        };
        let razor = razor::together(signatures.iter().filter_map(e4));
        let mut case = Case::new();
        for signature in signatures.iter().filter(|signature| !signature.withheld) {
            let digest = match (signature.kind, razor) {
                (Kind::RazorE4, Some(razor)) => razor.0.to_vec(),
                _ => signature.digest.to_bytes(),
            };
            // What `sign` makes has the length of its kind; beyond the limit the rest is left out.
            if case.push(signature.kind, &digest).is_err() {
                break;
            }
        }
        case
    }

    /// The same case with one signature of Razor's engine 4, where it has one for each of several parts.
    pub(crate) fn with_razor_together(&self) -> Option<Case> {
        let is_e4 = |signature: &SignatureRef<'_>| signature.kind() == Kind::RazorE4;
        self.iter().filter(is_e4).nth(1)?;
        let parts = self.iter().filter(is_e4).filter_map(|one| one.digest().try_into().ok().map(E4));
        let mut case = Case::new();
        for signature in self.iter().filter(|signature| !is_e4(signature)) {
            // It was in a case: it fits into one.
            let _ = case.add(signature);
        }
        if let Some(E4(digest)) = razor::together(parts) {
            // There were at least two of them, so there is room for one.
            let _ = case.push(Kind::RazorE4, &digest);
        }
        Some(case)
    }

    /// Reads signatures that follow each other to the end of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, SignatureError> {
        let mut case = Case::new();
        let mut rest = bytes;
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
    fn razor_names_a_message_by_all_its_parts_and_not_by_one() {
        let part = |text: &str| format!("--b\nContent-Type: text/plain\n\n{text}\n");
        let mail = |parts: &[&str]| {
            let parts: String = parts.iter().map(|text| part(text)).collect();
            format!("From: a@b.c\nContent-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n")
        };
        let text = "a text of its own that is long enough to be told from all the others that people write";
        let footer = "to leave this list write to those who keep it and tell them what your address is today";
        let razor = |parts: &[&str]| {
            let case = Case::of_message(mail(parts).as_bytes(), &Ep4::default());
            let mut of_razor = case.iter().filter(|one| one.kind() == Kind::RazorE4);
            let digest = of_razor.next().map(|one| one.digest().to_vec());
            assert!(of_razor.next().is_none(), "one of all parts");
            digest
        };
        assert_ne!(razor(&[text, footer]), razor(&[footer]));
        assert_ne!(razor(&[text, footer]), razor(&["thank you", footer]), "parts below the floor are parts");
        assert_eq!(razor(&[text, footer]), razor(&[footer, text]));
        assert_eq!(razor(&["thank you"]), None);
    }

    #[test]
    fn a_case_with_many_parts_of_razor_has_one_signature_of_them() {
        let mut case = Case::new();
        case.push(Kind::Pyzor, &[7; 20]).expect("a digest");
        assert_eq!(case.with_razor_together(), None);
        [1, 2].iter().for_each(|byte| case.push(Kind::RazorE4, &[*byte; 20]).expect("a digest"));
        let both = case.with_razor_together().expect("two parts");
        let together = razor::together([E4([1; 20]), E4([2; 20])]);
        let digests: Vec<&[u8]> = both.iter().map(SignatureRef::digest).collect();
        assert_eq!(digests, [&[7; 20][..], &together.expect("two parts").0]);
    }

    #[test]
    fn signatures_below_their_floor_are_left_out() {
        let mail = b"Subject: hi\r\n\r\nsee you\r\n";
        assert!(Case::of_message(mail, &Ep4::default()).iter().all(|one| one.kind() != Kind::Exact1));
    }
}
