//! Files of the data folder that are damaged, and who may read them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::Folder;
use crate::common::serving::{DATA, HTTP_ALONE, Serving};
use crate::peer::{BINARY, PATIENT, cases, post, signature};

/// Messages that are reported before the damage, in three requests. The snapshot that a stopping server takes has them.
const REPORTED: u64 = 300;

/// Bits that are flipped, one in each round, in a file and at a place that nothing but the round decides.
const ROUNDS: u64 = 12;

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_in(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).expect("made");
    fs::set_permissions(to, fs::metadata(from).expect("there").permissions()).expect("private");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("copied");
        }
    }
}

fn start(folder: &Folder) -> Serving<'_> {
    folder.write("seenit.toml", PATIENT);
    Serving::start_with(folder, &format!("--config seenit.toml {HTTP_ALONE}"))
}

/// A site that was told of spam and stopped.
fn told(folder: &Folder) {
    let serving = start(folder);
    let token = serving.operator_token();
    for first in (0..REPORTED).step_by(100) {
        let body = cases(first..first + 100);
        assert_eq!(post(serving.address(), "/v1/report", BINARY, Some(&token), &body).status, 200);
    }
    serving.stop();
}

/// How many of the reported messages are spam, each asked about with its reasons.
fn spam(serving: &Serving<'_>) -> usize {
    let case =
        |number| serde_json::json!([{"kind": "exact1", "digest": hex::encode(&signature(number)[3..])}]);
    let body = serde_json::json!({ "cases": (0..REPORTED).map(case).collect::<Vec<_>>() }).to_string();
    let answered = post(serving.address(), "/v1/check", "application/json", None, body.as_bytes());
    let judgements = answered.json()["judgements"].as_array().cloned().expect("judgements");
    judgements.iter().filter(|one| one["verdict"] == "spam").count()
}

/// Flips one bit of what is used of a file.
fn flip(path: &Path, seed: u64) {
    let mut bytes = fs::read(path).expect("readable");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1) as u64;
    let at = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) % used.max(1);
    bytes[at as usize] ^= 1 << (seed % 8);
    fs::write(path, bytes).expect("writable");
}

/// The store refuses most damages, opens some as if nothing were the matter, and some as if the journal ended there.
/// Whichever it is, every verdict that the snapshot has is there afterwards: at once, or after what the error says to
/// do.
#[test]
fn a_flipped_bit_in_the_journal_costs_no_verdict_that_the_snapshot_has() {
    let folder = Folder::new();
    told(&folder);
    let (data, whole) = (folder.path(DATA), folder.path("whole"));
    copy(&data, &whole);
    let journal: Vec<PathBuf> = files_in(&whole.join("journal"))
        .into_iter()
        .filter(|path| path.is_file() && fs::metadata(path).is_ok_and(|file| file.len() > 0))
        .collect();
    let log = journal.iter().find(|path| path.extension().is_some_and(|end| end == "jnl")).expect("a log");
    for round in 0..ROUNDS {
        copy(&whole, &data);
        let damaged = if round % 2 == 0 { log } else { &journal[(round * 7) as usize % journal.len()] };
        flip(&data.join(damaged.strip_prefix(&whole).expect("inside")), round + 1);
        let words = format!("serve --data {DATA} --http 127.0.0.1:0 --json {HTTP_ALONE}");
        let mut tried =
            folder.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let mut line = String::new();
        let out = tried.stdout.take().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("text");
        let _ = tried.kill();
        let ended = tried.wait_with_output().expect("it ends");
        if line.is_empty() {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(said.contains("move ") && said.contains("seenit restore"), "round {round}: {said}");
            fs::rename(data.join("journal"), folder.path(&format!("journal-{round}"))).expect("moved away");
        }
        let serving = start(&folder);
        assert_eq!(spam(&serving), REPORTED as usize, "round {round}: {}", damaged.display());
        serving.stop();
    }
}

/// A journal that is gone altogether is the worst of these: verdicts stay, an alarm says what is lost, and the site
/// goes on under names that no lost record had.
#[test]
fn a_journal_that_is_gone_leaves_verdicts_and_a_loud_alarm() {
    let folder = Folder::new();
    told(&folder);
    fs::remove_dir_all(folder.path(DATA).join("journal")).expect("removed");
    let serving = start(&folder);
    assert_eq!(spam(&serving), REPORTED as usize);
    let stats = serving.run("stats --json").json();
    assert!(stats["alarms"].to_string().contains("the journal has lost records"), "{}", stats["alarms"]);
    assert!(stats["recovery"].to_string().contains("a new incarnation begins"), "{}", stats["recovery"]);
    let token = serving.operator_token();
    let answered = post(serving.address(), "/v1/report", BINARY, Some(&token), &cases(1000..1001));
    assert_eq!(answered.status, 200, "{}", answered.body);
    let id = answered.json()["id"].as_str().expect("a name").to_owned();
    assert!(id.ends_with(&format!("-{}", REPORTED + 1)), "{id}: no number is given twice");
    assert_eq!(post(serving.address(), "/v1/revoke", BINARY, Some(&token), &cases(0..1)).status, 200);
    assert_eq!(
        spam(&serving),
        REPORTED as usize - 1,
        "the operator's word replaces what only the snapshot knew"
    );
    serving.stop();
    let serving = start(&folder);
    assert_eq!(spam(&serving), REPORTED as usize - 1, "after a restart");
    serving.stop();
}

/// Also after work that made the store write tables and begin new files, and where an older release left files that
/// others may read.
#[test]
fn every_file_of_the_data_folder_is_its_owners_alone() {
    let folder = Folder::new();
    told(&folder);
    let data = folder.path(DATA);
    let old = files_in(&data).into_iter().find(|path| path.extension().is_some_and(|end| end == "jnl"));
    fs::set_permissions(old.expect("a log"), fs::Permissions::from_mode(0o644)).expect("loosened");
    told(&folder);
    told(&folder);
    for path in files_in(&data) {
        let mode = fs::metadata(&path).expect("there").permissions().mode() & 0o777;
        let most = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode & !most, 0, "{}: {mode:o}", path.display());
    }
}
