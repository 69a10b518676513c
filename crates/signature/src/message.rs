//! Any bytes are mail: what a reader sees of it, where its links lead, what is attached.

use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
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
        if seen.text.trim().is_empty() {
            read_broken(&parsed, &mut seen);
        }
        (message.text, message.links) = (seen.text, seen.links);
        let shown = parsed.html_body.iter().chain(&parsed.text_body).copied().collect::<Vec<u32>>();
        for (number, part) in parsed.parts.into_iter().enumerate() {
            if message.attachments.len() < ATTACHMENTS_MAX && !shown.contains(&(number as u32)) {
                message.attachments.extend(attachment(number as u32, part));
            }
        }
        message
    }
}

/// Reads what the parser gave up on: texts whose encoding is broken, or that nothing ends, as bulk mailers leave them.
/// Readers' programs show them, so they are text. HTML comes first, since of alternatives it is the one shown.
fn read_broken(parsed: &Parsed<'_>, seen: &mut Seen) {
    for subtype in ["html", "plain"] {
        for part in parsed.parts.iter().filter(|part| part.is_encoding_problem && is_text(part, subtype)) {
            let (from, to) = (part.offset_body as usize, part.offset_end as usize);
            let text = decoded(part, parsed.raw_message.get(from..to).unwrap_or_default());
            match subtype {
                "html" => visible::read(&text, TEXT_BYTES_MAX, seen),
                _ => append(&mut seen.text, &text),
            }
            seen.text.push('\n');
        }
        if !seen.text.trim().is_empty() {
            return;
        }
    }
}

/// Whether a part is a text of this subtype, and not attached.
fn is_text(part: &MessagePart<'_>, subtype: &str) -> bool {
    let is_attached = part.content_disposition().is_some_and(|disposition| disposition.is_attachment());
    let is = |media: &mail_parser::ContentType<'_>| {
        media.ctype().eq_ignore_ascii_case("text")
            && media.subtype().is_some_and(|of| of.eq_ignore_ascii_case(subtype))
    };
    !is_attached && part.content_type().is_some_and(is)
}

/// The text of a part, decoded as far as it goes.
fn decoded(part: &MessagePart<'_>, raw: &[u8]) -> String {
    let encoding = part.content_transfer_encoding().unwrap_or_default().to_ascii_lowercase();
    let bytes = match encoding.as_str() {
        "base64" => base64(raw),
        "quoted-printable" => quoted_printable_decode(raw).unwrap_or_else(|| raw.to_vec()),
        _ => raw.to_vec(),
    };
    let charset = part.content_type().and_then(|media| media.attribute("charset"));
    match charset.and_then(|charset| charset_decoder(charset.as_bytes())) {
        Some(decode) => decode(&bytes),
        None => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// Base64 up to its padding, or to a line that parts messages; other characters are passed over.
fn base64(raw: &[u8]) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(raw.len() / 4 * 3), 0u32, 0);
    let lines = raw.split(|&byte| byte == b'\n').take_while(|line| !line.starts_with(b"--"));
    for &byte in lines.flatten() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => continue,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(mail: &str) -> String {
        Message::parse(mail.as_bytes()).text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Bulk mailers of 2002 left the last boundary out, and their texts had no words.
    #[test]
    fn a_text_that_nothing_ends_is_text_all_the_same() {
        let mail = |media: &str, encoding: &str, body: &str| {
            format!(
                "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: {media}\n\
                 Content-Transfer-Encoding: {encoding}\n\n{body}\n"
            )
        };
        assert_eq!(words(&mail("text/plain", "base64", "SGVscCB3\nYW50ZWQu\n")), "Help wanted.");
        assert_eq!(words(&mail("text/html", "base64", "PGI+SGk8L2I+IG5vdw==\n")), "Hi now");
        assert_eq!(words(&mail("text/plain; charset=iso-8859-1", "base64", "6Q==\n")), "\u{e9}");
        assert_eq!(words(&mail("text/html", "quoted-printable", "a=20<b>b</b> c=3Dd\n")), "a b c=d");
        assert_eq!(words(&mail("text/html", "7bit", "<p>a</p>b\n")), "a b");
    }

    #[test]
    fn broken_base64_is_read_as_far_as_it_goes() {
        assert_eq!(base64(b"SGVs*cCB3\r\nYW50ZWQu\n--b--\nSGVs"), b"Help wanted.");
        assert_eq!(base64(b"YQ==SGVs"), b"a");
    }
}
