//! The keys of a race: the same for every contender, the same in every run.
//!
//! Key i is SplitMix64's output at counter i from a fixed seed, a bijection: the first n counters are the
//! keys that are put in, the next ones are strangers, and no two are equal. Hits are asked for in another
//! order than they were put in, so that no cache remembers the way; but the copy in that order is read front
//! to back, so that reading the keys costs every contender the same and next to nothing.

use seenit_filter::random::SplitMix;

/// At most so many keys that are present are looked up a round: enough for two digits, whatever n is.
const MOST_HITS: usize = 10_000_000;

/// Any number: it makes the keys different from those of other tests that count from zero.
const SEED: u64 = 0x5eed_0f5e_e217_0001;

/// A key as production has them: a digest of 20 bytes.
pub(crate) type Digest = [u8; 20];

/// One race's keys, in one form.
pub(crate) struct Set<K> {
    /// The keys that are put in, in this order.
    pub(crate) present: Vec<K>,
    /// Keys that were put in, in the order they are asked for.
    pub(crate) hits: Vec<K>,
    /// Keys that were not put in.
    pub(crate) absent: Vec<K>,
}

/// One race's keys in the two forms: integers, and the digests made of them.
pub(crate) struct Keys {
    pub(crate) integers: Set<u64>,
    /// Only made when somebody in the race hashes digests: they are large.
    digests: Option<Set<Digest>>,
}

impl Keys {
    pub(crate) fn new(present: u64, absent: u64, with_digests: bool) -> Self {
        let integers = Set {
            present: (0..present).map(key).collect(),
            hits: strided(present).take(MOST_HITS).map(key).collect(),
            absent: (present..present + absent).map(key).collect(),
        };
        let digests = with_digests.then(|| integers.map(|&key| digest(key)));
        Keys { integers, digests }
    }

    pub(crate) fn digests(&self) -> &Set<Digest> {
        let digests = self.digests.as_ref();
        digests.expect("digests are made whenever a contender in the race is keyed")
    }
}

impl<K> Set<K> {
    fn map<T>(&self, form: impl Fn(&K) -> T) -> Set<T> {
        let all = |keys: &[K]| keys.iter().map(&form).collect();
        Set { present: all(&self.present), hits: all(&self.hits), absent: all(&self.absent) }
    }
}

/// Bytes that look random, the same for a number always.
pub(crate) fn numbered<const BYTES: usize>(number: u64) -> [u8; BYTES] {
    let mut random = SplitMix(key(number));
    let mut bytes = [0; BYTES];
    bytes.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()[..word.len()]));
    bytes
}

/// SplitMix64 at `counter`.
fn key(counter: u64) -> u64 {
    mix(SEED.wrapping_add(counter.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// SplitMix64's finaliser, itself a bijection.
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Twenty bytes like a digest: the key itself, which keeps them distinct, and two words mixed from it.
fn digest(key: u64) -> Digest {
    let second = mix(!key);
    let third = mix(second);
    let mut digest = [0; 20];
    digest[..8].copy_from_slice(&key.to_le_bytes());
    digest[8..16].copy_from_slice(&second.to_le_bytes());
    digest[16..].copy_from_slice(&third.to_le_bytes()[..4]);
    digest
}

/// The numbers `0..n`, each once, in steps of about the golden section of n: any stretch of them is spread
/// evenly over the whole.
fn strided(n: u64) -> impl Iterator<Item = u64> {
    let golden = (n as f64 * 0.618_033_988_749_895) as u64;
    let step = (golden.max(1)..).find(|&step| greatest_common_divisor(step, n) == 1);
    let step = step.expect("there is a number without common divisor with n");
    (0..n).scan(0, move |at, _| {
        *at = (*at + step) % n;
        Some(*at)
    })
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Signatures with counts that fall like one over their rank.
pub(crate) struct Zipf {
    /// Distinct signatures, in the order they are asked for.
    pub(crate) keys: Vec<u128>,
    /// How often each of them comes.
    pub(crate) counts: Vec<u32>,
    /// Every occurrence, in random order.
    pub(crate) stream: Vec<u128>,
}

/// `keys` signatures; the one of rank i, from 1 on, comes `max(1, top/i)` times.
pub(crate) fn zipf(keys: u64, top: u64) -> Zipf {
    let signature = |rank: u64| u128::from(key(2 * rank)) << 64 | u128::from(key(2 * rank + 1));
    let count = |rank: u64| (top / (rank + 1)).max(1) as u32;
    let mut stream: Vec<u128> =
        (0..keys).flat_map(|rank| (0..count(rank)).map(move |_| signature(rank))).collect();
    for i in (1..stream.len()).rev() {
        // The counters of keys end far below these.
        let j = (u128::from(key(u64::MAX - i as u64)) * (i as u128 + 1)) >> 64;
        stream.swap(i, j as usize);
    }
    let order: Vec<u64> = strided(keys).collect();
    Zipf {
        keys: order.iter().map(|&rank| signature(rank)).collect(),
        counts: order.iter().map(|&rank| count(rank)).collect(),
        stream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_keys_are_distinct_and_so_are_their_digests() {
        let keys = Keys::new(50_000, 70_000, true);
        let integers = &keys.integers;
        let digests = keys.digests();
        let distinct: HashSet<&u64> = integers.present.iter().chain(&integers.absent).collect();
        assert_eq!(distinct.len(), 120_000);
        let distinct: HashSet<&Digest> = digests.present.iter().chain(&digests.absent).collect();
        assert_eq!(distinct.len(), 120_000);
    }

    #[test]
    fn hits_are_the_present_keys_in_another_order() {
        for n in [1, 2, 10, 997, 50_000] {
            let Set { mut present, mut hits, .. } = Keys::new(n, 1, false).integers;
            assert!(n < 3 || present != hits, "{n}");
            present.sort_unstable();
            hits.sort_unstable();
            assert_eq!(present, hits, "{n}");
        }
    }

    #[test]
    fn zipf_streams_have_every_signature_as_often_as_they_say() {
        let zipf = zipf(1000, 50);
        let mut seen: std::collections::HashMap<u128, u32> = std::collections::HashMap::new();
        zipf.stream.iter().for_each(|&key| *seen.entry(key).or_default() += 1);
        assert_eq!(seen.len(), 1000);
        assert!(zipf.keys.iter().zip(&zipf.counts).all(|(key, count)| seen[key] == *count));
        let mut sorted = zipf.counts;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(sorted[..5], [50, 25, 16, 12, 10]);
    }

    #[test]
    fn digests_are_those_of_the_integers_in_the_same_order() {
        let keys = Keys::new(1000, 10, true);
        let digests = keys.digests();
        for (integers, digests) in [
            (&keys.integers.present, &digests.present),
            (&keys.integers.hits, &digests.hits),
            (&keys.integers.absent, &digests.absent),
        ] {
            assert!(integers.iter().map(|&key| digest(key)).eq(digests.iter().copied()));
        }
    }
}
