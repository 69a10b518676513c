//! `seenit selftest` against a real server: every front end, some of them off, one that nobody answers.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use common::serving::Serving;
use common::{Folder, Ran};
use serde_json::{Value, json};

/// All protocols, on free ports.
const EVERYTHING: &str = "--pyzor 127.0.0.1:0 --razor 127.0.0.1:0 --dcc 127.0.0.1:0 --fuzzy 127.0.0.1:0";

/// Who has rows, in order, each once.
fn front_ends(rows: &Value) -> Vec<&str> {
    let rows = rows.as_array().expect("an array").iter();
    let mut names: Vec<&str> = rows.map(|row| row["front_end"].as_str().expect("a name")).collect();
    names.dedup();
    names
}

/// Runs `seenit selftest`. It waits for an answer for five seconds, and a disk may take longer: where that is all that
/// fails, it is run again.
fn selftest(serving: &Serving<'_>, options: &str) -> Ran {
    let is_late = |ran: &Ran| {
        let mut failed = ran.out.lines().filter(|line| line.starts_with("FAILS  ")).peekable();
        failed.peek().is_some() && failed.all(|line| line.contains(": no answer from "))
    };
    let run = || serving.run(&format!("selftest {options}"));
    let mut ran = run();
    for _ in 0..5 {
        if !is_late(&ran) {
            break;
        }
        ran = run();
    }
    ran
}

#[test]
fn every_front_end_works_twice_in_a_row_and_nothing_is_left_behind() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, EVERYTHING);
    let ran = selftest(&serving, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    for line in [
        "works  HTTP: reported, it is spam",
        "works  Pyzor: whitelisted, it is good mail",
        "works  Razor: reported, it is listed",
        "works  Razor: revoked, it is not listed",
        "works  DCC: reported as MANY, its totals are MANY",
        "works  DCC: forgotten, its totals are 0 again",
        "works  rspamd: added, it is spam",
        "works  rspamd: taken back, it is unknown to all",
    ] {
        assert!(ran.out.lines().any(|said| said == line), "{line} is not in\n{}", ran.out);
    }
    assert!(ran.out.ends_with(&format!("All is well with {}.\n", serving.url())), "{}", ran.out);
    let again = serving.run("selftest --json");
    let rows = again.json();
    assert!(rows.as_array().expect("an array").iter().all(|row| row["works"] == true), "{rows:#}");
    assert_eq!(front_ends(&rows), ["HTTP", "Pyzor", "Razor", "DCC", "rspamd"]);
    // A text of the test would count for how alike a site's replicas must be.
    let stats = serving.run("stats --json").json();
    assert_eq!((&stats["near_spam"], &stats["near_ham"], &stats["bulk"]), (&json!(0), &json!(0), &json!(0)));
}

#[test]
fn what_is_off_is_said_to_be_off_and_has_not_failed() {
    let folder = Folder::new();
    let some = "--pyzor 127.0.0.1:0 --razor off --dcc 127.0.0.1:0 --fuzzy off";
    let serving = Serving::start_with(&folder, some);
    let ran = selftest(&serving, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let summary = format!("HTTP, Pyzor and DCC work at {}; Razor and rspamd are off.\n", serving.url());
    assert!(ran.out.ends_with(&summary), "{}", ran.out);
    let off: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("off    ")).collect();
    assert!(off[0].starts_with("off    Razor: ") && off[1].starts_with("off    rspamd: "), "{off:?}");
    assert!(ran.out.contains("works  Pyzor: reported, it is spam\n") && !ran.out.contains("FAILS"));
    let rows = serving.run("selftest --json").json();
    assert_eq!(front_ends(&rows), ["HTTP", "Pyzor", "Razor", "DCC", "rspamd"]);
    for row in rows.as_array().expect("an array") {
        let is_off = ["Razor", "rspamd"].contains(&row["front_end"].as_str().expect("a name"));
        assert_eq!(row["works"], if is_off { json!(null) } else { json!(true) }, "{row}");
    }
}

#[test]
fn a_protocol_that_nobody_answers_fails_in_plain_words() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, EVERYTHING);
    let nobody = UdpSocket::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a port");
    let url = format!("http://{}", pass_on(serving.address(), nobody));
    let token = serving.said["token_files"][0].as_str().expect("a file");
    let ran = folder.run(&format!("selftest --server {url} --token-file {token}"));
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
    let failed: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("FAILS  ")).collect();
    let begin = format!("FAILS  Pyzor: a new message is unknown: nobody answers at {nobody} (");
    assert!(failed[0].starts_with(&begin), "{}", ran.out);
    assert!(failed.iter().all(|line| line.starts_with("FAILS  Pyzor: ")), "{failed:#?}");
    assert!(ran.out.contains("works  Razor: reported, it is listed\n"), "{}", ran.out);
    let end = format!("{} of 20 steps fail with {url}.\n", failed.len());
    assert!(ran.out.ends_with(&end), "{}", ran.out);
}

#[test]
fn a_server_that_is_down_fails_every_step_of_http() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let ran = selftest(&serving, "");
    assert_eq!((ran.code, ran.out.matches("off    ").count()), (0, 4), "{}", ran.out);
    let url = serving.url().to_owned();
    serving.stop();
    let down = folder.run(&format!("selftest --server {url}"));
    assert_eq!(down.code, 1);
    assert!(
        down.out.contains("FAILS  HTTP: a new message is unknown") && down.out.contains(&url),
        "{}",
        down.out
    );
}

/// A server that passes every request on to the real one, and says that Pyzor is answered elsewhere.
fn pass_on(real: &str, pyzor: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, real) = (listener.local_addr().expect("an address"), real.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            pass_one_on(&stream.expect("a connection"), &real, pyzor);
        }
    });
    address
}

fn pass_one_on(client: &TcpStream, real: &str, pyzor: SocketAddr) {
    let mut reader = BufReader::new(client);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("text");
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if line == "\r\n" {
            break;
        }
        if !lower.starts_with("connection:") {
            head += &line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut server = TcpStream::connect(real).expect("the real server");
    server.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).expect("loopback takes it");
    server.write_all(&body).expect("loopback takes it");
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).expect("an answer");
    if head.starts_with("GET /v1/stats ") {
        answer = with_pyzor_at(pyzor, &answer);
    }
    (&*client).write_all(&answer).expect("loopback takes it");
}

fn with_pyzor_at(pyzor: SocketAddr, answer: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(answer).expect("text");
    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
    let mut stats: Value = serde_json::from_str(body).expect("JSON");
    stats["clients"]["pyzor"] = json!(pyzor);
    let body = stats.to_string();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
