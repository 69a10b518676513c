//! The rows for people, and whether they are as they should be.

use super::Rows;

/// Milliseconds that all may take to know, 99 times of 100.
const P99_MS: f64 = 2000.0;
/// How far beyond the entropy the bytes of sightings may be.
const ENTROPY_TIMES: f64 = 1.02;

pub(super) fn table(rows: &Rows) -> String {
    let mut table = String::new();
    let mut targets = Vec::new();
    if !rows.told.is_empty() {
        told(rows, &mut table, &mut targets);
    }
    if !rows.lists.is_empty() {
        lists(rows, &mut table, &mut targets);
    }
    if rows.catch_up.is_some() {
        table += &format!(
            "{:22} {:>8} {:>10} {:>9} {:>10} {:>10}\n",
            "", "messages", "applied/s", "fsyncs/s", "p99 us", "idle us"
        );
    }
    for (row, is_slow) in [(&rows.catch_up, false), (&rows.slow_catch_up, true)] {
        if let Some(row) = row {
            table += &row.line();
            targets.extend(row.targets(is_slow));
        }
    }
    if let Some(row) = &rows.idle {
        table += &row.text();
        targets.extend(row.targets());
    }
    table += "\n";
    for (is_met, text) in targets {
        table += &format!("{} {text}\n", if is_met { "yes " } else { "NO  " });
    }
    table
}

fn told(rows: &Rows, table: &mut String, targets: &mut Vec<(bool, String)>) {
    *table += &format!(
        "{:22} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>10}\n",
        "", "items/s", "probes", "p50 ms", "p99 ms", "B/item", "raw B", "entropy B", "envelope B"
    );
    for row in &rows.told {
        *table += &format!(
            "{:22} {:>8} {:>8} {:>8.0} {:>8.0} {:>8.2} {:>8.2} {:>9.2} {:>10.2}\n",
            row.name,
            row.per_s,
            row.probes,
            row.p50_ms,
            row.p99_ms,
            row.bytes_per_item,
            row.raw_bytes_per_item,
            row.entropy_bytes_per_item,
            row.envelope_bytes,
        );
        let text = format!("{}: known everywhere within {P99_MS} ms, 99 of 100", row.name);
        targets.push((row.p99_ms <= P99_MS, text));
    }
    for row in rows.told.iter().filter(|row| row.name == "seen") {
        targets.push((row.bytes_per_item < row.raw_bytes_per_item, "seen: fewer bytes than raw".into()));
        targets.push(near_entropy(row.name, row.bytes_per_item, row.entropy_bytes_per_item));
    }
}

fn lists(rows: &Rows, table: &mut String, targets: &mut Vec<(bool, String)>) {
    *table += &format!(
        "{:22} {:>8} {:>8} {:>8} {:>9} {:>10} {:>8}\n",
        "", "deltas", "items", "B/item", "entropy B", "envelope B", "count B"
    );
    for row in &rows.lists {
        *table += &format!(
            "{:22} {:>8} {:>8} {:>8.3} {:>9.3} {:>10.2} {:>8.3}\n",
            row.name,
            row.deltas,
            row.items,
            row.bytes_per_item,
            row.entropy_bytes_per_item,
            row.envelope_bytes,
            row.count_bytes,
        );
        let found = row.bytes_per_item;
        let most = row.bytes_max;
        targets.push((found <= most, format!("{}: <= {most} bytes a signature: {found:.3}", row.name)));
        targets.push(near_entropy(row.name, found, row.entropy_bytes_per_item));
    }
}

fn near_entropy(name: &str, bytes: f64, entropy: f64) -> (bool, String) {
    let times = bytes / entropy;
    (times <= ENTROPY_TIMES, format!("{name}: <= {ENTROPY_TIMES} of the entropy: {times:.3}"))
}
