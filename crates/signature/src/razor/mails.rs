//! The mails in a file, as `razor-check` reads them before it looks into them.

use std::borrow::Cow;

use memchr::memchr_iter;

/// The mails in a file that is given to `razor-check` and its sisters.
///
/// A file that starts with `From ` is an mbox: a mail starts at every line that does. Any other file is one
/// mail, and its lines that start with `From `, behind any number of `>`, get one more `>`. An empty file holds
/// no mail.
///
/// Mail that a program hands over as such, as SpamAssassin does, does not go through this.
pub fn mails_of_file(file: &[u8]) -> Vec<Cow<'_, [u8]>> {
    if file.is_empty() {
        return Vec::new();
    }
    if !file.starts_with(b"From ") {
        return vec![quote_from_lines(file)];
    }
    let starts: Vec<usize> = line_starts(file).filter(|&at| file[at..].starts_with(b"From ")).collect();
    let ends = starts.iter().skip(1).copied().chain([file.len()]);
    starts.iter().zip(ends).map(|(&start, end)| Cow::Borrowed(&file[start..end])).collect()
}

fn quote_from_lines(mail: &[u8]) -> Cow<'_, [u8]> {
    let mut quoted = Vec::new();
    let mut copied = 0;
    for at in line_starts(mail).filter(|&at| is_from_line(&mail[at..])) {
        quoted.extend_from_slice(&mail[copied..at]);
        quoted.push(b'>');
        copied = at;
    }
    if copied == 0 && quoted.is_empty() {
        return Cow::Borrowed(mail);
    }
    quoted.extend_from_slice(&mail[copied..]);
    Cow::Owned(quoted)
}

fn is_from_line(line: &[u8]) -> bool {
    let marks = super::text::leading(line, |byte| byte == b'>');
    line[marks..].starts_with(b"From ")
}

fn line_starts(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    std::iter::once(0).chain(memchr_iter(b'\n', text).map(|at| at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mbox_is_cut_before_every_from_line() {
        let file = b"From a\nx\n\nbody\n>From b\nFrom c\ny\n";
        assert_eq!(mails_of_file(file), [&b"From a\nx\n\nbody\n>From b\n"[..], b"From c\ny\n"]);
    }

    #[test]
    fn a_single_mail_has_its_from_lines_quoted() {
        let file = b"x: y\n\nFrom a\n>>From b\n> From c\nFrom: d\n";
        assert_eq!(mails_of_file(file), [&b"x: y\n\n>From a\n>>>From b\n> From c\nFrom: d\n"[..]]);
        assert!(matches!(mails_of_file(b"x").as_slice(), [Cow::Borrowed(b"x")]));
    }

    #[test]
    fn an_empty_file_holds_no_mail() {
        assert!(mails_of_file(b"").is_empty());
    }
}
