//! Mapped files: the one unsafe act of this room, and of those that use it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use memmap2::{Advice, Mmap};

/// The bytes of a file that is replaced as a whole ([`NewFile`](crate::new_file::NewFile)) and never written in place.
#[derive(Debug)]
pub struct Mapped(Mmap);

impl Mapped {
    /// Maps a file, which must be an ordinary one.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Asked before opening: a pipe that nobody writes to would keep `open` waiting.
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is no ordinary file"));
        }
        // SAFETY: the mapping is read-only, and seenit writes such a file under another name and then renames it, so
        // that no process of ours changes the bytes under a mapping. Somebody else who does breaks this: cut short, the
        // file ends this process (a bus error), and changed, it may answer from bytes that were checked before.
        unsafe { Mmap::map(&File::open(path)?) }.map(Mapped)
    }

    /// Has the system read those pages alone that are asked for, and none next to them.
    pub fn expect_random_reads(&self) -> io::Result<()> {
        self.0.advise(Advice::Random)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
