//! From a part to the text that is cleaned: line ends made one, long headers and bodies cut.

use memchr::{memchr, memrchr};

use super::split::RawPart;
use super::text::{is_false, leading};

/// Bytes of a part's body that the client looks at.
const BODY_BYTES_MAX: usize = 61_440;

/// Bytes of a part's header that the client looks at.
const HEADER_BYTES_MAX: usize = 4096;

/// The prepared text of a part: its header, an empty line, its body. A part without a body has none.
pub(super) fn prepared(part: &RawPart<'_>) -> Option<Vec<u8>> {
    if is_false(part.body) {
        return None;
    }
    let (mut header, _) = one_line_end(&part.header, usize::MAX);
    let (body, body_len) = one_line_end(part.body, BODY_BYTES_MAX);
    if body_len > BODY_BYTES_MAX {
        header.splice(..0, format!("X-Razor2-Origlen-Body: {body_len}\n").into_bytes());
    }
    if header.len() > HEADER_BYTES_MAX {
        header.splice(..0, format!("X-Razor2-Origlen-Header: {}\n", header.len()).into_bytes());
        header.truncate(HEADER_BYTES_MAX);
        empty_last_line(&mut header);
    }
    header.push(b'\n');
    header.extend_from_slice(&body);
    Some(header)
}

/// Removes what stands in the last line, which the cut has left incomplete. If the cut was between two lines,
/// the client removes a whole line but for its line feed, and the header ends there.
fn empty_last_line(header: &mut Vec<u8>) {
    let end = header.len() - usize::from(header.ends_with(b"\n"));
    let start = memrchr(b'\n', &header[..end]).map_or(0, |at| at + 1);
    header.drain(start..end);
}

/// The first bytes of the text with every carriage return before a line feed removed, and how long it is in all.
fn one_line_end(text: &[u8], bytes_max: usize) -> (Vec<u8>, usize) {
    let mut kept = Vec::with_capacity(text.len().min(bytes_max));
    let mut len = 0;
    let mut keep = |bytes: &[u8]| {
        len += bytes.len();
        let room = bytes_max - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    };
    let mut rest = text;
    while let Some(at) = memchr(b'\r', rest) {
        let returns = leading(&rest[at..], |byte| byte == b'\r');
        let before_feed = rest.get(at + returns) == Some(&b'\n');
        keep(&rest[..if before_feed { at } else { at + returns }]);
        rest = &rest[at + returns..];
    }
    keep(rest);
    (kept, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'a>(header: &[u8], body: &'a [u8]) -> RawPart<'a> {
        RawPart { header: header.to_vec(), body }
    }

    #[test]
    fn line_ends_become_one() {
        let text = prepared(&part(b"a\r\nb\r\r\n", b"c\r\nd\re\r\r\n\r"));
        assert_eq!(text.as_deref(), Some(&b"a\nb\n\nc\nd\re\n\r"[..]));
        assert_eq!(prepared(&part(b"a\n", b"0")), None);
        assert_eq!(prepared(&part(b"a\n", b"")), None);
    }

    #[test]
    fn long_bodies_are_cut_after_their_line_ends_are_made_one() {
        let body = b"x\r\n".repeat(BODY_BYTES_MAX);
        let text = prepared(&part(b"a\n", &body)).expect("there is a body");
        let header = b"X-Razor2-Origlen-Body: 122880\na\n\n";
        assert!(text.starts_with(header));
        assert_eq!(text.len(), header.len() + BODY_BYTES_MAX);
        let text = prepared(&part(b"a\n", &body[..BODY_BYTES_MAX / 2 * 3])).expect("there is a body");
        assert_eq!(text.len(), b"a\n\n".len() + BODY_BYTES_MAX);
    }

    #[test]
    fn long_headers_are_cut_to_whole_lines() {
        let text = prepared(&part(&b"0123456\n".repeat(600), b"body")).expect("there is a body");
        let expected =
            [b"X-Razor2-Origlen-Header: 4800\n", &b"0123456\n".repeat(508)[..], b"\nbody"].concat();
        assert_eq!(text, expected);
    }

    #[test]
    fn a_header_cut_between_two_lines_loses_a_line_but_not_its_line_feed() {
        let header = [&b"0123456\n".repeat(508)[..], b"x\n", &b"0123456\n".repeat(100)].concat();
        let text = prepared(&part(&header, b"body")).expect("there is a body");
        let expected =
            [b"X-Razor2-Origlen-Header: 4866\n", &b"0123456\n".repeat(508)[..], b"\n\nbody"].concat();
        assert_eq!(text, expected);
    }
}
