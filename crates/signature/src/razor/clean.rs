//! From prepared text to clean text: encodings undone, HTML stripped, line feeds at the end removed.

use memchr::{memchr, memchr_iter, memrchr};

use super::text::{find_any_case, is_blank, is_space, leading, split_at_blank_line, starts_with_any_case};
use crate::transfer::base64_value;

/// Below this, a text that looks like the header of a part yields no signature.
const HEADER_LIKE_BYTES_MAX: usize = 127;

/// The text with base64 and then quoted-printable undone.
pub(super) fn decoded(prepared: Vec<u8>) -> Vec<u8> {
    let text = base64_undone(&prepared).unwrap_or(prepared);
    quoted_printable_undone(&text).unwrap_or(text)
}

/// What follows the blank line, without line feeds at its end.
pub(super) fn body(text: &[u8]) -> Option<&[u8]> {
    let (_, body) = split_at_blank_line(text)?;
    let end = body.iter().rposition(|&byte| byte != b'\n').map_or(0, |at| at + 1);
    Some(&body[..end])
}

/// Whether a part with this clean text, HTML and all, yields signatures.
pub(super) fn yields_signatures(body: &[u8]) -> bool {
    !is_blank(body) && !is_header_like(body)
}

/// Whether a short text looks like a header: it starts with a line `Content...:`, and there is another one later or
/// nothing but white space behind some line feed.
fn is_header_like(text: &[u8]) -> bool {
    let starts_as_header = |text: &[u8]| {
        let name = text.strip_prefix(b"Content");
        name.is_some_and(|name| memchr(b':', &name[..leading(name, |byte| !is_space(byte))]).is_some())
    };
    if text.len() > HEADER_LIKE_BYTES_MAX || !starts_as_header(text) {
        return false;
    }
    text.split(|&byte| byte == b'\n').skip(1).any(|line| {
        let returns = leading(line, |byte| byte == b'\r');
        starts_as_header(&line[returns..])
    }) || memrchr(b'\n', text).is_some_and(|at| is_blank(&text[at..]))
}

/// The text with its base64 undone, if any of its lines says that it has some.
fn base64_undone(text: &[u8]) -> Option<Vec<u8>> {
    const PHRASE: &[u8] = b"content-transfer-encoding: base64";
    let first = find_any_case(text, PHRASE).next()?;
    find_any_case(text, PHRASE).find(|&at| at == 0 || text[at - 1] == b'\n')?;
    let rest = &text[first + PHRASE.len()..];
    // Without an empty line, all the rest is decoded, beyond any `=`.
    let encoded = match after_empty_line(rest) {
        Some(encoded) => &encoded[..memchr(b'=', encoded).unwrap_or(encoded.len())],
        None => rest,
    };
    let (header, _) = split_at_blank_line(text)?;
    let mut decoded = [header, b"\n\n"].concat();
    decode_base64(encoded, &mut decoded);
    Some(decoded)
}

/// What follows the first empty line whose line feeds have at most one carriage return each.
fn after_empty_line(text: &[u8]) -> Option<&[u8]> {
    memchr_iter(b'\n', text).find_map(|at| {
        let rest = &text[at + 1..];
        rest.strip_prefix(b"\n").or_else(|| rest.strip_prefix(b"\r\n"))
    })
}

/// Decodes what is in the alphabet of base64, as the client's decoder of lines of 60 characters does.
fn decode_base64(encoded: &[u8], decoded: &mut Vec<u8>) {
    const LINE_CHARS: usize = 60;
    // The decoder has no notion of padding: what stands at the end is removed, the rest has a value like any other.
    let end = encoded.iter().rposition(|&byte| base64_value(byte).is_some());
    let encoded = &encoded[..end.map_or(0, |end| end + 1)];
    let values: Vec<u8> = encoded.iter().filter_map(|&byte| value(byte)).collect();
    for four in values.chunks(4) {
        let bits =
            four.iter().fold(0u32, |bits, &value| bits << 6 | u32::from(value)) << (6 * (4 - four.len()));
        decoded.extend_from_slice(&bits.to_be_bytes()[1..four.len().max(1)]);
    }
    // The decoder takes a lone last character for the length of another line, whose bytes are missing.
    let last_line = (values.len() + LINE_CHARS - 1) % LINE_CHARS + 1;
    if let (1, 2.., Some(&value)) = (last_line % 4, last_line, values.last()) {
        decoded.extend(std::iter::repeat_n(0, usize::from(value)));
    }
}

/// What a character stands for to that decoder, which gives padding a value, too.
fn value(byte: u8) -> Option<u8> {
    if byte == b'=' { Some(29) } else { base64_value(byte) }
}

/// The text with its quoted-printable undone, if its header says that it has some.
fn quoted_printable_undone(text: &[u8]) -> Option<Vec<u8>> {
    const PHRASE: &[u8] = b"content-transfer-encoding: quoted-printable";
    let (header, body) = split_at_blank_line(text)?;
    header.split(|&byte| byte == b'\n').find(|line| starts_with_any_case(line, PHRASE))?;
    let mut decoded = text[..text.len() - body.len()].to_vec();
    // Soft line ends go first: what they cut in two is decoded.
    decode_escapes(&without_soft_line_ends(body), b'=', &mut decoded);
    Some(decoded)
}

fn without_soft_line_ends(body: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr(b'=', rest) {
        let after = &rest[at + 1..];
        let next = after.strip_prefix(b"\n").or_else(|| after.strip_prefix(b"\r\n"));
        joined.extend_from_slice(&rest[..if next.is_some() { at } else { at + 1 }]);
        rest = next.unwrap_or(after);
    }
    joined.extend_from_slice(rest);
    joined
}

/// Replaces each `mark` that two hex digits follow by the byte that these say.
pub(super) fn decode_escapes(text: &[u8], mark: u8, decoded: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(mark, rest) {
        decoded.extend_from_slice(&rest[..at]);
        let value = rest.get(at + 1..at + 3).and_then(|digits| Some(hex(digits[0])? << 4 | hex(digits[1])?));
        decoded.push(value.unwrap_or(mark));
        rest = &rest[at + if value.is_some() { 3 } else { 1 }..];
    }
    decoded.extend_from_slice(rest);
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        let text = decoded(text.as_bytes().to_vec());
        body(&text).expect("there is a blank line").escape_ascii().to_string()
    }

    #[test]
    fn base64_wherever_a_line_says_so() {
        assert_eq!(clean("Content-Transfer-Encoding: BASE64x\n\nQU\nJD=DEF\n"), "ABC");
        assert_eq!(clean("A: b\n\nbody\nContent-Transfer-Encoding: base64\nxx\n\r\nQUJD"), "ABC");
        assert_eq!(clean("A: b\n\nbody\nContent-Transfer-Encoding: base64\nQUJD=QU= =\n"), "ABCu\\x05");
        let unsaid = "Content-Foo: Content-Transfer-Encoding: base64\n\nQUJD";
        assert_eq!(clean(unsaid), "QUJD");
    }

    #[test]
    fn base64_that_is_cut() {
        let decode = |text: &[u8]| {
            let mut decoded = Vec::new();
            decode_base64(text, &mut decoded);
            decoded
        };
        assert_eq!(decode(b"QUJDRA"), b"ABCD");
        assert_eq!(decode(b"QUJDREU"), b"ABCDE");
        assert_eq!(decode(b"QUJDD"), b"ABC\0\0\0");
        assert_eq!(decode(b"D"), b"");
        assert_eq!(decode(&[&b"QUJD".repeat(15)[..], b"D"].concat()), b"ABC".repeat(15));
    }

    #[test]
    fn quoted_printable_where_the_header_says_so() {
        let body = "=4=\n1=\r\n =4a=4G=\r\r\n=\n\n";
        assert_eq!(clean(&format!("content-transfer-encoding: quoted-printable\n\n{body}")), "A J=4G=\\r\\r");
        assert!(clean("A: b\n\nContent-Transfer-Encoding: quoted-printable\n=41").ends_with("=41"));
    }

    #[test]
    fn what_looks_like_a_header() {
        let like = [
            "Content: x\nContent-y:",
            "Content:\n ",
            "Content: x\nfoo\n\rContent1: y\nz",
            "Content-x:\n.\n\t",
        ];
        for text in like {
            assert!(!yields_signatures(text.as_bytes()), "{text:?}");
        }
        let unlike =
            ["Content: x", "Content x: y\n ", "content: x\n ", "Content: x\nfoo", "Content: x\n Content: y"];
        for text in unlike {
            assert!(yields_signatures(text.as_bytes()), "{text:?}");
        }
        let long = |len: usize| [&b"Content: "[..], &b"x".repeat(len - 11), b"\n "].concat();
        assert!(!yields_signatures(&long(127)));
        assert!(yields_signatures(&long(128)));
    }
}
