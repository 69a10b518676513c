//! Trust: what a reporter's opinion weighs, and how that changes. `docs/design/trust.md` is the same rule for
//! operators.
//!
//! 1. An opinion weighs 0 to [`POINTS_MAX`] points. A verdict needs a *quorum* of points (`quorum`), and more than
//!    `ratio` times the points of the other side.
//! 2. A reporter's opinion weighs once for each signature, over all generations that are kept; the last opinion counts,
//!    with the weight the reporter had when it spoke. A weight that rises later raises no opinion said before.
//! 3. A reporter is *vouched*, *known* or a *stranger* ([`Standing`]), by what the operator did and nothing else. The
//!    chain has one link: nobody vouches but the operator.
//! 4. Only vouched opinions *settle*: the first vouched opinion on a message confirms those who said the same before,
//!    and any vouched opinion refutes those who said the opposite before. A vouched reporter is refuted by nobody but
//!    the operator, and loses nothing by it. Whoever contradicts a standing opinion of the operator is refuted at once,
//!    and that opinion weighs nothing on the signatures that the operator spoke of.
//! 5. Known reporters gain a point by [`CONFIRMED_PER_POINT`] confirmed messages in [`GENERATIONS_PER_POINT`] different
//!    generations, up to [`LedgerConfig::known_max`], which is below the quorum. A refutation halves the points,
//!    rounded down; a second one while the first is remembered (`record_generations`) takes them all.
//! 6. Strangers gain nothing. Those who registered weigh nothing; `local`, all users of this machine together, weighs
//!    what [`LedgerConfig::strangers_max`] leaves. So all strangers together neither list a message nor unlist one.
//! 7. An operator may fix a weight; then no rule changes it. Everything a reporter said can be taken back at once
//!    (`seenit account undo`).

use crate::config::LedgerConfig;
use crate::reporter::{LOCAL_WEIGHT, Reporter, ReporterId, Standing, Toward};

/// The most points an opinion weighs.
pub const POINTS_MAX: u8 = 10;

/// A weight that an operator fixes from here on vouches for a reporter; and from here on an opinion gives a text's
/// shingles a unit.
pub const TRUSTED_MIN: u8 = 5;

/// Messages on which a known reporter is confirmed for a point.
pub const CONFIRMED_PER_POINT: u64 = 5;

/// Generations, days by default, in which they must lie. An attacker who reports its own spam early, so that honest
/// reports confirm it, waits three days for a point, 15 for the five points from 4 to 9, and loses them by two lies.
pub const GENERATIONS_PER_POINT: u64 = 3;

impl LedgerConfig {
    /// What a known reporter can earn: less than lists a message alone. Where the operator lets accounts begin with
    /// more, they keep that.
    pub fn known_max(&self) -> u8 {
        let below_quorum = u8::try_from(self.quorum.saturating_sub(1)).unwrap_or(u8::MAX);
        below_quorum.min(POINTS_MAX - 1).max(self.account_weight)
    }

    /// What all strangers together may weigh: so little that `ratio` times as much is below the quorum.
    pub fn strangers_max(&self) -> u8 {
        let no_veto = self.quorum.saturating_sub(1) / self.ratio.max(1);
        u8::try_from(no_veto).unwrap_or(u8::MAX).min(LOCAL_WEIGHT)
    }
}

/// The standing that follows from a weight that the operator fixed.
pub(crate) fn standing_of_fixed(weight: u8) -> Standing {
    if weight >= TRUSTED_MIN { Standing::Vouched } else { Standing::Known }
}

/// A vouched reporter said of a message what this one had said before.
pub(crate) fn confirm(earlier: &mut Reporter, generation: u64, config: &LedgerConfig) {
    let is_new_generation = earlier.last_confirmed != Some(generation);
    earlier.confirmed += 1;
    earlier.confirmed_generations += u64::from(is_new_generation);
    earlier.last_confirmed = Some(generation);
    if earlier.fixed || earlier.standing != Standing::Known {
        return;
    }
    let toward = &mut earlier.toward;
    toward.messages += 1;
    toward.generations += u64::from(is_new_generation);
    if toward.messages >= CONFIRMED_PER_POINT && toward.generations >= GENERATIONS_PER_POINT {
        earlier.toward = Toward::default();
        earlier.weight = (earlier.weight + 1).min(config.known_max()).max(earlier.weight);
    }
}

/// A vouched reporter said of a message the opposite of what this one says.
pub(crate) fn refute(liar: &mut Reporter, generation: u64, config: &LedgerConfig) {
    let is_remembered = |last: u64| generation < last.saturating_add(config.record_generations);
    let is_again = liar.last_refuted.is_some_and(is_remembered);
    liar.refuted += 1;
    liar.last_refuted = Some(generation);
    liar.toward = Toward::default();
    if !liar.fixed {
        liar.weight = if is_again { 0 } else { liar.weight / 2 };
    }
}

/// Units that an opinion of so many points gives to each shingle of a text: two for the built-in reporters of this
/// machine (`local` only where the operator trusts it), one for others from [`TRUSTED_MIN`] on, none for the rest. A
/// shingle is known from two units on, so beyond this machine two must agree.
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

    fn reporter(standing: Standing, weight: u8) -> Reporter {
        Reporter::new(ReporterId(7), "seven", standing, weight)
    }

    fn config() -> LedgerConfig {
        LedgerConfig::default()
    }

    #[test]
    fn a_point_takes_five_messages_and_three_generations() {
        let mut one = reporter(Standing::Known, 4);
        (0..100).for_each(|_| confirm(&mut one, 1, &config()));
        assert_eq!((one.weight, one.confirmed, one.confirmed_generations), (4, 100, 1), "a busy day");
        confirm(&mut one, 2, &config());
        assert_eq!(one.weight, 4);
        confirm(&mut one, 3, &config());
        assert_eq!((one.weight, one.toward), (5, Toward::default()));
        let mut slow = reporter(Standing::Known, 4);
        (0..4).for_each(|generation| confirm(&mut slow, generation, &config()));
        assert_eq!(slow.weight, 4, "four messages in four generations");
        confirm(&mut slow, 4, &config());
        assert_eq!(slow.weight, 5);
    }

    /// What it costs to earn by reporting one's own spam early.
    #[test]
    fn from_four_to_nine_takes_fifteen_generations_and_nothing_gives_ten() {
        let mut one = reporter(Standing::Known, 4);
        for generation in 0..400 {
            (0..50).for_each(|_| confirm(&mut one, generation, &config()));
            let least = 5 * GENERATIONS_PER_POINT - 1;
            assert!(one.weight < 9 || generation >= least, "{} in generation {generation}", one.weight);
        }
        assert_eq!(one.weight, config().known_max());
        assert!(u32::from(one.weight) < config().quorum, "it lists nothing alone");
    }

    #[test]
    fn a_refutation_takes_half_and_a_second_one_everything() {
        let mut liar = reporter(Standing::Known, 9);
        confirm(&mut liar, 1, &config());
        refute(&mut liar, 1, &config());
        assert_eq!((liar.weight, liar.refuted, liar.toward), (4, 1, Toward::default()));
        let mut soon = liar.clone();
        refute(&mut soon, config().record_generations, &config());
        assert_eq!(soon.weight, 0, "the first is remembered");
        refute(&mut liar, 1 + config().record_generations, &config());
        assert_eq!(liar.weight, 2, "the first is forgotten");
    }

    #[test]
    fn strangers_have_a_record_and_gain_nothing() {
        let mut one = reporter(Standing::Stranger, 0);
        for generation in 0..100 {
            (0..10).for_each(|_| confirm(&mut one, generation, &config()));
        }
        assert_eq!((one.weight, one.confirmed, one.confirmed_generations), (0, 1000, 100));
    }

    #[test]
    fn a_fixed_weight_is_counted_but_not_changed() {
        let mut fixed = Reporter { fixed: true, ..reporter(Standing::Known, 3) };
        refute(&mut fixed, 1, &config());
        refute(&mut fixed, 1, &config());
        assert_eq!((fixed.weight, fixed.refuted), (3, 2));
    }

    /// The arithmetic of `docs/design/trust.md`, for every configuration that there can be.
    #[test]
    fn strangers_can_neither_list_nor_unlist_whatever_is_configured() {
        for (quorum, ratio) in (1..=100).flat_map(|quorum| (1..=50).map(move |ratio| (quorum, ratio))) {
            let config = LedgerConfig { quorum, ratio, ..config() };
            let strangers = u32::from(config.strangers_max());
            assert!(strangers < quorum, "quorum {quorum}, ratio {ratio}: they list");
            assert!(ratio * strangers < quorum, "quorum {quorum}, ratio {ratio}: they unlist");
        }
        assert_eq!(config().strangers_max(), LOCAL_WEIGHT);
    }

    #[test]
    fn beyond_this_machine_two_must_agree_on_a_shingle() {
        assert!(u64::from(shingle_units(LOCAL, 10)) >= SHINGLE_UNITS_MIN);
        assert!(u64::from(shingle_units(ReporterId(7), 10)) < SHINGLE_UNITS_MIN);
        assert_eq!((shingle_units(ReporterId(7), 4), shingle_units(LOCAL, 4)), (0, 0));
    }
}
