//! The words of a text: where they begin and end, how they are written, and their stems.

use rust_stemmers::Stemmer;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::{language, link};

/// Stands for `@`, which holds words together for rspamd and does not for Unicode. Words lose it in the end.
const JOINT: char = '\u{203f}';

/// Words of one text. The client's own digest takes only some of the words of texts with more than about a thousand,
/// so what lies further out cannot agree anyway, and lists of tens of millions of words would fill the memory.
const WORDS_MAX: usize = 1 << 16;

/// The stemmed words of a text. `is_plain` says that it was no HTML.
pub(super) fn of_text(text: &str, is_plain: bool) -> Vec<String> {
    let visible = link::without_links(text, is_plain);
    let text: String = visible.chars().filter(|c| !is_invisible(*c)).map(joined).collect();
    let tokens = text.split_word_bounds().flat_map(split_at_points);
    let words = tokens.filter(|word| !word.starts_with(JOINT) && word.chars().any(is_of_word));
    let words: Vec<String> = words.map(plain).filter(|word| !word.is_empty()).take(WORDS_MAX).collect();
    let stemmer = Stemmer::create(language::of_words(&words));
    words.iter().map(|word| stemmer.stem(word).into_owned()).collect()
}

/// Signs that senders hide in words.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{feff}')
}

fn joined(c: char) -> char {
    if c == '@' { JOINT } else { c }
}

/// Unicode keeps `a.b` and `a:b` whole. For rspamd a point holds only digits together, and a colon nothing.
fn split_at_points(word: &str) -> impl Iterator<Item = &str> {
    let mut last = ' ';
    let mut rest = word.char_indices().peekable();
    let mut cuts = Vec::new();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map_or(' ', |(_, next)| *next);
        if c == ':' || c == '.' && !(last.is_numeric() && next.is_numeric()) {
            cuts.push(at);
        }
        last = c;
    }
    cuts.push(word.len());
    let mut start = 0;
    cuts.into_iter().map(move |end| {
        let piece = &word[start..end];
        start = end;
        piece
    })
}

/// Whether a sign makes what it stands in a word.
fn is_of_word(c: char) -> bool {
    c.is_alphabetic() || c.is_numeric() && !is_small_number(c) || c == '_' || is_currency(c)
}

/// Raised, lowered and circled numbers, and fractions.
fn is_small_number(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '¼'..='¾' | '\u{2070}'..='\u{209f}')
        || matches!(c, '\u{2150}'..='\u{215f}' | '\u{2460}'..='\u{249b}')
}

fn is_currency(c: char) -> bool {
    matches!(c, '$' | '¢'..='¥' | '฿' | '\u{20a0}'..='\u{20cf}')
}

/// A word in lower case, of letters and digits in their plainest form.
fn plain(word: &str) -> String {
    let keeps = |c: &char| c.is_alphanumeric() || *c == '_' || is_currency(*c) || is_combining_mark(*c);
    word.nfkc().flat_map(char::to_lowercase).filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen with rspamd 3.4.
    #[test]
    fn words_are_those_of_rspamd() {
        let text = "user@host two @ three @four 04@local foo:bar x:1 1:2 12,345 a.b U.S.A. under_score _x_ \
            half-time 1st don't l’eau and/or 3.14 C++ $100 50% #tag ™ © € é hello\u{200b}world a\u{34f}b \
            snow\u{2603}man x² ½ ﬁne Straße ＡＢＣ ①② 26\u{202f}PM";
        let words = "userhost two three 04local foo bar x 1 1 2 12345 a b u s a under_scor _x_ half time 1st \
            dont leau and or 314 c $ 100 50 tag € é helloworld a\u{34f}b snow man x \
            fine straße abc 26pm";
        assert_eq!(of_text(text, true).join(" "), words);
    }
}
