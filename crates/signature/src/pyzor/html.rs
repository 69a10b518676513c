//! The text of HTML as Python's parser passes it on when it is fed once and never closed.
//!
//! The parser expects more input to come. So it holds back markup that is not finished, and text that may end inside
//! a character reference; here they are lost. Each run of text between two pieces of markup is stripped, and what is
//! not empty is joined by single blanks.

use super::Crash;
use super::header::strip as strip_spaces;
use super::lines::is_space;

mod reference;
mod tag;

use tag::StartTag;

/// A character reference may begin in so many characters at the end; text is held back if it may be unfinished.
const REFERENCE_CHARS_MAX: usize = 34;

/// Marked sections that end with `]]>`.
const SECTIONS: [&str; 5] = ["temp", "cdata", "ignore", "include", "rcdata"];

/// Marked sections of an office program, which end with `]>`.
const OFFICE_SECTIONS: [&str; 3] = ["if", "else", "endif"];

/// The text of some HTML.
pub(super) fn strip(html: &str) -> Result<String, Crash> {
    let mut stripper = Stripper { html, at: 0, out: String::with_capacity(html.len() / 2) };
    while stripper.step()? {}
    Ok(stripper.out)
}

struct Stripper<'h> {
    html: &'h str,
    at: usize,
    out: String,
}

impl Stripper<'_> {
    /// Handles the text up to the next `<` and the markup there. False at the end, or where the parser waits for more.
    fn step(&mut self) -> Result<bool, Crash> {
        let html = self.html;
        let rest = &html[self.at..];
        let Some(text_bytes) = rest.find('<') else {
            if !may_end_in_reference(rest) {
                self.add_text(rest)?;
            }
            return Ok(false);
        };
        if text_bytes > 0 {
            self.add_text(&rest[..text_bytes])?;
        }
        self.at += text_bytes;
        let markup = &rest[text_bytes..];
        let next = markup[1..].chars().next();
        let markup_bytes = match next {
            None => None,
            Some('a'..='z' | 'A'..='Z') => self.start_tag(markup),
            Some('/') => end_tag(markup),
            Some('?') => past(markup, 2, ">"),
            Some('!') => declaration(markup)?,
            Some(_) => {
                self.add_chunk("<");
                Some(1)
            }
        };
        self.at += markup_bytes.unwrap_or(0);
        Ok(markup_bytes.is_some())
    }

    /// How long a start tag is. Scripts and style sheets are skipped, with their content.
    fn start_tag(&mut self, markup: &str) -> Option<usize> {
        match tag::start_tag(markup)? {
            StartTag::Broken { tag_bytes } => {
                // The parser gives up on a zero byte behind the name and takes what it has read as text.
                self.add_chunk(&markup[..tag_bytes]);
                Some(tag_bytes)
            }
            StartTag::Whole { tag_bytes, name, is_closed } => {
                let raw = ["script", "style"].into_iter().find(|raw| name.eq_ignore_ascii_case(raw));
                match raw {
                    Some(raw) if !is_closed => Some(tag_bytes + past_raw_text(&markup[tag_bytes..], raw)?),
                    _ => Some(tag_bytes),
                }
            }
        }
    }

    fn add_text(&mut self, text: &str) -> Result<(), Crash> {
        if text.contains('&') {
            self.add_chunk(&reference::resolve(text)?);
        } else {
            self.add_chunk(text);
        }
        Ok(())
    }

    fn add_chunk(&mut self, chunk: &str) {
        let chunk = strip_spaces(chunk);
        if chunk.is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.out.push(' ');
        }
        self.out.push_str(chunk);
    }
}

fn may_end_in_reference(text: &str) -> bool {
    let tail_start = text.char_indices().rev().nth(REFERENCE_CHARS_MAX - 1).map_or(0, |(at, _)| at);
    let tail = &text[tail_start..];
    tail.rfind('&').is_some_and(|at| !tail[at..].contains(|c| c == ';' || is_space(c)))
}

/// How long some markup is that ends with the first `end` at or after `from`.
fn past(markup: &str, from: usize, end: &str) -> Option<usize> {
    let at = markup.get(from..)?.find(end)?;
    Some(from + at + end.len())
}

/// How long an end tag is. `</` and anything but a letter begins a comment. All end at the first `>`.
fn end_tag(markup: &str) -> Option<usize> {
    past(markup, 2, ">")
}

/// How far it is to the end of the end tag of `raw`.
fn past_raw_text(text: &str, raw: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find("</")? + 2;
        if let Some(rest) = strip_prefix_any_case(text[start..].trim_start_matches(is_space), raw)
            && let Some(rest) = rest.trim_start_matches(is_space).strip_prefix('>')
        {
            return Some(text.len() - rest.len());
        }
        from = start;
    }
}

fn strip_prefix_any_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// How long a comment, a marked section, a document type or a bogus comment is.
fn declaration(markup: &str) -> Result<Option<usize>, Crash> {
    if markup.starts_with("<!--") {
        Ok(past_closing(markup, 4, "--"))
    } else if markup.starts_with("<![") {
        marked_section(markup)
    } else if strip_prefix_any_case(markup, "<!doctype").is_some() {
        Ok(past(markup, "<!doctype".len(), ">"))
    } else {
        Ok(past(markup, 2, ">"))
    }
}

/// How long some markup is that ends with `opening`, white space and `>`.
fn past_closing(markup: &str, from: usize, opening: &str) -> Option<usize> {
    let mut from = from;
    loop {
        let at = from + markup.get(from..)?.find(opening)?;
        let rest = markup[at + opening.len()..].trim_start_matches(is_space);
        if let Some(rest) = rest.strip_prefix('>') {
            return Some(markup.len() - rest.len());
        }
        from = at + 1;
    }
}

/// A marked section with a keyword that is not known, or with none, is fatal.
fn marked_section(markup: &str) -> Result<Option<usize>, Crash> {
    let section = &markup[3..];
    if section.is_empty() {
        return Ok(None);
    }
    if !section.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(Crash);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name_bytes = section.find(|c| !is_name(c)).unwrap_or(section.len());
    if section[name_bytes..].trim_start_matches(is_space).is_empty() {
        return Ok(None);
    }
    let name = section[..name_bytes].to_ascii_lowercase();
    if OFFICE_SECTIONS.contains(&name.as_str()) {
        Ok(past_closing(markup, 3, "]"))
    } else if SECTIONS.contains(&name.as_str()) {
        Ok(past_double_bracket(markup))
    } else {
        Err(Crash)
    }
}

/// How long some markup is that ends with `]]>`, with white space between the characters.
fn past_double_bracket(markup: &str) -> Option<usize> {
    let mut from = 3;
    loop {
        let at = from + markup[from..].find(']')? + 1;
        let second = markup[at..].trim_start_matches(is_space);
        if let Some(rest) = second.strip_prefix(']')
            && let Some(rest) = rest.trim_start_matches(is_space).strip_prefix('>')
        {
            return Some(markup.len() - rest.len());
        }
        from = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(html: &str) -> String {
        strip(html).expect("no crash")
    }

    #[test]
    fn markup_vanishes_and_text_is_joined() {
        assert_eq!(
            stripped("<p>one <b>two</b>\n</p><!-- no -- ><?no?>three<br/> four "),
            "one two three four"
        );
        assert_eq!(stripped("<!DOCTYPE x>a\n b</x y><!x>c<![if !x]>d<![endif]>e</>f"), "a\n b c d e f");
        assert_eq!(stripped("a < b <3"), "a < b < 3");
    }

    #[test]
    fn scripts_vanish() {
        assert_eq!(stripped("a<script>b</style>c</ Script >d<STYLE x>e</style>f<script/>g"), "a d f g");
        assert_eq!(stripped("a<script>b</script x>c"), "a");
    }

    #[test]
    fn unfinished_markup_and_references_are_lost() {
        assert_eq!(stripped("a<b c"), "a");
        assert_eq!(stripped("a<!-- b ->"), "a");
        assert_eq!(stripped("a<"), "a");
        assert_eq!(stripped("<b>a &amp b"), "a & b");
        assert_eq!(stripped("<b>a &amp"), "");
        assert_eq!(stripped(&format!("<b>a&{}", "x".repeat(33))), "");
        assert_eq!(stripped(&format!("<b>a&{}", "x".repeat(34))), format!("a&{}", "x".repeat(34)));
        assert_eq!(stripped("a<![if"), "a");
    }

    #[test]
    fn unknown_marked_sections_crash() {
        assert_eq!(strip("<![foo[x]]>"), Err(Crash));
        assert_eq!(strip("<![>"), Err(Crash));
        assert_eq!(strip("<![CDATA[x] ]>y"), Ok("y".to_owned()));
    }
}
