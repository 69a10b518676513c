//! Memory under load that goes on: flat by the number of operations, not by the clock.

use std::fs;
use std::time::{Duration, Instant};

use crate::load::Random;
use crate::server::{Client, Server, Site};

/// Operations of a window; memory is read after each.
const WINDOW: u64 = 5000;

/// What memory may grow by after the first third of the windows, beyond what the new signatures need: the store writes
/// and merges tables in its own time, and its buffers come and go.
const SLACK_BYTES: u64 = 24 << 20;

/// Bytes that a new signature may take: the promise of the server.
const BYTES_PER_SIGNATURE: u64 = 16;

/// Fewer windows test nothing, however busy the machine is.
const WINDOWS_MIN: usize = 6;

/// Two minutes, or an hour when asked for long.
fn time() -> Duration {
    Duration::from_secs(if std::env::var_os("SEENIT_LONG").is_some() { 3600 } else { 120 })
}

#[test]
fn memory_is_flat_however_many_operations() {
    let site = Site::new();
    let server = site.start(&[]).expect("it starts");
    let (mut client, mut random, began) = (server.client(), Random(1), Instant::now());
    let (mut windows, mut new) = (Vec::new(), 0);
    while began.elapsed() < time() || windows.len() < WINDOWS_MIN {
        for _ in 0..WINDOW {
            new += operate(&mut client, &mut random);
        }
        windows.push((resident_bytes(&server), new));
    }
    let early = windows[windows.len() / 3];
    let late = windows[windows.len() - 1];
    let needed = (late.1 - early.1) * BYTES_PER_SIGNATURE;
    eprintln!("{} windows of {WINDOW} operations: {} bytes, then {}", windows.len(), early.0, late.0);
    assert!(late.0 <= early.0 + needed + SLACK_BYTES, "memory grows: {windows:?}");
}

/// One operation of any kind, some of them nonsense. Returns how many new signatures it made.
fn operate(client: &mut Client, random: &mut Random) -> u64 {
    let (kind, number) = (random.below(20), random.below(20_000));
    let digest = format!("{number:016x}{}", "77".repeat(12));
    let case = format!(r#"{{"case":[{{"kind":"exact1","digest":"{digest}"}}]}}"#);
    let post = |client: &mut Client, path: &str, body: &str| {
        client.post(path, "application/json", body.as_bytes()).expect("an answer").0
    };
    match kind {
        0 | 1 => {
            assert_eq!(post(client, "/v1/report", &case), 200);
            return 1;
        }
        2 => assert_eq!(post(client, "/v1/revoke", &case), 200),
        3 => assert_eq!(post(client, "/v1/withdraw", &case), 200),
        4..=7 => assert_eq!(post(client, "/v1/see", &case), 202),
        8 => {
            let path = format!("/v1/explain?kind=exact1&digest={digest}");
            assert_eq!(client.get(&path).expect("an answer").0, 200);
        }
        9 => assert_eq!(post(client, "/v1/check", &case[..case.len() - 3]), 400),
        10 => assert_eq!(client.get(&format!("/v1/nothing-{number}")).expect("an answer").0, 404),
        11 => {
            let mail = format!(
                "Subject: {number}\r\n\r\n{}\r\n",
                "a text of some words that is signed again ".repeat(4)
            );
            let status = client.post("/v1/check", "message/rfc822", mail.as_bytes()).expect("an answer").0;
            assert_eq!(status, 200);
        }
        _ => assert_eq!(post(client, "/v1/check", &case), 200),
    }
    0
}

fn resident_bytes(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("memory");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib * 1024
}
