//! The letters that the fuzzy sum is taken over.

/// The client looks at no more letters than this, so that long texts cost no more than short ones.
const LETTERS_MAX: usize = 4096;

/// The client finds fewer letters than this too common to count.
const LETTERS_MIN: usize = 30;

/// A greeting is a short line: one with more letters than this is text.
const GREETING_LETTERS_MAX: usize = 78;

/// A short line that opens with one of these names the recipient or the day, which differ from copy to copy.
const GREETINGS: [&[u8]; 4] = [b"dear", b"hello", b"greeting", b"date"];

/// How links begin. These letters count.
const SCHEMES: [&[u8]; 2] = [b"http://", b"https://"];

/// The letters of a text, in lower case, less what differs between copies. Nothing if too few are left.
pub(super) fn letters(text: &[u8]) -> Option<Vec<u8>> {
    let mut letters = Vec::new();
    let mut of_line = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        of_line.clear();
        line_letters(line, &mut of_line);
        if !is_greeting(&of_line) {
            letters.extend_from_slice(&of_line);
        }
        if letters.len() >= LETTERS_MAX {
            letters.truncate(LETTERS_MAX);
            break;
        }
    }
    (letters.len() >= LETTERS_MIN).then_some(letters)
}

fn is_greeting(line: &[u8]) -> bool {
    let opens = |word: &&[u8]| line.len() > word.len() && line.starts_with(word);
    line.len() <= GREETING_LETTERS_MAX && GREETINGS.iter().any(opens)
}

/// The letters of a line, no more than can count.
fn line_letters(mut line: &[u8], letters: &mut Vec<u8>) {
    while letters.len() < LETTERS_MAX {
        let [byte, rest @ ..] = line else { break };
        if let Some(scheme) = scheme(line) {
            push_letters(letters, scheme);
            line = push_link(letters, &line[scheme.len()..]);
        } else {
            push_letters(letters, std::slice::from_ref(byte));
            line = rest;
        }
    }
}

fn scheme(line: &[u8]) -> Option<&[u8]> {
    if !matches!(line, [b'h' | b'H', ..]) {
        return None;
    }
    let opens =
        |scheme: &&[u8]| line.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    SCHEMES.into_iter().find(opens)
}

/// Adds what counts of a link, whose scheme is already taken off, and returns what follows the link.
///
/// Senders vary names before the registered one, paths and user names at will.
fn push_link<'a>(letters: &mut Vec<u8>, line: &'a [u8]) -> &'a [u8] {
    let end = line.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''));
    let (link, rest) = line.split_at(end.unwrap_or(line.len()));
    let site = link.split(|byte| matches!(byte, b'/' | b'?' | b'#')).next().unwrap_or_default();
    let host = site.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let host = &host[..host.iter().position(|byte| !is_in_name(byte)).unwrap_or(host.len())];
    let host = host.strip_suffix(b".").unwrap_or(host);
    let last_two = host.rsplitn(3, |byte| *byte == b'.').take(2).map(<[u8]>::len).sum::<usize>() + 1;
    push_letters(letters, &host[host.len().saturating_sub(last_two)..]);
    rest
}

fn push_letters(letters: &mut Vec<u8>, bytes: &[u8]) {
    letters.extend(bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_lowercase));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_line(line: &str) -> String {
        let mut letters = Vec::new();
        line_letters(line.as_bytes(), &mut letters);
        String::from_utf8(letters).expect("letters are ASCII")
    }

    #[test]
    fn links_keep_the_end_of_the_host() {
        assert_eq!(of_line("see HTTP://u:p@www.Shop-1.example.com:80/a/b?c=d'e f"), "seehttpexamplecomef");
        assert_eq!(of_line("https://example.com"), "httpsexamplecom");
        assert_eq!(of_line("<a href=\"http://a.example.com./x\">go</a>"), "ahrefhttpexamplecomgoa");
        assert_eq!(of_line("http://localhost http:// http://192.0.2.1/x"), "httplocalhosthttphttp");
        assert_eq!(of_line("httphttp://a.b.c"), "httphttpbc");
    }

    #[test]
    fn greetings_are_short_lines_with_more_than_the_word() {
        assert!(is_greeting(b"dearjohn") && is_greeting(b"hellox") && is_greeting(b"greetings"));
        assert!(!is_greeting(b"dear") && !is_greeting(b"ohdear") && !is_greeting(b""));
        let mut line = b"date".to_vec();
        line.resize(GREETING_LETTERS_MAX, b'x');
        assert!(is_greeting(&line));
        line.push(b'x');
        assert!(!is_greeting(&line));
    }

    #[test]
    fn letters_past_the_limit_do_not_count() {
        let long = letters(&[b'a'; 5000]).expect("enough letters");
        assert_eq!(long.len(), LETTERS_MAX);
        let lines = [b"abcdefghijklmnopqrstuvwxyz\n".repeat(200), b"zz".to_vec()].concat();
        assert_eq!(letters(&lines), letters(&lines[..lines.len() - 2]));
    }
}
