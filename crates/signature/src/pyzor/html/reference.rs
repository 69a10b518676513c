//! Character references in text: `&amp;`, `&#233;`, `&#xE9;`.

use html5gum::{Token, Tokenizer};

use crate::pyzor::Crash;

/// The longest name has 31 characters; Python looks at no more than 32 before the semicolon.
const NAME_CHARS_MAX: usize = 32;

/// Python refuses to read a longer decimal number.
const NUMBER_DIGITS_MAX: usize = 4300;

/// What numbers from 0x80 to 0x9f stand for: most people who write them mean windows-1252.
const FROM_0X80: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The text with all references replaced.
pub(super) fn resolve(text: &str) -> Result<String, Crash> {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split('&');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let rest = match piece.strip_prefix('#') {
            Some(number) => resolve_number(number, &mut out)?,
            None => resolve_name(piece, &mut out),
        };
        if rest.is_none() {
            out.push('&');
        }
        out.push_str(rest.unwrap_or(piece));
    }
    Ok(out)
}

/// Adds what a number stands for and returns what follows it. `None` if there is no number.
fn resolve_number<'t>(text: &'t str, out: &mut String) -> Result<Option<&'t str>, Crash> {
    let (digits, radix) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let digit_count = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
    if digit_count == 0 {
        return Ok(None);
    }
    if radix == 10 && digit_count > NUMBER_DIGITS_MAX {
        return Err(Crash);
    }
    let (digits, rest) = digits.split_at(digit_count);
    // A number that does not fit is no character either.
    out.extend(character(u32::from_str_radix(digits, radix).unwrap_or(u32::MAX)));
    Ok(Some(rest.strip_prefix(';').unwrap_or(rest)))
}

/// What a number stands for. Control characters and those that Unicode will never assign stand for nothing.
fn character(number: u32) -> Option<char> {
    match number {
        0 => Some('\u{fffd}'),
        0x80..=0x9f => Some(FROM_0X80[(number - 0x80) as usize]),
        0x1..=0x8 | 0xb | 0xe..=0x1f | 0x7f | 0xfdd0..=0xfdef => None,
        _ if number <= 0x10_ffff && number & 0xfffe == 0xfffe => None,
        _ => Some(char::from_u32(number).unwrap_or('\u{fffd}')),
    }
}

/// Adds what a name stands for and returns what follows it. `None` if no name begins here.
fn resolve_name<'t>(text: &'t str, out: &mut String) -> Option<&'t str> {
    // Most references in mail are these.
    for (name, meaning) in [("nbsp;", "\u{a0}"), ("amp;", "&"), ("lt;", "<"), ("gt;", ">"), ("quot;", "\"")] {
        if let Some(rest) = text.strip_prefix(name) {
            out.push_str(meaning);
            return Some(rest);
        }
    }
    let name_bytes = text.bytes().take(NAME_CHARS_MAX).take_while(u8::is_ascii_alphanumeric).count();
    let name_bytes = name_bytes + usize::from(text.as_bytes().get(name_bytes) == Some(&b';'));
    let (name, rest) = text.split_at(name_bytes);
    if name.len() < 2 {
        return None;
    }
    // The tokenizer knows the names, and like Python takes the longest that the text begins with.
    for token in Tokenizer::new(&format!("&{name}")) {
        if let Ok(Token::String(text)) = token {
            out.push_str(&String::from_utf8_lossy(&text.value));
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> String {
        resolve(text).expect("no crash")
    }

    #[test]
    fn names() {
        assert_eq!(resolved("a &amp; b&nbsp;&eacute;&eacute&copyx;"), "a & b\u{a0}\u{e9}\u{e9}\u{a9}x;");
        assert_eq!(
            resolved("&foo; & &; &a &notit; &NotEqualTilde;"),
            "&foo; & &; &a \u{ac}it; \u{2242}\u{338}"
        );
        assert_eq!(resolved("&CounterClockwiseContourIntegral;&amp"), "\u{2233}&");
    }

    #[test]
    fn numbers() {
        assert_eq!(resolved("&#233;&#xE9&#XeG&#;&#x;"), "\u{e9}\u{e9}\u{e}G&#;&#x;".replace('\u{e}', ""));
        assert_eq!(
            resolved("&#0;&#x80;&#x81;&#xd800;&#x110000;&#1;&#xffff;&#13;"),
            "\u{fffd}€\u{81}\u{fffd}\u{fffd}\r"
        );
        assert_eq!(resolved(&format!("&#{};", "9".repeat(4300))), "\u{fffd}");
        assert_eq!(resolve(&format!("&#{};", "0".repeat(4301))), Err(Crash));
        assert_eq!(resolved(&format!("&#x{}41;", "0".repeat(4301))), "A");
    }
}
