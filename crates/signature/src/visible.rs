//! HTML to the text a reader sees, and the addresses its links lead to.
//!
//! Text between inline elements is joined as browsers join it, so that `V<b></b>iagra` is one word; blocks and line
//! breaks end a line. What no reader sees is left out: scripts, styles, titles, and elements hidden by attribute or by
//! the style beside it. Elements are kept on a stack, so that a hidden element that nobody closed ends with the element
//! around it, as in a browser. Letters of size zero are not seen, but an element inside may give them a size again:
//! many a template of newsletters sets its tables to zero, against gaps, and each text to a size of its own.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use std::convert::Infallible;

/// Elements open at a time. Mail nests tables a few dozen deep; beyond this, elements are not remembered.
const OPEN_MAX: usize = 256;

/// The links of one message that are looked at: campaigns repeat theirs, and lists of thousands are noise.
pub(crate) const LINKS_MAX: usize = 256;

/// The longest link that is kept: longer ones are no use to a reader, and none to us.
const LINK_BYTES_MAX: usize = 2048;

/// Elements whose end is not written.
const VOID: [&[u8]; 14] = [
    b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta", b"param",
    b"source", b"track", b"wbr",
];

/// Elements that begin and end a line.
const BLOCKS: [&[u8]; 32] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"br",
    b"center",
    b"dd",
    b"div",
    b"dl",
    b"dt",
    b"fieldset",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"header",
    b"hr",
    b"li",
    b"main",
    b"nav",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"table",
    b"tr",
    b"ul",
];

/// Elements that nobody reads.
const UNSEEN: [&[u8]; 6] = [b"script", b"style", b"title", b"template", b"noframes", b"object"];

/// What makes a style hide its element, without white space and in lower case.
const HIDING: [&[u8]; 4] = [b"display:none", b"visibility:hidden", b"mso-hide:all", b"opacity:0;"];

/// What sets the size of letters.
const SIZE: &[u8] = b"font-size:";

/// What a reader sees of a piece of HTML.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The text, its lines separated by line feeds.
    pub(crate) text: String,
    /// Where links lead, as written.
    pub(crate) links: Vec<String>,
}

/// Reads HTML. `bytes_max` bounds the text.
pub(crate) fn read(html: &str, bytes_max: usize, seen: &mut Seen) {
    let mut emitter = CallbackEmitter::<_, Infallible>::new(Reader::new(seen, bytes_max));
    emitter.naively_switch_states(true);
    // The reader takes everything; nothing is ever handed on.
    let handed_on = Tokenizer::new_with_emitter(html, emitter).count();
    debug_assert_eq!(handed_on, 0);
}

/// An element that was opened and not closed.
struct Open {
    name: Vec<u8>,
    hidden: bool,
    /// Its letters have no size.
    sizeless: bool,
}

/// Where the tokenizer is.
struct Reader<'a> {
    seen: &'a mut Seen,
    bytes_max: usize,
    open: Vec<Open>,
    /// How many of them hide what is in them.
    hidden: usize,
    /// The start tag being read.
    tag: Vec<u8>,
    attribute: Vec<u8>,
    hides: bool,
    /// Whether its letters have no size, where it says.
    sizeless: Option<bool>,
}

impl<'a> Reader<'a> {
    fn new(seen: &'a mut Seen, bytes_max: usize) -> Self {
        Reader {
            seen,
            bytes_max,
            open: Vec::new(),
            hidden: 0,
            tag: Vec::new(),
            attribute: Vec::new(),
            hides: false,
            sizeless: None,
        }
    }

    fn break_line(&mut self, name: &[u8]) {
        let text = &mut self.seen.text;
        if BLOCKS.contains(&name) {
            if !text.ends_with('\n') {
                text.push('\n');
            }
        } else if (name == b"td" || name == b"th") && !text.ends_with(char::is_whitespace) {
            text.push(' ');
        }
    }

    fn attribute(&mut self, value: &[u8]) {
        match self.attribute.as_slice() {
            b"hidden" => self.hides = true,
            b"style" => {
                let style = tight(value);
                self.hides |= HIDING.iter().any(|hiding| find(&style, hiding).is_some());
                self.sizeless = sizeless(&style).or(self.sizeless);
            }
            // A link that is hidden leads nowhere: nobody can follow it.
            b"href" | b"action" if self.hidden == 0 => self.link(value),
            _ => {}
        }
    }

    fn link(&mut self, value: &[u8]) {
        if self.seen.links.len() < LINKS_MAX && value.len() <= LINK_BYTES_MAX {
            self.seen.links.push(String::from_utf8_lossy(value).trim().to_owned());
        }
    }

    fn opened(&mut self) {
        let name = std::mem::take(&mut self.tag);
        self.break_line(&name);
        if !VOID.contains(&name.as_slice()) && self.open.len() < OPEN_MAX {
            let hidden = self.hides || UNSEEN.contains(&name.as_slice());
            let sizeless = self.sizeless.unwrap_or(self.is_sizeless());
            self.hidden += usize::from(hidden);
            self.open.push(Open { name, hidden, sizeless });
        }
    }

    /// Closes the innermost element of this name, and all that were opened in it and left open.
    fn closed(&mut self, name: &[u8]) {
        if let Some(place) = self.open.iter().rposition(|open| open.name == name) {
            self.hidden -= self.open.drain(place..).filter(|open| open.hidden).count();
        }
        self.break_line(name);
    }

    fn is_sizeless(&self) -> bool {
        self.open.last().is_some_and(|open| open.sizeless)
    }

    fn text(&mut self, value: &[u8]) {
        let room = self.bytes_max.saturating_sub(self.seen.text.len());
        if self.hidden == 0 && room > 0 && !self.is_sizeless() {
            let value = String::from_utf8_lossy(&value[..value.len().min(room)]);
            self.seen.text.push_str(&value);
        }
    }
}

impl Callback<Infallible, ()> for Reader<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Infallible> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = name.to_vec();
                self.attribute.clear();
                self.hides = false;
                self.sizeless = None;
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute.clear();
                self.attribute.extend_from_slice(name);
                if name == b"hidden" {
                    self.hides = true;
                }
            }
            CallbackEvent::AttributeValue { value } => self.attribute(value),
            CallbackEvent::CloseStartTag { .. } => self.opened(),
            CallbackEvent::EndTag { name } => self.closed(name),
            CallbackEvent::String { value } => self.text(value),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        None
    }
}

/// A style without white space, in lower case, each of its parts ended.
fn tight(style: &[u8]) -> Vec<u8> {
    let seen = style.iter().filter(|byte| !byte.is_ascii_whitespace());
    seen.map(u8::to_ascii_lowercase).chain([b';']).collect()
}

fn find(style: &[u8], what: &[u8]) -> Option<usize> {
    style.windows(what.len()).position(|window| window == what)
}

/// Whether a style gives letters no size; `None` where it says nothing of it, or a part of the size around it.
fn sizeless(style: &[u8]) -> Option<bool> {
    let value = &style[find(style, SIZE)? + SIZE.len()..];
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    if digits > 0 && value[..digits].iter().all(|byte| matches!(byte, b'0' | b'.')) {
        return Some(true);
    }
    let is_part = value[digits..].starts_with(b"%") || value[digits..].starts_with(b"em");
    (!is_part).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(html: &str) -> Seen {
        let mut seen = Seen::default();
        read(html, 1 << 20, &mut seen);
        seen
    }

    fn words(html: &str) -> String {
        seen(html).text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn inline_elements_join_and_blocks_part() {
        assert_eq!(words("<p>V<b></b>ia<i>gra</i></p><p>now</p>"), "Viagra now");
        assert_eq!(words("one<br>two<td>three</td><td>four</td>"), "one two three four");
        assert_eq!(words("a &amp; b &eacute; &#65; &nbsp;c"), "a & b \u{e9} A c");
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        assert_eq!(
            words("<title>t</title><style>p{}</style><script>if(a<b)</script>text<!-- no -->"),
            "text"
        );
        assert_eq!(words("a<div style='Display : NONE'>b<p>c</p></div>d"), "a d");
        assert_eq!(words("a<span hidden>b</span>c<span style=\"font-size:0\">d</span>"), "ac");
        assert_eq!(words("a<span style=\"font-size:0.9em\">b</span>"), "ab", "small is not hidden");
    }

    /// Tables set to zero against gaps, as templates of newsletters have them, once lost a message all its words.
    #[test]
    fn letters_without_size_get_it_back_from_an_element_inside() {
        assert_eq!(
            words(
                "<td style='font-size:0px;padding:0'>x<div style='font-size: 13px'>seen<b>!</b></div>y</td>z"
            ),
            "seen! z"
        );
        assert_eq!(words("<p style=font-size:0>a<i style='font-size:2em'>b</i></p>c"), "c", "twice nothing");
        assert_eq!(words("<p style='font-size:0.0pt'>a</p><p style='font-size:0.5px'>b</p>"), "b");
        let seen = seen("<td style='font-size:0'><a href=http://a.example><img src=x></a></td>");
        assert_eq!(seen.links, ["http://a.example"], "images have a size of their own");
    }

    #[test]
    fn a_hidden_element_nobody_closed_ends_with_the_one_around_it() {
        assert_eq!(words("<table><tr><td><div style=display:none>x</td><td>seen</td></tr></table>"), "seen");
    }

    #[test]
    fn links_are_those_one_can_follow() {
        let seen = seen(
            "<a href=' http://a.example/x '>x</a><div hidden><a href=http://b.example>y</a></div>\
                         <form action=\"https://c.example/go\">",
        );
        assert_eq!(seen.links, ["http://a.example/x", "https://c.example/go"]);
    }

    #[test]
    fn broken_html_is_text_too() {
        for html in
            ["", "<", "</", "<a", "<a href", "a < b", "<!--", "<p", "\u{0}", "<![CDATA[x]]>", "&#xffffffff;"]
        {
            let _ = seen(html);
        }
        assert_eq!(words("1 < 2 and <b>3"), "1 < 2 and 3");
    }

    #[test]
    fn deep_nesting_takes_no_more_than_its_limit() {
        let html = "<div>".repeat(100_000) + "deep" + &"</div>".repeat(100_000);
        assert_eq!(words(&html), "deep");
    }
}
