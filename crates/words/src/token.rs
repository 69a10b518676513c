//! What a word is. Rule 1; another rule is another number, since a model knows only words of its own rule.
//!
//! 1. The subject and the visible text, in lower case (Unicode's full mapping) and composed (NFC): an accent written
//!    apart is the letter with the accent.
//! 2. They are cut at every character that is no letter, no digit and none of `' . - $ ! @ _`.
//! 3. `' . - @ _` at the ends of a piece are taken off: hosts, addresses, prices and shouts stay whole.
//! 4. In scripts that write no spaces every two neighbouring characters are a word.
//! 5. Any other piece of 3 to 30 characters is a word, unless it has digits only and more than 4 of them.
//! 6. Words of the subject are marked `s:`.
//! 7. Of each link of its HTML: the host and what remains of it behind each dot, marked `u:`, and the pieces of its
//!    path of 3 to 20 letters and digits, marked `u:/`.
//!
//! A word counts once a message. Of subject and text together the first 20,000 words are looked at, repeated ones
//! counted, and the links that [`Message`] has, which are its first 256. The marks cannot be
//! written by a sender: no word has a colon.

use std::collections::HashSet;

use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_signature::{Message, is_unspaced};
use unicode_normalization::UnicodeNormalization;

/// The number of this rule: it stands in the model.
pub const RULE: u32 = 1;

/// The fewest characters of a word; shorter ones are in every message.
const CHARS_MIN: usize = 3;
/// The most; longer ones are encoded bytes.
const CHARS_MAX: usize = 30;
/// The most digits of a number: years and amounts repeat, identifiers do not.
const DIGITS_MAX: usize = 4;
/// The most words of one message that are looked at, repeated ones counted, links apart: a book. What comes behind is
/// passed over.
pub const WORDS_MAX: usize = 20_000;
/// The most words of a link's path.
const PATH_WORDS_MAX: usize = 20;
/// The most labels of a host; names of more are made up.
const LABELS_MAX: usize = 6;

/// Calls `visit` with every word of a message, repeated ones again.
pub fn each(message: &Message<'_>, mut visit: impl FnMut(&str)) {
    let mut marked = String::new();
    let mut room = WORDS_MAX;
    words_of(&message.subject, &mut room, |word| {
        marked.clear();
        marked.push_str("s:");
        marked.push_str(word);
        visit(&marked);
    });
    words_of(&message.text, &mut room, &mut visit);
    for link in &message.links {
        link_words(&one_spelling(link), &mut visit);
    }
}

/// The distinct words of a message, hashed, in an order that does not depend on the text's.
pub fn hashes(message: &Message<'_>, key: &SipKey) -> Vec<Hash128> {
    let mut found = HashSet::new();
    each(message, |word| {
        found.insert(key.hash(&word));
    });
    let mut hashes: Vec<Hash128> = found.into_iter().collect();
    hashes.sort_unstable_by_key(|hash| (hash.hi, hash.lo));
    hashes
}

/// Lower case, composed. Composed last: lower case may take letters apart.
fn one_spelling(text: &str) -> String {
    let lower = text.to_lowercase();
    if lower.is_ascii() { lower } else { lower.nfc().collect() }
}

/// Visits the words of a text while there is room for words.
fn words_of(text: &str, room: &mut usize, mut visit: impl FnMut(&str)) {
    let text = one_spelling(text);
    for piece in text.split(|c: char| !c.is_alphanumeric() && !"'.-$!@_".contains(c)) {
        let piece = piece.trim_matches(|c| "'.-@_".contains(c));
        if piece.is_ascii() || !piece.contains(is_unspaced) {
            if is_word(piece) && *room > 0 {
                *room -= 1;
                visit(piece);
            }
        } else {
            pairs(piece, room, &mut visit);
        }
        if *room == 0 {
            break;
        }
    }
}

fn is_word(piece: &str) -> bool {
    // Bytes are no fewer than characters.
    if piece.len() < CHARS_MIN || piece.len() > 4 * CHARS_MAX {
        return false;
    }
    let chars = piece.chars().count();
    let is_number = piece.bytes().all(|byte| byte.is_ascii_digit());
    (CHARS_MIN..=if is_number { DIGITS_MAX } else { CHARS_MAX }).contains(&chars)
}

/// Every two neighbouring characters.
fn pairs(piece: &str, room: &mut usize, visit: &mut impl FnMut(&str)) {
    let mut starts = piece.char_indices().map(|(at, _)| at).chain([piece.len()]);
    let mut first = starts.next().unwrap_or(0);
    let mut second = starts.next().unwrap_or(0);
    for third in starts.take(*room) {
        *room -= 1;
        visit(&piece[first..third]);
        (first, second) = (second, third);
    }
}

/// The words of a link in lower case.
fn link_words(link: &str, visit: &mut impl FnMut(&str)) {
    let rest = link.split_once("://").map_or(link, |(_, rest)| rest);
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or(host);
    let mut tail = host;
    for _ in 0..LABELS_MAX {
        if !tail.is_empty() && tail.len() <= 255 {
            visit(&format!("u:{tail}"));
        }
        let Some((_, behind)) = tail.split_once('.') else { break };
        tail = behind;
    }
    let pieces = path.split(|c: char| !c.is_alphanumeric()).filter(|piece| (3..=20).contains(&piece.len()));
    for piece in pieces.take(PATH_WORDS_MAX) {
        visit(&format!("u:/{piece}"));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        words_of(text, &mut WORDS_MAX.clone(), |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn words_by_the_rule() {
        assert_eq!(words("Hi, John's FREE!!! $9.99 offer"), ["john's", "free!!!", "$9.99", "offer"]);
        assert_eq!(
            words("--- mail joe@example.com. 2002 12345 a-b"),
            ["mail", "joe@example.com", "2002", "a-b"]
        );
        assert_eq!(words(&"x".repeat(31)), [""; 0]);
        assert_eq!(
            words("\u{514d}\u{8d39}\u{7684} \u{e9}t\u{e9}"),
            ["\u{514d}\u{8d39}", "\u{8d39}\u{7684}", "\u{e9}t\u{e9}"]
        );
    }

    /// Pieces were once counted in place of words, subject and text apart, and pairs of each piece apart.
    #[test]
    fn a_message_has_so_many_words_subject_and_text_together() {
        let of = |subject: &str, text: String| {
            let mut found = 0;
            let subject = subject.to_owned();
            each(&Message { subject, text, ..Message::default() }, |_| found += 1);
            found
        };
        assert_eq!(of("", "to word ".repeat(WORDS_MAX)), WORDS_MAX);
        assert_eq!(of("three words here", "to word ".repeat(WORDS_MAX)), WORDS_MAX);
        assert_eq!(of("", "\u{514d}\u{8d39}\u{7684} ".repeat(WORDS_MAX)), WORDS_MAX);
        assert_eq!(of("", "\u{514d}".repeat(2 * WORDS_MAX) + " word"), WORDS_MAX);
        assert_eq!(of("three words here", "word ".repeat(WORDS_MAX - 3) + "more"), WORDS_MAX);
    }

    /// Accents that are written apart once cut words in pieces.
    #[test]
    fn both_spellings_of_a_letter_are_one_word() {
        let composed = "\u{c9}t\u{e9} r\u{e9}sum\u{e9}";
        let apart = "E\u{301}te\u{301} re\u{301}sume\u{301}";
        assert_eq!(words(composed), ["\u{e9}t\u{e9}", "r\u{e9}sum\u{e9}"]);
        assert_eq!(words(apart), words(composed));
        let of = |path: &str| {
            let mut found = Vec::new();
            let links = vec![format!("http://a.example/{path}")];
            each(&Message { links, ..Message::default() }, |word| found.push(word.to_owned()));
            found
        };
        assert_eq!(of(apart), of(composed));
    }

    #[test]
    fn the_first_links_are_looked_at() {
        let links: String = (0..300).map(|n| format!("<a href='http://h{n}.example/'>x</a>")).collect();
        let raw = format!("Content-Type: text/html\n\n{links}");
        let mut found = HashSet::new();
        each(&Message::parse(raw.as_bytes()), |word| {
            found.insert(word.to_owned());
        });
        assert!(found.contains("u:h255.example") && !found.contains("u:h256.example"));
    }

    #[test]
    fn subject_and_links_are_marked_apart() {
        let raw =
            b"Subject: Offer\nContent-Type: text/html\n\n<a href='http://a.b.example/buy/now?x=1'>offer</a>";
        let mut found = Vec::new();
        each(&Message::parse(raw), |word| found.push(word.to_owned()));
        assert_eq!(
            found,
            ["s:offer", "offer", "u:a.b.example", "u:b.example", "u:example", "u:/buy", "u:/now"]
        );
    }

    proptest! {
        #[test]
        fn any_text_has_words_within_bounds(text in "\\PC{0,300}") {
            for word in words(&text) {
                let chars = word.chars().count();
                prop_assert!((2..=CHARS_MAX).contains(&chars) && !word.contains([':', ' ']), "{word:?}");
            }
        }
    }
}
