//! Experiment 1: how long it takes to insert n keys of 8 bytes at 10 bits a key.
//!
//! Seconds are those of one machine, so what can be compared with the paper is the ratio of the two layouts. The memory
//! is touched before the clock starts, as in the paper, and the filters fit into it: there are no page faults in this
//! experiment, only misses of the caches and of the table of pages (TLB).

use std::time::Duration;

use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::{Filter, Layout};

use super::clock::Stopwatch;
use super::printed::{self, Printed};
use super::{Row, STREAM, Variant, empty, median, paged, pages_for, sip_key, standard};
use crate::account::{Account, Finding, Outcome, Table, Verdict};
use crate::bench::{Bench, LabError};
use crate::draw;
use crate::figure::{Axis, Figure, Series};
use crate::interval::{Summary, critical_z};

const BPE: u64 = 10;

/// Keys drawn at once, with the clock stopped: half a mebibyte, less than any second-level cache of today.
const CHUNK_KEYS: u64 = 1 << 16;

/// Timed runs of each filter, as in the paper.
const REPETITIONS: u32 = 3;

/// Seconds of the runs at one number of keys: one by one and in batches, standard and paged.
struct Timed {
    keys: u64,
    single: [Vec<f64>; 2],
    batched: [Vec<f64>; 2],
}

pub(super) fn run(max_keys: u64, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let sizes = sizes(max_keys);
    let repetitions = bench.rounds_or(REPETITIONS, 1);
    bench.progress.begin("timing insertion", sizes.iter().sum::<u64>() * 4 * u64::from(repetitions));
    let timed =
        sizes.iter().map(|&keys| time_size(keys, repetitions, bench)).collect::<Result<Vec<_>, _>>()?;
    let printed = printed::insertion();
    let account = account(&timed, &printed, repetitions);
    Ok(Outcome { rows: rows(&timed, &printed), account })
}

/// The paper's numbers of keys up to `max_keys`; below its second one, eighths of the largest.
fn sizes(max_keys: u64) -> Vec<u64> {
    let printed: Vec<u64> = printed::insertion()
        .iter()
        .map(|line| line.at * 1_000_000)
        .filter(|&keys| keys <= max_keys)
        .collect();
    if printed.len() >= 2 {
        return printed;
    }
    let mut parts: Vec<u64> = [8, 4, 2, 1].iter().map(|part| max_keys.div_ceil(*part)).collect();
    parts.dedup();
    parts
}

/// Interleaved, so that a slow minute of the machine falls on all of them.
fn time_size(keys: u64, repetitions: u32, bench: &Bench<'_>) -> Result<Timed, LabError> {
    let pages = pages_for(keys, BPE);
    let mut timed = Timed { keys, single: [vec![], vec![]], batched: [vec![], vec![]] };
    for repetition in 0..repetitions {
        let path = [STREAM, 1, keys, u64::from(repetition)];
        timed.single[0].push(time(standard(pages)?, keys, &path, bench, one_by_one)?);
        timed.single[1].push(time(paged(pages)?, keys, &path, bench, one_by_one)?);
        timed.batched[0].push(time(standard(pages)?, keys, &path, bench, Filter::insert_many)?);
        timed.batched[1].push(time(paged(pages)?, keys, &path, bench, Filter::insert_many)?);
    }
    Ok(timed)
}

/// The seconds that `insert` takes for all keys of a stream.
fn time<L: Layout>(
    layout: L,
    keys: u64,
    path: &[u64],
    bench: &Bench<'_>,
    insert: impl Fn(&mut Filter<L>, &SipKey, &[[u8; 8]]),
) -> Result<f64, LabError> {
    let sip = sip_key(bench.seed, path);
    let mut rng = draw::stream(bench.seed, path);
    let mut filter = touched(layout, &sip)?;
    let mut chunk = Vec::new();
    let mut left = keys;
    let mut spent = Duration::ZERO;
    while left > 0 {
        chunk.clear();
        chunk.extend((0..left.min(CHUNK_KEYS)).map(|_| rng.next().to_le_bytes()));
        let watch = Stopwatch::start();
        insert(&mut filter, &sip, &chunk);
        spent += watch.spent();
        left -= chunk.len() as u64;
        bench.progress.advance(chunk.len() as u64);
    }
    // Nobody may decide that bits which are never read need not be written.
    std::hint::black_box(filter.words());
    Ok(spent.as_secs_f64())
}

/// An empty filter every page of which has been written to: what is timed is insertion, not the first use of memory.
fn touched<L: Layout>(layout: L, sip: &SipKey) -> Result<Filter<L>, LabError> {
    let nothing = empty(layout, sip.fingerprint())?;
    let mut filter = empty(layout, sip.fingerprint())?;
    filter.union(&nothing).expect("both were made alike");
    Ok(filter)
}

/// As the paper inserts.
fn one_by_one<L: Layout>(filter: &mut Filter<L>, sip: &SipKey, keys: &[[u8; 8]]) {
    for key in keys {
        filter.insert(sip.hash(key));
    }
}

fn rows(timed: &[Timed], printed: &[Printed]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (one, layout) in timed.iter().flat_map(|one| [(one, 0), (one, 1)]) {
        let runs = &one.single[layout];
        rows.push(Row {
            bpe: Some(BPE),
            keys: Some(one.keys),
            seconds: Some(median(runs)),
            seconds_batched: Some(median(&one.batched[layout])),
            operations: one.keys * runs.len() as u64,
            repetitions: runs.len() as u32,
            sd: (runs.len() > 1).then(|| Summary::of(runs).sd),
            paper: printed_at(printed, one.keys).map(|line| line.mean(layout)),
            ..Variant::BOTH[layout].row("insertion", "insert", pages_for(one.keys, BPE))
        });
    }
    rows
}

fn printed_at(printed: &[Printed], keys: u64) -> Option<&Printed> {
    if keys.is_multiple_of(1_000_000) { printed::find(printed, keys / 1_000_000) } else { None }
}

/// Seconds per million keys, with its standard error: the slope of the line through all runs.
fn slope<'a>(runs: impl Iterator<Item = (u64, &'a Vec<f64>)>) -> (f64, f64) {
    let points: Vec<(f64, f64)> =
        runs.flat_map(|(keys, runs)| runs.iter().map(move |&seconds| (keys as f64 / 1e6, seconds))).collect();
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (xx, xy) = points
        .iter()
        .fold((0.0, 0.0), |(xx, xy), point| (xx + (point.0 - x).powi(2), xy + (point.0 - x) * (point.1 - y)));
    if xx == 0.0 {
        // One number of keys: nothing shows how far a line through it may be off.
        return (y / x, f64::INFINITY);
    }
    let slope = xy / xx;
    let rest: f64 = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    (slope, (rest / (n - 2.0).max(1.0) / xx).sqrt())
}

/// The ratio of two slopes, with its standard error.
fn ratio((standard, standard_error): (f64, f64), (paged, paged_error): (f64, f64)) -> (f64, f64) {
    let ratio = paged / standard;
    (ratio, ratio * (standard_error / standard).hypot(paged_error / paged))
}

fn account(timed: &[Timed], printed: &[Printed], repetitions: u32) -> Account {
    let slopes = |of: fn(&Timed) -> &[Vec<f64>; 2]| {
        [0, 1].map(|layout| slope(timed.iter().map(move |one| (one.keys, &of(one)[layout]))))
    };
    let single = slopes(|one| &one.single);
    let batched = slopes(|one| &one.batched);
    let ours = ratio(single[0], single[1]);
    let ahead = ratio(batched[0], batched[1]);
    let theirs = ratio(printed::SLOPES[0], printed::SLOPES[1]);
    let verdict = verdict(timed, printed, ours, theirs);
    let summary = format!(
        "Fitted seconds per million keys: standard {:.4} +- {:.4}, paged {:.4} +- {:.4} (printed {:.4} and \
         {:.4}, another machine's). Their ratio is {:.3} +- {:.3}, printed {:.3} +- {:.3}{}. In batches, \
         which fetch memory ahead, it is {:.3} +- {:.3}. Time of the processor, medians of interleaved \
         runs ({repetitions} of each); {}",
        single[0].0,
        single[0].1,
        single[1].0,
        single[1].1,
        printed::SLOPES[0].0,
        printed::SLOPES[1].0,
        ours.0,
        ours.1,
        theirs.0,
        theirs.1,
        match verdict {
            Verdict::Agrees => "",
            Verdict::Differs => ": caches, the TLB and the price of a hash differ from machine to machine",
            Verdict::Ours => " for far larger filters",
        },
        ahead.0,
        ahead.1,
        huge_pages(),
    );
    let table = Table {
        title: "Experiment 1: seconds to insert n keys of 8 bytes, 10 bits a key, k = 7".into(),
        head: [
            "million keys",
            "standard",
            "paged",
            "ratio",
            "batched standard",
            "batched paged",
            "ratio",
            "printed standard",
            "printed paged",
            "ratio",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: timed.iter().map(|one| cells(one, printed_at(printed, one.keys))).collect(),
        verdict,
        summary,
    };
    Account {
        tables: vec![table],
        figures: figures(timed, printed),
        findings: vec![finding(ours, ahead, theirs)],
    }
}

/// By the ratio of the slopes; only where sizes of the paper were timed.
fn verdict(timed: &[Timed], printed: &[Printed], ours: (f64, f64), theirs: (f64, f64)) -> Verdict {
    let agrees = (ours.0 - theirs.0).abs() <= critical_z(1) * ours.1.hypot(theirs.1);
    match timed.iter().filter(|one| printed_at(printed, one.keys).is_some()).count() {
        0 | 1 => Verdict::Ours,
        _ if agrees => Verdict::Agrees,
        _ => Verdict::Differs,
    }
}

/// What the system does about large pages: they take away most of what the paged layout saves in the TLB.
fn huge_pages() -> String {
    match std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled") {
        Ok(setting) => format!("transparent huge pages are set to {}.", setting.trim()),
        Err(_) => "this system does not say whether it uses huge pages.".to_owned(),
    }
}

fn cells(one: &Timed, printed: Option<&Printed>) -> Vec<String> {
    let mut cells = vec![format!("{}", one.keys as f64 / 1e6)];
    for runs in [&one.single, &one.batched] {
        let standard = median(&runs[0]);
        let paged = median(&runs[1]);
        cells.extend([format!("{standard:.3}"), format!("{paged:.3}"), format!("{:.3}", paged / standard)]);
    }
    match printed {
        None => cells.extend(["", "", ""].map(str::to_owned)),
        Some(line) => {
            let standard = line.mean(0);
            let paged = line.mean(1);
            cells.extend([
                format!("{standard:.2}"),
                format!("{paged:.2}"),
                format!("{:.3}", paged / standard),
            ]);
        }
    }
    cells
}

fn finding(ours: (f64, f64), ahead: (f64, f64), theirs: (f64, f64)) -> Finding {
    let critical = critical_z(1);
    // Not slower than printed, and faster than standard, both beyond chance.
    let holds = ours.0 <= theirs.0 + critical * ours.1.hypot(theirs.1) && ours.0 + critical * ours.1 < 1.0;
    Finding::new(
        "Inserting into pages takes 20 % less time (printed as 80 % less) and gives 25 % more operations a second",
        holds,
        format!(
            "{:+.1} % time (+- {:.1}) and {:+.1} % operations a second one by one, {:+.1} % time in \
             batches. The filters fit into memory: this measures misses of caches and TLB, not page \
             faults.",
            (ours.0 - 1.0) * 100.0,
            ours.1 * 100.0,
            (1.0 / ours.0 - 1.0) * 100.0,
            (ahead.0 - 1.0) * 100.0,
        ),
    )
}

fn figures(timed: &[Timed], printed: &[Printed]) -> Vec<Figure> {
    let millions = |one: &Timed| one.keys as f64 / 1e6;
    let ours = |of: fn(&Timed) -> &[Vec<f64>; 2], layout: usize| {
        timed.iter().map(move |one| (millions(one), median(&of(one)[layout]))).collect::<Vec<_>>()
    };
    let theirs = |layout| printed.iter().map(move |line| (line.at as f64, line.mean(layout)));
    let ratios = |of: fn(&Timed) -> &[Vec<f64>; 2]| {
        timed.iter().map(move |one| (millions(one), median(&of(one)[1]) / median(&of(one)[0])))
    };
    let seconds = Figure {
        title: "Time of insertion".into(),
        caption: "Seconds to insert n keys of 8 bytes at 10 bits a key and k = 7: medians of our runs, \
                  means of the printed ones (another machine). Where two lines lie on each other, pages \
                  neither save nor cost time."
            .into(),
        x: Axis::log("keys (million)"),
        y: Axis::log("seconds"),
        series: vec![
            Series::line("standard", ours(|one| &one.single, 0)).printed(theirs(0)),
            Series::line("paged", ours(|one| &one.single, 1)).printed(theirs(1)),
            Series::line("standard, batched", ours(|one| &one.batched, 0)),
            Series::line("paged, batched", ours(|one| &one.batched, 1)),
        ],
    };
    let their_ratios = printed.iter().map(|line| (line.at as f64, line.mean(1) / line.mean(0)));
    let ratio = Figure {
        title: "Time of paged over standard insertion".into(),
        caption: "Below 1 pages save time. Ours one by one (as in the paper) and in batches, and the \
                  printed means."
            .into(),
        x: Axis::log("keys (million)"),
        y: Axis::linear("paged / standard"),
        series: vec![
            Series::line("one by one", ratios(|one| &one.single)).printed(their_ratios),
            Series::line("in batches", ratios(|one| &one.batched)),
        ],
    };
    vec![seconds, ratio]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_papers_as_far_as_they_go() {
        assert_eq!(sizes(20_000_000), [1, 5, 10, 15, 20].map(|millions| millions * 1_000_000));
        assert_eq!(sizes(200_000), [25_000, 50_000, 100_000, 200_000]);
        assert_eq!(sizes(1), [1]);
    }

    #[test]
    fn the_fit_finds_the_printed_slopes_in_the_printed_runs() {
        let printed = printed::insertion();
        for (layout, expected) in printed::SLOPES.into_iter().enumerate() {
            let (slope, error) = slope(printed.iter().map(|line| (line.at * 1_000_000, &line.runs[layout])));
            assert!((slope - expected.0).abs() < 1e-3, "{slope} and not {}", expected.0);
            assert!((error - expected.1).abs() < 1e-3, "{error} and not {}", expected.1);
        }
    }
}
