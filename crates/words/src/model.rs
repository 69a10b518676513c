//! The model: bins, shares and a curve. It answers with one probability and the words that mattered.
//!
//! # The formula
//!
//! A word asks all bins. Say the set F of bins fired. A bin b answers yes to a stranger at the rate `f_b`, read off its
//! bits; the words of a spam message lie in bin b with share `s_b` and in none with `s_0`, those of a good message with
//! `h_b` and `h_0`. If the word is truly in b, all other bins of F fired by chance; if in none, all of them did. What
//! is common to all cases cancels, and the likelihood ratio of what was seen is exactly
//!
//! ```text
//! L(F) = (s_0 + sum of s_b/f_b over F) / (h_0 + sum of h_b/f_b over F)
//! ```
//!
//! So a bin with many false hits speaks softly, two bins that fire are weighed against each other, and a miss counts
//! for what it is. A message of n distinct words has the score `x = sum of ln L / (n + 5)`: words are not independent,
//! so long messages are not surer, and the five blank words keep short ones from being sure. The probability is
//! `1/(1 + e^-(slope x + offset))`, limited to what the training messages can prove.

use std::collections::HashMap;

use seenit_filter::file::{BinFile, FileView, Note};
use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_filter::maths::bins::Bin;
use seenit_signature::Message;

use crate::calibrate::{Curve, OFFSET_MAX, SLOPE_MAX, SLOPE_MIN};
use crate::error::WordsError;
use crate::token;

pub(crate) const TOKEN_RULE: &str = "token rule";
pub(crate) const SPAM_MESSAGES: &str = "spam messages";
pub(crate) const HAM_MESSAGES: &str = "ham messages";
pub(crate) const MISSED_IN_SPAM: &str = "missed share, spam";
pub(crate) const MISSED_IN_HAM: &str = "missed share, ham";
pub(crate) const BLANK_WORDS: &str = "blank words";
pub(crate) const SLOPE: &str = "slope";
pub(crate) const OFFSET: &str = "offset";
pub(crate) const HAM_CREDIT: &str = "expected ham credit";
pub(crate) const MEMBER_ERROR: &str = "member error";

/// Words that say nothing, added to every message.
pub(crate) const BLANKS: f64 = 5.0;

/// The least share. No training has met a million million words; less would weigh against everything else together.
pub(crate) const SHARE_MIN: f64 = 1e-12;

/// The most messages of a side: they are counted in 32 bits.
const MESSAGES_MAX: f64 = 4_294_967_296.0;

/// The most blank words: beyond the longest message, nobody would ever be sure of anything.
const BLANKS_MAX: f64 = 1e6;

/// The most words that an opinion shows.
const SHOWN_MAX: usize = 15;

/// A model of words.
#[derive(Debug)]
pub struct Model {
    file: BinFile,
    key: SipKey,
    bins: Vec<Reading>,
    missed: [f64; 2],
    blanks: f64,
    curve: Curve,
    /// The least and the largest probability that the training messages can prove.
    limits: (f64, f64),
}

/// How a bin is read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    place: usize,
    bin: Bin,
    /// Shares over rate: spam, ham.
    odds: [f64; 2],
}

/// What the words of a message say.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// That it is spam, where as many of the messages are spam as were in training.
    pub probability: f64,
    /// `slope x + offset`: the same order as the probability, without its limits.
    pub score: f64,
    /// Distinct words.
    pub words: usize,
    /// Those in some bin that mattered most, the weightiest first.
    pub mattered: Vec<Word>,
}

/// A word of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The word with its mark.
    pub token: String,
    /// The bin it is most likely in.
    pub bin: usize,
    /// The mean of `Ps/Pns` in that bin; negative, and inverse, for good words.
    pub weight: f64,
    /// `ln L`: what it adds to the sum.
    pub says: f64,
}

impl Model {
    /// The model in a file whose pages were checked.
    pub fn open(view: &FileView<'_>) -> Result<Model, WordsError> {
        view.expect_key(SipKey::public().fingerprint())?;
        Model::of(view.to_bins()?)
    }

    pub(crate) fn of(file: BinFile) -> Result<Model, WordsError> {
        let note = |name: &'static str, sound: &dyn Fn(f64) -> bool| match file.note(name) {
            Some(value) if sound(value) => Ok(value),
            // In Rust's shortest form: 5e-324 is not to be written with 323 zeros.
            Some(value) => Err(WordsError::Note { name, found: format!("{value:?}") }),
            None => Err(WordsError::Note { name, found: "no such note".into() }),
        };
        let is_share = |value: f64| (SHARE_MIN..=1.0).contains(&value);
        note(TOKEN_RULE, &|value| value == f64::from(token::RULE))?;
        let is_count = |value: f64| (1.0..=MESSAGES_MAX).contains(&value) && value.fract() == 0.0;
        let spam = note(SPAM_MESSAGES, &is_count)?;
        let ham = note(HAM_MESSAGES, &is_count)?;
        let missed = [note(MISSED_IN_SPAM, &is_share)?, note(MISSED_IN_HAM, &is_share)?];
        let blanks = note(BLANK_WORDS, &|value| (0.0..=BLANKS_MAX).contains(&value))?;
        let slope = note(SLOPE, &|value| (SLOPE_MIN..=SLOPE_MAX).contains(&value))?;
        let offset = note(OFFSET, &|value| value.abs() <= OFFSET_MAX)?;
        let curve = Curve { slope, offset };
        note(HAM_CREDIT, &|value| value.is_finite() && value >= 0.0)?;
        note(MEMBER_ERROR, &|value| value.is_finite() && value >= 0.0)?;
        for (place, shares) in file.filter.places().zip(&file.shares) {
            if let Some(&share) = shares.iter().find(|&&share| !is_share(share)) {
                return Err(WordsError::Share { place, share });
            }
        }
        let parts = file.filter.bins().zip(file.filter.places()).zip(&file.shares);
        let bins = parts.map(|(((bin, filter), place), shares)| {
            // A bin's rate is not below one in a million million; a division by zero would be a sure sign.
            let rate = filter.present_rate().max(1e-12);
            Reading { place, bin, odds: shares.map(|share| share / rate) }
        });
        let bins = bins.collect();
        let limits = (1.0 / (ham + 2.0), 1.0 - 1.0 / (spam + 2.0));
        Ok(Model { file, key: SipKey::public(), bins, missed, blanks, curve, limits })
    }

    pub(crate) fn with_curve(mut self, Curve { slope, offset }: Curve) -> Result<Model, WordsError> {
        let value = |note: &Note| match note.name.as_str() {
            SLOPE => slope,
            OFFSET => offset,
            _ => note.value,
        };
        self.file.notes =
            self.file.notes.iter().map(|note| Note { value: value(note), ..note.clone() }).collect();
        Model::of(self.file)
    }

    /// What is to be written; see [`seenit_filter::file::write`].
    pub fn file(&self) -> &BinFile {
        &self.file
    }

    /// Which bins fire for a word: bit i for the bin at place i. A word that was put in always has its bin among them.
    pub fn fired(&self, word: Hash128) -> u64 {
        self.file.filter.credit(word).fired
    }

    /// What a message's words say; none if it has no words.
    pub fn judge(&self, raw: &[u8]) -> Option<Opinion> {
        let mut tokens = HashMap::new();
        token::each(&Message::parse(raw), |word| {
            tokens.entry(self.key.hash(&word)).or_insert_with(|| word.to_owned());
        });
        let mut mattered = Vec::new();
        for (&hash, token) in &tokens {
            let fired = self.fired(hash);
            if let Some(reading) = self.likeliest(fired) {
                let bin = reading.place;
                let weight = reading.bin.weight;
                mattered.push(Word { token: token.clone(), bin, weight, says: self.says(fired) });
            }
        }
        mattered.sort_by(|a, b| b.says.abs().total_cmp(&a.says.abs()).then_with(|| a.token.cmp(&b.token)));
        mattered.truncate(SHOWN_MAX);
        let mut hashes: Vec<Hash128> = tokens.into_keys().collect();
        hashes.sort_unstable_by_key(|hash| (hash.hi, hash.lo));
        Some(Opinion { mattered, ..self.opinion(&hashes)? })
    }

    /// What these distinct words say, without naming any; none if there are none.
    pub fn opinion(&self, words: &[Hash128]) -> Option<Opinion> {
        let x = self.score_of(words.iter().map(|&word| self.fired(word)))?;
        let probability = self.curve.at(x).clamp(self.limits.0, self.limits.1);
        Some(Opinion { probability, score: self.curve.logit(x), words: words.len(), mattered: Vec::new() })
    }

    /// The score where no word says anything: for those who must order messages without words among the others.
    pub fn neutral_score(&self) -> f64 {
        self.curve.logit(0.0)
    }

    /// x, of what fired for each word.
    pub(crate) fn score_of(&self, fired: impl Iterator<Item = u64>) -> Option<f64> {
        let (sum, words) =
            fired.fold((0.0, 0.0), |(sum, words), fired| (sum + self.says(fired), words + 1.0));
        (words > 0.0).then(|| sum / (words + self.blanks))
    }

    /// `ln L`, of what fired for a word.
    fn says(&self, fired: u64) -> f64 {
        let mut odds = self.missed;
        for reading in self.readings(fired) {
            odds = [odds[0] + reading.odds[0], odds[1] + reading.odds[1]];
        }
        (odds[0] / odds[1]).ln()
    }

    /// The bin that a word is most likely in, if it is more likely in one than in none.
    fn likeliest(&self, fired: u64) -> Option<&Reading> {
        let odds = |reading: &Reading| reading.odds[0] + reading.odds[1];
        let best = self.readings(fired).max_by(|a, b| odds(a).total_cmp(&odds(b)))?;
        (odds(best) > self.missed[0] + self.missed[1]).then_some(best)
    }

    fn readings(&self, fired: u64) -> impl Iterator<Item = &Reading> {
        self.bins.iter().filter(move |reading| fired >> reading.place & 1 == 1)
    }
}
