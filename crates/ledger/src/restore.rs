//! Putting a backup in place: a new incarnation begins, because nothing inside the folder tells that it is an older
//! copy.
//!
//! Records that were written after the backup may be known elsewhere by their names. Under the old incarnation the next
//! records would get the same names. A new one gives them others, and old names still mean the records they meant.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::answers::Stats;
use crate::clock::Clock;
use crate::config::LedgerConfig;
use crate::error::{Cause, OpenError};
use crate::identity::Identity;
use crate::incarnations::IncarnationChange;
use crate::ledger::Ledger;
use crate::new_file::sync_folder;
use crate::writer::Job;

/// What a restored folder is.
#[derive(Debug)]
pub struct Restored {
    /// The incarnation that the backup was taken in.
    pub incarnation_before: u64,
    /// How its ledger is doing, in the new incarnation.
    pub stats: Stats,
}

/// Copies a backup to `folder`, which must be absent or empty, and begins a new incarnation in it. The folder appears
/// whole or not at all, durable, and readable by its owner alone.
pub fn restore(
    backup: &Path,
    folder: &Path,
    config: LedgerConfig,
    clock: Arc<dyn Clock>,
) -> Result<Restored, OpenError> {
    Identity::of_site(backup).map_err(|error| match error {
        OpenError::NoDataFolder(path) => OpenError::NoBackup(path),
        other => other,
    })?;
    let _unused = unused(backup)?;
    // Before anybody is told to move it away.
    drop(unused(folder)?);
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let name = folder.display();
        let why =
            format!("there is data in it already: move it away first, for example `mv {name} {name}.old`");
        return Err(OpenError::Damaged { path: folder.to_owned(), why: why.into() });
    }
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let copy = tempfile::Builder::new()
        .prefix(".seenit-")
        .suffix(".restoring")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(parent);
    let copy = copy.map_err(OpenError::file(parent))?;
    copy_all(backup, copy.path())?;
    let restored = restore_in_place(copy.path(), config, clock)?;
    fs::rename(copy.path(), folder).map_err(OpenError::file(folder))?;
    sync_folder(parent).map_err(OpenError::file(parent))?;
    Ok(restored)
}

/// Begins a new incarnation in a folder that was put back by other means. No server may be running on it.
pub fn restore_in_place(
    folder: &Path,
    config: LedgerConfig,
    clock: Arc<dyn Clock>,
) -> Result<Restored, OpenError> {
    let incarnation_before = Identity::of_site(folder)?.incarnation().id;
    let ledger = Ledger::open(folder, config, clock)?;
    let begun = ledger.ask_and_wait(|reply| Job::ChangeIncarnation(IncarnationChange::Restored, reply));
    let begun = begun.and_then(|()| ledger.snapshot());
    begun.map_err(|error| OpenError::Rows(Cause::new(error)))?;
    Ok(Restored { incarnation_before, stats: ledger.stats() })
}

/// Makes sure that no server uses a folder for as long as what is returned lives. Nothing is written to it: a backup
/// may lie where nobody can write. Where there are no locks, no server could be seen.
fn unused(folder: &Path) -> Result<Option<File>, OpenError> {
    let Ok(file) = File::open(folder.join("lock")) else {
        return Ok(None);
    };
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(OpenError::Locked(folder.to_owned())),
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// Copies files and folders, each durable. Unfinished files are left out.
fn copy_all(from: &Path, to: &Path) -> Result<(), OpenError> {
    for entry in fs::read_dir(from).map_err(OpenError::file(from))? {
        let entry = entry.map_err(OpenError::file(from))?;
        let source = entry.path();
        let target = to.join(entry.file_name());
        if entry.file_name().to_string_lossy().starts_with(".seenit-") {
            continue;
        }
        let kind = fs::metadata(&source).map_err(OpenError::file(&source))?.file_type();
        if kind.is_dir() {
            fs::DirBuilder::new().mode(0o700).create(&target).map_err(OpenError::file(&target))?;
            copy_all(&source, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target).map_err(OpenError::file(&source))?;
        } else {
            let why = "a backup has files and folders, and this is neither".into();
            return Err(OpenError::Damaged { path: source, why });
        }
    }
    sync_folder(to).map_err(OpenError::file(to))
}

fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    let mut copy = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
    io::copy(&mut File::open(source)?, &mut copy)?;
    copy.sync_all()
}
