//! What the stages share: white space, false strings, blank lines and searches that ignore case.

use memchr::{memchr, memchr2_iter};

/// White space as the client has it.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Whether the client takes the text for false: empty, or the one character `0`.
pub(super) fn is_false(text: &[u8]) -> bool {
    text.is_empty() || text == b"0"
}

/// Whether there is nothing but white space.
pub(super) fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|&byte| is_space(byte))
}

/// The text before and after the first blank line: a line feed, any number of carriage returns, a line feed.
pub(super) fn split_at_blank_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    while let Some(found) = memchr(b'\n', &text[from..]) {
        let line = from + found + 1;
        let returns = leading(&text[line..], |byte| byte == b'\r');
        if text.get(line + returns) == Some(&b'\n') {
            return Some((&text[..line - 1], &text[line + returns + 1..]));
        }
        from = line + returns;
    }
    None
}

/// How many of the first bytes are such bytes.
pub(super) fn leading(text: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&byte| !is_such(byte)).unwrap_or(text.len())
}

/// Whether `text` starts with `start`, which is in lower case, in any case.
pub(super) fn starts_with_any_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Where `needle`, a few letters in lower case, stands in any case.
pub(super) fn find_any_case<'a>(text: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = needle[0];
    memchr2_iter(first, first.to_ascii_uppercase(), text)
        .filter(move |&at| starts_with_any_case(&text[at..], needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines() {
        assert_eq!(split_at_blank_line(b"a\n\nb"), Some((&b"a"[..], &b"b"[..])));
        assert_eq!(split_at_blank_line(b"a\r\n\r\r\nb\n\n"), Some((&b"a\r"[..], &b"b\n\n"[..])));
        assert_eq!(split_at_blank_line(b"a\n\rb\n\n"), Some((&b"a\n\rb"[..], &b""[..])));
        assert_eq!(split_at_blank_line(b"\n\n\n"), Some((&b""[..], &b"\n"[..])));
        assert_eq!(split_at_blank_line(b"a\nb\n\r"), None);
    }

    #[test]
    fn any_case() {
        let found: Vec<usize> = find_any_case(b"href HREF hre Href", b"href").collect();
        assert_eq!(found, [0, 5, 14]);
    }
}
