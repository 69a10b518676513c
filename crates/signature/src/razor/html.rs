//! HTML as the client sees and strips it: by a small machine that knows tags, comments, quotes and some entities.

use std::sync::LazyLock;

use memchr::{memchr, memchr3};

use super::text::{is_space, leading};

/// The longest tag name that the client looks at.
const TAG_NAME_BYTES_MAX: usize = 99;

/// A text with one of these tags is HTML.
const TAGS: &str = "html body a font table head base meta td tr style img object br b i span div form input button \
    frame iframe tbody col th hr xml script pre param applet center area map em embed xmp sub sup";

/// A name, and the byte that is written for it.
type Entity = (&'static [u8], u8);

/// Entities whose bytes are not in the order of Latin-1.
const SPECIAL_ENTITIES: [Entity; 5] =
    [(b"lt", b'<'), (b"gt", b'>'), (b"amp", b'&'), (b"quot", b'"'), (b"nbsp", b' ')];

/// The entities of the bytes from 161 to 255.
const LATIN_ENTITIES: &str = "iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn \
    sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde \
    Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde \
    Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil \
    egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave \
    uacute ucirc uuml yacute thorn yuml";

/// The text without its tags, or nothing if it is not HTML. What follows a zero byte is not there for the client.
pub(super) fn stripped(text: &[u8]) -> Option<Vec<u8>> {
    let until_zero = &text[..memchr(0, text).unwrap_or(text.len())];
    if !is_html(until_zero) {
        return None;
    }
    // The client drops the last byte of what it strips.
    let end = until_zero.len().min(text.len() - 1);
    Some(strip(&until_zero[..end]))
}

/// Whether there is a known tag: `<`, perhaps `!` or `/`, perhaps white space, letters, and a `>` further on.
fn is_html(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = memchr(b'<', &text[at..]) {
        at += found + 1;
        let mut name_at = at + usize::from(matches!(text.get(at), Some(b'!' | b'/')));
        name_at += leading(&text[name_at..], is_space);
        let letters = leading(&text[name_at..], |byte| byte.is_ascii_alphabetic());
        if letters == 0 {
            continue;
        }
        let name = &text[name_at..name_at + letters.min(TAG_NAME_BYTES_MAX)];
        // Without a `>` here, there is none for any later tag either.
        let Some(end) = memchr(b'>', &text[name_at..]) else { return false };
        if TAGS.split(' ').any(|tag| tag.as_bytes().eq_ignore_ascii_case(name)) {
            return true;
        }
        at = name_at + end + 1;
    }
    false
}

/// What the client leaves of HTML.
fn strip(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let Some(found) = memchr3(b'<', b'>', b'&', rest) else {
            out.extend_from_slice(rest);
            return out;
        };
        out.extend_from_slice(&rest[..found]);
        at += found;
        at = match text[at] {
            b'<' => skip_tag(text, at, &mut out),
            b'&' => entity(text, at, &mut out),
            _ => at + 1,
        };
    }
}

/// Skips the tag that starts at `at`; returns where it ends. An entity inside a tag is written all the same.
fn skip_tag(text: &[u8], mut at: usize, out: &mut Vec<u8>) -> usize {
    let mut is_sgml = false;
    let mut last = 0;
    while let Some(&byte) = text.get(at) {
        at = match byte {
            b'<' => {
                // The byte behind it is not looked at any further.
                is_sgml |= text.get(at + 1) == Some(&b'!');
                at + 2
            }
            b'>' => return at + 1,
            b'-' if is_sgml && last == b'-' => skip_comment(text, at + 1),
            b'"' | b'\'' => memchr(byte, &text[at + 1..]).map_or(text.len(), |end| at + 1 + end + 1),
            b'&' => entity(text, at, out),
            _ => at + 1,
        };
        last = byte;
    }
    text.len()
}

/// Skips to behind the two dashes that end a comment. The dash before `at` counts.
fn skip_comment(text: &[u8], at: usize) -> usize {
    let ending = text[at - 1..].windows(2).position(|pair| pair == b"--");
    ending.map_or(text.len(), |ending| at - 1 + ending + 2)
}

/// Writes the byte of the entity at `at`, or `&` if there is none; returns where it ends.
fn entity(text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let rest = &text[at + 1..];
    let alike = rest.first().and_then(|&first| ENTITIES.get(usize::from(first)));
    match alike.into_iter().flatten().find(|(name, _)| rest.starts_with(name)) {
        Some((name, byte)) => {
            out.push(*byte);
            let end = at + 1 + name.len();
            end + usize::from(text.get(end) == Some(&b';'))
        }
        None => {
            out.push(b'&');
            at + 1
        }
    }
}

/// All entities by their first letter, because a text may consist of nothing else. No name starts with another.
static ENTITIES: LazyLock<[Vec<Entity>; 128]> = LazyLock::new(|| {
    let latin = LATIN_ENTITIES.split(' ').map(str::as_bytes).zip(161..=255);
    let mut by_letter = [const { Vec::new() }; 128];
    for (name, byte) in SPECIAL_ENTITIES.into_iter().chain(latin) {
        by_letter[usize::from(name[0])].push((name, byte));
    }
    by_letter
});

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped_text(html: &str) -> String {
        stripped(html.as_bytes()).expect("HTML").escape_ascii().to_string()
    }

    #[test]
    fn what_is_html() {
        for html in [
            "<b>",
            "x < B x>",
            "</ \n br/>",
            "<!html>",
            "<foo><b>",
            "<foo <b><i>",
            "<1<b>",
            "<a@example.com>",
        ] {
            assert!(is_html(html.as_bytes()), "{html}");
        }
        for other in ["", "<b", "b>", "<foo>", "<foo <b>", "<!/b>", "<bb>", "<1>", "<"] {
            assert!(!is_html(other.as_bytes()), "{other}");
        }
        assert_eq!(stripped(b"\0<b>"), None);
    }

    #[test]
    fn the_last_byte_is_dropped_and_what_follows_a_zero_byte() {
        assert_eq!(stripped_text("a<b>bc"), "ab");
        assert_eq!(stripped_text("a<b>b\0c"), "ab");
        assert_eq!(stripped_text("a<b>b\0"), "ab");
    }

    #[test]
    fn tags_quotes_and_comments() {
        assert_eq!(stripped_text("a<b x=\">'\" y='>'>c>d."), "acd");
        assert_eq!(stripped_text("a<b>'c' \"d\" - -- e."), "a\\'c\\' \\\"d\\\" - -- e");
        assert_eq!(stripped_text("a<!-- <b> - > -->c."), "ac");
        assert_eq!(stripped_text("a<!-- x -- y -->c<b>."), "a");
        assert_eq!(stripped_text("a<!--->c<b>."), "ac");
        assert_eq!(stripped_text("a<><b>c."), "ac");
        assert_eq!(stripped_text("a<'>c<b>'."), "ac\\'");
        assert_eq!(stripped_text("a<b <!-- -- > c."), "a c");
    }

    #[test]
    fn entities_are_written_even_in_tags() {
        assert_eq!(
            stripped_text("<b>&lt;&gt &ampx&nbsp;&#65;&foo;&yuml;&eth&AElig;."),
            "<> &x &#65;&foo;\\xff\\xf0\\xc6"
        );
        assert_eq!(stripped_text("<b &quot;>&."), "\\\"&");
    }

    #[test]
    fn there_is_an_entity_for_every_byte_of_latin_1() {
        assert_eq!(LATIN_ENTITIES.split(' ').count(), 95);
    }
}
