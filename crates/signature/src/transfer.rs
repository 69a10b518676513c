//! Transfer encodings as Python undoes them: it never refuses, and takes what it can from broken input.

use std::borrow::Cow;

/// A character of uuencode stands for six bits.
const SIX_BITS: u8 = 0o77;

/// The bytes of a body. An encoding that is not known, even by a blank after its name, leaves them as they are.
pub(crate) fn decode<'b>(encoding: &str, body: &'b [u8]) -> Cow<'b, [u8]> {
    match encoding.to_ascii_lowercase().as_str() {
        "quoted-printable" => Cow::Owned(quoted_printable(body)),
        "base64" => Cow::Owned(base64(body)),
        "x-uuencode" | "uuencode" | "uue" | "x-uue" => uuencode(body).map_or(Cow::Borrowed(body), Cow::Owned),
        _ => Cow::Borrowed(body),
    }
}

/// Foreign characters are skipped and padding may be missing. A lone character at the end cannot be decoded; then
/// the answer is the encoded text, without line ends.
fn base64(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() / 4 * 3 + 3);
    let mut bits = 0u32;
    let mut digits = 0;
    let mut pads = 0;
    for &byte in body {
        let Some(value) = base64_value(byte) else {
            if byte == b'=' && digits >= 2 {
                pads += 1;
                if digits + pads >= 4 {
                    return out;
                }
            }
            continue;
        };
        pads = 0;
        bits = bits << 6 | u32::from(value);
        digits = (digits + 1) % 4;
        if digits != 1 {
            let unused_bits = [0, 0, 4, 2][digits];
            out.push((bits >> unused_bits) as u8);
        }
    }
    if digits == 1 {
        body.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect()
    } else {
        out
    }
}

/// The six bits that a character of base64 stands for.
pub(crate) fn base64_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

fn quoted_printable(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.iter().position(|&byte| byte == b'=') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        rest = match *rest {
            [] => rest,
            [b'\n', ref next @ ..] => next,
            // Whatever follows a lone carriage return is lost, up to the line feed.
            [b'\r', ..] => rest.iter().position(|&byte| byte == b'\n').map_or(&[], |end| &rest[end + 1..]),
            [b'=', ref next @ ..] => {
                out.push(b'=');
                next
            }
            [high, low, ref next @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(hex_value(high) << 4 | hex_value(low));
                next
            }
            _ => {
                out.push(b'=');
                rest
            }
        };
    }
    out.extend_from_slice(rest);
    out
}

/// The value of a byte that is known to be a hex digit.
pub(crate) fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// `None` where no file begins, or where a line is empty or broken: then the body stays as it is. The end of the file
/// may be missing.
fn uuencode(body: &[u8]) -> Option<Vec<u8>> {
    let mut lines = lines(body);
    if !lines.any(begins_file) {
        return None;
    }
    let mut out = Vec::new();
    for line in lines {
        let length = *line.first()?;
        if trim(line, b" \t\r\n\x0c") == b"end" {
            break;
        }
        let before = out.len();
        if uuencode_line(line, &mut out).is_none() {
            // Some encoders write rubbish after the data: try with as much as the line should have.
            out.truncate(before);
            let line_bytes_max = (usize::from(length.wrapping_sub(b' ') & SIX_BITS) * 4 + 5) / 3;
            uuencode_line(&line[..line.len().min(line_bytes_max)], &mut out)?;
        }
    }
    Some(out)
}

/// The lines of a body, without their ends: CR, LF or both.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let line_bytes = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        let (line, next) = rest.split_at(line_bytes);
        rest = next.strip_prefix(b"\r\n").or_else(|| next.get(1..)).unwrap_or_default();
        Some(line)
    })
}

/// Whether a line reads `begin` and an octal number. A name may follow.
fn begins_file(line: &[u8]) -> bool {
    line.strip_prefix(b"begin ")
        .is_some_and(|rest| rest.split(|&byte| byte == b' ').next().is_some_and(is_octal))
}

/// What Python takes as a number of base 8: a sign, a prefix and single underscores between digits are allowed.
fn is_octal(word: &[u8]) -> bool {
    let word = trim(word, b" \t\r\n\x0b\x0c");
    let word = word.strip_prefix(b"+").or_else(|| word.strip_prefix(b"-")).unwrap_or(word);
    let digits = match word {
        [b'0', b'o' | b'O', digits @ ..] => digits.strip_prefix(b"_").unwrap_or(digits),
        _ => word,
    };
    digits
        .split(|&byte| byte == b'_')
        .all(|run| !run.is_empty() && run.iter().all(|byte| (b'0'..=b'7').contains(byte)))
}

fn trim<'t>(mut text: &'t [u8], blanks: &[u8]) -> &'t [u8] {
    while let [first, rest @ ..] = text
        && blanks.contains(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && blanks.contains(last)
    {
        text = rest;
    }
    text
}

/// Decodes one line: its length, then its data, six bits in a character. Missing characters stand for zero.
fn uuencode_line(line: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let [length, data @ ..] = line else { return None };
    let mut left = length.wrapping_sub(b' ') & SIX_BITS;
    let mut data = data.iter();
    let mut bits = 0u32;
    let mut bit_count = 0;
    while left > 0 {
        let value = match data.next() {
            None | Some(b'\n' | b'\r') => 0,
            Some(&byte @ b' '..=b'`') => (byte - b' ') & SIX_BITS,
            Some(_) => return None,
        };
        bits = bits << 6 | u32::from(value);
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            out.push((bits >> bit_count) as u8);
            left -= 1;
        }
    }
    if data.all(|byte| matches!(byte, b' ' | b'`' | b'\n' | b'\r')) { Some(()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_lenient() {
        assert_eq!(base64(b"YWJj\r\nZA=="), b"abcd");
        assert_eq!(base64(b"YWJjZA"), b"abcd");
        assert_eq!(base64(b"Y!W*Jj"), b"abc");
        assert_eq!(base64(b"YWI=YWJj"), b"ab");
        assert_eq!(base64(b"=YWJj="), b"abc");
        assert_eq!(base64(b"YWJj\nY"), b"YWJjY");
    }

    #[test]
    fn quoted_printable_is_lenient() {
        assert_eq!(quoted_printable(b"a=20b=\nc=\r\nd= \n=3"), b"a bcd= \n=3");
        assert_eq!(quoted_printable(b"a=\r lost\nb==c=zz="), b"ab=c=zz");
    }

    #[test]
    fn uuencode_wants_a_file() {
        assert_eq!(uuencode(b"x\nbegin 644 name\n#86)C\n`\nend\n"), Some(b"abc".to_vec()));
        assert_eq!(uuencode(b"begin 644\r\n#86)C\r"), Some(b"abc".to_vec()));
        assert_eq!(uuencode(b"begin 644 name\n#86)C\n\nend\n"), None);
        assert_eq!(uuencode(b"begin 9 name\n#86)C\nend\n"), None);
        assert_eq!(uuencode(b"begin 644 name\n#86)CGARBAGE\nend\n"), Some(b"abc".to_vec()));
        assert_eq!(uuencode(b"begin 644 name\n#\x8086)C\nend\n"), None);
    }
}
