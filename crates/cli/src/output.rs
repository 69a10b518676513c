//! Printing, and files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use seenit_filter::file::{self, Stored};
use seenit_ledger::new_file::NewFile;
use serde::Serialize;

use crate::problem::Problem;
use crate::progress::Progress;

/// Prints one JSON document.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Problem> {
    let document = serde_json::to_string_pretty(value).map_err(|error| Problem::io("JSON")(error.into()))?;
    text(&(document + "\n"))
}

/// Prints lines of text.
pub(crate) fn text(text: &str) -> Result<(), Problem> {
    printed(io::stdout().lock().write_all(text.as_bytes()))
}

/// A reader that has seen enough (`| head`) is no problem.
pub(crate) fn printed(result: io::Result<()>) -> Result<(), Problem> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Problem::io("standard output")(error)),
        _ => Ok(()),
    }
}

/// Writes a filter file. `inputs` are files it may not replace.
pub(crate) fn write_filter(path: &Path, filter: &impl Stored, inputs: &[&Path]) -> Result<(), Problem> {
    write_file(path, filter.header().file_bytes(), inputs, |mut out| file::write(filter, &mut out))
}

/// Writes a file of about so many bytes beside `path`, syncs it and renames it: `path` holds what it held before,
/// or all of it. `inputs` are files it may not replace.
pub(crate) fn write_file(
    path: &Path,
    bytes: u64,
    inputs: &[&Path],
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Problem> {
    let write = || -> io::Result<()> {
        let path = target_of(path, inputs)?;
        check_folder_of(&path)?;
        let file = NewFile::ordinary(&path)?;
        let progress = Progress::of_bytes("writing", bytes);
        let mut out = BufWriter::with_capacity(1 << 20, Counted { file: file.as_file(), progress });
        contents(&mut out)?;
        out.flush()?;
        drop(out);
        file.put(&path).map(drop)
    };
    write().map_err(Problem::output(path))
}

/// Before a temporary name is tried there, which would stand in the error.
fn check_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(io::Error::other(format!("there is no folder {}: make it first", folder.display())))
        }
        _ => Ok(()),
    }
}

/// A file that tells how far it is.
struct Counted<'a> {
    file: &'a File,
    progress: Progress,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.progress.advance(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where to rename to. Links are followed, since renaming would replace the link; whatever is no ordinary file is
/// refused, since renaming would replace a device by a file.
fn target_of(path: &Path, inputs: &[&Path]) -> io::Result<PathBuf> {
    if path.symlink_metadata().is_err() {
        return Ok(path.to_owned());
    }
    let target = path.canonicalize()?;
    if !target.is_file() {
        return Err(io::Error::other("it is there and is no ordinary file"));
    }
    if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == target)) {
        return Err(io::Error::other("it is one of the inputs"));
    }
    Ok(target)
}
