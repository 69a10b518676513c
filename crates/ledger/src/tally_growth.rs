//! How fast the tally fills, and when it will be full.

use std::collections::BTreeMap;

/// Whole generations whose mean is the rate: a week of days, so that a weekend counts for what it is.
const RATE_GENERATIONS: usize = 7;

/// Generations that are remembered: as many as records may be kept for at most.
const REMEMBERED: usize = 400;

/// What a proposed capacity has beyond what is needed, in percent.
const SPARE_PERCENT: u64 = 25;

/// New signatures of the tally by the generation in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TallyGrowth {
    added: BTreeMap<u64, u64>,
}

/// The tally as it is now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    /// Signatures it holds.
    pub(crate) held: u64,
    /// Signatures it was made for.
    pub(crate) capacity: u64,
    /// The present generation.
    pub(crate) now: u64,
    /// The oldest generation that counts and that there is.
    pub(crate) oldest: u64,
    /// Generations that records are to be kept.
    pub(crate) record_generations: u64,
}

impl TallyGrowth {
    /// New signatures that somebody knows of: of a snapshot, or counted from the journal.
    pub(crate) fn known(added: impl IntoIterator<Item = (u64, u64)>) -> Self {
        TallyGrowth { added: added.into_iter().collect() }
    }

    /// More new signatures came in a generation.
    pub(crate) fn add(&mut self, generation: u64, more: u64) {
        if more == 0 {
            return;
        }
        *self.added.entry(generation).or_default() += more;
        while self.added.len() > REMEMBERED {
            self.added.pop_first();
        }
    }

    /// New signatures by generation.
    pub(crate) fn by_generation(&self) -> Vec<(u64, u64)> {
        self.added.iter().map(|(&generation, &added)| (generation, added)).collect()
    }

    fn of(&self, generation: u64) -> Option<u64> {
        self.added.get(&generation).copied()
    }

    /// New signatures a generation: the mean of the last whole ones since anything came, or what the present one has
    /// already, where that is more.
    pub(crate) fn rate(&self, now: u64) -> u64 {
        let first = self.added.keys().next().copied().unwrap_or(now);
        let whole = (first..now).rev().take(RATE_GENERATIONS);
        let (sum, count) =
            whole.fold((0, 0u64), |(sum, count), one| (sum + self.of(one).unwrap_or(0), count + 1));
        let mean: u64 = sum / count.max(1);
        mean.max(self.of(now).unwrap_or(0))
    }

    /// In how many generations the tally is full, if signatures come as they did; `None` where old ones expire before.
    pub(crate) fn full_in(&self, fill: Fill) -> Option<f64> {
        let rate = self.rate(fill.now);
        let mut held = fill.held;
        for turn in 0..fill.record_generations {
            let room = fill.capacity.saturating_sub(held);
            if rate > room {
                return Some(turn as f64 + room as f64 / rate as f64);
            }
            // What expires when the next generation begins. One that nobody counted had as much as the others.
            let expires = (fill.now + turn + 1).checked_sub(fill.record_generations);
            let freed = expires.filter(|one| *one >= fill.oldest).map_or(0, |one| self.of_or(one, rate));
            held = (held + rate).saturating_sub(freed);
        }
        None
    }

    fn of_or(&self, generation: u64, rate: u64) -> u64 {
        let first = self.added.keys().next().copied().unwrap_or(0);
        self.of(generation).unwrap_or(if generation < first { rate } else { 0 })
    }

    /// A capacity that holds the records of all generations that are to be kept, with room to spare: two digits and
    /// zeros.
    pub(crate) fn enough(&self, fill: Fill) -> u64 {
        let kept: u64 = self.added.range(fill.oldest..).map(|(_, added)| added).sum();
        let lasting = fill.held.saturating_sub(kept);
        let needed = self.rate(fill.now).saturating_mul(fill.record_generations).saturating_add(lasting);
        let wanted = needed.max(fill.capacity).saturating_mul(100 + SPARE_PERCENT) / 100;
        let digits = wanted.checked_ilog10().unwrap_or(0).saturating_sub(1);
        wanted.next_multiple_of(10u64.pow(digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILL: Fill = Fill { held: 500, capacity: 1000, now: 104, oldest: 75, record_generations: 30 };

    #[test]
    fn a_young_site_is_full_when_its_room_is_used_up() {
        let growth = TallyGrowth::known((100..105).map(|day| (day, 100)));
        let fill = Fill { oldest: 100, ..FILL };
        assert_eq!((growth.rate(104), growth.full_in(fill)), (100, Some(5.0)));
        assert_eq!(growth.enough(fill), 3800, "3000 and a quarter");
    }

    #[test]
    fn what_expires_makes_room() {
        let growth = TallyGrowth::known((0..105).map(|day| (day, 30)));
        assert_eq!(growth.full_in(Fill { held: 900, ..FILL }), None);
        assert_eq!(growth.full_in(Fill { held: 900, oldest: 90, ..FILL }), Some(100.0 / 30.0));
    }

    #[test]
    fn generations_that_nobody_counted_are_taken_for_usual_ones() {
        let growth = TallyGrowth::known([(104, 30)]);
        assert_eq!(growth.full_in(Fill { held: 900, ..FILL }), None);
    }

    #[test]
    fn a_wave_counts_at_once_and_silence_is_never_full() {
        let growth = TallyGrowth::known([(103, 10), (104, 600)]);
        assert!(growth.full_in(FILL).is_some_and(|generations| generations < 1.0));
        assert_eq!(TallyGrowth::default().full_in(FILL), None);
        assert_eq!(TallyGrowth::default().enough(Fill { held: 0, ..FILL }), 1300);
    }
}
