//! Character sets of several bytes a character: Chinese, Japanese and Korean.
//!
//! Where a sequence means nothing Python drops its first byte only and goes on with the next one.

use encoding_rs::{DecoderResult, Encoding};

use super::charset::OnError;

/// A line is a codec: its names, the name of the web's codec, and what differs from that. All numbers are in hex; a
/// sequence of bytes is written as one number. `8140-a1a0` does not exist in Python, `a1a4>30fb` is another character.
pub(super) const TABLE: &str = include_str!("multibyte.txt");

/// Two characters of four bytes in UTF-8; the most that a sequence can mean.
const DECODED_BYTES_MAX: usize = 8;

/// Reads a mapping such as `80`, `80>20ac` or `c0-df>410`: the first, the last and what the first one means.
pub(super) fn mapping(text: &str) -> Option<(u32, u32, Option<u32>)> {
    let number = |text| u32::from_str_radix(text, 16).ok();
    let (codes, target) = match text.split_once('>') {
        Some((codes, target)) => (codes, Some(number(target)?)),
        None => (text, None),
    };
    let (first, last) = codes.split_once('-').unwrap_or((codes, codes));
    Some((number(first)?, number(last)?, target))
}

pub(super) struct Multibyte {
    web: &'static Encoding,
    /// Sorted.
    differences: Vec<(u32, u32, Option<u32>)>,
}

impl Multibyte {
    /// From a line of the table, without the names.
    pub(super) fn new(line: &str) -> Self {
        let (web, differences) = line.split_once('\t').unwrap_or((line, ""));
        let mut differences: Vec<_> = differences.split(' ').filter_map(mapping).collect();
        differences.sort_unstable();
        Self { web: Encoding::for_label(web.as_bytes()).unwrap_or(encoding_rs::UTF_8), differences }
    }

    pub(super) fn named(name: &str) -> Self {
        let line = TABLE.lines().find_map(|line| line.strip_prefix(name)?.split_once('\t'));
        Self::new(line.map_or("", |(_, rest)| rest))
    }

    pub(super) fn decode(&self, bytes: &[u8], on_error: OnError) -> String {
        decode_by_steps(bytes, on_error, |rest, out| match rest[0] {
            first if first.is_ascii() => {
                out.push(char::from(first));
                Ok(1)
            }
            _ => self.decode_one(rest, out).ok_or_else(|| self.bad_bytes(rest)),
        })
    }

    /// How many bytes a sequence has at most.
    fn sequence_bytes_max(&self) -> usize {
        match self.web {
            web if web == encoding_rs::GB18030 => 4,
            web if web == encoding_rs::EUC_JP => 3,
            _ => 2,
        }
    }

    /// How many bytes are dropped where a sequence means nothing: one, unless the text ends inside it.
    fn bad_bytes(&self, bytes: &[u8]) -> usize {
        match bytes {
            [_, b'0'..=b'9'] | [_, b'0'..=b'9', _] if self.web == encoding_rs::GB18030 => bytes.len(),
            [0x8f, _] if self.web == encoding_rs::EUC_JP => bytes.len(),
            _ => 1,
        }
    }

    /// Decodes the sequence that the bytes begin with and says how long it is.
    pub(super) fn decode_one(&self, bytes: &[u8], out: &mut String) -> Option<usize> {
        let mut decoded = [0; DECODED_BYTES_MAX];
        for sequence_bytes in 1..=bytes.len().min(self.sequence_bytes_max()) {
            let sequence = &bytes[..sequence_bytes];
            let code = sequence.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
            if let Some(target) = self.difference(code) {
                out.push(char::from_u32(target?)?);
                return Some(sequence_bytes);
            }
            if let Some(text) = self.decode_by_web(sequence, &mut decoded) {
                out.push_str(text);
                return Some(sequence_bytes);
            }
        }
        None
    }

    fn difference(&self, code: u32) -> Option<Option<u32>> {
        let after = self.differences.partition_point(|(first, _, _)| *first <= code);
        let (first, last, target) = *self.differences.get(after.checked_sub(1)?)?;
        (code <= last).then(|| target.map(|target| target + code - first))
    }

    fn decode_by_web<'d>(
        &self,
        sequence: &[u8],
        decoded: &'d mut [u8; DECODED_BYTES_MAX],
    ) -> Option<&'d str> {
        let mut decoder = self.web.new_decoder_without_bom_handling();
        match decoder.decode_to_utf8_without_replacement(sequence, decoded, true) {
            (DecoderResult::InputEmpty, _, written) => std::str::from_utf8(&decoded[..written]).ok(),
            _ => None,
        }
    }
}

/// Calls `step` with the bytes that are left. It says how many it has decoded, or how many mean nothing.
pub(super) fn decode_by_steps(
    bytes: &[u8],
    on_error: OnError,
    mut step: impl FnMut(&[u8], &mut String) -> Result<usize, usize>,
) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        let step_bytes = step(rest, &mut out).unwrap_or_else(|bad_bytes| {
            on_error.mark(&mut out);
            bad_bytes
        });
        rest = &rest[step_bytes..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignoring(name: &str, bytes: &[u8]) -> String {
        Multibyte::named(name).decode(bytes, OnError::Ignore)
    }

    #[test]
    fn sequences_of_several_bytes() {
        assert_eq!(ignoring("gb2312", b"a\xd6\xd0\xb9\xfab"), "a\u{4e2d}\u{56fd}b");
        assert_eq!(ignoring("gb18030", b"\x81\x30\x81\x30"), "\u{80}");
        assert_eq!(ignoring("euc_jp", b"\x8e\xb1\x8f\xb0\xa1"), "\u{ff71}\u{4e02}");
        assert_eq!(ignoring("shift_jis", b"\xb1\x81\x60"), "\u{ff71}\u{301c}");
    }

    #[test]
    fn only_the_first_byte_of_a_bad_sequence_is_dropped() {
        assert_eq!(ignoring("gb2312", b"\x81\xd6\xd0"), "\u{4e2d}");
        assert_eq!(ignoring("gb2312", b"\xd6 x\xd6"), " x");
        assert_eq!(ignoring("big5", b"\xa4\x40\xff\x87\x40"), "\u{4e00}@");
    }

    #[test]
    fn a_sequence_cut_off_at_the_end_is_dropped() {
        assert_eq!(ignoring("gb18030", b"a\x81\x30"), "a");
        assert_eq!(ignoring("gbk", b"a\x81\x30"), "a0");
    }
}
