//! Files in, messages out.

use std::io::{self, BufReader, Read};

use crate::error::MailError;
use crate::files::Mailbox;
use crate::mbox;

/// The largest message: some servers let 50 MB of attachments pass, which base64 makes 70.
pub const MESSAGE_BYTES_MAX: u64 = 128 << 20;

/// Takes the name and the bytes of a message.
type Visit<'a, E> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), E>;

/// Takes the name of a message and its bytes, or why it cannot be read.
pub(crate) type VisitAny<'a, E> = &'a mut dyn FnMut(&str, Result<&[u8], MailError>) -> Result<(), E>;

impl Mailbox<'_> {
    /// Calls `visit` with the name and the bytes of every message. A file that begins with `From ` is an mbox; its
    /// second message is named `FILE#2`.
    ///
    /// The first message that cannot be read ends it.
    pub fn each_message<E: From<MailError>>(&self, visit: Visit<'_, E>) -> Result<(), E> {
        self.each_message_or_failure(&mut |name, mail| visit(name, mail?))
    }

    /// The same, and what cannot be read is handed to `visit` as well: a file that cannot be opened, a message that is
    /// too large, a damaged archive. Reading goes on with the next message, unless `visit` says otherwise.
    pub fn each_message_or_failure<E>(&self, visit: VisitAny<'_, E>) -> Result<(), E> {
        self.each_file_or_failure(&mut |name, file| of_file(name, file, visit))
    }
}

/// Calls `visit` with the messages of one file, or with why it cannot be read.
pub(crate) fn of_file<E>(
    name: &str,
    file: Result<&mut dyn Read, MailError>,
    visit: VisitAny<'_, E>,
) -> Result<(), E> {
    let mut start = [0; 5];
    let (file, length) = match file.and_then(|file| {
        let length = fill(file, &mut start).map_err(MailError::read(name))?;
        Ok((file, length))
    }) {
        Ok(opened) => opened,
        Err(error) => return visit(name, Err(error)),
    };
    let mut whole = (&start[..length]).chain(file);
    if start == *b"From " {
        return mbox::each_message(name, BufReader::new(whole), visit);
    }
    match all(name, &mut whole) {
        Ok(mail) => visit(name, Ok(&mail)),
        Err(error) => visit(name, Err(error)),
    }
}

/// The whole of a file that is one message.
pub(crate) fn all(name: &str, file: &mut dyn Read) -> Result<Vec<u8>, MailError> {
    let broken = MailError::read(name);
    let mut bytes = Vec::new();
    file.take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(&broken)?;
    if bytes.len() as u64 > MESSAGE_BYTES_MAX {
        return Err(broken(too_large()));
    }
    Ok(bytes)
}

/// What is said of a message above the limit.
pub(crate) fn too_large() -> io::Error {
    io::Error::other(format!("a message of more than {} MiB", MESSAGE_BYTES_MAX >> 20))
}

fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}
