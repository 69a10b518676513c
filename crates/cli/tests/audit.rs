//! The log at info level is an audit trail: who said what, who was not let in, and what is the matter.

mod common;

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use common::Folder;
use common::serving::{HTTP_ALONE, Serving, mail};

const WITHIN: Duration = Duration::from_secs(60);

const PYZOR_ALONE: &str = "--pyzor 127.0.0.1:0 --razor off --dcc off --fuzzy off";

/// Reports a digest, as somebody. The socket must live for as long as the server may ask whose it is, and be connected:
/// of another the kernel cannot say that it sent this.
fn tell_pyzor(serving: &Serving<'_>, who: &str) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let digest = &"c3b1a2".repeat(7)[..40];
    let asked = format!("{who}Op: report\nOp-Digest: {digest}\nThread: 2048\nPV: 2.1\n\n");
    let pyzor = serving.said["clients"]["pyzor"].as_str().expect("an address");
    socket.connect(pyzor).expect("the server's address");
    socket.send(asked.as_bytes()).expect("sent");
    socket
}

fn log(folder: &Folder) -> String {
    String::from_utf8_lossy(&folder.read("log")).into_owned()
}

/// The first line of the log with all of these in it, which may come a moment later.
fn line_with(folder: &Folder, parts: &[&str]) -> String {
    let began = Instant::now();
    loop {
        let log = log(folder);
        if let Some(line) = log.lines().find(|line| parts.iter().all(|part| line.contains(part))) {
            return line.to_owned();
        }
        assert!(began.elapsed() < WITHIN, "no line with {parts:?} in:\n{log}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn each_write_is_one_line_with_who_what_and_the_verdict_now() {
    let folder = Folder::new();
    folder.write("mail.eml", mail(1));
    let serving = Serving::start(&folder);
    for verb in ["report", "revoke", "protect"] {
        let ran = serving.run(&format!("{verb} mail.eml"));
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let common =
        ["INFO", "written", "account=\"operator\"", "address=127.0.0.1", "via=\"http\"", "records=1"];
    for (verb, verdict) in [("report", "spam"), ("revoke", ""), ("protect", "")] {
        let verb = format!("verb=\"{verb}\"");
        let verdict = format!("verdict=\"{verdict}");
        let line = line_with(&folder, &[&common[..], &[&verb, &verdict, "record=", "signatures="]].concat());
        assert!(!line.contains("signatures=0"), "{line}");
    }
    serving.stop();
    let written = log(&folder).lines().filter(|line| line.contains(" written ")).count();
    assert_eq!(written, 3, "one line a write, and none is lost at the end:\n{}", log(&folder));
}

#[test]
fn a_write_by_a_mail_servers_protocol_says_its_protocol_and_its_user() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, PYZOR_ALONE);
    let _socket = tell_pyzor(&serving, "User: anonymous\n");
    let line = line_with(&folder, &["written", "via=\"pyzor\"", "verb=\"report\"", "signatures=1"]);
    assert!(line.contains("address=127.0.0.1") && line.contains(" uid="), "{line}");
    serving.stop();
}

#[test]
fn a_login_that_fails_is_logged_and_a_flood_of_them_is_counted() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    for _ in 0..200 {
        let asked =
            agent.get(format!("{}/v1/accounts", serving.url())).header("Authorization", "Bearer nobody");
        assert_eq!(asked.call().expect("an answer").status(), 401);
    }
    line_with(&folder, &["WARN", "refused", "via=\"http\"", "address=127.0.0.1", "why=\"unknown-token\""]);
    serving.stop();
    let lines = log(&folder).lines().filter(|line| line.contains("unknown-token")).count();
    assert!((1..=40).contains(&lines), "{lines} lines for 200 refusals");
}

/// Text may end lines in more ways than one, and colour what a terminal shows.
#[test]
fn a_name_with_control_characters_forges_no_line() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, PYZOR_ALONE);
    let name = "x\r\u{1b}[2K INFO written account=\"operator\"";
    tell_pyzor(&serving, &format!("User: {name}\nTime: 1\nSig: {}\n", "0".repeat(40)));
    let line = line_with(&folder, &["refused", "via=\"pyzor\"", "why=\"unknown-account\""]);
    assert!(line.contains(r#"account="x\r\u{1b}[2K INFO written account=\"operator\"""#), "{line}");
    assert!(!line.contains(['\r', '\u{1b}']), "{line:?}");
    serving.stop();
}

#[test]
fn an_alarm_is_logged_when_it_begins() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[ledger]\nfree_bytes_min = 9007199254740992\n");
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    let line = line_with(&folder, &["WARN", "an alarm began", "alarm="]);
    assert!(line.contains("alarm=\""), "quoted: {line}");
    serving.stop();
}
