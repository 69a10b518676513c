//! Engine 8, "whiplash": a signature for each host that the text links to, with the length of the text.
//!
//! The client shortens a host by a table of suffixes of its own, which is old and not ours to use. So each host
//! is given unshortened, for suffixes that the client does not know, and shortened to what is registrable by
//! the ICANN section of the Public Suffix List. One of the two is nearly always the client's.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::{memchr_iter, memchr2, memmem, memrchr};
use sha1::{Digest, Sha1};

use super::clean::decode_escapes;
use super::host;
use super::text::{find_any_case, is_false, is_space, leading, starts_with_any_case};
use super::{E8, Host};

/// Signatures of one part. Each takes ten times the bytes of its link, so this bounds the memory; few mails
/// that people send have more than a hundred hosts. The client has no limit.
const HOSTS_MAX: usize = 2000;

/// Where the client finds links after the first.
const LINK: &[u8] = b"http://";

/// The signatures of clean text, in the order of its hosts, each once.
pub(super) fn signatures(text: &[u8]) -> Vec<Host> {
    if is_false(text) {
        return Vec::new();
    }
    let rounded_len = text.len() - text.len() % 100;
    let len_digest = Sha1::digest(rounded_len.to_string());
    let (text, wide) = decoded(text);
    let mut found = Found { hosts: Vec::new(), known: HashSet::new(), wide };
    collect(&text, &mut found);
    let signature = |host: Vec<u8>| {
        let mut digest = [0; 8];
        digest[..6].copy_from_slice(&Sha1::digest(&host)[..6]);
        digest[6..].copy_from_slice(&len_digest[..2]);
        Host { host, signature: E8(digest) }
    };
    found.hosts.into_iter().map(signature).collect()
}

/// The hosts that were found so far.
struct Found {
    hosts: Vec<Vec<u8>>,
    known: HashSet<Vec<u8>>,
    /// Stands for characters beyond 255. The client cannot hash a host with one and gives up.
    wide: Option<u8>,
}

impl Found {
    fn add(&mut self, host: &[u8]) {
        let is_wide = self.wide.is_some_and(|wide| host.contains(&wide));
        if self.hosts.len() < HOSTS_MAX && !is_wide && self.known.insert(host.to_vec()) {
            self.hosts.push(host.to_vec());
        }
    }
}

/// Adds the hosts of the text: those without a scheme, if there is any link at all, then those of links.
fn collect(text: &[u8], found: &mut Found) {
    let Some((is_anchor, rest)) = first_link(text) else { return };
    for_each_bare_host(text, |host| found.add(host));
    let mut host = host::of_link(rest, is_anchor);
    // After the first link, the client looks at the last line only. If the first link is in it, it is seen again.
    let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
    let mut next = match memrchr(b'\n', rest) {
        Some(feed) => behind_link(&rest[feed + 1..]),
        None => Some(rest),
    };
    while !is_false(&host) {
        host::forms(&host).for_each(|form| found.add(form));
        let Some(text) = next else { return };
        host = host::of_text(text);
        next = behind_link(text);
    }
}

fn behind_link(line: &[u8]) -> Option<&[u8]> {
    memmem::find(line, LINK).map(|at| &line[at + LINK.len()..])
}

/// What follows the first link, and whether that is the link of an anchor, which goes before all others.
fn first_link(text: &[u8]) -> Option<(bool, &[u8])> {
    let anchor = find_any_case(text, b"href").find_map(|at| {
        let rest = &text[at + b"href".len()..];
        let rest = rest[leading(rest, is_space)..].strip_prefix(b"=")?;
        let rest = &rest[leading(rest, is_space)..];
        behind_scheme(rest.strip_prefix(b"\"").unwrap_or(rest))
    });
    let other = || find_any_case(text, b"http").find_map(|at| behind_scheme(&text[at..]));
    anchor.map(|rest| (true, rest)).or_else(|| Some((false, other()?)))
}

/// What follows `http`, perhaps `s`, `:/` and perhaps another `/`.
fn behind_scheme(text: &[u8]) -> Option<&[u8]> {
    if !starts_with_any_case(text, b"http") {
        return None;
    }
    let rest = &text[b"http".len()..];
    let rest = rest.strip_prefix(b"s").or_else(|| rest.strip_prefix(b"S")).unwrap_or(rest);
    let rest = rest.strip_prefix(b":/")?;
    Some(rest.strip_prefix(b"/").unwrap_or(rest))
}

/// Hands on what looks like a host without a scheme: white space, `www`, any character, and some that a host
/// may have.
fn for_each_bare_host(text: &[u8], mut hand_on: impl FnMut(&[u8])) {
    let is_host = |byte: u8| !matches!(byte, b' ' | b'/' | b'>' | b'<' | b'"' | b'\r' | b'\n');
    let mut from = 0;
    for at in find_any_case(text, b"www") {
        let is_behind_space = at > from && is_space(text[at - 1]);
        let dot = at + b"www".len();
        if !is_behind_space || text.get(dot).is_none_or(|&byte| byte == b'\n') {
            continue;
        }
        let len = leading(&text[dot + 1..], is_host);
        if len > 0 {
            from = dot + 1 + len;
            hand_on(&text[at..from]);
        }
    }
}

/// The text with `%HH` and then `&#D;` decoded, and the byte that stands for characters beyond 255 if it has any.
fn decoded(text: &[u8]) -> (Cow<'_, [u8]>, Option<u8>) {
    if memchr2(b'%', b'&', text).is_none() {
        return (Cow::Borrowed(text), None);
    }
    let mut bytes = Vec::with_capacity(text.len());
    decode_escapes(text, b'%', &mut bytes);
    // Any byte that is neither in the text nor of the ASCII characters that mean something to the client.
    let mut is_free = [true; 256];
    bytes.iter().for_each(|&byte| is_free[usize::from(byte)] = false);
    let free = (128..=255u8).find(|&byte| is_free[usize::from(byte)]);
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut wide = None;
    let mut copied = 0;
    for at in memchr_iter(b'&', &bytes) {
        let Some((value, len)) = character_reference(&bytes[at..]) else { continue };
        decoded.extend_from_slice(&bytes[copied..at]);
        copied = at + len;
        decoded.extend(u8::try_from(value).ok().or_else(|| {
            wide = free;
            wide
        }));
    }
    decoded.extend_from_slice(&bytes[copied..]);
    (Cow::Owned(decoded), wide)
}

/// The value of a reference `&#D;` with two or three digits, and its length.
fn character_reference(text: &[u8]) -> Option<(u16, usize)> {
    let rest = text.strip_prefix(b"&#")?;
    let digits = leading(rest, |byte| byte.is_ascii_digit());
    if !(2..=3).contains(&digits) || rest.get(digits) != Some(&b';') {
        return None;
    }
    let value = rest[..digits].iter().fold(0, |value, &digit| value * 10 + u16::from(digit - b'0'));
    Some((value, b"&#".len() + digits + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<String> {
        signatures(text.as_bytes()).iter().map(|found| found.host.escape_ascii().to_string()).collect()
    }

    #[test]
    fn a_link_gives_its_host_whole_and_shortened() {
        assert_eq!(hosts("see http://Shop.Example.co.uk/x"), ["shop.example.co.uk", "example.co.uk"]);
        assert_eq!(hosts("see HTTPS:/a.b.example.com:80"), ["a.b.example.com", "example.com"]);
        assert_eq!(hosts("http://192.0.2.1/"), ["192.0.2.1"]);
        assert_eq!(hosts("http://localhost/"), Vec::<String>::new());
        assert_eq!(hosts("nothing"), Vec::<String>::new());
    }

    #[test]
    fn after_the_first_link_only_the_last_line_counts() {
        assert_eq!(
            hosts("http://a.com/\nhttp://b.com/\nx http://c.com/ http://d.com\n"),
            ["a.com", "c.com", "d.com"]
        );
        assert_eq!(hosts("http://a.com/ http://b.com/ HTTP://c.com/ https://d.com"), ["a.com", "b.com"]);
        assert_eq!(hosts("http://a.com/ http://b.com/\n\n"), ["a.com"]);
    }

    #[test]
    fn an_anchor_goes_before_other_links() {
        assert_eq!(hosts("http://a.com/\n<A HREF = \"http://b.com/\">"), ["b.com"]);
        assert_eq!(hosts("http://a.com/\n<a href='http://b.com/'>x\n"), ["a.com", "b.com"]);
    }

    #[test]
    fn hosts_without_a_scheme_need_some_link() {
        assert_eq!(hosts("see www.Example.com/x"), Vec::<String>::new());
        let text = "see www.Example.com/x\nWWW.b.com and www\n.c www. http://a.com";
        assert_eq!(hosts(text), ["www.Example.com", "WWW.b.com", "a.com"]);
    }

    #[test]
    fn escapes_and_references_are_decoded_once() {
        assert_eq!(hosts("http%3a//%65xampl&#101;.com/"), ["example.com"]);
        assert_eq!(hosts("http://a%2&#53;41.com/"), ["a%2541.com"]);
        assert_eq!(hosts("http://a&#1;&#0046;.com/"), ["a&#1;&#0046;.com"]);
    }

    #[test]
    fn a_host_with_a_wide_character_has_no_signature() {
        assert_eq!(hosts("http://a.com/&#300; http://&#300;.com http://b.com"), ["a.com", "b.com"]);
    }

    #[test]
    fn hosts_have_an_end() {
        let text: String = (0..HOSTS_MAX + 10).map(|n| format!("http://{n}x.com ")).collect();
        assert_eq!(hosts(&text).len(), HOSTS_MAX);
    }
}
