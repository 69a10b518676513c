//! Somebody in the client network of an account, who has no account and asks without end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use super::peer::{PATIENCE, until};
use crate::common::Folder;
use crate::common::serving::{HTTP_ALONE, Serving, mail};

/// Two addresses of one IPv4 /24. The proxy that says so is on this machine.
const ACCOUNT: &str = "192.0.2.10";
const NEIGHBOUR: &str = "192.0.2.200";

/// Reports that the account sends amid the flood. Every one of them must be acknowledged.
const REPORTS: u64 = 50;

/// The status of the answer to a request that a proxy forwards for a client.
fn status(serving: &Serving<'_>, client: &str, token: &str, body: &str) -> u16 {
    let mut stream = TcpStream::connect(serving.address()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let length = body.len();
    let head = format!(
        "POST /v1/report HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forwarded-For: {client}\r\n\
         Authorization: Bearer {token}\r\nContent-Type: message/rfc822\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let text = String::from_utf8_lossy(&answer);
    text.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn wrong_tokens_of_a_neighbour_do_not_silence_the_accounts_of_its_network() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[http]\ntrusted_proxies = [\"127.0.0.1/32\"]\n");
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    let added = serving.run("account add mx --role report");
    assert_eq!(added.code, 0);
    let token = added.out.split_whitespace().last().expect("a token").to_owned();
    let (is_over, sent, refused) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) && began.elapsed() < PATIENCE {
                    let status = status(&serving, NEIGHBOUR, "nobody-has-this-token", "");
                    sent.fetch_add(1, Relaxed);
                    refused.fetch_add((status == 429).into(), Relaxed);
                }
            });
        }
        until("the neighbour has used up its limit", || refused.load(Relaxed) > 0);
        let reports = (0..REPORTS).map(|number| status(&serving, ACCOUNT, &token, &mail(number)));
        let statuses: Vec<u16> = reports.collect();
        is_over.store(true, Relaxed);
        let acknowledged = statuses.iter().filter(|status| **status == 200).count();
        eprintln!("{acknowledged} of {REPORTS} reports, {} wrong tokens", sent.load(Relaxed));
        assert_eq!(acknowledged as u64, REPORTS, "{statuses:?}");
    });
    serving.stop();
}
