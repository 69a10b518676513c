//! Character sets of seven bits, in which a sequence says what the bytes after it mean: HZ and ISO 2022.

use super::charset::OnError;
use super::multibyte::{Multibyte, decode_by_steps};

/// Python looks no further for the end of an escape sequence.
const ESCAPE_BYTES_MAX: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shifted {
    /// Between `~{` and `~}` is GB 2312.
    Hz,
    /// ISO 2022 with KS X 1001 between two control characters.
    Korean,
    /// ISO 2022 with JIS X 0208.
    Japanese,
    /// ISO 2022 with JIS X 0212 as well.
    Japanese1,
    /// ISO 2022 with JIS X 0212 and the katakana of JIS X 0201.
    JapaneseExt,
}

pub(super) fn decode(shifted: Shifted, bytes: &[u8], on_error: OnError) -> String {
    match shifted {
        Shifted::Hz => decode_hz(bytes, on_error),
        Shifted::Korean => Iso2022::new(shifted, "euc_kr").decode(bytes, on_error),
        _ => Iso2022::new(shifted, "euc_jp").decode(bytes, on_error),
    }
}

fn decode_hz(bytes: &[u8], on_error: OnError) -> String {
    let wide = Multibyte::named("gb2312");
    let mut is_wide = false;
    decode_by_steps(bytes, on_error, |rest, out| {
        match rest {
            [b'~', b'~', ..] if !is_wide => out.push('~'),
            [b'~', b'\n', ..] if !is_wide => {}
            [b'~', b'{', ..] if !is_wide => is_wide = true,
            [b'~', b'}', ..] if is_wide => is_wide = false,
            [b'~' | 0x80.., ..] => return Err(1),
            [first, ..] if !is_wide => {
                out.push(char::from(*first));
                return Ok(1);
            }
            [high, low, ..] => return decode_pair(&wide, None, *high, *low, out).ok_or(1),
            _ => return Err(1),
        }
        Ok(2)
    })
}

/// Decodes two bytes of seven bits, with `before` in front of them in the codec of eight bits.
fn decode_pair(wide: &Multibyte, before: Option<u8>, high: u8, low: u8, out: &mut String) -> Option<usize> {
    if !(b'!'..=b'~').contains(&high) || !(b'!'..=b'~').contains(&low) {
        return None;
    }
    let sequence = [before.unwrap_or_default(), high | 0x80, low | 0x80];
    wide.decode_one(&sequence[usize::from(before.is_none())..], out).map(|_| 2)
}

/// What bytes mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Ascii,
    /// The Latin half of JIS X 0201, with another backslash and another tilde.
    Roman,
    Katakana,
    /// Two bytes a character, with this byte before them in the codec of eight bits.
    Double(Option<u8>),
}

struct Iso2022 {
    shifted: Shifted,
    wide: Multibyte,
    /// The sets that are in use before and after the control character for it.
    sets: [Set; 2],
    is_second: bool,
    /// Inside a foreign escape sequence, which is kept as it is.
    is_foreign: bool,
}

impl Iso2022 {
    fn new(shifted: Shifted, wide: &str) -> Self {
        let wide = Multibyte::named(wide);
        Self { shifted, wide, sets: [Set::Ascii; 2], is_second: false, is_foreign: false }
    }

    fn decode(mut self, bytes: &[u8], on_error: OnError) -> String {
        decode_by_steps(bytes, on_error, |rest, out| self.step(rest, out))
    }

    fn step(&mut self, bytes: &[u8], out: &mut String) -> Result<usize, usize> {
        let first = bytes[0];
        if self.is_foreign {
            self.is_foreign = !ends_escape(first);
            out.push(char::from(first));
            return Ok(1);
        }
        match first {
            0x1b => return self.escape(bytes, out),
            0x0e | 0x0f if self.shifted == Shifted::Korean => {
                self.is_second = first == 0x0e;
                return Ok(1);
            }
            b'\n' => self.is_second = false,
            0x80.. => return Err(1),
            b' '.. => return self.character(bytes, out),
            _ => {}
        }
        out.push(char::from(first));
        Ok(1)
    }

    fn character(&self, bytes: &[u8], out: &mut String) -> Result<usize, usize> {
        let c = match (self.sets[usize::from(self.is_second)], bytes) {
            (Set::Double(before), [high, low, ..]) => {
                return decode_pair(&self.wide, before, *high, *low, out).ok_or(2);
            }
            (Set::Double(_), _) => return Err(bytes.len()),
            (Set::Roman, [b'\\', ..]) => '\u{a5}',
            (Set::Roman, [b'~', ..]) => '\u{203e}',
            (Set::Katakana, [byte @ b'!'..=b'_', ..]) => {
                char::from_u32(0xff60 + u32::from(byte - b' ')).unwrap_or_default()
            }
            (Set::Katakana, _) => return Err(1),
            (Set::Ascii | Set::Roman, _) => char::from(bytes[0]),
        };
        out.push(c);
        Ok(1)
    }

    /// An escape sequence that is not known is dropped as a whole.
    fn escape(&mut self, bytes: &[u8], out: &mut String) -> Result<usize, usize> {
        match bytes {
            [_, b'(' | b')' | b'$' | b'.' | b'&', ..] => {}
            [_, _, ..] => {
                self.is_foreign = true;
                out.push('\x1b');
                return Ok(1);
            }
            _ => return Err(1),
        }
        let searched = &bytes[..bytes.len().min(ESCAPE_BYTES_MAX)];
        let Some(end) = searched.iter().position(|byte| ends_escape(*byte)) else {
            return Err(if bytes.len() < ESCAPE_BYTES_MAX { bytes.len() } else { 1 });
        };
        let (number, set) = self.designated(&bytes[1..=end]).ok_or(end + 1)?;
        self.sets[number] = set;
        Ok(end + 1)
    }

    /// Which set an escape sequence calls, and in which of the two places.
    fn designated(&self, escape: &[u8]) -> Option<(usize, Set)> {
        let (is_double, place, name) = match *escape {
            [b'$', name] => (true, b'(', name),
            [b'$', place, name] => (true, place, name),
            [place, name] => (false, place, name),
            _ => return None,
        };
        let number = match place {
            b'(' => 0,
            b')' => 1,
            _ => return None,
        };
        let set = match (is_double, name, self.shifted) {
            (false, b'B', _) => Set::Ascii,
            (true, b'C', Shifted::Korean) => Set::Double(None),
            (_, _, Shifted::Korean) => return None,
            (false, b'J', _) => Set::Roman,
            (true, b'@' | b'B', _) => Set::Double(None),
            (true, b'D', Shifted::Japanese1 | Shifted::JapaneseExt) => Set::Double(Some(0x8f)),
            (false, b'I', Shifted::JapaneseExt) => Set::Katakana,
            _ => return None,
        };
        Some((number, set))
    }
}

fn ends_escape(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'@')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marking(shifted: Shifted, bytes: &[u8]) -> String {
        decode(shifted, bytes, OnError::Replace)
    }

    #[test]
    fn hz() {
        assert_eq!(marking(Shifted::Hz, b"~~a~\n~{VP\nVP~}b"), "~a\u{4e2d}\u{fffd}\u{4e2d}b");
        assert_eq!(marking(Shifted::Hz, b"~x~"), "\u{fffd}x\u{fffd}");
        assert_eq!(marking(Shifted::Hz, b"~{V~}a"), "\u{7b51}\u{fffd}\u{fffd}");
    }

    #[test]
    fn japanese() {
        assert_eq!(marking(Shifted::Japanese, b"a\x1b$B$\"\n$\"\x1b(Bb\xff"), "a\u{3042}\n\u{3042}b\u{fffd}");
        assert_eq!(marking(Shifted::Japanese, b"\x1b$B 1a!\x7f!"), "\u{fffd}\u{74e0}\u{fffd}");
        assert_eq!(marking(Shifted::Japanese, b"\x1b(J\\~\x1b(Ia"), "\u{a5}\u{203e}\u{fffd}a");
        assert_eq!(marking(Shifted::Japanese, b"\x1bXabc\x1b$B$\""), "\x1bXabc\u{3042}");
        assert_eq!(marking(Shifted::Japanese, b"a\x1b$bcd"), "a\u{fffd}");
        assert_eq!(marking(Shifted::JapaneseExt, b"\x1b(I1\x1b$(D0!"), "\u{ff71}\u{4e02}");
    }

    #[test]
    fn korean() {
        assert_eq!(marking(Shifted::Korean, b"\x1b$)C\x0e0!\n0!"), "\u{ac00}\n0!");
        assert_eq!(marking(Shifted::Korean, b"\x0e0!a"), "0!a");
        assert_eq!(marking(Shifted::Korean, b"\x1b$)C\x0e0 !a"), "\u{fffd}\u{25a0}");
    }
}
