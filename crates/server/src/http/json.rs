//! JSON bodies of the verbs, read in one pass into encoded signatures.
//!
//! `{"case": [S, ...]}`, `{"cases": [[S, ...], ...]}` or `{"signatures": [S, ...]}`, where S is
//! `{"kind": "exact1", "digest": "<hexadecimal>"}`. Digests are decoded where they stand in the body: a batch costs
//! two buffers, whatever its length.

use std::fmt;

use seenit_ledger::signature::{Case, HEAD_BYTES, SIGNATURES_MAX as CASE_SIGNATURES_MAX, SignatureRef};
use seenit_signature::Kind;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::problem::Problem;
use crate::limits::{CASES_MAX, SIGNATURES_MAX};

/// Which key the body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Case,
    Cases,
    Signatures,
}

/// A body that was read.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) shape: Shape,
    pub(crate) recipients: Option<u64>,
    encoded: Encoded,
}

/// Encoded signatures one after the other, and where cases end.
#[derive(Debug, Default)]
struct Encoded {
    bytes: Vec<u8>,
    signatures: usize,
    case_ends: Vec<usize>,
    over: Option<Over>,
}

/// A limit that was passed. Parsers only say "error", so that it is noted beside.
#[derive(Clone, Copy, Debug)]
enum Over {
    Signatures,
    CaseSignatures,
    Cases,
}

impl Request {
    /// Reads a body.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Problem> {
        // Of a signature in JSON, less than half is digest; hexadecimal halves that.
        let mut encoded = Encoded { bytes: Vec::with_capacity(body.len() / 2), ..Encoded::default() };
        let mut parser = serde_json::Deserializer::from_slice(body);
        let parsed = Top(&mut encoded).deserialize(&mut parser).and_then(|top| parser.end().map(|()| top));
        match (parsed, encoded.over) {
            (_, Some(Over::Signatures)) => Err(Problem::too_many_signatures()),
            (_, Some(Over::Cases)) => Err(Problem::too_many_cases()),
            (_, Some(Over::CaseSignatures)) => {
                Err(seenit_ledger::error::SignatureError::TooMany { most: CASE_SIGNATURES_MAX }.into())
            }
            (Err(error), None) => Err(Problem::bad_body(error.to_string())),
            (Ok((shape, recipients)), None) => Ok(Request { shape, recipients, encoded }),
        }
    }

    /// The signatures, whatever their cases.
    pub(crate) fn signatures(&self) -> Vec<SignatureRef<'_>> {
        let mut signatures = Vec::with_capacity(self.encoded.signatures);
        let mut rest = self.encoded.bytes.as_slice();
        while let Ok((signature, after)) = SignatureRef::split(rest) {
            signatures.push(signature);
            rest = after;
        }
        signatures
    }

    /// How many signatures there are.
    pub(crate) fn len(&self) -> usize {
        self.encoded.signatures
    }

    /// The cases.
    pub(crate) fn cases(&self) -> Result<Vec<Case>, Problem> {
        let mut start = 0;
        let mut cases = Vec::with_capacity(self.encoded.case_ends.len());
        for &end in &self.encoded.case_ends {
            cases.push(Case::decode(&self.encoded.bytes[start..end])?);
            start = end;
        }
        Ok(cases)
    }
}

/// The whole body.
struct Top<'b>(&'b mut Encoded);

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = (Shape, Option<u64>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

const ONE_OF_THREE: &str = "an object with one of \"case\", \"cases\" and \"signatures\"";

impl<'de> Visitor<'de> for Top<'_> {
    type Value = (Shape, Option<u64>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ONE_OF_THREE)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut shape = None;
        let mut recipients = None;
        while let Some(key) = map.next_key_seed(Text(|text: &str| TopKey::of(text)))? {
            let new_shape = match key {
                TopKey::Shape(new_shape) => new_shape,
                TopKey::Recipients if recipients.is_none() => {
                    recipients = Some(map.next_value()?);
                    continue;
                }
                TopKey::Recipients => return Err(A::Error::duplicate_field("recipients")),
                TopKey::Unknown(name) => return Err(unknown(&name, "case, cases, signatures, recipients")),
            };
            if shape.replace(new_shape).is_some() {
                return Err(A::Error::custom(format_args!("expected {ONE_OF_THREE}, not two of them")));
            }
            match new_shape {
                Shape::Case => map.next_value_seed(OneCase(self.0))?,
                Shape::Cases => map.next_value_seed(Cases(self.0))?,
                Shape::Signatures => {
                    map.next_value_seed(Signatures { encoded: self.0, most: SIGNATURES_MAX })?
                }
            }
        }
        let shape = shape.ok_or_else(|| A::Error::custom(format_args!("expected {ONE_OF_THREE}")))?;
        Ok((shape, recipients))
    }
}

enum TopKey {
    Shape(Shape),
    Recipients,
    Unknown(String),
}

impl TopKey {
    fn of(text: &str) -> Self {
        match text {
            "case" => TopKey::Shape(Shape::Case),
            "cases" => TopKey::Shape(Shape::Cases),
            "signatures" => TopKey::Shape(Shape::Signatures),
            "recipients" => TopKey::Recipients,
            _ => TopKey::Unknown(shorten(text)),
        }
    }
}

/// A list of cases.
struct Cases<'b>(&'b mut Encoded);

impl<'de> DeserializeSeed<'de> for Cases<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Cases<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of lists of signatures")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(OneCase(self.0))?.is_some() {
            if self.0.case_ends.len() > CASES_MAX {
                return Err(self.0.over(Over::Cases));
            }
        }
        Ok(())
    }
}

/// One case.
struct OneCase<'b>(&'b mut Encoded);

impl<'de> DeserializeSeed<'de> for OneCase<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        Signatures { encoded: self.0, most: CASE_SIGNATURES_MAX }.deserialize(deserializer)?;
        self.0.case_ends.push(self.0.bytes.len());
        Ok(())
    }
}

/// A list of signatures.
struct Signatures<'b> {
    encoded: &'b mut Encoded,
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Signatures<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Signatures<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of signatures")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        while list.next_element_seed(OneSignature(self.encoded))?.is_some() {
            number += 1;
            if number > self.most && self.most == CASE_SIGNATURES_MAX {
                return Err(self.encoded.over(Over::CaseSignatures));
            }
        }
        Ok(())
    }
}

impl Encoded {
    fn over<E: Error>(&mut self, over: Over) -> E {
        self.over = Some(over);
        E::custom("too many")
    }
}

/// One signature.
struct OneSignature<'b>(&'b mut Encoded);

impl<'de> DeserializeSeed<'de> for OneSignature<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneSignature<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signature: {\"kind\": NAME, \"digest\": HEXADECIMAL}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let bytes = &mut self.0.bytes;
        let start = bytes.len();
        bytes.extend_from_slice(&[0; HEAD_BYTES]);
        let mut kind = None;
        let mut has_digest = false;
        while let Some(key) = map.next_key_seed(Text(|text: &str| Field::of(text)))? {
            match key {
                Field::Kind if kind.is_none() => kind = Some(map.next_value_seed(Text(kind_of))??),
                Field::Digest if !has_digest => {
                    map.next_value_seed(Text(|text: &str| decode_digest(text, bytes)))??;
                    has_digest = true;
                }
                Field::Kind => return Err(A::Error::duplicate_field("kind")),
                Field::Digest => return Err(A::Error::duplicate_field("digest")),
                Field::Unknown(name) => return Err(unknown(&name, "kind, digest")),
            }
        }
        let kind = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        if !has_digest {
            return Err(A::Error::missing_field("digest"));
        }
        finish::<A::Error>(kind, &mut bytes[start..])?;
        self.0.signatures += 1;
        if self.0.signatures > SIGNATURES_MAX { Err(self.0.over(Over::Signatures)) } else { Ok(()) }
    }
}

/// Writes the head before the digest.
fn finish<E: Error>(kind: Kind, signature: &mut [u8]) -> Result<(), E> {
    let length = signature.len() - HEAD_BYTES;
    let needs = kind.digest_bytes();
    if length != needs {
        return Err(E::custom(format_args!("a digest of {kind} has {needs} bytes, not {length}")));
    }
    signature[0] = kind.code();
    signature[1..HEAD_BYTES].copy_from_slice(&(length as u16).to_le_bytes());
    Ok(())
}

enum Field {
    Kind,
    Digest,
    Unknown(String),
}

impl Field {
    fn of(text: &str) -> Self {
        match text {
            "kind" => Field::Kind,
            "digest" => Field::Digest,
            _ => Field::Unknown(shorten(text)),
        }
    }
}

fn kind_of<E: Error>(text: &str) -> Result<Kind, E> {
    Kind::from_name(text).ok_or_else(|| E::custom(format_args!("there is no kind {:?}", shorten(text))))
}

fn decode_digest<E: Error>(text: &str, bytes: &mut Vec<u8>) -> Result<(), E> {
    let start = bytes.len();
    bytes.resize(start + text.len() / 2, 0);
    let is_plain = !text.starts_with("0x");
    let decoded = const_hex::decode_to_slice(text, &mut bytes[start..]);
    match decoded {
        Ok(()) if is_plain => Ok(()),
        _ => Err(E::custom(format_args!("the digest {:?} is not hexadecimal", shorten(text)))),
    }
}

/// As much of a text as an error shows.
fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}

fn unknown<E: Error>(name: &str, known: &str) -> E {
    E::custom(format_args!("there is no key {name:?} here, only {known}"))
}

/// A string that is looked at where it is, and not kept.
struct Text<F>(F);

impl<'de, T, F: FnOnce(&str) -> T> DeserializeSeed<'de> for Text<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T, F: FnOnce(&str) -> T> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok((self.0)(text))
    }
}

#[cfg(test)]
mod tests;
