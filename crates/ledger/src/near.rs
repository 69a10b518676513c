//! Near replicas: the shingles of reported and of good texts, in two counting filters.
//!
//! A shingle is *known* when its spam units reach [`SHINGLE_UNITS_MIN`] and exceed the ham units clearly. How many
//! known shingles of 32 make a replica depends on how much good mail the site knows: see
//! `LedgerConfig::near_threshold`.

use std::num::NonZeroU32;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use seenit_filter::cells::SplitCells;
use seenit_filter::cells::split::Split;
use seenit_filter::counting::{Count, CountingFilter, Intuitive, SharedCountingFilter};
use seenit_filter::hash::{Hash128, KeyFingerprint};
use seenit_filter::shingles::{Choice, Ratio, Wanted};
use seenit_filter::{AnyLayout, GeometryError, HugePages, Layout, LayoutName};
use seenit_signature::Kind;
use seenit_signature::near::SHINGLES;

use crate::config::LedgerConfig;
use crate::keys::Hashed;
use crate::record::{Opinion, WeighedOpinion};
use crate::trust::SHINGLE_UNITS_MIN;

/// How likely a text that shares nothing with any spam may be taken for a replica, by the accidents of the filters.
const ACCIDENT: f64 = 1e-9;

/// Low bits of a cell. Most shingles are reported once or twice, with two units at most.
const LOW_BITS: u32 = 3;

/// Tables of high parts: few shingles need one.
const CHUNKS: u64 = 16;

/// Good texts that a proposed threshold must have been seen to spare: with none of 3,000 hit, fewer than one in a
/// thousand are, 95 times of 100.
const PROPOSAL_HAM_MIN: u64 = 3000;

/// Below this many shingles even a site's own ham proposes nothing: stock sentences have as many.
const PROPOSAL_MIN: usize = 9;

/// Good texts from which on the shingles of rspamd are taken as rspamd takes them. They come from its clients alone,
/// one by one and by hand: a thousand would never come.
const RSPAMD_HAM_MIN: u64 = 1;

pub(crate) type Filter = SharedCountingFilter<Intuitive, AnyLayout, SplitCells>;

/// The shingle tallies.
pub(crate) struct Near {
    spam: Filter,
    ham: Filter,
    /// Texts reported and texts known to be good.
    texts: Texts,
    /// The same by rspamd's shingles.
    rspamd_texts: Texts,
    /// How many good texts had how many known shingles when they came.
    scores: [AtomicU64; SHINGLES + 1],
    ratio: Ratio,
    /// How often a shingle may be known by accident: more often, and texts are, too.
    promised_rate: f64,
}

/// Texts of spam and of ham.
type Texts = [AtomicU64; 2];

/// What opinions give a shingle: as spam, and as ham.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Units([SideUnits; 2]);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SideUnits {
    units: u32,
    /// Texts are counted by their first shingle, as often as an opinion on it weighs something.
    texts: u32,
}

impl Units {
    /// Those of one opinion.
    pub(crate) fn of(said: WeighedOpinion, is_text: bool) -> Self {
        Units([Opinion::Spam, Opinion::Ham].map(|side| {
            let units = u32::from(said.on(side));
            SideUnits { units, texts: u32::from(is_text && units > 0) }
        }))
    }

    pub(crate) fn add(&mut self, more: Units) {
        for (side, more) in self.0.iter_mut().zip(more.0) {
            side.units = side.units.saturating_add(more.units);
            side.texts = side.texts.saturating_add(more.texts);
        }
    }

    #[cfg(test)]
    pub(crate) fn units(&self) -> [u32; 2] {
        self.0.map(|side| side.units)
    }

    #[cfg(test)]
    pub(crate) fn texts(&self) -> [u32; 2] {
        self.0.map(|side| side.texts)
    }
}

impl Near {
    pub(crate) fn new(config: &LedgerConfig, fingerprint: KeyFingerprint) -> Result<Self, GeometryError> {
        let filter = || -> Result<Filter, GeometryError> { Ok(empty(config, fingerprint)?.share()) };
        Ok(Near {
            spam: filter()?,
            ham: filter()?,
            texts: Default::default(),
            rspamd_texts: Default::default(),
            scores: std::array::from_fn(|_| AtomicU64::new(0)),
            ratio: Ratio::new(config.ratio, NonZeroU32::MIN),
            promised_rate: choice(config)?.rate,
        })
    }

    /// The rate at which a shingle is known by accident, as the filters were made for.
    pub(crate) fn promised_rate(&self) -> f64 {
        self.promised_rate
    }

    /// Whether anybody ever said anything of a shingle; accidents say yes.
    pub(crate) fn is_known(&self, hash: Hash128) -> bool {
        self.spam.count(hash).value > 0 || self.ham.count(hash).value > 0
    }

    /// Units of a shingle take the place of others.
    pub(crate) fn change(&self, hash: Hash128, kind: Kind, before: Units, now: Units) {
        let sides = before.0.into_iter().zip(now.0).zip(self.filters().into_iter().zip(self.texts_of(kind)));
        for ((before, now), (filter, texts)) in sides {
            let more_texts = i64::from(now.texts) - i64::from(before.texts);
            let _ =
                texts.fetch_update(Relaxed, Relaxed, |texts| Some(texts.saturating_add_signed(more_texts)));
            match now.units.checked_sub(before.units) {
                Some(0) => {}
                Some(more) => filter.insert_weighted(hash, more.into()),
                // What was counted can be taken back: the journal says that it was.
                None => drop(filter.remove_weighted(hash, (before.units - now.units).into())),
            }
        }
    }

    fn texts_of(&self, kind: Kind) -> &Texts {
        if kind == Kind::RspamdNear { &self.rspamd_texts } else { &self.texts }
    }

    /// Texts known as spam and as good, by the shingles of a kind.
    pub(crate) fn texts(&self, kind: Kind) -> [u64; 2] {
        let [spam, ham] = self.texts_of(kind);
        [spam.load(Relaxed), ham.load(Relaxed)]
    }

    /// How many of a text's shingles are known from spam.
    pub(crate) fn matched(&self, hashes: &[Hash128; SHINGLES]) -> u32 {
        let mut spam = [Count::default(); SHINGLES];
        let mut ham = [Count::default(); SHINGLES];
        self.spam.count_many(&Hashed, hashes, &mut spam);
        if spam.iter().all(|spam| spam.value < SHINGLE_UNITS_MIN) {
            return 0;
        }
        self.ham.count_many(&Hashed, hashes, &mut ham);
        let is_known = |(spam, ham): (&Count, &Count)| {
            spam.value >= SHINGLE_UNITS_MIN && self.ratio.is_exceeded(*spam, *ham)
        };
        spam.iter().zip(&ham).filter(|pair| is_known(*pair)).count() as u32
    }

    /// Remembers how many shingles of a good text were known when it came.
    pub(crate) fn note_ham(&self, matched: u32) {
        self.scores[(matched as usize).min(SHINGLES)].fetch_add(1, Relaxed);
    }

    /// Shingles that make a replica now. What one kind knows of good texts says nothing of the other's.
    pub(crate) fn threshold(&self, kind: Kind, config: &LedgerConfig) -> u32 {
        let enough = if kind == Kind::RspamdNear { RSPAMD_HAM_MIN } else { config.near_ham_min };
        if self.texts(kind)[1] >= enough {
            config.near_threshold
        } else {
            config.near_threshold_careful.max(config.near_threshold)
        }
    }

    /// The least number of shingles that no good text of this site reached, once enough of them came by.
    pub(crate) fn proposed(&self) -> Option<u32> {
        let scores: Vec<u64> = self.scores.iter().map(|score| score.load(Relaxed)).collect();
        if scores.iter().sum::<u64>() < PROPOSAL_HAM_MIN {
            return None;
        }
        let highest = scores.iter().rposition(|&texts| texts > 0).unwrap_or(0);
        Some((highest + 1).clamp(PROPOSAL_MIN, SHINGLES) as u32)
    }

    pub(crate) fn filters(&self) -> [&Filter; 2] {
        [&self.spam, &self.ham]
    }

    /// The counters beside the filters: texts, then scores, then rspamd's texts.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.texts
            .iter()
            .chain(&self.scores)
            .chain(&self.rspamd_texts)
            .map(|number| number.load(Relaxed))
            .collect()
    }

    /// A pair of filters and their counters, as a snapshot had them.
    pub(crate) fn restore(
        config: &LedgerConfig,
        [spam, ham]: [CountingFilter<Intuitive, AnyLayout, SplitCells>; 2],
        numbers: &[u64],
    ) -> Option<Self> {
        let (texts, rest) = numbers.split_first_chunk::<2>()?;
        let (scores, rest) = rest.split_first_chunk::<{ SHINGLES + 1 }>()?;
        // Older snapshots know nothing of rspamd's.
        let rspamd_texts = if rest.is_empty() { [0, 0] } else { rest.try_into().ok()? };
        Some(Near {
            spam: spam.share(),
            ham: ham.share(),
            texts: texts.map(AtomicU64::new),
            rspamd_texts: rspamd_texts.map(AtomicU64::new),
            scores: scores.map(AtomicU64::new),
            ratio: Ratio::new(config.ratio, NonZeroU32::MIN),
            promised_rate: choice(config).ok()?.rate,
        })
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.filters().iter().map(|filter| filter.cells().memory_bytes()).sum()
    }
}

/// The shape of the filters, and the rate that it promises of one shingle.
fn choice(config: &LedgerConfig) -> Result<Choice, GeometryError> {
    let split = Split::new(LOW_BITS, CHUNKS)?;
    let wanted = Wanted {
        shingles: SHINGLES as u32,
        threshold: config.near_threshold,
        listed: 0,
        bound: ACCIDENT,
        capacity: config.near_capacity.saturating_mul(SHINGLES as u64),
    };
    match Choice::new(wanted, LayoutName::Paged, split.base()) {
        Ok(choice) => Ok(choice),
        Err(seenit_filter::ChoiceError::Geometry(error)) => Err(error),
        // Thresholds are checked with the configuration: from 9 on there is a choice.
        Err(error) => unreachable!("{error}"),
    }
}

fn empty(
    config: &LedgerConfig,
    fingerprint: KeyFingerprint,
) -> Result<CountingFilter<Intuitive, AnyLayout, SplitCells>, GeometryError> {
    let split = Split::new(LOW_BITS, CHUNKS)?;
    let layout = choice(config)?.layout;
    let cells = SplitCells::zeroed(split, layout.bits(), HugePages::Default)?;
    CountingFilter::new(layout, cells, None, fingerprint)
}
