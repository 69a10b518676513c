//! Starting, stopping, and what is left in between.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use seenit_server::{Config, Server, StartError};

use super::site::{JSON, MAIL, MESSAGE, Reply, Site, config};

/// What a server says that has read the head of a request with `Expect: 100-continue` and waits for its body.
const CONTINUE: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[test]
fn accounts_and_reports_outlive_a_restart_and_the_operator_token_does_not() {
    let site = Site::start(config());
    let token = site.account("mx", r#"["check"]"#);
    site.post("/v1/report", MESSAGE, MAIL);
    let old = site.token.clone();
    let site = site.restart(config());
    let check = |token: &str| site.ask("POST", "/v1/check").token(token).body(MESSAGE, MAIL).send();
    assert_eq!(check(&token).json()["verdict"], "spam");
    assert_eq!(check(&old).status, 401);
    assert_eq!(check(&site.token).status, 200);
}

#[test]
fn the_operator_token_is_in_a_private_file_of_its_address_while_the_server_runs() {
    let mut site = Site::start(config());
    let path = site.folder.path().join(format!("state/operator-127.0.0.1-{}.token", site.address.port()));
    assert_eq!(site.running.as_ref().expect("running").token_files(), std::slice::from_ref(&path));
    assert_eq!(fs::read_to_string(&path).expect("the token").trim_end(), site.token);
    let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&site.folder.path().join("data"))), (0o600, 0o700));
    site.running.take().expect("running").shutdown();
    assert!(!path.exists());
}

#[test]
fn a_busy_port_is_said_and_so_is_a_busy_folder() {
    let site = Site::start(config());
    let other = tempfile::tempdir().expect("a folder");
    let busy = Server::new(config(), other.path().join("data")).http(site.address).start();
    let why = busy.err().expect("a busy port").to_string();
    let what = format!("cannot listen on {} for HTTP: another process uses this port", site.address);
    assert!(why.starts_with(&what) && why.contains("--http 127.0.0.1:0"), "{why}");
    let taken = Server::new(config(), site.folder.path().join("data")).start();
    assert!(matches!(taken.err(), Some(StartError::Ledger(_))));
}

#[test]
fn a_folder_that_others_read_and_a_plain_socket_beyond_loopback_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let data = dir.path().join("data");
    fs::create_dir(&data).expect("made");
    fs::write(data.join("file"), "").expect("written");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("ours");
    let why = Server::new(config(), &data).start().err().expect("refused").to_string();
    assert!(why.contains("others may read it (mode 755)"), "{why}");
    let open = Server::new(Config::default(), dir.path().join("other"))
        .http("0.0.0.0:0".parse().expect("an address"));
    let why = open.start().err().expect("refused").to_string();
    assert!(why.contains("is beyond loopback, which needs [tls]"), "{why}");
}

#[test]
fn a_request_under_way_is_finished_before_the_server_stops() {
    let mut site = Site::start(config());
    let body = r#"{"signatures":[]}"#;
    let bytes = site.ask("POST", "/v1/check").header("Expect", "100-continue").body(JSON, body).bytes();
    let mut stream = TcpStream::connect(site.address).expect("a connection");
    let (begin, rest) = bytes.split_at(bytes.len() - 5);
    let (head, begin) = begin.split_at(bytes.len() - body.len());
    stream.write_all(head).expect("sent");
    let mut told = [0; CONTINUE.len()];
    stream.read_exact(&mut told).expect("an answer");
    assert_eq!(&told, CONTINUE, "the server waits for the body");
    stream.write_all(begin).expect("sent");
    let running = site.running.take().expect("running");
    let stopping = std::thread::spawn(move || running.shutdown());
    while TcpStream::connect(site.address).is_ok() {
        std::thread::yield_now();
    }
    stream.write_all(rest).expect("sent");
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).expect("an answer");
    assert_eq!(Reply::parse(&reply).status, 200);
    stopping.join().expect("stopped");
}

#[test]
fn a_kept_connection_takes_many_requests() {
    let site = Site::start(config());
    let mut stream = TcpStream::connect(site.address).expect("a connection");
    for _ in 0..100 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut reply = Vec::new();
        while !reply.ends_with(b"ok\n") {
            let mut some = [0; 1024];
            let number = stream.read(&mut some).expect("an answer");
            assert_ne!(number, 0, "closed");
            reply.extend_from_slice(&some[..number]);
        }
        assert_eq!(Reply::parse(&reply).status, 200);
    }
}
