//! Slow and costly requests that make others wait, or take their memory.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::peer::{PATIENCE, hear, idle_kib, metric, peak_kib, serving, serving_with};
use crate::common::Folder;

/// Bodies that are begun and not ended. The largest message has 32 MiB: all of them together 1.5 GiB.
const BODIES: usize = 48;
const BODY_BYTES: usize = 32 << 20;

/// What they may take: `http.held_bytes_max`, and half of it for buffers that grow by doubling and for what the
/// allocator has not given back. Measured: 135 to 161 MiB.
const GROWTH_KIB_MAX: u64 = (128 + 64) << 10;

/// Messages that are sent at a time, without a pause, by one who has no account.
const COSTLY: usize = 64;

/// What a check has: more than the default, for a machine that does other things, too, and far less than the 26 s that
/// a check once waited.
const DEADLINE_MILLIS: u64 = 10_000;

/// Scrapes of metrics at a time.
const SCRAPES: usize = 256;

/// Answers about the site that are worked out in a second, at most.
const COMPUTED_PER_SEC: f64 = 10.0;

/// Checks of somebody else while an attack goes on.
const CHECKS: usize = 20;

fn head(bytes: usize) -> String {
    format!(
        "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\n\
         Content-Length: {bytes}\r\n\r\n"
    )
}

#[test]
fn bodies_that_nobody_ends_have_one_budget_and_others_are_answered() {
    let folder = Folder::new();
    let serving = serving(&folder);
    let idle = idle_kib(&serving);
    let piece = vec![b'x'; 1 << 20];
    let mut held = Vec::new();
    for _ in 0..BODIES {
        let mut stream = TcpStream::connect(serving.address()).expect("it listens");
        stream.set_write_timeout(Some(Duration::from_secs(10))).expect("a time limit");
        stream.write_all(head(BODY_BYTES).as_bytes()).expect("a head");
        // All but the last piece; one that is given up is closed on the way.
        let _ = (1..BODY_BYTES / piece.len()).try_for_each(|_| stream.write_all(&piece));
        held.push(stream);
    }
    assert_eq!(serving.verdict("mail.eml").0, "unknown", "a small message");
    folder.write("large.eml", format!("Subject: large\n\n{}", "some words of a long text\n".repeat(80_000)));
    assert_eq!(serving.verdict("large.eml").0, "unknown", "one of 2 MB: the slowest body makes room");
    let grown = peak_kib(&serving).saturating_sub(idle);
    eprintln!("{grown} KiB more than idle ({idle} KiB)");
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more than idle");
    serving.stop();
}

#[test]
fn whoever_has_costly_messages_signed_waits_behind_itself() {
    let folder = Folder::new();
    let serving = serving_with(&folder, &format!("[check]\ndeadline_millis = {DEADLINE_MILLIS}\n"));
    let address = serving.address().to_owned();
    let costly = format!("Subject: costly\n\n{}", "\u{fdfa}".repeat((1 << 20) / 3));
    let request = [head(costly.len()).into_bytes(), costly.into_bytes()].concat();
    let stop = AtomicBool::new(false);
    let verdicts = thread::scope(|scope| {
        for _ in 0..COSTLY {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let Ok(mut stream) = TcpStream::connect(&address) else { continue };
                    let _ = stream.write_all(&request);
                    let _ = hear(&mut stream, Duration::from_secs(3));
                }
            });
        }
        // So that all of them have been sent once.
        thread::sleep(Duration::from_secs(2));
        // Asked once each: it is the deadline that tells.
        let verdict = |_| serving.judged_once("mail.eml").0["verdict"].take();
        let verdicts: Vec<Value> = (0..CHECKS).map(verdict).collect();
        stop.store(true, Relaxed);
        verdicts
    });
    assert_eq!(verdicts, ["unknown"; CHECKS], "an opinion, by the deadline");
}

#[test]
fn scrapes_are_answered_from_what_was_worked_out_for_another_one() {
    let folder = Folder::new();
    let serving = serving(&folder);
    let before = metric(&serving, "seenit_http_status_computed_total");
    let began = Instant::now();
    let answered: usize = thread::scope(|scope| {
        let scrape = || {
            let mut stream = TcpStream::connect(serving.address()).expect("it listens");
            let ask = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(ask).expect("sent");
            usize::from(hear(&mut stream, PATIENCE).0.starts_with(b"HTTP/1.1 200"))
        };
        let all: Vec<_> = (0..SCRAPES).map(|_| scope.spawn(scrape)).collect();
        all.into_iter().map(|one| one.join().expect("no panic")).sum()
    });
    assert_eq!(answered, SCRAPES);
    let computed = metric(&serving, "seenit_http_status_computed_total") - before;
    // Of seconds as the server counts them, one had begun before and one has not ended.
    let took = began.elapsed();
    let most = COMPUTED_PER_SEC * (took.as_secs() + 2) as f64;
    eprintln!("{SCRAPES} scrapes in {took:.1?}, {computed} worked out");
    assert!(computed <= most, "{computed} of {SCRAPES} were worked out in {took:.1?}");
    serving.stop();
}
