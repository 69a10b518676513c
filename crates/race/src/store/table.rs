//! The table for people.

use super::Row;

pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:23} {:9} {:>6} {:>8} {:>8} {:>7} {:>7} {:>8} {:>5} {:>5} {:>6} {:>8} {:>8} {:>9} {:>8} {:>5}\n",
        "",
        "",
        "",
        "rows/s",
        "worst s",
        "p50 ms",
        "p99 ms",
        "max ms",
        "MiB",
        "peak",
        "B/row",
        "hits/s",
        "misses/s",
        "scan/s",
        "open ms",
        "MiB"
    );
    for row in rows {
        let lap = &row.lap;
        let restart = &row.restart;
        table += &format!(
            "{:23} {:9} {:>6} {:>8.0} {:>8.0} {:>7.2} {:>7.2} {:>8.1} {:>5.0} {:>5.0} {:>6.0} {:>8.0} {:>8.0} {:>9.0} \
             {:>8.0} {:>5.0}\n",
            row.store,
            row.pattern,
            row.commit,
            lap.rows_per_s,
            lap.worst_rows_per_s,
            lap.commit_p50_ms,
            lap.commit_p99_ms,
            lap.commit_max_ms,
            lap.resident_mib,
            lap.resident_peak_mib,
            lap.disk_bytes_per_row,
            lap.hits_per_s,
            lap.misses_per_s,
            lap.scanned_per_s,
            restart.open_ms,
            restart.open_resident_mib,
        );
    }
    table
}
