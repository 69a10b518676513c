//! What a process knows of itself, and how it ends as if it had crashed.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

/// Prints the answer and ends at once: no store is closed, no destructor runs.
pub(crate) fn answer_and_crash(answer: impl Serialize) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &answer)?;
    out.flush()?;
    std::process::exit(0)
}

/// A line of `/proc/self/status` in MiB, as `VmRSS`; zero where there is no such file.
pub(crate) fn mebibytes(line: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kibibytes = value.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kibibytes.unwrap_or(0.0) / 1024.0
}

/// Bytes that the files below a folder take on the disk. Holes take nothing.
pub(crate) fn disk_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A file may vanish under a store's own housekeeping.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += if metadata.is_dir() { disk_bytes(&entry.path())? } else { allocated(&metadata) };
    }
    Ok(bytes)
}

#[cfg(unix)]
fn allocated(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
fn allocated(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_folders_count() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("below"))?;
        fs::write(folder.path().join("one"), [1; 5000])?;
        fs::write(folder.path().join("below/two"), [2; 5000])?;
        assert!(disk_bytes(folder.path())? >= 10_000);
        Ok(())
    }
}
