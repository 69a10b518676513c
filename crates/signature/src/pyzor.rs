//! The digest of the Pyzor client, to the bit: SHA-1 over a few lines of the text of a message.
//!
//! The client is a Python program and leaves reading the mail and the HTML to Python's standard library. So what
//! counts is what that library (3.11) makes of a message, broken messages included. Each module below answers for one
//! piece of it: `parts` for the parser of mail, `header` for the parameters of a Content-Type, `crate::transfer` for
//! base64 and its kin, `charset` for codecs, `html` for the parser of HTML and `lines` for Pyzor's own rules.
//!
//! For some messages the client ends with a traceback, and no digest exists. Then the answer is `None`.
//!
//! Known limits, where a digest can differ from the client's:
//! - a Content-Type of more than `header::VALUE_BYTES_MAX` bytes is cut there;
//! - codecs that hardly any mail uses (see `charset`), and lone surrogates, which Python can hold and we cannot;
//! - the depth at which Python gives up (`parts::CONTAINERS_MAX`) depends on its version.

use std::fmt;

use sha1::{Digest as _, Sha1};

mod charset;
mod header;
mod html;
mod lines;
mod multibyte;
mod parts;
mod shifted;

use charset::OnError;
use header::Param;
use lines::Kept;
use parts::Leaf;

use crate::transfer;

/// Up to this many kept lines, all of them are hashed.
const ALL_LINES_MAX: usize = 4;

/// Where the hashed lines of a longer text begin, in percent of all kept lines.
const STARTS_PERCENT: [usize; 2] = [20, 60];

/// How many lines are taken from each start.
const TAKEN_LINES: usize = 3;

/// Python would end here with an exception that the client does not catch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Crash;

/// What a Pyzor client reports and asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 20]);

impl Digest {
    /// The digest of the lines that [`predigest`] gives.
    pub fn of(lines: &[String]) -> Self {
        let mut hash = Sha1::new();
        lines.iter().for_each(|line| hash.update(line));
        Digest(hash.finalize().into())
    }

    /// The digest of a message without lines that count. Such messages have nothing in common: refuse to count it.
    pub const EMPTY: Self = Self([
        0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef, 0x95, 0x60, 0x18, 0x90, 0xaf,
        0xd8, 0x07, 0x09,
    ]);

    /// The 20 bytes of the SHA-1.
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Whether this is the digest of nothing, which stands for no message in particular.
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }
}

/// 40 lowercase hex digits, as on the wire.
impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Digest({self})")
    }
}

/// The digest that the client computes, or `None` where it crashes.
pub fn digest(mail: &[u8]) -> Option<Digest> {
    predigest(mail).map(|lines| Digest::of(&lines))
}

/// The lines that are hashed, in their order, or `None` where the client crashes.
pub fn predigest(mail: &[u8]) -> Option<Vec<String>> {
    let kept = kept_lines(mail).ok()?;
    Some(chosen(kept.len()).into_iter().map(|number| kept.line(number).to_owned()).collect())
}

/// The numbers of the lines that are hashed. A line can be taken twice.
fn chosen(count: usize) -> Vec<usize> {
    if count <= ALL_LINES_MAX {
        return (0..count).collect();
    }
    let starts = STARTS_PERCENT.map(|percent| percent * count / 100);
    starts.into_iter().flat_map(|start| start..count.min(start + TAKEN_LINES)).collect()
}

/// The lines that count, of all parts.
fn kept_lines(mail: &[u8]) -> Result<Kept, Crash> {
    let mut kept = Kept::default();
    parts::each_leaf(mail, &mut |leaf| {
        // A report of delivery may have a part for each empty line.
        if !leaf.is_empty() {
            kept.add(&text(&leaf)?);
        }
        Ok(())
    })?;
    Ok(kept)
}

/// The text of a part without children.
fn text(leaf: &Leaf<'_>) -> Result<String, Crash> {
    if leaf.main_type() != "text" {
        return still_encoded(leaf);
    }
    let bytes = transfer::decode(&leaf.transfer, &leaf.body);
    let decoded = match charset_name(leaf)? {
        Some(name) => charset::decode(&name, &bytes, OnError::Ignore)?,
        None => None,
    };
    let text = decoded.unwrap_or_else(|| charset::decode_ascii(&bytes, OnError::Ignore));
    if leaf.sub_type() == "html" { html::strip(&text) } else { Ok(text) }
}

/// The name of the character set of a text. One with other characters than ASCII is as good as none.
fn charset_name(leaf: &Leaf<'_>) -> Result<Option<String>, Crash> {
    let name = match leaf.param("charset")? {
        Some(Param::Plain(name)) => Some(name),
        Some(Param::Extended { charset, text }) => {
            charset::check(charset.as_deref().unwrap_or_default())?;
            Some(text)
        }
        None => None,
    };
    Ok(name.filter(|name| name.is_ascii()))
}

/// A part that is no text is taken as it stands in the mail, before its transfer encoding is undone.
fn still_encoded(leaf: &Leaf<'_>) -> Result<String, Crash> {
    if leaf.body.is_ascii() {
        return Ok(charset::decode_ascii(&leaf.body, OnError::Replace));
    }
    let decoded = match leaf.param("charset")? {
        Some(Param::Plain(name)) => charset::decode(&name, &leaf.body, OnError::Replace)?,
        Some(Param::Extended { .. }) => return Err(Crash),
        None => None,
    };
    Ok(decoded.unwrap_or_else(|| charset::decode_ascii(&leaf.body, OnError::Replace)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_are_all_hashed() {
        assert_eq!(chosen(0), [0usize; 0]);
        assert_eq!(chosen(4), [0, 1, 2, 3]);
    }

    #[test]
    fn many_lines_are_sampled_twice() {
        assert_eq!(chosen(5), [1, 2, 3, 3, 4]);
        assert_eq!(chosen(10), [2, 3, 4, 6, 7, 8]);
    }

    #[test]
    fn nothing_has_the_empty_digest() {
        let empty = digest(b"").expect("no crash");
        assert!(empty.is_empty());
        assert_eq!(empty.to_string(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    }

    #[test]
    fn a_part_that_is_no_text_keeps_its_encoding() {
        let mail = b"Content-Type: application/x\n\nabcd efgh\xe9\n";
        assert_eq!(predigest(mail), Some(vec!["abcdefgh\u{fffd}".to_owned()]));
        let mail = b"Content-Type: application/x; charset=latin1\n\nabcd efgh\xe9\n";
        assert_eq!(predigest(mail), Some(vec!["abcdefgh\u{e9}".to_owned()]));
    }

    #[test]
    fn the_client_crashes_on_an_extended_charset_outside_text() {
        assert_eq!(predigest(b"Content-Type: application/x; charset*=a'b'utf-8\n\nabcd efgh\xe9\n"), None);
        assert_eq!(
            predigest(b"Content-Type: text/plain; charset*=a'b'utf-8\n\nabcd efgh\xc3\xa9\n"),
            Some(vec!["abcdefgh\u{e9}".to_owned()])
        );
    }
}
