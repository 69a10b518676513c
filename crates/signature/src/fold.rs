//! One spelling for words that readers take for the same: the *skeleton* of a character.
//!
//! In this order: compatibility decomposition (NFKD, Unicode 18.0 by the pinned crate), marks and invisible characters
//! dropped, lower case, look-alikes of other scripts to Latin letters, digits and signs that stand for letters to
//! those, `l` to `i`. The result need not be readable, only the same for all spellings.

use unicode_normalization::char::decompose_compatible;

use crate::character::Properties;
use crate::work;

/// The skeleton of an ASCII character in a word, or 0 for what parts words.
pub(crate) const ASCII: [u8; 128] = {
    let mut table = [0; 128];
    let mut c = 0;
    while c < 128u8 {
        table[c as usize] = match c {
            b'0' => b'o',
            b'1' | b'!' | b'|' | b'l' | b'L' => b'i',
            b'3' => b'e',
            b'4' | b'@' => b'a',
            b'5' | b'$' => b's',
            b'7' | b'+' => b't',
            b'8' => b'b',
            // Digits that stand for no letter: they make a word an identifier.
            b'2' | b'6' | b'9' => c,
            b'A'..=b'Z' => c.to_ascii_lowercase(),
            b'a'..=b'z' => c,
            _ => 0,
        };
        c += 1;
    }
    table
};

/// Letters of other scripts that look like Latin ones, in lower case and in order.
const LOOK_ALIKES: [(char, u8); 48] = [
    ('\u{f8}', b'o'),
    ('\u{111}', b'd'),
    ('\u{131}', b'i'),
    ('\u{142}', b'i'),
    ('\u{251}', b'a'),
    ('\u{261}', b'g'),
    ('\u{3b1}', b'a'),
    ('\u{3b2}', b'b'),
    ('\u{3b3}', b'y'),
    ('\u{3b5}', b'e'),
    ('\u{3b7}', b'n'),
    ('\u{3b9}', b'i'),
    ('\u{3ba}', b'k'),
    ('\u{3bd}', b'v'),
    ('\u{3bf}', b'o'),
    ('\u{3c1}', b'p'),
    ('\u{3c2}', b's'),
    ('\u{3c4}', b't'),
    ('\u{3c5}', b'u'),
    ('\u{3c7}', b'x'),
    ('\u{3c9}', b'w'),
    ('\u{3f2}', b'c'),
    ('\u{430}', b'a'),
    ('\u{432}', b'b'),
    ('\u{435}', b'e'),
    ('\u{43a}', b'k'),
    ('\u{43c}', b'm'),
    ('\u{43d}', b'h'),
    ('\u{43e}', b'o'),
    ('\u{440}', b'p'),
    ('\u{441}', b'c'),
    ('\u{442}', b't'),
    ('\u{443}', b'y'),
    ('\u{445}', b'x'),
    ('\u{44c}', b'b'),
    ('\u{455}', b's'),
    ('\u{456}', b'i'),
    ('\u{458}', b'j'),
    ('\u{4bb}', b'h'),
    ('\u{4cf}', b'i'),
    ('\u{501}', b'd'),
    ('\u{51b}', b'q'),
    ('\u{51d}', b'w'),
    ('\u{561}', b'w'),
    ('\u{578}', b'n'),
    ('\u{57d}', b'u'),
    ('\u{581}', b'g'),
    ('\u{585}', b'o'),
];

/// Letters that are written as two where the keyboard has none.
const PAIRS: [(char, &str); 3] = [('\u{df}', "ss"), ('\u{e6}', "ae"), ('\u{153}', "oe")];

/// What a character is to the word it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A letter of a word.
    Letter(char),
    /// A digit, or the letter it stands for.
    Digit(char),
    /// A sign that stands for a letter, where letters are on both sides of it.
    Sign(char),
    /// A word by itself: scripts written without spaces.
    Alone(char),
    /// Nothing: readers do not see it.
    Nothing,
    /// The end of a word.
    End,
}

/// Calls `visit` with the pieces of one character, of which the longest has 18.
///
/// Characters are decomposed one by one, without the canonical order of marks that NFKD ends with: it moves nothing but
/// marks, and those are nothing. So a thousand marks on one letter need neither room nor sorting.
#[inline]
pub(crate) fn pieces(c: char, mut visit: impl FnMut(Piece)) {
    if c.is_ascii() {
        visit(ascii(c as u8));
        return;
    }
    if Properties::of(c).is_whole() {
        return whole(c, &mut visit);
    }
    decompose_compatible(c, |decomposed| whole(decomposed, &mut visit));
}

/// Calls `visit` with the pieces of a character that is its own decomposition.
#[inline]
fn whole(c: char, visit: &mut impl FnMut(Piece)) {
    work::did(1);
    let properties = Properties::of(c);
    if c.is_ascii() {
        visit(ascii(c as u8));
    } else if properties.is_ordered_mark() || is_invisible(c) {
        visit(Piece::Nothing);
    } else if properties.is_own_lower() {
        lower(c, properties, visit);
    } else {
        c.to_lowercase().for_each(|c| lower(c, Properties::of(c), visit));
    }
}

/// Calls `visit` with the pieces of a character in lower case.
#[inline]
fn lower(c: char, properties: Properties, visit: &mut impl FnMut(Piece)) {
    match PAIRS.iter().find(|(letter, _)| *letter == c) {
        Some((_, pair)) => pair.chars().for_each(|letter| visit(Piece::Letter(letter))),
        None => visit(piece(c, properties)),
    }
}

#[inline(always)]
pub(crate) fn ascii(byte: u8) -> Piece {
    match ASCII[usize::from(byte & 0x7f)] {
        0 => Piece::End,
        skeleton if byte.is_ascii_alphabetic() => Piece::Letter(char::from(skeleton)),
        skeleton if byte.is_ascii_digit() => Piece::Digit(char::from(skeleton)),
        skeleton => Piece::Sign(char::from(skeleton)),
    }
}

fn piece(lower: char, properties: Properties) -> Piece {
    if lower.is_ascii() {
        return ascii(lower as u8);
    }
    if let Ok(place) = LOOK_ALIKES.binary_search_by_key(&lower, |(letter, _)| *letter) {
        return Piece::Letter(char::from(LOOK_ALIKES[place].1));
    }
    // Digits of other scripts stand for no letter.
    if properties.is_numeric() && !properties.is_alphabetic() {
        return Piece::Digit(lower);
    }
    if is_unspaced(lower) {
        return Piece::Alone(lower);
    }
    if properties.is_alphanumeric() { Piece::Letter(lower) } else { Piece::End }
}

/// Characters that take no room: soft hyphens, joiners, directions, variation selectors, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Letters of scripts written without spaces between words: each is a word, so that n-grams are of characters.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e4f}' | '\u{e81}'..='\u{edf}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17d3}'
        | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3fffd}')
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn skeleton(text: &str) -> String {
        let mut out = String::new();
        let mut visit = |piece| match piece {
            Piece::Letter(c) | Piece::Digit(c) | Piece::Sign(c) => out.push(c),
            Piece::Alone(c) => out.extend([' ', c, ' ']),
            Piece::Nothing => {}
            Piece::End => out.push(' '),
        };
        text.chars().for_each(|c| pieces(c, &mut visit));
        out
    }

    /// The definition says NFKD, which also puts marks in order.
    fn pieces_by_definition(text: &str) -> Vec<Piece> {
        let mut found = Vec::new();
        for c in text.nfkd() {
            pieces(c, |piece| found.extend(Some(piece).filter(|piece| *piece != Piece::Nothing)));
        }
        found
    }

    /// Every character alone, and each between marks that NFKD puts in another order.
    #[test]
    fn the_order_of_marks_changes_nothing() {
        let mut around = String::new();
        for c in ('\u{80}'..=char::MAX).filter(|c| !is_unspaced(*c) || *c < '\u{4e00}') {
            around.clear();
            around.extend(['e', '\u{301}', '\u{327}', c, '\u{345}', '\u{5b0}', 'x']);
            let mut found = Vec::new();
            for c in around.chars() {
                pieces(c, |piece| found.extend(Some(piece).filter(|piece| *piece != Piece::Nothing)));
            }
            assert_eq!(found, pieces_by_definition(&around), "{c:?}");
        }
    }

    #[test]
    fn spellings_of_one_word_have_one_skeleton() {
        let plain = skeleton("viagra");
        for spelling in [
            "VIAGRA",
            "V1AGRA",
            "v!agra",
            "vi\u{e0}gra",
            "\u{ff36}\u{ff29}\u{ff21}\u{ff27}\u{ff32}\u{ff21}",
            "vi\u{ad}ag\u{200b}ra",
            "v\u{456}\u{430}gr\u{430}",
            "vl@gr4",
        ] {
            assert_eq!(skeleton(spelling), plain, "{spelling}");
        }
    }

    #[test]
    fn letters_of_two_are_two() {
        assert_eq!(skeleton("stra\u{df}e"), skeleton("STRASSE"));
        assert_eq!(skeleton("\u{c6}on \u{152}uvre"), skeleton("aeon oeuvre"));
    }

    #[test]
    fn characters_of_unspaced_scripts_stand_alone() {
        assert_eq!(skeleton("\u{514d}\u{8d39}").split_whitespace().count(), 2);
    }

    #[test]
    fn look_alikes_are_lower_case_and_in_order() {
        for (letter, _) in LOOK_ALIKES {
            assert_eq!(letter.to_lowercase().collect::<String>(), letter.to_string());
        }
        assert!(LOOK_ALIKES.is_sorted_by_key(|(letter, _)| *letter));
    }
}
