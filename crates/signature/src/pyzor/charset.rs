//! Character sets by the names Python knows them, and what its codecs make of bytes.
//!
//! The web's tables (`encoding_rs`) differ from Python's: on the web Latin-1 and ASCII are windows-1252, and GB 2312 is
//! GBK. So codecs of one byte a character come from a table of their own, `charmaps.txt`, and codecs of several bytes
//! use the web's tables with the differences that are listed in `multibyte.txt`. In both files a line is a codec: its
//! names, a tab and its mappings, all numbers in hex.
//!
//! Left out, and taken as ASCII: `unicode_escape`, `raw_unicode_escape`, `punycode`, `johab` and the codecs of
//! JIS X 0213. Of `euc_kr` the syllables that are spelled out in eight bytes are left out, of `iso2022_jp_2` the sets
//! that are not Japanese.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::multibyte::{self, Multibyte};
use super::shifted::{self, Shifted};
use super::{Crash, header};
use crate::transfer::base64_value;

/// What takes the place of bytes that mean nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnError {
    Ignore,
    Replace,
}

impl OnError {
    /// Adds a character, or at an error what takes its place.
    fn push(self, c: Option<char>, out: &mut String) {
        match c {
            Some(c) => out.push(c),
            None => self.mark(out),
        }
    }

    /// Called at each error, with what was decoded so far.
    pub(super) fn mark(self, out: &mut String) {
        if self == Self::Replace {
            out.push('\u{fffd}');
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Little,
    Big,
    /// As the mark at the beginning says, little if there is none.
    Marked,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Codec {
    Ascii,
    Latin1,
    Utf7,
    Utf8,
    Utf8WithMark,
    Utf16(Order),
    Utf32(Order),
    Shifted(Shifted),
    /// The mappings of a codec of one byte a character.
    Charmap(&'static str),
    /// A line of the table of codecs of several bytes a character.
    Multibyte(&'static str),
}

/// The names of the codecs without a table: first the codec's own, then others.
const BUILT_IN: [(&str, Codec); 17] = [
    (
        "ascii 646 ansi_x3.4_1968 ansi_x3.4_1986 ansi_x3_4_1968 cp367 csascii ibm367 iso646_us iso_646.irv_1991 \
         iso_ir_6 us us_ascii",
        Codec::Ascii,
    ),
    (
        "latin_1 8859 charmap cp819 csisolatin1 ibm819 iso8859 iso8859_1 iso_8859_1 iso_8859_1_1987 iso_ir_100 l1 \
         latin latin1",
        Codec::Latin1,
    ),
    ("utf_8 cp65001 u8 utf utf8 utf8_ucs2 utf8_ucs4", Codec::Utf8),
    ("utf_8_sig", Codec::Utf8WithMark),
    ("utf_7 u7 unicode_1_1_utf_7 utf7", Codec::Utf7),
    ("utf_16 u16 utf16", Codec::Utf16(Order::Marked)),
    ("utf_16_be unicodebigunmarked utf_16be", Codec::Utf16(Order::Big)),
    ("utf_16_le unicodelittleunmarked utf_16le", Codec::Utf16(Order::Little)),
    ("utf_32 u32 utf32", Codec::Utf32(Order::Marked)),
    ("utf_32_be utf_32be", Codec::Utf32(Order::Big)),
    ("utf_32_le utf_32le", Codec::Utf32(Order::Little)),
    ("hz hz_gb hz_gb_2312 hzgb", Codec::Shifted(Shifted::Hz)),
    ("iso2022_kr csiso2022kr iso2022kr iso_2022_kr", Codec::Shifted(Shifted::Korean)),
    ("iso2022_jp csiso2022jp iso2022jp iso_2022_jp", Codec::Shifted(Shifted::Japanese)),
    ("iso2022_jp_1 iso2022jp_1 iso_2022_jp_1", Codec::Shifted(Shifted::Japanese1)),
    ("iso2022_jp_2 iso2022jp_2 iso_2022_jp_2", Codec::Shifted(Shifted::Japanese1)),
    ("iso2022_jp_ext iso2022jp_ext iso_2022_jp_ext", Codec::Shifted(Shifted::JapaneseExt)),
];

/// Python cannot even look for a name with a zero byte in it.
pub(super) fn check(name: &str) -> Result<(), Crash> {
    if name.contains('\0') { Err(Crash) } else { Ok(()) }
}

pub(super) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// The text of some bytes, or `None` if Python knows no codec of that name.
pub(super) fn decode(name: &str, bytes: &[u8], on_error: OnError) -> Result<Option<String>, Crash> {
    check(name)?;
    Ok(find(name).map(|codec| match codec {
        Codec::Ascii => decode_ascii(bytes, on_error),
        Codec::Latin1 => encoding_rs::mem::decode_latin1(bytes).into_owned(),
        Codec::Utf7 => decode_utf7(bytes, on_error),
        Codec::Utf8 => decode_utf8(bytes, on_error),
        Codec::Utf8WithMark => decode_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), on_error),
        Codec::Utf16(order) => decode_utf16(bytes, order, on_error),
        Codec::Utf32(order) => decode_utf32(bytes, order, on_error),
        Codec::Shifted(shifted) => shifted::decode(shifted, bytes, on_error),
        Codec::Charmap(mappings) => decode_charmap(mappings, bytes, on_error),
        Codec::Multibyte(line) => Multibyte::new(line).decode(bytes, on_error),
    }))
}

/// Every name, with its codec and whether it is only an alias. Made once, because a mail can have many parts.
static NAMES: LazyLock<BTreeMap<&str, (Codec, bool)>> = LazyLock::new(|| {
    let lines = |table: &'static str| table.lines().filter_map(|line| line.split_once('\t'));
    let charmaps = lines(include_str!("charmaps.txt")).map(|(names, rest)| (names, Codec::Charmap(rest)));
    let multibyte = lines(multibyte::TABLE).map(|(names, rest)| (names, Codec::Multibyte(rest)));
    let mut all = BTreeMap::new();
    for (names, codec) in BUILT_IN.into_iter().chain(charmaps).chain(multibyte) {
        for (count, name) in names.split(' ').enumerate() {
            all.entry(name).or_insert((codec, count > 0));
        }
    }
    all
});

fn find(name: &str) -> Option<Codec> {
    let name = normalise(name);
    if let Some((codec, _)) = NAMES.get(name.as_str()) {
        return Some(*codec);
    }
    if !name.contains('.') {
        return None;
    }
    // Dots can stand for underscores, but only in aliases.
    let (codec, is_alias) = NAMES.get(name.replace('.', "_").as_str())?;
    is_alias.then_some(*codec)
}

/// Python's form of a codec's name: lowercase, and one underscore for whatever is no letter, digit or dot.
fn normalise(name: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let words: Vec<&str> = name.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    words.join("_").to_ascii_lowercase()
}

pub(super) fn decode_ascii(bytes: &[u8], on_error: OnError) -> String {
    match on_error {
        _ if bytes.is_ascii() => String::from_utf8_lossy(bytes).into_owned(),
        OnError::Ignore => bytes.iter().filter(|byte| byte.is_ascii()).copied().map(char::from).collect(),
        OnError::Replace => header::to_text(bytes),
    }
}

fn decode_utf8(bytes: &[u8], on_error: OnError) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            on_error.mark(&mut out);
        }
    }
    out
}

/// Takes the mark off and says which order the rest has.
fn marked_order<'b>(bytes: &'b [u8], order: Order, mark: &[u8]) -> (&'b [u8], Order) {
    let reversed: Vec<u8> = mark.iter().rev().copied().collect();
    match order {
        Order::Marked => match (bytes.strip_prefix(mark), bytes.strip_prefix(reversed.as_slice())) {
            (Some(rest), _) => (rest, Order::Little),
            (_, Some(rest)) => (rest, Order::Big),
            _ => (bytes, Order::Little),
        },
        _ => (bytes, order),
    }
}

fn decode_utf16(bytes: &[u8], order: Order, on_error: OnError) -> String {
    let (bytes, order) = marked_order(bytes, order, b"\xff\xfe");
    let (pairs, rest) = bytes.as_chunks::<2>();
    let from_pair = if order == Order::Big { u16::from_be_bytes } else { u16::from_le_bytes };
    let mut out = String::with_capacity(bytes.len());
    for unit in char::decode_utf16(pairs.iter().map(|pair| from_pair(*pair))) {
        on_error.push(unit.ok(), &mut out);
    }
    if !rest.is_empty() {
        on_error.mark(&mut out);
    }
    out
}

fn decode_utf32(bytes: &[u8], order: Order, on_error: OnError) -> String {
    let (bytes, order) = marked_order(bytes, order, b"\xff\xfe\0\0");
    let (quads, rest) = bytes.as_chunks::<4>();
    let from_quad = if order == Order::Big { u32::from_be_bytes } else { u32::from_le_bytes };
    let mut out = String::with_capacity(bytes.len());
    for quad in quads {
        on_error.push(char::from_u32(from_quad(*quad)), &mut out);
    }
    if !rest.is_empty() {
        on_error.mark(&mut out);
    }
    out
}

/// Reads mappings such as `80>20ac` and `c0-df>410`.
fn decode_charmap(mappings: &str, bytes: &[u8], on_error: OnError) -> String {
    let mut table = [None; 256];
    for (first, last, target) in mappings.split(' ').filter_map(multibyte::mapping) {
        for code in first..=last {
            let target = target.and_then(|target| char::from_u32(target + code - first));
            if let (Some(slot), Some(_)) = (table.get_mut(code as usize), target) {
                *slot = target;
            }
        }
    }
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        on_error.push(table[usize::from(byte)], &mut out);
    }
    out
}

/// Text between `+` and the first other character is base64 of UTF-16.
fn decode_utf7(bytes: &[u8], on_error: OnError) -> String {
    let mut out = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [byte, next @ ..] = rest {
        rest = match (byte, next) {
            (b'+', [b'-', next @ ..]) => {
                out.push('+');
                next
            }
            (b'+', [first, next @ ..]) if base64_value(*first).is_none() => {
                on_error.mark(&mut out);
                next
            }
            (b'+', _) => decode_utf7_run(next, on_error, &mut out),
            _ => {
                on_error.push(byte.is_ascii().then_some(char::from(*byte)), &mut out);
                next
            }
        };
    }
    out
}

/// Decodes what follows a `+` and returns what follows that. Left-over bits are an error, which swallows the
/// character that ends the run.
fn decode_utf7_run<'b>(bytes: &'b [u8], on_error: OnError, out: &mut String) -> &'b [u8] {
    let mut units = Vec::new();
    let mut bits = 0u32;
    let mut bit_count = 0;
    let run_bytes = bytes.iter().map_while(|&byte| base64_value(byte)).fold(0, |count, value| {
        bits = bits << 6 | u32::from(value);
        bit_count += 6;
        if bit_count >= 16 {
            bit_count -= 16;
            units.push((bits >> bit_count) as u16);
            bits &= (1 << bit_count) - 1;
        }
        count + 1
    });
    out.extend(char::decode_utf16(units).filter_map(Result::ok));
    let is_broken = bit_count >= 6 || bits != 0;
    if is_broken {
        on_error.mark(out);
    }
    match &bytes[run_bytes..] {
        [b'-', next @ ..] => next,
        [_, next @ ..] if is_broken => next,
        next => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignoring(name: &str, bytes: &[u8]) -> Option<String> {
        decode(name, bytes, OnError::Ignore).expect("no zero byte")
    }

    #[test]
    fn names() {
        assert_eq!(find("UTF-8"), Some(Codec::Utf8));
        assert_eq!(find("'utf 8'"), Some(Codec::Utf8));
        assert_eq!(find("ANSI_X3.4-1968"), Some(Codec::Ascii));
        assert_eq!(find("utf.8"), None);
        assert_eq!(find(""), None);
        assert_eq!(check("a\0b"), Err(Crash));
        assert!(matches!(find("Windows-1252"), Some(Codec::Charmap(_))));
        assert!(matches!(find("ks_c_5601-1987"), Some(Codec::Multibyte(_))));
    }

    #[test]
    fn bytes_that_mean_nothing_vanish() {
        assert_eq!(ignoring("ascii", b"a\xe9b").as_deref(), Some("ab"));
        assert_eq!(ignoring("utf-8", b"a\xe9b\xc3\xa9\xf0\x9f").as_deref(), Some("ab\u{e9}"));
        assert_eq!(ignoring("cp1252", b"\x80\x81\x82").as_deref(), Some("\u{20ac}\u{201a}"));
        assert_eq!(ignoring("latin1", b"\x80").as_deref(), Some("\u{80}"));
        assert_eq!(ignoring("utf-16", b"\xfe\xff\0a\xd8\0\0b\0").as_deref(), Some("ab"));
        assert_eq!(ignoring("utf-32-be", b"\0\0\0a\0\x11\0\0").as_deref(), Some("a"));
    }

    #[test]
    fn utf7() {
        assert_eq!(
            ignoring("utf-7", b"a+AOk-b +- +AOk c+2D3eAA-").as_deref(),
            Some("a\u{e9}b + \u{e9} c\u{1f600}")
        );
        assert_eq!(ignoring("utf-7", b"+!a+AO!b").as_deref(), Some("ab"));
    }

    #[test]
    fn the_bytes_can_be_marked() {
        let replaced = decode("utf-8", b"a\xe9b", OnError::Replace).expect("no zero byte");
        assert_eq!(replaced.as_deref(), Some("a\u{fffd}b"));
    }
}
