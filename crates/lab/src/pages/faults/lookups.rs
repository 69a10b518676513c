//! Lookups in a mapped filter file, their faults counted: in this process, or in one that was given little memory.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use seenit_filter::file::FileView;
use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_filter::{AnyLayout, Filter};
use seenit_ledger::mapped::Mapped;

use super::super::STREAM;
use super::super::group::join;
use super::super::page_faults::Faults;
use crate::bench::{LabError, Progress};
use crate::draw;

/// What is looked up: keys that are in, and keys that are not.
pub(super) const OPERATIONS: [&str; 2] = ["member", "stranger"];

/// Lookups before the file is dropped from memory again. Few, so that a page is hardly ever needed twice in a batch.
const BATCH_LOOKUPS: usize = 32;

/// Where strangers are taken from: so many numbers beyond the members.
const STRANGERS: u64 = 1 << 40;

/// Lookups for a process that has little memory.
#[derive(Clone, Debug)]
pub struct Job {
    /// The filter file. Its keys are the numbers below `keys`, hashed with the public key.
    pub file: PathBuf,
    /// The folder of the cgroup to join first.
    pub group: PathBuf,
    /// Keys in the filter.
    pub keys: u64,
    /// How many members to look up, and then how many strangers.
    pub lookups: u64,
    /// Which ones follows from it.
    pub seed: u64,
}

impl Job {
    /// As the arguments of a command: file, group, keys, lookups, seed.
    pub fn arguments(&self) -> [OsString; 5] {
        let number = |number: u64| OsString::from(number.to_string());
        let file = self.file.clone().into();
        let group = self.group.clone().into();
        [file, group, number(self.keys), number(self.lookups), number(self.seed)]
    }
}

/// What lookups cost. As text: four numbers in the order of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Faults that read from the file.
    pub major: u64,
    /// Faults that did not.
    pub minor: u64,
    /// Time.
    pub nanoseconds: u64,
    /// Lookups that said yes.
    pub hits: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.major, self.minor, self.nanoseconds, self.hits)
    }
}

impl FromStr for Tally {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        let mut numbers = text.split(' ').map(str::parse);
        // What is missing is read as an empty number, which is refused.
        let mut next = || numbers.next().unwrap_or_else(|| "".parse());
        Ok(Tally { major: next()?, minor: next()?, nanoseconds: next()?, hits: next()? })
    }
}

/// Joins the group of the job, then looks up members and strangers, with the memory that the group allows.
///
/// The process stays in the group: call this from one that ends soon.
pub fn cold_lookups(job: &Job) -> Result<[Tally; 2], LabError> {
    join(&job.group).map_err(|error| LabError::File { path: job.group.clone(), error })?;
    let failed = |error| LabError::File { path: job.file.clone(), error };
    // Once through the file, so that memory is as full as it may be before anything is counted.
    io::copy(&mut File::open(&job.file).map_err(failed)?, &mut io::sink()).map_err(failed)?;
    let mapped = mapped(&job.file).map_err(failed)?;
    let filter = in_place(&mapped).map_err(failed)?;
    Ok([0, 1].map(|operation| {
        let hashes = hashes(job.seed, operation, job.keys, job.lookups);
        // Others first, so that what stays in memory has been chosen by lookups and not by reading.
        let others = self::hashes(job.seed + 1, operation, job.keys, job.lookups / 4);
        look_up(&filter, &others);
        look_up(&filter, &hashes)
    }))
}

/// The hashes of what is looked up.
pub(super) fn hashes(seed: u64, operation: usize, keys: u64, lookups: u64) -> Vec<Hash128> {
    let sip = SipKey::public();
    let mut rng = draw::stream(seed, &[STREAM, 5, operation as u64]);
    let number = |_| if operation == 0 { rng.below(keys) } else { keys + rng.below(STRANGERS) };
    (0..lookups).map(number).map(|number| sip.hash(&number.to_le_bytes())).collect()
}

/// Looks up in this process and drops the file from memory before each batch.
pub(super) fn after_advice(
    path: &Path,
    hashes: &[Hash128],
    progress: &dyn Progress,
) -> Result<Tally, LabError> {
    let failed = |error| LabError::File { path: path.to_owned(), error };
    let mut sum = Tally::default();
    for batch in hashes.chunks(BATCH_LOOKUPS) {
        drop_from_memory(path).map_err(failed)?;
        let mapped = mapped(path).map_err(failed)?;
        let tally = look_up(&in_place(&mapped).map_err(failed)?, batch);
        sum.major += tally.major;
        sum.minor += tally.minor;
        sum.nanoseconds += tally.nanoseconds;
        sum.hits += tally.hits;
        progress.advance(batch.len() as u64);
    }
    Ok(sum)
}

/// Asks the system to forget the file's pages. It does for pages that are on the disk and that nobody has mapped.
#[cfg(target_os = "linux")]
pub(super) fn drop_from_memory(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::fadvise(&File::open(path)?, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// Nothing to ask: where faults are not counted, nobody comes here.
#[cfg(not(target_os = "linux"))]
pub(super) fn drop_from_memory(_: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The file. Pages next to the one that is needed would be read too, and then not be missed later.
fn mapped(path: &Path) -> io::Result<Mapped> {
    let mapped = Mapped::open(path)?;
    mapped.expect_random_reads()?;
    Ok(mapped)
}

fn in_place(mapped: &Mapped) -> io::Result<Filter<AnyLayout, &[u64]>> {
    FileView::open(mapped).and_then(|view| view.filter()).map_err(io::Error::other)
}

fn look_up(filter: &Filter<AnyLayout, &[u64]>, hashes: &[Hash128]) -> Tally {
    let before = Faults::now().unwrap_or_default();
    let start = Instant::now();
    let hits = hashes.iter().filter(|&&hash| filter.contains(hash)).count() as u64;
    let nanoseconds = start.elapsed().as_nanos() as u64;
    let Faults { major, minor } = Faults::now().unwrap_or_default().since(before);
    Tally { major, minor, nanoseconds, hits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_come_back_from_their_text() {
        let tally = Tally { major: 1, minor: 2, nanoseconds: 3, hits: 4 };
        assert_eq!(tally.to_string().parse(), Ok(tally));
        assert!("1 2 3".parse::<Tally>().is_err() && "a b c d".parse::<Tally>().is_err());
    }
}
