//! The parameters of a Content-Type as Python reads them, RFC 2231 included.

use std::collections::BTreeMap;

use super::lines::is_space;
use super::{Crash, charset};
use crate::transfer::hex_value;

/// A longer Content-Type is cut. Real ones have a few hundred bytes; this many parameters still fit in memory.
pub(super) const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Python refuses to read a longer number.
const NUMBER_DIGITS_MAX: usize = 4300;

/// The value of a parameter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Param {
    Plain(String),
    /// By RFC 2231. The character set is missing if the value does not have all three fields.
    Extended {
        charset: Option<String>,
        text: String,
    },
}

/// One of the pieces of a value by RFC 2231, in the order in which they are joined.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    /// Without leading zeros, its length first, so that longer numbers are greater.
    number: Option<(usize, String)>,
    text: String,
    percent_encoded: bool,
}

/// The header's value as Python's text. Other bytes than ASCII turn into a mark that matches nothing.
pub(super) fn to_text(value: &[u8]) -> String {
    value.iter().map(|&byte| if byte.is_ascii() { char::from(byte) } else { '\u{fffd}' }).collect()
}

/// The media type, in lowercase. `None` if it does not have exactly one slash.
pub(super) fn media_type(value: &str) -> Option<String> {
    let end = value.find(';').unwrap_or(value.len());
    let media_type = strip(&value[..end]).to_ascii_lowercase();
    (media_type.matches('/').count() == 1).then_some(media_type)
}

/// Python's `str.strip`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The boundary of a multipart, or `None` if it has none.
pub(super) fn boundary(value: &str) -> Result<Option<String>, Crash> {
    let boundary = match param(value, "boundary")? {
        None => return Ok(None),
        Some(Param::Plain(text)) => unquote(&text),
        Some(Param::Extended { charset, text }) => {
            let charset = charset.as_deref().unwrap_or("us-ascii");
            charset::check(charset)?;
            if charset::is_known(charset) { text } else { unquote(&text) }
        }
    };
    Ok(Some(boundary.trim_end_matches(is_space).to_owned()))
}

/// The value of the parameter `wanted`. The first plain one counts, then the first by RFC 2231.
pub(super) fn param(value: &str, wanted: &str) -> Result<Option<Param>, Crash> {
    let mut plain = None;
    let mut extended_name = None;
    let mut extended: BTreeMap<&str, Vec<Piece>> = BTreeMap::new();
    for (count, field) in fields(value).into_iter().enumerate() {
        let (name, text) = field.split_once('=').unwrap_or((field, ""));
        let name = strip(name);
        let text = unquote(strip(text));
        match (count > 0).then(|| continuation(name)).flatten() {
            Some((base, number)) => {
                let number = number.map(to_number).transpose()?;
                if base.eq_ignore_ascii_case(wanted) && extended_name.is_none() {
                    extended_name = Some(base);
                }
                let percent_encoded = name.ends_with('*');
                extended.entry(base).or_default().push(Piece { number, text, percent_encoded });
            }
            None if plain.is_none() && name.eq_ignore_ascii_case(wanted) => plain = Some(text),
            None => {}
        }
    }
    // Python cannot sort numbers among missing numbers, whoever asked for the parameter.
    if extended.values().any(|pieces| is_mixed(pieces)) {
        return Err(Crash);
    }
    if let Some(text) = plain {
        return Ok(Some(Param::Plain(text)));
    }
    Ok(extended_name.and_then(|name| extended.remove(name)).map(join))
}

/// Cuts a value at semicolons that are not inside quotes.
fn fields(value: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut start = 0;
    let mut quotes = 0;
    let mut previous = 0;
    for (at, byte) in value.bytes().enumerate() {
        match byte {
            b'"' if previous != b'\\' => quotes += 1,
            b';' if quotes % 2 == 0 => {
                fields.push(&value[start..at]);
                start = at + 1;
                quotes = 0;
            }
            _ => {}
        }
        previous = byte;
    }
    fields.push(&value[start..]);
    fields
}

/// Splits `name*`, `name*0` and `name*0*` into the name and the number.
fn continuation(name: &str) -> Option<(&str, Option<&str>)> {
    let (base, number) = name.split_once('*')?;
    if base.is_empty() || !base.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    if number.is_empty() {
        return Some((base, None));
    }
    let digits = number.strip_suffix('*').unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((base, Some(digits)))
}

fn to_number(digits: &str) -> Result<(usize, String), Crash> {
    if digits.len() > NUMBER_DIGITS_MAX {
        return Err(Crash);
    }
    let digits = digits.trim_start_matches('0');
    Ok((digits.len(), digits.to_owned()))
}

fn is_mixed(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| piece.number.is_none()) && pieces.iter().any(|piece| piece.number.is_some())
}

fn join(mut pieces: Vec<Piece>) -> Param {
    pieces.sort();
    let mut text = String::new();
    for piece in &pieces {
        if piece.percent_encoded {
            text.push_str(&undo_percent(&piece.text))
        } else {
            text.push_str(&piece.text)
        }
    }
    if !pieces.iter().any(|piece| piece.percent_encoded) {
        return Param::Plain(text);
    }
    let mut fields = text.splitn(3, '\'');
    match (fields.next(), fields.next(), fields.next()) {
        (Some(charset), Some(_language), Some(rest)) => {
            Param::Extended { charset: Some(charset.to_owned()), text: rest.to_owned() }
        }
        _ => Param::Extended { charset: None, text },
    }
}

/// Each `%41` is one character, as in Latin-1.
fn undo_percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split('%');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        match piece.as_bytes() {
            [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(char::from(hex_value(*high) << 4 | hex_value(*low)));
                out.push_str(&piece[2..]);
            }
            _ => {
                out.push('%');
                out.push_str(piece);
            }
        }
    }
    out
}

/// Takes quotes or angle brackets off.
fn unquote(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        inner.replace("\\\\", "\\").replace("\\\"", "\"")
    } else if let Some(inner) = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        inner.to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(value: &str, name: &str) -> Option<String> {
        match param(value, name) {
            Ok(Some(Param::Plain(text))) => Some(text),
            _ => None,
        }
    }

    #[test]
    fn media_types() {
        assert_eq!(media_type(" Text/HTML ; x=/"), Some("text/html".to_owned()));
        assert_eq!(media_type("text"), None);
        assert_eq!(media_type("a/b/c"), None);
    }

    #[test]
    fn parameters() {
        assert_eq!(plain("a/b; Charset = \"x;y\" ; charset=z", "charset").as_deref(), Some("x;y"));
        assert_eq!(plain("charset=x", "charset").as_deref(), Some("x"));
        assert_eq!(plain("a/b; charset", "charset").as_deref(), Some(""));
        assert_eq!(plain(r#"a/b; charset="a\"b\\c""#, "charset").as_deref(), Some(r#"a"b\c"#));
        assert_eq!(plain("a/b; x=\"y; charset=z", "charset"), None);
        assert_eq!(boundary("a/b; boundary=<x > "), Ok(Some("x".to_owned())));
        assert_eq!(boundary("a/b; x=y"), Ok(None));
    }

    #[test]
    fn parameters_by_rfc_2231() {
        assert_eq!(plain("a/b; n*1=2; n*0=1; n*10=3", "n").as_deref(), Some("123"));
        assert_eq!(plain("a/b; n*0=1; n=2", "n").as_deref(), Some("2"));
        let extended = |charset: Option<&str>, text: &str| {
            Ok(Some(Param::Extended { charset: charset.map(str::to_owned), text: text.to_owned() }))
        };
        assert_eq!(param("a/b; n*=us-ascii'en'%41%4", "n"), extended(Some("us-ascii"), "A%4"));
        assert_eq!(param("a/b; n*=%e9", "n"), extended(None, "\u{e9}"));
        assert_eq!(param("a/b; n*=1; n*0=2", "m"), Err(Crash));
    }
}
