//! Printing, and files that appear whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use seenit_filter::{Filter, Layout, file};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::problem::Problem;

/// Prints one JSON document.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Problem> {
    let print = || -> io::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, value)?;
        writeln!(out)
    };
    print().map_err(Problem::io("standard output"))
}

/// Prints lines of text.
pub(crate) fn text(text: &str) -> Result<(), Problem> {
    io::stdout().lock().write_all(text.as_bytes()).map_err(Problem::io("standard output"))
}

/// Writes a filter file beside `path`, syncs it and renames it: `path` holds what it held before, or all of it.
pub(crate) fn write_filter<L: Layout, S: AsRef<[u64]>>(
    path: &Path,
    filter: &Filter<L, S>,
) -> Result<(), Problem> {
    let write = || -> io::Result<()> {
        if path.exists() && !path.is_file() {
            // Renaming over a device would put a file in its place.
            return Err(io::Error::other("it is there and is no ordinary file"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary = temporary_in(folder)?;
        file::write(filter, &mut BufWriter::with_capacity(1 << 20, temporary.as_file()))?;
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(Problem::output(path))
}

/// A temporary file that may become an ordinary one: with the permissions the user's mask leaves, not private.
fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
