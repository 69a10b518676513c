//! The table for people, and what is expected.

use super::{OURS, Row, pyzord, rspamd};
use crate::targets::answer;

pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:12} {:8} {:>10} {:>8} {:>8} {:>9} {:>11} {:>9}\n",
        "", "", "answers/s", "p50 us", "p99 us", "MiB", "signatures", "B/sig."
    );
    for row in rows {
        table += &format!(
            "{:12} {:8} {:>10} {:>8} {:>8} {:>9.1} {:>11} {:>9.2}\n",
            row.name,
            row.peer,
            row.ops_per_s,
            row.p50_us,
            row.p99_us,
            row.rss_bytes as f64 / f64::from(1 << 20),
            row.signatures,
            row.bytes_per_signature,
        );
    }
    table + "(of rspamd a signature is a message of 33 keys, and MiB are those of its worker and of redis)\n"
}

/// How many times as many answers as whom, by what is asked.
const TIMES: [(&str, &str, f64); 3] = [
    ("pyzor check", pyzord::PEER, 20.0),
    ("fuzzy check", rspamd::PEER, 5.0),
    ("fuzzy near", rspamd::PEER, 10.0),
];
/// Which part of whose bytes.
const PARTS: [(&str, &str, f64); 2] =
    [("pyzor check", pyzord::PEER, 10.0), ("fuzzy check", rspamd::PEER, 30.0)];
/// Answers a second, where there is nobody to race against.
const RATES: [(&str, u64); 1] = [("dcc query", 100_000)];

/// One line a target.
pub(crate) fn targets(rows: &[Row]) -> Vec<String> {
    let find = |name, peer| rows.iter().find(|row| row.name == name && row.peer == peer);
    let both = |name, peer| Some((find(name, OURS)?, find(name, peer)?));
    let times = TIMES.map(|(name, peer, times)| {
        let finding = both(name, peer).map(|(ours, theirs)| {
            let found = ours.ops_per_s as f64 / theirs.ops_per_s as f64;
            (found >= times, format!("{found:.1}x"))
        });
        answer(&format!("{name} >= {times}x {peer}"), finding)
    });
    let parts = PARTS.map(|(name, peer, part)| {
        let finding = both(name, peer).map(|(ours, theirs)| {
            let found = theirs.bytes_per_signature / ours.bytes_per_signature;
            (found >= part, format!("1/{found:.1}"))
        });
        answer(&format!("{name} <= 1/{part} of {peer}'s bytes"), finding)
    });
    let rates = RATES.map(|(name, rate)| {
        let found = find(name, OURS).map(|row| (row.ops_per_s >= rate, row.ops_per_s.to_string()));
        answer(&format!("{name} >= {rate} answers/s"), found)
    });
    times.into_iter().chain(parts).chain(rates).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_follow_the_numbers() {
        let row = |name, peer, ops_per_s, bytes_per_signature| Row {
            name,
            peer,
            ops_per_s,
            p50_us: 1,
            p99_us: 2,
            rss_bytes: 3,
            signatures: 4,
            bytes_per_signature,
        };
        let rows = [
            row("pyzor check", "seenit", 200, 10.0),
            row("pyzor check", "pyzord", 10, 99.0),
            row("fuzzy near", "seenit", 99, 1.0),
            row("fuzzy near", "rspamd", 10, 1.0),
            row("dcc query", "seenit", 100_000, 1.0),
        ];
        let lines = targets(&rows);
        assert_eq!(lines[0], "yes  pyzor check >= 20x pyzord: 20.0x");
        assert_eq!(lines[1], "--   fuzzy check >= 5x rspamd: not in this race");
        assert_eq!(lines[2], "NO   fuzzy near >= 10x rspamd: 9.9x");
        assert_eq!(lines[3], "NO   pyzor check <= 1/10 of pyzord's bytes: 1/9.9");
        assert_eq!(lines[5], "yes  dcc query >= 100000 answers/s: 100000");
        assert_eq!(table(&rows).lines().count(), 7);
    }
}
