//! Trust: what a reporter's word weighs, and how that changes. The rule in full:
//!
//! 1. A word weighs 0 to [`POINTS_MAX`] points. A verdict needs a *quorum* of points (`quorum`, by default as many as
//!    one fully trusted reporter has), so two reporters of half the points, or more of fewer, must agree.
//! 2. A reporter's word weighs once for each signature, over all generations that are kept; the last word counts, with
//!    the weight the reporter had when it spoke.
//! 3. A reporter with [`TRUSTED_MIN`] points or more is *trusted*. The first trusted word on a signature of an exact
//!    kind settles it for all others who spoke before and whose weight is not fixed: those who had said the same are
//!    *confirmed*, those who had said the opposite are *refuted*. Who repeats what a trusted reporter has said gains
//!    nothing, so there is nothing to be had by echoing, and saying it twice confirms nobody twice; who is trusted by
//!    nobody confirms nobody, so crowds cannot lift each other.
//! 4. [`CONFIRMED_PER_POINT`] confirmations give a point, up to [`POINTS_MAX`]. A refutation halves the points,
//!    rounded down.
//! 5. An operator may fix a weight; then no rule changes it. `local` and the operator's own weights are fixed.
//! 6. Everything a reporter said can be taken back at once (`seenit account undo`).

use crate::record::Word;
use crate::reporter::{Reporter, ReporterId};

/// The most points a word weighs.
pub const POINTS_MAX: u8 = 10;

/// Points from which a reporter's word settles what others said.
pub const TRUSTED_MIN: u8 = 5;

/// Confirmed words that give a point. Few enough that an honest newcomer is heard within a week of normal mail, and
/// too many to be worth an attacker's while: one refutation costs as much as up to 25 confirmations bring.
pub const CONFIRMED_PER_POINT: u64 = 5;

/// What a trusted word does to somebody who spoke before.
pub(crate) fn settle(earlier: &mut Reporter, said: Word, trusted: Word) {
    if said == Word::None || trusted == Word::None {
        return;
    }
    if said == trusted {
        earlier.confirmed += 1;
        if !earlier.fixed && earlier.confirmed.is_multiple_of(CONFIRMED_PER_POINT) {
            earlier.weight = (earlier.weight + 1).min(POINTS_MAX);
        }
    } else {
        earlier.refuted += 1;
        if !earlier.fixed {
            earlier.weight /= 2;
        }
    }
}

/// Units that a word of so many points gives to each shingle of a text: two for the built-in reporters of this machine
/// (`local` only where the operator trusts it), one for trusted others, none for the rest. A shingle is known from two
/// units on, so beyond this machine two must agree.
pub(crate) fn shingle_units(reporter: ReporterId, weight: u8) -> u8 {
    match weight {
        ..TRUSTED_MIN => 0,
        _ if reporter.is_local() => 2,
        _ => 1,
    }
}

/// Units from which a shingle is known.
pub(crate) const SHINGLE_UNITS_MIN: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reporter::LOCAL;

    fn reporter(weight: u8) -> Reporter {
        let (id, name) = (ReporterId(7), "seven".to_owned());
        Reporter { id, name, weight, fixed: false, confirmed: 0, refuted: 0, records: 0 }
    }

    #[test]
    fn five_confirmations_give_a_point_and_a_refutation_takes_half() {
        let mut one = reporter(0);
        (0..4).for_each(|_| settle(&mut one, Word::Spam, Word::Spam));
        assert_eq!(one.weight, 0);
        settle(&mut one, Word::Ham, Word::Ham);
        assert_eq!((one.weight, one.confirmed), (1, 5));
        let mut ten = reporter(9);
        (0..50).for_each(|_| settle(&mut ten, Word::Spam, Word::Spam));
        assert_eq!(ten.weight, POINTS_MAX);
        settle(&mut ten, Word::Spam, Word::Ham);
        assert_eq!((ten.weight, ten.refuted), (5, 1));
        settle(&mut ten, Word::None, Word::Ham);
        assert_eq!(ten.weight, 5, "who took a word back is not judged by it");
    }

    #[test]
    fn a_fixed_weight_is_counted_but_not_changed() {
        let mut fixed = Reporter { fixed: true, ..reporter(3) };
        settle(&mut fixed, Word::Spam, Word::Ham);
        assert_eq!((fixed.weight, fixed.refuted), (3, 1));
    }

    #[test]
    fn beyond_this_machine_two_must_agree_on_a_shingle() {
        assert!(u64::from(shingle_units(LOCAL, 10)) >= SHINGLE_UNITS_MIN);
        assert!(u64::from(shingle_units(ReporterId(7), 10)) < SHINGLE_UNITS_MIN);
        assert_eq!((shingle_units(ReporterId(7), 4), shingle_units(LOCAL, 4)), (0, 0));
    }
}
