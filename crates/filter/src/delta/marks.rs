//! Marks: one bit for each of many places, said block by block in as few bits as their share allows.
//!
//! Where about half are set nothing is shorter than the marks themselves. Else bytes of marks are in a
//! [code](super::code) made for that share; where most are set, all are flipped first. Where few are set most bytes are
//! zero, and a code cannot say that in less than a bit. Then a block is said in two steps: which of its bytes are not
//! zero, which again are bytes of marks, of a larger share; then those bytes. How many places a block has both sides
//! know.

use super::DeltaError;
use super::code::{Alphabet, Reading, SHARE_BITS, SHARES, Writing, share_of};
use super::gather::Picker;
use super::stream::{BitReader, BitWriter};

/// Below this share bytes that are zero are said on their own: codes of all bytes would be more than a twentieth too
/// long, since none has less than a bit.
const SPARSE_SHARE: f64 = 0.06;
/// Up to this share, and from so far below 1 on, there is a code: in between it saves 3 % at most.
const CODED_SHARE: f64 = 0.4;
/// For fewer places a code's shares take more than it saves.
const CODED_PLACES_MIN: u64 = 256;

const LOWS: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = LOWS << 7;

/// Places and how many of them are marked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) places: u64,
    pub(super) marked: u64,
}

impl Counts {
    pub(super) fn share(&self) -> f64 {
        self.marked as f64 / self.places.max(1) as f64
    }
}

/// Writes marks.
pub(super) struct MarksWriter {
    coded: Option<Coded<Writing>>,
}

/// Reads them.
pub(super) struct MarksReader {
    coded: Option<Coded<Reading>>,
}

/// The codes and room for a block.
struct Coded<C> {
    /// Flips marks where most are set, so that few are.
    flip: u64,
    /// Where bytes that are zero are said on their own: the code of which those are.
    flags: Option<C>,
    bytes: C,
    flag_room: Vec<u8>,
    byte_room: Vec<u8>,
}

impl<C> Coded<C> {
    /// Codes for these shares: of bytes that are not zero, 0 where they are not said on their own, and of marks.
    fn new(flags: u64, marks: u64, code: impl Fn(u64, Alphabet) -> C) -> Self {
        let flip = if marks > SHARES / 2 { u64::MAX } else { 0 };
        let alphabet = if flags == 0 { Alphabet::All } else { Alphabet::NotZero };
        Coded {
            flip,
            flags: (flags > 0).then(|| code(flags, Alphabet::All)),
            bytes: code(marks.min(SHARES - marks), alphabet),
            flag_room: Vec::new(),
            byte_room: Vec::new(),
        }
    }

    /// Room for a block of so many words: bytes for one more, so that eight are always there.
    fn make_room(&mut self, words: usize) {
        if self.flag_room.len() < words {
            self.byte_room.resize((words + 1) * 8, 0);
            self.flag_room.resize(words, 0);
        }
    }
}

impl MarksWriter {
    /// Marks of which so many are set, in the form that suits them.
    pub(super) fn new(out: &mut BitWriter, counts: Counts) -> Self {
        let share = counts.share();
        let half = (CODED_SHARE..=1.0 - CODED_SHARE).contains(&share);
        if half || counts.places < CODED_PLACES_MIN {
            return Self::plain(out);
        }
        // Of the bytes so many per 2^20 are not zero if marks stand at random.
        let rare = share.min(1.0 - share);
        let not_zero = (1.0 - (1.0 - rare).powi(8)) * f64::from(1 << 20);
        let flags = if rare < SPARSE_SHARE { share_of(not_zero as u64, 1 << 20) } else { 0 };
        let marks = share_of(counts.marked, counts.places);
        out.push(1, 1);
        out.push(flags, SHARE_BITS);
        out.push(marks, SHARE_BITS);
        MarksWriter { coded: Some(Coded::new(flags, marks, Writing::new)) }
    }

    /// Marks as they are.
    pub(super) fn plain(out: &mut BitWriter) -> Self {
        out.push(0, 1);
        MarksWriter { coded: None }
    }

    /// A block of `places` marks, in as many words as they need, zeros behind the last.
    #[inline(always)]
    pub(super) fn write<P: Picker>(&mut self, picker: P, out: &mut BitWriter, marks: &[u64], places: usize) {
        let marks = &marks[..places.div_ceil(64)];
        let Some(coded) = &mut self.coded else {
            let (whole, rest) = marks.split_at(places / 64);
            whole.iter().for_each(|&word| out.push(word, 64));
            return rest.iter().for_each(|&word| out.push(word, places as u32 % 64));
        };
        coded.make_room(marks.len());
        let flip = coded.flip;
        let last = live(places);
        let flipped = marks
            .iter()
            .enumerate()
            .map(|(i, &word)| if i + 1 < marks.len() { word ^ flip } else { (word ^ flip) & last });
        let Some(flags) = &coded.flags else {
            for (bytes, word) in coded.byte_room.as_chunks_mut().0.iter_mut().zip(flipped) {
                *bytes = word.to_le_bytes();
            }
            return coded.bytes.write(out, &coded.byte_room[..marks.len() * 8]);
        };
        let mut count = 0;
        for (word, flags) in flipped.zip(&mut coded.flag_room) {
            // A carry reaches the highest bit of a byte when any below it is set, and never goes further.
            let not_zero = (((word & !HIGHS) + !HIGHS) | word) & HIGHS;
            let kept = picker.gather(word, (not_zero >> 7) * 0xff);
            coded.byte_room[count..count + 8].copy_from_slice(&kept.to_le_bytes());
            count += not_zero.count_ones() as usize;
            // Every flag arrives in the highest byte, in its place.
            *flags = ((not_zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
        }
        flags.write(out, &coded.flag_room[..marks.len()]);
        coded.bytes.write(out, &coded.byte_room[..count]);
    }
}

impl MarksReader {
    pub(super) fn new(reader: &mut BitReader) -> Result<Self, DeltaError> {
        if reader.take(1) == 0 {
            return Ok(MarksReader { coded: None });
        }
        let flags = reader.take(SHARE_BITS);
        let marks = reader.take(SHARE_BITS);
        reader.check()?;
        if marks == 0 {
            return Err(DeltaError::Payload("a share of marks is 0"));
        }
        Ok(MarksReader { coded: Some(Coded::new(flags, marks, Reading::new)) })
    }

    /// Reads a block of `places` marks into as many words as they need; zeros are behind the last.
    #[inline(always)]
    pub(super) fn read<P: Picker>(
        &mut self,
        picker: P,
        reader: &mut BitReader,
        marks: &mut [u64],
        places: usize,
    ) -> Result<(), DeltaError> {
        let marks = &mut marks[..places.div_ceil(64)];
        let Some(coded) = &mut self.coded else {
            let (whole, rest) = marks.split_at_mut(places / 64);
            whole.iter_mut().for_each(|word| *word = reader.take(64));
            rest.iter_mut().for_each(|word| *word = reader.take(places as u32 % 64));
            return reader.check();
        };
        coded.make_room(marks.len());
        if let Some(flags) = &coded.flags {
            flags.read(reader, &mut coded.flag_room[..marks.len()])?;
            let flags = &coded.flag_room[..marks.len()];
            let count: usize = flags.iter().map(|flags| flags.count_ones() as usize).sum();
            coded.bytes.read(reader, &mut coded.byte_room[..count])?;
            let mut at = 0;
            for (word, &flags) in marks.iter_mut().zip(flags) {
                let kept = u64::from_le_bytes(std::array::from_fn(|i| coded.byte_room[at..at + 8][i]));
                *word = picker.scatter(kept, picker.scatter(u64::from(flags), LOWS) * 0xff);
                at += flags.count_ones() as usize;
            }
        } else {
            coded.bytes.read(reader, &mut coded.byte_room[..marks.len() * 8])?;
            for (word, bytes) in marks.iter_mut().zip(coded.byte_room.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        let last = live(places);
        if marks.last().is_some_and(|word| word & !last != 0) {
            return Err(DeltaError::Payload("there is a mark behind the last place"));
        }
        if coded.flip != 0 {
            marks.iter_mut().for_each(|word| *word = !*word);
            marks.last_mut().into_iter().for_each(|word| *word &= last);
        }
        Ok(())
    }
}

/// Ones at the places of the last word of so many.
#[inline(always)]
fn live(places: usize) -> u64 {
    u64::MAX >> (places.wrapping_neg() % 64)
}

/// Collects marks, some at a time, in words.
pub(super) struct Collector<'a> {
    words: &'a mut [u64],
    at: usize,
    held: u64,
}

impl<'a> Collector<'a> {
    /// `words` has room for all marks and one word more.
    #[inline(always)]
    pub(super) fn new(words: &'a mut [u64]) -> Self {
        Collector { words, at: 0, held: 0 }
    }

    /// The lowest `count` bits of `marks`, which has no others; at most 64.
    #[inline(always)]
    pub(super) fn push(&mut self, marks: u64, count: u32) {
        let word = self.at / 64;
        let shift = self.at % 64;
        self.held |= marks << shift;
        self.words[word] = self.held;
        self.at += count as usize;
        // Chosen, not branched to: how many places a word has is not to be guessed.
        self.held = if self.at / 64 > word { marks >> 1 >> (63 - shift) } else { self.held };
    }

    /// How many there are. Zeros fill the word behind the last.
    #[inline(always)]
    pub(super) fn finish(self) -> usize {
        self.words[self.at / 64] = self.held;
        self.at
    }
}

/// 64 marks from place `at` on. There is one more word than marks need.
#[inline(always)]
pub(super) fn marks_at(words: &[u64], at: usize) -> u64 {
    words[at / 64] >> (at % 64) | words[at / 64 + 1] << 1 << (63 - at % 64)
}

#[cfg(test)]
mod tests {
    use super::super::gather::{Tables, Work, run};
    use super::*;
    use crate::maths::entropy::log2_choose;
    use crate::random::SplitMix;

    /// Writes blocks of marks and reads them with the same picker.
    struct RoundTrip<'a> {
        blocks: &'a [(Vec<u64>, usize)],
        counts: Counts,
    }

    impl Work for RoundTrip<'_> {
        type Output = Vec<u8>;

        fn run<P: Picker>(self, picker: P) -> Vec<u8> {
            let mut out = BitWriter::default();
            let mut writer = MarksWriter::new(&mut out, self.counts);
            for (marks, places) in self.blocks {
                writer.write(picker, &mut out, marks, *places);
            }
            let bytes = out.finish();
            let mut reader = BitReader::new(&bytes);
            let mut marks_reader = MarksReader::new(&mut reader).expect("sound");
            for (marks, places) in self.blocks {
                let mut read = vec![7; places.div_ceil(64)];
                marks_reader.read(picker, &mut reader, &mut read, *places).expect("sound");
                assert!(read == marks[..read.len()]);
            }
            reader.finish().expect("all was read");
            bytes
        }
    }

    /// Blocks of many lengths, and how many marks they have.
    fn drawn(share: f64, lengths: &[usize], seed: u64) -> (Vec<(Vec<u64>, usize)>, Counts) {
        let mut rng = SplitMix(seed);
        let mut counts = Counts::default();
        let blocks = lengths.iter().map(|&places| {
            let mut marks = vec![0; places / 64 + 2];
            let mut collector = Collector::new(&mut marks);
            let mut left = places;
            while left > 0 {
                let count = (rng.next() as usize % 65).min(left);
                left -= count;
                let drawn = (0..count).fold(0, |marks, place| {
                    marks | u64::from((rng.next() as f64) < share * u64::MAX as f64) << place
                });
                collector.push(drawn, count as u32);
            }
            assert_eq!(collector.finish(), places);
            counts.places += places as u64;
            counts.marked += marks.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            (marks, places)
        });
        (blocks.collect(), counts)
    }

    #[test]
    fn marks_of_all_shares_are_read_as_written_and_twins_agree() {
        for percent in 0..=100 {
            let lengths = [1, 0, 64, 63, 1000 + percent, 9000];
            let (blocks, counts) = drawn(percent as f64 / 100.0, &lengths, percent as u64);
            let bytes = RoundTrip { blocks: &blocks, counts }.run(Tables);
            assert!(run(RoundTrip { blocks: &blocks, counts }) == bytes, "{percent}");
        }
    }

    #[test]
    fn marks_come_close_to_the_bound() {
        for (share, most) in [
            (0.01, 1.06),
            (0.02, 1.04),
            (0.03, 1.04),
            (0.04, 1.05),
            (0.05, 1.05),
            (0.06, 1.05),
            (0.1, 1.03),
            (0.15, 1.02),
            (0.2, 1.02),
            (0.24, 1.02),
            (0.3, 1.02),
            (0.41, 1.03),
            (0.5, 1.01),
            (0.9, 1.03),
            (0.99, 1.06),
        ] {
            let (blocks, counts) = drawn(share, &[32_768, 16_001, 200_000], 3);
            let bytes = run(RoundTrip { blocks: &blocks, counts }).len() as f64;
            let bound = log2_choose(counts.places, counts.marked) / 8.0;
            assert!((1.0..most).contains(&(bytes / bound)), "{share}: {bytes} bytes, bound {bound}");
        }
    }

    #[test]
    fn marks_behind_the_last_place_are_refused() {
        let (blocks, counts) = drawn(0.2, &[5000], 1);
        let mut out = BitWriter::default();
        MarksWriter::new(&mut out, counts).write(Tables, &mut out, &blocks[0].0, 5000);
        let bytes = out.finish();
        let read = |places: usize| {
            let mut reader = BitReader::new(&bytes);
            let mut marks = vec![0; 100];
            MarksReader::new(&mut reader)?.read(Tables, &mut reader, &mut marks, places)
        };
        read(5000).expect("sound");
        assert!(read(4990).is_err() && read(6000).is_err());
        assert!(MarksReader::new(&mut BitReader::new(&[1, 0, 0])).is_err());
    }
}
