//! Start tags as Python finds their end, with all the ways in which attributes can be broken.

use crate::pyzor::lines::is_space;

/// A start tag, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StartTag<'h> {
    /// `is_closed` if it ends with `/>`.
    Whole { tag_bytes: usize, name: &'h str, is_closed: bool },
    /// Something stands in it that no tag can have there.
    Broken { tag_bytes: usize },
}

/// Reads the start tag that `markup` begins with. `None` if it is not finished.
pub(super) fn start_tag(markup: &str) -> Option<StartTag<'_>> {
    let mut cursor = Cursor { markup, at: 1 };
    let name = cursor.take_while(|c| !matches!(c, '\t' | '\n' | '\r' | '\x0c' | ' ' | '/' | '>' | '\0'));
    let space = cursor.take_while(|c| is_space(c) || c == '/');
    let mut is_closed = space.ends_with('/');
    while cursor.may_begin_attribute() {
        cursor.attribute();
        is_closed = false;
    }
    match cursor.peek()? {
        '>' => Some(StartTag::Whole { tag_bytes: cursor.at + 1, name, is_closed }),
        // What can follow here is the `>`: a slash before anything else was read as white space.
        '/' => Some(StartTag::Whole { tag_bytes: cursor.at + 2, name, is_closed: true }),
        // The parser thinks that a value is not finished.
        '=' => None,
        _ => Some(StartTag::Broken { tag_bytes: cursor.at }),
    }
}

struct Cursor<'h> {
    markup: &'h str,
    at: usize,
}

impl<'h> Cursor<'h> {
    fn rest(&self) -> &'h str {
        &self.markup[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, is_taken: impl Fn(char) -> bool) -> &'h str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !is_taken(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// An attribute begins after white space, a slash or a quote.
    fn may_begin_attribute(&self) -> bool {
        let before = self.markup[..self.at].chars().next_back();
        before.is_some_and(|c| is_space(c) || matches!(c, '/' | '\'' | '"'))
            && self.peek().is_some_and(|c| !is_space(c) && !matches!(c, '/' | '>'))
    }

    /// Reads a name, perhaps a value, and the white space after them.
    fn attribute(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
        self.take_while(|c| !is_space(c) && !matches!(c, '/' | '=' | '>'));
        self.value();
        // A slash is white space too, unless it ends the tag.
        loop {
            self.take_while(is_space);
            if self.peek() != Some('/') || self.rest().starts_with("/>") {
                break;
            }
            self.at += 1;
        }
    }

    /// Reads `=` and a value. If a quote is not closed, something shorter has to do, or nothing.
    fn value(&mut self) {
        let start = self.at;
        self.take_while(is_space);
        let signs = self.take_while(|c| c == '=').len();
        let after_signs = self.at;
        if signs == 0 {
            self.at = start;
            return;
        }
        let space = self.take_while(is_space).len();
        match self.peek() {
            Some(quote @ ('\'' | '"')) => match self.rest()[1..].find(quote) {
                Some(value_bytes) => self.at += value_bytes + 2,
                // An empty value, and the quote begins the next attribute.
                None if space > 0 => self.at = after_signs,
                // The last of several signs begins a value without quotes.
                None if signs > 1 => {
                    self.at = after_signs - 1;
                    self.bare_value();
                }
                None => self.at = start,
            },
            _ => self.bare_value(),
        }
    }

    fn bare_value(&mut self) {
        self.take_while(|c| !is_space(c) && c != '>');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(markup: &str) -> Option<(usize, bool)> {
        match start_tag(markup) {
            Some(StartTag::Whole { tag_bytes, is_closed, .. }) => Some((tag_bytes, is_closed)),
            _ => None,
        }
    }

    #[test]
    fn tags_end() {
        assert_eq!(whole("<a>b"), Some((3, false)));
        assert_eq!(whole("<a b='>' c=\">\" d>e"), Some((17, false)));
        assert_eq!(whole("<a/>b"), Some((4, true)));
        assert_eq!(whole("<a b / />c"), Some((9, true)));
        assert_eq!(whole("<a b=c/>d"), Some((8, false)));
        assert_eq!(whole("<a b=\"c\"d>e"), Some((11 - 1, false)));
    }

    #[test]
    fn broken_quotes() {
        assert_eq!(start_tag("<a b='c>d"), None);
        assert_eq!(whole("<a b= 'c>d"), Some((9, false)));
        assert_eq!(whole("<a b =='c>d"), Some((10, false)));
        assert_eq!(whole("<a b ='c>d"), Some((9, false)));
    }

    #[test]
    fn unfinished_and_broken_tags() {
        assert_eq!(start_tag("<a b"), None);
        assert_eq!(start_tag("<a b=c"), None);
        assert_eq!(start_tag("<a\0>"), Some(StartTag::Broken { tag_bytes: 2 }));
    }
}
