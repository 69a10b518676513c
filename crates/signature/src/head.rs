//! Heads of messages and parts: where they end, their fields, and the boundaries between parts.

/// Splits a message or a part after the empty line that ends its headers.
pub(crate) fn split_head(mail: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = mail;
    while !rest.is_empty() {
        let line;
        (line, rest) = split_line(rest);
        if matches!(line, b"\n" | b"\r\n") {
            break;
        }
    }
    mail.split_at(mail.len() - rest.len())
}

/// Splits after the first line end.
pub(crate) fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1))
}

/// A header.
pub(crate) struct Field<'a> {
    name: &'a [u8],
    /// Still folded.
    pub(crate) value: &'a [u8],
}

impl Field<'_> {
    /// Whether this is the header of that name.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// The headers in a head. Lines without a colon are skipped.
pub(crate) fn fields(head: &[u8]) -> impl Iterator<Item = Field<'_>> {
    let mut rest = head;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let field = rest;
            (_, rest) = split_line(rest);
            while matches!(rest, [b' ' | b'\t', ..]) {
                (_, rest) = split_line(rest);
            }
            let field = &field[..field.len() - rest.len()];
            if let Some(colon) = field.iter().position(|byte| *byte == b':') {
                return Some(Field { name: field[..colon].trim_ascii(), value: &field[colon + 1..] });
            }
        }
        None
    })
}

/// Which open boundary a line is, innermost first, and whether it ends its multipart.
pub(crate) fn boundary_at(line: &[u8], boundaries: &[impl AsRef<[u8]>]) -> Option<(usize, bool)> {
    let name = line.strip_prefix(b"--")?.trim_ascii_end();
    boundaries.iter().enumerate().rev().find_map(|(level, boundary)| {
        match name.strip_prefix(boundary.as_ref())? {
            b"" => Some((level, false)),
            b"--" => Some((level, true)),
            _ => None,
        }
    })
}
