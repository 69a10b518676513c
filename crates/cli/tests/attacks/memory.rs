//! Answers that nobody reads, and connections that nobody uses.

use std::io::Write;
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};

use super::peer::{
    PATIENCE, flood, hear, idle_kib, may_open, metric, peak_kib, post, resident_most_kib, serving,
    serving_with, try_metric, until,
};
use crate::common::Folder;
use crate::common::serving::{HTTP_ALONE, Serving, mail};

/// Memory beyond that of an idle server: one answer and some buffers are far below it. 16,000,000 bytes.
const GROWTH_KIB_MAX: u64 = 16_000_000 / 1024;

/// Memory of 1,024 connections that do not read, beyond that of an idle server: what is known of each of them, and one
/// buffer to read from and one to write to. 32 KiB each.
const CROWD_GROWTH_KIB_MAX: u64 = 32 << 10;

/// What is sent on one connection, in pipelined requests: as much as once took 5.4 GB.
const SENT_BYTES: usize = 3_100_000;

/// More connections than are served at a time.
const CONNECTIONS: usize = 1100;

/// Connections that a small server has, and those that are never idle: they would keep all places for ever.
const PLACES: usize = 32;
const BUSY: usize = 40;

/// Seconds that a peer has to take its answer. The default is 30: whoever is cut off in half of that, which a busy
/// machine may need, was cut off by this.
const ANSWER_SECS: u64 = 1;
const CUT_OFF_MAX: Duration = Duration::from_secs(15);

/// Somebody else is answered so often meanwhile.
const ANSWERS_MIN: usize = 5;

/// Memory for all bodies and answers where batches are asked for, and the largest body of that server.
const HELD_KIB_MAX: u64 = 16 << 10;
const BATCH_BYTES_MAX: u64 = 1 << 20;

/// Connections that ask for the largest batch and read nothing: so many bodies find room at a time, and all of them end
/// at once, so that few of their answers do. All answers are 30 times the budget.
const AT_ONCE: usize = 10;
const WAVES: usize = 24;

/// Memory beyond the budget, where batches are asked for: the answers to bodies that had found room (21 MiB), the same
/// bodies as they were read and judged, and what the allocator keeps of both: 71 to 84 MiB were
/// measured in all.
const OVERDRAFT_KIB_MAX: u64 = 128 << 10;

/// Cases of the largest batch.
const CASES: usize = 1_000;

const DOCUMENT: &[u8] = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HEAD_ALONE: &[u8] = b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Waits until memory has stopped growing: what was sent is worked off, or waits for somebody to read.
fn until_settled(serving: &Serving<'_>) {
    let mut last = 0;
    until("the server is done with what it was sent", || {
        std::thread::sleep(Duration::from_secs(1));
        let before = std::mem::replace(&mut last, peak_kib(serving));
        last == before
    });
}

/// Requests on one connection whose answers nobody reads.
fn pipeline(piece: &[u8], bytes: usize) {
    let folder = Folder::new();
    let serving = serving(&folder);
    let idle = idle_kib(&serving);
    let mut stream = TcpStream::connect(serving.address()).expect("it listens");
    let socket = stream.try_clone().expect("a second handle");
    let sent = flood(&mut stream, &socket, piece, bytes);
    until_settled(&serving);
    assert_eq!(serving.verdict("mail.eml").0, "unknown", "somebody else is answered");
    let grown = peak_kib(&serving).saturating_sub(idle);
    eprintln!("{sent} bytes sent, {grown} KiB more than idle ({idle} KiB)");
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more than idle");
    serving.stop();
}

#[test]
fn pipelined_requests_whose_answers_nobody_reads_take_no_memory() {
    pipeline(DOCUMENT, SENT_BYTES);
}

#[test]
fn pipelined_requests_for_heads_that_nobody_reads_take_no_memory() {
    // Heads are small: it takes more of them.
    pipeline(HEAD_ALONE, 20 * SENT_BYTES);
}

/// A server with a certificate, and what a client needs to trust it.
fn encrypted(folder: &Folder) -> (Serving<'_>, Arc<ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    folder.write("certificate.pem", made.cert.pem());
    folder.write("key.pem", made.signing_key.serialize_pem());
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.path(name));
    let tls = format!("[tls]\ncertificate = {certificate:?}\nkey = {key:?}\nloopback = true\n");
    folder.write("tls.toml", tls);
    let serving = Serving::start_with(folder, &format!("{HTTP_ALONE} --config tls.toml"));
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).expect("a certificate")).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let client = client.expect("versions").with_root_certificates(roots).with_no_client_auth();
    (serving, Arc::new(client))
}

#[test]
fn the_same_over_tls_takes_no_memory() {
    let folder = Folder::new();
    let (serving, client) = encrypted(&folder);
    let address = serving.url().strip_prefix("https://").expect("TLS").to_owned();
    let connect = || {
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::clone(&client), name).expect("a client");
        (connection, TcpStream::connect(&address).expect("it listens"))
    };
    let ask = |piece: &[u8], bytes: usize| {
        let (mut connection, mut socket) = connect();
        let handle = socket.try_clone().expect("a second handle");
        let sent = flood(&mut Stream::new(&mut connection, &mut socket), &handle, piece, bytes);
        (sent, connection, socket)
    };
    (0..16).for_each(|_| drop(ask(DOCUMENT, 1)));
    let idle = resident_most_kib(&serving);
    let (sent, _connection, _socket) = ask(DOCUMENT, SENT_BYTES);
    until_settled(&serving);
    let grown = peak_kib(&serving).saturating_sub(idle);
    eprintln!("{sent} bytes sent, {grown} KiB more than idle ({idle} KiB)");
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more than idle");
}

#[test]
fn a_peer_that_reads_nothing_is_cut_off_in_time() {
    let folder = Folder::new();
    folder.write("seenit.toml", format!("[http]\nanswer_secs = {ANSWER_SECS}\n"));
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    let mut stream = TcpStream::connect(serving.address()).expect("it listens");
    let socket = stream.try_clone().expect("a second handle");
    flood(&mut stream, &socket, DOCUMENT, SENT_BYTES);
    let began = Instant::now();
    // The one that asks for the number is one itself.
    until("the connection is closed", || metric(&serving, "seenit_http_connections") <= 1.0);
    let took = began.elapsed();
    eprintln!("closed after {took:.1?}");
    assert!(took < CUT_OFF_MAX, "closed after {took:.1?}, where {ANSWER_SECS} s are configured");
    serving.stop();
}

#[test]
fn connections_that_do_not_read_or_say_nothing_keep_nobody_out() {
    if !may_open(2 * CONNECTIONS as u64) {
        return;
    }
    for request in [DOCUMENT.repeat(20), b"POST /v1/check HTTP/1.1\r\nHost: lo".to_vec(), Vec::new()] {
        let folder = Folder::new();
        // However long it takes to open all of them: none is closed but to make room.
        let serving = serving_with(&folder, "[http]\nhead_secs = 600\nanswer_secs = 600\n");
        let idle = idle_kib(&serving);
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = TcpStream::connect(serving.address()).expect("it listens");
            stream.set_write_timeout(Some(Duration::from_secs(5))).expect("a time limit");
            stream.write_all(&request).expect("a few bytes fit");
            held.push(stream);
        }
        assert_eq!(serving.verdict("mail.eml").0, "unknown", "somebody else is answered");
        // The first ones had to go; the last ones are still there.
        let last = held.last_mut().expect("many");
        let (_, is_closed) = hear(last, Duration::from_millis(200));
        assert!(!is_closed, "whoever came last stays");
        assert!(metric(&serving, "seenit_http_connections_closed_total") >= 76.0);
        let grown = peak_kib(&serving).saturating_sub(idle);
        eprintln!("{} bytes each: {grown} KiB more than idle ({idle} KiB)", request.len());
        assert!(grown < CROWD_GROWTH_KIB_MAX, "{grown} KiB more than idle");
        serving.stop();
    }
}

#[test]
fn connections_that_ask_without_a_pause_keep_nobody_out_and_the_server_still_stops() {
    const ASKED: &[u8] = b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let folder = Folder::new();
    folder.write("seenit.toml", format!("[http]\nconnections_max = {PLACES}\n"));
    folder.write("mail.eml", mail(1));
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    let (address, is_over) = (serving.address().to_owned(), AtomicBool::new(false));
    let began = Instant::now();
    // Longer than anything below is waited for: whoever is answered is answered amid them.
    let goes_on = || !is_over.load(Relaxed) && began.elapsed() < 3 * PATIENCE;
    std::thread::scope(|scope| {
        for _ in 0..BUSY {
            // Each asks ahead of what it reads, so that its next request is always there, and comes back when closed.
            scope.spawn(|| {
                while goes_on() {
                    let Ok(mut stream) = TcpStream::connect(&address) else {
                        continue;
                    };
                    while goes_on() && stream.write_all(&ASKED.repeat(50)).is_ok() {
                        if hear(&mut stream, Duration::from_millis(5)).1 {
                            break;
                        }
                    }
                }
            });
        }
        until("all places are taken", || {
            try_metric(&serving, "seenit_http_connections").is_ok_and(|taken| taken >= PLACES as f64 - 1.0)
        });
        let mut answers = 0;
        until("somebody else is answered", || {
            let (said, code) = serving.judged("mail.eml");
            // Whoever was closed to make room for another is told to try again.
            if code != 75 {
                assert_eq!(said["verdict"], "unknown");
                answers += 1;
            }
            answers == ANSWERS_MIN
        });
        serving.stop();
        is_over.store(true, Relaxed);
    });
}

/// A connection for which the kernel keeps as little as for one over a line: on loopback it takes megabytes of an
/// answer that nobody reads, because packets are large there.
fn narrow(address: &str) -> TcpStream {
    let address: SocketAddrV4 = address.parse().expect("an address");
    let socket =
        socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    setsockopt(&socket, sockopt::TcpMaxSeg, &536).expect("small packets");
    setsockopt(&socket, sockopt::RcvBuf, &4096).expect("a small buffer");
    connect(socket.as_raw_fd(), &SockaddrIn::from(address)).expect("it listens");
    let stream = TcpStream::from(socket);
    stream.set_write_timeout(Some(Duration::from_secs(5))).expect("a time limit");
    stream
}

/// The largest batch, of which as much is known as can be: the same case again and again, with ten signatures of which
/// each is a reason.
fn largest_batch(serving: &Serving<'_>) -> String {
    let signature = |number: usize| format!(r#"{{"kind":"exact1","digest":"{number:040x}"}}"#);
    let case = (1..=10).map(signature).collect::<Vec<_>>().join(",");
    let (token, reported) = (serving.operator_token(), format!(r#"{{"case":[{case}]}}"#));
    let answered =
        post(serving.address(), "/v1/report", "application/json", Some(&token), reported.as_bytes());
    assert_eq!(answered.status, 200, "{}", answered.body);
    format!(r#"{{"cases":[{}]}}"#, vec![format!("[{case}]"); CASES].join(","))
}

#[test]
fn answers_to_large_batches_that_nobody_reads_stay_within_the_budget_and_others_are_answered() {
    let folder = Folder::new();
    let held = HELD_KIB_MAX << 10;
    folder.write(
        "seenit.toml",
        format!(
            "[http]\nheld_bytes_max = {held}\nmessage_bytes_max = {BATCH_BYTES_MAX}\n\
             body_bytes_max = {BATCH_BYTES_MAX}\n"
        ),
    );
    folder.write("mail.eml", mail(1));
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    let (batch, token) = (largest_batch(&serving), serving.operator_token());
    let read = || post(serving.address(), "/v1/check", "application/json", Some(&token), batch.as_bytes());
    let answer_kib = read().body.len() >> 10;
    assert_eq!(serving.verdict("mail.eml").0, "unknown");
    let idle = resident_most_kib(&serving);
    let head = format!(
        "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        batch.len()
    );
    let (request, end) = (head + &batch[..batch.len() - 1], &batch[batch.len() - 1..]);
    let begin = |_| {
        let mut stream = narrow(serving.address());
        // Closed meanwhile, where there was no room for it.
        let _ = stream.write_all(request.as_bytes());
        stream
    };
    let wave = || {
        let mut streams: Vec<TcpStream> = (0..AT_ONCE).map(begin).collect();
        streams.iter_mut().for_each(|stream| drop(stream.write_all(end.as_bytes())));
        std::thread::sleep(Duration::from_millis(150));
        streams
    };
    std::thread::scope(|scope| {
        let attack = scope.spawn(|| (0..WAVES).flat_map(|_| wave()).collect::<Vec<_>>());
        for _ in 0..ANSWERS_MIN {
            assert_eq!(serving.verdict("mail.eml").0, "unknown", "somebody else is answered");
            let answered = read();
            assert_eq!((answered.status, answered.body.len() >> 10), (200, answer_kib), "an account");
        }
        let unread = attack.join().expect("no panic");
        until_settled(&serving);
        let grown = peak_kib(&serving).saturating_sub(idle);
        let number = unread.len();
        eprintln!("{number} answers of {answer_kib} KiB: {grown} KiB more than idle ({idle} KiB)");
        assert!(grown < HELD_KIB_MAX + OVERDRAFT_KIB_MAX, "{grown} KiB more than idle");
    });
    serving.stop();
}
