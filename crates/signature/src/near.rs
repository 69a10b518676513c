//! `near1`: 32 min-hash shingles over the 3-grams of a message's words.
//!
//! Two texts that share the part J of their 3-grams (Jaccard) have each shingle in common with probability J.
//!
//! A word's hash is SipHash-1-3 under a public key. A 3-gram's is `mix(a + 3 b' + 5 c'')`, where b' and c'' are the
//! second and third word's hashes rotated left by 21 and by 42 bits. The shingle of slot i is the smallest, over all
//! 3-grams g, of `mix(g xor KEYS[i])`; `mix` is the finisher of SplitMix64, and the keys are its first 32 outputs
//! from a seed that spells the kind. The public keys protect nobody: who chooses a text chooses its shingles. The
//! filters they go into are keyed.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::words::Words;

/// Shingles of a text.
pub const SHINGLES: usize = 32;

/// Words of an n-gram.
const GRAM_WORDS: usize = 3;

/// Distinct 3-grams that are counted: enough to tell a text from a few words repeated, and few enough to compare.
pub const GRAMS_COUNTED_MAX: usize = 16;

/// "near1" and zeros, as a little-endian number.
const SEED: u64 = u64::from_le_bytes(*b"near1\0\0\0");

/// The finisher of SplitMix64: a permutation of 64-bit words in which each bit depends on all.
#[inline(always)]
const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// One key for each slot.
const KEYS: [u64; SHINGLES] = {
    let mut keys = [0; SHINGLES];
    let mut state = SEED;
    let mut slot = 0;
    while slot < SHINGLES {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        keys[slot] = mix(state);
        slot += 1;
    }
    keys
};

/// The shingles of a text, and how much there was to make them of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shingles {
    /// The smallest hash in each slot.
    pub values: [u64; SHINGLES],
    /// Distinct 3-grams, counted up to [`GRAMS_COUNTED_MAX`].
    pub grams: usize,
}

/// The hashes of the 3-grams of a text, in order, repeats included.
pub fn grams(words: &Words) -> Vec<u64> {
    let hashes: Vec<u64> = words.iter().map(word_hash).collect();
    let gram = |window: &[u64]| {
        let a = window[0];
        let b = window[1].rotate_left(21);
        let c = window[2].rotate_left(42);
        mix(a.wrapping_add(b.wrapping_mul(3)).wrapping_add(c.wrapping_mul(5)))
    };
    hashes.windows(GRAM_WORDS).map(gram).collect()
}

/// The shingles of some 3-grams; `None` of none. Repeats change no minimum.
pub fn shingles(grams: &[u64]) -> Option<Shingles> {
    // Slot by slot: the other way round compilers take to vectors that have no multiplication of 64 bits.
    let values = KEYS.map(|key| grams.iter().map(|gram| mix(gram ^ key)).min().unwrap_or(u64::MAX));
    (!grams.is_empty()).then_some(Shingles { values, grams: distinct(grams) })
}

/// How many of them differ, counted up to [`GRAMS_COUNTED_MAX`].
fn distinct(grams: &[u64]) -> usize {
    let mut found = Vec::with_capacity(GRAMS_COUNTED_MAX);
    for gram in grams {
        if found.len() == GRAMS_COUNTED_MAX {
            break;
        }
        if !found.contains(gram) {
            found.push(*gram);
        }
    }
    found.len()
}

fn word_hash(word: &str) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(SEED, !SEED);
    hasher.write(word.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that look like nothing, number `from` up to `to`.
    fn text(from: u64, to: u64) -> Words {
        let letters = |mut n: u64| {
            let mut word = String::new();
            for _ in 0..8 {
                n = mix(n + 1);
                word.push(char::from(b'a' + (n % 11) as u8));
            }
            word + " "
        };
        Words::of(&(from..to).map(letters).collect::<String>())
    }

    /// Shared shingles are binomial with the Jaccard index of the 3-grams: over 40 pairs of texts, the mean of all
    /// slots lies within five standard deviations.
    #[test]
    fn shingles_meet_as_often_as_jaccard_says() {
        for shared in [20, 50, 80] {
            let mut equal = 0;
            let mut expected = 0.0;
            let pairs = 40;
            for pair in 0..pairs {
                let base = pair * 10_000;
                let a = grams(&text(base, base + 102));
                let b = grams(&text(base + 100 - shared, base + 202 - shared));
                let common = a.iter().filter(|gram| b.contains(gram)).count();
                expected += common as f64 / (a.len() + b.len() - common) as f64;
                let a = shingles(&a).expect("grams");
                let b = shingles(&b).expect("grams");
                equal += a.values.iter().zip(&b.values).filter(|(a, b)| a == b).count();
            }
            let share = expected / pairs as f64;
            let slots = (pairs as usize * SHINGLES) as f64;
            let spread = (share * (1.0 - share) / slots).sqrt();
            assert!(
                (equal as f64 / slots - share).abs() < 5.0 * spread,
                "{equal} of {slots}, expected {share}"
            );
        }
    }

    #[test]
    fn order_of_words_matters_and_repeats_do_not() {
        let of = |text: &str| shingles(&grams(&Words::of(text)));
        assert_ne!(of("one two three"), of("three two one"));
        assert_eq!(of("a b c a b c a b c"), of("a b c a b c"));
        assert_eq!(of("only two"), None);
        assert_eq!(of("a b c a b c a b c").expect("grams").grams, 3);
        assert_eq!(shingles(&grams(&text(0, 100))).expect("grams").grams, GRAMS_COUNTED_MAX);
    }
}
