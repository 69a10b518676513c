//! A backup that is put back: no name of a record ever means two messages.

mod common;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use common::*;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::{Clock, Ledger, OpenError, Receipt, RecordId, Verb, Verdict};

fn report(ledger: &Ledger, messages: std::ops::Range<u64>) -> Vec<(RecordId, u64)> {
    let said = |number| write(ledger, Verb::Report, OPERATOR, exact(number)).expect("durable");
    messages.map(|number| (said(number).id, number)).collect()
}

fn restore(backup: &Path, folder: &Path, hands: &Arc<Hands>) -> Result<seenit_ledger::Restored, OpenError> {
    seenit_ledger::restore(backup, folder, config(), Arc::clone(hands) as Arc<dyn Clock>)
}

/// Records, a backup, more records; then `put_back` restores the backup, and new records are written, twice.
fn no_name_names_two_messages(put_back: impl Fn(&Path, &Path, &Arc<Hands>)) {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let [data, backup] = ["data", "backup"].map(|name| folder.path().join(name));
    let ledger = open(&data, &hands);
    let kept = report(&ledger, 0..5);
    drop(ledger);
    fs::create_dir(&backup).expect("a folder");
    copy_all(&data, &backup);
    let ledger = open(&data, &hands);
    let mut lost = report(&ledger, 100..104);
    drop(ledger);
    for round in 1..3 {
        hands.pass(60);
        fs::remove_dir_all(&data).expect("removed");
        put_back(&backup, &data, &hands);
        let ledger = open(&data, &hands);
        let fresh = report(&ledger, round * 1000..round * 1000 + 6);
        let mut names = HashMap::new();
        for (id, message) in kept.iter().chain(&lost).chain(&fresh) {
            let other = names.insert(id.to_string(), *message);
            assert_eq!(other, None, "{id} names message {message}, too");
        }
        for (id, message) in &kept {
            assert_eq!(
                ledger.receipt(*id).map(|receipt: Receipt| receipt.id),
                Some(*id),
                "message {message}"
            );
            assert_eq!(ledger.check(&exact(*message)).verdict, Verdict::Spam);
        }
        assert!(lost.iter().all(|(id, _)| ledger.receipt(*id).is_none()), "what is lost names nothing else");
        lost.extend(fresh);
        drop(ledger);
    }
}

#[test]
fn restoring_an_older_full_copy_begins_a_new_incarnation() {
    no_name_names_two_messages(|backup, data, hands| {
        let restored = restore(backup, data, hands).expect("restored");
        assert!(restored.stats.incarnation > restored.incarnation_before);
        assert_eq!((restored.stats.records, restored.stats.signatures), (5, 5));
    });
}

#[test]
fn a_folder_that_was_put_back_by_hand_begins_a_new_incarnation_in_place() {
    no_name_names_two_messages(|backup, data, hands| {
        fs::DirBuilder::new().mode(0o700).create(data).expect("a folder");
        copy_all(backup, data);
        let clock = Arc::clone(hands) as Arc<dyn Clock>;
        seenit_ledger::restore_in_place(data, config(), clock).expect("restored");
    });
}

#[test]
fn a_restore_overwrites_nothing_and_takes_no_folder_that_is_in_use() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let [data, backup, none] = ["data", "backup", "none"].map(|name| folder.path().join(name));
    let ledger = open(&backup, &hands);
    report(&ledger, 0..3);
    assert!(matches!(restore(&backup, &data, &hands), Err(OpenError::Locked(path)) if path == backup));
    let clock = Arc::clone(&hands) as Arc<dyn Clock>;
    let live = seenit_ledger::restore_in_place(&backup, config(), clock);
    assert!(matches!(live, Err(OpenError::Locked(path)) if path == backup));
    drop(ledger);
    assert!(matches!(restore(&none, &data, &hands), Err(OpenError::File { .. })), "no backup");
    assert!(!data.exists(), "nothing was begun");
    restore(&backup, &data, &hands).expect("restored");
    let again = restore(&backup, &data, &hands).expect_err("there is data in it");
    assert!(again.to_string().contains("there is data in it already"), "{again}");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("identity.json"))), (0o700, 0o600));
    let left: Vec<_> = fs::read_dir(folder.path()).expect("readable").collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
