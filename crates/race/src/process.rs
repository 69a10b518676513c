//! What is known of a process, and how it ends as if it had crashed.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use tempfile::TempDir;

/// Prints the answer and ends at once: no store is closed, no destructor runs.
pub(crate) fn answer_and_crash(answer: impl Serialize) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &answer)?;
    out.flush()?;
    std::process::exit(0)
}

/// A folder for the time of a race, beside the binary: a temporary folder may lie in memory, where nothing can be made
/// durable.
pub(crate) fn folder_on_disk() -> io::Result<TempDir> {
    let binary = std::env::current_exe()?;
    tempfile::tempdir_in(binary.parent().unwrap_or(Path::new(".")))
}

/// A line of this process's `/proc/self/status` in MiB, as `VmRSS`.
pub(crate) fn mebibytes(line: &str) -> f64 {
    status_bytes("self", line) as f64 / f64::from(1 << 20)
}

/// A line of a process's `/proc/PID/status` in bytes, as `VmRSS`; zero where there is no such file.
pub(crate) fn status_bytes(process: &str, line: &str) -> u64 {
    let kibibytes = status_line(process, line).and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// What a line of a process's `/proc/PID/status` says.
fn status_line(process: &str, line: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// Seconds of processor time that all threads of a process took; zero where nobody tells.
pub(crate) fn cpu_secs(process: &str) -> f64 {
    /// What Linux counts in, whatever its own clock ticks in.
    const TICKS_PER_SEC: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field is a name in parentheses that may hold anything; user and system time are the 14th and 15th.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / TICKS_PER_SEC
}

/// A process that another one started, with that word in its command line; none where nobody tells.
pub(crate) fn child_of(parent: u32, word: &str) -> Option<u32> {
    let is_child = |id: &u32| {
        let has_word =
            fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains(word));
        has_word && status_line(&id.to_string(), "PPid").is_some_and(|id| id == parent.to_string())
    };
    let processes =
        fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes.into_iter().find(is_child)
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

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_takes_time() {
        assert!(status_bytes("self", "VmHWM") >= status_bytes("self", "VmRSS") / 2);
        assert!(mebibytes("VmRSS") > 0.1);
        let before = cpu_secs("self");
        let mut number = 1u64;
        while cpu_secs("self") == before {
            number = (0..1_000_000u64).fold(number, |number, step| std::hint::black_box(number ^ step));
        }
    }

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
