//! What the tally holds of one signature: 40 bits.
//!
//! ```text
//! spam weight 9 | ham weight 9 | reports 10 | revocations 8 | marks 4
//! ```
//!
//! A field that is full means "at least"; what it means exactly, the journal knows.

use crate::journal::Row;
use crate::record::{Opinion, WeighedOpinion};
use crate::trust::POINTS_MAX;

const SPAM_BITS: u32 = 9;
const HAM_BITS: u32 = 9;
const RAW_SPAM_BITS: u32 = 10;
const RAW_HAM_BITS: u32 = 8;

/// The spam and ham weight of a signature, how often it was reported and revoked, and its marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) spam: u32,
    pub(crate) ham: u32,
    pub(crate) raw_spam: u32,
    pub(crate) raw_ham: u32,
    pub(crate) marks: Marks,
}

/// What holds of a signature whoever reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Known-good mail.
    pub(crate) protected: bool,
    /// Reported or marked as MANY.
    pub(crate) many: bool,
    /// Its seen count was forgotten at some moment; the journal knows what it was.
    pub(crate) forgotten: bool,
}

/// A seen count that was forgotten: in which generation, and what later answers subtract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Forgotten {
    pub(crate) generation: u64,
    pub(crate) count: u64,
}

/// What a record changes in a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) spam: i32,
    pub(crate) ham: i32,
    pub(crate) raw_spam: i32,
    pub(crate) raw_ham: i32,
}

impl Change {
    /// One opinion takes the place of another, and counts in raw totals or not.
    pub(crate) fn of(before: WeighedOpinion, now: WeighedOpinion, is_counted: bool) -> Self {
        let net = |side| i32::from(now.on(side)) - i32::from(before.on(side));
        let raw = |side| i32::from(is_counted && now.opinion == side);
        let spam = Opinion::Spam;
        let ham = Opinion::Ham;
        Change { spam: net(spam), ham: net(ham), raw_spam: raw(spam), raw_ham: raw(ham) }
    }

    /// A row is taken back, and the opinion that it gave.
    pub(crate) fn back(given: WeighedOpinion, row: &Row) -> Self {
        let raw_spam = -i32::from(row.raw_spam);
        let raw_ham = -i32::from(row.raw_ham);
        Change { raw_spam, raw_ham, ..Change::of(given, WeighedOpinion::NONE, false) }
    }
}

const fn most(bits: u32) -> u32 {
    (1 << bits) - 1
}

impl Tally {
    pub(crate) fn unpack(word: u64) -> Self {
        let mut rest = word;
        let mut take = |bits: u32| {
            let field = rest as u32 & most(bits);
            rest >>= bits;
            field
        };
        let marks = take(4);
        let raw_ham = take(RAW_HAM_BITS);
        let raw_spam = take(RAW_SPAM_BITS);
        let ham = take(HAM_BITS);
        let spam = take(SPAM_BITS);
        let marks = Marks { protected: marks & 1 != 0, many: marks & 2 != 0, forgotten: marks & 4 != 0 };
        Tally { spam, ham, raw_spam, raw_ham, marks }
    }

    pub(crate) fn pack(&self) -> u64 {
        let fields = [
            (self.spam, SPAM_BITS),
            (self.ham, HAM_BITS),
            (self.raw_spam, RAW_SPAM_BITS),
            (self.raw_ham, RAW_HAM_BITS),
            (
                u32::from(self.marks.protected)
                    | u32::from(self.marks.many) << 1
                    | u32::from(self.marks.forgotten) << 2,
                4,
            ),
        ];
        fields.iter().fold(0, |word, &(field, bits)| word << bits | u64::from(field.min(most(bits))))
    }

    /// What it has beyond another one, number by number and mark by mark.
    pub(crate) fn beyond(&self, other: &Tally) -> Tally {
        Tally {
            spam: self.spam.saturating_sub(other.spam),
            ham: self.ham.saturating_sub(other.ham),
            raw_spam: self.raw_spam.saturating_sub(other.raw_spam),
            raw_ham: self.raw_ham.saturating_sub(other.raw_ham),
            marks: Marks {
                protected: self.marks.protected && !other.marks.protected,
                many: self.marks.many && !other.marks.many,
                forgotten: self.marks.forgotten && !other.marks.forgotten,
            },
        }
    }

    /// Both together: their numbers added up, the marks of either. `beyond` of one of them is the other.
    pub(crate) fn with(&self, other: &Tally) -> Tally {
        Tally {
            spam: self.spam.saturating_add(other.spam),
            ham: self.ham.saturating_add(other.ham),
            raw_spam: self.raw_spam.saturating_add(other.raw_spam),
            raw_ham: self.raw_ham.saturating_add(other.raw_ham),
            marks: Marks {
                protected: self.marks.protected || other.marks.protected,
                many: self.marks.many || other.marks.many,
                forgotten: self.marks.forgotten || other.marks.forgotten,
            },
        }
    }

    /// Whether some field means "at least".
    pub(crate) fn is_saturated(&self) -> bool {
        self.spam >= most(SPAM_BITS)
            || self.ham >= most(HAM_BITS)
            || self.raw_spam >= most(RAW_SPAM_BITS)
            || self.raw_ham >= most(RAW_HAM_BITS)
    }

    /// Whether a row of the journal is all that is in it: then no other reporter spoke, and this one in no other
    /// generation. It saves looking for them.
    pub(crate) fn is_all_of(&self, row: &Row) -> bool {
        let [spam, ham] = [Opinion::Spam, Opinion::Ham].map(|side| u32::from(row.weighed().on(side)));
        let of_row = [spam, ham, row.raw_spam.into(), row.raw_ham.into()];
        row.raw_spam.max(row.raw_ham) > 0
            && !self.is_saturated()
            && of_row == [self.spam, self.ham, self.raw_spam, self.raw_ham]
    }

    /// Adds a change; `None` where that cannot be told from these bits: something is taken from a field that is full.
    pub(crate) fn changed(&self, change: Change) -> Option<Tally> {
        let add = |field: u32, by: i32, bits: u32| match by {
            ..0 if field >= most(bits) => None,
            _ => Some(field.saturating_add_signed(by).min(most(bits))),
        };
        Some(Tally {
            spam: add(self.spam, change.spam, SPAM_BITS)?,
            ham: add(self.ham, change.ham, HAM_BITS)?,
            raw_spam: add(self.raw_spam, change.raw_spam, RAW_SPAM_BITS)?,
            raw_ham: add(self.raw_ham, change.raw_ham, RAW_HAM_BITS)?,
            marks: self.marks,
        })
    }
}

// What the tally holds of one signature: 40 bits.
const _: () = assert!(SPAM_BITS + HAM_BITS + RAW_SPAM_BITS + RAW_HAM_BITS + 4 == 40);

// A quorum of ten trusted reporters, and four times it on the other side, can be told from the bits.
const _: () = assert!(most(SPAM_BITS) >= 50 * POINTS_MAX as u32);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(spam in 0u32..512, ham in 0u32..512, raw_spam in 0u32..1024, raw_ham in 0u32..256,
            protected: bool, many: bool, forgotten: bool) {
            let tally = Tally { spam, ham, raw_spam, raw_ham, marks: Marks { protected, many, forgotten } };
            prop_assert!(tally.pack() < 1 << 40);
            prop_assert_eq!(Tally::unpack(tally.pack()), tally);
        }
    }

    #[test]
    fn what_one_tally_has_beyond_another_gives_it_back() {
        let marks = Marks { protected: true, many: false, forgotten: true };
        let known = Tally { spam: 10, raw_spam: 3, marks: Marks { many: true, ..marks }, ..Tally::default() };
        let lost = Tally { spam: 7, ham: 2, raw_ham: 1, ..Tally::default() };
        assert_eq!(known.with(&lost).beyond(&known), lost);
        assert_eq!(known.beyond(&lost.with(&known)), Tally::default(), "nothing falls below zero");
    }

    #[test]
    fn a_full_field_stays_full_and_gives_nothing_back() {
        let most = Tally { spam: 505, ..Tally::default() }.changed(Change { spam: 10, ..Change::default() });
        let most = most.expect("only added to");
        assert!(most.spam == 511 && most.is_saturated());
        assert_eq!(most.changed(Change { spam: -10, ..Change::default() }), None);
        assert!(most.changed(Change { ham: 3, ..Change::default() }).is_some());
    }

    #[test]
    fn a_row_is_all_of_a_tally_only_where_every_number_is_its_own() {
        let row = Row { opinion: Opinion::Spam, weight: 7, raw_spam: 2, raw_ham: 1, ..Row::default() };
        let tally = Tally { spam: 7, raw_spam: 2, raw_ham: 1, ..Tally::default() };
        assert!(tally.is_all_of(&row));
        let others = [
            Tally { spam: 8, ..tally },
            Tally { spam: 0, ham: 7, ..tally },
            Tally { raw_spam: 3, ..tally },
            Tally { raw_ham: 2, ..tally },
        ];
        assert!(others.iter().all(|other| !other.is_all_of(&row)));
        assert!(!Tally::default().is_all_of(&Row::default()), "a mark says nothing of who else spoke");
    }

    #[test]
    fn nothing_falls_below_zero() {
        let none = Tally::default().changed(Change { spam: -1, ..Change::default() });
        assert_eq!(none, Some(Tally::default()));
    }
}
