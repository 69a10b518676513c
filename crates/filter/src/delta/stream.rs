//! A stream of bits, lowest first: what payloads are written to and read from.

use super::DeltaError;
use super::code::{ENTRY_BYTES, LENGTH_MAX, Reading};

/// Quotients of a Rice code beyond this are not worth their bits: the number follows as it is. Together with a
/// remainder of [`JOINT_BITS_MAX`] bits they fit one read.
const QUOTIENT_MAX: u32 = 24;
/// The widest remainder that is read together with its quotient.
const JOINT_BITS_MAX: u32 = PEEK_BITS - QUOTIENT_MAX - 1;
/// The widest remainder that is surely held together with its quotient when 56 bits are.
const SHORT_BITS_MAX: u32 = 56 - QUOTIENT_MAX;
/// The widest remainder at all: positions are below 2^43. Larger numbers (changes of split cells) are spelt out.
pub(super) const REMAINDER_BITS_MAX: u32 = 43;
/// Bits a peek is sure to hold: a word less the bits of a byte that were read already.
const PEEK_BITS: u32 = 57;

/// Codes of bytes that are pushed, or looked up, at a time: they fit what is held, and a peek.
const CODES_AT_ONCE: usize = (PEEK_BITS / LENGTH_MAX) as usize;
/// Bytes that may be written when so many codes are looked up at once, the last ones too many.
const STRIDE: usize = (CODES_AT_ONCE - 1) * ENTRY_BYTES + 8;

/// Collects bits.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl BitWriter {
    /// The lowest `bits` bits of `value`, which has no others; at most 64.
    #[inline(always)]
    pub(super) fn push(&mut self, value: u64, bits: u32) {
        debug_assert!(bits == 64 || value >> bits == 0);
        self.held |= value << self.count;
        let count = self.count + bits;
        if count < 64 {
            self.count = count;
        } else {
            self.bytes.extend_from_slice(&self.held.to_le_bytes());
            self.held = value.checked_shr(64 - self.count).unwrap_or(0);
            self.count = count - 64;
        }
    }

    /// A number in groups of seven bits, each with a bit that says whether another follows.
    pub(super) fn push_number(&mut self, mut value: u64) {
        while value >= 1 << 7 {
            self.push(value & 0x7f | 0x80, 8);
            value >>= 7;
        }
        self.push(value, 8);
    }

    /// A Rice code: the quotient by `2^k` in ones, a zero, the remainder. Far-off numbers are spelt out.
    #[inline(always)]
    pub(super) fn push_rice(&mut self, value: u64, k: u32) {
        let quotient = value >> k;
        if quotient >= u64::from(QUOTIENT_MAX) {
            return self.push_far(value);
        }
        let ones = (1 << quotient) - 1;
        let remainder = value & ((1 << k) - 1);
        if k <= JOINT_BITS_MAX {
            self.push(remainder << (quotient + 1) | ones, quotient as u32 + 1 + k);
        } else {
            self.push(ones, quotient as u32 + 1);
            self.push(remainder, k);
        }
    }

    #[cold]
    fn push_far(&mut self, value: u64) {
        let bits = 64 - value.leading_zeros();
        self.push((1 << QUOTIENT_MAX) - 1, QUOTIENT_MAX);
        self.push(u64::from(bits - 1), 6);
        self.push(value, bits);
    }

    /// Bytes in a code of at most [`LENGTH_MAX`] bits: by byte its bits, and 16 bits up how many.
    #[inline(always)]
    pub(super) fn push_coded(&mut self, codes: &[u32; 256], bytes: &[u8]) {
        let start = self.bytes.len();
        let bits_max = bytes.len() * LENGTH_MAX as usize + 64;
        self.bytes.resize(start + bits_max / 8 + 8, 0);
        let out = &mut self.bytes[start..];
        let mut at = 0;
        let mut held = self.held;
        let mut count = self.count;
        // Whole bytes go out, always eight of them written: nothing depends on how many there are.
        let mut flush = |held: &mut u64, count: &mut u32| {
            out[at..at + 8].copy_from_slice(&held.to_le_bytes());
            at += *count as usize / 8;
            *held = held.checked_shr(*count & !7).unwrap_or(0);
            *count %= 8;
        };
        flush(&mut held, &mut count);
        let (groups, rest) = bytes.as_chunks::<CODES_AT_ONCE>();
        for group in groups.iter().map(<[u8; CODES_AT_ONCE]>::as_slice).chain([rest]) {
            for &byte in group {
                let code = codes[usize::from(byte)];
                held |= u64::from(code & 0xffff) << count;
                count += code >> 16;
            }
            flush(&mut held, &mut count);
        }
        out[at..at + 8].copy_from_slice(&held.to_le_bytes());
        let bits = at * 8 + count as usize;
        let words = bits / 64 * 8;
        self.held = u64::from_le_bytes(std::array::from_fn(|i| out[words + i])) & ((1 << (bits % 64)) - 1);
        self.count = bits as u32 % 64;
        self.bytes.truncate(start + words);
    }

    /// Forgets all bits but the first `bits`.
    pub(super) fn rewind(&mut self, bits: u64) {
        let words = (bits / 64 * 8) as usize;
        if let Some(&word) = self.bytes.get(words..).and_then(|rest| rest.first_chunk()) {
            self.held = u64::from_le_bytes(word);
            self.bytes.truncate(words);
        }
        self.count = bits as u32 % 64;
        self.held &= (1 << self.count) - 1;
    }

    /// Bits so far.
    pub(super) fn bits(&self) -> u64 {
        self.bytes.len() as u64 * 8 + u64::from(self.count)
    }

    /// All of it, the last byte filled up with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let last = self.count.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.held.to_le_bytes()[..last]);
        self.bytes
    }
}

/// Reads bits. Behind the end there are zeros; whoever reads counted items asks [`check`](Self::check) before
/// trusting them.
#[derive(Clone, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, at: 0 }
    }

    /// The next [`PEEK_BITS`] bits and perhaps some more, without taking them.
    #[inline(always)]
    fn peek(&self) -> u64 {
        let byte = self.at / 8;
        let word = match self.bytes.get(byte..).and_then(|rest| rest.first_chunk()) {
            Some(&bytes) => u64::from_le_bytes(bytes),
            None => self.last_word(byte),
        };
        word >> (self.at % 8)
    }

    #[cold]
    fn last_word(&self, byte: usize) -> u64 {
        let rest = self.bytes.get(byte..).unwrap_or_default();
        rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    /// The next `bits` bits; at most 64.
    #[inline(always)]
    pub(super) fn take(&mut self, bits: u32) -> u64 {
        if bits > PEEK_BITS {
            let low = self.take(32);
            return low | self.take(bits - 32) << 32;
        }
        let value = self.peek() & ((1 << bits) - 1);
        self.at += bits as usize;
        value
    }

    /// A number as [`BitWriter::push_number`] wrote it.
    pub(super) fn take_number(&mut self) -> Result<u64, DeltaError> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let group = self.take(8);
            value |= (group & 0x7f) << shift;
            if group < 1 << 7 {
                self.check()?;
                return Ok(value);
            }
        }
        Err(DeltaError::Payload("a number has more than 63 bits"))
    }

    /// A number as [`BitWriter::push_rice`] wrote it; `k` is at most [`REMAINDER_BITS_MAX`].
    #[inline(always)]
    pub(super) fn take_rice(&mut self, k: u32) -> u64 {
        let word = self.peek();
        let quotient = word.trailing_ones();
        if quotient >= QUOTIENT_MAX || k > JOINT_BITS_MAX {
            return self.take_wide(k);
        }
        self.at += (quotient + 1 + k) as usize;
        u64::from(quotient) << k | word >> (quotient + 1) & ((1 << k) - 1)
    }

    /// Fills `numbers` with Rice codes, all with this `k`, and returns their sum.
    ///
    /// The same as [`take_rice`](Self::take_rice) again and again, but the next bits are at hand in a word, and are
    /// refilled while the present code is being looked at: a third less time.
    pub(super) fn take_rices(&mut self, numbers: &mut [u64], k: u32) -> u64 {
        let mut sum = 0u64;
        let mut done = 0;
        if k <= SHORT_BITS_MAX {
            let mut byte = self.at / 8;
            let mut held = self.peek();
            let mut count = 64 - self.at as u32 % 8;
            byte += 8;
            while done < numbers.len() {
                let Some(&more) = self.bytes.get(byte..).and_then(|rest| rest.first_chunk()) else { break };
                // At least 56 bits are held from here on; what is read twice is the same both times.
                held |= u64::from_le_bytes(more).checked_shl(count).unwrap_or(0);
                byte += (64 - count as usize) / 8;
                count += (64 - count) / 8 * 8;
                let quotient = held.trailing_ones();
                if quotient >= QUOTIENT_MAX {
                    break;
                }
                let number = u64::from(quotient) << k | held >> (quotient + 1) & ((1 << k) - 1);
                numbers[done] = number;
                sum = sum.saturating_add(number);
                held >>= quotient + 1 + k;
                count -= quotient + 1 + k;
                done += 1;
            }
            self.at = byte * 8 - count as usize;
        }
        for number in &mut numbers[done..] {
            *number = self.take_rice(k);
            sum = sum.saturating_add(*number);
        }
        sum
    }

    /// Fills `bytes` from the code that `table` is for.
    #[inline(always)]
    pub(super) fn take_coded(&mut self, table: &Reading, bytes: &mut [u8]) {
        let mut done = 0;
        while done + STRIDE <= bytes.len() {
            done += self.take_codes(table, bytes, done);
        }
        for byte in &mut bytes[done..] {
            let entry = table.entry(self.peek());
            *byte = entry.bytes()[0];
            self.at += entry.first_bits() as usize;
        }
    }

    /// The same, but the second half from `behind`. Returns how many bits the first half took.
    #[inline(always)]
    pub(super) fn take_coded_halves(&mut self, table: &Reading, behind: &mut Self, bytes: &mut [u8]) -> u64 {
        // Kept in registers as long as nobody else sees them.
        let mut here = self.clone();
        let mut there = behind.clone();
        let (first, second) = bytes.split_at_mut(bytes.len() / 2);
        let mut one = 0;
        let mut two = 0;
        while one + STRIDE <= first.len() && two + STRIDE <= second.len() {
            one += here.take_codes(table, first, one);
            two += there.take_codes(table, second, two);
        }
        here.take_coded(table, &mut first[one..]);
        there.take_coded(table, &mut second[two..]);
        let bits = here.at - self.at;
        (*self, *behind) = (here, there);
        bits as u64
    }

    /// Looks up [`CODES_AT_ONCE`] entries and lays their bytes into `bytes` from `done` on. Returns how many those are.
    #[inline(always)]
    fn take_codes(&mut self, table: &Reading, bytes: &mut [u8], done: usize) -> usize {
        let bytes = &mut bytes[done..done + STRIDE];
        let mut word = self.peek();
        let mut count = 0;
        for _ in 0..CODES_AT_ONCE {
            let entry = table.entry(word);
            bytes[count..count + 8].copy_from_slice(&entry.bytes());
            count += entry.count();
            word >>= entry.bits();
            self.at += entry.bits() as usize;
        }
        count
    }

    #[cold]
    fn take_wide(&mut self, k: u32) -> u64 {
        let quotient = self.peek().trailing_ones();
        if quotient >= QUOTIENT_MAX {
            self.at += QUOTIENT_MAX as usize;
            let bits = self.take(6) as u32 + 1;
            return self.take(bits);
        }
        self.at += quotient as usize + 1;
        u64::from(quotient) << k | self.take(k)
    }

    /// Passes bits over.
    pub(super) fn skip(&mut self, bits: u64) -> Result<(), DeltaError> {
        self.expect(bits)?;
        self.at += bits as usize;
        Ok(())
    }

    /// An error when there are not so many bits more.
    pub(super) fn expect(&self, bits: u64) -> Result<(), DeltaError> {
        let there = (self.bytes.len() as u64 * 8).saturating_sub(self.at as u64);
        if bits > there { Err(DeltaError::Payload("it ends too early")) } else { Ok(()) }
    }

    /// An error when more was read than there is.
    pub(super) fn check(&self) -> Result<(), DeltaError> {
        if self.at > self.bytes.len() * 8 { Err(DeltaError::Payload("it ends too early")) } else { Ok(()) }
    }

    /// What begins with the next whole byte; an error unless zeros fill the bits before it.
    pub(super) fn rest(&self) -> Result<&'a [u8], DeltaError> {
        self.check()?;
        if self.is_filled_up() {
            Ok(&self.bytes[self.at.div_ceil(8)..])
        } else {
            Err(DeltaError::Payload("a byte is not filled up"))
        }
    }

    /// Whether the rest of the byte it is in is zeros.
    fn is_filled_up(&self) -> bool {
        self.at.is_multiple_of(8) || self.bytes[self.at / 8] >> (self.at % 8) == 0
    }

    /// An error unless all was read, but for zeros that fill the last byte.
    pub(super) fn finish(&self) -> Result<(), DeltaError> {
        self.check()?;
        if self.at.div_ceil(8) == self.bytes.len() && self.is_filled_up() {
            return Ok(());
        }
        Err(DeltaError::Payload("there is something behind its end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn what_is_pushed_is_taken() {
        let mut rng = SplitMix(1);
        let items: Vec<(u64, u32)> = (0..5000)
            .map(|_| (rng.next() % 64 + 1, rng.next()))
            .map(|(bits, value)| (value >> (64 - bits), bits as u32))
            .collect();
        let mut out = BitWriter::default();
        for &(value, bits) in &items {
            out.push(value, bits);
            out.push_number(value >> 1);
            out.push_rice(value >> 8, bits % 44);
        }
        let bits = out.bits();
        let bytes = out.finish();
        assert_eq!(bits.div_ceil(8), bytes.len() as u64);
        let mut reader = BitReader::new(&bytes);
        for &(value, bits) in &items {
            assert_eq!(reader.take(bits), value);
            assert_eq!(reader.take_number().expect("there"), value >> 1);
            assert_eq!(reader.take_rice(bits % 44), value >> 8, "{bits}");
        }
        reader.finish().expect("all was read");
        assert!(BitReader::new(&bytes).finish().is_err(), "nothing was read");
    }

    #[test]
    fn behind_the_end_there_are_zeros_and_an_error() {
        let mut reader = BitReader::new(&[0xff]);
        assert_eq!((reader.take(64), reader.take_rice(5)), (0xff, 0));
        assert!(reader.check().is_err() && reader.finish().is_err());
        assert!(BitReader::new(&[]).take_number().is_err());
        assert!(BitReader::new(&[0xff; 20]).take_number().is_err());
        assert!(BitReader::new(&[2]).finish().is_err());
    }
}
