//! What Python's parser of mail makes of a message: its parts without children, in the order of a walk.
//!
//! The parser reads line by line and never fails. A line that matches the boundary of any open multipart ends all that
//! is nested deeper, as if the input ended there. A line can be put back; so can an end of input, which then counts
//! once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Crash;
use super::header::{self, Param};

/// Python's stack ends at this many nested containers.
pub(super) const CONTAINERS_MAX: usize = 982;

/// A multipart needs some more of the stack, to read its boundary.
const MULTIPARTS_MAX: usize = 978;

/// A part without children.
pub(super) struct Leaf<'m> {
    /// Of the form `type/subtype`, in lowercase.
    pub(super) media_type: String,
    content_type: Option<String>,
    /// The name of the transfer encoding, empty if there is none.
    pub(super) transfer: String,
    pub(super) body: Cow<'m, [u8]>,
}

impl Leaf<'_> {
    pub(super) fn main_type(&self) -> &str {
        main_type(&self.media_type)
    }

    pub(super) fn sub_type(&self) -> &str {
        self.media_type.split_once('/').map_or("", |(_, sub_type)| sub_type)
    }

    /// A parameter of the Content-Type.
    pub(super) fn param(&self, name: &str) -> Result<Option<Param>, Crash> {
        self.content_type.as_deref().map_or(Ok(None), |value| header::param(value, name))
    }
}

fn main_type(media_type: &str) -> &str {
    media_type.split_once('/').map_or(media_type, |(main_type, _)| main_type)
}

/// Calls `visit` with every part that has no children.
pub(super) fn each_leaf<'m>(
    mail: &'m [u8],
    visit: &mut dyn FnMut(Leaf<'m>) -> Result<(), Crash>,
) -> Result<(), Crash> {
    Parser { lines: Lines::new(mail), open: Vec::new(), last: None, visit }.run()
}

/// A container whose children are being read.
enum Open {
    /// Any message/* but a delivery status: it has one child.
    Message,
    /// Blocks of headers with empty lines between them, each a child.
    DeliveryStatus,
    Multipart {
        boundary: Vec<u8>,
        is_digest: bool,
    },
}

struct Parser<'m, 'v> {
    lines: Lines<'m>,
    open: Vec<Open>,
    /// The newest part, held back because the line end before a boundary is not its own.
    last: Option<Leaf<'m>>,
    visit: &'v mut dyn FnMut(Leaf<'m>) -> Result<(), Crash>,
}

impl<'m> Parser<'m, '_> {
    fn run(mut self) -> Result<(), Crash> {
        loop {
            self.release_last()?;
            if self.begin_part()? {
                continue;
            }
            while !self.begin_sibling()? {
                if self.open.is_empty() {
                    return self.release_last();
                }
            }
        }
    }

    fn release_last(&mut self) -> Result<(), Crash> {
        self.last.take().map_or(Ok(()), &mut *self.visit)
    }

    /// Reads the headers of a part and, if it has no children, its body. Says whether its first child comes next.
    fn begin_part(&mut self) -> Result<bool, Crash> {
        let head = self.lines.head();
        let in_digest = matches!(self.open.last(), Some(Open::Multipart { is_digest: true, .. }));
        let media_type = match &head.content_type {
            Some(value) => header::media_type(value).unwrap_or_else(|| "text/plain".to_owned()),
            None if in_digest => "message/rfc822".to_owned(),
            None => "text/plain".to_owned(),
        };
        if media_type == "message/delivery-status" {
            self.lines.blanks_that_end += 1;
            return self.begin_container(Open::DeliveryStatus, CONTAINERS_MAX);
        }
        match main_type(&media_type) {
            "message" => self.begin_container(Open::Message, CONTAINERS_MAX),
            "multipart" => self.begin_multipart(head, media_type),
            _ => {
                let body = self.lines.rest();
                self.end_leaf(head, media_type, &body);
                Ok(false)
            }
        }
    }

    fn begin_container(&mut self, container: Open, containers_max: usize) -> Result<bool, Crash> {
        if self.open.len() >= containers_max {
            return Err(Crash);
        }
        self.open.push(container);
        Ok(true)
    }

    fn end_leaf(&mut self, head: Head, media_type: String, body: &[Span]) {
        let body = self.lines.bytes(body);
        self.last = Some(Leaf { media_type, content_type: head.content_type, transfer: head.transfer, body });
    }

    /// Skips the preamble. A multipart without a boundary, or in which no part begins, has no children.
    fn begin_multipart(&mut self, head: Head, media_type: String) -> Result<bool, Crash> {
        let Some(boundary) = header::boundary(head.content_type.as_deref().unwrap_or_default())? else {
            let body = self.lines.rest();
            self.end_leaf(head, media_type, &body);
            return Ok(false);
        };
        // Python's text for other bytes than ASCII never equals a boundary; nor does a line end inside a line.
        let boundary = if boundary.is_ascii() { boundary.into_bytes() } else { b"\n".to_vec() };
        let mut preamble = Vec::new();
        while let Some(line) = self.lines.next() {
            match delimiter(self.lines.line(line), &boundary) {
                Some(Delimiter::Part) => {
                    self.skip_delimiters(&boundary);
                    let is_digest = media_type == "multipart/digest";
                    return self.begin_container(Open::Multipart { boundary, is_digest }, MULTIPARTS_MAX);
                }
                Some(Delimiter::Close) => break,
                None => push_span(&mut preamble, line),
            }
        }
        self.lines.rest();
        self.end_leaf(head, media_type, &preamble);
        Ok(false)
    }

    /// Several delimiters in a row count as one. Makes the boundary end what is nested deeper.
    fn skip_delimiters(&mut self, boundary: &[u8]) {
        loop {
            let line = self.lines.next();
            if line.is_none_or(|line| delimiter(self.lines.line(line), boundary).is_none()) {
                self.lines.put_back(line);
                break;
            }
        }
        self.lines.add_boundary(boundary);
    }

    /// After a child of the innermost container: says whether another one comes, or else ends the container.
    fn begin_sibling(&mut self) -> Result<bool, Crash> {
        let goes_on = match self.open.last() {
            None | Some(Open::Message) => false,
            Some(Open::DeliveryStatus) => {
                self.lines.blanks_that_end -= 1;
                self.lines.next();
                let line = self.lines.next();
                if line.is_some() {
                    self.lines.put_back(line);
                    self.lines.blanks_that_end += 1;
                }
                line.is_some()
            }
            Some(Open::Multipart { boundary, .. }) => {
                let boundary = boundary.clone();
                self.release_before_delimiter()?;
                self.lines.remove_boundary(&boundary);
                self.begin_next_in_multipart(&boundary)?
            }
        };
        if !goes_on {
            self.open.pop();
        }
        Ok(goes_on)
    }

    fn release_before_delimiter(&mut self) -> Result<(), Crash> {
        if let Some(leaf) = &mut self.last
            && leaf.main_type() != "multipart"
        {
            let body_bytes = leaf.body.len() - line_end(&leaf.body).len();
            match &mut leaf.body {
                Cow::Borrowed(body) => *body = &body[..body_bytes],
                Cow::Owned(body) => body.truncate(body_bytes),
            }
        }
        self.release_last()
    }

    fn begin_next_in_multipart(&mut self, boundary: &[u8]) -> Result<bool, Crash> {
        let Some(line) = self.lines.next() else { return Ok(false) };
        match delimiter(self.lines.line(line), boundary) {
            Some(Delimiter::Part) => {
                self.skip_delimiters(boundary);
                Ok(true)
            }
            Some(Delimiter::Close) => {
                self.lines.rest();
                Ok(false)
            }
            // A child ends only at a delimiter; Python asserts it.
            None => Err(Crash),
        }
    }
}

enum Delimiter {
    Part,
    Close,
}

/// Whether a line is `--boundary` or `--boundary--`. Blanks may follow.
fn delimiter(line: &[u8], boundary: &[u8]) -> Option<Delimiter> {
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
fn line_end(text: &[u8]) -> &[u8] {
    let bytes = match text {
        [.., b'\r', b'\n'] => 2,
        [.., b'\r' | b'\n'] => 1,
        _ => 0,
    };
    &text[text.len() - bytes..]
}

/// From where to where a line or a run of lines stands in the mail.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

/// Adds a line to a body. Nearly always it stands right behind the line before.
fn push_span(body: &mut Vec<Span>, line: Span) {
    match body.last_mut() {
        Some(last) if last.end == line.start => last.end = line.end,
        _ => body.push(line),
    }
}

/// The two headers that matter, each as first seen.
#[derive(Default)]
struct Head {
    content_type: Option<String>,
    transfer: String,
}

/// The lines of the mail, and what ends them early.
struct Lines<'m> {
    mail: &'m [u8],
    at: usize,
    /// Lines that were read and put back, the next one last. An empty one is an end of input.
    put_back: Vec<Span>,
    /// How many open multiparts have each boundary.
    boundaries: BTreeMap<Vec<u8>, usize>,
    /// How many open parts end at an empty line.
    blanks_that_end: usize,
}

impl<'m> Lines<'m> {
    fn new(mail: &'m [u8]) -> Self {
        Self { mail, at: 0, put_back: Vec::new(), boundaries: BTreeMap::new(), blanks_that_end: 0 }
    }

    fn line(&self, span: Span) -> &'m [u8] {
        &self.mail[span.start..span.end]
    }

    fn bytes(&self, body: &[Span]) -> Cow<'m, [u8]> {
        match body {
            [] => Cow::Borrowed(&[]),
            [span] => Cow::Borrowed(self.line(*span)),
            _ => Cow::Owned(body.iter().flat_map(|span| self.line(*span)).copied().collect()),
        }
    }

    /// The next line, with its line end. `None` at the end of what is to be read now.
    fn next(&mut self) -> Option<Span> {
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

    fn put_back(&mut self, line: Option<Span>) {
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

    fn add_boundary(&mut self, boundary: &[u8]) {
        *self.boundaries.entry(boundary.to_vec()).or_default() += 1;
    }

    fn remove_boundary(&mut self, boundary: &[u8]) {
        if let Some(count) = self.boundaries.get_mut(boundary) {
            *count -= 1;
            if *count == 0 {
                self.boundaries.remove(boundary);
            }
        }
    }

    /// All lines up to the end of what is to be read now.
    fn rest(&mut self) -> Vec<Span> {
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
    fn head(&mut self) -> Head {
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
