//! A message in pieces, line by line, with its transfer encodings undone.
//!
//! This is no full parser. It knows headers, boundaries, quoted-printable and base64, which is all that the sums need,
//! and takes whatever it does not understand for text. Each byte is looked at a fixed number of times.

use crate::head::{boundary_at, fields, split_head, split_line};
use crate::transfer::base64_value;

/// Multiparts inside multiparts: deeper ones are taken for text. Real mail has a handful of levels, and each level
/// costs a comparison for each line that starts like a boundary.
const DEPTH_MAX: usize = 32;

/// What a piece of a message is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// What holds the parts together: boundaries, part headers, the text between parts.
    Frame,
    /// The decoded content of a part.
    Text,
}

/// Hands the pieces of a message's body to `sink`, in their order.
pub(super) fn walk(mail: &[u8], sink: &mut impl FnMut(Part, &[u8])) {
    let (head, mut rest) = split_head(mail);
    let mut boundaries = Vec::new();
    let mut content = enter(head, &mut boundaries);
    // One for all lines: a message may have a line for each byte.
    let mut decoded = Vec::new();
    while !rest.is_empty() {
        let line;
        (line, rest) = split_line(rest);
        let Some((level, is_end)) = boundary_at(line, &boundaries) else {
            content.put(line, &mut decoded, sink);
            continue;
        };
        content.end(sink);
        sink(Part::Frame, line);
        content = Content::Frame;
        if is_end {
            boundaries.truncate(level);
        } else {
            boundaries.truncate(level + 1);
            let head;
            (head, rest) = split_head(rest);
            sink(Part::Frame, head);
            content = enter(head, &mut boundaries);
        }
    }
    content.end(sink);
}

/// Reads the headers of a part: how its content is to be taken, and its boundary if it has parts of its own.
fn enter<'a>(head: &'a [u8], boundaries: &mut Vec<&'a [u8]>) -> Content {
    let mut content = Content::Plain;
    for field in fields(head) {
        if field.is("content-type") && boundaries.len() < DEPTH_MAX {
            if let Some(boundary) = boundary(field.value) {
                boundaries.push(boundary);
                return Content::Frame;
            }
        } else if field.is("content-transfer-encoding") {
            content = match field.value.trim_ascii() {
                name if name.eq_ignore_ascii_case(b"quoted-printable") => Content::Quoted,
                name if name.eq_ignore_ascii_case(b"base64") => Content::Base64(Bits::default()),
                _ => Content::Plain,
            };
        }
    }
    content
}

/// The boundary that a content type names, if it is a multipart's.
fn boundary(content_type: &[u8]) -> Option<&[u8]> {
    let kind = content_type.trim_ascii_start();
    if !kind.get(..10)?.eq_ignore_ascii_case(b"multipart/") {
        return None;
    }
    let at = kind.windows(8).position(|name| name.eq_ignore_ascii_case(b"boundary"))?;
    let value = kind[at + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let value = match value {
        [b'"', quoted @ ..] => quoted.split(|byte| *byte == b'"').next(),
        _ => value.split(|byte| *byte == b';' || byte.is_ascii_whitespace()).next(),
    };
    value.filter(|boundary| !boundary.is_empty())
}

/// How the lines of a part are to be taken.
enum Content {
    Frame,
    Plain,
    Quoted,
    Base64(Bits),
}

impl Content {
    fn put(&mut self, line: &[u8], decoded: &mut Vec<u8>, sink: &mut impl FnMut(Part, &[u8])) {
        decoded.clear();
        match self {
            Content::Frame => return sink(Part::Frame, line),
            Content::Plain => return sink(Part::Text, line),
            Content::Quoted => quoted(line, decoded),
            Content::Base64(bits) => bits.decode(line, decoded),
        }
        sink(Part::Text, decoded);
    }

    /// Encoded lines need not end where the text's lines do, but a part ends with a line.
    fn end(&mut self, sink: &mut impl FnMut(Part, &[u8])) {
        if matches!(self, Content::Quoted | Content::Base64(_)) {
            sink(Part::Text, b"\n");
        }
    }
}

/// Undoes quoted-printable in one line. What is not well formed stays as it is.
fn quoted(line: &[u8], text: &mut Vec<u8>) {
    let soft = line.trim_ascii_end();
    let mut rest = soft.strip_suffix(b"=").unwrap_or(line);
    while let [byte, after @ ..] = rest {
        let code = if *byte == b'=' { after.get(..2).and_then(hex_byte) } else { None };
        text.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let mut byte = [0];
    hex::decode_to_slice(digits, &mut byte).ok().map(|()| byte[0])
}

/// The bits of base64 that do not make a byte yet.
#[derive(Default)]
struct Bits {
    value: u32,
    count: u32,
}

impl Bits {
    /// Bytes that are not of the alphabet are skipped; padding ends a run, and what follows starts a new one.
    fn decode(&mut self, line: &[u8], bytes: &mut Vec<u8>) {
        for byte in line {
            let Some(six) = base64_value(*byte) else {
                if *byte == b'=' {
                    *self = Bits::default();
                }
                continue;
            };
            self.value = (self.value << 6 | u32::from(six)) & 0xfff;
            self.count += 6;
            if self.count >= 8 {
                self.count -= 8;
                bytes.push((self.value >> self.count) as u8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(mail: &str) -> String {
        let mut text = Vec::new();
        walk(mail.as_bytes(), &mut |part, piece| {
            if part == Part::Text {
                text.extend_from_slice(piece);
            }
        });
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn nested_parts_are_found() {
        let mail = "Content-Type: multipart/mixed;\r\n boundary=\"a b\"\r\n\r\npreamble\r\n--a b\r\n\
            Content-Type: Multipart/Alternative; BOUNDARY = in\r\n\r\n--in\r\n\r\none\r\n--in--\r\nbetween\r\n\
            --a b  \r\nContent-Transfer-Encoding: base64\r\n\r\ndHdv\r\n--a b--\r\nepilogue\r\n";
        assert_eq!(text_of(mail), "one\r\ntwo\n");
    }

    #[test]
    fn an_outer_boundary_ends_inner_parts() {
        let mail = "Content-Type: multipart/mixed; boundary=out\n\n--out\n\
            Content-Type: multipart/mixed; boundary=in\n\n--in\n\none\n--out\n\ntwo\n--in\nthree\n";
        assert_eq!(text_of(mail), "one\ntwo\n--in\nthree\n");
    }

    #[test]
    fn broken_encodings_stay_text() {
        let decoded = |decode: &dyn Fn(&mut Vec<u8>)| {
            let mut text = Vec::new();
            decode(&mut text);
            text
        };
        assert_eq!(decoded(&|text| quoted(b"a=3Db=zz=4=\r\n", text)), b"a=b=zz=4");
        assert_eq!(decoded(&|text| quoted(b"end= \t\n", text)), b"end");
        assert_eq!(decoded(&|text| Bits::default().decode(b"Y W\xff J=j\n", text)), b"ab");
    }

    #[test]
    fn multiparts_without_boundary_are_text() {
        assert_eq!(text_of("Content-Type: multipart/mixed\n\ntext\n"), "text\n");
        assert_eq!(text_of("Content-Type: multipart/mixed; boundary=\"\"\n\n--\ntext\n"), "--\ntext\n");
    }
}
