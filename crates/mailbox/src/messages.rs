//! Files in, messages out.

use std::io::{self, BufReader, Read};

use crate::error::MailError;
use crate::files::Mailbox;
use crate::mbox;

/// The largest message: some servers let 50 MB of attachments pass, which base64 makes 70.
pub const MESSAGE_BYTES_MAX: u64 = 128 << 20;

/// Takes the name and the bytes of a message.
pub(crate) type Visit<'a, E> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), E>;

impl Mailbox<'_> {
    /// Calls `visit` with the name and the bytes of every message. A file that begins with `From ` is an mbox; its
    /// second message is named `FILE#2`.
    pub fn each_message<E: From<MailError>>(&self, visit: Visit<'_, E>) -> Result<(), E> {
        self.each_file(&mut |name, file| {
            let mut start = [0; 5];
            let length = fill(file, &mut start).map_err(MailError::read(name))?;
            let mut whole = (&start[..length]).chain(file);
            if start == *b"From " {
                mbox::each_message(name, BufReader::new(whole), visit)
            } else {
                visit(name, &all(name, &mut whole)?)
            }
        })
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
    io::Error::other(format!("a message of more than {MESSAGE_BYTES_MAX} bytes"))
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
