//! HTML to the text a reader sees, and the addresses its links lead to.
//!
//! Text between inline elements is joined as browsers join it, so that `V<b></b>iagra` is one word; blocks and line
//! breaks end a line. What no reader sees is left out: scripts, styles, titles, and elements hidden by attribute or by
//! the style beside it. Elements are kept on a stack, so that a hidden element that nobody closed ends with the element
//! around it, as in a browser. Letters of size zero are not seen, but an element inside may give them a size again:
//! many a template of newsletters sets its tables to zero, against gaps, and each text to a size of its own.

mod stack;
mod style;

use std::collections::HashMap;
use std::sync::LazyLock;

use html5gum::Span;
use html5gum::emitters::callback::{Callback, CallbackEvent};

use self::stack::{GROUPS, Name, Open, Roles, Stack};
use self::style::Style;
use crate::quiet;

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
const BLOCKS: [&[u8]; 43] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"br",
    b"caption",
    b"center",
    b"dd",
    b"details",
    b"dialog",
    b"div",
    b"dl",
    b"dt",
    b"fieldset",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"header",
    b"hgroup",
    b"hr",
    b"legend",
    b"li",
    b"main",
    b"menu",
    b"nav",
    b"ol",
    b"optgroup",
    b"option",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"table",
    b"tr",
    b"ul",
];

/// Elements that nobody reads.
const UNSEEN: [&[u8]; 5] = [b"script", b"style", b"title", b"template", b"noframes"];

/// Names of elements.
type Names = &'static [&'static [u8]];

/// What blocks end.
const PARAGRAPH: Names = &[b"p"];

/// Elements that end an open `p` do not look for it beyond these.
const PARAGRAPH_ENDS: Names = &[b"table", b"td", b"th", b"button", b"object"];

/// Elements that end an open one of their like where its end tag was left out, and what they do not look beyond.
const SIBLINGS: [(Names, Names); GROUPS - 1] = [
    (&[b"li"], &[b"ul", b"ol"]),
    (&[b"td", b"th"], &[b"table"]),
    (&[b"tr"], &[b"table"]),
    (&[b"tbody", b"thead", b"tfoot"], &[b"table"]),
    (&[b"dt", b"dd"], &[b"dl"]),
    (&[b"option"], &[b"select"]),
    (&[b"a"], &[b"td", b"th", b"table"]),
];

/// The group of `p`, behind those of [`SIBLINGS`].
const PARAGRAPHS: usize = GROUPS - 1;

/// What an element is, by its name. The tables are asked once: a message has millions of tags.
#[derive(Clone, Copy, Default)]
struct Element {
    is_void: bool,
    is_block: bool,
    is_unseen: bool,
    is_cell: bool,
    /// The group of those that it ends, besides open paragraphs.
    ends: Option<usize>,
    ends_paragraph: bool,
    roles: Roles,
}

impl Element {
    /// The element of a name, and the name as the stack knows it.
    fn of(name: &[u8]) -> (Self, Name) {
        match ELEMENTS.get(name) {
            Some((number, element)) => (*element, Name::Known(*number)),
            None => (Element::default(), Name::other(name)),
        }
    }

    /// By the tables.
    fn read(name: &[u8]) -> Self {
        let mut roles = Roles::default();
        let groups = SIBLINGS.into_iter().chain([(PARAGRAPH, PARAGRAPH_ENDS)]);
        for (group, (ended, walls)) in groups.enumerate() {
            roles.ended |= u8::from(ended.contains(&name)) << group;
            roles.walls |= u8::from(walls.contains(&name)) << group;
        }
        Element {
            is_void: VOID.contains(&name),
            is_block: BLOCKS.contains(&name),
            is_unseen: UNSEEN.contains(&name),
            is_cell: matches!(name, b"td" | b"th"),
            ends: SIBLINGS.iter().position(|(ended, _)| ended.contains(&name)),
            ends_paragraph: name != b"br" && BLOCKS.contains(&name),
            roles,
        }
    }
}

/// The elements that are in any table, numbered.
static ELEMENTS: LazyLock<HashMap<&[u8], (usize, Element)>> = LazyLock::new(|| {
    let groups = SIBLINGS.into_iter().flat_map(|(ended, walls)| [ended, walls]);
    let names = groups.chain([PARAGRAPH, PARAGRAPH_ENDS, &VOID, &BLOCKS, &UNSEEN]);
    names.flatten().enumerate().map(|(number, name)| (*name, (number, Element::read(name)))).collect()
});

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
    quiet::read(html, Reader::new(seen, bytes_max));
}

/// There is no more room, neither for text nor for links.
struct Full;

/// Where the tokenizer is.
struct Reader<'a> {
    seen: &'a mut Seen,
    bytes_max: usize,
    open: Stack,
    /// The start tag being read, and what its attributes say.
    tag: Vec<u8>,
    attribute: Vec<u8>,
    style: Option<Style>,
    hides: bool,
    link: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(seen: &'a mut Seen, bytes_max: usize) -> Self {
        let open = Stack::default();
        let tag = Vec::new();
        let attribute = Vec::new();
        Reader { seen, bytes_max, open, tag, attribute, style: None, hides: false, link: None }
    }

    fn begin(&mut self, name: &[u8]) {
        name.clone_into(&mut self.tag);
        self.attribute.clear();
        (self.style, self.hides, self.link) = (None, false, None);
    }

    fn attribute(&mut self, value: &[u8]) {
        match (self.attribute.as_slice(), self.tag.as_slice()) {
            // Of two attributes of one name the first counts.
            (b"style", _) if self.style == Some(Style::default()) => self.style = Some(Style::of(value)),
            (b"href", b"a" | b"area") | (b"action", b"form")
                if self.link.is_none() && value.len() <= LINK_BYTES_MAX =>
            {
                // Browsers pass over line ends in addresses.
                let value = String::from_utf8_lossy(value).replace(['\t', '\n', '\r'], "");
                self.link = Some(value.trim().to_owned());
            }
            _ => {}
        }
    }

    fn opened(&mut self) {
        let (element, name) = Element::of(&self.tag);
        if element.ends_paragraph {
            self.open.end(PARAGRAPHS);
        }
        if let Some(group) = element.ends {
            self.open.end(group);
        }
        let style = self.style.unwrap_or_default();
        let hidden = self.hides || style.hides || element.is_unseen;
        let invisible = style.invisible.unwrap_or(self.open.last().is_some_and(|open| open.invisible));
        if !self.open.hides() && !hidden {
            self.break_line(&element);
            // A link that is hidden leads nowhere: nobody can follow it.
            if !invisible && self.seen.links.len() < LINKS_MAX {
                self.seen.links.extend(self.link.take());
            }
        }
        if !element.is_void {
            let sizeless = style.sizeless.unwrap_or(self.open.last().is_some_and(|open| open.sizeless));
            self.open.push(Open { name, hidden, invisible, sizeless }, element.roles);
        }
    }

    /// Closes the innermost element of this name, and all that were opened in it and left open.
    fn closed(&mut self, name: &[u8]) {
        let (element, name) = Element::of(name);
        let was_hidden = self.open.close(&name).unwrap_or(false);
        if !self.open.hides() && !was_hidden {
            self.break_line(&element);
        }
    }

    fn break_line(&mut self, element: &Element) {
        let text = &mut self.seen.text;
        if element.is_block {
            if !text.ends_with('\n') {
                text.push('\n');
            }
        } else if element.is_cell && !text.ends_with(char::is_whitespace) {
            text.push(' ');
        }
    }

    fn text(&mut self, value: &[u8]) {
        let room = self.bytes_max.saturating_sub(self.seen.text.len());
        let is_seen = self.open.last().is_none_or(|open| !open.invisible && !open.sizeless);
        if !self.open.hides() && room > 0 && is_seen {
            let value = String::from_utf8_lossy(&value[..value.len().min(room)]);
            self.seen.text.push_str(&value);
        }
    }
}

impl Callback<Full, ()> for Reader<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Full> {
        match event {
            CallbackEvent::OpenStartTag { name } => self.begin(name),
            CallbackEvent::AttributeName { name } => {
                self.attribute.clear();
                match name {
                    b"hidden" => self.hides = true,
                    b"style" if self.style.is_some() => {}
                    _ => self.attribute.extend_from_slice(name),
                }
                if name == b"style" {
                    self.style.get_or_insert_default();
                }
            }
            CallbackEvent::AttributeValue { value } => self.attribute(value),
            CallbackEvent::CloseStartTag { .. } => self.opened(),
            CallbackEvent::EndTag { name } => self.closed(name),
            CallbackEvent::String { value } => self.text(value),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        // At most a line end would follow, and the text is cut before it.
        (self.seen.text.len() >= self.bytes_max && self.seen.links.len() >= LINKS_MAX).then_some(Full)
    }
}

#[cfg(test)]
mod tests {
    use super::stack::OPEN_MAX;
    use super::*;
    use crate::work;

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
        assert_eq!(words("a<div style='Display : NONE'>b<p>c</p></div>d"), "ad");
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

    /// Browsers end a `p` at the next block and a cell at the next cell; a hidden one that nobody closed hid the rest.
    #[test]
    fn a_hidden_element_ends_where_its_like_begins() {
        assert_eq!(words("<p hidden>x<p>seen"), "seen");
        assert_eq!(words("<ul><li hidden>x<li>seen</ul>after"), "seen after");
        assert_eq!(words("<table><tr><td hidden>x<td>seen<tr><td>more</table>"), "seen more");
        assert_eq!(words("<div hidden>x<p>y</div>z<p>w"), "z w");
        assert_eq!(words("<p>a<table><tr><td><p>b</td></tr></table>c"), "a b c");
        assert_eq!(words("via<p hidden>x</p>gra"), "viagra", "what is not shown parts nothing");
    }

    #[test]
    fn an_element_inside_may_be_visible_again() {
        assert_eq!(words("<div style=visibility:hidden>x<p style=visibility:visible>seen</div>"), "seen");
    }

    /// Elements that nobody closed once filled the list of open ones, and nothing was hidden any more.
    #[test]
    fn what_is_hidden_stays_hidden_behind_many_open_elements() {
        let html = "<font>".repeat(2 * OPEN_MAX) + "a<style>p{}</style><div style=display:none>x</div>b";
        assert_eq!(words(&html), "ab");
    }

    #[test]
    fn the_first_of_two_styles_counts() {
        assert_eq!(words("a<i style='' style='display:none'>b</i>"), "ab");
        assert_eq!(words("a<i style='display:none' style=''>b</i>"), "a");
    }

    #[test]
    fn links_are_those_one_can_follow() {
        let seen = seen(
            "<a href=' http://a.example/x '>x</a><div hidden><a href=http://b.example>y</a></div>\
                         <form action=\"https://c.example/go\"><link href=http://d.example/font>\
                         <a hidden href=http://e.example>z</a><a href='http://f.exa\nmple/y'>",
        );
        assert_eq!(seen.links, ["http://a.example/x", "https://c.example/go", "http://f.example/y"]);
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

    /// The tokenizer goes from state to state by calls. They are jumps, or a message overflows the stack.
    #[test]
    fn the_stack_does_not_grow_with_the_text() {
        let pieces = [
            "<b>",
            "<a href=x y='z'>",
            "&amp;",
            "&#x41;",
            "<!-- c -->",
            "<![CDATA[x]]>",
            "<br/>",
            "</",
            "<!x>",
            "a ",
        ];
        let small_stack = std::thread::Builder::new().stack_size(256 << 10);
        let thread = small_stack.spawn(move || {
            for piece in pieces {
                seen(&piece.repeat(100_000));
            }
            seen(&pieces.concat().repeat(10_000));
        });
        thread.expect("a thread").join().expect("room on the stack");
    }

    /// Each tag once looked at all open elements, 256 of them: 150 ms a megabyte.
    #[test]
    fn a_tag_costs_the_same_however_many_elements_are_open() {
        let deep = "<x>".repeat(OPEN_MAX);
        let tags = 10_000;
        for tag in ["<b>", "</y>", "<div>", "<dd></dd>", "<i hidden>", "<li>", "</x><x>"] {
            for around in ["", "<p><li><table>", "<b hidden><p hidden>"] {
                let html = [around, &deep, &tag.repeat(tags)].concat();
                let (_, steps) = work::of(|| seen(&html));
                // An element is closed or forgotten once.
                assert!(steps <= 2 * (OPEN_MAX + tags) as u64, "{tag} in {around}: {steps} steps");
            }
        }
    }
}
