//! The targets of the filter crate, each answered with yes or no and the number behind it.

use crate::report::{FLOOR, RIVAL, Row, find, ratio};

/// The rate the targets for rate and memory are stated for.
const STATED_RATE: f64 = 0.01;

type Column = fn(&Row) -> Option<f64>;

const INSERT: (&str, Column) = ("inserts", |row| row.insert_ns);
const HIT: (&str, Column) = ("hits", |row| row.hit_ns);
const MISS: (&str, Column) = ("misses", |row| row.miss_ns);

/// One line a target; those that need a row that was not in the race say so.
pub(crate) fn lines(rows: &[Row], rate: f64) -> Vec<String> {
    let mut lines = vec![
        faster(rows, "seenit-line-batched", MISS, 3.5),
        faster(rows, "seenit-line-batched", HIT, 5.0),
        floors(rows),
        faster(rows, "seenit-line", INSERT, 2.0),
        faster(rows, "seenit-line", HIT, 2.0),
        faster(rows, "seenit-line", MISS, 2.0),
        line_rate(rows, rate),
        paged_hits(rows, ""),
        paged_hits(rows, "-batched"),
        paged_rate(rows),
    ];
    lines.extend(["line", "paged", "flat"].map(|layout| keyed(rows, layout)));
    lines
}

/// A finding, or that a row for it is missing.
pub(crate) fn answer(target: &str, finding: Option<(bool, String)>) -> String {
    match finding {
        Some((true, numbers)) => format!("yes  {target}: {numbers}"),
        Some((false, numbers)) => format!("NO   {target}: {numbers}"),
        None => format!("--   {target}: not in this race"),
    }
}

fn faster(rows: &[Row], name: &str, (what, column): (&str, Column), times: f64) -> String {
    let value = |name| find(rows, name).and_then(column);
    let finding = ratio(value(RIVAL), value(name)).map(|found| (found >= times, format!("{found:.2}x")));
    answer(&format!("{name} {what} >= {times}x {RIVAL}"), finding)
}

fn floors(rows: &[Row]) -> String {
    let miss = |name| find(rows, name)?.miss_ns;
    let found = ratio(miss("seenit-line-batched"), miss(FLOOR));
    let finding = found.map(|found| (found <= 1.6, format!("{found:.2}x")));
    answer("seenit-line-batched misses <= 1.6x the floor", finding)
}

fn line_rate(rows: &[Row], rate: f64) -> String {
    let target = "seenit-line rate <= 1.02 % at <= 10.6 bits/key";
    if rate != STATED_RATE {
        return format!("--   {target}: stated for --rate {STATED_RATE} only");
    }
    let finding = find(rows, "seenit-line").and_then(|row| {
        let fpr = row.fpr?;
        let bits = row.bits_per_key?;
        let numbers = format!("{:.4} % at {bits:.3} bits/key", fpr * 100.0);
        Some((fpr <= 0.0102 && bits <= 10.6, numbers))
    });
    answer(target, finding)
}

fn paged_hits(rows: &[Row], style: &str) -> String {
    let paged = format!("seenit-paged{style}");
    let flat = format!("seenit-flat{style}");
    let hit = |name: &str| find(rows, name)?.hit_ns;
    let finding = ratio(hit(&flat), hit(&paged)).map(|found| (found > 1.0, format!("{found:.2}x")));
    answer(&format!("{paged} hits faster than {flat} at equal m"), finding)
}

/// The textbook formula at the filter's own m, n and k, which knows nothing of pages.
fn paged_rate(rows: &[Row]) -> String {
    let finding = find(rows, "seenit-paged").and_then(|row| {
        let k = f64::from(row.k?);
        let fpr = row.fpr?;
        let textbook = (1.0 - (-k / row.bits_per_key?).exp()).powf(k);
        let off = fpr / textbook - 1.0;
        let numbers =
            format!("{:.4} %, formula {:.4} %, {:+.2} % off", fpr * 100.0, textbook * 100.0, off * 100.0);
        Some((off.abs() <= 0.03, numbers))
    });
    answer("seenit-paged rate within 3 % of (1-e^(-kn/m))^k", finding)
}

fn keyed(rows: &[Row], layout: &str) -> String {
    let unkeyed = format!("seenit-{layout}-batched");
    let keyed = format!("{unkeyed}-keyed");
    let cost = |(what, column): (&str, Column)| {
        let value = |name: &str| find(rows, name).and_then(column);
        ratio(value(&keyed), value(&unkeyed)).map(|found| (found <= 2.0, format!("{what} {found:.2}x")))
    };
    let costs: Option<Vec<(bool, String)>> = [INSERT, HIT, MISS].map(cost).into_iter().collect();
    let finding = costs.map(|costs| {
        let numbers: Vec<&str> = costs.iter().map(|(_, number)| number.as_str()).collect();
        (costs.iter().all(|&(met, _)| met), numbers.join(", "))
    });
    answer(&format!("{keyed} <= 2x {unkeyed}"), finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, fpr: f64, ns: f64) -> Row {
        Row {
            name: name.to_string(),
            keys: 1000,
            k: Some(7),
            bits_per_key: Some(9.6),
            fpr: Some(fpr),
            insert_ns: Some(ns),
            hit_ns: Some(ns),
            miss_ns: Some(ns),
        }
    }

    #[test]
    fn answers_follow_the_numbers() {
        let rows = [row(RIVAL, 0.01, 10.0), row("seenit-line", 0.0103, 4.0)];
        let lines = lines(&rows, 0.01);
        let starts = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((starts("yes"), starts("NO"), starts("--")), (3, 1, 9), "{lines:#?}");
        assert!(lines[3].contains("inserts >= 2x fastbloom: 2.50x"), "{}", lines[3]);
        assert!(lines[6].contains("1.0300 % at 9.600 bits/key"), "{}", lines[6]);
    }

    #[test]
    fn paged_is_held_against_the_textbook() {
        // (1 - e^(-7/9.6))^7 = 1.0077 %
        assert!(paged_rate(&[row("seenit-paged", 0.0101, 1.0)]).starts_with("yes"));
        assert!(paged_rate(&[row("seenit-paged", 0.0106, 1.0)]).starts_with("NO"));
    }

    #[test]
    fn the_key_may_cost_twice_and_no_more() {
        let unkeyed = || row("seenit-flat-batched", 0.01, 2.0);
        let keyed_at = |ns| keyed(&[unkeyed(), row("seenit-flat-batched-keyed", 0.01, ns)], "flat");
        assert!(keyed_at(4.0).starts_with("yes"));
        assert!(keyed_at(4.1).starts_with("NO"));
    }
}
