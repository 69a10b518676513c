//! Guards runs over folders of mail: one bad file never ends them, everything is told, and a summary comes last.

mod common;

use common::serving::{Serving, mail};
use common::{Folder, Ran};

/// A folder with three good messages, one that the server refuses, one that nobody can read, and a damaged archive.
fn filled(folder: &Folder) -> String {
    std::fs::create_dir(folder.path("box")).expect("a folder");
    for seed in [1, 2, 3] {
        folder.write(&format!("box/m{seed}.eml"), mail(seed));
    }
    folder.write("box/m2-large.eml", mail(4) + &"more of it\n".repeat(300_000));
    folder.write("box/m2-damaged.gz", "no gzip");
    folder.write("seenit.toml", "[http]\nmessage_bytes_max = 2000000\n");
    "--config seenit.toml".into()
}

/// What became of each file, by its name.
fn row<'a>(rows: &'a serde_json::Value, file: &str) -> &'a serde_json::Value {
    let rows = rows.as_array().expect("an array");
    let of = |row: &&serde_json::Value| row["file"] == *format!("box/{file}");
    rows.iter().find(of).unwrap_or_else(|| panic!("{file} is not in {rows:?}"))
}

fn summary(ran: &Ran) -> &str {
    ran.err.lines().last().unwrap_or_default()
}

#[test]
fn one_bad_file_does_not_end_a_check_of_a_folder() {
    let folder = Folder::new();
    let options = filled(&folder);
    let serving = Serving::start_with(&folder, &options);
    let ran = serving.run("check box");
    assert_eq!((ran.code, ran.out.lines().count()), (65, 3), "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("box/m2-large.eml: ") && ran.err.contains("box/m2-damaged.gz: "), "{}", ran.err);
    assert!(summary(&ran).starts_with("seenit: 5 messages in "), "{}", ran.err);
    assert!(summary(&ran).ends_with(" s: 3 unknown, 2 failed"), "{}", ran.err);
    let rows = serving.run("check --json box").json();
    assert_eq!(rows.as_array().map(Vec::len), Some(5), "{rows}");
    assert_eq!(row(&rows, "m3.eml")["verdict"], "unknown");
    for bad in ["m2-large.eml", "m2-damaged.gz"] {
        let row = row(&rows, bad);
        assert!(row["verdict"].is_null() && row["problem"].is_string(), "{row}");
    }
}

#[test]
fn one_bad_file_does_not_end_a_report_of_a_folder() {
    let folder = Folder::new();
    let options = filled(&folder);
    let serving = Serving::start_with(&folder, &options);
    for (command, field) in [
        ("report", "acknowledged"),
        ("revoke", "acknowledged"),
        ("withdraw", "acknowledged"),
        ("see", "accepted"),
    ] {
        let ran = serving.run(&format!("{command} --json box"));
        assert_eq!(ran.code, 65, "{command}: {}", ran.err);
        let rows = ran.json();
        let done = |file| row(&rows, file)[field].as_bool();
        let all = ["m1.eml", "m2.eml", "m3.eml", "m2-large.eml", "m2-damaged.gz"].map(done);
        assert_eq!(all, [true, true, true, false, false].map(Some), "{command}: {rows}");
        assert!(row(&rows, "m2-large.eml")["problem"].is_string(), "{rows}");
    }
    let told = serving.run("report box");
    assert!(summary(&told).ends_with(" s: 3 reported, 2 failed"), "{}", told.err);
}

#[test]
fn one_bad_file_does_not_end_protecting_or_signing_a_folder() {
    let folder = Folder::new();
    let options = filled(&folder);
    let serving = Serving::start_with(&folder, &options);
    let ran = serving.run("protect --json box nowhere");
    let done = ran.json();
    assert_eq!(ran.code, 66, "{}", ran.err);
    assert!(ran.err.contains("nowhere: cannot open it") && ran.err.contains("m2-damaged.gz"), "{}", ran.err);
    assert_eq!((&done["messages"], &done["failed"]), (&4.into(), &2.into()), "{done}");
    assert_eq!(row(&done["files"], "m1.eml")["done"], true);
    assert_eq!(row(&done["files"], "m2-damaged.gz")["done"], false);
    let signed = folder.run("sign --json nowhere box");
    assert_eq!(signed.code, 66, "{}", signed.err);
    assert!(row(&signed.json(), "m2-damaged.gz")["problem"].is_string());
    assert!(row(&signed.json(), "m3.eml")["digest"].is_string());
}

#[test]
fn a_file_that_may_not_be_read_is_told_and_passed_over() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    filled(&folder);
    let locked = folder.path("box/a-locked");
    std::fs::create_dir(&locked).expect("a folder");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).expect("an owner may");
    if std::fs::read_dir(&locked).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let signed = folder.run("sign --json box");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o700)).expect("an owner may");
    assert_eq!(signed.code, 66, "{}", signed.err);
    assert!(row(&signed.json(), "m3.eml")["digest"].is_string());
}

#[test]
fn mail_in_a_folder_is_named_by_subject_and_sender_without_terminal_escapes() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    std::fs::create_dir(folder.path("box")).expect("a folder");
    let body = mail(1);
    let (_, body) = body.split_once("\n\n").expect("a body");
    let head = "From: =?utf-8?Q?B=C3=B6b?= <b@c.example>\nSubject: =?utf-8?Q?Sch=C3=B6n_=1B[31m_red?=\n  and long\n\n";
    folder.write("box/a.eml", format!("{head}{body}"));
    folder.write("box/b.eml", format!("X: y\n\n{body}"));
    let told = serving.run("check box");
    let lines: Vec<&str> = told.out.lines().collect();
    assert_eq!(
        lines[0],
        "box/a.eml (Sch\u{f6}n [31m red and long; from B\u{f6}b <b@c.example>): unknown: nobody said anything about it"
    );
    assert!(lines[1].starts_with("box/b.eml (no subject; from nobody): unknown: "), "{}", told.out);
    let rows = serving.run("check --json box").json();
    assert_eq!(row(&rows, "a.eml")["from"], "B\u{f6}b <b@c.example>");
    assert!(row(&rows, "b.eml")["subject"].is_null());
    let named = serving.run("check box/a.eml").out;
    assert!(named.starts_with("box/a.eml: unknown: "), "whoever names a file knows what it is: {named}");
}

#[test]
fn only_the_verdicts_that_are_wanted_are_listed_and_all_are_counted() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let boxed = |seeds: std::ops::Range<u64>| -> String {
        seeds.map(|seed| format!("From a@b Thu Jan  1 00:00:00 1970\n{}\n", mail(seed))).collect()
    };
    folder.write("all.mbox", boxed(0..300));
    folder.write("spam.mbox", boxed(100..110));
    folder.write("bulk.eml", mail(200));
    assert_eq!(serving.run("report spam.mbox").code, 0);
    assert_eq!(serving.run("see --recipients 25 bulk.eml").code, 0);
    let spam = serving.run("check --only spam all.mbox");
    assert_eq!((spam.code, spam.out.lines().count()), (10, 10), "{}", spam.out);
    assert!(spam.out.lines().all(|line| line.contains(": spam: ")), "{}", spam.out);
    assert!(summary(&spam).starts_with("seenit: 300 messages in "), "{}", spam.err);
    assert!(summary(&spam).ends_with(": 10 spam, 1 bulk, 289 unknown"), "{}", spam.err);
    let both = serving.run("check --json --only spam --only bulk all.mbox").json();
    let files: Vec<&str> =
        both.as_array().expect("an array").iter().filter_map(|row| row["file"].as_str()).collect();
    let expected: Vec<String> = (101..=110).chain([201]).map(|number| format!("all.mbox#{number}")).collect();
    assert_eq!(files, expected, "in the order of the messages");
    assert_eq!(serving.run("check --only no-opinion all.mbox").out, "");
    folder.run("check --only nonsense all.mbox").refused_as_usage();
}

#[test]
fn trouble_that_all_messages_share_is_told_once() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let boxed: String =
        (0..50).map(|seed| format!("From a@b Thu Jan  1 00:00:00 1970\n{}\n", mail(seed))).collect();
    folder.write("box", boxed);
    folder.write("wrong", "seenit_nobody\n");
    let ran = serving.run("report --json box --token-file wrong");
    assert_eq!((ran.code, ran.err.lines().count()), (77, 2), "one line and the summary: {}", ran.err);
    assert!(summary(&ran).ends_with(" s: 50 failed"), "{}", ran.err);
    assert_eq!(ran.json().as_array().map(Vec::len), Some(50));
}

#[test]
fn newsletters_with_more_links_than_one_request_takes_are_all_protected() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("box")).expect("a folder");
    for message in 0..60 {
        let link = |link: u32| format!("http://host{message}x{link}.example/offer\n");
        let links: String = (0..240).map(link).collect();
        folder.write(&format!("box/m{message}.eml"), mail(message) + &links);
    }
    let serving = Serving::start(&folder);
    let ran = serving.run("protect --json box");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!((&ran.json()["messages"], &ran.json()["failed"]), (&60.into(), &0.into()));
}

#[test]
fn a_folder_without_messages_is_not_passed_over_in_silence() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    std::fs::create_dir_all(folder.path("empty")).expect("a folder");
    for name in ["cur", "new", ".Junk/cur", ".Junk/new"] {
        std::fs::create_dir_all(folder.path("Maildir").join(name)).expect("a folder");
    }
    folder.write("Maildir/.Junk/cur/1", mail(1));
    let hint = "Maildir: there is no message in it (folders whose names begin with a dot are not searched: name them, \
                e.g. Maildir/.Junk)";
    for command in ["check", "report", "see", "explain", "protect", "sign"] {
        let server = if command == "sign" { String::new() } else { format!(" --server {}", serving.url()) };
        let ran = folder.run(&format!("{command} empty{server}"));
        assert_eq!(ran.code, 66, "{command}: {}", ran.err);
        assert!(ran.err.contains("empty: there is no message in it\n"), "{command}: {}", ran.err);
        let ran = folder.run(&format!("{command} Maildir{server}"));
        assert!(ran.err.contains(hint), "{command}: {}", ran.err);
    }
    let rows = serving.run("check --json empty").json();
    assert_eq!(rows[0]["problem"], "there is no message in it", "{rows}");
    assert_eq!(serving.run("report Maildir/.Junk").code, 0);
}
