//! Beyond the paper: page faults of a mapped filter that does not fit into the memory allowed to it.
//!
//! Two ways to keep it out. Page-out advice: before each batch of lookups the file is dropped from memory, so every
//! page is read anew. A memory cgroup: a process of its own may have a part of the filter's size, and the system
//! decides what stays. Faults are those of the thread that looks keys up, between its first lookup and its last.

mod lookups;
mod report;

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use seenit_filter::hash::{Hash128, SipKey};
use seenit_filter::{AnyLayout, Filter, Layout};
use tempfile::NamedTempFile;

pub use self::lookups::{Job, Tally, cold_lookups};
use self::lookups::{OPERATIONS, after_advice, hashes};
use super::group::Group;
use super::page_faults::Faults;
use super::touched::distinct_pages;
use super::{Row, Variant, empty};
use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

const BPE: u64 = 10;

/// Pages of the filter, full and quick: 64 MiB, which a disk reads in a second, and 16 MiB, of which a half is still
/// enough for a process to live in.
const PAGES: (u64, u64) = (16_384, 4_096);

/// The memory allowed, in eighths of the filter's size, full and quick.
const EIGHTHS: (&[u64], &[u64]) = (&[1, 2, 4, 6], &[4]);

/// Lookups of members, and as many of strangers, full and quick.
const LOOKUPS: (u64, u64) = (4_000, 500);

/// Keys hashed and inserted at once while a filter is filled.
const CHUNK_KEYS: u64 = 1 << 16;

/// A filter in a file, which goes when this is dropped.
struct Built {
    variant: Variant,
    layout: AnyLayout,
    keys: u64,
    file: NamedTempFile,
    /// Pages that lookups of members and of strangers touch, on average.
    touched: [f64; 2],
}

/// Lookups of one kind in one filter under one limit.
struct Measured {
    variant: Variant,
    operation: usize,
    pages: u64,
    keys: u64,
    lookups: u64,
    touched: f64,
    limit: &'static str,
    limit_eighths: u64,
    limit_bytes: Option<u64>,
    tally: Tally,
}

impl Measured {
    fn per_lookup(&self, count: u64) -> f64 {
        count as f64 / self.lookups as f64
    }

    fn row(&self) -> Row {
        Row {
            bpe: Some(BPE),
            keys: Some(self.keys),
            seconds: Some(self.per_lookup(self.tally.nanoseconds) / 1e9),
            pages_touched: Some(self.touched),
            major_faults: Some(self.per_lookup(self.tally.major)),
            minor_faults: Some(self.per_lookup(self.tally.minor)),
            operations: self.lookups,
            limit: Some(self.limit),
            limit_bytes: self.limit_bytes,
            ..self.variant.row("faults", OPERATIONS[self.operation], self.pages)
        }
    }
}

pub(super) fn run(child: Option<&[OsString]>, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    if Faults::now().is_none() {
        let table = report::skipped("skipped: this system does not say how many faults a thread had");
        return Ok(Outcome { rows: vec![], account: Account { tables: vec![table], ..Account::default() } });
    }
    let pages = bench.choose(PAGES.0, PAGES.1);
    let keys = pages * seenit_filter::PAGE_BITS / BPE;
    bench.progress.begin("filling a filter larger than memory", keys * 2);
    let built = [build(Variant::Standard, pages, keys, bench)?, build(Variant::Paged, pages, keys, bench)?];
    let mut measured = advised(&built, bench)?;
    let no_group = match child {
        None => Some("nobody named a program to run in one".to_owned()),
        Some(child) => limited(&built, child, bench).map(|more| measured.extend(more)).err(),
    };
    let rows = measured.iter().map(Measured::row).collect();
    Ok(Outcome { rows, account: report::account(&measured, no_group.as_deref()) })
}

fn build(variant: Variant, pages: u64, keys: u64, bench: &Bench<'_>) -> Result<Built, LabError> {
    let sip = SipKey::public();
    let layout = variant.layout(pages)?;
    let mut filter = empty(layout, sip.fingerprint())?;
    for start in (0..keys).step_by(CHUNK_KEYS as usize) {
        let chunk: Vec<[u8; 8]> = (start..keys.min(start + CHUNK_KEYS)).map(u64::to_le_bytes).collect();
        filter.insert_many(&sip, &chunk);
        bench.progress.advance(chunk.len() as u64);
    }
    let lookups = bench.choose(LOOKUPS.0, LOOKUPS.1);
    let touched = [0, 1].map(|operation| {
        let hashes = hashes(bench.seed, operation, keys, lookups);
        hashes.iter().map(|&hash| pages_touched(&filter, hash)).sum::<u64>() as f64 / lookups as f64
    });
    Ok(Built { variant, layout, keys, file: stored(&filter)?, touched })
}

/// The pages a lookup touches: it ends at the first bit that is not set.
fn pages_touched(filter: &Filter<AnyLayout>, hash: Hash128) -> u64 {
    let layout = filter.layout();
    let words = filter.words();
    let is_unset = |&probe: &usize| {
        let position = layout.position(hash, probe);
        words[(position / 64) as usize] >> (position % 64) & 1 == 0
    };
    let ends = (0..layout.probes()).find(is_unset).map_or(layout.probes(), |probe| probe + 1);
    distinct_pages(layout, hash, ends)
}

/// Writes the filter into a temporary file, down to the disk: pages that are not there yet cannot be dropped.
fn stored(filter: &Filter<AnyLayout>) -> Result<NamedTempFile, LabError> {
    let folder = folder();
    let failed = |error| LabError::File { path: folder.clone(), error };
    let file = tempfile::Builder::new().prefix("seenit-lab-").tempfile_in(&folder).map_err(failed)?;
    let mut out = BufWriter::new(file.as_file());
    seenit_filter::file::write(filter, &mut out).and_then(|()| out.flush()).map_err(failed)?;
    drop(out);
    file.as_file().sync_all().map_err(failed)?;
    Ok(file)
}

/// Where large temporary files go: the folder that was asked for, or the one which systems keep on a disk.
fn folder() -> PathBuf {
    let on_disk = PathBuf::from("/var/tmp");
    if std::env::var_os("TMPDIR").is_none() && on_disk.is_dir() { on_disk } else { std::env::temp_dir() }
}

/// Looks up in this process, the file dropped from memory before each batch.
fn advised(built: &[Built; 2], bench: &Bench<'_>) -> Result<Vec<Measured>, LabError> {
    let lookups = bench.choose(LOOKUPS.0, LOOKUPS.1);
    bench.progress.begin("looking up in dropped pages", lookups * 4);
    let mut measured = Vec::new();
    for (one, operation) in built.iter().flat_map(|one| [(one, 0), (one, 1)]) {
        let hashes = hashes(bench.seed, operation, one.keys, lookups);
        let tally = after_advice(one.file.path(), &hashes, bench.progress)?;
        measured.push(measure(one, operation, lookups, ("page-out advice", 0, None), tally));
    }
    Ok(measured)
}

/// Looks up in a process of its own, limited by a cgroup. The error says why that cannot be done here.
fn limited(built: &[Built; 2], child: &[OsString], bench: &Bench<'_>) -> Result<Vec<Measured>, String> {
    let eighths = bench.choose(EIGHTHS.0, EIGHTHS.1);
    let lookups = bench.choose(LOOKUPS.0, LOOKUPS.1);
    bench.progress.begin("looking up with little memory", (eighths.len() * built.len()) as u64);
    let mut measured = Vec::new();
    for (&eighths, one) in eighths.iter().flat_map(|eighths| built.iter().map(move |one| (eighths, one))) {
        let bytes = one.layout.pages() * seenit_filter::PAGE_BYTES as u64 * eighths / 8;
        let group = Group::new(bytes)?;
        let file = one.file.path().to_owned();
        let folder = group.folder.clone();
        let job = Job { file, group: folder, keys: one.keys, lookups, seed: bench.seed };
        for (operation, tally) in in_child(child, &job)?.into_iter().enumerate() {
            measured.push(measure(one, operation, lookups, (group.version, eighths, Some(bytes)), tally));
        }
        bench.progress.advance(1);
    }
    Ok(measured)
}

/// Has the job done by another process and reads its two lines of tallies.
fn in_child(child: &[OsString], job: &Job) -> Result<[Tally; 2], String> {
    let (program, arguments) = child.split_first().ok_or("an empty command")?;
    lookups::drop_from_memory(&job.file).map_err(|error| error.to_string())?;
    let output = Command::new(program).args(arguments).args(job.arguments()).output();
    let output = output.map_err(|error| format!("{}: {error}", Path::new(program).display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the process in it ended with {}: {}", output.status, said.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let tallies: Vec<Tally> = text.lines().filter_map(|line| line.parse().ok()).collect();
    tallies.try_into().map_err(|_| format!("the process in it said {text:?}, not two tallies"))
}

fn measure(
    one: &Built,
    operation: usize,
    lookups: u64,
    (limit, limit_eighths, limit_bytes): (&'static str, u64, Option<u64>),
    tally: Tally,
) -> Measured {
    let variant = one.variant;
    let pages = one.layout.pages();
    let keys = one.keys;
    let touched = one.touched[operation];
    Measured { variant, operation, pages, keys, lookups, touched, limit, limit_eighths, limit_bytes, tally }
}
