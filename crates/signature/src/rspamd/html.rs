//! The text of HTML as rspamd sees it: with its own idea of what breaks a line and what cannot be read.

use std::convert::Infallible;

use html5gum::Span;
use html5gum::emitters::callback::CallbackEvent;

use crate::quiet;

/// Elements that are open at once. Deeper ones are taken as part of the last: their styles are ignored.
const DEPTH_MAX: usize = 256;

/// Colours that differ by less than this, all three channels together, are the same to a reader.
const CONTRAST_MIN: u16 = 16;

const WHITE: [u8; 3] = [255; 3];

/// How an element's text looks.
#[derive(Clone, Copy)]
struct Style {
    colour: [u8; 3],
    ground: [u8; 3],
    is_tiny: bool,
    /// Of the element's own text only: rspamd shows elements inside a hidden one.
    is_hidden: bool,
    /// Whether what stands in the element is for programs and not for readers.
    is_code: bool,
}

impl Style {
    fn is_readable(&self) -> bool {
        let contrast: u16 =
            std::iter::zip(self.colour, self.ground).map(|(a, b)| u16::from(a.abs_diff(b))).sum();
        !self.is_code && !self.is_hidden && !self.is_tiny && contrast >= CONTRAST_MIN
    }
}

const PLAIN: Style =
    Style { colour: [0; 3], ground: WHITE, is_tiny: false, is_hidden: false, is_code: false };

/// The text that can be read, with line ends and blanks where they part words.
pub(super) fn text(html: &str) -> String {
    let mut reader = Reader { text: String::with_capacity(html.len() / 2), ..Reader::default() };
    quiet::read(html, |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        reader.take(event);
        None
    });
    reader.text
}

/// Whether a text that claims to be plain is HTML.
pub(super) fn is_html(text: &str) -> bool {
    let begins =
        |tag: &str| text.trim_start().get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    ["<html", "<!doctype html", "<x-html"].into_iter().any(begins)
}

/// A tag's name as a number. Each end tag is compared with all open elements, and there can be millions of end tags.
type Name = u128;

/// No element of HTML has a name of more than sixteen bytes.
fn short(name: &[u8]) -> Name {
    name.iter().take(16).fold(0, |short, byte| short << 8 | Name::from(*byte))
}

/// A start tag, and the values of the attributes that matter. The first of a name counts.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    values: [Option<String>; ATTRIBUTES.len()],
    /// The attribute whose value comes next, if it matters.
    current: Option<usize>,
}

/// The attributes that matter. A tag may have a hundred thousand others, so nothing is kept of those.
const ATTRIBUTES: [&[u8]; 4] = [b"alt", b"color", b"bgcolor", b"style"];

impl Tag {
    fn begin(&mut self, name: &[u8]) {
        name.clone_into(&mut self.name);
        self.values.fill(None);
        self.current = None;
    }

    fn attribute(&mut self, name: &[u8]) {
        let place = ATTRIBUTES.iter().position(|known| *known == name);
        self.current = place.filter(|&place| self.values[place].is_none());
        if let Some(place) = self.current {
            self.values[place] = Some(String::new());
        }
    }

    fn value(&mut self, value: &[u8]) {
        if let Some(place) = self.current {
            self.values[place] = Some(String::from_utf8_lossy(value).into_owned());
        }
    }

    fn of(&self, name: &[u8]) -> Option<&str> {
        let place = ATTRIBUTES.iter().position(|known| *known == name)?;
        self.values[place].as_deref()
    }
}

#[derive(Default)]
struct Reader {
    text: String,
    tag: Tag,
    /// The open elements, outermost first.
    open: Vec<(Name, Style)>,
    body_ended: bool,
    html_ended: bool,
}

impl Reader {
    fn take(&mut self, event: CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.tag.begin(name),
            CallbackEvent::AttributeName { name } => self.tag.attribute(name),
            CallbackEvent::AttributeValue { value } => self.tag.value(value),
            CallbackEvent::CloseStartTag { .. } => self.open(),
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => self.put(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
    }

    fn style(&self) -> Style {
        self.open.last().map_or(PLAIN, |(_, style)| *style)
    }

    fn open(&mut self) {
        self.text.push_str(gap(&self.tag.name));
        push_alt(&mut self.text, &self.tag);
        if !is_void(&self.tag.name) && self.open.len() < DEPTH_MAX {
            self.open.push((short(&self.tag.name), own_style(self.style(), &self.tag)));
        }
    }

    fn close(&mut self, name: &[u8]) {
        self.text.push_str(gap(name));
        self.body_ended |= name == b"body";
        self.html_ended |= name == b"html";
        let name = short(name);
        if let Some(level) = self.open.iter().rposition(|(open, _)| *open == name) {
            self.open.truncate(level);
        }
    }

    /// Text behind the end of everything is no part of the page, but elements there are.
    fn put(&mut self, piece: &str) {
        let is_behind = self.body_ended && self.html_ended && self.open.is_empty();
        let style = self.style();
        if style.is_readable() && !is_behind {
            self.text.push_str(piece);
        } else if !style.is_code {
            self.text.push(' ');
        }
    }
}

/// What an element puts between the words around its tags.
fn gap(name: &[u8]) -> &'static str {
    match name {
        b"td" | b"th" => " ",
        b"address" | b"area" | b"blockquote" | b"br" | b"caption" | b"center" | b"col" | b"colgroup"
        | b"del" | b"dir" | b"div" | b"dl" | b"fieldset" | b"form" | b"h1" | b"h2" | b"h3" | b"h4"
        | b"h5" | b"h6" | b"hr" | b"ins" | b"menu" | b"noframes" | b"noscript" | b"ol" | b"p" | b"pre"
        | b"table" | b"tbody" | b"tfoot" | b"thead" | b"tr" | b"ul" => "\n",
        _ => "",
    }
}

/// Elements that have no end and no text.
fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"frame"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
    )
}

fn push_alt(text: &mut String, tag: &Tag) {
    if let Some(alt) = tag.of(b"alt").filter(|_| tag.name == b"img") {
        text.extend([" ", alt, " "]);
    }
}

/// The style of an element inside one of style `outer`.
fn own_style(outer: Style, tag: &Tag) -> Style {
    let is_code =
        matches!(tag.name.as_slice(), b"head" | b"iframe" | b"object" | b"script" | b"style" | b"title");
    let mut style = Style { is_hidden: false, is_code, ..outer };
    style.colour = tag.of(b"color").and_then(colour).unwrap_or(style.colour);
    style.ground = tag.of(b"bgcolor").and_then(colour).unwrap_or(style.ground);
    let rules = tag.of(b"style").unwrap_or_default().to_ascii_lowercase();
    for (name, value) in rules.split(';').filter_map(|rule| rule.split_once(':')) {
        let value = value.trim_end_matches("!important").trim();
        match name.trim() {
            "display" => style.is_hidden |= value == "none",
            "visibility" => style.is_hidden |= value == "hidden",
            "font-size" => style.is_tiny = is_tiny(value).unwrap_or(style.is_tiny),
            "color" if value == "transparent" => style.colour = style.ground,
            "color" => style.colour = colour(value).unwrap_or(style.colour),
            "background" | "background-color" => style.ground = colour(value).unwrap_or(style.ground),
            _ => {}
        }
    }
    style
}

/// Whether a font size is too small to read, if it is one in numbers.
fn is_tiny(size: &str) -> Option<bool> {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: f32 = digits.parse().ok()?;
    Some(if size.ends_with("px") || size.ends_with("pt") { number < 1.0 } else { number <= 0.0 })
}

/// A colour by number, or one of those that paper has.
fn colour(name: &str) -> Option<[u8; 3]> {
    let name = name.trim().to_ascii_lowercase();
    match name.as_str() {
        "white" => return Some(WHITE),
        "black" => return Some([0; 3]),
        "ivory" => return Some([255, 255, 240]),
        "snow" => return Some([255, 250, 250]),
        _ => {}
    }
    if let Some(list) = name.strip_prefix("rgb(").or(name.strip_prefix("rgba(")) {
        let mut channels = list.split([',', ')']).map(|channel| channel.trim().parse().ok());
        return Some([channels.next()??, channels.next()??, channels.next()??]);
    }
    let digits = name.strip_prefix('#').unwrap_or(&name);
    let digits = match digits.len() {
        3 => digits.chars().flat_map(|c| [c, c]).collect(),
        // The last two say how much shines through.
        8 => digits.get(..6)?.to_owned(),
        _ => digits.to_owned(),
    };
    let mut channels = [0; 3];
    hex::decode_to_slice(digits, &mut channels).ok().map(|()| channels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(html: &str) -> String {
        text(html).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Each line was seen with rspamd 3.4.
    #[test]
    fn tags_part_words_as_in_rspamd() {
        assert_eq!(
            words("one<b>two</b>three<br>four<p>five<div>six</div>seven"),
            "onetwothree four five six seven"
        );
        assert_eq!(
            words("<tr><td>eight<td>nine<tr><td>ten</table>x<ul><li>a<li>b</ul>"),
            "eight nine ten x ab"
        );
        assert_eq!(words("<title>no</title>a<script>b<p></script>c<img alt='d e'>f"), "ac d e f");
        assert_eq!(words("<head>no</head>a</body>b</html>c<p>d"), "ab d");
        assert_eq!(words("a &amp; &eacute; &rsquo;t<!-- b -->"), "a & é ’t");
    }

    /// Each line was seen with rspamd 3.4.
    #[test]
    fn what_cannot_be_read_is_left_out() {
        assert_eq!(words("<div style='display:none'>a<span>b</span>c</div>"), "b");
        assert_eq!(words("<font color=white>a<b>b</b><p>c</p>d</font>e"), "e");
        assert_eq!(words("<p style='font-size:0'>a<p>b</p></p><p style='font-size: 1px'>c"), "c");
        assert_eq!(words("<p style='color:#fff'>a</p><p style='color:#FFFFFF;background-color:#000'>b"), "b");
        assert_eq!(
            words("<font color='#fefefe'>a</font><font color='#f0f0f0'>b</font><font color=ivory>c</font>"),
            "b"
        );
        assert_eq!(
            words("<p style='color:rgb(255, 255,255)'>a</p><p style='display: none !important'>b</p>c"),
            "c"
        );
    }

    #[test]
    fn many_open_elements_end() {
        let html = ["<b>".repeat(50_000), "</i>".repeat(50_000)].concat();
        assert_eq!(words(&html), "");
    }
}
