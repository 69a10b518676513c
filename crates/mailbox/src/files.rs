//! Paths in, files out: folders are walked, archives are opened.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::archive::Archive;
use crate::error::MailError;

/// Folders in folders: beyond this somebody made a circle.
const DEPTH_MAX: usize = 32;

/// Takes the name of a file and what is in it.
pub(crate) type Visit<'a, E> = &'a mut dyn FnMut(&str, &mut dyn Read) -> Result<(), E>;

/// Files that hold messages, found but not read.
pub struct Mailbox<'a> {
    sources: Vec<Source>,
    /// Told how many bytes more were read.
    watch: &'a dyn Fn(u64),
}

enum Source {
    StandardInput,
    File { path: PathBuf, bytes: u64 },
}

impl<'a> Mailbox<'a> {
    /// Finds the files at and below these paths, in the order of paths and names.
    ///
    /// `-` is standard input. A folder with `cur` and `new` is a Maildir, any other is walked, without its dot files.
    pub fn find(paths: &[PathBuf]) -> Result<Self, MailError> {
        let mut sources = Vec::new();
        for path in paths {
            if path.as_os_str() == "-" {
                sources.push(Source::StandardInput);
            } else {
                walk(path, 0, &mut sources)?;
            }
        }
        Ok(Mailbox { sources, watch: &|_| {} })
    }

    /// The bytes of all files, as they lie on the disk; nothing is known of standard input.
    pub fn bytes(&self) -> u64 {
        let bytes = |source: &Source| match source {
            Source::StandardInput => 0,
            Source::File { bytes, .. } => *bytes,
        };
        self.sources.iter().map(bytes).sum()
    }

    /// Has `watch` told of every few bytes that are read: they add up to [`bytes`](Mailbox::bytes).
    pub fn watched<'b>(self, watch: &'b dyn Fn(u64)) -> Mailbox<'b> {
        Mailbox { sources: self.sources, watch }
    }

    /// Calls `visit` with the name of every file and what is in it. `.tar`, `.tar.gz` and `.tar.zst` are read as the
    /// folders they hold.
    pub fn each_file<E: From<MailError>>(&self, visit: Visit<'_, E>) -> Result<(), E> {
        for source in &self.sources {
            let Source::File { path, .. } = source else {
                visit("standard input", &mut io::stdin().lock())?;
                continue;
            };
            let file = File::open(path).map_err(MailError::open(path))?;
            let mut file = Watched { file, watch: self.watch };
            let name = path.display().to_string();
            match Archive::of(path) {
                Some(archive) => archive.each_file(&name, file, visit)?,
                None => visit(&name, &mut file)?,
            }
        }
        Ok(())
    }
}

fn walk(path: &Path, depth: usize, sources: &mut Vec<Source>) -> Result<(), MailError> {
    let refused = MailError::open(path);
    let metadata = fs::metadata(path).map_err(&refused)?;
    if !metadata.is_dir() {
        sources.push(Source::File { path: path.to_owned(), bytes: metadata.len() });
        return Ok(());
    }
    if depth > DEPTH_MAX {
        return Err(refused(io::Error::other(format!("folders more than {DEPTH_MAX} deep"))));
    }
    let is_maildir = path.join("cur").is_dir() && path.join("new").is_dir();
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(&refused)? {
        let entry = entry.map_err(&refused)?.path();
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A Maildir's other folders are not mail yet, its dot files are the server's.
        let wanted = if is_maildir { name == "cur" || name == "new" } else { !name.starts_with('.') };
        if wanted {
            entries.push(entry);
        }
    }
    entries.sort_unstable();
    entries.iter().try_for_each(|entry| walk(entry, depth + 1, sources))
}

/// A file that tells how far it has been read.
struct Watched<'a> {
    file: File,
    watch: &'a dyn Fn(u64),
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        (self.watch)(bytes as u64);
        Ok(bytes)
    }
}
