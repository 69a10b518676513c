//! What has been learnt of shingles: exact dictionaries for the rules that are compared, and the product's own filters
//! for the rule that ships.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use seenit_filter::cells::Packing;
use seenit_filter::counting::{Count, CountingFilter, Refined};
use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::shingles::{Choice, Ratio, Wanted};
use seenit_filter::{HugePages, Layout, LayoutName};
use seenit_signature::near::SHINGLES;

use super::mail::{Shingles, keys};
use crate::bench::LabError;

pub(super) use seenit_filter::shingles::DEFAULT_THRESHOLD;

/// The matches that are enough where all ham is known; the filters are sized for it.
pub(super) const LOW_THRESHOLD: u32 = 9;

/// How likely a stranger may reach the low threshold by accidents of the filter alone.
const ACCIDENT_ODDS_MAX: f64 = 1e-9;

/// Bits of a cell: counts to 255 in spam, and to 65,535 in ham, where saturation would silence a shingle for good.
const SPAM_BITS: u32 = 8;
const HAM_BITS: u32 = 16;

/// The rule `ratio`: spam more than so many times ham. That of the product is the same, by its default.
const TIMES: u32 = 4;

/// How the product would be built for so many messages on either side.
#[derive(Clone, Copy)]
pub(super) struct Geometry {
    spam: Choice,
    ham: Choice,
}

impl Geometry {
    pub(super) fn new(spam: u64, ham: u64) -> Result<Self, LabError> {
        let choose = |messages: u64, bits| {
            let wanted = Wanted {
                shingles: SHINGLES as u32,
                threshold: LOW_THRESHOLD,
                listed: 0,
                bound: ACCIDENT_ODDS_MAX,
                capacity: messages.max(1) * SHINGLES as u64,
            };
            Choice::new(wanted, LayoutName::Paged, Packing::new(bits)?).map_err(LabError::from)
        };
        Ok(Geometry { spam: choose(spam, SPAM_BITS)?, ham: choose(ham, HAM_BITS)? })
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        format!(
            "spam tally of {} cells of {SPAM_BITS} bits, ham tally of {} cells of {HAM_BITS} bits, a key in one page, \
             sized so that a stranger reaches {LOW_THRESHOLD} of {SHINGLES} once in a thousand million (rate {:.4})",
            self.spam.layout.bits(),
            self.ham.layout.bits(),
            self.spam.rate
        )
    }
}

/// What is known of one shingle.
pub(super) struct Known {
    /// Its spam count.
    pub(super) spam: Count,
    /// Whether the spam count exceeds the ratio.
    pub(super) matched: bool,
}

/// What the product keeps: two counting filters under a secret key.
pub(super) struct Product {
    key: SipKey,
    spam: CountingFilter<Refined>,
    ham: CountingFilter<Refined>,
}

impl Product {
    pub(super) fn new(geometry: &Geometry, seed: u64) -> Result<Self, LabError> {
        let key = SipKey::derive(&seed.to_le_bytes());
        let tally = |choice: &Choice, bits| {
            let packing = Packing::new(bits)?;
            CountingFilter::packed(choice.layout, packing, None, key.fingerprint(), HugePages::Default)
        };
        let spam = tally(&geometry.spam, SPAM_BITS)?;
        let ham = tally(&geometry.ham, HAM_BITS)?;
        Ok(Product { key, spam, ham })
    }

    /// One report, or one word that it is good.
    pub(super) fn learn(&mut self, shingles: &Shingles, is_spam: bool) {
        let tally = if is_spam { &mut self.spam } else { &mut self.ham };
        keys(shingles).iter().for_each(|shingle| tally.insert(self.key.hash(&shingle.to_bytes())));
    }

    /// How many shingles match.
    pub(super) fn matched(&self, shingles: &Shingles) -> u32 {
        self.explain(shingles).iter().filter(|known| known.matched).count() as u32
    }

    /// What is known of each shingle.
    pub(super) fn explain(&self, shingles: &Shingles) -> Vec<Known> {
        let known = |hash| {
            let spam = self.spam.count(hash);
            let ham = self.ham.count(hash);
            Known { spam, matched: Ratio::default().is_exceeded(spam, ham) }
        };
        keys(shingles).iter().map(|shingle| known(self.key.hash(&shingle.to_bytes()))).collect()
    }
}

/// The rules that are compared, as they are named. `likest` is in no row: no storage is made for it.
pub(super) const RULES: [&str; 6] = ["any", "minus", "ratio", "same", "shipped", "likest"];

/// The place of a rule in [`RULES`].
pub(super) const ANY: usize = 0;
pub(super) const MINUS: usize = 1;
pub(super) const RATIO: usize = 2;
pub(super) const SAME: usize = 3;
pub(super) const SHIPPED: usize = 4;
pub(super) const LIKEST: usize = 5;

/// How many shingles of a message match, by each rule.
pub(super) type Evidence = [u32; RULES.len()];

/// A shingle: slot and value.
type Key = (u8, u64);

/// All that was learnt.
pub(super) struct Memory {
    pub(super) product: Product,
    /// Sightings in spam and in ham.
    seen: HashMap<Key, [u32; 2]>,
    /// The spam message that was last learnt with a shingle: what rspamd's storage keeps.
    last: HashMap<Key, u64>,
    /// All spam messages that have a shingle: what it would take to find the likest one.
    holders: HashMap<Key, Vec<u32>>,
    messages: u32,
}

impl Memory {
    pub(super) fn new(geometry: &Geometry, seed: u64) -> Result<Self, LabError> {
        let product = Product::new(geometry, seed)?;
        Ok(Memory {
            product,
            seen: HashMap::new(),
            last: HashMap::new(),
            holders: HashMap::new(),
            messages: 0,
        })
    }

    pub(super) fn learn(&mut self, shingles: &Shingles, is_spam: bool) {
        self.product.learn(shingles, is_spam);
        let text = text(shingles);
        for key in keyed(shingles) {
            self.seen.entry(key).or_default()[usize::from(!is_spam)] += 1;
            if is_spam {
                self.last.insert(key, text);
                self.holders.entry(key).or_default().push(self.messages);
            }
        }
        self.messages += u32::from(is_spam);
    }

    pub(super) fn judge(&self, shingles: &Shingles) -> Evidence {
        let mut evidence = Evidence::default();
        for key in keyed(shingles) {
            let [spam, ham] = self.seen.get(&key).copied().unwrap_or_default();
            evidence[ANY] += u32::from(spam > 0);
            evidence[MINUS] += u32::from(spam > 0 && ham == 0);
            evidence[RATIO] += u32::from(spam > TIMES * ham);
        }
        evidence[SAME] = self.same(shingles);
        evidence[LIKEST] = self.likest(shingles);
        evidence[SHIPPED] = self.product.matched(shingles);
        evidence
    }

    /// The most shingles that name one and the same text as the one they were last learnt with: rspamd's rule.
    fn same(&self, shingles: &Shingles) -> u32 {
        most(keyed(shingles).filter_map(|key| self.last.get(&key)))
    }

    /// The most shingles shared with one and the same spam message, whoever came after it.
    fn likest(&self, shingles: &Shingles) -> u32 {
        most(keyed(shingles).filter_map(|key| self.holders.get(&key)).flatten())
    }
}

/// The slots and values of shingles.
fn keyed(shingles: &Shingles) -> impl Iterator<Item = Key> {
    (0..).zip(shingles.iter().copied())
}

/// A name for all messages with these shingles.
fn text(shingles: &Shingles) -> u64 {
    let mut hasher = DefaultHasher::new();
    shingles.hash(&mut hasher);
    hasher.finish()
}

/// How often the most frequent one occurs.
fn most<T: Eq + Hash>(names: impl Iterator<Item = T>) -> u32 {
    let mut times: HashMap<T, u32> = HashMap::new();
    names.for_each(|name| *times.entry(name).or_default() += 1);
    times.into_values().max().unwrap_or(0)
}
