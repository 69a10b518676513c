//! A range coder: decisions of known chance in as many bits as they are worth.
//!
//! The bytes are one long fraction. Each decision cuts the interval in which the fraction lies, in proportion to the
//! chances of its outcomes; what is left at the end names all decisions. The [`Writer`] keeps the lower end of the
//! interval and its width, of which it holds 64 bits and shifts out bytes as they become certain, the [`Reader`] the
//! distance of the fraction from the lower end. Both do the same sums in integers, on every machine.
//!
//! Both are a [`Coder`], so that one function describes how something is written and how it is read.

/// The width never falls below this: decisions lose 2^-32 of their precision, and the end takes two bytes at most.
const WIDTH_MIN: u64 = 1 << 48;

/// The most bits at once of a number whose values are all as likely.
const PLAIN_BITS_MAX: u32 = 16;

/// Bytes behind the last shifted one: see [`Writer::finish`].
pub(super) const END_BYTES_MAX: usize = 2;

/// The chance of a zero, in parts of 65,536.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance(pub(super) u16);

/// A chance that is learned: the mean of what was seen, and of what was expected before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learned {
    zero: u16,
    /// How much was seen, expectations included.
    weight: u8,
}

/// From here on old observations fade: a long list may change its nature.
const WEIGHT_MAX: u8 = 250;
/// No outcome is impossible.
const ZERO_MIN: i32 = 48;
const ZERO_MAX: i32 = (1 << 16) - ZERO_MIN;

impl Learned {
    /// Expected in percent; the expectation is worth so many observations.
    pub(super) const fn expecting(zero_percent: u32, weight: u8) -> Self {
        Learned { zero: (zero_percent * 65_536 / 100) as u16, weight }
    }

    #[inline(always)]
    fn learn(&mut self, one: bool) {
        let zero = i32::from(self.zero);
        let seen = if one { 0 } else { 1 << 16 };
        let moved = zero + (seen - zero) / (i32::from(self.weight) + 1);
        self.zero = moved.clamp(ZERO_MIN, ZERO_MAX) as u16;
        self.weight = (self.weight + 1).min(WEIGHT_MAX);
    }
}

/// Writes what it is given, or ignores that and returns what was written.
pub(super) trait Coder {
    /// A decision of this chance.
    fn decide(&mut self, chance: Chance, one: bool) -> bool;

    /// A number below `2^bits` whose values are all as likely.
    fn plain(&mut self, bits: u32, value: u64) -> u64;

    /// The same of a number of few bits, where all values below `first` are one: `None`.
    fn plain_above(&mut self, bits: u32, first: u64, value: u64) -> Option<u64>;

    /// A decision, from which its chance is learned.
    #[inline(always)]
    fn learn(&mut self, learned: &mut Learned, one: bool) -> bool {
        let one = self.decide(Chance(learned.zero), one);
        learned.learn(one);
        one
    }
}

/// Calls `code` with the parts of a number, the upper ones first.
#[inline(always)]
fn in_parts(bits: u32, value: u64, mut code: impl FnMut(u32, u64) -> u64) -> u64 {
    let mut left = bits;
    let mut whole = 0;
    while left > 0 {
        let part = left.min(PLAIN_BITS_MAX);
        left -= part;
        whole = whole << part | code(part, value >> left & ((1 << part) - 1));
    }
    whole
}

/// Makes bytes of decisions.
#[derive(Debug)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    low: u64,
    width: u64,
}

impl Writer {
    pub(super) fn new() -> Self {
        Writer { bytes: Vec::new(), low: 0, width: u64::MAX }
    }

    /// Goes on in the part of the interval that begins here and is so wide.
    #[inline(always)]
    fn narrow(&mut self, from: u64, width: u64) {
        let carry;
        (self.low, carry) = self.low.overflowing_add(from);
        if carry {
            self.carry();
        }
        self.width = width;
        while self.width < WIDTH_MIN {
            self.shift();
        }
    }

    #[inline(always)]
    fn shift(&mut self) {
        self.bytes.push((self.low >> 56) as u8);
        self.low <<= 8;
        self.width <<= 8;
    }

    /// One more in the last place that was shifted out.
    #[cold]
    fn carry(&mut self) {
        for byte in self.bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                return;
            }
        }
    }

    /// The bytes: with one or two more that, with zeros behind them, lead into the interval.
    ///
    /// Two are always enough, since the interval is 2^48 wide. One is, where a multiple of 2^56 lies in it.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let one = 1u64 << 56;
        let up = self.low.wrapping_neg() % one;
        let (up, end_bytes) =
            if up < self.width { (up, 1) } else { (self.low.wrapping_neg() % WIDTH_MIN, END_BYTES_MAX) };
        let carry;
        (self.low, carry) = self.low.overflowing_add(up);
        if carry {
            self.carry();
        }
        (0..end_bytes).for_each(|_| self.shift());
        self.bytes
    }
}

impl Coder for Writer {
    #[inline(always)]
    fn decide(&mut self, chance: Chance, one: bool) -> bool {
        let zero = (self.width >> 16) * u64::from(chance.0);
        if one {
            self.narrow(zero, self.width - zero);
        } else {
            self.narrow(0, zero);
        }
        one
    }

    #[inline(always)]
    fn plain(&mut self, bits: u32, value: u64) -> u64 {
        in_parts(bits, value, |bits, part| {
            let width = self.width >> bits;
            self.narrow(width * part, width);
            part
        })
    }

    fn plain_above(&mut self, bits: u32, first: u64, value: u64) -> Option<u64> {
        let width = self.width >> bits;
        if value < first {
            self.narrow(0, width * first);
            return None;
        }
        self.narrow(width * value, width);
        Some(value)
    }
}

/// Reads decisions. Behind the last byte there are zeros.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// How far the fraction lies above the lower end.
    above: u64,
    width: u64,
    shifted: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut reader = Reader { rest: bytes, above: 0, width: u64::MAX, shifted: 0 };
        (0..8).for_each(|_| reader.above = reader.above << 8 | reader.take());
        reader
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let (first, rest) = self.rest.split_first().unwrap_or((&0, &[]));
        self.rest = rest;
        u64::from(*first)
    }

    #[inline(always)]
    fn narrow(&mut self, from: u64, width: u64) {
        self.above = self.above.wrapping_sub(from);
        self.width = width;
        while self.width < WIDTH_MIN {
            self.above = self.above << 8 | self.take();
            self.width <<= 8;
            self.shifted += 1;
        }
    }

    /// How many bytes the writer had shifted out when it was here.
    #[inline(always)]
    pub(super) fn shifted(&self) -> usize {
        self.shifted
    }
}

impl Coder for Reader<'_> {
    #[inline(always)]
    fn decide(&mut self, chance: Chance, _one: bool) -> bool {
        let zero = (self.width >> 16) * u64::from(chance.0);
        let one = self.above >= zero;
        if one {
            self.narrow(zero, self.width - zero);
        } else {
            self.narrow(0, zero);
        }
        one
    }

    #[inline(always)]
    fn plain(&mut self, bits: u32, value: u64) -> u64 {
        in_parts(bits, value, |bits, _part| {
            let width = self.width >> bits;
            // No writer's fraction lies beyond the last value; whatever does is found out by writing it again.
            let part = (self.above / width).min((1 << bits) - 1);
            self.narrow(width * part, width);
            part
        })
    }

    fn plain_above(&mut self, bits: u32, first: u64, _value: u64) -> Option<u64> {
        let width = self.width >> bits;
        let value = (self.above / width).min((1 << bits) - 1);
        if value < first {
            self.narrow(0, width * first);
            return None;
        }
        self.narrow(width * value, width);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// The same decisions for whoever writes or reads them; the writer is given a generator, the reader none.
    fn run(coder: &mut impl Coder, mut drawn: Option<SplitMix>, decisions: u32) -> Vec<u64> {
        let mut learned = Learned::expecting(50, 10);
        let mut chances = SplitMix(9);
        let mut next = |most: u64| drawn.as_mut().map_or(0, |rng| rng.below(most));
        (0..decisions)
            .map(|i| {
                let chance = Chance((chances.next() >> 48).clamp(1, 65_535) as u16);
                let bits = chances.below(45) as u32;
                match i % 3 {
                    0 => u64::from(coder.decide(chance, next(65_536) >= u64::from(chance.0))),
                    1 => coder.plain(bits, next(1 << bits)),
                    _ => u64::from(coder.learn(&mut learned, next(10) == 0)),
                }
            })
            .collect()
    }

    #[test]
    fn decisions_are_read_as_written_and_take_the_bits_they_are_worth() {
        for (seed, decisions) in (0..300).zip((0..).step_by(7)) {
            let mut writer = Writer::new();
            let written = run(&mut writer, Some(SplitMix(seed)), decisions);
            let shifted = writer.bytes.len();
            let bytes = writer.finish();
            assert!((shifted + 1..=shifted + END_BYTES_MAX).contains(&bytes.len()));
            let mut reader = Reader::new(&bytes);
            assert_eq!(run(&mut reader, None, decisions), written);
            assert_eq!(reader.shifted(), shifted);
        }
    }

    /// The greatest fraction there is, and the least: carries run through bytes of 255.
    #[test]
    fn decisions_at_the_edges_of_the_interval() {
        for pattern in [0u64, u64::MAX, 1, u64::MAX - 1] {
            for count in 0..40 {
                let mut writer = Writer::new();
                for i in 0..count {
                    writer.plain(16, pattern & 0xffff);
                    writer.decide(Chance(65_535), i % 5 == 4);
                }
                let bytes = writer.finish();
                let mut reader = Reader::new(&bytes);
                for i in 0..count {
                    assert_eq!(reader.plain(16, 0), pattern & 0xffff);
                    assert_eq!(reader.decide(Chance(65_535), false), i % 5 == 4);
                }
            }
        }
    }

    #[test]
    fn a_learned_chance_takes_little_more_than_the_entropy() {
        let share = 0.03;
        let decisions = 20_000;
        let mut writer = Writer::new();
        let mut learned = Learned::expecting(50, 10);
        let mut rng = SplitMix(1);
        let mut ones = 0;
        for _ in 0..decisions {
            let one = rng.unit() < share;
            ones += u64::from(one);
            writer.learn(&mut learned, one);
        }
        let bound = crate::maths::entropy::of_counts([ones, decisions - ones]) / 8.0;
        let ratio = writer.finish().len() as f64 / bound;
        assert!((1.0..1.02).contains(&ratio), "{ratio}");
    }
}
