//! The host of a link, as the client reads it, and the forms in which the client may know it.
//!
//! How the client shortens was measured from outside, with a link to a name under each of the 10,396 rules of
//! our list: for 7,593 the client's form is the whole name or the one that is registrable. For 2,803 the client
//! does not know the suffix (`adm.br`, `tokyo.jp`) and takes it for a name that someone registered. A signature
//! of a whole suffix would hit the mail of strangers, so we do not make one; links to such names are rare (none
//! in 7,872 mails of the corpus).

use memchr::{memchr, memrchr};
use seenit_suffix::{List, Psl, Type};

use super::text::{is_space, leading, starts_with_any_case};

/// Hosts that end in this are shortened to it.
const EDU_AU: &[u8] = b"edu.au";

/// Suffixes that the client knows, though the list has moved them out of its ICANN section.
const FORMER_SUFFIXES: [&[u8]; 4] = [b"com.ru", b"net.ru", b"org.ru", b"pp.ru"];

/// The host at the start of a text, behind `a href =` and `http://` if they are there.
pub(super) fn of_text(text: &[u8]) -> Vec<u8> {
    let behind_anchor = anchor_value(text);
    let link = behind_anchor.unwrap_or(text);
    let rest = if starts_with_any_case(link, b"http://") { &link[b"http://".len()..] } else { link };
    of_link(rest, behind_anchor.is_some())
}

/// The host at the start of what follows the scheme of a link.
pub(super) fn of_link(rest: &[u8], is_anchor: bool) -> Vec<u8> {
    let is_end = |byte: u8| match byte {
        b'>' | b'"' | b'/' | b'?' | b'<' => true,
        b'\r' | b'\n' => !is_anchor,
        _ => false,
    };
    let mut host = &rest[..leading(rest, |byte| !is_end(byte))];
    if let Some(at) = memchr(b'@', host) {
        host = &host[at + 1..];
    }
    let host = without_assignment(host);
    let host = &host[..leading(&host, |byte| !is_space(byte))];
    let mut host: Vec<u8> = host.to_ascii_lowercase();
    host.retain(|&byte| byte != b'=');
    host.truncate(leading(&host, |byte| byte != b':'));
    if host.ends_with(b".") {
        host.pop();
    }
    host
}

/// The forms of a host: whole, and as the client may shorten it. None for names that the client passes over.
pub(super) fn forms(host: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_number = host.iter().all(|&byte| byte.is_ascii_digit() || byte == b'.');
    let short = if is_number { None } else { shortened(host) };
    [Some(host), short].into_iter().flatten().filter(|form| form.len() >= 2 && form.contains(&b'.'))
}

/// What follows `a href =`.
fn anchor_value(text: &[u8]) -> Option<&[u8]> {
    const ANCHOR: &[u8] = b"a href";
    let rest = text.get(ANCHOR.len()..).filter(|_| starts_with_any_case(text, ANCHOR))?;
    let rest = rest[leading(rest, is_space)..].strip_prefix(b"=")?;
    Some(&rest[leading(rest, is_space)..])
}

/// The text without the first run of other characters than white space that ends in `=`.
fn without_assignment(text: &[u8]) -> Vec<u8> {
    let mut start = 0;
    for run in text.split(|&byte| is_space(byte)) {
        if let Some(end) = run.iter().rposition(|&byte| byte == b'=').filter(|&end| end > 0) {
            return [&text[..start], &text[start + end + 1..]].concat();
        }
        start += run.len() + 1;
    }
    text.to_vec()
}

/// What is registrable of a host by the ICANN section of the Public Suffix List, or by what was in it.
fn shortened(host: &[u8]) -> Option<&[u8]> {
    if host.ends_with(EDU_AU) {
        return Some(EDU_AU);
    }
    let mut name = host;
    loop {
        let info = List.find(name.rsplit(|&byte| byte == b'.'));
        let suffix = &name[name.len().checked_sub(info.len)?..];
        let is_public = info.typ == Some(Type::Icann) || FORMER_SUFFIXES.contains(&suffix);
        if let Some(form) = with_label(host, suffix.len()).filter(|_| is_public) {
            return Some(form);
        }
        // Private suffixes, and those with no name before them, are passed over for the shorter ones inside them.
        name = &suffix[memchr(b'.', suffix)? + 1..];
    }
}

/// The last label before a suffix of so many bytes, with the suffix. None if there is none or it is empty.
fn with_label(host: &[u8], suffix_len: usize) -> Option<&[u8]> {
    let before = host.len().checked_sub(suffix_len + 1)?;
    let label_at = memrchr(b'.', &host[..before]).map_or(0, |dot| dot + 1);
    (label_at < before).then(|| &host[label_at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_links() {
        let cases: [(&[u8], &[u8]); 11] = [
            (b"Example.COM/x", b"example.com"),
            (b"user@a.com:80?x", b"a.com"),
            (b"u@b@a.com", b"b@a.com"),
            (b"x=y=a.com z", b"a.com"),
            (b"=a.com", b"a.com"),
            (b"a.com x=b.com", b"a.com"),
            (b"a.com.", b"a.com"),
            (b"a.com..", b"a.com."),
            (b"a.com\nb", b"a.com"),
            (b"http://a.com/", b"a.com"),
            (b"A HREF\t= http://a.com/", b"a.com"),
        ];
        for (text, host) in cases {
            assert_eq!(of_text(text), host, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn shortening() {
        let cases: [(&[u8], Option<&[u8]>); 10] = [
            (b"a.b.example.co.uk", Some(b"example.co.uk")),
            (b"example.com", Some(b"example.com")),
            (b"me.github.io", Some(b"github.io")),
            (b"www.shop.pp.ru", Some(b"shop.pp.ru")),
            (b"a.b.edu.au", Some(b"edu.au")),
            (b"reedu.au", Some(b"edu.au")),
            (b"co.uk", Some(b"co.uk")),
            (b"..co.uk", Some(b"co.uk")),
            (b"com", None),
            (b"a.b.invalid", None),
        ];
        for (host, expected) in cases {
            assert_eq!(shortened(host), expected, "{}", host.escape_ascii());
        }
    }
}
