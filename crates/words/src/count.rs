//! Counting: in how many messages of each side a word stands.
//!
//! Words are kept as hashes, so a word takes some 40 bytes whatever its length. Beside the counts a sample of the
//! messages is kept as lists of words: shares and calibration are measured on them, each left out of its own counts.

use std::collections::HashMap;

use seenit_filter::hash::{Hash128, SipKey};
use seenit_signature::Message;

use crate::token;

/// The most words that are counted at a time, about 350 MB. When there are more, the rarest are forgotten until half
/// are left; they are those that say least.
pub const WORDS_MAX: usize = 1 << 23;

/// The most words in the lists of kept messages, 256 MB. When there are more, every second message is dropped.
pub const EXAMPLE_WORDS_MAX: usize = 1 << 26;

/// What somebody said of a message.
///
/// The labels of a corpus (`seenit_mailbox::Label`) are the same two. They stay two types: this crate opens no file, so
/// it must not depend on the crate that does, and that one knows nothing of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nobody asked for it.
    Spam,
    /// Good mail.
    Ham,
}

/// Messages of each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Spam.
    pub spam: u32,
    /// Good mail.
    pub ham: u32,
}

impl Count {
    /// Of both sides.
    pub fn all(self) -> u64 {
        u64::from(self.spam) + u64::from(self.ham)
    }

    /// Of one side.
    pub fn of(self, side: Side) -> u32 {
        match side {
            Side::Spam => self.spam,
            Side::Ham => self.ham,
        }
    }

    fn of_mut(&mut self, side: Side) -> &mut u32 {
        match side {
            Side::Spam => &mut self.spam,
            Side::Ham => &mut self.ham,
        }
    }

    /// Without one message of this side.
    pub(crate) fn without_one(mut self, side: Side) -> Count {
        let count = self.of_mut(side);
        *count = count.saturating_sub(1);
        self
    }
}

/// A message that is kept: which words, by number.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) side: Side,
    pub(crate) words: Vec<u32>,
    /// Words that were forgotten since.
    pub(crate) forgotten: u32,
    /// Which message of its side it was.
    ordinal: u32,
}

/// Counts words, message by message, in bounded memory.
#[derive(Debug)]
pub struct Trainer {
    pub(crate) key: SipKey,
    pub(crate) numbers: HashMap<Hash128, u32>,
    pub(crate) counts: Vec<Count>,
    pub(crate) messages: Count,
    pub(crate) examples: Vec<Example>,
    example_words: usize,
    /// Of each side every so many-th message is kept.
    stride: u32,
    limits: (usize, usize),
}

impl Default for Trainer {
    fn default() -> Self {
        Self::new()
    }
}

impl Trainer {
    /// Nothing counted yet. Words are hashed under the public key: whoever has the model can try words on it anyway.
    pub fn new() -> Self {
        Trainer::with_limits(WORDS_MAX, EXAMPLE_WORDS_MAX)
    }

    fn with_limits(words: usize, example_words: usize) -> Self {
        Trainer {
            key: SipKey::public(),
            numbers: HashMap::new(),
            counts: Vec::new(),
            messages: Count::default(),
            examples: Vec::new(),
            example_words: 0,
            stride: 1,
            limits: (words, example_words),
        }
    }

    /// Learns a message from its bytes.
    pub fn learn_message(&mut self, side: Side, raw: &[u8]) {
        self.learn(side, &token::hashes(&Message::parse(raw), &self.key));
    }

    /// Learns a message from its distinct words, as [`token::hashes`] gives them under the public key.
    pub fn learn(&mut self, side: Side, words: &[Hash128]) {
        let ordinal = self.messages.of(side);
        *self.messages.of_mut(side) = ordinal.saturating_add(1);
        let mut numbers = Vec::with_capacity(words.len());
        for &word in words {
            let next = self.counts.len() as u32;
            let number = *self.numbers.entry(word).or_insert(next);
            if number == next {
                self.counts.push(Count::default());
            }
            let count = self.counts[number as usize].of_mut(side);
            *count = count.saturating_add(1);
            numbers.push(number);
        }
        if ordinal.is_multiple_of(self.stride) {
            self.example_words += numbers.len();
            self.examples.push(Example { side, words: numbers, forgotten: 0, ordinal });
        }
        while self.example_words > self.limits.1 && self.examples.len() > 2 {
            self.thin_examples();
        }
        if self.counts.len() > self.limits.0 {
            self.forget_rare();
        }
    }

    /// Messages learnt.
    pub fn messages(&self) -> Count {
        self.messages
    }

    /// Words counted.
    pub fn words(&self) -> usize {
        self.counts.len()
    }

    /// Every word's hash with its weight, zero weights included, in an order of their own.
    pub fn weights(&self) -> Vec<(Hash128, f64)> {
        let weight = |(&hash, &number): (&Hash128, &u32)| {
            (hash, crate::weight(self.counts[number as usize], self.messages))
        };
        let mut weights: Vec<(Hash128, f64)> = self.numbers.iter().map(weight).collect();
        weights.sort_unstable_by_key(|(hash, _)| (hash.hi, hash.lo));
        weights
    }

    fn thin_examples(&mut self) {
        self.stride = self.stride.saturating_mul(2);
        self.examples.retain(|example| example.ordinal.is_multiple_of(self.stride));
        self.example_words = self.examples.iter().map(|example| example.words.len()).sum();
    }

    /// Forgets words of one message, then of two, until half the room is free.
    fn forget_rare(&mut self) {
        let mut fewest = 2;
        while self.counts.iter().filter(|count| count.all() >= fewest).count() > self.limits.0 / 2 {
            fewest += 1;
        }
        const GONE: u32 = u32::MAX;
        let mut next = 0;
        let place = |count: &Count| {
            if count.all() < fewest {
                return GONE;
            }
            next += 1;
            next - 1
        };
        let places: Vec<u32> = self.counts.iter().map(place).collect();
        self.counts.retain(|count| count.all() >= fewest);
        self.numbers.retain(|_, number| {
            *number = places[*number as usize];
            *number != GONE
        });
        for example in &mut self.examples {
            let before = example.words.len();
            example.words.retain_mut(|number| {
                *number = places[*number as usize];
                *number != GONE
            });
            example.forgotten += (before - example.words.len()) as u32;
        }
        self.example_words = self.examples.iter().map(|example| example.words.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(number: u64) -> Hash128 {
        Hash128 { lo: number, hi: number }
    }

    #[test]
    fn memory_is_bounded_and_common_words_stay() {
        let mut trainer = Trainer::with_limits(100, 200);
        for n in 0..1000 {
            let side = if n % 2 == 0 { Side::Spam } else { Side::Ham };
            trainer.learn(side, &[word(1), word(2 + n % 2), word(100 + 2 * n), word(101 + 2 * n)]);
            assert!(trainer.words() <= 100 && trainer.example_words <= 200, "{n}: {}", trainer.words());
        }
        let count = |number| trainer.numbers.get(&word(number)).map(|&at| trainer.counts[at as usize]);
        assert_eq!(trainer.messages(), Count { spam: 500, ham: 500 });
        assert_eq!(count(1), Some(Count { spam: 500, ham: 500 }));
        assert_eq!(count(2), Some(Count { spam: 500, ham: 0 }));
        let sides =
            [Side::Spam, Side::Ham].map(|side| trainer.examples.iter().filter(|e| e.side == side).count());
        assert!(sides[0].abs_diff(sides[1]) <= 1 && sides[0] >= 12, "{sides:?}");
        assert!(trainer.examples.iter().all(|e| e.words.len() as u32 + e.forgotten == 4));
    }
}
