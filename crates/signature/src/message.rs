//! Any bytes are mail: what a reader sees of it, where its links lead, what is attached.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::parts::{self, Part};
use crate::visible::{self, Seen};

/// The text of one message that is looked at. Letters of a megabyte are a book, or an attack on our time.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// What there is in a message.
#[derive(Debug, Default)]
pub struct Message<'a> {
    /// Its subject, decoded.
    pub subject: String,
    /// What a reader sees: the HTML body as shown where there is one, else the plain text.
    pub text: String,
    /// Where the links of its HTML lead, as written.
    pub links: Vec<String>,
    /// What is attached, and images shown in the text.
    pub attachments: Vec<Attachment<'a>>,
}

/// Something attached.
#[derive(Debug)]
pub struct Attachment<'a> {
    /// The number of its part in the message.
    pub part: u32,
    /// `type/subtype`, in lower case.
    pub media: String,
    /// Its bytes, decoded.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Message<'a> {
    /// Reads a message. A first line that begins with `From ` or `>From ` is an mbox's, and is passed over.
    pub fn parse(raw: &'a [u8]) -> Self {
        let raw = without_envelope(raw);
        let parts = parts::parts(raw);
        let Seen { text, links } = read(&parts);
        let attached = (0..).zip(&parts).filter(|(_, part)| !part.is_shown() && !is_message(part));
        let attachments = attached.map(|(number, part)| attachment(number, part)).collect();
        Message { subject: parts::subject(raw), text, links, attachments }
    }
}

/// What tells a reader which message it is; decoded, and otherwise as its sender wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// Whom it says it is from.
    pub from: Option<String>,
    /// What it says it is about.
    pub subject: Option<String>,
}

impl Heading {
    /// Reads the head of a message.
    pub fn read(raw: &[u8]) -> Self {
        let raw = without_envelope(raw);
        Heading { from: parts::text_field(raw, "from"), subject: parts::text_field(raw, "subject") }
    }
}

/// What a reader sees of some parts: of alternatives the HTML one where it has any words, else the plain text.
fn read(parts: &[Part<'_>]) -> Seen {
    let shown: Vec<&Part<'_>> = parts.iter().filter(|part| part.is_shown()).collect();
    let html: Vec<Option<Seen>> = shown.iter().map(|part| part.is_html().then(|| of_html(part))).collect();
    let has_words = |seen: &Seen| seen.text.contains(char::is_alphanumeric);
    let with_html: HashSet<usize> = shown
        .iter()
        .zip(&html)
        .filter(|(_, html)| html.as_ref().is_some_and(has_words))
        .filter_map(|(part, _)| part.alternatives)
        .collect();
    let mut seen = Seen::default();
    for (part, html) in shown.into_iter().zip(html) {
        if let Some(html) = html {
            append(&mut seen.text, &html.text);
            seen.links.extend(html.links);
        } else if part.alternatives.is_none_or(|number| !with_html.contains(&number)) {
            append(&mut seen.text, &part.text());
        }
        seen.text.push('\n');
    }
    seen.links.truncate(visible::LINKS_MAX);
    seen
}

fn of_html(part: &Part<'_>) -> Seen {
    let mut seen = Seen::default();
    visible::read(&part.text(), TEXT_BYTES_MAX, &mut seen);
    seen
}

/// Attached messages and reports of delivery have heads that no two share.
fn is_message(part: &Part<'_>) -> bool {
    part.media.starts_with("message/")
}

fn attachment<'a>(number: u32, part: &Part<'a>) -> Attachment<'a> {
    Attachment { part: number, media: part.media.clone(), bytes: part.bytes() }
}

/// The message behind an mbox's line, if there is one.
pub(crate) fn without_envelope(raw: &[u8]) -> &[u8] {
    if !raw.starts_with(b"From ") && !raw.starts_with(b">From ") {
        return raw;
    }
    raw.iter().position(|&byte| byte == b'\n').map_or(raw, |end| &raw[end + 1..])
}

/// Appends text as far as there is room.
fn append(text: &mut String, more: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(text.len());
    let end = more.floor_char_boundary(room);
    text.push_str(&more[..end]);
}
