//! A tiny race: every row is there, in the agreed form, with a sane false-positive rate. No times are judged.

use std::process::{Command, Output};

use serde_json::Value;

const FILTERS: [&str; 16] = [
    "seenit-line",
    "seenit-line-batched",
    "seenit-paged",
    "seenit-paged-batched",
    "seenit-flat",
    "seenit-flat-batched",
    "seenit-line-keyed",
    "seenit-line-batched-keyed",
    "seenit-paged-keyed",
    "seenit-paged-batched-keyed",
    "seenit-flat-keyed",
    "seenit-flat-batched-keyed",
    "fastbloom",
    "bloomfilter",
    "sbbf-rs",
    "xorf-binaryfuse8",
];
const FLOOR: &str = "floor-one-line";

fn race(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_race")).args(arguments).output().expect("the race binary runs")
}

/// Standard output of a race that must succeed.
fn stdout(arguments: &[&str]) -> String {
    let output = race(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout).expect("plain text")
}

#[test]
fn a_tiny_race_gives_every_row() {
    let out = stdout(&["filters", "--keys", "20000", "--absent", "300000", "--rounds", "1", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&out).expect("one JSON array and nothing else");
    let mut names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    let mut expected: Vec<&str> = FILTERS.into_iter().chain([FLOOR]).collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    for row in &rows {
        check(row);
    }
}

fn check(row: &Value) {
    let mut fields: Vec<&String> = row.as_object().expect("a flat object").keys().collect();
    fields.sort_unstable();
    let expected = ["bits_per_key", "fpr", "hit_ns", "insert_ns", "k", "keys", "miss_ns", "name"];
    assert_eq!(fields, expected);
    assert_eq!(row["keys"], 20_000);
    assert!(row["miss_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{row}");
    if row["name"] == FLOOR {
        for field in ["k", "bits_per_key", "fpr", "insert_ns", "hit_ns"] {
            assert!(row[field].is_null(), "{row}");
        }
        return;
    }
    assert!(row["fpr"].as_f64().is_some_and(|rate| rate > 0.0 && rate < 0.03), "{row}");
    assert!(row["bits_per_key"].as_f64().is_some_and(|bits| bits > 8.0 && bits < 20.0), "{row}");
    assert!(row["insert_ns"].as_f64().is_some() && row["hit_ns"].as_f64().is_some(), "{row}");
    assert_eq!(row["k"].is_null(), row["name"] == "xorf-binaryfuse8", "{row}");
}

#[test]
fn one_at_a_time_and_batched_are_the_same_filter() {
    let out = stdout(&[
        "filters",
        "--keys",
        "20000",
        "--absent",
        "100000",
        "--rounds",
        "1",
        "--json",
        "--simd",
        "scalar",
        "--only",
        "seenit-paged-batched,seenit-paged",
    ]);
    let rows: Vec<Value> = serde_json::from_str(&out).expect("JSON");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["fpr"], rows[1]["fpr"]);
    assert_eq!(rows[0]["bits_per_key"], rows[1]["bits_per_key"]);
}

#[test]
fn the_table_answers_the_targets_it_has_rows_for() {
    let out = stdout(&[
        "filters",
        "--keys",
        "5000",
        "--absent",
        "5000",
        "--rounds",
        "2",
        "--only",
        "seenit-line,fastbloom,floor-one-line",
    ]);
    assert!(out.contains("seenit-line misses >= 2x fastbloom: "), "{out}");
    assert!(out.contains("--   seenit-line-batched hits >= 5x fastbloom: not in this race"), "{out}");
}

#[test]
fn what_cannot_be_raced_is_refused_with_the_reason() {
    for (arguments, reason) in [
        (&["filters", "--keys", "10", "--only", "nobody"][..], "nobody"),
        (&["filters", "--keys", "10", "--rate", "1.5"], "rate must lie between"),
        (&["filters", "--keys", "0"], "--keys"),
        (&["filters"], "--keys"),
    ] {
        let output = race(arguments);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains(reason), "{complaint}");
    }
}

/// Deltas lead to the new state, or they are out of the race; sizes do not depend on the machine.
#[test]
fn a_tiny_race_of_deltas_gives_every_row_and_keeps_its_sizes() {
    let out = stdout(&["deltas", "--mib", "1", "--rounds", "1", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&out).expect("one JSON array and nothing else");
    assert_eq!(rows.len(), 30);
    for row in &rows {
        let mut fields: Vec<&String> = row.as_object().expect("a flat object").keys().collect();
        fields.sort_unstable();
        let expected =
            ["bytes", "change_rate", "decode_mb_per_s", "encode_mb_per_s", "entropy_bytes", "name"];
        assert_eq!(fields, expected);
        let number = |field: &str| row[field].as_f64().expect("a number");
        assert!(number("encode_mb_per_s") > 0.0 && number("decode_mb_per_s") > 0.0, "{row}");
        let (bytes, bound) = (number("bytes"), number("entropy_bytes"));
        match number("change_rate") {
            // A megabyte has too few changes for 1.15 times the bound at the lowest rates.
            rate if rate < 1e-3 => assert!(bytes <= bound + 64.0, "{row}"),
            rate if rate <= 0.1 => assert!(bytes <= 1.15 * bound, "{row}"),
            _ => assert!(bytes <= f64::from(1 << 20) + 1.0, "{row}"),
        }
    }
    let out = stdout(&["deltas", "--mib", "1", "--rounds", "1"]);
    assert!(out.contains("yes  size <= 1.15x the bound"), "{out}");
}

/// The same counts one at a time and batched; split storage is wrong only where cells collide, packed cells also where
/// they are too small.
#[test]
fn a_tiny_race_of_counts_gives_every_row() {
    let out = stdout(&["counting", "--keys", "20000", "--top", "100", "--rounds", "1", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&out).expect("one JSON array and nothing else");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    let expected =
        ["seenit-packed", "seenit-packed-batched", "seenit-split", "seenit-split-batched", "hashbrown"];
    assert_eq!(names, expected);
    for row in &rows {
        let mut fields: Vec<&String> = row.as_object().expect("a flat object").keys().collect();
        fields.sort_unstable();
        assert_eq!(fields, ["bytes_per_key", "insert_ns", "lookup_ns", "name", "wrong_share"]);
        assert!(row["insert_ns"].as_f64() > Some(0.0) && row["lookup_ns"].as_f64() > Some(0.0), "{row}");
    }
    let wrong = |row: usize| rows[row]["wrong_share"].as_f64().expect("a number");
    assert_eq!((wrong(0), wrong(2), wrong(4)), (wrong(1), wrong(3), 0.0));
    assert!(wrong(2) <= wrong(0) && wrong(0) < 0.002, "{out}");
    let bytes = |row: usize| rows[row]["bytes_per_key"].as_f64().expect("a number");
    assert!(bytes(0) < 0.3 * bytes(4) && bytes(2) < 0.35 * bytes(4), "{out}");
}

/// Every row of a store that lost a record, or could not be opened after a crash, would end the race.
#[test]
fn a_tiny_race_of_stores_gives_every_row() {
    let out = stdout(&["store", "--rows", "3000", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&out).expect("one JSON array and nothing else");
    assert_eq!(rows.len(), 8);
    for row in &rows {
        let mut fields: Vec<&String> = row.as_object().expect("a flat object").keys().collect();
        fields.sort_unstable();
        let expected = [
            "commit",
            "commit_max_ms",
            "commit_p50_ms",
            "commit_p99_ms",
            "disk_bytes_per_row",
            "hits_per_s",
            "misses_per_s",
            "open_ms",
            "open_resident_mib",
            "pattern",
            "resident_mib",
            "resident_peak_mib",
            "rows",
            "rows_per_s",
            "scanned_per_s",
            "store",
            "worst_rows_per_s",
        ];
        assert_eq!(fields, expected);
        let number = |field: &str| row[field].as_f64().expect("a number");
        assert!(number("rows_per_s") > 0.0 && number("scanned_per_s") > 0.0, "{row}");
        assert!(number("disk_bytes_per_row") >= 80.0, "{row}");
        assert_eq!(number("hits_per_s") > 0.0, row["pattern"] == "log+index", "{row}");
    }
}

#[test]
fn a_store_that_does_not_exist_is_named() {
    let output = race(&["store", "--rows", "10", "--only", "nobody"]);
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nobody: no such store"));
}

/// A server that lost a signature or refused a report would end the race.
#[test]
fn a_tiny_race_of_the_server_gives_every_row() {
    let out = stdout(&["server", "--signatures", "20000", "--seconds", "0.2", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&out).expect("one JSON array and nothing else");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    let expected = [
        "check single json",
        "check during status",
        "check batch json",
        "check batch binary",
        "report single",
        "report batch",
    ];
    assert_eq!(names, expected);
    // In so short a lap there may be none; without any before it, the race would have ended.
    assert!(rows[1]["status_answers_per_s"].is_u64(), "{}", rows[1]);
    for row in &rows {
        let fields = row.as_object().expect("a flat object").keys();
        let mut fields: Vec<&String> = fields.filter(|field| !field.starts_with("status_")).collect();
        fields.sort_unstable();
        let expected = [
            "bytes_per_signature",
            "generator_cpu_share",
            "name",
            "ops_per_s",
            "p50_us",
            "p99_us",
            "rss_bytes",
            "rss_peak_bytes",
            "server_cpu_ns",
            "signatures",
        ];
        assert_eq!(fields, expected);
        let number = |field: &str| row[field].as_f64().expect("a number");
        assert!(number("ops_per_s") > 0.0 && number("p50_us") <= number("p99_us"), "{row}");
        assert!(number("rss_bytes") > 0.0 && number("signatures") >= 20_000.0, "{row}");
    }
    assert!(rows[4]["signatures"].as_u64() > rows[3]["signatures"].as_u64(), "reports are new, most of them");
}

/// Both structures, alone and in a network, at three shares of bulk; no program but ours.
#[test]
fn a_race_of_memory_alone_gives_every_row() {
    let output = race(&["protocols", "--signatures", "3000", "--memory", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("one JSON array and nothing else");
    assert_eq!(rows.len(), 12);
    for row in &rows {
        let mut fields: Vec<&String> = row.as_object().expect("a flat object").keys().collect();
        fields.sort_unstable();
        let expected = [
            "absent_reads_1",
            "absent_reads_20",
            "bulk_share",
            "bytes_per_signature",
            "name",
            "network",
            "signatures",
            "structure",
            "wrong_share",
        ];
        assert_eq!(fields, expected);
    }
}

/// A server that forgot a message, or one of ours that does not know another's protocol, would end the race.
#[test]
fn a_tiny_race_of_protocols_gives_every_row() {
    let output =
        race(&["protocols", "--signatures", "3000", "--messages", "1000", "--seconds", "0.2", "--json"]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("is not installed") {
        println!("skipped: {complaint}");
        return;
    }
    assert!(output.status.success(), "{complaint}");
    let mut rows: Vec<Value> =
        serde_json::from_slice(&output.stdout).expect("one JSON array and nothing else");
    rows.retain(|row| row["name"] != "dcc memory");
    let who = |row: &Value| format!("{} {}", row["name"], row["peer"]).replace('"', "");
    let expected = [
        "pyzor check seenit",
        "pyzor check pyzord",
        "fuzzy check seenit",
        "fuzzy check rspamd",
        "fuzzy near seenit",
        "fuzzy near rspamd",
        "dcc query seenit",
    ];
    assert_eq!(rows.iter().map(who).collect::<Vec<_>>(), expected);
    for row in &rows {
        let mut fields: Vec<&String> = row.as_object().expect("a flat object").keys().collect();
        fields.sort_unstable();
        let expected = [
            "bytes_per_signature",
            "name",
            "ops_per_s",
            "p50_us",
            "p99_us",
            "peer",
            "rss_bytes",
            "signatures",
        ];
        assert_eq!(fields, expected);
        let number = |field: &str| row[field].as_f64().expect("a number");
        assert!(number("ops_per_s") > 0.0 && number("p50_us") <= number("p99_us"), "{row}");
        assert!(number("rss_bytes") > 0.0 && number("bytes_per_signature") > 0.0, "{row}");
    }
}
