//! The file in which a site says what it vouches for, and what is bulk whoever reports it.
//!
//! A line is `value type data`, as in `ok ip 192.0.2.0/24` or `many message-id <bad@example.com>`. A line that begins
//! with a blank may leave the value out, and repeats that of the line before. `#` begins a comment, unless it is within
//! a word. What only clients can obey, and names that would have to be looked up, are errors: a line that does nothing
//! would be believed to do something.

use thiserror::Error;

mod addresses;
mod sums;

use super::{Count, Sum, SumKind};
pub use addresses::Addresses;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whitelist {
    /// Its entries, in their order.
    pub entries: Vec<Entry>,
    /// The files that it includes, with the lines that do.
    pub includes: Vec<(usize, String)>,
}

/// What is said of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line, counted from one.
    pub line: usize,
    /// What is answered: [`Count::Ok`], [`Count::Ok2`] or [`Count::Many`].
    pub count: Count,
    /// Of what.
    pub subject: Subject,
}

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The checksums of these addresses.
    Addresses(Addresses),
    /// The checksum of this text, as a client makes it of a header.
    Text(SumKind, String),
    /// A checksum.
    Sum(Sum),
}

/// A line that cannot be obeyed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct WhitelistError {
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// No value, or an unknown one.
    #[error("{0:?} is none of ok, ok2, many, mx and mxdcc")]
    Value(String),
    /// A line without a value, before any with one.
    #[error("a line that begins with a blank repeats the value of the line before, and there is none")]
    NothingToRepeat,
    /// A type that is unknown, or has no text of which a checksum is made.
    #[error("{0:?} is none of ip, env_from, from, message-id, received, substitute and hex")]
    Type(String),
    /// Only clients can obey it.
    #[error("{0:?} is for the whitelists of clients")]
    ClientOnly(String),
    /// The data is missing.
    #[error("{0:?} has no value after it")]
    NoData(String),
    /// Not an address, a block or a range.
    #[error("{0:?} is no address, block or range of addresses; names are not looked up")]
    Addresses(String),
    /// Too many to be turned into checksums.
    #[error("{0} has more than {max} addresses", max = Addresses::COUNT_MAX)]
    TooManyAddresses(String),
    /// Not four groups of eight hexadecimal digits.
    #[error("{0:?} is no checksum of 32 hexadecimal digits")]
    Hex(String),
}

/// Reads a file. The first line that cannot be obeyed is an error.
pub fn parse(text: &str) -> Result<Whitelist, WhitelistError> {
    let mut whitelist = Whitelist::default();
    let mut last = None;
    for (line, text) in (1..).zip(text.lines()) {
        let at = |reason| WhitelistError { line, reason };
        let text = without_comment(text);
        let (first, rest) = split_word(text);
        if first.is_empty() {
            continue;
        }
        if first.eq_ignore_ascii_case("include") {
            let name = data(first, rest).map_err(at)?;
            whitelist.includes.push((line, name.to_owned()));
            continue;
        }
        let (count, rest) = match value(first) {
            Ok(count) => (count, rest),
            Err(_) if text.starts_with([' ', '\t']) => (last.ok_or(at(Reason::NothingToRepeat))?, text),
            Err(reason) => return Err(at(reason)),
        };
        last = Some(count);
        let subject = subject(rest).map_err(at)?;
        whitelist.entries.push(Entry { line, count, subject });
    }
    Ok(whitelist)
}

/// A `#` begins a comment where a word could begin.
fn without_comment(line: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| {
        line.get(..*at).is_some_and(|head| head.is_empty() || head.ends_with([' ', '\t']))
    };
    let end = line.match_indices('#').find(begins).map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line)
}

/// The first word, and what follows it. Both without blanks around them.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once([' ', '\t']).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}

fn value(word: &str) -> Result<Count, Reason> {
    match word.to_ascii_lowercase().as_str() {
        // Relays of the site: a server is to believe what they send.
        "ok" | "mx" | "mxdcc" => Ok(Count::Ok),
        "ok2" => Ok(Count::Ok2),
        "many" => Ok(Count::Many),
        "option" | "submit" => Err(Reason::ClientOnly(word.to_owned())),
        _ => Err(Reason::Value(word.to_owned())),
    }
}

fn data<'a>(of: &str, text: &'a str) -> Result<&'a str, Reason> {
    if text.is_empty() { Err(Reason::NoData(of.to_owned())) } else { Ok(text) }
}

fn subject(text: &str) -> Result<Subject, Reason> {
    let (word, rest) = split_word(text);
    match word.to_ascii_lowercase().as_str() {
        "" => return Err(Reason::NoData("a value".to_owned())),
        "env_to" => return Err(Reason::ClientOnly(word.to_owned())),
        "hex" => return sum(rest).map(Subject::Sum),
        _ => {}
    }
    let kind = kind(word)?;
    let rest = data(word, rest)?;
    match kind {
        SumKind::Ip => Addresses::parse(rest).map(Subject::Addresses),
        SumKind::EnvFrom | SumKind::From | SumKind::MessageId | SumKind::Received => {
            Ok(Subject::Text(kind, rest.to_owned()))
        }
        SumKind::Substitute => {
            let (name, value) = split_word(rest);
            // Clients put the name of the header before its text.
            Ok(Subject::Text(kind, name.to_owned() + data(name, value)?))
        }
        _ => Err(Reason::Type(word.to_owned())),
    }
}

fn kind(word: &str) -> Result<SumKind, Reason> {
    let named = |kind: &SumKind| kind.name().eq_ignore_ascii_case(word);
    SumKind::ALL.into_iter().find(named).ok_or_else(|| Reason::Type(word.to_owned()))
}

/// A checksum as clients print it: its type, and its digits in groups.
fn sum(text: &str) -> Result<Sum, Reason> {
    let (word, digits) = split_word(text);
    let kind = kind(word)?;
    let wrong = || Reason::Hex(digits.to_owned());
    let mut digest = [0; 16];
    let mut groups = digits.split_ascii_whitespace();
    for place in digest.as_chunks_mut::<4>().0 {
        let group =
            groups.next().filter(|group| group.len() == 8 && group.bytes().all(|b| b.is_ascii_hexdigit()));
        *place = u32::from_str_radix(group.ok_or_else(wrong)?, 16).map_err(|_| wrong())?.to_be_bytes();
    }
    if groups.next().is_some() { Err(wrong()) } else { Ok(Sum { kind, digest }) }
}
