//! Any bytes are mail: what a reader sees of it, where its links lead, what is attached.

use mail_parser::{Message as Parsed, MessageParser, MessagePart, MimeHeaders, PartType};

use crate::visible::{self, Seen};

/// The text of one message that is looked at. Letters of a megabyte are a book, or an attack on our time.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Attachments of one message that are looked at.
pub const ATTACHMENTS_MAX: usize = 256;

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
    pub bytes: std::borrow::Cow<'a, [u8]>,
}

impl<'a> Message<'a> {
    /// Reads a message. A first line that begins with `From ` is an mbox's, and is passed over.
    pub fn parse(raw: &'a [u8]) -> Self {
        let raw = without_envelope(raw);
        match MessageParser::default().parse(raw) {
            Some(parsed) => Message::read(parsed),
            // Not even a header: all of it is text.
            None => Message { text: lossy(raw), ..Message::default() },
        }
    }

    fn read(parsed: Parsed<'a>) -> Self {
        let mut message =
            Message { subject: parsed.subject().unwrap_or_default().to_owned(), ..Message::default() };
        let mut seen = Seen::default();
        // One alternative is shown: HTML where there is one. `html_body` also lists plain texts that have no twin.
        for &number in &parsed.html_body {
            match parsed.parts.get(number as usize).map(|part| &part.body) {
                Some(PartType::Html(html)) => visible::read(html, TEXT_BYTES_MAX, &mut seen),
                Some(PartType::Text(text)) => append(&mut seen.text, text),
                _ => {}
            }
            seen.text.push('\n');
        }
        (message.text, message.links) = (seen.text, seen.links);
        let mut shown = vec![false; parsed.parts.len()];
        for &number in parsed.html_body.iter().chain(&parsed.text_body) {
            if let Some(shown) = shown.get_mut(number as usize) {
                *shown = true;
            }
        }
        let attached = (0..).zip(parsed.parts).zip(shown).filter(|(_, shown)| !shown);
        message.attachments = attached
            .filter_map(|((number, part), _)| attachment(number, part))
            .take(ATTACHMENTS_MAX)
            .collect();
        message
    }
}

fn attachment<'a>(number: u32, part: MessagePart<'a>) -> Option<Attachment<'a>> {
    let media = part.content_type().map_or_else(
        || "text/plain".to_owned(),
        |media| format!("{}/{}", media.ctype(), media.subtype().unwrap_or("plain")).to_ascii_lowercase(),
    );
    let bytes = match part.body {
        PartType::Binary(bytes) | PartType::InlineBinary(bytes) => bytes,
        PartType::Text(text) | PartType::Html(text) => match text {
            std::borrow::Cow::Borrowed(text) => text.as_bytes().into(),
            std::borrow::Cow::Owned(text) => text.into_bytes().into(),
        },
        PartType::Message(_) | PartType::Multipart(_) => return None,
    };
    Some(Attachment { part: number, media, bytes })
}

/// The message behind an mbox's line, if there is one.
fn without_envelope(raw: &[u8]) -> &[u8] {
    if !raw.starts_with(b"From ") {
        return raw;
    }
    raw.iter().position(|&byte| byte == b'\n').map_or(raw, |end| &raw[end + 1..])
}

/// Appends text as far as there is room.
fn append(text: &mut String, more: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(text.len());
    let end = (0..=more.len().min(room)).rev().find(|&end| more.is_char_boundary(end)).unwrap_or(0);
    text.push_str(&more[..end]);
}

fn lossy(raw: &[u8]) -> String {
    String::from_utf8_lossy(&raw[..raw.len().min(TEXT_BYTES_MAX)]).into_owned()
}
