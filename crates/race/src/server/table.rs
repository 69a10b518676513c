//! The table for people, and what is expected.

use super::Row;

pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:20} {:>12} {:>8} {:>8} {:>9} {:>9} {:>11} {:>7} {:>10} {:>10}\n",
        "",
        "signatures/s",
        "p50 us",
        "p99 us",
        "MiB",
        "peak MiB",
        "signatures",
        "B/sig.",
        "generator",
        "server ns"
    );
    for row in rows {
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        table += &format!(
            "{:20} {:>12} {:>8} {:>8} {:>9.1} {:>9.1} {:>11} {:>7.2} {:>8.0} % {:>10}\n",
            row.name,
            row.ops_per_s,
            row.p50_us,
            row.p99_us,
            mebibytes(row.rss_bytes),
            mebibytes(row.rss_peak_bytes),
            row.signatures,
            row.bytes_per_signature,
            100.0 * row.generator_cpu_share,
            row.server_cpu_ns,
        );
    }
    table
        + "(generator: its share of the processor time that both took; server ns: the server's, a signature)\n"
}

/// Signatures a second, by lap.
const RATES: [(&str, u64); 4] = [
    ("check batch json", 1_000_000),
    ("check batch binary", 2_000_000),
    ("report single", 20_000),
    ("report batch", 100_000),
];
/// How many times as long as alone a check may take while many ask about the site, of the slowest hundredth.
const STATUS_TIMES: f64 = 2.0;
/// Resident bytes a signature, the store's cache included.
const BYTES: f64 = 16.0;

/// One line a target.
pub(crate) fn targets(rows: &[Row]) -> Vec<String> {
    let answer = |is_met: bool| if is_met { "yes " } else { "NO  " };
    let mut lines = Vec::new();
    for (name, rate) in RATES {
        if let Some(row) = rows.iter().find(|row| row.name == name) {
            let is_met = row.ops_per_s >= rate;
            let found = row.ops_per_s;
            lines.push(format!("{} {name} >= {rate} signatures/s: {found}", answer(is_met)));
        }
    }
    let p99 = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.p99_us);
    if let (Some(alone), Some(during)) = (p99("check single json"), p99("check during status")) {
        let times = during as f64 / alone as f64;
        let is_met = times < STATUS_TIMES;
        lines.push(format!("{} p99 during status < {STATUS_TIMES} of alone: {times:.2}", answer(is_met)));
    }
    let most = rows.iter().map(|row| row.bytes_per_signature).fold(0.0, f64::max);
    lines.push(format!("{} resident <= {BYTES} bytes a signature: {most:.2}", answer(most <= BYTES)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_follow_the_numbers() {
        let row = |name, ops_per_s, bytes_per_signature| Row {
            name,
            ops_per_s,
            p50_us: 1,
            p99_us: 2,
            rss_bytes: 3,
            rss_peak_bytes: 4,
            signatures: 5,
            bytes_per_signature,
            generator_cpu_share: 0.5,
            server_cpu_ns: 6,
            polled: None,
        };
        let rows = [row("report single", 20_000, 15.0), row("report batch", 99_999, 16.5)];
        let lines = targets(&rows);
        assert_eq!(lines[0], "yes  report single >= 20000 signatures/s: 20000");
        assert_eq!(lines[1], "NO   report batch >= 100000 signatures/s: 99999");
        assert_eq!(lines[2], "NO   resident <= 16 bytes a signature: 16.50");
        assert_eq!(table(&rows).lines().count(), 4);
        let slow = |name, p99_us| Row { p99_us, ..row(name, 1, 1.0) };
        let lines = targets(&[slow("check single json", 100), slow("check during status", 150)]);
        assert_eq!(lines[0], "yes  p99 during status < 2 of alone: 1.50");
    }
}
