//! A message in parts: heads, bodies, and what holds them together.
//!
//! One pass over the lines, with a list of the multiparts that are open. Broken mail is read as mail programs show it:
//! a part that no boundary ends goes to the end of what it stands in, and a multipart without parts is text. Attached
//! messages are one part each, and nothing inside them is looked at.
//!
//! Fields and character sets are mail-parser's. The structure is ours, because it has to be bounded: in mail-parser
//! 0.11 attached messages inside each other end in an overflow of the stack, and some heads take it the square of
//! their length.

use std::borrow::Cow;

use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::parsers::MessageStream;
use mail_parser::{ContentType, HeaderValue};

use crate::head::{self, Field};
use crate::transfer;

/// Parts of one message that are looked at. Real mail has a handful, digests some dozens.
pub(crate) const PARTS_MAX: usize = 256;

/// Multiparts inside multiparts. Each level costs a comparison for each line that begins like a boundary.
const DEPTH_MAX: usize = 32;

/// Bytes of a field that are looked at: subjects and types have a few hundred, and mail-parser takes the square of the
/// parameters of a type.
const FIELD_BYTES_MAX: usize = 8 << 10;

/// A part that has no parts.
pub(crate) struct Part<'m> {
    /// `type/subtype` in lower case.
    pub(crate) media: String,
    /// Whether its sender wants it kept apart from the text.
    pub(crate) is_attached: bool,
    /// The alternatives it is one of: the number of the innermost such multipart.
    pub(crate) alternatives: Option<usize>,
    charset: Option<String>,
    transfer: String,
    body: &'m [u8],
}

impl<'m> Part<'m> {
    /// A text of which nothing is known.
    fn text_of(body: &'m [u8], alternatives: Option<usize>) -> Self {
        let media = "text/plain".to_owned();
        Part { media, is_attached: false, alternatives, charset: None, transfer: String::new(), body }
    }

    /// Its bytes, decoded.
    pub(crate) fn bytes(&self) -> Cow<'m, [u8]> {
        transfer::decode(&self.transfer, self.body)
    }

    /// Its text, decoded.
    pub(crate) fn text(&self) -> Cow<'m, str> {
        let bytes = self.bytes();
        match self.charset.as_deref().and_then(|charset| charset_decoder(charset.as_bytes())) {
            Some(decode) => Cow::Owned(decode(&bytes)),
            None => match bytes {
                Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
                Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            },
        }
    }

    /// Whether it is an HTML text.
    pub(crate) fn is_html(&self) -> bool {
        self.media == "text/html"
    }

    /// Whether it is a text that is shown, or one of two texts of which one is shown.
    pub(crate) fn is_shown(&self) -> bool {
        !self.is_attached && (self.media == "text/plain" || self.is_html())
    }
}

/// The subject of a message, decoded.
pub(crate) fn subject(mail: &[u8]) -> String {
    text_field(mail, "subject").unwrap_or_default()
}

/// A field of a message's head that is text, decoded.
pub(crate) fn text_field(mail: &[u8], name: &str) -> Option<String> {
    let field = head::fields(split(mail).0).find(|field| field.is(name))?;
    match MessageStream::new(&value(&field)).parse_unstructured() {
        HeaderValue::Text(text) => Some(text.into_owned()),
        _ => None,
    }
}

/// What a message says that it is: `type/subtype` in lower case, and one parameter of it.
pub(crate) fn declared(mail: &[u8], parameter: &str) -> Option<(String, Option<String>)> {
    let field = head::fields(split(mail).0).find(|field| field.is("content-type"))?;
    let value = value(&field);
    let content_type = parameters(&value)?;
    let parameter = content_type.attribute(parameter).map(str::to_ascii_lowercase);
    Some((media(&content_type), parameter))
}

/// The parts of a message, in their order, as far as [`PARTS_MAX`].
pub(crate) fn parts(mail: &[u8]) -> Vec<Part<'_>> {
    let (head, mut rest) = split(mail);
    let mut walk = Walk::default();
    walk.enter(head, rest);
    while !rest.is_empty() && walk.parts.len() < PARTS_MAX {
        let before = rest;
        let line;
        (line, rest) = head::split_line(rest);
        let Some((level, is_end)) = head::boundary_at(line, &walk.boundaries) else { continue };
        walk.leave(if is_end { level } else { level + 1 }, before);
        if !is_end {
            let head;
            (head, rest) = split_until(rest, |line| head::boundary_at(line, &walk.boundaries).is_some());
            walk.enter(head, rest);
        }
    }
    walk.leave(0, rest);
    walk.parts.truncate(PARTS_MAX);
    walk.parts
}

/// Splits a message into head and body.
fn split(mail: &[u8]) -> (&[u8], &[u8]) {
    split_until(mail, |_| false)
}

/// Splits a message or a part into head and body. What begins neither with a field nor with an empty line has no head;
/// a head ends behind its first empty line, or before a line that `ends` it.
fn split_until(mail: &[u8], ends: impl Fn(&[u8]) -> bool) -> (&[u8], &[u8]) {
    if !begins_head(head::split_line(mail).0) {
        return (&[], mail);
    }
    let mut rest = mail;
    while !rest.is_empty() {
        let (line, behind) = head::split_line(rest);
        if ends(line) {
            break;
        }
        rest = behind;
        if matches!(line, b"\n" | b"\r\n") {
            break;
        }
    }
    mail.split_at(mail.len() - rest.len())
}

/// Whether a first line is a field, or the end of a head that has nothing in it.
fn begins_head(line: &[u8]) -> bool {
    let name = line.iter().position(|&byte| byte == b':').map(|colon| line[..colon].trim_ascii_end());
    matches!(line, b"" | b"\n" | b"\r\n")
        || name.is_some_and(|name| !name.is_empty() && name.iter().all(u8::is_ascii_graphic))
}

/// A multipart whose end has not been seen.
struct Open<'m> {
    /// What is behind its head.
    body: &'m [u8],
    /// How many parts there were before it.
    parts_before: usize,
    /// The alternatives that parts in it belong to.
    alternatives: Option<usize>,
    /// The type of parts that name none.
    default_media: &'static str,
}

/// Where the walk is.
#[derive(Default)]
struct Walk<'m> {
    parts: Vec<Part<'m>>,
    /// Whether the end of the last of them has not been seen.
    in_part: bool,
    open: Vec<Open<'m>>,
    /// Theirs, in the same order.
    boundaries: Vec<Vec<u8>>,
    /// How many were opened.
    multiparts: usize,
}

impl<'m> Walk<'m> {
    /// Begins the part or multipart with this head; `body` is all that is behind it.
    fn enter(&mut self, head: &[u8], body: &'m [u8]) {
        let field = |name| head::fields(head).find(|field| field.is(name)).map(|field| value(&field));
        let outer = self.open.last();
        let (alternatives, default_media) =
            outer.map_or((None, "text/plain"), |open| (open.alternatives, open.default_media));
        let content_type = field("content-type").unwrap_or_default();
        let content_type = parameters(&content_type);
        let media = content_type.as_ref().map_or_else(|| default_media.to_owned(), media);
        let parameter = |name| content_type.as_ref().and_then(|media| media.attribute(name));
        let boundary =
            parameter("boundary").filter(|boundary| media.starts_with("multipart/") && !boundary.is_empty());
        if let Some(boundary) = boundary.filter(|_| self.open.len() < DEPTH_MAX) {
            self.multiparts += 1;
            self.open.push(Open {
                body,
                parts_before: self.parts.len(),
                alternatives: if media == "multipart/alternative" {
                    Some(self.multiparts)
                } else {
                    alternatives
                },
                default_media: if media == "multipart/digest" { "message/rfc822" } else { "text/plain" },
            });
            self.boundaries.push(boundary.as_bytes().to_vec());
            return;
        }
        // A multipart that nothing tells apart is shown as it is.
        let media = if media.starts_with("multipart/") { "text/plain".to_owned() } else { media };
        let is_attached = match parameters(&field("content-disposition").unwrap_or_default()) {
            Some(disposition) => disposition.is_attachment(),
            None => parameter("name").is_some() && !self.parts.is_empty(),
        };
        let transfer = field("content-transfer-encoding").unwrap_or_default();
        let transfer = String::from_utf8_lossy(transfer.trim_ascii()).into_owned();
        let charset = parameter("charset").map(str::to_owned);
        self.parts.push(Part { media, is_attached, alternatives, charset, transfer, body });
        self.in_part = true;
    }

    /// Ends the last part, and all but the `keep` outermost multiparts, where `rest` begins. A multipart in which there
    /// was no part is a text.
    fn leave(&mut self, keep: usize, rest: &'m [u8]) {
        if let Some(part) = self.parts.last_mut().filter(|_| self.in_part) {
            part.body = before(part.body, rest);
        }
        self.in_part = false;
        self.boundaries.truncate(keep);
        while self.open.len() > keep
            && let Some(open) = self.open.pop()
        {
            if open.parts_before == self.parts.len() {
                self.parts.push(Part::text_of(before(open.body, rest), open.alternatives));
            }
        }
    }
}

/// What is in `body` before its end `rest`, without the line end that belongs to the boundary.
fn before<'m>(body: &'m [u8], rest: &[u8]) -> &'m [u8] {
    let body = &body[..body.len().saturating_sub(rest.len())];
    if rest.is_empty() {
        return body;
    }
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    body.strip_suffix(b"\r").unwrap_or(body)
}

/// The value of a field as far as it is looked at, and the line end that mail-parser wants.
fn value(field: &Field<'_>) -> Vec<u8> {
    let value = &field.value[..field.value.len().min(FIELD_BYTES_MAX)];
    [value.trim_ascii(), b"\n"].concat()
}

/// A type or disposition and its parameters.
fn parameters(value: &[u8]) -> Option<ContentType<'_>> {
    match MessageStream::new(value).parse_content_type() {
        HeaderValue::ContentType(found) => Some(found),
        _ => None,
    }
}

fn media(content_type: &ContentType<'_>) -> String {
    format!("{}/{}", content_type.ctype(), content_type.subtype().unwrap_or("plain")).to_ascii_lowercase()
}
