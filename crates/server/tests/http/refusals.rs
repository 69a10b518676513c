//! What is refused, with which status and code, and that the server goes on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use seenit_ledger::clock::SystemClock;
use seenit_ledger::reporter::LOCAL;
use seenit_ledger::{Case, Clock, Verb};
use seenit_signature::Kind;

use super::site::{BINARY, JSON, MAIL, MESSAGE, Reply, Site, config};

const CASE: &str = r#"{"case":[{"kind":"razor-e8","digest":"0102030405060708"}]}"#;

#[test]
fn bodies_that_make_no_sense_are_refused() {
    let site = Site::start(config());
    let check = |content_type: &str, body: &str| {
        site.ask("POST", "/v1/check").body(content_type, body).send().problem()
    };
    assert_eq!(check(JSON, "{"), (400, "bad-body".into()));
    assert_eq!(check(JSON, r#"{"case":[],"recipients":1}"#), (400, "bad-body".into()));
    assert_eq!(check(BINARY, "\x01"), (400, "bad-body".into()));
    assert_eq!(check("text/plain", "hello"), (415, "media-type".into()));
    assert_eq!(site.ask("POST", "/v1/check").send().problem(), (415, "media-type".into()));
    let zipped = site.ask("POST", "/v1/check").header("Content-Encoding", "gzip").body(JSON, "{}").send();
    assert_eq!(zipped.problem(), (415, "media-type".into()));
    assert_eq!(site.post("/v1/report", JSON, r#"{"signatures":[]}"#).problem(), (400, "bad-body".into()));
    assert_eq!(
        site.post("/v1/report", JSON, r#"{"case":[],"recipients":1}"#).problem(),
        (400, "bad-body".into())
    );
    let odd = site.ask("POST", "/v1/check?deep=1").body(JSON, CASE).send();
    assert_eq!(odd.problem(), (400, "bad-query".into()));
}

#[test]
fn other_paths_and_methods_are_refused() {
    let site = Site::start(config());
    assert_eq!(site.get("/").problem(), (404, "not-found".into()));
    assert_eq!(site.get("/v1/check/1").problem(), (404, "not-found".into()));
    let wrong = site.get("/v1/check");
    assert_eq!((wrong.problem(), wrong.header("allow")), ((405, "method".into()), Some("POST")));
    let wrong = site.ask("PUT", "/v1/accounts").send();
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("GET, HEAD, POST")));
}

#[test]
fn large_bodies_and_batches_are_refused() {
    let mut config = config();
    (config.http.message_bytes_max, config.http.body_bytes_max) = (4096, 2048);
    let site = Site::start(config);
    let declared = |content_type: &str, bytes: usize| {
        let length = bytes.to_string();
        site.ask("POST", "/v1/check")
            .header("Content-Length", &length)
            .body(content_type, "")
            .send()
            .problem()
    };
    assert_eq!(declared(MESSAGE, 4097), (413, "body-too-large".into()));
    assert_eq!(declared(JSON, 2049), (413, "body-too-large".into()));
    let chunk = format!("a01\r\n{}\r\n0\r\n\r\n", "x".repeat(0xa01));
    let head = format!(
        "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {BINARY}\r\n\
        Transfer-Encoding: chunked\r\n\r\n"
    );
    let reply = Reply::parse(&site.send_raw(format!("{head}{chunk}").as_bytes()));
    assert_eq!(reply.problem(), (413, "body-too-large".into()));
    assert_eq!(site.post("/v1/report", BINARY, [0; 2002]).problem(), (413, "batch-too-large".into()));
    assert_eq!(site.ask("POST", "/v1/check").body(MESSAGE, "x".repeat(4096)).send().status, 200);
}

#[test]
fn large_heads_are_refused() {
    let site = Site::start(config());
    let long = site.ask("GET", "/healthz").header("X-Long", &"x".repeat(40_000)).send();
    assert_eq!(long.problem(), (431, "large-head".into()));
    let many =
        (0..80).fold(site.ask("GET", "/healthz"), |ask, number| ask.header(&format!("X-{number}"), "1"));
    assert_eq!(many.send().problem(), (431, "large-head".into()));
    assert_eq!(site.get("/healthz").status, 200);
}

#[test]
fn slow_clients_are_cut_off() {
    let mut config = config();
    // The head of the first one comes at once, but a busy machine may read it late.
    (config.http.head_secs, config.http.body_secs) = (5, 1);
    let site = Site::start(config);
    let late = site.ask("POST", "/v1/check").header("Content-Length", "1000").body(JSON, "{").send();
    assert_eq!(late.problem(), (408, "late-body".into()));
    let mut stream = TcpStream::connect(site.address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").expect("sent");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("closed by the server, not by the time limit");
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn requests_for_other_hosts_are_misdirected() {
    let mut config = config();
    config.http.names = vec!["seenit.example".into()];
    let site = Site::start(config);
    let status = |host: &str| site.ask("GET", "/healthz").header("Host", host).send().status;
    for host in
        ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8025", "[::1]:8025", "Seenit.Example:443"]
    {
        assert_eq!(status(host), 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "192.0.2.1", "", "seenit.example.evil.example"] {
        assert_eq!(status(host), 421, "{host}");
    }
    let two = site.ask("GET", "/healthz").header("Host", "localhost").header("Host", "evil.example").send();
    assert!([400, 421].contains(&two.status));
    let none = Reply::parse(&site.send_raw(b"GET /healthz HTTP/1.0\r\n\r\n"));
    assert_eq!(none.problem(), (421, "wrong-host".into()));
    let whole = site.ask("GET", "http://evil.example/healthz").header("Host", "localhost").send();
    assert_eq!(whole.problem(), (421, "wrong-host".into()));
}

#[test]
fn requests_that_a_web_page_made_are_refused() {
    let site = Site::start(config());
    let own = format!("http://{}", site.address);
    let with =
        |name: &str, value: &str| site.ask("POST", "/v1/check").header(name, value).body(JSON, CASE).send();
    assert_eq!(with("Origin", &own).status, 200);
    assert_eq!(with("Sec-Fetch-Site", "same-origin").status, 200);
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost:1"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        assert_eq!(with(name, value).problem(), (403, "cross-site".into()), "{name}: {value}");
    }
}

#[test]
fn forwarded_headers_are_refused_from_strangers_and_taken_from_proxies() {
    let site = Site::start(config());
    for name in ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto"] {
        let reply = site.ask("GET", "/healthz").header(name, "for=192.0.2.1").send();
        assert_eq!(reply.problem(), (400, "forwarded".into()), "{name}");
    }
    let mut config = config();
    config.http.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    let site = Site::start(config);
    let check =
        |name: &str, value: &str| site.ask("POST", "/v1/check").header(name, value).body(JSON, CASE).send();
    assert_eq!(check("X-Forwarded-For", "192.0.2.1").problem(), (401, "no-token".into()));
    assert_eq!(check("Forwarded", "for=192.0.2.1;proto=https").problem(), (401, "no-token".into()));
    assert_eq!(check("X-Forwarded-For", "127.0.0.1").problem(), (401, "no-token".into()));
    assert_eq!(check("X-Forwarded-For", "somebody").problem(), (400, "forwarded".into()));
    assert_eq!(check("Accept", "*/*").problem(), (401, "no-token".into()), "a proxy that says nothing");
    let both = site
        .ask("GET", "/healthz")
        .header("X-Forwarded-For", "192.0.2.1")
        .header("Forwarded", "for=192.0.2.1");
    assert_eq!(both.send().problem(), (400, "forwarded".into()));
    let known = site.ask("POST", "/v1/check").header("X-Forwarded-For", "192.0.2.1").token(&site.token);
    assert_eq!(known.body(JSON, CASE).send().status, 200);
}

#[test]
fn strangers_beyond_loopback_check_and_see_where_they_may_and_within_limits() {
    let mut config = config();
    config.http.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    config.http.anonymous_beyond_loopback = true;
    config.limits.network_writes_per_sec = 1;
    config.limits.burst_secs = 1;
    let site = Site::start(config);
    let ask = |client: &str, path: &str, content_type: &str, body: &[u8]| {
        site.ask("POST", path).header("X-Forwarded-For", client).body(content_type, body).send()
    };
    assert_eq!(ask("192.0.2.1", "/v1/check", JSON, CASE.as_bytes()).status, 200);
    assert_eq!(ask("192.0.2.1", "/v1/report", JSON, CASE.as_bytes()).problem(), (401, "no-token".into()));
    let stats = site.ask("GET", "/v1/stats").header("X-Forwarded-For", "192.0.2.1").send();
    assert_eq!(stats.problem(), (401, "no-token".into()));
    let metrics = site.ask("GET", "/metrics").header("X-Forwarded-For", "192.0.2.1").send();
    assert_eq!(metrics.problem(), (401, "no-token".into()));
    let batch = [[1, 0].as_slice(), &[7, 8, 0], &[9; 8]].concat().repeat(900);
    assert_eq!(ask("192.0.2.1", "/v1/see", BINARY, &batch).status, 202);
    let over = ask("192.0.2.77", "/v1/see", BINARY, &batch);
    assert_eq!(over.problem(), (429, "rate-limit".into()), "one network, one limit");
    let wait: u64 = over.header("retry-after").expect("a time to wait").parse().expect("seconds");
    assert!((1..=900).contains(&wait) && over.text().contains("network_writes_per_sec"), "{wait}");
    assert_eq!(ask("192.0.3.1", "/v1/see", BINARY, &batch).status, 202, "another network");
}

#[test]
fn wrong_tokens_of_a_neighbour_cost_neither_its_accounts_nor_those_without_one() {
    let mut config = config();
    config.http.trusted_proxies = vec!["127.0.0.0/8".parse().expect("a network")];
    config.http.anonymous_beyond_loopback = true;
    config.limits.network_writes_per_sec = 1;
    config.limits.burst_secs = 1;
    let site = Site::start(config);
    let token = site.account("mx", r#"["report"]"#);
    let ask = |path: &str, token: Option<&str>| {
        let ask = site.ask("POST", path).header("X-Forwarded-For", "192.0.2.1").body(JSON, CASE);
        token.into_iter().fold(ask, |ask, token| ask.token(token)).send()
    };
    let mut last = ask("/v1/report", None).problem();
    for _ in 0..1_000 {
        assert_eq!(ask("/v1/report", None).status / 100, 4);
        last = ask("/v1/check", Some("nobody's")).problem();
    }
    assert_eq!(last, (429, "rate-limit".into()), "a flood is told to wait");
    assert!(ask("/v1/check", Some("nobody's")).text().contains("failures_per_sec"));
    assert_eq!(ask("/v1/report", Some(&token)).status, 200);
    assert_eq!(ask("/v1/see", None).status, 202, "those without an account");
}

#[test]
fn accounts_have_limits_and_the_operator_has_none() {
    let mut config = config();
    config.limits.account_checks_per_sec = 1;
    config.limits.burst_secs = 1;
    let site = Site::start(config);
    let token = site.account("mx", r#"["check"]"#);
    let batch = [7, 8, 0, 1, 1, 1, 1, 1, 1, 1, 1].repeat(9_000);
    let check = |token: &str| site.ask("POST", "/v1/check").token(token).body(BINARY, &batch).send();
    assert_eq!(check(&token).status, 200);
    let over = check(&token);
    assert_eq!(over.problem(), (429, "rate-limit".into()));
    assert!(over.header("retry-after").is_some());
    assert_eq!((check(&site.token).status, check(&site.token).status), (200, 200));
}

#[test]
fn a_closed_ledger_refuses_writes_and_goes_on_answering() {
    let site = Site::start(config());
    site.post("/v1/report", MESSAGE, MAIL);
    site.running.as_ref().expect("running").ledger().close();
    let refused = site.post("/v1/report", JSON, CASE);
    assert_eq!(refused.problem(), (503, "writes-refused".into()));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(site.ask("POST", "/v1/check").body(MESSAGE, MAIL).send().json()["verdict"], "spam");
}

#[test]
fn a_site_with_a_full_disk_is_not_ready_and_says_why() {
    let mut config = config();
    config.ledger.free_bytes_min = 1 << 60;
    let site = Site::start(config);
    let refused = site.post("/v1/report", JSON, CASE);
    assert_eq!(refused.problem(), (503, "writes-refused".into()));
    assert!(refused.text().contains("are free where the journal lies"), "{}", refused.text());
    assert_eq!(site.get("/readyz").problem(), (503, "writes-refused".into()));
    assert_eq!(site.get("/healthz").status, 200);
    assert_eq!(site.ask("POST", "/v1/check").body(JSON, CASE).send().status, 200);
}

/// The machine's clock, and seconds that a test adds to its steady one.
#[derive(Default)]
struct Hasty {
    system: SystemClock,
    ahead_secs: AtomicU64,
}

impl Clock for Hasty {
    fn now_secs(&self) -> u64 {
        self.system.now_secs()
    }

    fn steady_secs(&self) -> u64 {
        self.system.steady_secs() + self.ahead_secs.load(SeqCst)
    }
}

#[test]
fn a_site_whose_writer_is_stuck_is_not_ready_says_why_and_is_ready_again() {
    let clock = Arc::new(Hasty::default());
    let site = Site::start_with(config(), |server| server.clock(clock.clone()));
    let ledger = Arc::clone(site.running.as_ref().expect("running").ledger());
    let ((entered, has_entered), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
    let mut case = Case::new();
    case.push(Kind::Pyzor, &[7; 20]).expect("a digest");
    ledger.write(
        seenit_ledger::Write { verb: Verb::Report, reporter: LOCAL, cases: vec![case] },
        move |_| {
            entered.send(()).expect("the test waits");
            // It is given free when the test drops its end.
            let _ = released.recv();
        },
    );
    has_entered.recv().expect("the writer answers");
    clock.ahead_secs.store(60, SeqCst);
    let refused = site.get("/readyz");
    assert_eq!(refused.problem(), (503, "writes-refused".into()));
    assert!(refused.text().contains("busy with a commit and its answers for 6"), "{}", refused.text());
    assert_eq!(site.get("/healthz").status, 200);
    assert_eq!(site.ask("POST", "/v1/check").body(JSON, CASE).send().status, 200, "checks go on");
    drop(release);
    assert_eq!(site.post("/v1/report", JSON, CASE).status, 200);
    let long = Instant::now() + Duration::from_secs(60);
    while site.get("/readyz").status != 200 {
        assert!(Instant::now() < long, "still stuck: {}", site.get("/readyz").text());
    }
}

#[test]
fn bytes_that_are_no_http_end_the_connection_and_nothing_else() {
    let site = Site::start(config());
    for bytes in [b"\x16\x03\x01\x02\x00".as_slice(), b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[0; 5000]] {
        let mut stream = TcpStream::connect(site.address).expect("a connection");
        stream.write_all(bytes).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("no more");
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        assert!(reply.is_empty() || reply.starts_with(b"HTTP/1.1 4"), "{reply:?}");
    }
    assert_eq!(site.get("/healthz").status, 200);
}

/// Cases of Razor's short digests, `from` and those after it.
fn cases(from: u32, many: u32) -> String {
    let one = |number: u32| format!(r#"[{{"kind": "razor-e8", "digest": "{number:016x}"}}]"#);
    let cases: Vec<String> = (from..from + many).map(one).collect();
    format!(r#"{{"cases": [{}]}}"#, cases.join(", "))
}

#[test]
fn a_site_whose_tally_is_full_is_not_ready_and_says_why() {
    let mut config = config();
    config.ledger.capacity = 1000;
    let site = Site::start(config);
    assert_eq!(site.post("/v1/report", JSON, cases(1, 1000)).status, 200);
    assert_eq!(site.get("/readyz").text(), "ready\n");
    let refused = site.post("/v1/report", JSON, cases(5000, 1));
    assert_eq!(refused.problem(), (503, "writes-refused".into()));
    assert_eq!(site.get("/readyz").problem(), (503, "writes-refused".into()));
    let stats = site.get("/v1/stats").json();
    assert_eq!((&stats["is_full"], &stats["kept_generations"]), (&true.into(), &30.into()));
    assert!(
        stats["alarms"][0].as_str().is_some_and(|alarm| alarm.starts_with("reports are refused")),
        "{stats}"
    );
    let metrics = site.get("/metrics").text();
    assert!(metrics.contains("seenit_ledger_full 1"), "{metrics}");
    assert_eq!(site.post("/v1/report", JSON, cases(1, 5)).status, 200, "what is known may be spoken of");
}

#[test]
fn a_site_that_forgets_early_is_ready_and_says_that_it_does() {
    let mut config = config();
    config.ledger.capacity = 1000;
    config.ledger.generation_secs = 1;
    config.ledger.record_generations = 400;
    let site = Site::start(config);
    assert_eq!(site.post("/v1/report", JSON, cases(1, 900)).status, 200);
    let generation = || site.get("/v1/stats").json()["generation"].as_u64();
    let first = generation();
    while generation() == first {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(site.post("/v1/report", JSON, cases(5000, 200)).status, 200);
    let ready = site.get("/readyz");
    assert_eq!(ready.status, 200);
    assert!(ready.text().starts_with("ready\ndegraded: records are kept for "), "{}", ready.text());
    assert!(site.get("/v1/stats").json()["kept_generations"].as_u64() < Some(400));
}
