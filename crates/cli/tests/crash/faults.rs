//! The library of faults: built, told what to do, and what it kept undone.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

type Environment = Vec<(&'static str, String)>;

/// Builds the library; `None`, and said so, where there is no C compiler.
pub(crate) fn library() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/faults.c");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}.so", std::process::id()));
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl")
        .status();
    match built {
        Ok(status) => {
            assert!(status.success(), "the library of faults does not build");
            Some(library)
        }
        Err(error) => {
            eprintln!("skipped: no C compiler for the library of faults: {error}");
            None
        }
    }
}

fn base(library: &Path, data: &Path) -> Environment {
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    vec![("LD_PRELOAD", text(library)), ("FAULTS_FOLDER", text(data))]
}

/// Every Nth write or sync fails while the switch exists.
pub(crate) fn every(library: &Path, data: &Path, switch: &Path, fault: &'static str, every: u64) -> Environment {
    let mut environment = base(library, data);
    environment.push((fault, every.to_string()));
    environment.push(("FAULTS_SWITCH", switch.to_str().expect("text").to_owned()));
    environment
}

/// No space after so many bytes while the switch exists.
pub(crate) fn space(library: &Path, data: &Path, switch: &Path, bytes: u64) -> Environment {
    every(library, data, switch, "FAULTS_SPACE", bytes)
}

/// What is not synced is kept to be undone.
pub(crate) fn power(library: &Path, data: &Path, undo: &Path) -> Environment {
    let mut environment = base(library, data);
    environment.push(("FAULTS_UNDO", undo.to_str().expect("text").to_owned()));
    environment
}

/// Takes away what was written and not synced. Returns how many bytes that were.
pub(crate) fn undo(data: &Path, undo: &Path) -> u64 {
    let mut undone = 0;
    for path in files(data) {
        let kept = undo.join(fs::metadata(&path).expect("a file").ino().to_string());
        let Ok(bytes) = fs::read(&kept) else { continue };
        let file = File::options().write(true).open(&path).expect("writable");
        for (offset, old) in entries(&bytes).into_iter().rev() {
            match offset {
                u64::MAX => {
                    let length = u64::from_le_bytes(old.try_into().expect("a length"));
                    let now = file.metadata().expect("a file").len();
                    undone += now.saturating_sub(length);
                    file.set_len(length).expect("writable");
                }
                _ => file.write_all_at(old, offset).expect("writable"),
            }
        }
        fs::remove_file(kept).expect("removed");
    }
    // Of files that are gone.
    for entry in fs::read_dir(undo).expect("readable") {
        fs::remove_file(entry.expect("an entry").path()).expect("removed");
    }
    undone
}

/// Offsets and old bytes; the length of the file as an entry of offset 2^64 - 1.
fn entries(bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let (mut entries, mut rest) = (Vec::new(), bytes);
    while let Some((head, after)) = rest.split_first_chunk::<16>() {
        let offset = u64::from_le_bytes(std::array::from_fn(|index| head[index]));
        let length = u64::from_le_bytes(std::array::from_fn(|index| head[8 + index])) as usize;
        if offset == u64::MAX {
            entries.push((offset, &head[8..]));
            rest = after;
            continue;
        }
        // The last entry may be cut off by the kill: its write has not happened.
        let Some((old, after)) = after.split_at_checked(length) else { break };
        entries.push((offset, old));
        rest = after;
    }
    entries
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}
