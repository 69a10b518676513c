//! Reading files, as `./fuzz` calls it: the bytes are in memory, and no disk is asked.

use std::convert::Infallible;
use std::path::Path;

use crate::archive::Archive;
use crate::error::MailError;
use crate::messages;

/// Calls `visit` with each message of a file with this name and these bytes, or with why it cannot be read.
pub fn each_message(name: &str, bytes: &[u8], mut visit: impl FnMut(Result<&[u8], MailError>)) {
    let mut visit = |_: &str, mail: Result<&[u8], MailError>| {
        visit(mail);
        Ok(())
    };
    let Ok(()) = Archive::of(Path::new(name))
        .each_file::<Infallible>(name, bytes, &mut |name, file| messages::of_file(name, file, &mut visit));
}
