//! The words of a text: where they begin and end, how they are written, and their stems.

use rust_stemmers::Stemmer;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

use super::{language, link};
use crate::character::Properties;
use crate::message::TEXT_BYTES_MAX;
use crate::work;

/// Stands for `@`, which holds words together for rspamd and does not for Unicode. Words lose it in the end.
const JOINT: char = '\u{203f}';

/// Words of one text. The client's own digest takes only some of the words of texts with more than about a thousand,
/// so what lies further out cannot agree anyway, and lists of tens of millions of words would fill the memory.
const WORDS_MAX: usize = 1 << 16;

/// Bytes that the words of one text have in normal form (NFKC). A text has no more before, so only text that grows is
/// cut here: one character can become 18.
const NORMAL_BYTES_MAX: usize = TEXT_BYTES_MAX;

/// The longest word that is stemmed: some stemmers take the square of a word's length. No language has such words, and
/// what real mail has of the kind, base64 left in its text, was no longer than 700 bytes.
const STEMMED_BYTES_MAX: usize = 1024;

/// The stemmed words of a text. `is_plain` says that it was no HTML.
pub(super) fn of_text(text: &str, is_plain: bool) -> Vec<String> {
    let visible = link::without_links(text, is_plain);
    let text: String = visible.chars().filter(|c| !is_invisible(*c)).map(joined).collect();
    let mut words = Vec::new();
    let mut room = NORMAL_BYTES_MAX;
    for token in tokens(&text) {
        let word = plain(token, &mut room);
        words.extend(Some(word).filter(|word| !word.is_empty()));
        if words.len() == WORDS_MAX || room == 0 {
            break;
        }
    }
    let stemmer = Stemmer::create(language::of_words(&words));
    words.into_iter().map(|word| stemmed(&stemmer, word)).collect()
}

fn stemmed(stemmer: &Stemmer, word: String) -> String {
    if word.len() > STEMMED_BYTES_MAX {
        return word;
    }
    work::did(word.len() * word.len());
    stemmer.stem(&word).into_owned()
}

/// What may be a word: pieces between the boundaries of Unicode (UAX #29) and the points in them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    pieces(text)
        .filter(|piece| piece.contains(is_of_word))
        .flat_map(bounded)
        .flat_map(split_at_points)
        .filter(|word| !word.starts_with(JOINT) && word.contains(is_of_word))
}

/// The text in pieces that have no word in common: cut behind white space, unless a mark may follow, which would belong
/// to the white space. Looking for boundaries in each is looking for them in the whole, and most need no looking.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let is_cut = |at: usize| {
            matches!(bytes[at], b' ' | b'\t' | b'\n' | b'\r') && bytes.get(at + 1).is_some_and(u8::is_ascii)
        };
        let len = (0..bytes.len()).find(|&at| is_cut(at)).map_or(rest.len(), |at| at + 1);
        let piece;
        (piece, rest) = rest.split_at(len);
        (!piece.is_empty()).then_some(piece)
    })
}

/// A piece at the boundaries of Unicode. Letters, digits and underscores of ASCII, white space behind them or not,
/// have none but that before the white space.
fn bounded(piece: &str) -> impl Iterator<Item = &str> {
    let word = piece.trim_ascii_end();
    let is_word = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (whole, parted) = if is_word { (word, "") } else { ("", piece) };
    Some(whole).filter(|word| !word.is_empty()).into_iter().chain(parted.split_word_bounds())
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
    let is_cut = |at: usize| {
        let is_digit = |c: Option<char>| c.is_some_and(|c| Properties::of(c).is_numeric());
        let before = word[..at].chars().next_back();
        let behind = word[at + 1..].chars().next();
        word.as_bytes()[at] == b':' || !(is_digit(before) && is_digit(behind))
    };
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let from = start?;
        let mut points = word[from..].match_indices([':', '.']).map(|(at, _)| from + at);
        start = points.find(|&at| at > from && is_cut(at));
        Some(&word[from..start.unwrap_or(word.len())])
    })
}

/// Whether a sign makes what it stands in a word.
fn is_of_word(c: char) -> bool {
    let properties = Properties::of(c);
    properties.is_alphabetic() || properties.is_numeric() && !is_small_number(c) || c == '_' || is_currency(c)
}

/// Raised, lowered and circled numbers, and fractions.
fn is_small_number(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '¼'..='¾' | '\u{2070}'..='\u{209f}')
        || matches!(c, '\u{2150}'..='\u{215f}' | '\u{2460}'..='\u{249b}')
}

fn is_currency(c: char) -> bool {
    matches!(c, '$' | '¢'..='¥' | '฿' | '\u{20a0}'..='\u{20cf}')
}

/// A word in lower case, of letters and digits in their plainest form. `room` is what its normal form may take.
fn plain(word: &str, room: &mut usize) -> String {
    if word.is_ascii() {
        *room = room.saturating_sub(word.len());
        let keeps = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$');
        return word.bytes().filter(keeps).map(|c| char::from(c.to_ascii_lowercase())).collect();
    }
    let mut plain = String::with_capacity(word.len().min(*room));
    let mut take = |c: char| {
        work::did(1);
        let fits = c.len_utf8() <= *room;
        *room = if fits { *room - c.len_utf8() } else { 0 };
        if fits {
            push_lower(&mut plain, c);
        }
        fits
    };
    // Most words are in normal form already, and looking costs less than making it.
    if is_nfkc_quick(word.chars()) == IsNormalized::Yes {
        word.chars().all(&mut take);
    } else {
        word.nfkc().all(&mut take);
    }
    plain
}

/// Adds a character in lower case, as far as words have such characters.
fn push_lower(word: &mut String, c: char) {
    let keeps = |c: char| {
        let properties = Properties::of(c);
        properties.is_alphanumeric() || properties.is_mark() || c == '_' || is_currency(c)
    };
    if Properties::of(c).is_own_lower() {
        word.extend(Some(c).filter(|c| keeps(*c)));
    } else {
        word.extend(c.to_lowercase().filter(|c| keeps(*c)));
    }
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

    /// Boundaries found piece by piece are those of the whole text, as far as words go.
    #[test]
    fn pieces_have_the_words_of_the_whole() {
        let parts = [
            "word",
            "a1_b",
            " ",
            "\n",
            "\r\n",
            "\t",
            ".",
            ":",
            "'",
            "\u{301}",
            "\u{200d}",
            "\u{1f170}",
            "\u{1f1e6}",
            "1",
            ",",
            "\u{e9}",
            "\u{5d0}",
            "\"",
            "\u{203f}",
            "\u{3042}",
            "\u{345}",
            "\u{a0}",
            "\u{2028}",
            "$",
        ];
        let mut seed = 1u64;
        for _ in 0..5000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text += parts[(seed >> 33) as usize % parts.len()];
            }
            let mut room = usize::MAX;
            let whole = text.split_word_bounds().flat_map(split_at_points);
            let whole: Vec<String> = whole
                .filter(|word| !word.starts_with(JOINT) && word.contains(is_of_word))
                .map(|word| plain(word, &mut room))
                .collect();
            let piecewise: Vec<String> = tokens(&text).map(|word| plain(word, &mut room)).collect();
            assert_eq!(piecewise, whole, "{text:?}");
        }
    }

    /// A megabyte of one letter took a stemmer half a minute; of one ligature, the normal form half a second.
    #[test]
    fn neither_an_endless_word_nor_one_that_grows_costs_more_than_its_limit() {
        for unit in ["y", "yz ", "\u{fdfa}", "\u{fdfa} ", "eedlying", "\u{3b9}\u{3c3}\u{3c4}"] {
            let text = unit.repeat(TEXT_BYTES_MAX / unit.len());
            let (_, steps) = work::of(|| of_text(&text, true));
            // A word that is stemmed counts as its square, and the longest of these has 30 bytes.
            assert!(steps <= 32 * NORMAL_BYTES_MAX as u64, "{unit:?}: {steps} steps");
        }
        let words =
            format!("{} ", "y".repeat(STEMMED_BYTES_MAX)).repeat(TEXT_BYTES_MAX / (STEMMED_BYTES_MAX + 1));
        let (_, steps) = work::of(|| of_text(&words, true));
        assert!(steps <= (TEXT_BYTES_MAX * STEMMED_BYTES_MAX) as u64, "{steps} steps");
    }
}
