//! What others wrote, shown on a terminal: shortened, and without anything that a terminal would obey.

/// Text of others for one line of at most so many characters: decoded by whoever calls, no control characters, no
/// marks that turn the direction of writing or hide, and one space wherever there was white space.
pub(crate) fn shown(text: &str, chars_max: usize) -> String {
    let plain: String =
        text.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter }).collect();
    let plain: String =
        plain.chars().filter(|letter| !letter.is_control() && !is_invisible(*letter)).collect();
    let words: Vec<&str> = plain.split(' ').filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    if line.chars().count() <= chars_max {
        return line;
    }
    let cut: String = line.chars().take(chars_max.saturating_sub(3)).collect();
    cut.trim_end().to_owned() + "..."
}

/// Characters that show nothing and change how others are shown: zero-width ones, marks of direction, tags.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_reaches_the_terminal() {
        for text in
            ["\u{1b}[31mred\u{1b}]0;title\u{7}", "a\rb\nc\u{8}d", "\u{9b}2J\u{85}", "\u{202e}txt.exe\u{2066}"]
        {
            let line = shown(text, 100);
            assert!(line.chars().all(|letter| !letter.is_control() && !is_invisible(letter)), "{line:?}");
        }
        assert_eq!(shown("a\r\n\t b\u{0}c", 100), "a bc");
    }

    #[test]
    fn long_lines_are_cut_at_whole_letters() {
        assert_eq!(shown("short", 5), "short");
        assert_eq!(shown("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", 5), "\u{e9}\u{e9}...");
        assert_eq!(shown("one two three", 7), "one...");
    }
}
