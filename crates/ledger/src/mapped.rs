//! Mapping a snapshot: the one unsafe act of this room.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file that is replaced as a whole and never written in place.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: a snapshot is written under another name and then renamed, so no process of ours changes the bytes
    // under a mapping. Somebody who truncates the file by hand makes the process end with SIGBUS; the folder is the
    // owner's alone.
    unsafe { Mmap::map(file) }
}
