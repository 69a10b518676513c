//! Guards what a site promises its users on the command line, on the real binary: one report lists a message, one
//! revocation clears it, and every answer has its exit code.

mod common;

use common::Folder;
use common::serving::{DATA, Serving, mail};

#[test]
fn one_report_lists_a_message_one_revocation_clears_it_and_a_fresh_one_is_unknown() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    assert_eq!(serving.verdict("a.eml"), ("unknown".into(), 0));
    let reported = serving.run("report a.eml");
    assert_eq!((reported.code, reported.err.as_str()), (0, ""));
    assert!(reported.out.starts_with("a.eml: reported: "), "{}", reported.out);
    assert_eq!(serving.verdict("a.eml"), ("spam".into(), 10));
    let checked = serving.run("check a.eml b.eml");
    let lines: Vec<&str> = checked.out.lines().collect();
    assert_eq!((checked.code, lines.len()), (10, 2), "any spam is spam");
    assert!(checked.err.starts_with("seenit: 2 messages in "), "{}", checked.err);
    assert!(checked.err.ends_with(" s: 1 spam, 1 unknown\n"), "{}", checked.err);
    assert!(lines[0].starts_with("a.eml: spam: exact text: reported as spam by 1 reporter"), "{}", lines[0]);
    assert_eq!(lines[1], "b.eml: unknown: nobody said anything about it");
    assert_eq!(serving.run("revoke a.eml").code, 0);
    assert_eq!(serving.verdict("a.eml"), ("ham".into(), 0));
    assert_eq!(serving.run("withdraw a.eml").code, 0);
    assert_eq!(serving.verdict("a.eml"), ("unknown".into(), 0));
    serving.stop();
}

#[test]
fn machines_get_an_array_of_file_verdict_and_reasons_and_receipts_with_records() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    let receipts = serving.run("report --json a.eml").json();
    assert_eq!((&receipts[0]["file"], &receipts[0]["acknowledged"]), (&"a.eml".into(), &true.into()));
    assert_eq!((&receipts[0]["receipt"]["verb"], &receipts[0]["problem"]), (&"report".into(), &().into()));
    let rows = serving.run("check --json a.eml").json();
    let row = rows[0].as_object().expect("an object");
    assert_eq!(row.keys().collect::<Vec<_>>(), ["file", "from", "problem", "reasons", "subject", "verdict"]);
    let reason = &rows[0]["reasons"][0];
    assert_eq!(
        (&reason["kind"], &reason["rule"], &reason["weight"]),
        (&"exact1".into(), &"reported".into(), &10.into())
    );
}

#[test]
fn the_receipt_of_a_revocation_can_be_asked_for_again() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    assert_eq!(serving.run("report a.eml").code, 0);
    let revoked = serving.run("revoke --json a.eml").json();
    let first = &revoked[0]["receipt"];
    let record = first["id"].as_str().expect("a record");
    let again = serving.run(&format!("receipt {record} --json")).json();
    assert_eq!((&again["id"], &again["verb"]), (&first["id"], &"revoke".into()));
    assert_eq!((&again["cleared"], &again["remaining"]), (&first["cleared"], &0.into()));
    let told = serving.run(&format!("receipt {record}")).out;
    assert!(told.contains("are not spam, 0 stay spam") && told.contains("  applied at site "), "{told}");
    serving.run("receipt 0-0-0").refused(77, "0-0-0");
    // A site alone waits for nobody.
    assert_eq!(serving.run(&format!("receipt {record} --wait 30")).code, 0);
    let sites = serving.run("sites");
    assert_eq!((sites.code, sites.out.as_str()), (0, "this site stands alone\n"));
    assert!(serving.run("sites --json").json()["network"].is_null());
}

#[test]
fn bulk_mail_is_told_apart_and_spam_outranks_it() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("news.eml", mail(3));
    folder.write("spam.eml", mail(4));
    assert_eq!(serving.run("see --recipients 19 news.eml").code, 0);
    assert_eq!(serving.verdict("news.eml"), ("unknown".into(), 0));
    let seen = serving.run("see news.eml");
    assert_eq!((seen.code, seen.out.as_str()), (0, "news.eml: seen\n"));
    assert_eq!(serving.verdict("news.eml"), ("bulk".into(), 11));
    assert_eq!(serving.run("report spam.eml").code, 0);
    assert_eq!(serving.run("check news.eml spam.eml").code, 10);
    assert_eq!(serving.run("see --json news.eml").json()[0]["accepted"], true);
    folder.run("see --recipients 0 news.eml").refused_as_usage();
}

#[test]
fn a_check_counts_the_recipients_it_is_told_of() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("news.eml", mail(3));
    assert_eq!(serving.run("check news.eml").out, "news.eml: unknown: nobody said anything about it\n");
    let checked = serving.run("check --see 19 --json news.eml").json();
    assert_eq!((&checked[0]["verdict"], &checked[0]["counted"]), (&"unknown".into(), &true.into()));
    assert_eq!(checked[0]["reasons"][0]["seen"], 19);
    let bulk = serving.run("check --see 1 news.eml");
    assert_eq!(bulk.code, 11, "counted before it is judged: {}", bulk.out);
    assert!(serving.run("check --json news.eml").json()[0].get("counted").is_none());
    folder.run("check --see 1000001 news.eml").refused_as_usage();
}

#[test]
fn where_nobody_answers_there_is_no_verdict_and_one_line_says_whom_to_start() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    let serving = Serving::start(&folder);
    let url = serving.url().to_owned();
    serving.stop();
    let ran = folder.run(&format!("check a.eml a.eml --json --server {url}"));
    assert_eq!(ran.code, 75);
    for row in ran.json().as_array().expect("an array") {
        assert_eq!((&row["verdict"], &row["reasons"]), (&().into(), &serde_json::json!([])));
        assert!(row["problem"].as_str().is_some_and(|why| why.contains(&url)), "{row}");
    }
    assert_eq!(ran.err.lines().count(), 2, "one line and the summary: {}", ran.err);
    assert!(ran.err.contains(&url) && ran.err.contains("seenit serve"), "{}", ran.err);
    for command in ["report", "revoke", "withdraw", "see", "explain"] {
        let ran = folder.run(&format!("{command} a.eml --server {url}"));
        assert_eq!((ran.code, ran.err.lines().count()), (75, 1), "{command}: {}", ran.err);
    }
    folder.run(&format!("stats --server {url}")).refused(75, "seenit serve");
}

#[test]
fn refusals_have_their_own_code_and_say_which_it_was() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("short.eml", "Subject: hi\n\nok\n");
    folder.write("wrong", "seenit_nobody\n");
    let short = serving.run("report short.eml a.eml");
    assert_eq!((short.code, short.err.lines().count()), (65, 2), "{}", short.err);
    assert!(short.err.contains("short.eml: ") && short.err.contains("422"), "{}", short.err);
    assert!(short.out.contains("a.eml: reported"), "the other is acknowledged: {}", short.out);
    assert_eq!(serving.verdict("short.eml"), ("no opinion".into(), 0), "an answer all the same");
    let wrong = serving.run("report a.eml a.eml --token-file wrong");
    assert_eq!((wrong.code, wrong.err.lines().count()), (77, 2), "{}", wrong.err);
    assert!(wrong.err.contains("no account has this token"), "{}", wrong.err);
    folder.write("empty", "\n");
    serving.run("report a.eml --token-file empty").refused(65, "it is empty or no token");
    serving.run("report a.eml --token-file nowhere").refused(66, "nowhere");
    std::fs::remove_dir_all(folder.path("state")).expect("the tokens are gone");
    let anonymous = serving.run("report a.eml");
    assert_eq!(anonymous.code, 77);
    assert!(anonymous.err.contains("operator's token") && anonymous.err.contains("401"), "{}", anonymous.err);
    assert_eq!(serving.verdict("a.eml").1, 10, "checks take no token here");
    folder.run("check a.eml --server example.com").refused(2, "http://");
}

#[test]
fn a_message_too_large_is_refused_and_not_cut_off() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[http]\nmessage_bytes_max = 2000000\n");
    let serving = Serving::start_with(&folder, "--config seenit.toml");
    let large = |bytes: usize| mail(1) + &"more of it\n".repeat(bytes / 11);
    folder.write("large.eml", large(1_900_000));
    folder.write("larger.eml", large(30_000_000));
    let ran = serving.run("report large.eml larger.eml");
    assert_eq!((ran.code, ran.err.lines().count()), (65, 2), "{}", ran.err);
    assert!(ran.err.contains("larger.eml") && ran.err.contains("413"), "{}", ran.err);
    assert!(ran.out.contains("large.eml: reported"), "{}", ran.out);
}

#[test]
fn a_snapshot_answers_without_its_server_and_says_how_old_it_is() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    let local = |file: &str| folder.run(&format!("check --local {DATA} {file}"));
    assert_eq!(local("a.eml").code, 66, "there is no folder yet");
    let serving = Serving::start(&folder);
    assert_eq!(serving.run("report a.eml").code, 0);
    assert_eq!(serving.run("snapshot").code, 0);
    let beside = local("a.eml b.eml");
    assert_eq!((beside.code, beside.err.lines().count()), (10, 2), "beside the server: {}", beside.err);
    assert!(beside.err.contains("s old"), "{}", beside.err);
    assert!(beside.out.contains("a.eml: spam") && beside.out.contains("b.eml: unknown"), "{}", beside.out);
    assert_eq!(serving.run("report b.eml").code, 0);
    assert_eq!(local("b.eml").code, 0, "what was said since is not in it");
    serving.stop();
    assert_eq!(local("b.eml").code, 10, "a server that stops takes one");
}

#[test]
fn mail_is_read_from_wherever_it_lies() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let mbox: String =
        [5, 6].map(|seed| format!("From a@b Thu Jan  1 00:00:00 1970\n{}\n", mail(seed))).concat();
    folder.write("box", mbox);
    assert_eq!(serving.run("report box").out.lines().count(), 2);
    let ran = folder.run_with(&format!("check - --json --server {}", serving.url()), mail(6).as_bytes());
    assert_eq!((ran.code, &ran.json()[0]["file"]), (10, &"standard input".into()));
    serving.run("check nowhere.eml").refused(66, "nowhere.eml");
}

#[test]
fn explanations_tell_who_said_what() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    assert_eq!(serving.run("report a.eml").code, 0);
    let told = serving.run("explain a.eml");
    assert_eq!(told.code, 0);
    let lines: Vec<&str> = told.out.lines().collect();
    assert!(lines[0].starts_with("a.eml: spam: exact text: reported as spam by 1 reporter"), "{}", told.out);
    let reported = |line: &&&str| line.contains("operator reported it as spam (weight 10; exact text");
    assert_eq!(lines.iter().filter(reported).count(), 1, "one line a report: {}", told.out);
    assert!(lines.iter().any(|line| line.trim().starts_with("20") && line.contains("Z operator")), "a date");
    assert_eq!(serving.run("protect a.eml").code, 0);
    let told = serving.run("explain a.eml").out;
    assert!(
        told.starts_with("a.eml: ham: exact text: protected") && told.contains("operator protected"),
        "{told}"
    );
    assert_eq!(serving.run("protect --undo a.eml").code, 0);
    let rows = serving.run("explain --json a.eml").json();
    assert_eq!((&rows[0]["verdict"], &rows[0]["reports"][0]["verb"]), (&"spam".into(), &"report".into()));
    assert_eq!(rows[0]["reports"].as_array().map(Vec::len), Some(1));
    let exact = &rows[0]["signatures"][0];
    assert_eq!((&exact["kind"], &exact["words"][0]["reporter"]), (&"exact1".into(), &"operator".into()));
    let digest = exact["digest"].as_str().expect("hexadecimal");
    let one = serving.run(&format!("explain --json --kind exact1 --digest {digest}")).json();
    assert_eq!(one, *exact);
    serving.run("explain --kind exact1 --digest zz").refused(65, "zz");
    serving.run("explain --kind exact9 --digest 00").refused_as_usage();
}

#[test]
fn known_good_mail_cannot_become_spam_until_it_is_protected_no_longer() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("good.eml", mail(7));
    folder.write("short.eml", "Subject: hi\n\nok\n");
    let counted = serving.run("protect --json good.eml short.eml").json();
    assert_eq!([&counted["messages"], &counted["passed_over"], &counted["failed"]], [1, 1, 0]);
    assert_eq!(serving.run("report good.eml").code, 0);
    assert_eq!(serving.verdict("good.eml"), ("ham".into(), 0));
    assert_eq!(serving.run("protect --undo good.eml").out, "1 message is protected no longer\n");
    assert_eq!(serving.verdict("good.eml"), ("spam".into(), 10));
}
