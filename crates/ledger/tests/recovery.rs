//! What is left after a kill, a damaged snapshot, another geometry. A copy of the folder of a running ledger is what a
//! kill -9 leaves: everything the process has handed to the system, and nothing of its memory.

mod common;

use std::fs;
use std::path::Path;

use common::sites::tick;
use common::*;
use seenit_ledger::reporter::OPERATOR;
use seenit_ledger::{Case, Ledger, LedgerConfig, Verb, Verdict};

/// The folder as a kill would leave it now.
fn killed(folder: &Path) -> tempfile::TempDir {
    let copy = private_folder();
    copy_all(folder, copy.path());
    copy
}

/// A day of everything: reports, repeats, revocations, protections, texts, bulk.
fn a_day(ledger: &Ledger, from: u64) {
    for number in from..from + 40 {
        write(ledger, Verb::Report, OPERATOR, case(number * 10)).expect("durable");
        write(ledger, Verb::Report, OPERATOR, near(number, 0)).expect("durable");
    }
    for number in from..from + 10 {
        write(ledger, Verb::Report, OPERATOR, case(number * 10)).expect("durable");
        write(ledger, Verb::Revoke, OPERATOR, case((number + 10) * 10)).expect("durable");
        write(ledger, Verb::Withdraw, OPERATOR, near(number, 0)).expect("durable");
    }
    ledger.protect(vec![case((from + 35) * 10)]).expect("durable");
    ledger.see(&[case(from * 10 + 5)], 25).expect("accepted");
    write(ledger, Verb::Many, OPERATOR, case(from * 10 + 7)).expect("durable");
}

/// What the ledger says of everything that `a_day` touched.
fn sayings(ledger: &Ledger, from: u64) -> Vec<(Verdict, u32, u32, u64, Option<u64>)> {
    let cases = (from..from + 45).flat_map(|number| [case(number * 10), near(number, 0)]);
    let more: [Case; 2] = [case(from * 10 + 5), case(from * 10 + 7)];
    let say = |case: Case| {
        let judgement = ledger.check(&case);
        let first = judgement.reasons.first();
        let number = |of: fn(&seenit_ledger::Reason) -> u32| first.map_or(0, of);
        let raw = first.map_or(0, |reason| reason.raw);
        let seen = first.and_then(|reason| reason.seen);
        (judgement.verdict, number(|one| one.weight), number(|one| one.against), raw, seen)
    };
    cases.chain(more).map(say).collect()
}

#[test]
fn after_a_kill_everything_acknowledged_is_there() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    a_day(&ledger, 0);
    ledger.snapshot().expect("a snapshot");
    a_day(&ledger, 1000);
    tick(&ledger);
    let copy = killed(folder.path());
    let again = open(copy.path(), &hands);
    assert_eq!(sayings(&again, 0), sayings(&ledger, 0));
    assert_eq!(sayings(&again, 1000), sayings(&ledger, 1000));
    let recovery = again.stats().recovery;
    assert!(recovery.iter().any(|line| line.contains("replayed after the last snapshot")), "{recovery:?}");
    assert_eq!(again.stats().near_spam, ledger.stats().near_spam);
    write(&again, Verb::Report, OPERATOR, case(77)).expect("it goes on");
}

#[test]
fn a_clean_end_needs_no_replay() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    a_day(&ledger, 0);
    let said = sayings(&ledger, 0);
    drop(ledger);
    let again = open(folder.path(), &hands);
    assert_eq!(again.stats().recovery, Vec::<String>::new());
    assert_eq!(sayings(&again, 0), said);
}

#[test]
fn a_damaged_snapshot_is_put_aside_and_memory_comes_from_the_one_before_or_the_journal() {
    for damaged in [&["snapshot"][..], &["snapshot", "snapshot.previous"]] {
        for how in ["cut", "flip", "empty", "gone"] {
            let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
            let ledger = open(folder.path(), &hands);
            a_day(&ledger, 0);
            ledger.snapshot().expect("a snapshot");
            a_day(&ledger, 1000);
            ledger.snapshot().expect("a snapshot");
            let (first, second) = (sayings(&ledger, 0), sayings(&ledger, 1000));
            let copy = killed(folder.path());
            for name in damaged {
                damage(&copy.path().join(name), how);
            }
            let again = open(copy.path(), &hands);
            // Records and sightings are in the journal, whatever becomes of snapshots.
            assert_eq!(sayings(&again, 0), first, "{damaged:?} {how}");
            assert_eq!(sayings(&again, 1000), second, "{damaged:?} {how}");
            if how != "gone" {
                let recovery = again.stats().recovery;
                assert!(recovery.iter().any(|line| line.contains("put aside")), "{how}: {recovery:?}");
            }
        }
    }
}

#[test]
fn damaged_snapshots_have_names_of_their_own_and_the_last_few_are_kept() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let aside = || {
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .expect("readable")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| name.contains(".damaged"))
            .collect();
        names.sort();
        names
    };
    for round in 1..=4 {
        let ledger = open(folder.path(), &hands);
        ledger.snapshot().expect("a snapshot");
        ledger.snapshot().expect("another one");
        drop(ledger);
        for name in ["snapshot", "snapshot.previous"] {
            fs::write(folder.path().join(name), format!("{name} of round {round}")).expect("written");
        }
    }
    let recovery = open(folder.path(), &hands).stats().recovery;
    let said = "put aside as snapshot.damaged-4; snapshot.damaged-1 was removed: the last 3 are kept";
    assert!(recovery.iter().any(|line| line.contains(said)), "{recovery:?}");
    let names = ["snapshot.damaged", "snapshot.previous.damaged"];
    let kept: Vec<String> = names.iter().flat_map(|name| [2, 3, 4].map(|n| format!("{name}-{n}"))).collect();
    assert_eq!(aside(), kept);
    for (name, number) in [("snapshot", 2), ("snapshot.previous", 4)] {
        let text = fs::read_to_string(folder.path().join(format!("{name}.damaged-{number}")));
        assert_eq!(text.expect("readable"), format!("{name} of round {number}"));
    }
}

fn damage(path: &Path, how: &str) {
    let mut bytes = fs::read(path).expect("a snapshot");
    match how {
        "cut" => bytes.truncate(bytes.len() / 2),
        "flip" => {
            let middle = (64 << 10) + 100;
            bytes[middle] ^= 1;
        }
        "empty" => bytes.clear(),
        _ => return fs::remove_file(path).expect("removed"),
    }
    fs::write(path, bytes).expect("written");
}

#[test]
fn another_capacity_makes_the_tallies_anew() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    a_day(&ledger, 0);
    let said = sayings(&ledger, 0);
    drop(ledger);
    let larger = LedgerConfig { capacity: 30_000, near_capacity: 2000, ..config() };
    let again = open_with(folder.path(), &hands, larger);
    assert_eq!(sayings(&again, 0), said);
    assert!(again.stats().recovery.iter().any(|line| line.contains("made anew")));
}

#[test]
fn a_journal_that_ends_before_its_snapshot_begins_a_new_incarnation() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    let backup = killed(folder.path());
    write(&ledger, Verb::Report, OPERATOR, case(2)).expect("durable");
    ledger.see(&[case(900)], 11).expect("accepted");
    let before = ledger.stats().incarnation;
    drop(ledger);
    // The journal of the backup under the newer snapshot.
    fs::remove_dir_all(folder.path().join("journal")).expect("removed");
    fs::create_dir(folder.path().join("journal")).expect("made");
    copy_all(&backup.path().join("journal"), &folder.path().join("journal"));
    let again = open(folder.path(), &hands);
    assert!(again.stats().incarnation > before);
    assert_eq!(again.check(&case(1)).verdict, Verdict::Spam);
    assert_eq!(again.check(&case(2)).verdict, Verdict::Spam, "the snapshot's tallies outlive the records");
    let alarms = again.stats().alarms;
    assert!(alarms.iter().any(|alarm| alarm.starts_with("the journal has lost records")), "{alarms:?}");
    let receipt = write(&again, Verb::Report, OPERATOR, case(3)).expect("durable");
    assert_eq!(receipt.id.number, 3, "no number is given twice");
    assert_eq!(again.check(&case(2)).verdict, Verdict::Spam);
    assert_eq!(receipt.id.incarnation, again.stats().incarnation);
    // What was counted after the backup is gone with the journal: others may hold it.
    let seen = |ledger: &Ledger| ledger.check(&case(900)).reasons.first().and_then(|reason| reason.seen);
    assert_eq!(seen(&again), None);
    again.see(&[case(900)], 4).expect("accepted");
    tick(&again);
    let after = killed(folder.path());
    assert_eq!((seen(&again), seen(&open(after.path(), &hands))), (Some(4), Some(4)));
    // A vouched word that contradicts what only the snapshot knows replaces it, also after a restart.
    write(&again, Verb::Revoke, OPERATOR, case(2)).expect("durable");
    assert_eq!(again.check(&case(2)).verdict, Verdict::Ham);
    drop(again);
    let again = open(folder.path(), &hands);
    assert_eq!(
        [1, 2, 3].map(|number| again.check(&case(number)).verdict),
        [Verdict::Spam, Verdict::Ham, Verdict::Spam]
    );
    write(&again, Verb::Withdraw, OPERATOR, case(2)).expect("durable");
    assert_eq!(again.check(&case(2)).verdict, Verdict::Unknown);
    drop(again);
    seenit_ledger::rebuild(folder.path(), config(), hands.clone(), || ()).expect("rebuilt");
    let alarms = open(folder.path(), &hands).stats().alarms;
    assert!(!alarms.iter().any(|alarm| alarm.starts_with("the journal has lost records")), "{alarms:?}");
}

/// Also where nothing was reported between the loss and the rebuild.
#[test]
fn a_rebuild_ends_the_alarm_of_lost_records() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    drop(ledger);
    fs::remove_dir_all(folder.path().join("journal")).expect("removed");
    let plain = || Ledger::open(folder.path(), config(), hands.clone()).expect("a ledger");
    let is_alarm = |ledger: &Ledger| {
        let alarms = ledger.stats().alarms;
        alarms.iter().any(|alarm| alarm.starts_with("the journal has lost records"))
    };
    assert!(is_alarm(&plain()));
    assert!(is_alarm(&plain()), "after another start");
    seenit_ledger::rebuild(folder.path(), config(), hands.clone(), || ()).expect("rebuilt");
    let again = plain();
    assert!(!is_alarm(&again));
    let receipt = write(&again, Verb::Report, OPERATOR, case(2)).expect("durable");
    assert_eq!(receipt.id.number, 2, "no number is given twice");
}

/// What only the snapshot knows is not replaced by those who earned some weight.
#[test]
fn only_a_word_of_full_weight_replaces_what_lost_records_said() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let trusting = || LedgerConfig { account_weight: 7, ..config() };
    let ledger = open_with(folder.path(), &hands, trusting());
    write(&ledger, Verb::Report, OPERATOR, exact(1)).expect("durable");
    drop(ledger);
    fs::remove_dir_all(folder.path().join("journal")).expect("removed");
    let again = open_with(folder.path(), &hands, trusting());
    let known = again.put_reporter("known", None).expect("durable").id;
    write(&again, Verb::Revoke, known, exact(1)).expect("durable");
    let weights = |ledger: &Ledger| {
        let reason = ledger.check(&exact(1)).reasons.swap_remove(0);
        (reason.weight, reason.against)
    };
    assert_eq!(weights(&again), (10, 7));
    write(&again, Verb::Revoke, OPERATOR, exact(1)).expect("durable");
    assert_eq!(again.check(&exact(1)).verdict, Verdict::Ham);
}

/// The tally still has it, and the journal cannot tell whose it was.
#[test]
fn an_opinion_that_was_lost_and_is_said_again_counts_once() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let trusting = || LedgerConfig { account_weight: 7, ..config() };
    let ledger = open_with(folder.path(), &hands, trusting());
    let known = ledger.put_reporter("known", None).expect("durable").id;
    write(&ledger, Verb::Report, known, exact(1)).expect("durable");
    drop(ledger);
    fs::remove_dir_all(folder.path().join("journal")).expect("removed");
    let again = open_with(folder.path(), &hands, trusting());
    let known = again.put_reporter("known", None).expect("durable").id;
    let weight = |number| again.check(&exact(number)).reasons[0].weight;
    for _ in 0..2 {
        write(&again, Verb::Report, known, exact(1)).expect("durable");
        assert_eq!((weight(1), again.check(&exact(1)).verdict), (7, Verdict::Unknown));
    }
    write(&again, Verb::Report, known, exact(2)).expect("durable");
    assert_eq!(weight(2), 7, "of other messages nothing was lost");
}

/// Verdicts of the lost records last until these would have expired, and not for good.
#[test]
fn what_only_a_snapshot_knows_goes_when_it_would_have_expired() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    drop(ledger);
    fs::remove_dir_all(folder.path().join("journal")).expect("removed");
    let again = open(folder.path(), &hands);
    assert_eq!(again.check(&case(1)).verdict, Verdict::Spam);
    drop(again);
    hands.pass(31 * DAY);
    let again = open(folder.path(), &hands);
    again.confirm_clock().expect("asked");
    settle(&again);
    drop(again);
    assert_eq!(open(folder.path(), &hands).check(&case(1)).verdict, Verdict::Unknown);
}

/// The store opens a log with a damaged record in it as if that were its end.
#[test]
fn a_store_that_lost_its_end_without_a_word_is_found_out() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, case(1)).expect("durable");
    let backup = killed(folder.path());
    for number in 2..10 {
        write(&ledger, Verb::Report, OPERATOR, case(number * 10)).expect("durable");
    }
    settle(&ledger);
    fs::copy(folder.path().join("journal.mark"), backup.path().join("journal.mark"))
        .expect("the mark is newer");
    let again = open(backup.path(), &hands);
    let recovery = again.stats().recovery;
    assert!(recovery.iter().any(|line| line.contains("but record 9 was acknowledged")), "{recovery:?}");
    assert_eq!(write(&again, Verb::Report, OPERATOR, case(3)).expect("durable").id.number, 10);
}

#[test]
fn a_second_process_is_kept_out() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let _ledger = open(folder.path(), &hands);
    let second = Ledger::open(folder.path(), config(), hands);
    assert!(second.err().expect("refused").to_string().contains("another seenit is using this folder"));
}

#[test]
fn a_rebuild_makes_index_and_tallies_anew_and_keeps_seen_counts() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    a_day(&ledger, 0);
    ledger.see(&[case(990)], 7).expect("accepted");
    let said = sayings(&ledger, 0);
    drop(ledger);
    let larger = LedgerConfig { capacity: 50_000, ..config() };
    let mut records = 0;
    let stats = seenit_ledger::rebuild(folder.path(), larger.clone(), hands.clone(), || records += 1);
    assert_eq!(stats.expect("rebuilt").capacity, 50_000);
    assert_eq!(records, 40 * 2 + 10 * 3 + 1 + 1 + 2, "with the promotions of both exact signatures");
    let again = open_with(folder.path(), &hands, larger);
    assert_eq!(sayings(&again, 0), said);
    again.see(&[case(990)], 13).expect("accepted");
    again.snapshot().expect("the promotion is written before");
    assert_eq!(again.check(&case(990)).reasons[0].seen, Some(20));
}

#[test]
fn a_snapshot_answers_without_its_server_and_says_how_old_it_is() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    a_day(&ledger, 0);
    ledger.snapshot().expect("a snapshot");
    let local = seenit_ledger::Local::open(folder.path()).expect("beside the running ledger");
    assert_eq!(local.taken_secs(), FIRST_DAY * DAY);
    for number in (0..45).map(|number| number * 10).chain([5, 7]) {
        assert_eq!(local.check(&case(number)).verdict, ledger.check(&case(number)).verdict, "{number}");
    }
    let elsewhere = private_folder();
    assert!(seenit_ledger::Local::open(elsewhere.path()).is_err());
}

/// What opens a data folder, one way or another.
#[test]
fn a_data_folder_that_others_may_read_is_refused_with_the_same_words_by_everything_that_opens_it() {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    };
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("made");
    set(&data, 0o755);
    let ledger = open(&data, &hands);
    assert_eq!(mode(&data), 0o700, "an empty one is made private");
    a_day(&ledger, 0);
    drop(ledger);
    let mine = fs::read_dir(&data).expect("readable").map(|entry| entry.expect("an entry").path());
    for path in mine {
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    set(&data, 0o750);
    let refusals = [
        Ledger::open(&data, config(), hands.clone()).err(),
        seenit_ledger::rebuild(&data, config(), hands.clone(), || {}).err(),
        seenit_ledger::Local::open(&data).err(),
        seenit_ledger::site_secret(&data, &*hands).err(),
    ];
    let words = format!("{0}: others may read it (mode 750); run: chmod go= {0}", data.display());
    for refused in refusals {
        let refused = refused.expect("refused").to_string();
        assert!(refused.starts_with(&words), "{refused}");
    }
    assert_eq!(mode(&data), 0o750, "it is its owner's to change");
    set(&data, 0o700);
    assert_eq!(open(&data, &hands).check(&case(10)).verdict, Verdict::Spam);
}

#[test]
fn another_length_of_generations_is_refused() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    drop(open(folder.path(), &hands));
    let hours = LedgerConfig { generation_secs: 3600, ..config() };
    let error = Ledger::open(folder.path(), hours, hands).err().expect("refused").to_string();
    assert!(error.contains("its generations have 86400 s, so generation_secs cannot be 3600"), "{error}");
}
