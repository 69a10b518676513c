//! An mbox: messages in one file, each behind a line `From SENDER DATE`.
//!
//! There are many dialects, and none says how long a message is. We read them so:
//!
//! * The first line of the file begins with `From ` and starts a message, whatever else it says.
//! * A later line starts a message if it begins with `From `, follows an empty line and has a time and a year in it.
//!   Any other line that begins with `From ` is text: people write such lines, and many programs store them so.
//! * In the body of a message `>From `, `>>From ` and so on lose one `>`: the program that stored it has put it there.
//!   That holds for an mbox of one message too. Header lines stay as they are.

use std::io::{self, BufRead, Read};

use crate::error::MailError;
use crate::messages::{MESSAGE_BYTES_MAX, VisitAny, too_large};

/// The longest line that starts a message: an address and a date. RFC 5322 ends any line after 998 characters.
const START_BYTES_MAX: u64 = 1000;

/// Calls `visit` with each message of an mbox. The second is named `NAME#2`. A message that is too large is told to
/// `visit` as such, and passed over.
pub(crate) fn each_message<E>(name: &str, mut mbox: impl BufRead, visit: VisitAny<'_, E>) -> Result<(), E> {
    let broken = MailError::read(name);
    let mut message = Vec::new();
    let mut number = 1_u64;
    let mut in_body = false;
    let mut after_empty = false;
    let mut is_too_large = false;
    if let Err(error) = take_line(&mut mbox, &mut message) {
        return visit(name, Err(broken(error)));
    }
    message.clear();
    loop {
        let called = || if number == 1 { name.to_owned() } else { format!("{name}#{number}") };
        let before = message.len();
        let is_end = match take_line(&mut mbox, &mut message) {
            Ok(is_line) => !is_line,
            Err(error) => return visit(&called(), Err(broken(error))),
        };
        let line = &message[before..];
        let is_start = after_empty && starts_message(line);
        if is_end || is_start {
            if !is_too_large {
                visit(&called(), Ok(&message[..before]))?;
            }
            if is_end {
                return Ok(());
            }
            message.clear();
            number += 1;
            (in_body, after_empty, is_too_large) = (false, false, false);
            continue;
        }
        after_empty = matches!(line, b"\n" | b"\r\n");
        let is_quoted = in_body && is_quoted(line);
        in_body |= after_empty;
        if is_quoted {
            message.remove(before);
        }
        if message.len() as u64 > MESSAGE_BYTES_MAX && !is_too_large {
            visit(&called(), Err(MailError::read(&called())(too_large())))?;
            is_too_large = true;
        }
        if is_too_large {
            message.clear();
        }
    }
}

/// Puts the next line behind a message; says whether there was one. A line that makes the message too large is cut, but
/// never one that may start the next.
fn take_line(mbox: &mut impl BufRead, message: &mut Vec<u8>) -> io::Result<bool> {
    let room = MESSAGE_BYTES_MAX + START_BYTES_MAX - message.len() as u64;
    let bytes = mbox.by_ref().take(room).read_until(b'\n', message)?;
    Ok(bytes > 0)
}

/// Whether a line is like `From somebody@example.com Thu Jan  1 00:00:00 1970`: time zones and more may be there, too.
fn starts_message(line: &[u8]) -> bool {
    if !line.starts_with(b"From ") || line.len() as u64 >= START_BYTES_MAX {
        return false;
    }
    let words = || line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(2);
    words().any(is_time) && words().any(is_year)
}

/// `hh:mm` or `hh:mm:ss`.
fn is_time(word: &[u8]) -> bool {
    let mut numbers = 0;
    let is_number = |part: &[u8]| (1..=2).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
    word.split(|&byte| byte == b':').all(|part| {
        numbers += 1;
        is_number(part)
    }) && (2..=3).contains(&numbers)
}

/// Mail is younger than 1900, and will be read by other programs after 2099.
fn is_year(word: &[u8]) -> bool {
    word.len() == 4
        && (word.starts_with(b"19") || word.starts_with(b"20"))
        && word.iter().all(u8::is_ascii_digit)
}

/// `>From `, with any number of `>`.
fn is_quoted(line: &[u8]) -> bool {
    let marks = line.iter().take_while(|&&byte| byte == b'>').count();
    marks > 0 && line[marks..].starts_with(b"From ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_many_programs_start_a_message() {
        for line in [
            "From a@b Thu Jan  1 00:00:00 1970\n",
            "From - Tue Mar 14 12:00:00 2023\r\n",
            "From 1234@xxx Thu Jan 01 00:00:00 +0000 2015\n",
            "From a@b Thu Jan 1 9:07 EST 1987 remote from host\n",
        ] {
            assert!(starts_message(line.as_bytes()), "{line}");
        }
        for line in [
            "From here on\n",
            "From what I saw in 1999 it was\n",
            "From now, 10:30, on\n",
            "from a@b Thu Jan  1 00:00:00 1970\n",
            "From a@b Thu Jan  1 00:00:00:00 1970\n",
            "From a@b Thu Jan  1 00:00:00 +1970\n",
        ] {
            assert!(!starts_message(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let endless = io::BufReader::new(b"From a\n".chain(io::repeat(b'x')));
        let result = each_message("box", endless, &mut |_, mail| mail.map(drop));
        let error = result.expect_err("too large").to_string();
        assert!(error.contains("box") && error.contains("128 MiB"), "{error}");
        let endless = io::BufReader::new(b"From ".chain(io::repeat(b'x')));
        assert!(each_message("box", endless, &mut |_, mail| mail.map(drop)).is_err());
    }
}
