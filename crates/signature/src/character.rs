//! What a character is: questions to Unicode's tables, each answered once and then remembered.
//!
//! The tables are compressed, so that an answer is a search. Text is signed by the megabyte, and a sender who picks the
//! characters at the far end of the tables would make us search for each of them. The answers are the same.

use std::sync::OnceLock;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible, is_combining_mark};

/// Characters whose answers are found together.
const PAGE: usize = 256;

/// One page for each 256 characters. A page that no text has touched takes no memory.
static PAGES: [OnceLock<[u8; PAGE]>; (char::MAX as usize + 1) / PAGE] =
    [const { OnceLock::new() }; (char::MAX as usize + 1) / PAGE];

const ALPHABETIC: u8 = 1;
const NUMERIC: u8 = 1 << 1;
const OWN_LOWER: u8 = 1 << 2;
const WHOLE: u8 = 1 << 3;
const ORDERED_MARK: u8 = 1 << 4;
const MARK: u8 = 1 << 5;

/// The answers for one character.
#[derive(Clone, Copy)]
pub(crate) struct Properties(u8);

impl Properties {
    #[inline]
    pub(crate) fn of(c: char) -> Self {
        let number = c as usize;
        let page = PAGES[number / PAGE].get_or_init(|| page(number / PAGE));
        Properties(page[number % PAGE])
    }

    const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub(crate) const fn is_alphabetic(self) -> bool {
        self.has(ALPHABETIC)
    }

    pub(crate) const fn is_numeric(self) -> bool {
        self.has(NUMERIC)
    }

    pub(crate) const fn is_alphanumeric(self) -> bool {
        self.has(ALPHABETIC | NUMERIC)
    }

    /// Whether it is its own lower case.
    pub(crate) const fn is_own_lower(self) -> bool {
        self.has(OWN_LOWER)
    }

    /// Whether its compatibility decomposition is itself.
    pub(crate) const fn is_whole(self) -> bool {
        self.has(WHOLE)
    }

    /// Whether its combining class is other than 0.
    pub(crate) const fn is_ordered_mark(self) -> bool {
        self.has(ORDERED_MARK)
    }

    /// Whether it is a mark, of any combining class.
    pub(crate) const fn is_mark(self) -> bool {
        self.has(MARK)
    }
}

fn page(number: usize) -> [u8; PAGE] {
    std::array::from_fn(|place| char::from_u32((number * PAGE + place) as u32).map_or(0, properties))
}

fn properties(c: char) -> u8 {
    let is_own_lower = c.to_lowercase().eq([c]);
    let mut is_whole = true;
    decompose_compatible(c, |decomposed| is_whole &= decomposed == c);
    [
        (c.is_alphabetic(), ALPHABETIC),
        (c.is_numeric(), NUMERIC),
        (is_own_lower, OWN_LOWER),
        (is_whole, WHOLE),
        (canonical_combining_class(c) != 0, ORDERED_MARK),
        (is_combining_mark(c), MARK),
    ]
    .iter()
    .map(|(is_so, bit)| if *is_so { *bit } else { 0 })
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_are_those_of_the_tables() {
        for c in '\0'..=char::MAX {
            let found = Properties::of(c);
            assert_eq!(found.is_alphabetic(), c.is_alphabetic(), "{c:?}");
            assert_eq!(found.is_numeric(), c.is_numeric(), "{c:?}");
            assert_eq!(found.is_alphanumeric(), c.is_alphanumeric(), "{c:?}");
            assert_eq!(found.is_own_lower(), c.to_lowercase().collect::<String>() == c.to_string(), "{c:?}");
            assert_eq!(found.is_ordered_mark(), canonical_combining_class(c) != 0, "{c:?}");
            assert_eq!(found.is_mark(), is_combining_mark(c), "{c:?}");
        }
    }
}
