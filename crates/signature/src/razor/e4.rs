//! Engine 4, "ephemeral": SHA-1 of two sections of the clean text, whose places a seed decides.
//!
//! The seed drives a linear congruential generator of 48 bits (that of `drand48`). Six numbers choose lines,
//! two and two more choose where in those lines a section starts and ends. Texts whose sections are short are
//! hashed whole.

use std::ops::RangeInclusive;

use memchr::memmem;
use sha1::{Digest, Sha1};

use super::text::{is_blank, is_false};
use super::{E4, Ep4};

/// Sections of no more bytes than this in all are too little to go by: the whole text is hashed.
const SECTIONS_BYTES_MIN: usize = 128;

/// The signature of clean text.
pub(super) fn signature(text: &[u8], ep4: &Ep4) -> E4 {
    let lines = lines(text, &ep4.separator);
    let places = Places::draw(ep4.seed, lines.len());
    let first = section(&lines, places.first_lines, places.first_cut);
    let second = section(&lines, places.second_lines, places.second_cut);
    let is_only_space = |section: &[u8]| !section.is_empty() && is_blank(section);
    let digest = if first.len() + second.len() <= SECTIONS_BYTES_MIN {
        Sha1::digest(text)
    } else if is_only_space(&first) && is_only_space(&second) {
        Sha1::digest(b"")
    } else {
        Sha1::new().chain_update(first).chain_update(second).finalize()
    };
    E4(digest.into())
}

/// The text between separators, without the empty lines at its end.
fn lines<'a>(text: &'a [u8], separator: &[u8]) -> Vec<&'a [u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for at in memmem::find_iter(text, separator) {
        lines.push(&text[start..at]);
        start = at + separator.len();
    }
    lines.push(&text[start..]);
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// What the seed decides: the lines of each section, and the hundredths of their bytes where it starts and ends.
struct Places {
    first_lines: RangeInclusive<usize>,
    first_cut: [f64; 2],
    second_lines: RangeInclusive<usize>,
    second_cut: [f64; 2],
}

impl Places {
    /// Ten numbers are drawn, in the order of the client.
    fn draw(seed: u64, lines: usize) -> Self {
        const SLICE: f64 = 100.0 / 6.0;
        let mut random = Random::new(seed);
        let line: [usize; 6] = std::array::from_fn(|k| {
            let place = random.next() * SLICE + k as f64 * SLICE;
            (place * lines as f64 / 100.0) as usize
        });
        let mut cut = || std::array::from_fn(|k| random.next() * 50.0 + k as f64 * 50.0);
        let first_cut = cut();
        let second_cut = cut();
        Self { first_lines: line[1]..=line[2], first_cut, second_lines: line[3]..=line[4], second_cut }
    }
}

/// The generator of `drand48`.
struct Random(u64);

impl Random {
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: u64) -> Self {
        Self((seed & 0xFFFF_FFFF) << 16 | 0x330E)
    }

    /// At least 0 and below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & Self::MASK;
        self.0 as f64 / (1u64 << 48) as f64
    }
}

/// The bytes between two places in a range of lines. The client's slips are kept: the start is looked for again while
/// it is the first byte of a line, and a section in one line has a byte too many.
fn section(lines: &[&[u8]], range: RangeInclusive<usize>, cut: [f64; 2]) -> Vec<u8> {
    let line = |at: usize| lines.get(at).copied().filter(|line| !is_false(line));
    let len: usize = range.clone().filter_map(line).map(<[u8]>::len).sum();
    let [start, end] = cut.map(|hundredths| (hundredths * len as f64 / 100.0) as i64);
    let mut seen = 0;
    let mut start_byte = 0;
    let mut start_line = 0;
    let mut end_byte = 0;
    let mut end_line = 0;
    for (at, line) in range.filter_map(|at| Some((at, line(at)?))) {
        let line_start = seen;
        seen += line.len() as i64;
        if seen > start && start_byte == 0 {
            (start_byte, start_line) = (start - line_start, at);
        }
        if seen > end {
            (end_byte, end_line) = (end - line_start, at);
        }
        if end_byte != 0 {
            break;
        }
    }
    let start_byte = start_byte.max(0) as usize;
    let end_byte = end_byte.max(0) as usize;
    let from_start = lines.get(start_line).and_then(|line| line.get(start_byte..)).unwrap_or_default();
    if start_line == end_line {
        return match line(start_line) {
            Some(_) => head(from_start, end_byte as i64 - start_byte as i64 + 1).to_vec(),
            None => Vec::new(),
        };
    }
    let between = lines.get(start_line + 1..end_line).unwrap_or_default();
    let last = lines.get(end_line).copied().unwrap_or_default();
    [from_start, &between.concat(), head(last, end_byte as i64)].concat()
}

/// The first `len` bytes; if it is negative, all but so many at the end.
fn head(text: &[u8], len: i64) -> &[u8] {
    let len = if len < 0 { (text.len() as i64 + len).max(0) } else { len };
    &text[..text.len().min(len as usize)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_default_seed() {
        let expected = [
            0.761_839_991_974_742_5,
            0.771_183_306_208_939_7,
            0.452_804_357_550_245_84,
            0.828_362_343_922_840_7,
            0.475_336_953_893_094_7,
            0.613_842_348_553_575_3,
            0.964_025_982_093_826_2,
            0.987_389_419_967_335_9,
            0.138_735_202_132_384_22,
            0.673_641_535_978_049_4,
        ];
        let mut random = Random::new(7542);
        assert_eq!(expected, std::array::from_fn(|_| random.next()));
    }

    #[test]
    fn lines_without_the_empty_ones_at_the_end() {
        assert_eq!(lines(b"\na\n\nb\n\n", b"\n"), [&b""[..], b"a", b"", b"b"]);
        assert_eq!(lines(b"a\r\nb", b"\r\n"), [b"a", b"b"]);
        assert!(lines(b"", b"\n").is_empty());
    }

    #[test]
    fn a_section_in_one_line_has_a_byte_too_many() {
        assert_eq!(section(&[b"0123456789"], 0..=0, [20.0, 50.0]), b"2345");
    }

    #[test]
    fn a_section_that_starts_with_a_line_starts_with_the_next() {
        assert_eq!(section(&[b"01234", b"56789"], 0..=1, [0.0, 90.0]), b"56789");
    }

    #[test]
    fn false_lines_do_not_count() {
        assert_eq!(section(&[b"x", b"0", b"abcd", b"", b"efgh"], 1..=9, [25.0, 75.0]), b"cdef");
        assert_eq!(section(&[b"x", b"0"], 1..=2, [25.0, 75.0]), b"x");
        assert_eq!(section(&[], 1..=2, [25.0, 75.0]), b"");
    }
}
