//! Guards `seenit lab run pages`: its options, and the process it starts to look keys up with little memory.

mod common;

use common::Folder;

#[test]
fn rows_say_what_kept_the_filter_out_of_memory() {
    let ran = Folder::new().run("lab run pages --quick --max-keys 10000 --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows = ran.json();
    let limits: Vec<&str> =
        rows.as_array().expect("rows").iter().filter_map(|row| row["limit"].as_str()).collect();
    if limits.is_empty() {
        eprintln!("skipped: this system does not count the faults of a thread");
        return;
    }
    assert!(limits.contains(&"page-out advice"), "{limits:?}");
    if !limits.iter().any(|limit| limit.starts_with("cgroup-v")) {
        eprintln!("skipped in part: no memory cgroup can be made here");
        return;
    }
    for row in rows.as_array().expect("rows").iter().filter(|row| row["limit_bytes"].is_u64()) {
        let (major, touched) = (row["major_faults"].as_f64(), row["pages_touched"].as_f64());
        // Half of the filter fits: more than none of the pages must be read, fewer than all.
        assert!(major > Some(0.1) && major < touched.map(|touched| touched * 0.95), "{row}");
    }
}

#[test]
fn more_keys_than_the_paper_has_are_refused() {
    let ran = Folder::new().run("lab run pages --max-keys 110000001");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("110000001") && ran.err.contains("110000000"), "{}", ran.err);
}
