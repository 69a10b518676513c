//! Clients that come through a proxy on this machine: they are not of this machine, whatever the proxy says or leaves
//! out.

use std::io::Write;
use std::net::TcpStream;

use super::peer::{PATIENCE, hear};
use crate::common::Folder;
use crate::common::serving::{HTTP_ALONE, Serving};

/// What proxies add. Each of them alone gives one away.
const MARKS: [&str; 10] = [
    "X-Real-IP: 192.0.2.1",
    "Via: 1.1 proxy",
    "Forwarded: for=192.0.2.1",
    "X-Forwarded-For: 192.0.2.1",
    "X-Forwarded-Host: seenit.example",
    "X-Forwarded-Proto: https",
    "CF-Connecting-IP: 192.0.2.1",
    "True-Client-IP: 192.0.2.1",
    "X-Client-IP: 127.0.0.1",
    "Fastly-Client-IP: 192.0.2.1",
];

/// What anybody of this machine may ask without a token.
const LOCAL: [&str; 3] = ["GET /v1/stats", "GET /metrics", "GET /v1/sites"];

fn status(serving: &Serving<'_>, request: &str, mark: &str) -> String {
    let mut stream = TcpStream::connect(serving.address()).expect("it listens");
    let head = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{mark}\r\n");
    let end = if mark.is_empty() { "" } else { "\r\n" };
    stream.write_all((head + end).as_bytes()).expect("sent");
    let (said, _) = hear(&mut stream, PATIENCE);
    String::from_utf8_lossy(&said).chars().skip("HTTP/1.1 ".len()).take(3).collect()
}

#[test]
fn a_proxy_on_this_machine_that_nobody_told_us_of_is_not_taken_for_a_local_client() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    for request in LOCAL {
        assert_eq!(status(&serving, request, ""), "200", "{request} by this machine");
        for mark in MARKS {
            assert_eq!(status(&serving, request, mark), "400", "{request} with {mark}");
        }
    }
    serving.stop();
}

#[test]
fn a_client_behind_a_trusted_proxy_is_not_of_this_machine() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[http]\ntrusted_proxies = [\"127.0.0.1/32\"]\n");
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    for request in LOCAL {
        for mark in MARKS.into_iter().chain([""]) {
            assert_eq!(status(&serving, request, mark), "401", "{request} with {mark}");
        }
    }
    serving.stop();
}
