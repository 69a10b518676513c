//! The row `catch up` once more on a disk whose sync takes longer: the race runs itself under a library that sleeps in
//! `fsync` and `fdatasync`.

use std::error::Error;
use std::fs;
use std::process::{Command, Stdio};

use super::catch_up::CatchUpRow;
use crate::process::folder_on_disk;

const SOURCE: &str = include_str!("slow_sync.c");

/// Builds the library with the C compiler and runs the catch-up in a process of its own.
pub(crate) fn catch_up(messages: u64, sync_millis: u64) -> Result<CatchUpRow, Box<dyn Error>> {
    let folder = folder_on_disk()?;
    let source = folder.path().join("slow_sync.c");
    let library = folder.path().join("slow_sync.so");
    fs::write(&source, SOURCE)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(&source);
    let built = compiler.status().map_err(|error| format!("cc: {error}: needed for --sync-millis"))?;
    if !built.success() {
        return Err("cc: the library of a slow disk does not build".into());
    }
    let mut race = Command::new(std::env::current_exe()?);
    race.args(["sites", "--only", "catch-up", "--sync-millis", "0", "--json", "--messages"]);
    race.arg(messages.to_string()).stderr(Stdio::inherit());
    race.env("LD_PRELOAD", &library).env("SLOW_SYNC_MILLIS", sync_millis.to_string());
    let output = race.output()?;
    let rows: Vec<CatchUpRow> = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the race on a slow disk answered nothing to read: {error}"))?;
    let mut row = rows.into_iter().next().ok_or("the race on a slow disk has no row")?;
    row.name = format!("catch up, {sync_millis} ms a sync");
    Ok(row)
}
