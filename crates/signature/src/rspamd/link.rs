//! Links and addresses in a text: rspamd takes them out before it looks for words.
//!
//! What it takes for a link was found by trying: the tests show it.

use crate::character::Properties;

/// A host name is no longer than this, so no longer piece is looked up.
const HOST_BYTES_MAX: usize = 253;

const SCHEMES: [&str; 3] = ["http", "https", "ftp"];

/// Host names that begin so are links wherever they stand.
const PREFIXES: [&str; 2] = ["www.", "ftp."];

/// What a bare host name may come after, and what may come after it, if not a blank.
const BEFORE_BARE: [char; 4] = ['(', '[', '<', '\''];
const AFTER_BARE: [char; 5] = [')', ']', '>', '\'', '.'];

/// The text with a blank for each link. `bare` says whether a host name alone is one: it is not in HTML.
pub(super) fn without_links(text: &str, bare: bool) -> String {
    let mut rest = String::with_capacity(text.len());
    for mut piece in without_numbers(text).split_inclusive(char::is_whitespace) {
        while let Some((before, after)) = split_link(piece) {
            push_names(&mut rest, before, bare);
            rest.push(' ');
            piece = after;
        }
        push_names(&mut rest, piece, bare);
    }
    rest
}

/// The text without telephone numbers that are written as links, blanks and all.
fn without_numbers(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut done = 0;
    for (at, scheme) in text.to_ascii_lowercase().match_indices("tel:") {
        let number = text[at + scheme.len()..].trim_start_matches(' ');
        let is_word = text[..at].ends_with(|c: char| c.is_alphanumeric());
        if at < done || is_word || !number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '('))
        {
            continue;
        }
        rest.push_str(&text[done..at]);
        let after = number.trim_start_matches(|c: char| c.is_ascii_digit() || " ()+-.".contains(c));
        done = text.len() - after.len();
        rest.push(' ');
    }
    rest + &text[done..]
}

/// What comes before and after the first link with a scheme.
fn split_link(piece: &str) -> Option<(&str, &str)> {
    if !piece.contains(':') {
        return None;
    }
    let (before, after) = piece.split_once("://")?;
    let start = before.rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |at| ceil(before, at));
    let end = after.find(['<', '>', '"']).unwrap_or(after.len());
    let is_link =
        SCHEMES.iter().any(|known| before[start..].eq_ignore_ascii_case(known)) && is_site(&after[..end]);
    is_link.then(|| (&before[..start], &after[end..]))
}

/// Where the character at `at` ends.
fn ceil(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(text.len(), |c| at + c.len_utf8())
}

/// Adds a piece without the host names and addresses in it.
fn push_names(rest: &mut String, piece: &str, bare: bool) {
    if !piece.bytes().any(|byte| is_part_end(byte.into()) || matches!(byte, b'@' | b'.')) {
        // A word: there are no parts in it, and neither a host nor an address is without a point.
        rest.push_str(piece);
        rest.extend(piece.ends_with(is_alphanumeric).then_some(' '));
        return;
    }
    let mut last = ' ';
    // A link goes on after an apostrophe.
    let mut is_inside = false;
    for part in piece.split_inclusive(|c: char| c.is_whitespace() || is_part_end(c)) {
        let next = part.chars().next_back().filter(|c| !is_alphanumeric(*c)).unwrap_or(' ');
        let name = part.strip_suffix(next).unwrap_or(part);
        if name.is_empty() && !is_inside {
            rest.push(next);
            last = next;
            continue;
        }
        let stands_alone = last.is_whitespace() || BEFORE_BARE.contains(&last);
        let is_closed = next.is_whitespace() || AFTER_BARE.contains(&next);
        let start = if is_inside || is_named(name) || bare && stands_alone && is_closed && is_bare(name) {
            Some(0)
        } else {
            address_start(name)
        };
        is_inside = start.is_some() && next == '\'';
        rest.push_str(&name[..start.unwrap_or(name.len())]);
        rest.push(if is_inside { ' ' } else { next });
        last = next;
    }
}

/// Signs that end a part, as white space does.
fn is_part_end(c: char) -> bool {
    matches!(c, '<' | '>' | '"' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '|' | '\'')
}

fn is_alphanumeric(c: char) -> bool {
    Properties::of(c).is_alphanumeric()
}

/// Where a mail address begins.
fn address_start(name: &str) -> Option<usize> {
    let (user, host) = name.rsplit_once('@')?;
    let is_of_user = |c: char| is_alphanumeric(c) || "._%+-=&!~".contains(c);
    let start = user.rfind(|c: char| !is_of_user(c)).map_or(0, |at| ceil(user, at));
    if start == user.len() || !is_site(host) {
        return None;
    }
    Some(start - if user[..start].to_ascii_lowercase().ends_with("mailto:") { "mailto:".len() } else { 0 })
}

fn is_named(name: &str) -> bool {
    let begins =
        |prefix: &&str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    PREFIXES.iter().any(begins) && is_site(name)
}

/// Whether a piece is a host name, with a port or a path at most.
fn is_bare(name: &str) -> bool {
    let end = name.find(|c: char| !is_of_host(c)).unwrap_or(name.len());
    let (host, tail) = name.split_at(end);
    let is_port = tail.strip_prefix(':').is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()));
    let is_number = host.ends_with(|c: char| c.is_ascii_digit());
    !is_number
        && host.starts_with(char::is_alphanumeric)
        && !host.ends_with("..")
        && !host.ends_with('-')
        && (tail.is_empty() || tail.starts_with('/') || is_port)
        && is_site(host)
}

fn is_of_host(c: char) -> bool {
    is_alphanumeric(c) || matches!(c, '.' | '-' | '_')
}

/// Whether a link's site, which a port and a path may follow, could be looked up.
fn is_site(link: &str) -> bool {
    let site = link.find(['/', '?', '#']).map_or(link, |end| &link[..end]);
    let host = site.rsplit('@').next().unwrap_or_default();
    let host = &host[..host.find(|c| !is_of_host(c)).unwrap_or(host.len())];
    let host = host.trim_end_matches('.');
    // Most names that are asked about are words.
    if !host.contains('.') || host.len() > HOST_BYTES_MAX || host.split('.').any(str::is_empty) {
        return false;
    }
    let is_known =
        |host: &str| seenit_suffix::domain(host.as_bytes()).is_some_and(|domain| domain.suffix().is_known());
    is_known(&host.to_ascii_lowercase()) || host.parse::<std::net::Ipv4Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, bare: bool) -> String {
        let rest = without_links(text, bare);
        rest.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// All seen with rspamd 3.4.
    #[test]
    fn links_with_a_scheme_an_at_or_a_prefix_go() {
        for link in [
            "www.bar.com,",
            "ftp.bar.com",
            "www.bar.com's",
            "me@bar.com,",
            "(me@bar.com)",
            "<me@bar.com>,",
            "me@bar.com:",
            "me@bar.com's",
            "x@y.co.uk.",
            "mailto:me@bar.com",
            "[mailto:me@bar.com]",
            "mailto:me@bar.com?subject=foo",
            "http://bar.com,",
            "http://bar.com's",
            "http://bar.com/a,b",
            "(HTTP://bar.com/a).",
            "https://bar.com:8080/a",
            "http://bar.com/x|y",
            "http://bar.com/{x}",
            "http://bar.com/x'y",
            "http://1.2.3.4/x",
            "\"http://bar.com/a\"",
        ] {
            for bare in [false, true] {
                assert_eq!(words(&format!("a {link} z"), bare), "a z", "{link}");
            }
        }
        assert_eq!(words("a tel: 01 (883)-2 z hotel: 5 tel: x", false), "a z hotel 5 tel x");
        assert_eq!(words("x.http://bar.com z http://bar.com>y é/http://a.com", true), "x z y é");
    }

    #[test]
    fn what_cannot_be_looked_up_stays() {
        for text in [
            "http://local",
            "http://local/x",
            "www.local",
            "www.foo.zzz",
            "user@host",
            "1.2.3.4",
            "mailto:x",
            "node.js",
        ] {
            let with_blanks = text.replace(|c: char| !c.is_alphanumeric(), " ");
            assert_eq!(words(text, true), words(&with_blanks, true), "{text}");
        }
    }

    #[test]
    fn a_bare_host_goes_if_it_stands_alone_in_plain_text() {
        for link in [
            "bar.com",
            "(bar.com)",
            "[bar.com]",
            "<bar.com>",
            "'bar.com'",
            "bar.com.",
            "bar.com/x",
            "bar.com:80/x",
            "done.So",
        ] {
            assert_eq!(words(&format!("a {link} z"), true), "a z", "{link}");
            assert_ne!(words(&format!("a {link} z"), false), "a z", "{link}");
        }
        for text in [
            "bar.com,",
            "bar.com;",
            "bar.com:",
            "bar.com!",
            "bar.com?",
            "\"bar.com\"",
            "/bar.com",
            "x,bar.com",
            "-bar.com",
            "bar.com...",
        ] {
            assert!(words(&format!("a {text} z"), true).ends_with("bar com z"), "{text}");
        }
    }
}
