//! One lap: write all records, read some, tell the times.

use std::error::Error;
use std::time::Instant;

use seenit_filter::random::SplitMix;
use serde::{Deserialize, Serialize};

use super::records::{Key, Record, key, stranger};
use super::{Plan, fjall, redb};
use crate::process::{disk_bytes, mebibytes};
use crate::report::median;

/// One record in so many is preceded by a look at the index: repeats are about that frequent.
const REPEATS_ONE_IN: u64 = 20;
/// At most so many keys are read, hits and misses each: enough for two digits.
const MOST_READS: u64 = 200_000;
/// Keys asked for at once, as a batch of reports would.
const READS_AT_ONCE: u64 = 64;
/// At most so many rows of the log are scanned.
const MOST_SCANNED: u64 = 1_000_000;

/// A journal in some store.
pub(crate) trait Store {
    /// Looks up the repeats, then makes the records durable, all or none.
    fn commit(&mut self, records: &[Record], indexed: bool, repeats: &[Key]) -> Result<(), Box<dyn Error>>;
    /// How many of the keys the index has.
    fn count(&self, keys: &[Key]) -> Result<u64, Box<dyn Error>>;
    /// How many rows the log has from this number on, counted one by one, up to some number of them.
    fn scan(&self, from: u64, most: u64) -> Result<u64, Box<dyn Error>>;
    /// The number of the log's last row.
    fn last(&self) -> Result<Option<u64>, Box<dyn Error>>;
}

/// What one lap gave.
#[derive(Serialize, Deserialize)]
pub(crate) struct Lap {
    /// Median over the seconds of the run.
    pub(crate) rows_per_s: f64,
    /// In the worst second.
    pub(crate) worst_rows_per_s: f64,
    pub(crate) commit_p50_ms: f64,
    pub(crate) commit_p99_ms: f64,
    pub(crate) commit_max_ms: f64,
    /// After the writes and the reads.
    pub(crate) resident_mib: f64,
    pub(crate) resident_peak_mib: f64,
    pub(crate) disk_bytes_per_row: f64,
    /// Of the index; zero where there is none.
    pub(crate) hits_per_s: f64,
    pub(crate) misses_per_s: f64,
    /// Rows of the log, in order.
    pub(crate) scanned_per_s: f64,
}

/// What opening after a crash gave.
#[derive(Serialize, Deserialize)]
pub(crate) struct Restart {
    pub(crate) open_ms: f64,
    pub(crate) open_resident_mib: f64,
}

fn open(plan: &Plan) -> Result<Box<dyn Store>, Box<dyn Error>> {
    match plan.store.split('-').next() {
        Some("redb") => redb::open(&plan.store, &plan.folder),
        Some("fjall") => fjall::open(&plan.store, &plan.folder),
        _ => Err(format!("{}: no such store; there are redb and fjall", plan.store).into()),
    }
}

/// Writes all records, then reads.
pub(crate) fn run(plan: &Plan) -> Result<Lap, Box<dyn Error>> {
    let mut store = open(plan)?;
    let commits = write(store.as_mut(), plan)?;
    let reads = MOST_READS.min(plan.rows);
    let mut random = SplitMix(1);
    let mut hits_per_s = 0.0;
    let mut misses_per_s = 0.0;
    if plan.indexed {
        hits_per_s = read(store.as_ref(), reads, reads, || key(random.below(plan.rows)))?;
        misses_per_s = read(store.as_ref(), reads, 0, || stranger(random.below(plan.rows)))?;
    }
    let scanned = MOST_SCANNED.min(plan.rows);
    let started = Instant::now();
    if store.scan(plan.rows - scanned, scanned)? != scanned {
        return Err(format!("{} has lost rows of its log", plan.store).into());
    }
    let scanned_per_s = scanned as f64 / started.elapsed().as_secs_f64();
    let windows = per_second(&commits);
    let mut millis: Vec<f64> = commits.iter().map(|commit| commit.secs * 1e3).collect();
    millis.sort_by(f64::total_cmp);
    let at = |share: f64| millis[((millis.len() - 1) as f64 * share).round() as usize];
    let lap = Lap {
        worst_rows_per_s: windows.iter().copied().fold(f64::INFINITY, f64::min),
        rows_per_s: median(windows).unwrap_or(0.0),
        commit_p50_ms: at(0.5),
        commit_p99_ms: at(0.99),
        commit_max_ms: at(1.0),
        resident_mib: mebibytes("VmRSS"),
        resident_peak_mib: mebibytes("VmHWM"),
        disk_bytes_per_row: disk_bytes(&plan.folder)? as f64 / plan.rows as f64,
        hits_per_s,
        misses_per_s,
        scanned_per_s,
    };
    // Never closed: the next process finds what a crash would leave.
    std::mem::forget(store);
    Ok(lap)
}

/// Opens what a lap has left: every row that was committed must be there.
pub(crate) fn reopen(plan: &Plan) -> Result<Restart, Box<dyn Error>> {
    let started = Instant::now();
    let store = open(plan)?;
    let last = store.last()?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    if last != Some(plan.rows - 1) {
        return Err(format!("{} ends at row {last:?} of {} after a crash", plan.store, plan.rows).into());
    }
    let restart = Restart { open_ms, open_resident_mib: mebibytes("VmRSS") };
    std::mem::forget(store);
    Ok(restart)
}

/// One commit: when it was over, and how long it took.
struct Commit {
    ended_secs: f64,
    secs: f64,
    rows: u64,
}

fn write(store: &mut dyn Store, plan: &Plan) -> Result<Vec<Commit>, Box<dyn Error>> {
    let mut commits = Vec::new();
    let mut random = SplitMix(2);
    let started = Instant::now();
    let mut from = 0;
    while from < plan.rows {
        let to = plan.rows.min(from + plan.commit_records);
        let records: Vec<Record> = (from..to).map(Record::new).collect();
        let mut repeats = Vec::new();
        if plan.indexed && from > 0 {
            let many = (from..to).filter(|number| number % REPEATS_ONE_IN == 0);
            repeats.extend(many.map(|_| key(random.below(from))));
        }
        let began = Instant::now();
        store.commit(&records, plan.indexed, &repeats)?;
        let secs = began.elapsed().as_secs_f64();
        commits.push(Commit { ended_secs: started.elapsed().as_secs_f64(), secs, rows: to - from });
        from = to;
    }
    Ok(commits)
}

/// Rows in each second of the run. The last one, which is not whole, counts only where it is the only one.
fn per_second(commits: &[Commit]) -> Vec<f64> {
    let Some(last) = commits.last() else { return Vec::new() };
    let mut windows = vec![0.0; last.ended_secs as usize + 1];
    for commit in commits {
        windows[commit.ended_secs as usize] += commit.rows as f64;
    }
    if windows.len() == 1 {
        return vec![windows[0] / last.ended_secs];
    }
    windows.pop();
    windows
}

/// Looks up so many keys, of which so many must be there: keys a second.
fn read(
    store: &dyn Store,
    reads: u64,
    present: u64,
    mut next: impl FnMut() -> Key,
) -> Result<f64, Box<dyn Error>> {
    let mut found = 0;
    let mut done = 0;
    let started = Instant::now();
    while done < reads {
        let keys: Vec<Key> = (0..READS_AT_ONCE.min(reads - done)).map(|_| next()).collect();
        found += store.count(&keys)?;
        done += keys.len() as u64;
    }
    if found != present {
        return Err(format!("found {found} keys of {present}").into());
    }
    Ok(reads as f64 / started.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(ended_secs: f64, rows: u64) -> Commit {
        Commit { ended_secs, secs: 0.1, rows }
    }

    #[test]
    fn a_second_without_a_commit_is_a_stall() {
        let windows = per_second(&[commit(0.2, 10), commit(0.9, 10), commit(2.5, 10), commit(3.1, 10)]);
        assert_eq!(windows, [20.0, 0.0, 10.0]);
    }

    #[test]
    fn a_run_of_less_than_a_second_has_a_rate_too() {
        assert_eq!(per_second(&[commit(0.25, 10), commit(0.5, 10)]), [40.0]);
        assert!(per_second(&[]).is_empty());
    }
}
