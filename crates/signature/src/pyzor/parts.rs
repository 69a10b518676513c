//! What Python's parser of mail makes of a message: its parts without children, in the order of a walk.
//!
//! The parser reads line by line and never fails. A line that matches the boundary of any open multipart ends all that
//! is nested deeper, as if the input ended there. A line can be put back; so can an end of input, which then counts
//! once.

use std::borrow::Cow;

use super::Crash;
use super::header::{self, Param};

mod lines;

use lines::{Delimiter, Head, Lines, Span, delimiter, line_end, push_span};

/// Python's stack ends at this many nested containers.
pub(super) const CONTAINERS_MAX: usize = 982;

/// A multipart needs some more of the stack, to read its boundary.
const MULTIPARTS_MAX: usize = 978;

/// A part without children.
pub(super) struct Leaf<'m> {
    /// Of the form `type/subtype`, in lowercase.
    pub(super) media_type: Cow<'static, str>,
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

    /// Whether there is nothing in it, and nothing said of it that could be wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.body.is_empty() && self.content_type.is_none()
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
            Some(value) => header::media_type(value).map_or("text/plain".into(), Cow::Owned),
            None if in_digest => "message/rfc822".into(),
            None => "text/plain".into(),
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

    fn end_leaf(&mut self, head: Head, media_type: Cow<'static, str>, body: &[Span]) {
        let body = self.lines.bytes(body);
        self.last = Some(Leaf { media_type, content_type: head.content_type, transfer: head.transfer, body });
    }

    /// Skips the preamble. A multipart without a boundary, or in which no part begins, has no children.
    fn begin_multipart(&mut self, head: Head, media_type: Cow<'static, str>) -> Result<bool, Crash> {
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
                let mut line = self.lines.next();
                // A part between two empty lines has nothing in it, and there may be millions.
                while self.lines.blanks_that_end == 0
                    && line.is_some_and(|line| matches!(self.lines.line(line), [b'\r' | b'\n', ..]))
                {
                    line = self.lines.next();
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The media type and the body of each part.
    fn leaves(mail: &str) -> Vec<String> {
        let mut leaves = Vec::new();
        each_leaf(mail.as_bytes(), &mut |leaf| {
            leaves.push(format!("{}: {}", leaf.media_type, String::from_utf8_lossy(&leaf.body)));
            Ok(())
        })
        .expect("no crash");
        leaves
    }

    const MULTIPART: &str = "Content-Type: multipart/mixed; boundary=b\n\n";

    #[test]
    fn the_line_end_before_a_delimiter_is_not_part_of_the_body() {
        let mail = format!("{MULTIPART}preamble\n--b\n\none\n\n--b \n--b\nA: b\n\ntwo\r\n--b--\nepilogue");
        assert_eq!(leaves(&mail), ["text/plain: one\n", "text/plain: two"]);
        // Not even at the end of the mail.
        assert_eq!(leaves(&format!("{MULTIPART}--b\n\none\n")), ["text/plain: one"]);
    }

    #[test]
    fn an_outer_boundary_ends_what_is_inside() {
        let mail = format!(
            "{MULTIPART}--b\nContent-Type: multipart/x; boundary=c\n\n--c\n\none\n--b\nContent-Type: a/b\n\ntwo\n--b--"
        );
        assert_eq!(leaves(&mail), ["text/plain: one", "a/b: two"]);
    }

    #[test]
    fn a_multipart_without_parts_is_a_leaf() {
        assert_eq!(leaves(&format!("{MULTIPART}text\n--b--\nmore")), ["multipart/mixed: text\n"]);
        assert_eq!(leaves("Content-Type: multipart/mixed\n\n--b\n"), ["multipart/mixed: --b\n"]);
        assert_eq!(leaves(&format!("{MULTIPART}--b")), ["text/plain: "]);
    }

    #[test]
    fn messages_in_messages() {
        assert_eq!(leaves("Content-Type: message/rfc822\n\nContent-Type: a/b\n\nx"), ["a/b: x"]);
        let digest = "Content-Type: multipart/digest; boundary=b\n\n--b\n\nContent-Type: a/b\n\nx\n--b--";
        assert_eq!(leaves(digest), ["a/b: x"]);
        let status = "Content-Type: message/delivery-status\n\nA: b\n\nC: d\nno header\n\n";
        assert_eq!(leaves(status), ["text/plain: ", "text/plain: no header\n"]);
    }

    #[test]
    fn where_headers_end() {
        assert_eq!(leaves("From x\nA: b\nFrom y\n\nx"), ["text/plain: From y\nx"]);
        assert_eq!(leaves("A: b\nFrom y\nContent-Type:\n a/b\n: c\n d\nno header\n"), ["a/b: no header\n"]);
        assert_eq!(leaves(" Content-Type: a/b\nContent-type: c/d\nContent-Type: e/f\n\n"), ["c/d: "]);
    }
}
