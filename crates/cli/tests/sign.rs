//! Guards `seenit sign`: one row a signature, from wherever mail lies, in the clients' own spelling.

mod common;

use common::Folder;
use serde_json::Value;

/// Words enough for every kind.
const MAIL: &str = "\
From: a@b.example
Subject: a subject
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/html

<p>Dear John,<p>this is a message of more than thirty two words, so that every kind of signature has something to say
about it, and it also leads its readers to <a href=\"http://shop.example.com/buy/now?id=17\">a shop</a> where nobody
should ever buy anything at all, whatever they promise in mails like this one.
--b
Content-Type: application/octet-stream
Content-Transfer-Encoding: 7bit

";

const FIELDS: [&str; 6] = ["file", "part", "kind", "digest", "information_bits", "withheld"];

const KINDS: [&str; 10] =
    ["exact1", "near1", "url1", "part1", "pyzor", "razor-e4", "razor-e8", "dcc-body", "dcc-fuz1", "rspamd"];

fn mail() -> String {
    format!("{MAIL}{}\n--b--\n", "attached ".repeat(200))
}

fn rows(json: Value) -> Vec<Value> {
    json.as_array().expect("one array").clone()
}

fn digests<'a>(rows: &'a [Value], kind: &str) -> Vec<&'a str> {
    rows.iter().filter(|row| row["kind"] == kind).filter_map(|row| row["digest"].as_str()).collect()
}

#[test]
fn every_kind_has_a_row_with_the_agreed_fields() {
    let folder = Folder::new();
    folder.write("a.eml", mail());
    let ran = folder.run("sign a.eml --json");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let rows = rows(ran.json());
    for kind in KINDS {
        let row = rows.iter().find(|row| row["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"));
        let row = row.as_object().expect("an object");
        assert_eq!(row.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>(), FIELDS.into());
        assert_eq!((&row["file"], &row["withheld"]), (&"a.eml".into(), &false.into()), "{kind}");
        assert!(row["information_bits"].as_u64() > Some(0), "{kind}");
    }
    let places = FIELDS.map(|field| ran.out.find(&format!("\"{field}\":")).expect(field));
    assert!(places.is_sorted(), "{places:?}");
    let length = |kind| digests(&rows, kind)[0].len();
    assert_eq!(["exact1", "pyzor", "razor-e4", "razor-e8", "rspamd"].map(length), [40, 40, 28, 12, 128]);
    assert_eq!(length("dcc-body"), "00112233 44556677 8899aabb ccddeeff".len());
    assert_eq!(digests(&rows, "near1")[0].split('-').count(), 32);
}

#[test]
fn a_greeting_and_a_number_make_no_other_message() {
    let folder = Folder::new();
    folder.write("a.eml", mail());
    folder.write("b.eml", mail().replace("Dear John", "Dear Mrs. Smith").replace("id=17", "id=18"));
    let rows = rows(folder.run("sign a.eml b.eml --json").json());
    for kind in ["exact1", "near1", "url1", "part1"] {
        let found = digests(&rows, kind);
        assert_eq!((found.len(), found[0]), (2, found[1]), "{kind}");
    }
    let pyzor = digests(&rows, "pyzor");
    assert_ne!(pyzor[0], pyzor[1], "Pyzor has no rule for greetings");
}

#[test]
fn what_says_too_little_is_printed_and_withheld() {
    let ran = Folder::new().run_with("sign - --json", b"Subject: x\n\nplease see attached\n");
    let rows = rows(ran.json());
    assert!(!rows.is_empty() && rows.iter().all(|row| row["withheld"] == true), "{rows:#?}");
    assert!(rows.iter().all(|row| row["file"] == "standard input" && row["digest"] != ""));
    let text = Folder::new().run_with("sign -", b"Subject: x\n\nplease see attached\n").out;
    assert!(text.starts_with("standard input\n") && text.contains("withheld"), "{text}");
}

#[test]
fn the_seed_of_razor_is_the_server_s() {
    let folder = Folder::new();
    folder.write("a.eml", mail());
    let e4 = |options: &str| {
        let rows = rows(folder.run(&format!("sign a.eml --json{options}")).json());
        digests(&rows, "razor-e4").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(e4(""), e4(" --ep4 7542-10"), "the usual one");
    assert_ne!(e4(""), e4(" --ep4 1234-10"));
    let ran = folder.run("sign a.eml --ep4 seven");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("seven"), "{}", ran.err);
}

#[test]
fn mboxes_maildirs_and_missing_files() {
    let folder = Folder::new();
    let mbox =
        format!("From a@b Thu Jan  1 00:00:00 1970\n{0}\nFrom a@b Thu Jan  1 00:00:00 1970\n{0}", mail());
    folder.write("box", &mbox);
    for inside in ["M/cur", "M/new", "M/tmp"] {
        std::fs::create_dir_all(folder.path(inside)).expect("a folder");
    }
    folder.write("M/cur/1", mail());
    folder.write("M/tmp/2", "not yet");
    let rows = rows(folder.run("sign box M --json").json());
    let mut files: Vec<&str> = rows.iter().filter_map(|row| row["file"].as_str()).collect();
    files.dedup();
    assert_eq!(files, ["box", "box#2", "M/cur/1"]);
    assert_eq!(digests(&rows, "exact1").len(), 3);
    folder.run("sign nowhere.eml").refused(66, "nowhere.eml");
}
