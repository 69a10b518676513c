//! What the faults amount to, for people.

use super::lookups::OPERATIONS;
use super::{BPE, Measured};
use crate::account::{Account, Finding, Table, Verdict};
use crate::figure::{Axis, Figure, Series};
use crate::pages::Variant;

const TITLE: &str =
    "Beyond the paper: faults of a mapped filter that is larger than memory, 10 bits a key, k = 7";

/// The table of a system that cannot count.
pub(super) fn skipped(why: &str) -> Table {
    Table { title: TITLE.into(), head: vec![], rows: vec![], verdict: Verdict::Ours, summary: why.to_owned() }
}

/// `no_group` says why no cgroup was used, if none was.
pub(super) fn account(measured: &[Measured], no_group: Option<&str>) -> Account {
    let pairs = pairs(measured);
    let kept_in_memory = measured.iter().all(|one| one.tally.major == 0);
    let mut summary = format!(
        "A filter of {} MiB with {} keys at {BPE} bits, {} lookups of each kind. Page-out advice drops the \
         file from memory before each batch of lookups; a cgroup leaves the process a part of the filter's \
         size.",
        measured[0].pages / 256,
        measured[0].keys,
        measured[0].lookups,
    );
    if let Some(why) = no_group {
        summary += &format!(" No cgroup was used ({why}).");
    }
    if kept_in_memory {
        summary +=
            " Not one fault read from the disk: the folder of temporary files seems to be kept in memory.";
    }
    let head = [
        "memory",
        "lookup of a",
        "standard: pages",
        "major",
        "minor",
        "us",
        "paged: pages",
        "major",
        "minor",
        "us",
        "major, standard / paged",
    ];
    let table = Table {
        title: TITLE.into(),
        head: head.map(str::to_owned).to_vec(),
        rows: pairs.iter().map(cells).collect(),
        verdict: Verdict::Ours,
        summary,
    };
    let findings = if kept_in_memory { vec![] } else { vec![finding(&pairs)] };
    Account { tables: vec![table], figures: vec![faults_figure(measured), time_figure(measured)], findings }
}

/// Standard and paged under the same limit, for the same kind of lookup.
fn pairs(measured: &[Measured]) -> Vec<[&Measured; 2]> {
    let of = |variant| measured.iter().filter(move |one| one.variant == variant);
    let alike = |a: &Measured, b: &Measured| (a.limit_eighths, a.operation) == (b.limit_eighths, b.operation);
    of(Variant::Standard)
        .filter_map(|standard| Some([standard, of(Variant::Paged).find(|paged| alike(standard, paged))?]))
        .collect()
}

fn memory(one: &Measured) -> String {
    match one.limit_bytes {
        None => one.limit.to_owned(),
        Some(bytes) => format!("{}, {} of {} MiB", one.limit, bytes >> 20, one.pages / 256),
    }
}

fn cells(pair: &[&Measured; 2]) -> Vec<String> {
    let mut cells = vec![memory(pair[0]), OPERATIONS[pair[0].operation].to_owned()];
    for one in pair {
        let Tallied { major, minor, microseconds } = tallied(one);
        cells.extend([
            format!("{:.2}", one.touched),
            format!("{major:.3}"),
            format!("{minor:.3}"),
            format!("{microseconds:.1}"),
        ]);
    }
    cells.push(match pair[1].tally.major {
        0 => String::new(),
        paged => format!("{:.1}", pair[0].tally.major as f64 / paged as f64),
    });
    cells
}

/// A lookup.
struct Tallied {
    major: f64,
    minor: f64,
    microseconds: f64,
}

fn tallied(one: &Measured) -> Tallied {
    Tallied {
        major: one.per_lookup(one.tally.major),
        minor: one.per_lookup(one.tally.minor),
        microseconds: one.per_lookup(one.tally.nanoseconds) / 1e3,
    }
}

fn finding(pairs: &[[&Measured; 2]]) -> Finding {
    let holds = pairs.iter().all(|[standard, paged]| {
        let more = standard.tally.major as f64;
        let less = paged.tally.major as f64;
        // Five standard deviations of two counts.
        more - less > 5.0 * (more + less).sqrt()
    });
    let said: Vec<String> = pairs
        .iter()
        .filter(|[standard, _]| standard.operation == 0)
        .map(|[standard, paged]| {
            let ours = tallied(paged);
            let theirs = tallied(standard);
            format!(
                "{}: {:.2} major faults and {:.0} us against {:.2} and {:.0}",
                memory(standard),
                ours.major,
                ours.microseconds,
                theirs.major,
                theirs.microseconds
            )
        })
        .collect();
    Finding::new(
        "Where the filter is larger than memory, one page an operation saves the most",
        holds,
        format!("Lookups of members, paged against standard. {}.", said.join("; ")),
    )
}

type Value = fn(&Measured) -> f64;

fn points(measured: &[Measured], variant: Variant, operation: usize, value: Value) -> Vec<(f64, f64)> {
    let of = measured.iter().filter(|one| one.variant == variant && one.operation == operation);
    of.map(|one| (one.limit_eighths as f64 / 8.0, value(one))).collect()
}

fn both(measured: &[Measured], value: Value) -> Vec<Series> {
    let series = |variant: Variant, operation| {
        let name = format!("{}, {}", variant.name(), OPERATIONS[operation]);
        Series::line(name, points(measured, variant, operation, value))
    };
    [(Variant::Standard, 0), (Variant::Paged, 0), (Variant::Standard, 1), (Variant::Paged, 1)]
        .map(|(variant, operation)| series(variant, operation))
        .to_vec()
}

fn faults_figure(measured: &[Measured]) -> Figure {
    let mut series = both(measured, |one| one.per_lookup(one.tally.major));
    let cold = |one: &Measured| one.touched * (1.0 - one.limit_eighths as f64 / 8.0);
    series.push(Series::dashed("touched, not in memory", points(measured, Variant::Standard, 0, cold)));
    series.push(Series::dashed("the same, paged", points(measured, Variant::Paged, 0, cold)));
    Figure {
        title: "Major faults of a filter larger than memory".into(),
        caption: "Faults that read from the disk, a lookup, by the share of the filter that memory may \
                  hold (0: dropped before each batch). Dashed: the pages a lookup of a member touches, \
                  times the share that cannot be in memory. A standard filter pays for nearly every bit, a \
                  paged one at most once."
            .into(),
        x: Axis::linear("memory allowed / size of the filter"),
        y: Axis::linear("major faults a lookup"),
        series,
    }
}

fn time_figure(measured: &[Measured]) -> Figure {
    Figure {
        title: "Time of a lookup in a filter larger than memory".into(),
        caption: "Microseconds a lookup on this machine's disk; they follow the major faults.".into(),
        x: Axis::linear("memory allowed / size of the filter"),
        y: Axis::linear("microseconds a lookup"),
        series: both(measured, |one| one.per_lookup(one.tally.nanoseconds) / 1e3),
    }
}
