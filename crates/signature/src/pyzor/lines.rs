//! Pyzor's own rules: which lines of a text count, and what is left of them.

/// A word of this many characters or more is deleted: it may be random.
const WORD_CHARS_MAX: usize = 9;

/// A line counts if at least this many characters are left of it.
const LINE_CHARS_MIN: usize = 8;

/// The lines that count. One buffer for all, because a mail can have millions.
#[derive(Default)]
pub(super) struct Kept {
    text: String,
    /// Where each line ends in `text`.
    ends: Vec<usize>,
}

impl Kept {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn line(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    /// Adds the lines of a text. What ends a line also ends a word, so one pass over the characters will do.
    pub(super) fn add(&mut self, text: &str) {
        let mut left_chars = 0;
        let mut word_start = 0;
        let mut word_chars = 0;
        for (at, c) in text.char_indices() {
            if !is_space(c) {
                word_chars += 1;
                continue;
            }
            left_chars += self.add_word(&text[word_start..at], word_chars);
            word_start = at + c.len_utf8();
            word_chars = 0;
            if ends_line(c) {
                self.end_line(left_chars);
                left_chars = 0;
            }
        }
        left_chars += self.add_word(&text[word_start..], word_chars);
        self.end_line(left_chars);
    }

    /// Adds what is left of a word and says how many characters that is.
    fn add_word(&mut self, word: &str, chars: usize) -> usize {
        if chars == 0 || chars > WORD_CHARS_MAX {
            return 0;
        }
        let left = left_of_word(word);
        self.text.push_str(left);
        if left.len() == word.len() { chars } else { left.chars().count() }
    }

    fn end_line(&mut self, left_chars: usize) {
        if left_chars >= LINE_CHARS_MIN {
            self.ends.push(self.text.len());
        } else {
            self.text.truncate(self.ends.last().copied().unwrap_or(0));
        }
    }
}

/// An address is deleted, and so is the tail of a word that looks like a URL.
fn left_of_word(word: &str) -> &str {
    if !word.bytes().any(|byte| byte == b'@' || byte == b':') {
        return word;
    }
    if is_address(word) {
        return "";
    }
    url_start(word).map_or(word, |start| &word[..start])
}

/// Whether an `@` has a character on either side.
fn is_address(word: &str) -> bool {
    let mut inner = word.chars();
    inner.next();
    inner.next_back();
    inner.any(|c| c == '@')
}

/// Where letters begin that are followed by a colon and at least one more character.
fn url_start(word: &str) -> Option<usize> {
    let mut letters_start = None;
    for (at, c) in word.char_indices() {
        if is_letter(c) {
            letters_start = letters_start.or(Some(at));
        } else if c == ':' && letters_start.is_some() && at + 1 < word.len() {
            return letters_start;
        } else {
            letters_start = None;
        }
    }
    None
}

/// What `[a-z]` matches in Python when case is ignored: four letters outside ASCII fold to `i`, `k` and `s`.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{130}' | '\u{131}' | '\u{17f}' | '\u{212a}')
}

/// What Python calls white space: that of Unicode, and four separators of ASCII.
pub(super) fn is_space(c: char) -> bool {
    match c {
        ' ' | '\t'..='\r' | '\x1c'..='\x1f' => true,
        _ => c > '\x7f' && c.is_whitespace(),
    }
}

/// Where Python ends a line. A carriage return and a line feed end two, but the second is empty.
fn ends_line(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Vec<String> {
        let mut kept = Kept::default();
        kept.add(text);
        (0..kept.len()).map(|number| kept.line(number).to_owned()).collect()
    }

    #[test]
    fn short_lines_do_not_count() {
        assert_eq!(kept("abcdefg\nabcd efgh\n\r\nabc d\u{2028}12345678"), ["abcdefgh", "12345678"]);
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(kept("äöüä öüäö\näöüäöüä\näöüäöüäöü ä"), ["äöüäöüäö", "äöüäöüäöüä"]);
    }

    #[test]
    fn long_words_addresses_and_urls_are_deleted() {
        assert_eq!(kept("0123456789 abcdefgh"), ["abcdefgh"]);
        assert_eq!(kept("a@b abcdefgh @c d@"), ["abcdefgh@cd@"]);
        assert_eq!(kept("1a:b abcdefgh a: 1:2 ::"), ["1abcdefgha:1:2::"]);
        assert_eq!(kept("\u{212a}:b abcdefgh 1:b:c"), ["abcdefgh1:"]);
    }

    #[test]
    fn a_line_that_does_not_count_leaves_nothing() {
        assert_eq!(kept("abc\n12345678 1\nabc\n"), ["123456781"]);
    }
}
