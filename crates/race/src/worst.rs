//! The slowest messages known: each makes one step of signing do the most work that its bytes can buy.
//!
//! A message is a head and a unit that is repeated until the size is reached. They were found by reading each module of
//! the signature crate for loops inside loops, for expansion and for work done once for each tiny piece, and by trying.

/// A message of any size.
pub(crate) struct Worst {
    /// What is in it.
    pub(crate) name: &'static str,
    head: &'static str,
    unit: Unit,
}

/// What fills a message.
enum Unit {
    /// The same bytes again and again.
    Same(&'static [u8]),
    /// Other bytes each time, by their ordinal.
    Numbered(fn(usize) -> String),
}

impl Worst {
    /// The message, cut at this many bytes.
    pub(crate) fn make(&self, bytes: usize) -> Vec<u8> {
        let mut mail = self.head.as_bytes().to_vec();
        for ordinal in 0.. {
            if mail.len() >= bytes {
                break;
            }
            match self.unit {
                Unit::Same(unit) => mail.extend_from_slice(unit),
                Unit::Numbered(unit) => mail.extend_from_slice(unit(ordinal).as_bytes()),
            }
        }
        mail.truncate(bytes);
        mail
    }
}

const TEXT: &str = "Content-Type: text/plain; charset=utf-8\n\n";
const HTML: &str = "Content-Type: text/html; charset=utf-8\n\n";
const MIXED: &str = "Content-Type: multipart/mixed; boundary=b\n\n";

const fn same(name: &'static str, head: &'static str, unit: &'static str) -> Worst {
    Worst { name, head, unit: Unit::Same(unit.as_bytes()) }
}

const fn bytes(name: &'static str, head: &'static str, unit: &'static [u8]) -> Worst {
    Worst { name, head, unit: Unit::Same(unit) }
}

const fn numbered(name: &'static str, head: &'static str, unit: fn(usize) -> String) -> Worst {
    Worst { name, head, unit: Unit::Numbered(unit) }
}

/// A number in letters: words, hosts and names that all differ.
fn letters(mut number: usize) -> String {
    let mut letters = String::new();
    loop {
        letters.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return letters;
        }
    }
}

/// The messages, by what they attack.
pub(crate) const MESSAGES: &[Worst] = &[
    same("real-words", TEXT, "The quick brown fox jumps over the lazy dog and runs away\n"),
    numbered("words-distinct", TEXT, |n| format!("{}ing ", letters(n))),
    same("fdfa", TEXT, "\u{fdfa}"),
    same("fdfa-spaced", TEXT, "\u{fdfa} "),
    same("fdfb", TEXT, "\u{fdfb}"),
    same("expand-kana", TEXT, "\u{3316}"),
    same("expand-2057", TEXT, "\u{2057}"),
    same("expand-no-space", TEXT, "\u{fdf2}"),
    same("math-letters", TEXT, "\u{1d400}"),
    same("hangul", TEXT, "\u{d7a3}"),
    same("hangul-spaced", TEXT, "\u{d7a3} "),
    same("han", TEXT, "\u{4e00}\u{9fa5}"),
    same("thai", TEXT, "\u{e01}\u{e33}\u{e48}"),
    same("greek", TEXT, "\u{3b1}\u{3b3}\u{3bf}\u{3c1}\u{3ac} "),
    same("cyrillic-endless", TEXT, "\u{430}\u{432}\u{448}"),
    same("marks-ordered", TEXT, "\u{301}"),
    same("marks-mixed", TEXT, "\u{301}\u{327}\u{5b0}"),
    same("marks-on-letters", TEXT, "a\u{301}\u{327}"),
    same("marks-and-letter", "Content-Type: text/plain; charset=utf-8\n\na", "\u{345}\u{301}"),
    same("upper-expand", TEXT, "\u{130}\u{1fb7}"),
    same("endless-word", TEXT, "a"),
    same("endless-ing", TEXT, "eedlying"),
    same("endless-y", TEXT, "y"),
    same("endless-vowels", "Content-Type: text/plain\n\nla le les des une vous que ", "issaienteuses"),
    same("endless-german", "Content-Type: text/plain\n\nder die das und ist sie ", "uauyerniglich"),
    same("endless-dutch", "Content-Type: text/plain\n\nhet een van je uw niet ", "iyheden"),
    same("endless-greek", TEXT, "\u{3b9}\u{3c3}\u{3c4}\u{3bf}\u{3c5}\u{3c2}"),
    same("endless-apostrophe", TEXT, "a'"),
    same("endless-dots", TEXT, "a.b"),
    same("endless-digits", TEXT, "1.2"),
    same("endless-at", TEXT, "a@"),
    same("endless-underscores", TEXT, "_"),
    same("joiners", TEXT, "\u{200d}"),
    same("emoji-joined", TEXT, "\u{1f468}\u{200d}"),
    same("flags", TEXT, "\u{1f1e6}"),
    same("short-words", TEXT, "a "),
    same("short-lines", TEXT, "a\n"),
    same("line-feeds", TEXT, "\n"),
    same("carriage-returns", TEXT, "\r"),
    same("crlf", TEXT, "\r\n"),
    same("spaces", TEXT, " "),
    same("greetings", TEXT, "hi\n"),
    same("numbers", TEXT, "2 "),
    same("signs", TEXT, "a!!!!!!!!!!!!!!!! "),
    same("links-in-text", TEXT, "http://a.co "),
    numbered("links-distinct", TEXT, |n| format!("http://{}.co/ ", letters(n))),
    same("links-joined", TEXT, "http://a.co<"),
    same("links-false", TEXT, "x://y "),
    same("link-endless", "Content-Type: text/plain\n\nhttp://", "a."),
    same("hosts-bare", TEXT, "a.co "),
    same("hosts-quoted", TEXT, "'a.co'"),
    same("addresses", TEXT, "a@b.co "),
    same("addresses-joined", TEXT, "a@b.co,"),
    same("tel", TEXT, "tel:1 "),
    same("tel-false", TEXT, "tel:"),
    same("www", TEXT, " www.a"),
    numbered("www-distinct", "\nhttp://a.co\n", |n| format!(" www.{}.co", letters(n))),
    same("tags-b", HTML, "<b>"),
    same("tags-p", HTML, "<p>"),
    same("tags-a", HTML, "<a>"),
    same("tags-div", HTML, "<div>"),
    same("tags-option", HTML, "<option><x>"),
    same("tags-end", HTML, "</x>"),
    numbered("tags-deep-end", HTML, |n| if n < 256 { format!("<x{n}>") } else { "</y>".to_owned() }),
    numbered("tags-deep-div", HTML, |n| if n < 256 { "<x>".to_owned() } else { "<div></div>".to_owned() }),
    numbered("tags-deep-li", HTML, |n| {
        if n == 0 {
            "<p><li><table>".to_owned()
        } else if n < 250 {
            "<b>".to_owned()
        } else {
            "<dd></dd>".to_owned()
        }
    }),
    numbered("tags-distinct", HTML, |n| format!("<{}>", letters(n))),
    same("tags-hidden", HTML, "<b hidden>"),
    numbered("tags-hidden-deep", HTML, |n| if n < 255 { "<b hidden>".to_owned() } else { "<i>".to_owned() }),
    same("tags-td", HTML, "<td>a"),
    same("tags-br", HTML, "<br>"),
    same("tags-unclosed", HTML, "<b "),
    same("tags-open", HTML, "<"),
    same("tags-slash", HTML, "</"),
    same("tags-empty", HTML, "<>"),
    same("html-words", HTML, "<p>word "),
    same("style-attributes", HTML, "<b style=a:b;c:d>"),
    same("style-endless", "Content-Type: text/html\n\n<b style='", "a:b;"),
    same("style-colons", "Content-Type: text/html\n\n<b style='", ";"),
    same("attributes-same", "Content-Type: text/html\n\n<b ", "a=b "),
    numbered("attributes-distinct", "Content-Type: text/html\n\n<b ", |n| format!("{}=b ", letters(n))),
    same("attributes-quotes", "Content-Type: text/html\n\n<b ", "a= '"),
    same("attributes-quotes-2", "Content-Type: text/html\n\n<b ", "a='\"a=\"'"),
    same("html-links", HTML, "<a href=http://a.co>"),
    numbered("html-links-distinct", HTML, |n| format!("<a href=//{}.co>", letters(n))),
    same("comments", HTML, "<!---->"),
    same("comment-endless", "Content-Type: text/html\n\n<!--", "-- "),
    same("sections", HTML, "<![if]>"),
    same("section-endless", "Content-Type: text/html\n\n<![cdata", "] "),
    same("scripts", HTML, "<script></script>"),
    same("script-endless", "Content-Type: text/html\n\n<script>", "</ "),
    same("script-ends", "Content-Type: text/html\n\n<script>", "</script "),
    same("style-ends", "Content-Type: text/html\n\n<style>", "</style x"),
    same("entities", HTML, "&amp;"),
    same("entities-short", HTML, "&lt"),
    same("entities-unknown", HTML, "&ab"),
    same("entities-long", HTML, "&CounterClockwiseContourIntegral;"),
    same("entities-numbers", HTML, "&#1;"),
    same("entities-ampersands", HTML, "&"),
    same("entities-expand", HTML, "&#xfdfa;"),
    same("alt", HTML, "<img alt=a>"),
    same("base64", "Content-Transfer-Encoding: base64\n\n", "YWJj"),
    same("base64-lines", "Content-Transfer-Encoding: base64\n\n", "Y\n"),
    same("base64-feeds", "Content-Transfer-Encoding: base64\n\n", "\n"),
    same("base64-pads", "Content-Transfer-Encoding: base64\n\n", "YQ="),
    same("quoted", "Content-Transfer-Encoding: quoted-printable\n\n", "=41"),
    same("quoted-soft", "Content-Transfer-Encoding: quoted-printable\n\n", "=\n"),
    same("quoted-signs", "Content-Transfer-Encoding: quoted-printable\n\n", "= "),
    same("quoted-feeds", "Content-Transfer-Encoding: quoted-printable\n\n", "\n"),
    same("uuencode", "Content-Transfer-Encoding: uuencode\n\nbegin 644 a\n", "#86)C\n"),
    same("uuencode-begins", "Content-Transfer-Encoding: uuencode\n\n", "begin 9\n"),
    same("uuencode-rubbish", "Content-Transfer-Encoding: uuencode\n\nbegin 644 a\n", "!~\n"),
    same("parts", MIXED, "--b\n\n"),
    same("parts-words", MIXED, "--b\n\nwords that are eight or nine of them in all, forty letters\n"),
    same("parts-html", MIXED, "--b\nContent-Type: text/html\n\n<p>a\n"),
    same("parts-hosts", MIXED, "\n--b\n\nhttp://a.co www.b.co\n"),
    numbered("parts-hosts-distinct", MIXED, |n| format!("\n--b\n\nhttp://{}.co\n", letters(n))),
    same("parts-attached", MIXED, "--b\nContent-Type: a/b\n\nx\n"),
    same("parts-closed", MIXED, "--b--\n"),
    same("parts-dashes", MIXED, "--c\n"),
    numbered("parts-nested", "", |n| format!("Content-Type: multipart/x; boundary=q{n}-\n\n--q{n}-\n")),
    numbered("parts-nested-dashes", "", |n| {
        if n < 50 {
            format!("Content-Type: multipart/x; boundary=q{n}-\n\n--q{n}-\n")
        } else {
            "\n--q".to_owned()
        }
    }),
    numbered("parts-nested-same", "", |n| {
        if n < 50 { "Content-Type: multipart/x; boundary=b\n\n--b\n".to_owned() } else { "\n--b".to_owned() }
    }),
    numbered("parts-nested-blanks", "", |n| {
        if n < 50 {
            format!("Content-Type: multipart/x; boundary={}{n}\n\n--{}{n}\n", "-".repeat(60), "-".repeat(60))
        } else {
            "-----------------------------------------------------------------------\n".to_owned()
        }
    }),
    same("part-types", "", "Content-Type: multipart/x; boundary=b\n\n--b\n"),
    same("digest", "Content-Type: multipart/digest; boundary=b\n\n", "--b\n\na\n"),
    same("messages-nested", "", "Content-Type: message/rfc822\n\n"),
    same("messages", MIXED, "--b\nContent-Type: message/rfc822\n\n\na\n"),
    same("delivery-status", "Content-Type: message/delivery-status\n\n", "\n"),
    same("delivery-status-fields", "Content-Type: message/delivery-status\n\n", "a:\n\n"),
    same("head-fields", "", "a:\n"),
    same("head-endless", "a: ", "b"),
    same("head-folds", "a:\n", " \n"),
    same("head-types", "", "Content-Type: text/html\n"),
    same("head-blanks", "Content-Type: text/plain;\n", " \n"),
    same("type-parameters", "Content-Type: text/plain", "; a=b"),
    same("type-continuations", "Content-Type: text/plain", ";a*"),
    numbered("type-continuations-distinct", "Content-Type: text/plain", |n| format!(";{}*", letters(n))),
    same("type-quotes", "Content-Type: text/plain; a=\"", "\\\""),
    numbered("parts-type-continuations", MIXED, |n| {
        format!("\n--b\nContent-Type: text/plain{}\n\nx", format!(";{}*", letters(n)).repeat(2000))
    }),
    numbered("parts-type-parameters", MIXED, |n| {
        format!("\n--b\nContent-Type: text/plain{}{n}\n\nx", "; a=b".repeat(1600))
    }),
    numbered("parts-type-encoded", MIXED, |n| {
        format!("\n--b\nContent-Type: text/plain; a={}{n}\n\nx", "=?utf-8?q?=41?= ".repeat(500))
    }),
    same("subject-encoded", "Subject: ", "=?utf-8?b?77e677e6?=\n "),
    same("subjects", "", "Subject: =?utf-8?b?77e677e6?=\n"),
    bytes("charset-utf8-broken", TEXT, b"\xff"),
    bytes("charset-latin", "Content-Type: text/plain; charset=latin1\n\n", b"\xe9"),
    bytes("charset-1252", "Content-Type: text/plain; charset=windows-1252\n\n", b"\x80"),
    bytes("charset-gb18030", "Content-Type: text/plain; charset=gb18030\n\n", b"\x81\x30\x81\x30"),
    bytes("charset-gb18030-broken", "Content-Type: text/plain; charset=gb18030\n\n", b"\x81\x30\x81"),
    bytes("charset-big5", "Content-Type: text/plain; charset=big5\n\n", b"\xa4\x40"),
    bytes("charset-euc-jp", "Content-Type: text/plain; charset=euc-jp\n\n", b"\x8f\xb0\xa1"),
    bytes("charset-euc-kr", "Content-Type: text/plain; charset=euc-kr\n\n", b"\xb0\xa1"),
    bytes("charset-shift-jis", "Content-Type: text/plain; charset=shift_jis\n\n", b"\x88\x9f"),
    bytes("charset-shift-jis-broken", "Content-Type: text/plain; charset=shift_jis\n\n", b"\x81\xff"),
    bytes("charset-2022-jp", "Content-Type: text/plain; charset=iso-2022-jp\n\n", b"\x1b$B0!\x1b(B"),
    bytes(
        "charset-2022-escapes",
        "Content-Type: text/plain; charset=iso-2022-jp\n\n",
        b"\x1b$bbbbbbbbbbbbbbbb",
    ),
    bytes("charset-2022-kr", "Content-Type: text/plain; charset=iso-2022-kr\n\n\x1b$)C\x0e", b"0!"),
    bytes("charset-hz", "Content-Type: text/plain; charset=hz-gb-2312\n\n", b"~{VP~}"),
    bytes("charset-utf7", "Content-Type: text/plain; charset=utf-7\n\n", b"+/fo-"),
    bytes("charset-utf7-plus", "Content-Type: text/plain; charset=utf-7\n\n", b"+"),
    bytes("charset-utf16", "Content-Type: text/plain; charset=utf-16le\n\n", b"\xfa\xfd"),
    bytes("charset-utf16-broken", "Content-Type: text/plain; charset=utf-16le\n\n", b"\x00\xd8"),
    bytes("charset-utf32", "Content-Type: text/plain; charset=utf-32le\n\n", b"\xfa\xfd\0\0"),
    bytes("charset-koi8", "Content-Type: text/plain; charset=koi8-r\n\n", b"\xc1"),
    bytes("attached-zeros", "Content-Type: a/b\n\n", b"\0"),
    bytes("attached-base64", "Content-Type: a/b\nContent-Transfer-Encoding: base64\n\n", b"AAAA"),
    same("dcc-runs", TEXT, "= "),
    same("dcc-from", TEXT, ">From\n"),
    same("dcc-links", TEXT, "http:// "),
    same("dcc-h", TEXT, "1h"),
    same("pyzor-words", TEXT, "a:b "),
    same("pyzor-lines", TEXT, "abcdefgh\n"),
    same("razor-entities", HTML, "<a>&eacute"),
    same("razor-percent", "\nhttp://a.co ", "%41"),
    same("razor-references", "\nhttp://a.co ", "&#65;"),
    same("razor-links", "\nhttp://a.co ", "http://a.co/"),
    same("razor-href", "\n", "href="),
    same("razor-spaces", "\n<a href=http://a", " ="),
    same("dots", TEXT, "."),
    same("ampersand-html", TEXT, "<html>&"),
];
