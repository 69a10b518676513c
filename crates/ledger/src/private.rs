//! Files and folders that only their owner may read, replaced as a whole or not at all.
//!
//! This is the one place that says how private a data folder is: it has mode 0700, and what is made in it 0600. Every
//! command that opens one asks here, and refuses one that others may read with the same words.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use seenit_filter::readable;

use crate::new_file::NewFile;

/// The rights of group and others.
const OTHERS: u32 = 0o077;

/// A private file or folder that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateError {
    /// It cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Others may look into it.
    #[error(
        "{0}: others may read it (mode {mode:03o}); run: chmod go= {0} (in a systemd unit: StateDirectoryMode=0700)",
        path.display()
    )]
    Open {
        /// Which.
        path: PathBuf,
        /// Its rights.
        mode: u32,
    },
    /// Its contents make no sense.
    #[error("{}: {why}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl PrivateError {
    /// It cannot be read or written.
    pub fn file(path: &Path, error: io::Error) -> Self {
        PrivateError::File { path: path.to_owned(), error }
    }
}

/// Makes a folder of mode 0700, or checks one. An empty one is made private; one with files in it may be in use by
/// others, so that is for its owner to do.
pub fn folder(path: &Path) -> Result<(), PrivateError> {
    let failed = |error| PrivateError::file(path, error);
    if !path.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    }
    if !path.is_dir() {
        let why = "this is no folder: name one, or a place where one can be made".into();
        return Err(PrivateError::Damaged { path: path.to_owned(), why });
    }
    match check_private(path) {
        Err(PrivateError::Open { .. }) if fs::read_dir(path).map_err(failed)?.next().is_none() => {
            fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)
        }
        checked => checked,
    }
}

/// Makes everything in a folder private, and all that this process makes from now on: the journal's store makes its
/// files without asking how private they are to be.
pub(crate) fn all_in(path: &Path) -> Result<(), PrivateError> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(OTHERS));
    tighten(path).map_err(|error| PrivateError::file(path, error))
}

fn tighten(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let (entry, is_folder) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?.is_dir())))?;
        let permissions = fs::metadata(&entry)?.permissions();
        let mode = if is_folder { 0o700 } else { 0o600 };
        if permissions.mode() & OTHERS != 0 {
            fs::set_permissions(&entry, Permissions::from_mode(mode))?;
        }
        if is_folder {
            tighten(&entry)?;
        }
    }
    Ok(())
}

/// Checks a folder that is there: nobody but its owner may look into it.
pub fn check_private(path: &Path) -> Result<(), PrivateError> {
    let mode =
        fs::metadata(path).map_err(|error| PrivateError::file(path, error))?.permissions().mode() & 0o777;
    if mode & OTHERS == 0 { Ok(()) } else { Err(PrivateError::Open { path: path.to_owned(), mode }) }
}

/// Refuses a folder that [`folder`] would refuse, and makes none. One that is missing must be possible to make.
pub fn check_folder(path: &Path) -> Result<(), PrivateError> {
    let failed = |error| PrivateError::file(path, error);
    let there =
        path.ancestors().map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    let nearest = there.into_iter().find(|above| above.exists()).unwrap_or(path);
    // What only a file made there can tell: the rights of this user, a full disk, one that is read-only.
    tempfile::tempfile_in(nearest).map_err(failed)?;
    let is_used = nearest == path && fs::read_dir(path).map_err(failed)?.next().is_some();
    if is_used { check_private(path) } else { Ok(()) }
}

/// Replaces a file: readers see the old one or the new one, also after a crash.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), PrivateError> {
    replace(path, bytes, false).map(drop).map_err(|error| PrivateError::file(path, error))
}

/// The same, and the new file is locked before anybody can see it, for as long as what is returned is kept.
pub fn write_locked(path: &Path, bytes: &[u8]) -> Result<File, PrivateError> {
    replace(path, bytes, true).map_err(|error| PrivateError::file(path, error))
}

fn replace(path: &Path, bytes: &[u8], is_locked: bool) -> io::Result<File> {
    let mut file = NewFile::private(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    if is_locked {
        file.as_file().try_lock()?;
    }
    file.write_all(bytes)?;
    file.put(path)
}

/// The variable with the folder in which systemd puts the files that it hands to a service.
pub const CREDENTIALS_FOLDER: &str = "CREDENTIALS_DIRECTORY";

/// Whether a file was handed over by systemd. Only the service may open those, by a list of who may; that list shows as
/// the rights of a group.
fn is_credential(path: &Path) -> bool {
    std::env::var_os(CREDENTIALS_FOLDER).is_some_and(|folder| path.parent() == Some(Path::new(&folder)))
}

/// Reads a file that nobody else may read. `None` where there is none.
pub fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, PrivateError> {
    let failed = |error| PrivateError::file(path, error);
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 && !is_credential(path) {
        return Err(PrivateError::Open { path: path.to_owned(), mode });
    }
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        let why = format!("has more than {}", readable::bytes(bytes_max));
        return Err(PrivateError::Damaged { path: path.to_owned(), why });
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn files_are_private_and_replaced() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("secret");
        assert!(read(&path, 10).expect("nothing").is_none());
        write(&path, b"one").expect("written");
        write(&path, b"two").expect("replaced");
        assert_eq!((read(&path, 10).expect("read"), mode(&path)), (Some(b"two".to_vec()), 0o600));
        assert!(read(&path, 2).expect_err("too long").to_string().contains("more than 2 bytes"));
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("ours");
        assert!(read(&path, 10).expect_err("open").to_string().contains("others may read it (mode 644)"));
    }

    #[test]
    fn folders_are_made_private_while_empty_and_refused_when_in_use() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a/b");
        folder(&path).expect("made");
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("ours");
        folder(&path).expect("tightened");
        assert_eq!(mode(&path), 0o700);
        fs::write(path.join("file"), "").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o750)).expect("ours");
        assert!(folder(&path).expect_err("in use").to_string().contains("chmod go= "));
    }
}
