//! Character sets of several bytes a character: Chinese, Japanese and Korean.
//!
//! Where a sequence means nothing Python drops its first byte only and goes on with the next one.

use encoding_rs::{DecoderResult, Encoding};

use super::charset::OnError;

/// A line is a codec: its names, the name of the web's codec, and what differs from that. All numbers are in hex; a
/// sequence of bytes is written as one number. `8140-a1a0` does not exist in Python, `a1a4>30fb` is another character.
pub(super) const TABLE: &str = include_str!("multibyte.txt");

/// The longest sequence, in GB 18030.
const SEQUENCE_BYTES_MAX: usize = 4;

/// The longest escape sequence, as in `ESC $ ( D`.
const ESCAPE_BYTES_MAX: usize = 4;

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

    fn named(name: &str) -> Self {
        let line = TABLE.lines().find_map(|line| line.strip_prefix(name)?.split_once('\t'));
        Self::new(line.map_or("", |(_, rest)| rest))
    }

    pub(super) fn decode(&self, bytes: &[u8], on_error: OnError) -> String {
        let mut out = String::with_capacity(bytes.len());
        let mut rest = bytes;
        while let [first, next @ ..] = rest {
            if first.is_ascii() {
                out.push(char::from(*first));
                rest = next;
            } else if let Some(sequence_bytes) = self.decode_one(rest, &mut out) {
                rest = &rest[sequence_bytes..];
            } else {
                on_error.mark(&mut out);
                rest = next;
            }
        }
        out
    }

    /// Decodes the sequence that the bytes begin with and says how long it is.
    fn decode_one(&self, bytes: &[u8], out: &mut String) -> Option<usize> {
        let mut decoded = [0; DECODED_BYTES_MAX];
        for sequence_bytes in 1..=bytes.len().min(SEQUENCE_BYTES_MAX) {
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

/// Codecs of seven bits, which say by a sequence what the bytes after it mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shifted {
    /// Between `~{` and `~}` is GB 2312.
    Hz,
    /// Between two control characters is KS X 1001.
    Korean,
    /// Escape sequences change between ASCII, JIS X 0201, 0208 and 0212.
    Japanese,
}

/// What the next bytes are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Ascii,
    Katakana,
    /// Two bytes a character, with this byte before them in the codec of eight bits.
    Double(Option<u8>),
}

pub(super) fn decode_shifted(shifted: Shifted, bytes: &[u8], on_error: OnError) -> String {
    let wide = Multibyte::named(match shifted {
        Shifted::Hz => "gb2312",
        Shifted::Korean => "euc_kr",
        Shifted::Japanese => "euc_jp",
    });
    let mut out = String::with_capacity(bytes.len());
    let mut set = Set::Ascii;
    let mut rest = bytes;
    while let [first, next @ ..] = rest {
        if let Some((new_set, text, sequence_bytes)) = control(shifted, set, rest) {
            set = new_set;
            out.push_str(text);
            rest = &rest[sequence_bytes..];
            continue;
        }
        let sequence_bytes = if first.is_ascii() { decode_in_set(&wide, set, rest, &mut out) } else { None };
        if sequence_bytes.is_none() {
            on_error.mark(&mut out);
        }
        rest = sequence_bytes.map_or(next, |sequence_bytes| &rest[sequence_bytes..]);
    }
    out
}

fn decode_in_set(wide: &Multibyte, set: Set, bytes: &[u8], out: &mut String) -> Option<usize> {
    match (set, bytes) {
        (Set::Double(before), [high @ b'!'..=b'~', low, ..]) if low.is_ascii() => {
            let sequence = [before.unwrap_or(0), high | 0x80, low | 0x80];
            wide.decode_one(&sequence[usize::from(before.is_none())..], out).map(|_| 2)
        }
        (Set::Double(_), [b'!'..=b'~', ..]) => None,
        (Set::Katakana, [byte @ b'!'..=b'_', ..]) => {
            out.extend(char::from_u32(0xff40 + u32::from(byte - b' ')));
            Some(1)
        }
        (_, [0x1b, ..]) | (_, []) => None,
        (_, [byte, ..]) => {
            out.push(char::from(*byte));
            Some(1)
        }
    }
}

/// If the bytes begin with a sequence that controls the codec: the set from now on, its text and its length.
fn control(shifted: Shifted, set: Set, bytes: &[u8]) -> Option<(Set, &'static str, usize)> {
    let wide = Set::Double(None);
    let escape = &bytes[..bytes.len().min(ESCAPE_BYTES_MAX)];
    match shifted {
        Shifted::Hz => match escape {
            [b'~', b'~', ..] if set == Set::Ascii => Some((set, "~", 2)),
            [b'~', b'\n', ..] if set == Set::Ascii => Some((set, "", 2)),
            [b'~', b'{', ..] if set == Set::Ascii => Some((wide, "", 2)),
            [b'~', b'}', ..] if set != Set::Ascii => Some((Set::Ascii, "", 2)),
            _ => None,
        },
        Shifted::Korean => match escape {
            [0x1b, b'$', b')', b'C'] => Some((set, "", 4)),
            [0x0e, ..] => Some((wide, "", 1)),
            [0x0f, ..] => Some((Set::Ascii, "", 1)),
            [b'\n', ..] => Some((Set::Ascii, "\n", 1)),
            _ => None,
        },
        Shifted::Japanese => match escape {
            [0x1b, b'(', b'B' | b'J', ..] => Some((Set::Ascii, "", 3)),
            [0x1b, b'(', b'I', ..] => Some((Set::Katakana, "", 3)),
            [0x1b, b'$', b'@' | b'B', ..] => Some((wide, "", 3)),
            [0x1b, b'$', b'(', b'D'] => Some((Set::Double(Some(0x8f)), "", 4)),
            _ => None,
        },
    }
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
    fn shifted_codecs() {
        let japanese = decode_shifted(Shifted::Japanese, b"a\x1b$B$\"\x1b(Bb\xff\n", OnError::Ignore);
        assert_eq!(japanese, "a\u{3042}b\n");
        assert_eq!(decode_shifted(Shifted::Hz, b"~~~{VP~}x", OnError::Ignore), "~\u{4e2d}x");
        assert_eq!(decode_shifted(Shifted::Korean, b"\x1b$)C\x0e0!\x0f!", OnError::Ignore), "\u{ac00}!");
    }
}
