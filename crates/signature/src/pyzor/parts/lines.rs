//! The lines of a mail as its parser reads them, and the headers that matter.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::pyzor::header;

pub(super) enum Delimiter {
    Part,
    Close,
}

/// Whether a line is `--boundary` or `--boundary--`. Blanks may follow.
pub(super) fn delimiter(line: &[u8], boundary: &[u8]) -> Option<Delimiter> {
    match delimiter_text(line)?.strip_prefix(boundary)? {
        b"" => Some(Delimiter::Part),
        b"--" => Some(Delimiter::Close),
        _ => None,
    }
}

/// What stands between the two hyphens and the blanks at the end. A boundary never ends with a blank.
fn delimiter_text(line: &[u8]) -> Option<&[u8]> {
    let text = line.strip_prefix(b"--")?;
    let text = &text[..text.len() - line_end(text).len()];
    let end = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1);
    Some(&text[..end])
}

/// The line end at the end of a text.
pub(super) fn line_end(text: &[u8]) -> &[u8] {
    let bytes = match text {
        [.., b'\r', b'\n'] => 2,
        [.., b'\r' | b'\n'] => 1,
        _ => 0,
    };
    &text[text.len() - bytes..]
}

/// From where to where a line or a run of lines stands in the mail.
#[derive(Clone, Copy)]
pub(super) struct Span {
    start: usize,
    end: usize,
}

/// Adds a line to a body. Nearly always it stands right behind the line before.
pub(super) fn push_span(body: &mut Vec<Span>, line: Span) {
    match body.last_mut() {
        Some(last) if last.end == line.start => last.end = line.end,
        _ => body.push(line),
    }
}

/// The two headers that matter, each as first seen.
#[derive(Default)]
pub(super) struct Head {
    pub(super) content_type: Option<String>,
    pub(super) transfer: String,
}

/// The lines of the mail, and what ends them early.
pub(super) struct Lines<'m> {
    mail: &'m [u8],
    at: usize,
    /// Lines that were read and put back, the next one last. An empty one is an end of input.
    put_back: Vec<Span>,
    /// How many open multiparts have each boundary.
    boundaries: BTreeMap<Vec<u8>, usize>,
    /// How many open parts end at an empty line.
    pub(super) blanks_that_end: usize,
}

impl<'m> Lines<'m> {
    pub(super) fn new(mail: &'m [u8]) -> Self {
        Self { mail, at: 0, put_back: Vec::new(), boundaries: BTreeMap::new(), blanks_that_end: 0 }
    }

    pub(super) fn line(&self, span: Span) -> &'m [u8] {
        &self.mail[span.start..span.end]
    }

    pub(super) fn bytes(&self, body: &[Span]) -> Cow<'m, [u8]> {
        match body {
            [] => Cow::Borrowed(&[]),
            [span] => Cow::Borrowed(self.line(*span)),
            _ => Cow::Owned(body.iter().flat_map(|span| self.line(*span)).copied().collect()),
        }
    }

    /// The next line, with its line end. `None` at the end of what is to be read now.
    pub(super) fn next(&mut self) -> Option<Span> {
        let span = self.put_back.pop().unwrap_or_else(|| self.read());
        if span.start == span.end {
            return None;
        }
        if self.ends_part(self.line(span)) {
            self.put_back.push(span);
            return None;
        }
        Some(span)
    }

    fn read(&mut self) -> Span {
        let start = self.at;
        let rest = &self.mail[start..];
        let line_bytes = match rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
            Some(end) if rest[end..].starts_with(b"\r\n") => end + 2,
            Some(end) => end + 1,
            None => rest.len(),
        };
        self.at += line_bytes;
        Span { start, end: self.at }
    }

    pub(super) fn put_back(&mut self, line: Option<Span>) {
        self.put_back.push(line.unwrap_or(Span { start: 0, end: 0 }));
    }

    fn ends_part(&self, line: &[u8]) -> bool {
        match line {
            [b'\r' | b'\n', ..] => self.blanks_that_end > 0,
            [b'-', b'-', ..] if !self.boundaries.is_empty() => delimiter_text(line).is_some_and(|text| {
                self.boundaries.contains_key(text)
                    || text.strip_suffix(b"--").is_some_and(|text| self.boundaries.contains_key(text))
            }),
            _ => false,
        }
    }

    pub(super) fn add_boundary(&mut self, boundary: &[u8]) {
        *self.boundaries.entry(boundary.to_vec()).or_default() += 1;
    }

    pub(super) fn remove_boundary(&mut self, boundary: &[u8]) {
        if let Some(count) = self.boundaries.get_mut(boundary) {
            *count -= 1;
            if *count == 0 {
                self.boundaries.remove(boundary);
            }
        }
    }

    /// All lines up to the end of what is to be read now.
    pub(super) fn rest(&mut self) -> Vec<Span> {
        let mut body = Vec::new();
        while let Some(line) = self.next() {
            push_span(&mut body, line);
            if self.boundaries.is_empty() && self.blanks_that_end == 0 && self.put_back.is_empty() {
                // Nothing can end the body early: no need to look at its lines.
                push_span(&mut body, Span { start: self.at, end: self.mail.len() });
                self.at = self.mail.len();
            }
        }
        body
    }

    /// Reads headers, up to an empty line or to a line that is no header, which belongs to the body.
    pub(super) fn head(&mut self) -> Head {
        let mut fields = Fields::default();
        // A line `From ...` that comes last belongs to the body, too.
        let mut from_line = None;
        let mut is_first = true;
        while let Some(span) = self.next() {
            let line = self.line(span);
            if !is_header(line) {
                if !matches!(line, [b'\r' | b'\n', ..]) {
                    self.put_back(Some(span));
                }
                break;
            }
            from_line = (line.starts_with(b"From ") && !is_first).then_some(span);
            fields.add(line);
            is_first = false;
        }
        if from_line.is_some() {
            self.put_back(from_line);
        }
        Head {
            content_type: fields.content_type.map(|value| header::to_text(trim_line_ends(&value))),
            transfer: fields
                .transfer
                .map_or_else(String::new, |value| header::to_text(trim_line_ends(&value))),
        }
    }
}

fn trim_line_ends(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |at| at + 1);
    &value[..end]
}

/// Whether a line begins or continues a header, or is the line that mailboxes put before a message.
fn is_header(line: &[u8]) -> bool {
    match line {
        [b' ' | b'\t', ..] => true,
        _ if line.starts_with(b"From ") => true,
        _ => line.iter().find(|byte| !matches!(byte, b'!'..=b'9' | b';'..=b'~')) == Some(&b':'),
    }
}

/// Gathers the two headers that matter from lines.
#[derive(Default)]
struct Fields {
    content_type: Option<Vec<u8>>,
    transfer: Option<Vec<u8>>,
    current: Field,
}

#[derive(Default)]
enum Field {
    ContentType,
    Transfer,
    #[default]
    Other,
}

impl Fields {
    fn add(&mut self, line: &[u8]) {
        if matches!(line, [b' ' | b'\t', ..]) {
            let value = match self.current {
                Field::ContentType => self.content_type.get_or_insert_default(),
                Field::Transfer => self.transfer.get_or_insert_default(),
                Field::Other => return,
            };
            value.extend_from_slice(cut(line, value.len()));
            return;
        }
        self.current = Field::Other;
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(0);
        let (name, value) = line.split_at(colon);
        let blanks = value.iter().skip(1).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let value = cut(value.get(1 + blanks..).unwrap_or_default(), 0);
        if name.eq_ignore_ascii_case(b"content-type") && self.content_type.is_none() {
            self.content_type = Some(value.to_vec());
            self.current = Field::ContentType;
        } else if name.eq_ignore_ascii_case(b"content-transfer-encoding") && self.transfer.is_none() {
            self.transfer = Some(value.to_vec());
            self.current = Field::Transfer;
        }
    }
}

/// The beginning of a line that still fits in a value.
fn cut(line: &[u8], value_bytes: usize) -> &[u8] {
    &line[..line.len().min(header::VALUE_BYTES_MAX.saturating_sub(value_bytes))]
}
