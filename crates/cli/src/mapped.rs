//! Files, mapped; filters checked to the last page: tools trust nothing they did not look at.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use seenit_filter::file::FileView;

use crate::problem::Problem;
use crate::progress::Progress;

/// A mapped file. Its path comes along for messages.
pub(crate) struct Mapped {
    path: PathBuf,
    map: Mmap,
}

impl Mapped {
    pub(crate) fn open(path: &Path) -> Result<Self, Problem> {
        // Asked before opening: a pipe that nobody writes to would keep `open` waiting.
        if !path.metadata().map_err(Problem::input(path))?.is_file() {
            return Err(Problem::input(path)(io::Error::other("it is no ordinary file")));
        }
        let file = File::open(path).map_err(Problem::input(path))?;
        // SAFETY: the mapping is read-only, and seenit itself replaces filter files by renaming, never in place. A
        // stranger who writes into the file while it is read breaks this: cut short it ends this process (a bus
        // error), and changed it may answer from bytes that were checked before they were changed.
        let map = unsafe { Mmap::map(&file) }.map_err(Problem::input(path))?;
        Ok(Mapped { path: path.to_owned(), map })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is in the file, unchecked.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The file as a filter, every page checked.
    pub(crate) fn checked(&self) -> Result<FileView<'_>, Problem> {
        let view = FileView::open(&self.map).map_err(Problem::format(&self.path))?;
        let mut progress = Progress::new("checking pages", Some(view.header().pages()));
        view.check_all(|_| progress.advance(1)).map_err(Problem::format(&self.path))?;
        Ok(view)
    }
}
