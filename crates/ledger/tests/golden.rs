//! Data folders of versions 1 and 2, as they were written when these were new: identity and snapshot stay readable.
//!
//! `cargo nextest run -p seenit-ledger --run-ignored only makes_the_golden_folder` writes one anew; do that for a new
//! version only, and keep the old.

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use common::sites::NETWORK;
use common::*;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use seenit_ledger::{LedgerConfig, Local, OPERATOR, Terms, Verb, Verdict};
use tempfile::TempDir;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The golden folder of a version, without its journal.
fn unpacked(version: u32) -> TempDir {
    let folder = private_folder();
    let identity = golden().join(format!("identity-v{version}.json"));
    fs::copy(identity, folder.path().join("identity.json")).expect("copied");
    let packed = File::open(golden().join(format!("snapshot-v{version}.gz")));
    let (mut snapshot, mut packed) = (Vec::new(), packed.expect("there"));
    GzDecoder::new(&mut packed).read_to_end(&mut snapshot).expect("whole");
    fs::write(folder.path().join("snapshot"), snapshot).expect("written");
    folder
}

#[test]
fn a_snapshot_of_version_1_is_read() {
    let local = Local::open(unpacked(1).path()).expect("readable");
    says_what_it_was_told(&local);
    assert_eq!(local.check(&case(4000)).reasons[0].seen, Some(25));
}

/// It was in a network when it was made, for the second time: two private lives, and three that were told, the last of
/// which took over what the one before had counted.
#[test]
fn a_snapshot_of_version_2_is_read() {
    let folder = unpacked(2);
    let local = Local::open(folder.path()).expect("readable");
    says_what_it_was_told(&local);
    assert_eq!(local.check(&case(4000)).reasons[0].seen, Some(25 + 7 + 2));
    let small = LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() };
    let ledger = open_with(folder.path(), &Hands::at(FIRST_DAY * DAY), small);
    assert_eq!(ledger.network(), Some(NETWORK));
    let frozen = ledger.frozen_cells().expect("copies");
    assert_eq!(
        frozen.iter().map(|part| (part.generation, part.sequence)).collect::<Vec<_>>(),
        [(FIRST_DAY, 1)],
        "what the first of them had"
    );
    assert_eq!(ledger.shared_generations(), [(FIRST_DAY, 2)]);
    let identity = fs::read_to_string(folder.path().join("identity.json")).expect("readable");
    assert!(identity.contains("\"carried_over\": 20000"), "{identity}");
}

fn says_what_it_was_told(local: &Local) {
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
    assert_eq!(local.check(&case(6000)).reasons[0].seen, Some(3), "13 less the 10 that were forgotten");
}

#[test]
#[ignore = "writes the golden folder"]
fn makes_the_golden_folder() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let small = LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() };
    let ledger = open_with(folder.path(), &hands, small);
    for _ in 0..2 {
        write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    }
    write(&ledger, Verb::Revoke, OPERATOR, case(2000)).expect("durable");
    ledger.protect(vec![case(3000)]).expect("durable");
    write(&ledger, Verb::Report, OPERATOR, near(5, 0)).expect("durable");
    ledger.see(&[case(4000)], 25).expect("accepted");
    ledger.see(&[case(6000)], 10).expect("accepted");
    write(&ledger, Verb::Forget, OPERATOR, case(6000)).expect("durable");
    ledger.see(&[case(6000)], 3).expect("accepted");
    let terms = Terms::private(&LedgerConfig { seen_capacity: 2000, ..config() }, [7; 16]);
    let terms = [(FIRST_DAY, terms.expect("a geometry"))];
    ledger.agree(NETWORK, &terms).expect("durable");
    ledger.see(&[case(4000)], 7).expect("accepted");
    ledger.leave().expect("durable");
    ledger.agree(NETWORK, &terms).expect("durable");
    ledger.see(&[case(4000)], 1).expect("accepted");
    ledger.renew(u64::MAX).expect("durable");
    ledger.see(&[case(4000)], 1).expect("accepted");
    settle(&ledger);
    drop(ledger);
    fs::create_dir_all(golden()).expect("a folder");
    fs::copy(folder.path().join("identity.json"), golden().join("identity-v2.json")).expect("copied");
    let packed = File::create(golden().join("snapshot-v2.gz")).expect("made");
    let mut packed = GzEncoder::new(packed, Compression::best());
    packed.write_all(&fs::read(folder.path().join("snapshot")).expect("there")).expect("written");
    packed.finish().expect("written");
}

/// Position of a stream as the link kept it before there was one log.
fn position(applied: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [applied, applied, 0, 0, 0] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend([0xcc; 32]);
    bytes
}

#[test]
#[ignore = "writes the folder"]
fn makes_the_folder_with_cells() {
    use seenit_ledger::peers::Batch;
    let (folder, hands) = (private_folder(), Hands::at((FIRST_DAY - 1) * DAY));
    let small = LedgerConfig { capacity: 1000, seen_capacity: 1000, near_capacity: 1000, ..config() };
    let ledger = open_with(folder.path(), &hands, small);
    let see = |number, recipients| ledger.see(&[exact(number)], recipients).expect("accepted");
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    see(10, 2);
    hands.pass(DAY);
    settle(&ledger);
    see(10, 3);
    see(11, 5);
    let terms = Terms::private(&LedgerConfig { seen_capacity: 2000, ..config() }, [7; 16]);
    let terms = [(FIRST_DAY, terms.expect("a geometry"))];
    ledger.agree(NETWORK, &terms).expect("durable");
    let first = ledger.incarnation();
    see(10, 7);
    see(12, 30);
    settle(&ledger);
    write(&ledger, Verb::Report, OPERATOR, case(2)).expect("durable");
    see(10, 1);
    ledger.renew(0).expect("durable");
    see(10, 4);
    see(13, 9);
    ledger.set_peers(&[peer(3, 5, 5, 20)]).expect("durable");
    ledger.commit_link(heard(3, 1, vec![said(Verb::Report, 3, 5, FIRST_DAY, case(500))])).expect("durable");
    let stream = |code: u8, generation: u64| {
        let (slot, life) = (3u16.to_be_bytes(), PEER_LIFE.to_be_bytes());
        [slot.as_slice(), &life, &[code], &generation.to_be_bytes()].concat()
    };
    let key = |first: &[u8], rest: &[&[u8]]| [&[first], rest].concat().concat();
    let (two, part) = (2u64.to_be_bytes(), 0u16.to_be_bytes());
    let rows = vec![
        (b"r".to_vec(), Some(b"the roster".to_vec())),
        (key(b"m", &[&1u64.to_be_bytes()]), Some(b"a manifest".to_vec())),
        (key(b"s", &[&[3; 32]]), Some(3u16.to_be_bytes().to_vec())),
        (key(b"k", &[&first.to_be_bytes(), &1024u64.to_be_bytes()]), Some(vec![0xdd; 32])),
        (key(b"c", &[&first.to_be_bytes()]), Some(two.to_vec())),
        (key(b"f", &[&stream(1, 0)]), Some(position(1))),
        (key(b"f", &[&stream(2, FIRST_DAY)]), Some(position(2))),
        (key(b"l", &[&stream(1, 0), &1u64.to_be_bytes(), &part]), Some(b"a message of records".to_vec())),
        (key(b"l", &[&stream(2, FIRST_DAY), &two, &part]), Some(b"a message of cells".to_vec())),
        (key(b"b", &[&stream(2, FIRST_DAY), &0u32.to_be_bytes()]), Some(b"cells".to_vec())),
    ];
    ledger.commit_link(Batch { heard: Vec::new(), rows }).expect("durable");
    common::sites::tick(&ledger);
    see(10, 1);
    common::sites::tick(&ledger);
    let copy = common::sites::killed(folder.path());
    drop(ledger);
    let packed = File::create(golden().join("folder-of-cells.tar.gz")).expect("made");
    let mut archive = tar::Builder::new(GzEncoder::new(packed, Compression::best()));
    archive.append_dir_all(".", copy.path()).expect("packed");
    archive.into_inner().expect("packed").finish().expect("written");
}
