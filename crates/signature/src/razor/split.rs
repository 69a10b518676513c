//! From a mail to its parts.
//!
//! A part is a short header, its first line written by the client, and a body. Only header lines that start with
//! `Content-` or `X-Razor2` are kept. Parts of parts are found the same way, all from slices of the mail.

use memchr::{memchr, memmem};

use super::text::{
    find_any_case, is_blank, is_false, is_space, leading, split_at_blank_line, starts_with_any_case,
};

/// The line that the client writes on top of every part.
const AGENT_LINE: &[u8] = b"X-Razor2-Agent: Razor-Agents v2.84\n";

/// Multiparts inside each other. Every level reads the mail again, so this bounds the time; mail that people send has
/// fewer than ten. A deeper one is taken as a single part. The client has no limit.
const DEPTH_MAX: usize = 50;

/// Parts of a mail. More are left out, so that millions of parts of a few bytes do not cost many times their
/// own size. The client has no limit.
const PARTS_MAX: usize = 10_000;

/// A part of a mail, before it is prepared.
pub(super) struct RawPart<'a> {
    /// Whole lines.
    pub(super) header: Vec<u8>,
    pub(super) body: &'a [u8],
}

/// The parts of a mail, in order.
pub(super) fn parts_of_mail(mail: &[u8]) -> Vec<RawPart<'_>> {
    let mut parts = Vec::new();
    split(mail, 0, &mut parts);
    parts
}

fn split<'a>(text: &'a [u8], depth: usize, parts: &mut Vec<RawPart<'a>>) {
    if parts.len() >= PARTS_MAX {
        return;
    }
    let sections = split_at_blank_line(text).filter(|(header, body)| {
        !is_false(body) && (depth == 0 || starts_with_any_case(header, b"content-type:"))
    });
    let Some((header, body)) = sections else {
        // What looks like a header is body then.
        let body = text.strip_prefix(b"\n").unwrap_or(text);
        parts.push(RawPart { header: AGENT_LINE.to_vec(), body });
        return;
    };
    let kept = kept_lines(header);
    match boundary(&kept).filter(|_| depth < DEPTH_MAX) {
        Some(boundary) => {
            let delimiter = [b"--", boundary].concat();
            for_each_piece(body, &delimiter, |piece| split(piece, depth + 1, parts));
        }
        None => parts.push(RawPart { header: [AGENT_LINE, &kept].concat(), body }),
    }
}

/// The lines that the client keeps of a header, unfolded.
fn kept_lines(header: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    for line in unfolded(header).split(|&byte| byte == b'\n') {
        if starts_with_any_case(line, b"content-") || starts_with_any_case(line, b"x-razor2") {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
    }
    kept
}

/// The header without any line feed that white space follows, and without that white space.
fn unfolded(header: &[u8]) -> Vec<u8> {
    let mut unfolded = Vec::with_capacity(header.len());
    let mut rest = header;
    while let Some(at) = memchr(b'\n', rest) {
        let spaces = leading(&rest[at + 1..], is_space);
        let line_end = if spaces == 0 { at + 1 } else { at };
        unfolded.extend_from_slice(&rest[..line_end]);
        rest = &rest[at + 1 + spaces..];
    }
    unfolded.extend_from_slice(rest);
    unfolded
}

/// What separates the parts, if the header is that of a multipart.
fn boundary(header: &[u8]) -> Option<&[u8]> {
    const TYPE: &[u8] = b"content-type: multipart";
    const NAME: &[u8] = b"boundary=";
    let mut line_at = 0;
    for line in header.split_inclusive(|&byte| byte == b'\n') {
        // At least one character stands between the two.
        let names_at = find_any_case(line, TYPE).next().map(|at| at + TYPE.len() + 1);
        let names = names_at.and_then(|at| line.get(at..)).unwrap_or_default();
        let last = find_any_case(names, NAME)
            .map(|at| &names[at + NAME.len()..])
            .filter(|value| value.first().is_some_and(|&byte| !is_space(byte)))
            .last();
        line_at += line.len();
        if let Some(value) = last {
            return Some(boundary_value(&header[line_at - value.len()..]));
        }
    }
    None
}

/// What stands in quotes or else up to white space. Quotes may go on in the next line, and then they stay.
fn boundary_value(text: &[u8]) -> &[u8] {
    let quoted_len = match text {
        [b'"', inner @ ..] => memchr(b'"', inner).filter(|&len| len > 0).map(|len| len + 2),
        _ => None,
    };
    let value = &text[..quoted_len.unwrap_or_else(|| leading(text, |byte| !is_space(byte)))];
    match value {
        [b'"', inner @ .., b'"'] if memchr(b'\n', inner).is_none() => inner,
        _ => value,
    }
}

/// Hands on what stands between the lines that consist of `delimiter`, unless it is white space only.
fn for_each_piece<'a>(body: &'a [u8], delimiter: &[u8], mut piece: impl FnMut(&'a [u8])) {
    let last_line = [b"\n", delimiter, b"--"].concat();
    let body = &body[..memmem::find(body, &last_line).unwrap_or(body.len())];
    let mut hand_on = |text: &'a [u8]| {
        if !is_blank(text) {
            piece(text);
        }
    };
    if memmem::find(body, delimiter).is_none() {
        return hand_on(body);
    }
    // What stands before the first delimiter is for programs that know no parts.
    let mut start = line_end(body, 0, delimiter);
    let mut from = start.unwrap_or(0);
    let feed_and_delimiter = [b"\n", delimiter].concat();
    let finder = memmem::Finder::new(&feed_and_delimiter);
    while let Some(found) = finder.find(&body[from..]) {
        let at = from + found;
        let Some(next) = line_end(body, at + 1, delimiter) else {
            from = at + 1;
            continue;
        };
        if let Some(start) = start.replace(next) {
            hand_on(&body[start..at]);
        }
        from = next;
    }
    if let Some(start) = start {
        hand_on(&body[start..]);
    }
}

/// Where the next line starts, if a line that consists of `delimiter` starts at `at`.
fn line_end(body: &[u8], at: usize, delimiter: &[u8]) -> Option<usize> {
    let rest = body[at..].strip_prefix(delimiter)?;
    let returns = leading(rest, |byte| byte == b'\r');
    (rest.get(returns) == Some(&b'\n')).then_some(at + delimiter.len() + returns + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(mail: &[u8]) -> Vec<&[u8]> {
        parts_of_mail(mail).into_iter().map(|part| part.body).collect()
    }

    fn pieces(body: &[u8]) -> Vec<&[u8]> {
        let mut found = Vec::new();
        for_each_piece(body, b"--q", |piece| found.push(piece));
        found
    }

    #[test]
    fn lines_that_are_kept() {
        let header = b"A: b\r\nContent-Type: a;\r\n \t b=c\r\nX: y\r\nCONTENT-x: 1\nx-razor2-y: 2\n ";
        assert_eq!(kept_lines(header), b"Content-Type: a;\rb=c\r\nCONTENT-x: 1\nx-razor2-y: 2\n");
    }

    #[test]
    fn boundaries_as_the_client_reads_them() {
        let cases: [(&[u8], Option<&[u8]>); 15] = [
            (b"; boundary=\"abc\"", Some(b"abc")),
            (b"; boundary=\"a\"b\"", Some(b"a")),
            (b"; boundary=\"abc", Some(b"\"abc")),
            (b"; boundary=\"\";", Some(b"\"\";")),
            (b"; boundary=\"\" x", Some(b"")),
            (b"; boundary=\"\"x\" y\"", Some(b"\"x")),
            (b"; boundary=\"", Some(b"\"")),
            (b"; boundary=\"a b\"", Some(b"a b")),
            (b"; boundary=abc; d", Some(b"abc;")),
            (b"; BOUNDARY=abc; Boundary=d", Some(b"d")),
            (b"; boundary=abc boundary= ", Some(b"abc")),
            (b"; boundary=\"abc\nContent-foo: d\"", Some(b"\"abc\nContent-foo: d\"")),
            (b" boundary=q", Some(b"q")),
            (b"boundary=q", None),
            (b"; boundary = q", None),
        ];
        for (parameters, expected) in cases {
            let header = [b"Content-A: b\nContent-Type: multipart", parameters, b"\n"].concat();
            assert_eq!(boundary(&header), expected, "{}", parameters.escape_ascii());
        }
        assert_eq!(boundary(b"Content-Type:  multipart/a; boundary=q\n"), None);
        assert_eq!(boundary(b"Content-Type: multipart/a\nContent-b: boundary=q\n"), None);
    }

    #[test]
    fn pieces_of_a_body() {
        assert_eq!(pieces(b"--q\nyyy\n"), [b"yyy\n"]);
        assert_eq!(pieces(b"--q\r\r\nyyy\n"), [b"yyy\n"]);
        assert_eq!(pieces(b"a\n--q\nb\n--q\nc\n--q"), [&b"b"[..], b"c\n--q"]);
        assert_eq!(pieces(b"a\n--q\n\n--q\nb\n--q\n--q\n\n"), [&b"b"[..], b"--q\n\n"]);
        assert_eq!(pieces(b"a\n--q--\nb"), [b"a"]);
        assert_eq!(pieces(b"no delimiter"), [b"no delimiter"]);
        for none in [&b"x --q\nyyy\n"[..], b"x\n--q \nyyy\n", b"\n--q--\nyyy", b"--q--\nyyy", b" \t\n"] {
            assert!(pieces(none).is_empty(), "{}", none.escape_ascii());
        }
    }

    #[test]
    fn a_header_that_is_none_is_body() {
        assert_eq!(bodies(b"body"), [b"body"]);
        assert_eq!(bodies(b"\nbody"), [b"body"]);
        assert_eq!(bodies(b"a: b\n\n0"), [b"a: b\n\n0"]);
        assert_eq!(bodies(b"a: b\n\n0\n"), [b"0\n"]);
        let header = b"Content-Type: multipart/x; boundary=q\n\n";
        let nested = [&header[..], b"--q\nA: b\nContent-Type: c\n\nd\n--q\ncontent-type: c\n\ne"].concat();
        assert_eq!(bodies(&nested), [&b"A: b\nContent-Type: c\n\nd"[..], b"e"]);
    }

    #[test]
    fn nesting_has_an_end() {
        let mut mail = Vec::new();
        for level in 0..DEPTH_MAX + 5 {
            mail.extend_from_slice(
                format!("Content-Type: multipart/x; boundary=q{level}-\n\n--q{level}-\n").as_bytes(),
            );
        }
        mail.extend_from_slice(b"text");
        let parts = parts_of_mail(&mail);
        assert_eq!(parts.len(), 1);
        assert!(parts[0].body.starts_with(format!("--q{DEPTH_MAX}-").as_bytes()));
    }

    #[test]
    fn parts_have_an_end() {
        let mail =
            [&b"Content-Type: multipart/x; boundary=q\n\n"[..], &b"\n--q\nx".repeat(PARTS_MAX + 5)].concat();
        assert_eq!(parts_of_mail(&mail).len(), PARTS_MAX);
    }
}
