//! Files, mapped; filters checked to the last page: tools trust nothing they did not look at.

use std::path::{Path, PathBuf};

use seenit_filter::file::FileView;
use seenit_ledger::mapped;

use crate::problem::Problem;
use crate::progress::Progress;

/// A mapped file. Its path comes along for messages.
pub(crate) struct Mapped {
    path: PathBuf,
    map: mapped::Mapped,
}

impl Mapped {
    pub(crate) fn open(path: &Path) -> Result<Self, Problem> {
        let map = mapped::Mapped::open(path).map_err(Problem::input(path))?;
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
