//! Users of this machine who are not its operator: whoever may run a program here, or send a datagram from here. Every
//! one of them once had the operator's weight. Run as real users, by real clients, in all protocols.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::Folder;
use crate::common::clients::{point_pyzor_at, pyzor, pyzor_check};
use crate::common::serving::{Serving, mail};
use crate::peer::{send_as, until};
use serde_json::Value;

/// All protocols, on free ports.
const EVERYTHING: &str = "--pyzor 127.0.0.1:0 --razor 127.0.0.1:0 --dcc 127.0.0.1:0 --fuzzy 127.0.0.1:0";

/// Points of all users of this machine together: four times as many are fewer than one report of the operator.
const LOCAL_POINTS_MAX: u64 = 2;

/// Somebody who has an account of the system, and nothing else: `nobody` and another.
const ALICE: u32 = 65_534;
const BOB: u32 = 40_007;

/// Whether commands can be run as other users here.
pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n")
}

/// The same for a test that is nothing without them.
fn may_be_others() -> bool {
    let is_root = is_root();
    if !is_root {
        eprintln!("skipped: only root can run commands as other users");
    }
    is_root
}

/// A folder that every user may read and write, with a copy of the program.
fn shared() -> (Folder, PathBuf) {
    let folder = Folder::new();
    fs::set_permissions(folder.path("."), Permissions::from_mode(0o777)).expect("ours");
    let program = folder.path("seenit");
    fs::copy(env!("CARGO_BIN_EXE_seenit"), &program).expect("a copy");
    (folder, program)
}

/// What `seenit selftest` says of the clients' protocols, run as a user who has the operator's token for the end of it.
/// It waits for an answer for five seconds, and a disk may take longer: then it is run again.
fn selftest_as(uid: u32, program: &PathBuf, folder: &Folder, serving: &Serving<'_>) -> Vec<Value> {
    let is_late = |row: &Value| row["told"].as_str().is_some_and(|told| told.contains("no answer from "));
    let runs = || selftest_once_as(uid, program, folder, serving);
    let in_time = std::iter::repeat_with(runs).take(5).find(|rows| !rows.iter().any(is_late));
    in_time.expect("a run in which everything is answered in time")
}

fn selftest_once_as(uid: u32, program: &PathBuf, folder: &Folder, serving: &Serving<'_>) -> Vec<Value> {
    let token =
        fs::read_to_string(serving.said["token_files"][0].as_str().expect("a file")).expect("a token");
    let mut command = Command::new(program);
    command.args(["selftest", "--json", "--server", serving.url()]).env("SEENIT_TOKEN", token.trim_end());
    let output = command.uid(uid).gid(uid).current_dir(folder.path(".")).output().expect("it ends");
    let rows: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    rows.as_array().expect("rows").clone()
}

/// Whether the step of a protocol in which a report lists a message works.
fn lists(rows: &[Value], front_end: &str, step: &str) -> bool {
    let found = rows.iter().find(|row| row["front_end"] == front_end && row["step"] == step);
    found.unwrap_or_else(|| panic!("no {step} in {rows:#?}"))["works"] == true
}

const STEPS: [(&str, &str); 4] = [
    ("Pyzor", "reported, it is spam"),
    ("Razor", "reported, it is listed"),
    ("DCC", "reported as MANY, its totals are MANY"),
    ("rspamd", "added, it is spam"),
];

pub(crate) fn account(serving: &Serving<'_>, name: &str) -> Value {
    let list = serving.run("account list --json").json();
    let found = list["accounts"].as_array().expect("a list").iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {list}")).clone()
}

#[test]
fn a_user_without_an_account_lists_nothing_alone_and_the_operator_does_in_every_protocol() {
    if !may_be_others() {
        return;
    }
    let (folder, program) = shared();
    let serving = Serving::start_with(&folder, EVERYTHING);
    let own = selftest_as(0, &program, &folder, &serving);
    for (front_end, step) in STEPS {
        assert!(lists(&own, front_end, step), "{front_end}: {own:#?}");
    }
    let before = account(&serving, "local")["reporter"]["records"].as_u64().expect("a number");
    for user in [ALICE, BOB] {
        let rows = selftest_as(user, &program, &folder, &serving);
        for (front_end, step) in STEPS {
            assert!(!lists(&rows, front_end, step), "{front_end}: {rows:#?}");
        }
    }
    let after = account(&serving, "local")["reporter"]["records"].as_u64().expect("a number");
    let points = account(&serving, "local")["reporter"]["weight"].as_u64().expect("points");
    assert!(points <= LOCAL_POINTS_MAX, "{points}");
    assert!(after >= before + 8, "two users reported to four protocols: {before}, {after}");
    // Where the operator says that they may.
    assert_eq!(serving.run("account weight local 10").code, 0);
    let trusted = selftest_as(ALICE, &program, &folder, &serving);
    for (front_end, step) in STEPS {
        assert!(lists(&trusted, front_end, step), "{front_end}: {trusted:#?}");
    }
}

#[test]
fn two_users_who_agree_are_still_one_voice_and_cannot_unlist_what_the_operator_reported() {
    if !may_be_others() {
        return;
    }
    let (folder, _) = shared();
    let serving = Serving::start_with(&folder, EVERYTHING);
    point_pyzor_at(&folder, &serving);
    for (name, seed) in [("theirs.eml", 1), ("ours.eml", 2)] {
        folder.write(name, mail(seed));
    }
    for name in ["pyzor/servers", "pyzor/config", "theirs.eml", "ours.eml"] {
        fs::set_permissions(folder.path(name), Permissions::from_mode(0o644)).expect("ours");
    }
    fs::set_permissions(folder.path("pyzor"), Permissions::from_mode(0o777)).expect("ours");
    let as_user = |uid: u32, verb: &str, mail: &str| {
        let mut command = Command::new("pyzor");
        command.args(["--homedir", &folder.path("pyzor").display().to_string(), verb]);
        command.stdin(fs::File::open(folder.path(mail)).expect("the mail")).stdout(Stdio::null());
        let status = command.uid(uid).gid(uid).env("HOME", folder.path(".")).status().expect("pyzor runs");
        assert!(status.success(), "{verb} {mail} by {uid}");
    };
    for uid in [ALICE, BOB] {
        as_user(uid, "report", "theirs.eml");
    }
    assert!(!pyzor_check(&folder, "theirs.eml").0, "one voice of little weight");
    assert_eq!(pyzor(&folder, "report", "ours.eml").code, 0);
    assert!(pyzor_check(&folder, "ours.eml").0, "the operator's");
    as_user(ALICE, "whitelist", "ours.eml");
    assert!(pyzor_check(&folder, "ours.eml").0, "still");
    let said = (account(&serving, "local"), account(&serving, "operator"));
    assert_eq!((&said.0["reporter"]["records"], &said.1["reporter"]["records"]), (&3.into(), &1.into()));
}

#[test]
fn a_datagram_whose_sender_is_gone_is_nobody_s_in_particular() {
    if !may_be_others() {
        return;
    }
    let (folder, _) = shared();
    let serving = Serving::start_with(&folder, EVERYTHING);
    let pyzor = serving.said["clients"]["pyzor"].as_str().expect("it is served");
    let port = pyzor.rsplit_once(':').expect("a port").1;
    // Sent and closed at once, many times: now and then before the server looks, and never as another than it was.
    let request =
        "Op: report\nOp-Digest: 7421216f915a87e02da034cc483f5c876e1a1338\nThread: 1500\nPV: 2.1\n\n";
    send_as(ALICE, port, &vec![request.to_owned(); 50]);
    let records = |name: &str| account(&serving, name)["reporter"]["records"].as_u64().expect("a number");
    until("what was sent is recorded", || records("local") > 0);
    assert_eq!(records("operator"), 0);
    serving.stop();
}
