//! The words of a text, in the spelling of `fold.rs`, without what differs from recipient to recipient.
//!
//! In this order, line by line (lines end at CR and LF), and within a line in runs between white space:
//!
//! 1. A run with `://` in it, or that begins with `www.`, is a link and is left out.
//! 2. A run with `@` in it and a dot somewhere behind is an address and is left out.
//! 3. What remains is cut into words of skeletons. Signs that stand for letters (`@ $ ! | +`) do so within a word
//!    only, not at its ends.
//! 4. A word with no letter, with a digit that stands for no letter (2, 6, 9, or of another script), or of more than
//!    [`WORD_CHARS_MAX`] characters is a number or an identifier and is left out.
//! 5. A line of at most [`GREETING_WORDS_MAX`] words that begins with a greeting is left out.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::fold::{self, Piece};

/// Longer runs of letters are no words; the longest in common use have fewer.
pub const WORD_CHARS_MAX: usize = 24;

/// A line that greets has the reader's name in it and little more.
pub const GREETING_WORDS_MAX: usize = 8;

/// Words of one text that are looked at: a book. What comes behind is not part of any signature.
pub const WORDS_MAX: usize = 50_000;

/// How lines that greet begin, in some languages of mail.
const GREETINGS: [&str; 34] = [
    "dear",
    "hello",
    "hi",
    "hey",
    "greetings",
    "attn",
    "attention",
    "hiya",
    "howdy",
    "sehr",
    "liebe",
    "lieber",
    "hallo",
    "guten",
    "bonjour",
    "cher",
    "chere",
    "salut",
    "hola",
    "estimado",
    "estimada",
    "querido",
    "querida",
    "ola",
    "prezado",
    "prezada",
    "caro",
    "cara",
    "gentile",
    "ciao",
    "beste",
    "geachte",
    "hei",
    "hej",
];

/// The greetings in the spelling of words.
static GREETING_SKELETONS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let skeleton =
        |word: &&str| word.bytes().map(|byte| char::from(fold::ASCII[usize::from(byte)])).collect();
    GREETINGS.iter().map(skeleton).collect()
});

/// The words of a text.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// All of them, each followed by a space.
    text: String,
    /// Where each ends in `text`, its space not counted.
    ends: Vec<u32>,
    letters: usize,
}

impl Words {
    /// The words of `text`.
    pub fn of(text: &str) -> Self {
        let mut words = Words::default();
        for line in text.split(['\n', '\r']) {
            let before = words.ends.len();
            for run in line.split_whitespace() {
                if words.ends.len() >= WORDS_MAX {
                    return words;
                }
                let is_plain = !run.bytes().any(|byte| matches!(byte, b':' | b'@' | b'.'));
                if is_plain || !is_link(run) && !is_address(run) {
                    words.take(run);
                }
            }
            words.drop_greeting(before);
        }
        words
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Their characters.
    pub fn letters(&self) -> usize {
        self.letters
    }

    /// Them, with one space between each two.
    pub fn joined(&self) -> &str {
        self.text.trim_end_matches(' ')
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let word = &self.text[start..end as usize];
            start = end as usize + 1;
            word
        })
    }

    /// Takes the words of a run.
    fn take(&mut self, run: &str) {
        // Most runs are plain words: the letters that one begins with need not be looked at one by one.
        let plain = run.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (letters, rest) = run.split_at(plain);
        let mut word = Word { start: self.text.len(), chars: plain, letters: plain, ..Word::default() };
        self.text.extend(letters.bytes().map(|byte| char::from(fold::ASCII[usize::from(byte)])));
        if rest.is_ascii() {
            rest.bytes().for_each(|byte| self.push(&mut word, fold::ascii(byte)));
        } else {
            for c in rest.chars() {
                // No word behind the last is kept, and one character may be 18 letters.
                if self.ends.len() >= WORDS_MAX {
                    break;
                }
                fold::pieces(c, |piece| self.push(&mut word, piece));
            }
        }
        self.finish(&mut word);
    }

    #[inline(always)]
    fn push(&mut self, word: &mut Word, piece: Piece) {
        match piece {
            Piece::Letter(c) => {
                self.text.push(c);
                word.chars += 1;
                word.letters += 1;
                word.signs = 0;
            }
            Piece::Digit(c) => {
                self.text.push(c);
                word.chars += 1;
                word.digits += usize::from(!c.is_alphabetic());
                word.signs = 0;
            }
            // A word does not begin with a sign.
            Piece::Sign(c) if word.chars > 0 => {
                self.text.push(c);
                word.chars += 1;
                word.signs += 1;
            }
            Piece::Sign(_) | Piece::Nothing => {}
            Piece::End => self.finish(word),
            Piece::Alone(c) => {
                self.finish(word);
                self.text.push(c);
                (word.chars, word.letters) = (1, 1);
                self.finish(word);
            }
        }
    }

    /// Keeps the word that was begun, or takes it back.
    fn finish(&mut self, word: &mut Word) {
        // Nor does it end with signs; their skeletons are one byte each.
        self.text.truncate(self.text.len() - word.signs);
        word.chars -= word.signs;
        let keep = word.letters > 0 && word.digits == 0 && word.chars <= WORD_CHARS_MAX;
        if keep && self.ends.len() < WORDS_MAX {
            self.ends.push(self.text.len() as u32);
            self.text.push(' ');
            self.letters += word.chars;
        } else {
            self.text.truncate(word.start);
        }
        *word = Word { start: self.text.len(), ..Word::default() };
    }

    /// Takes the words from number `first` on back, if they are a greeting.
    fn drop_greeting(&mut self, first: usize) {
        let count = self.ends.len() - first;
        if count == 0 || count > GREETING_WORDS_MAX {
            return;
        }
        let start = first.checked_sub(1).map_or(0, |last| self.ends[last] as usize + 1);
        let word = &self.text[start..self.ends[first] as usize];
        if GREETING_SKELETONS.contains(word) {
            self.letters -= self.text[start..].chars().filter(|&c| c != ' ').count();
            self.text.truncate(start);
            self.ends.truncate(first);
        }
    }
}

/// A word that is being read.
#[derive(Default)]
struct Word {
    start: usize,
    chars: usize,
    letters: usize,
    /// Digits that stand for no letter.
    digits: usize,
    /// Signs since the last letter or digit.
    signs: usize,
}

/// Whether a run of characters is a link.
pub(crate) fn is_link(run: &str) -> bool {
    run.contains("://") || run.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www."))
}

/// Whether a run of characters is a mail address.
fn is_address(run: &str) -> bool {
    run.find('@').is_some_and(|at| at > 0 && run[at..].trim_end_matches(['.', '!', '?']).contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work;

    fn words(text: &str) -> String {
        Words::of(text).joined().to_owned()
    }

    #[test]
    fn what_differs_from_recipient_to_recipient_is_left_out() {
        assert_eq!(words("Dear Mr. John Smith,\nYour order 12345 is ready"), words("your order is ready"));
        assert_eq!(words("see http://a.example/x?id=1 or www.b.example now"), words("see or now"));
        assert_eq!(words("mail joe@example.com, quick!"), words("mail quick!"));
        assert_eq!(words("code A93F2B here"), words("code here"), "identifiers");
        assert_eq!(words("code \u{661}\u{662}\u{663} here"), words("code here"), "numbers of another script");
        assert_eq!(
            words("Dear friends, this line is far too long to be a greeting only").split(' ').count(),
            13
        );
    }

    #[test]
    fn digits_for_letters_make_no_other_word() {
        assert_eq!(words("pl3453 r34d th15"), words("please read this"));
        assert_eq!(words("c@$h FR33"), words("cash free"));
    }

    #[test]
    fn counts_fit_the_text() {
        let text = "Hello you\nOne two, thr\u{e9}e \u{514d}\u{8d39} 99\nHi there\n";
        let words = Words::of(text);
        assert_eq!(words.len(), words.iter().count());
        assert_eq!(words.iter().collect::<Vec<_>>().join(" "), words.joined());
        assert_eq!(words.letters(), words.iter().map(|word| word.chars().count()).sum::<usize>());
        assert_eq!(words.len(), 5);
    }

    #[test]
    fn a_text_without_end_is_cut() {
        assert_eq!(Words::of(&"word ".repeat(WORDS_MAX * 2)).len(), WORDS_MAX);
        assert_eq!(Words::of(&"x".repeat(1 << 20)).len(), 0, "one run of a megabyte is no word");
        assert!(Words::of(&"\u{514d}".repeat(WORDS_MAX * 2)).len() <= WORDS_MAX);
    }

    /// A megabyte of one ligature of 18 letters was folded to its end, though the last word had been found in its
    /// first tenth: more than half a second.
    #[test]
    fn text_behind_the_last_word_is_not_folded() {
        let (words, steps) = work::of(|| Words::of(&"\u{fdfa}".repeat(350_000)));
        assert_eq!(words.len(), WORDS_MAX);
        // Each makes three words more, by 18 characters.
        assert!(steps <= 6 * WORDS_MAX as u64 + 18, "{steps} characters folded");
    }

    #[test]
    fn marks_are_folded_once_each() {
        let text = ["a", &"\u{301}\u{327}".repeat(250_000), "bc"].concat();
        let (words, steps) = work::of(|| Words::of(&text));
        assert_eq!(words.joined(), "abc");
        assert_eq!(steps, 500_000, "the letters are ASCII");
    }
}
