//! A data folder of version 1, as it was written when version 1 was new: its identity and its snapshot stay readable.
//!
//! `cargo nextest run -p seenit-ledger --run-ignored only makes_the_golden_folder` writes one anew; do that for a new
//! version only, and keep the old.

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use common::*;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use seenit_ledger::{LOCAL, LedgerConfig, Local, Verb, Verdict};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

#[test]
fn a_snapshot_of_version_1_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(golden().join("identity-v1.json"), folder.path().join("identity.json")).expect("copied");
    let (mut snapshot, mut packed) =
        (Vec::new(), File::open(golden().join("snapshot-v1.gz")).expect("there"));
    GzDecoder::new(&mut packed).read_to_end(&mut snapshot).expect("whole");
    fs::write(folder.path().join("snapshot"), snapshot).expect("written");
    let local = Local::open(folder.path()).expect("readable");
    assert_eq!(local.taken_secs(), FIRST_DAY * DAY);
    let verdict = |case| local.check(&case).verdict;
    assert_eq!(verdict(case(1)), Verdict::Spam);
    assert_eq!(verdict(case(2000)), Verdict::Ham);
    assert_eq!(verdict(case(3000)), Verdict::Ham);
    assert_eq!(verdict(case(4000)), Verdict::Bulk);
    assert_eq!(verdict(near(5, 3)), Verdict::Spam);
    assert_eq!(verdict(near(5, 20)), Verdict::Unknown);
    assert_eq!(verdict(case(5000)), Verdict::Unknown);
    let reason = &local.check(&case(1)).reasons[0];
    assert_eq!((reason.weight, reason.against, reason.raw, reason.seen), (10, 0, 2, None));
    assert_eq!(local.check(&case(4000)).reasons[0].seen, Some(25));
    assert_eq!(local.check(&case(6000)).reasons[0].seen, Some(3), "13 less the 10 that were forgotten");
}

#[test]
#[ignore = "writes the golden folder"]
fn makes_the_golden_folder() {
    let (folder, hands) = (tempfile::tempdir().expect("a folder"), Hands::at(FIRST_DAY * DAY));
    let small = LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() };
    let ledger = open_with(folder.path(), &hands, small);
    for _ in 0..2 {
        write(&ledger, Verb::Report, LOCAL, case(1)).expect("durable");
    }
    write(&ledger, Verb::Revoke, LOCAL, case(2000)).expect("durable");
    ledger.protect(vec![case(3000)]).expect("durable");
    write(&ledger, Verb::Report, LOCAL, near(5, 0)).expect("durable");
    ledger.see(&[case(4000)], 25).expect("accepted");
    ledger.see(&[case(6000)], 10).expect("accepted");
    write(&ledger, Verb::Forget, LOCAL, case(6000)).expect("durable");
    ledger.see(&[case(6000)], 3).expect("accepted");
    settle(&ledger);
    drop(ledger);
    fs::create_dir_all(golden()).expect("a folder");
    fs::copy(folder.path().join("identity.json"), golden().join("identity-v1.json")).expect("copied");
    let packed = File::create(golden().join("snapshot-v1.gz")).expect("made");
    let mut packed = GzEncoder::new(packed, Compression::best());
    packed.write_all(&fs::read(folder.path().join("snapshot")).expect("there")).expect("written");
    packed.finish().expect("written");
}
