//! From counts to a model: weights, bins, shares, and the curve.
//!
//! Shares and curve are measured on the kept messages, each *left out*: its own message is taken from a word's counts
//! before the word is weighed. Otherwise every word of one message would seem to be a sure sign of its side.

use seenit_filter::bins::{BINS_MAX, BinFilter};
use seenit_filter::file::{BinFile, Note};
use seenit_filter::hash::Hash128;
use seenit_filter::layout::Layout;

use crate::calibrate::Curve;
use crate::count::{Count, Example, Side, Trainer};
use crate::error::WordsError;
use crate::model::{self, Model};
use crate::plan::Bins;
use crate::weigh::weight;

/// Bits a kept word, where nobody says how many in all. With half as many, 4 points of the spam caught at 0.1 % ham
/// lost are lost; twice as many gain a point or two.
pub const BITS_PER_WORD: u64 = 7;

/// The most bits of all bins together, 128 GiB: more is a slip of the keyboard.
pub const BITS_MAX: u64 = 1 << 40;

/// How to train.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bits of all bins together; `None` for [`BITS_PER_WORD`] bits a word.
    pub bits: Option<u64>,
    /// Bins a side, at most 32.
    pub bins: usize,
    /// Anneal the cuts, from this seed, in place of the exact optimum.
    pub annealing_seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { bits: None, bins: 8, annealing_seed: None }
    }
}

/// A model, and what it was made of.
#[derive(Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// What it was made of.
    pub summary: Summary,
}

/// What a model was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Messages learnt.
    pub messages: Count,
    /// Words counted.
    pub words: u64,
    /// Words of spam that are in a bin.
    pub spam_words: u64,
    /// Good words that are in a bin.
    pub good_words: u64,
    /// Bins of both sides.
    pub bins: u64,
    /// Their bits.
    pub bits: u64,
    /// The weight of spam words that a word in no bin is credited with, on average.
    pub expected_ham_credit: f64,
    /// How far a word's credit by the bins of both sides is from its weight, on average over all words with weight.
    pub member_error: f64,
}

impl Trainer {
    /// Makes a model of what was learnt. Equal messages in equal order give equal models.
    pub fn train(&self, options: &Options) -> Result<Trained, WordsError> {
        let messages = self.messages;
        if messages.spam == 0 || messages.ham == 0 {
            return Err(WordsError::OneSided { spam: messages.spam.into(), ham: messages.ham.into() });
        }
        if !(1..=BINS_MAX / 2).contains(&options.bins) {
            return Err(WordsError::Bins { bins: options.bins, limit: BINS_MAX / 2 });
        }
        let weighed = self.weights();
        let kept: Vec<f64> =
            weighed.iter().map(|&(_, weight)| weight).filter(|&weight| weight != 0.0).collect();
        if kept.is_empty() {
            return Err(WordsError::NoWeights { words: weighed.len() });
        }
        let bits = options.bits.unwrap_or(BITS_PER_WORD * kept.len() as u64);
        let bins = Bins::of(&kept, options.bins, bits, options.annealing_seed)?;
        let mut filter = BinFilter::empty(self.key.fingerprint(), &bins.bins, &bins.bits)?;
        for &(hash, weight) in &weighed {
            if let Some(place) = bins.place(weight) {
                filter.insert(place, hash);
            }
        }
        let summary = self.summary(&weighed, &filter);
        let (model, fit) =
            (self.with_shares(filter, &bins, &summary)?, |model: Model| self.calibrated(model, &bins));
        Ok(Trained { model: fit(model)?, summary })
    }

    fn summary(&self, weighed: &[(Hash128, f64)], filter: &BinFilter) -> Summary {
        let words = |side: fn(f64) -> bool| {
            filter.bins().filter(|(bin, _)| side(bin.weight)).map(|(bin, _)| bin.keys).sum()
        };
        let of_spam = filter.bins().filter(|(bin, _)| bin.weight > 0.0);
        let errors = weighed.iter().filter(|(_, weight)| *weight != 0.0);
        let errors = errors.map(|&(hash, weight)| (filter.credit(hash).weight - weight).abs());
        Summary {
            messages: self.messages,
            words: self.words() as u64,
            spam_words: words(|weight| weight > 0.0),
            good_words: words(|weight| weight < 0.0),
            bins: filter.bins().count() as u64,
            bits: filter.bins().map(|(_, filter)| filter.layout().bits()).sum(),
            // From 0, since the sum of nothing is -0.
            expected_ham_credit: of_spam
                .fold(0.0, |sum, (bin, filter)| sum + bin.weight * filter.present_rate()),
            member_error: errors.clone().sum::<f64>() / errors.count() as f64,
        }
    }

    /// The place of a word when a message of `side` is left out of its counts.
    fn place_without(&self, number: u32, side: Side, bins: &Bins) -> Option<usize> {
        bins.place(weight(self.counts[number as usize].without_one(side), self.messages))
    }

    /// A model whose shares are measured, and whose curve is not.
    fn with_shares(&self, filter: BinFilter, bins: &Bins, summary: &Summary) -> Result<Model, WordsError> {
        // One place more: words in no bin. Nothing is impossible, so each starts at one.
        let mut met = vec![[1.0; 2]; bins.bins.len() + 1];
        for example in &self.examples {
            let side = usize::from(example.side == Side::Ham);
            for &number in &example.words {
                met[self.place_without(number, example.side, bins).unwrap_or(bins.bins.len())][side] += 1.0;
            }
            met[bins.bins.len()][side] += f64::from(example.forgotten);
        }
        let sums = [0, 1].map(|side| met.iter().map(|met| met[side]).sum::<f64>());
        let share = |place: usize| [0, 1].map(|side| (met[place][side] / sums[side]).max(model::SHARE_MIN));
        let missed = share(bins.bins.len());
        let notes = [
            (model::TOKEN_RULE, f64::from(crate::token::RULE)),
            (model::SPAM_MESSAGES, f64::from(self.messages.spam)),
            (model::HAM_MESSAGES, f64::from(self.messages.ham)),
            (model::MISSED_IN_SPAM, missed[0]),
            (model::MISSED_IN_HAM, missed[1]),
            (model::BLANK_WORDS, model::BLANKS),
            (model::SLOPE, 1.0),
            (model::OFFSET, 0.0),
            (model::HAM_CREDIT, summary.expected_ham_credit),
            (model::MEMBER_ERROR, summary.member_error),
        ];
        let notes = notes.map(|(name, value)| Note { name: name.into(), value }).to_vec();
        let shares = filter.places().map(share).collect();
        Model::of(BinFile { filter, shares, notes })
    }

    /// The model with a curve through the scores of the kept messages, each left out.
    fn calibrated(&self, model: Model, bins: &Bins) -> Result<Model, WordsError> {
        let mut fired = vec![0; self.counts.len()];
        for (&hash, &number) in &self.numbers {
            let own = bins.place(weight(self.counts[number as usize], self.messages));
            fired[number as usize] = model.fired(hash) & !own.map_or(0, |place| 1 << place);
        }
        let score = |example: &Example| {
            let known = example.words.iter().map(|&number| {
                // What else fired fires by chance; its own bin is that of the counts without this message.
                let own = self.place_without(number, example.side, bins);
                fired[number as usize] | own.map_or(0, |place| 1 << place)
            });
            model.score_of(known.chain((0..example.forgotten).map(|_| 0)))
        };
        let scores = |side: Side| {
            let mine = self.examples.iter().filter(|example| example.side == side);
            mine.filter_map(score).collect::<Vec<f64>>()
        };
        let curve = Curve::fit(&scores(Side::Spam), &scores(Side::Ham));
        model.with_curve(curve)
    }
}
