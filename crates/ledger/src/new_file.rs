//! Files that take the place of others as a whole: readers see the old one or the new one, also after a crash.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// A file in the making. It is gone when it is dropped; one that a killed process left behind is named
/// `.seenit-*.tmp` in a data folder, where the next start removes it, and `NAME.seenit-*.tmp` elsewhere.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    /// Whether its name must be durable, too: some file systems cannot promise it.
    is_private: bool,
}

impl NewFile {
    /// One in a folder that nobody but its owner will be able to read.
    pub fn private(folder: &Path) -> io::Result<Self> {
        // `tempfile` makes files that only their owner may read.
        tempfile::Builder::new()
            .prefix(".seenit-")
            .suffix(".tmp")
            .tempfile_in(folder)
            .map(|file| NewFile { file, is_private: true })
    }

    /// One that is to take the place of this file, with its permissions; or those that the user's mask leaves.
    pub fn ordinary(path: &Path) -> io::Result<Self> {
        let prefix = path.file_name().unwrap_or_default().to_string_lossy().into_owned() + ".seenit-";
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".tmp").permissions(Permissions::from_mode(0o666));
        let file = builder.tempfile_in(folder_of(path))?;
        if let Ok(old) = fs::metadata(path) {
            file.as_file().set_permissions(old.permissions())?;
        }
        Ok(NewFile { file, is_private: false })
    }

    /// The file itself.
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it its name, durably.
    pub fn put(self, path: &Path) -> io::Result<File> {
        self.file.as_file().sync_all()?;
        let file = self.file.persist(path)?;
        let synced = sync_folder(folder_of(path));
        if self.is_private { synced.map(|()| file) } else { Ok(file) }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
