//! Paths in, files out: folders are walked, archives are opened.

use std::cell::RefCell;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::archive::Archive;
use crate::error::MailError;

/// Folders in folders: beyond this somebody made a circle.
const DEPTH_MAX: usize = 32;

/// How many of the files that were passed over are named: one line of them is enough to see what happened.
const SKIPPED_NAMES_MAX: usize = 5;

/// Takes the name of a file and what is in it.
type Visit<'a, E> = &'a mut dyn FnMut(&str, &mut dyn Read) -> Result<(), E>;

/// Takes the name of a file and what is in it, or why it cannot be opened.
pub(crate) type VisitAny<'a, E> = &'a mut dyn FnMut(&str, Result<&mut dyn Read, MailError>) -> Result<(), E>;

/// Files that hold messages, found but not read.
pub struct Mailbox<'a> {
    sources: Vec<Source>,
    skipped: RefCell<Skipped>,
    /// Told how many bytes more were read.
    watch: &'a dyn Fn(u64),
}

enum Source {
    StandardInput,
    File {
        path: PathBuf,
        bytes: u64,
        /// Named by the caller, so it must be there.
        named: bool,
    },
    /// A file or folder that cannot be looked at.
    Unreadable {
        path: PathBuf,
        error: io::Error,
    },
    /// A folder that the caller named, with nothing in it that is read.
    Empty {
        path: PathBuf,
        hidden: Option<PathBuf>,
    },
}

/// Files below a folder that were passed over: links that lead nowhere or round in a circle, and files that were gone
/// when their turn came, as in a Maildir that is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub files: u64,
    /// The first few of them.
    pub names: Vec<String>,
}

impl Skipped {
    fn add(&mut self, path: &Path) {
        self.files += 1;
        if self.names.len() < SKIPPED_NAMES_MAX {
            self.names.push(path.display().to_string());
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (files, were) = if self.files == 1 { ("file", "was") } else { ("files", "were") };
        write!(
            f,
            "{} {files} could not be read and {were} passed over: {}",
            self.files,
            self.names.join(", ")
        )?;
        if self.files > self.names.len() as u64 { f.write_str(", ...") } else { Ok(()) }
    }
}

impl<'a> Mailbox<'a> {
    /// Finds the files at and below these paths, in the order of paths and names.
    ///
    /// `-` is standard input. A folder with `cur` and `new` is a Maildir, any other is walked, without its dot files.
    /// Only regular files are taken from folders: a pipe among them would wait for ever.
    ///
    /// The first path that cannot be looked at is an error. A folder may be empty.
    pub fn find(paths: &[PathBuf]) -> Result<Self, MailError> {
        let mut mailbox = Mailbox::find_or_failures(paths)?;
        mailbox.sources.retain(|source| !matches!(source, Source::Empty { .. }));
        let is_unreadable = |source: &Source| matches!(source, Source::Unreadable { .. });
        match mailbox.sources.iter().position(is_unreadable).map(|at| mailbox.sources.swap_remove(at)) {
            Some(Source::Unreadable { path, error }) => Err(MailError::Open { path, error }),
            _ => Ok(mailbox),
        }
    }

    /// The same, and a path that cannot be looked at, or a folder without files, is told by
    /// [`each_message_or_failure`](Mailbox::each_message_or_failure) when its turn comes.
    pub fn find_or_failures(paths: &[PathBuf]) -> Result<Self, MailError> {
        let is_pipe = |path: &&PathBuf| path.as_os_str() == "-";
        if paths.iter().filter(is_pipe).count() > 1 {
            return Err(MailError::StdinTwice);
        }
        let mut walk = Walk::default();
        for path in paths {
            if is_pipe(&path) {
                walk.sources.push(Source::StandardInput);
            } else {
                walk.named(path);
            }
        }
        Ok(Mailbox { sources: walk.sources, skipped: RefCell::new(walk.skipped), watch: &|_| {} })
    }

    /// The bytes of all files, as they lie on the disk; nothing is known of standard input.
    pub fn bytes(&self) -> u64 {
        let bytes = |source: &Source| match source {
            Source::StandardInput | Source::Unreadable { .. } | Source::Empty { .. } => 0,
            Source::File { bytes, .. } => *bytes,
        };
        self.sources.iter().map(bytes).sum()
    }

    /// Has `watch` told of every few bytes that are read: they add up to [`bytes`](Mailbox::bytes).
    pub fn watched<'b>(self, watch: &'b dyn Fn(u64)) -> Mailbox<'b> {
        Mailbox { sources: self.sources, skipped: self.skipped, watch }
    }

    /// The files that have been passed over so far; `None` if there are none. All are known after the last visit.
    pub fn skipped(&self) -> Option<Skipped> {
        let skipped = self.skipped.borrow();
        (skipped.files > 0).then(|| skipped.clone())
    }

    /// Calls `visit` with the name of every file and what is in it. `.gz` and `.zst` are unpacked, and `.tar`, packed
    /// or not, is read as the folder it holds.
    pub fn each_file<E: From<MailError>>(&self, visit: Visit<'_, E>) -> Result<(), E> {
        self.each_file_or_failure(&mut |name, file| visit(name, file?))
    }

    /// The same, and `visit` is told of what cannot be opened.
    pub(crate) fn each_file_or_failure<E>(&self, visit: VisitAny<'_, E>) -> Result<(), E> {
        for source in &self.sources {
            let (path, bytes, named) = match source {
                Source::StandardInput => {
                    visit("standard input", Ok(&mut io::stdin().lock()))?;
                    continue;
                }
                Source::Unreadable { path, error } => {
                    let error = io::Error::new(error.kind(), error.to_string());
                    visit(&path.display().to_string(), Err(MailError::open(path)(error)))?;
                    continue;
                }
                Source::Empty { path, hidden } => {
                    let error = MailError::Empty { path: path.clone(), hidden: hidden.clone() };
                    visit(&path.display().to_string(), Err(error))?;
                    continue;
                }
                Source::File { path, bytes, named } => (path, bytes, named),
            };
            let name = path.display().to_string();
            match File::open(path) {
                Ok(file) => {
                    let file = Watched { file, watch: self.watch };
                    Archive::of(path).each_file(&name, file, visit)?;
                }
                Err(error) => {
                    (self.watch)(*bytes);
                    if error.kind() == io::ErrorKind::NotFound && !named {
                        self.skipped.borrow_mut().add(path);
                    } else {
                        visit(&name, Err(MailError::open(path)(error)))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What was found so far, and where we are.
#[derive(Default)]
struct Walk {
    sources: Vec<Source>,
    skipped: Skipped,
    /// The folders around the place where we are, by their real paths.
    around: Vec<PathBuf>,
}

impl Walk {
    /// A path that the caller named: it must be there, and may be a pipe or a device.
    fn named(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let before = self.sources.len();
                if let Err(error) = self.folder(path) {
                    self.unreadable(path, error);
                }
                if self.sources.len() == before {
                    let (path, hidden) = (path.to_owned(), hidden_folder(path));
                    self.sources.push(Source::Empty { path, hidden });
                }
            }
            Ok(metadata) => {
                self.sources.push(Source::File { path: path.to_owned(), bytes: metadata.len(), named: true });
            }
            Err(error) => self.unreadable(path, error),
        }
    }

    fn unreadable(&mut self, path: &Path, error: io::Error) {
        self.sources.push(Source::Unreadable { path: path.to_owned(), error });
    }

    /// What lies in a folder, by names.
    fn folder(&mut self, path: &Path) -> io::Result<()> {
        let real = fs::canonicalize(path)?;
        if self.around.contains(&real) {
            self.skipped.add(path);
            return Ok(());
        }
        if self.around.len() > DEPTH_MAX {
            return Err(io::Error::other(format!("folders more than {DEPTH_MAX} deep")));
        }
        let entries = entries(path)?;
        self.around.push(real);
        entries.iter().for_each(|entry| self.found(entry));
        self.around.pop();
        Ok(())
    }

    /// A path that was found in a folder.
    fn found(&mut self, path: &Path) {
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => match self.folder(path) {
                Err(error) if is_gone(&error) => self.skipped.add(path),
                Err(error) => self.unreadable(path, error),
                Ok(()) => (),
            },
            Ok(metadata) if metadata.is_file() => {
                self.sources.push(Source::File {
                    path: path.to_owned(),
                    bytes: metadata.len(),
                    named: false,
                });
            }
            Ok(_) => (),
            Err(error) if is_gone(&error) || path.is_symlink() => self.skipped.add(path),
            Err(error) => self.unreadable(path, error),
        }
    }
}

/// The paths in a folder that may be mail.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_maildir = folder.join("cur").is_dir() && folder.join("new").is_dir();
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?.path();
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A Maildir's other folders are not mail yet, its dot files are the server's.
        let wanted = if is_maildir { name == "cur" || name == "new" } else { !name.starts_with('.') };
        if wanted {
            entries.push(entry);
        }
    }
    entries.sort_unstable();
    Ok(entries)
}

/// The first folder in a folder that [`entries`] leaves out because of its dot.
fn hidden_folder(folder: &Path) -> Option<PathBuf> {
    let paths = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_hidden = |path: &PathBuf| {
        path.is_dir() && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
    };
    paths.filter(is_hidden).min()
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
