//! Data folders of versions 1 and 2, as they were written when these were new: identity and snapshot stay readable.
//!
//! They were written by the releases of their time, each by a test of its own; no later release can write them anew.

mod common;

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use common::sites::{own_records, see, seen};
use common::*;
use flate2::read::GzDecoder;
use seenit_ledger::{Ledger, LedgerConfig, Local, Verdict};
use seenit_link::store::{Read, ReadDone, Store};
use seenit_link::{Position, rows as link_rows};
use seenit_sites::Digest;
use seenit_sites::chain::Chain;
use seenit_sites::message::Stream;
use seenit_sites::number::{Incarnation, Sequence};
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

/// It was in a network when it was made, for the second time: two private incarnations, and three that were published,
/// the last of which took over what the one before had counted.
#[test]
fn a_snapshot_of_version_2_is_read() {
    let folder = unpacked(2);
    let local = Local::open(folder.path()).expect("readable");
    says_what_it_was_told(&local);
    assert_eq!(local.check(&case(4000)).reasons[0].seen, Some(25 + 7 + 2));
    let small = LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() };
    let ledger = open_with(folder.path(), &Hands::at(FIRST_DAY * DAY), small);
    assert_eq!(ledger.network(), Some([0xaa; 32]));
    assert_eq!(ledger.check(&case(4000)).reasons[0].seen, Some(25 + 7 + 2), "taken over from the snapshot");
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

/// What `folder-of-cells.tar.gz` is: a folder of the last release that kept seen counts as cells, killed. It counted
/// yesterday, alone; today alone, in a network, and there in a second incarnation that took over the cells of the
/// first.
fn folder_of_cells() -> TempDir {
    let folder = private_folder();
    let packed = File::open(golden().join("folder-of-cells.tar.gz")).expect("there");
    tar::Archive::new(GzDecoder::new(packed)).unpack(folder.path()).expect("unpacked");
    folder
}

/// How often messages 10 to 14 were seen.
const SEEN: [u64; 5] = [18, 5, 30, 9, 0];

#[test]
fn a_folder_with_cells_is_made_new_once() {
    let (folder, hands) = (folder_of_cells(), Hands::at(FIRST_DAY * DAY));
    let small = LedgerConfig { capacity: 1000, seen_capacity: 1000, near_capacity: 1000, ..config() };
    let counts = |ledger: &Ledger| [10, 11, 12, 13, 14].map(|number| seen(ledger, number));
    for times in 0..3 {
        let larger = LedgerConfig { seen_capacity: 1000 * (1 + times), ..small.clone() };
        let ledger = open_with(folder.path(), &hands, larger);
        let recovery = ledger.stats().recovery;
        let said = |what: &str| recovery.iter().any(|line| line.contains(what));
        assert_eq!((said("taken over"), said("not complete")), (times == 0, false), "{recovery:?}");
        assert_eq!(counts(&ledger), SEEN.map(|count| if count == 18 { count + times } else { count }));
        assert_eq!(ledger.check(&case(1)).verdict, Verdict::Spam);
        assert_eq!(ledger.network(), Some([0xaa; 32]));
        see(&ledger, 10, 1);
    }
    let ledger = open_with(folder.path(), &hands, small.clone());
    let records = own_records(&ledger).iter().map(|(_, last)| *last).collect::<Vec<_>>();
    assert_eq!(records, [3], "the second incarnation took over all: a report, and two that became bulk");
    // Yesterday's file is not read any more in two days, and gone.
    hands.pass(2 * DAY);
    settle(&ledger);
    assert_eq!(seen(&ledger, 10), 18 + 3 - 2);
    hands.pass(DAY);
    settle(&ledger);
    assert_eq!(counts(&ledger), [0; 5]);
    let names = fs::read_dir(folder.path()).expect("readable").map(|one| one.expect("an entry").file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with("before-")));
}

#[test]
fn what_the_link_kept_has_its_present_keys() {
    let (folder, hands) = (folder_of_cells(), Hands::at(FIRST_DAY * DAY));
    let ledger =
        open_with(folder.path(), &hands, LedgerConfig { capacity: 1000, seen_capacity: 1000, ..config() });
    let rows = ledger.load().expect("readable").rows;
    let row = |key: &[u8]| rows.iter().find(|(one, _)| one == key).map(|(_, value)| value.clone());
    assert_eq!((row(b"r"), rows.len()), (Some(b"the roster".to_vec()), 5), "{rows:?}");
    let (key, confirmed) = rows.iter().find(|(key, _)| key[0] == b'c').expect("confirmed");
    let first = Incarnation(u64::from_be_bytes(std::array::from_fn(|at| key[1 + at])));
    assert_eq!(
        (key, confirmed),
        (&link_rows::confirmed(first, Stream::Records), &2u64.to_be_bytes().to_vec())
    );
    let stream = stream_of(3, Stream::Records);
    let position =
        Position::decode(&row(&link_rows::position(&stream)).expect("a position")).expect("readable");
    let at = Chain { sequence: Sequence(1), value: Digest([0xcc; 32]) };
    assert_eq!((position.at, position.head), (at, None));
    let read = Read::Held { stream, after: Sequence::START, messages_max: 9 };
    let ReadDone::Held(messages) = ledger.read(&read).expect("readable") else { panic!("not that") };
    assert_eq!(messages, [b"a message of records".to_vec()]);
    // The peer's records count, and its cells are gone.
    assert_eq!(ledger.check(&case(500)).reasons[0].weight, 5);
    assert_eq!(ledger.own().streams.len(), 1, "nothing of the cells is published");
}
