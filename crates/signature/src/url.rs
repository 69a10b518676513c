//! `url1`: where a message wants its reader to go.
//!
//! A link becomes its registrable host (public suffix list, private suffixes included, as of the pinned crate) and the
//! skeleton of its path: segments in lower case, those that look like identifiers as `*`; query and fragment are left
//! out. Hosts that many senders share keep path and query as they are, since the path is the sender there; without a
//! path they say nothing and are withheld. So are public suffixes and the pages of mailing lists.

use crate::visible::LINKS_MAX;

/// Hosts, and the hosts below them, on which strangers put pages of their own.
const SHARED_HOSTS: [&str; 48] = [
    "1drv.ms",
    "adobe.com",
    "amazonaws.com",
    "app.link",
    "bit.ly",
    "box.com",
    "canva.com",
    "cutt.ly",
    "docusign.net",
    "dropbox.com",
    "facebook.com",
    "firebaseapp.com",
    "forms.gle",
    "geocities.com",
    "github.com",
    "githubusercontent.com",
    "goo.gl",
    "google.com",
    "googleapis.com",
    "googleusercontent.com",
    "instagram.com",
    "is.gd",
    "jotform.com",
    "linkedin.com",
    "linktr.ee",
    "live.com",
    "mailchi.mp",
    "microsoft.com",
    "notion.site",
    "office.com",
    "ow.ly",
    "pastebin.com",
    "rb.gy",
    "rebrand.ly",
    "sendgrid.net",
    "sharepoint.com",
    "shorturl.at",
    "surveymonkey.com",
    "t.co",
    "t.me",
    "tinyurl.com",
    "twitter.com",
    "typeform.com",
    "weebly.com",
    "wetransfer.com",
    "wixsite.com",
    "yahoo.com",
    "youtube.com",
];

/// A segment with this many characters or more that mixes letters and digits is an identifier.
const IDENTIFIER_CHARS_MIN: usize = 8;

/// The segment by which Mailman's pages of a list are known; every message of the list has one in its footer.
const LIST_PAGE: &str = "listinfo";

/// The longest host name there is.
const HOST_BYTES_MAX: usize = 253;

/// Segments of a path that are looked at.
const SEGMENTS_MAX: usize = 16;

/// What a link comes down to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// Host and path.
    pub text: String,
    /// Too many share it, or it leads nowhere in particular.
    pub withheld: bool,
}

/// The distinct targets of the links of a message, in order: those of HTML, then those in its text.
pub(crate) fn targets(links: &[String], text: &str) -> Vec<Target> {
    let in_text = runs_with_links(text).filter_map(link_in);
    let mut targets: Vec<Target> = Vec::new();
    for link in links.iter().map(String::as_str).chain(in_text).take(LINKS_MAX) {
        if let Some(target) = target(link).filter(|target| !targets.contains(target)) {
            targets.push(target);
        }
    }
    targets
}

/// The runs between white space that may hold a link: those with `://` or `www.` in them. Few do, so only the colons
/// and dots of a text are looked at.
fn runs_with_links(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut done = 0;
    memchr::memchr2_iter(b':', b'.', bytes).filter_map(move |place| {
        let before = &bytes[..place];
        let behind = &bytes[place..];
        let is_www = before.last_chunk::<3>().is_some_and(|last| last.eq_ignore_ascii_case(b"www"));
        if place < done || !(behind.starts_with(b"://") || is_www && behind[0] == b'.') {
            return None;
        }
        let start = text[done..place].rfind(char::is_whitespace).map_or(done, |space| done + space);
        done = text[place..].find(char::is_whitespace).map_or(text.len(), |space| place + space);
        Some(text[start..done].trim_start())
    })
}

/// The link in a run of characters without white space.
fn link_in(run: &str) -> Option<&str> {
    let lower = run.to_ascii_lowercase();
    let start = ["http://", "https://", "www."].iter().filter_map(|start| lower.find(start)).min()?;
    let rest = &run[start..];
    let end = rest.find(['<', '>', '"', '\'', '`', '\\', '^', '{', '}', '|']).unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '*']))
}

/// What one link comes down to; `None` where it does not lead to a host.
pub fn target(link: &str) -> Option<Target> {
    let rest = match link.split_once("://") {
        Some((scheme, rest)) if ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) => rest,
        Some(_) => return None,
        None if link.starts_with("//") => &link[2..],
        None if link.get(..4)?.eq_ignore_ascii_case("www.") => link,
        None => return None,
    };
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = host(authority)?;
    let path = path.split('#').next().unwrap_or_default();
    if is_shared(&host) {
        let path = path.trim_end_matches(['/', '?']);
        return Some(Target { text: format!("{host}{path}"), withheld: path.is_empty() });
    }
    let is_number = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') || host.contains(':');
    let registrable = if is_number { Some(host.as_str()) } else { seenit_suffix::domain_str(&host) };
    let path = skeleton(path);
    // Nobody owns a public suffix, and the page of a mailing list belongs to all who write to the list.
    let withheld = registrable.is_none() || path.split('/').any(|segment| segment == LIST_PAGE);
    Some(Target { text: registrable.unwrap_or(&host).to_owned() + &path, withheld })
}

/// Whether strangers put pages of their own on this host, or on one above it.
pub(crate) fn is_shared(host: &str) -> bool {
    let is_below = |shared: &str| {
        host.strip_suffix(shared).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    SHARED_HOSTS.iter().any(|shared| is_below(shared))
}

/// The host of an authority, in lower case: no user, no port, no dot at the end.
fn host(authority: &str) -> Option<String> {
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = host.trim_end_matches('.').to_lowercase();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    (host.contains(['.', ':']) && host.len() <= HOST_BYTES_MAX && host.chars().all(plain)).then_some(host)
}

/// The skeleton of a path: `/Shop/item-1838271/A8x92kLq?id=1` becomes `/shop/*/*`.
fn skeleton(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let mut skeleton = String::new();
    for segment in path.split(['/', '\\']).filter(|segment| !segment.is_empty()).take(SEGMENTS_MAX) {
        skeleton.push('/');
        if is_identifier(segment) {
            skeleton.push('*');
        } else {
            skeleton.push_str(&segment.to_lowercase());
        }
    }
    skeleton
}

/// Numbers of three digits or more, long mixtures of letters and digits, and anything escaped.
fn is_identifier(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    digits >= 3
        || segment.contains(['%', '=', '@'])
        || (digits > 0 && segment.len() >= IDENTIFIER_CHARS_MIN)
        || segment.len() > 4 * IDENTIFIER_CHARS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(link: &str) -> Option<String> {
        target(link).map(|target| target.text)
    }

    #[test]
    fn links_of_one_campaign_come_down_to_one_target() {
        for link in [
            "http://a8x.spam.example.co.uk/Buy/now?id=1",
            "HTTPS://joe@www.example.co.uk:8080/buy/now/#x",
            "http://EXAMPLE.co.uk./buy//now",
        ] {
            assert_eq!(text(link).as_deref(), Some("example.co.uk/buy/now"), "{link}");
        }
        assert_eq!(text("http://example.com/u/83921773/Ax83Kd92").as_deref(), Some("example.com/u/*/*"));
    }

    #[test]
    fn hosts_that_strangers_share_keep_their_path_or_say_nothing() {
        assert_eq!(
            text("https://docs.google.com/forms/d/A1b2/View?x=1").as_deref(),
            Some("docs.google.com/forms/d/A1b2/View?x=1")
        );
        let withheld = |link| target(link).map(|target| target.withheld);
        for link in [
            "http://bit.ly/",
            "https://www.google.com/?",
            "http://co.uk/x",
            "http://a.example/mailman/listinfo/b",
        ] {
            assert_eq!(withheld(link), Some(true), "{link}");
        }
        assert_eq!(withheld("//a.example/x"), Some(false), "the scheme of the page");
        assert_eq!(text("http://notgoogle.com/Forms").as_deref(), Some("notgoogle.com/forms"));
        assert_eq!(text("http://joe.github.io/x").as_deref(), Some("joe.github.io/x"), "a private suffix");
    }

    #[test]
    fn what_is_no_link_to_a_host_is_none() {
        for link in [
            "",
            "mailto:a@b.example",
            "http://",
            "http://localhost/",
            "ftp://a.example/",
            "javascript://a.b/",
            "http://a b.example/",
            "#top",
            "http://exa<mple.com/",
        ] {
            assert_eq!(target(link), None, "{link}");
        }
        assert_eq!(text("http://192.0.2.7/x").as_deref(), Some("192.0.2.7/x"));
    }

    /// The quick way through a text finds what looking at every run finds.
    #[test]
    fn no_run_with_a_link_is_passed_over() {
        let pieces =
            ["http://a.b", "www.c.d", "WwW.e", "://", "www", ".", ":", "x", " ", "\u{2003}", "\n", "\u{e9}"];
        let mut seed = 1u64;
        for _ in 0..2000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text += pieces[(seed >> 33) as usize % pieces.len()];
            }
            let slow: Vec<&str> = text.split_whitespace().filter_map(link_in).collect();
            let quick: Vec<&str> = runs_with_links(&text).filter_map(link_in).collect();
            assert_eq!(quick, slow, "{text:?}");
        }
    }

    #[test]
    fn links_in_text_end_where_a_reader_ends_them() {
        let targets = targets(
            &[],
            "https://d.example/r?u=http://e.example/ See (http://a.example/x), <http://b.example/y>. \
             www.c.example/z! http://a.example/x",
        );
        let texts: Vec<_> = targets.iter().map(|target| target.text.as_str()).collect();
        assert_eq!(texts, ["d.example/r", "a.example/x", "b.example/y", "c.example/z"]);
    }
}
