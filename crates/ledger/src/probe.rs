//! The filters' lie detector: each is asked about keys that were never inserted, and how often it says yes is compared
//! with what it promises.
//!
//! A key that nobody ever inserted has a hash that is random under the site's secret key. So a random hash stands for
//! one, and an accident that it was inserted has a chance of 2^-100. Of n such probes k are answered with yes, and k is
//! binomial with the present rate p. By Chernoff's bound, P[K >= k] <= exp(-n D(k/n || p)) for p < k/n, and the same
//! for P[K <= k] with p > k/n, where D(a || b) = a ln(a/b) + (1-a) ln((1-a)/(1-b)). The interval has all p for which
//! that is above [`ERROR`]: it misses the present rate in at most two of 10^9 rounds, whatever n and p are. A filter is
//! *in doubt* when the whole interval lies above the promise, by more than such filters scatter ([`SCATTER`]).

use std::collections::VecDeque;
use std::sync::PoisonError;

use seenit_filter::hash::Hash128;
use seenit_filter::random::SplitMix;
use seenit_signature::near::SHINGLES;
use serde::Serialize;

use crate::doubt::FilterName;
use crate::ledger::Ledger;
use crate::memory::Memory;

/// Probes of one filter in a round: a few milliseconds of one processor for all filters.
const ROUND_PROBES: usize = 10_000;

/// Rounds that an estimate is made of, the last ones: with 300,000 probes a rate of 0.001 is told from one of 0.0014.
const ROUNDS: usize = 30;

/// How often an interval may miss the present rate, on either side. With a round every five seconds, a filter that
/// keeps its promise is in doubt once in decades.
const ERROR: f64 = 1e-9;

/// What a present rate may exceed the promise by. A small filter at its capacity scatters around its promise by some
/// percent, for good: sizes are chosen for the mean.
const SCATTER: f64 = 1.1;

/// Halvings of an interval's ends: as many as numbers have bits.
const HALVINGS: u32 = 64;

/// What is known of a filter's rate. `docs/design/ledger.md` has the mathematics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FilterRate {
    /// Which filter: `tally`, `seen`, `bulk` or `near`.
    pub name: &'static str,
    /// The false-positive rate that it promises; of `near`, of one shingle.
    pub promised_rate: f64,
    /// The rate that was measured with absent keys.
    pub present_rate: f64,
    /// Between these the present rate lies.
    pub interval: [f64; 2],
    /// Absent keys that were asked for.
    pub probes: u64,
    /// The whole interval is clearly above the promise: answers that rest on this filter are no opinion.
    pub in_doubt: bool,
}

/// Yes answers to absent keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    probes: u64,
    hits: u64,
}

impl Round {
    fn rate(self) -> f64 {
        if self.probes == 0 { 0.0 } else { self.hits as f64 / self.probes as f64 }
    }

    /// Where the present rate lies.
    fn interval(self) -> [f64; 2] {
        if self.probes == 0 {
            return [0.0, 1.0];
        }
        let rate = self.rate();
        let enough = -ERROR.ln() / self.probes as f64;
        let end = |mut inside: f64, mut outside: f64| {
            for _ in 0..HALVINGS {
                let middle = (inside + outside) / 2.0;
                let part = if divergence(rate, middle) < enough { &mut inside } else { &mut outside };
                *part = middle;
            }
            outside
        };
        [if self.hits == 0 { 0.0 } else { end(rate, 0.0) }, if rate >= 1.0 { 1.0 } else { end(rate, 1.0) }]
    }
}

/// D(a || b), which says how hardly a rate of b shows itself as a.
fn divergence(a: f64, b: f64) -> f64 {
    let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    part(a, b) + part(1.0 - a, 1.0 - b)
}

/// The last rounds of each filter.
#[derive(Debug)]
pub(crate) struct Prober {
    random: SplitMix,
    rounds: [VecDeque<Round>; FilterName::ALL.len()],
}

impl Prober {
    pub(crate) fn new(seed: u64) -> Self {
        Prober { random: SplitMix(seed), rounds: Default::default() }
    }

    /// Asks one more round of each filter, and says which are in doubt.
    pub(crate) fn round(&mut self, memory: &Memory, generation: u64) {
        let hashes: Vec<Hash128> = (0..ROUND_PROBES).map(|_| self.random.hash()).collect();
        for filter in FilterName::ALL {
            let round = asked(memory, generation, filter, &hashes);
            let rounds = &mut self.rounds[filter as usize];
            rounds.push_back(round);
            if rounds.len() > ROUNDS {
                rounds.pop_front();
            }
            memory.doubts.put(filter, self.rate_of(memory, filter).in_doubt);
        }
    }

    fn rate_of(&self, memory: &Memory, filter: FilterName) -> FilterRate {
        let sum =
            |sum: Round, one: &Round| Round { probes: sum.probes + one.probes, hits: sum.hits + one.hits };
        let all = self.rounds[filter as usize].iter().fold(Round::default(), sum);
        let promised_rate = memory.promised_rate(filter);
        let interval = all.interval();
        FilterRate {
            name: filter.as_str(),
            promised_rate,
            present_rate: all.rate(),
            interval,
            probes: all.probes,
            in_doubt: interval[0] > promised_rate * SCATTER,
        }
    }

    /// What is known of all filters.
    pub(crate) fn rates(&self, memory: &Memory) -> Vec<FilterRate> {
        FilterName::ALL.iter().map(|filter| self.rate_of(memory, *filter)).collect()
    }
}

/// Asks a filter about absent keys.
fn asked(memory: &Memory, generation: u64, filter: FilterName, hashes: &[Hash128]) -> Round {
    let count = |is: &dyn Fn(Hash128) -> bool| Round {
        probes: hashes.len() as u64,
        hits: hashes.iter().filter(|hash| is(**hash)).count() as u64,
    };
    match filter {
        FilterName::Tally => count(&|hash| memory.table.get(hash) != 0),
        FilterName::Seen => count(&|hash| memory.seen.is_counted(hash)),
        FilterName::Bulk => count(&|hash| memory.has_bulk_mark(generation, hash)),
        FilterName::Near => {
            let texts = hashes.as_chunks::<SHINGLES>().0;
            let known: u64 = texts.iter().map(|text| u64::from(memory.near.matched(text))).sum();
            Round { probes: (texts.len() * SHINGLES) as u64, hits: known }
        }
    }
}

/// What an operator should know of a filter that is in doubt.
pub(crate) fn alarm(rate: &FilterRate) -> Option<String> {
    let what = match rate.name {
        "seen" => "no message is called bulk by its count, and counts are not told",
        "bulk" => "no message is called bulk by its mark",
        "near" => {
            "no text is called a replica of spam; set [ledger] near_capacity higher and restart the server"
        }
        _ => "nothing is called spam or ham that the journal does not confirm; run `seenit rebuild`",
    };
    let FilterRate { name, promised_rate, present_rate, interval: [low, high], .. } = rate;
    rate.in_doubt.then(|| {
        format!(
            "the filter `{name}` says yes to {present_rate:.1e} of absent keys ({low:.1e} to {high:.1e}), more than \
             the promised {promised_rate:.1e}: until that ends {what}"
        )
    })
}

impl Ledger {
    /// Asks every filter about keys that were never inserted, and doubts those that lie more often than they promise.
    /// Takes a few milliseconds; whoever runs a ledger calls it every few seconds.
    pub fn probe_filters(&self) {
        let mut prober = self.prober.lock().unwrap_or_else(PoisonError::into_inner);
        prober.round(&self.shared.memory, self.shared.generation());
    }

    /// What the probes say.
    pub(crate) fn filter_rates(&self) -> Vec<FilterRate> {
        self.prober.lock().unwrap_or_else(PoisonError::into_inner).rates(&self.shared.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LedgerConfig;
    use crate::near::Units;
    use crate::record::{Opinion, WeighedOpinion};
    use seenit_filter::sightings::Structure;
    use seenit_signature::Kind;

    const SEED: u64 = 19;
    const PROBES_SEED: u64 = 20;

    fn memory(seen: Structure) -> (Memory, LedgerConfig) {
        let config = LedgerConfig {
            seen,
            capacity: 1000,
            near_capacity: 1000,
            bulk_capacity: 1000,
            seen_capacity: 10_000,
            seen_generations: 1,
            ..LedgerConfig::default()
        };
        let memory = Memory::new(&config, [7; 16]).expect("fits");
        memory.seen.advance(1).expect("fits");
        (memory, config)
    }

    fn in_doubt(memory: &Memory) -> Vec<&'static str> {
        let doubtful = FilterName::ALL.into_iter().filter(|filter| memory.doubts.is_in_doubt(*filter));
        doubtful.map(FilterName::as_str).collect()
    }

    /// Texts of 32 shingles each, of two units.
    fn add_texts(memory: &Memory, texts: u64, random: &mut SplitMix) {
        for shingle in 0..texts * SHINGLES as u64 {
            let said = WeighedOpinion::new(Opinion::Spam, 2);
            let units = Units::of(said, shingle % SHINGLES as u64 == 0);
            memory.near.change(random.hash(), Kind::Near1, Units::default(), units);
        }
    }

    #[test]
    fn an_interval_holds_the_rate_that_made_it_and_gets_narrower() {
        let mut random = SplitMix(SEED);
        for rate in [1e-4, 1e-3, 0.09, 0.5] {
            let mut round = Round::default();
            let mut width = 1.0;
            for probes in [1_000u64, 10_000, 100_000] {
                while round.probes < probes {
                    round.probes += 1;
                    round.hits += u64::from(random.unit() < rate);
                }
                let [low, high] = round.interval();
                assert!(low <= rate && rate <= high, "{low} {rate} {high} of {probes}");
                assert!(high - low < width, "{probes} probes of {rate}");
                width = high - low;
                // What the bound is made of: at its ends the data are as unlikely as `ERROR` says.
                let at = |end: f64| (-(probes as f64) * divergence(round.rate(), end)).exp();
                assert!((at(high) / ERROR).ln().abs() < 0.01, "{}", at(high));
            }
        }
        assert_eq!(Round::default().interval(), [0.0, 1.0]);
        assert_eq!(Round { probes: 100, hits: 0 }.interval()[0], 0.0);
        assert_eq!(Round { probes: 100, hits: 100 }.interval()[1], 1.0);
    }

    #[test]
    fn filters_at_capacity_are_not_in_doubt_for_a_thousand_rounds() {
        for structure in Structure::ALL {
            is_believed_for_a_thousand_rounds(structure);
        }
    }

    fn is_believed_for_a_thousand_rounds(structure: Structure) {
        let ((memory, config), mut random) = (memory(structure), SplitMix(SEED));
        for _ in 0..config.seen_capacity {
            memory.seen.add_hash(1, random.hash(), 1);
        }
        (0..config.bulk_capacity).for_each(|_| memory.promote(1, random.hash()));
        add_texts(&memory, config.near_capacity, &mut random);
        let mut prober = Prober::new(PROBES_SEED);
        for round in 0..1000 {
            prober.round(&memory, 1);
            assert!(in_doubt(&memory).is_empty(), "round {round}: {:?}", prober.rates(&memory));
        }
        let seen = prober.rate_of(&memory, FilterName::Seen);
        // A table is wrong too seldom to be caught at it.
        let is_full = structure == Structure::Table || seen.present_rate > seen.promised_rate / 2.0;
        assert!(is_full, "{seen:?}");
    }

    #[test]
    fn filters_that_hold_too_much_are_in_doubt_at_once_and_no_longer_when_that_ends() {
        let ((memory, config), mut random) = (memory(Structure::Filter), SplitMix(SEED));
        let mut prober = Prober::new(PROBES_SEED);
        prober.round(&memory, 1);
        assert!(in_doubt(&memory).is_empty());
        // Twice the capacity, as a folder of an older release may have it.
        for _ in 0..2 * config.seen_capacity {
            memory.seen.add_hash(1, random.hash(), 30);
        }
        (0..40 * config.bulk_capacity).for_each(|_| memory.promote(1, random.hash()));
        add_texts(&memory, 2 * config.near_capacity, &mut random);
        prober.round(&memory, 1);
        assert_eq!(in_doubt(&memory), ["seen", "bulk", "near"]);
        assert_eq!(prober.rates(&memory).iter().filter_map(alarm).count(), 3);
        // A generation later the counts are gone.
        memory.seen.advance(2).expect("fits");
        (0..ROUNDS).for_each(|_| prober.round(&memory, 1));
        assert_eq!(in_doubt(&memory), ["bulk", "near"]);
    }
}
