//! Load on a server that is about to die, and what must be true afterwards.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::{Client, Server};

/// Clients at a time.
const CLIENTS: u64 = 4;

/// How long before a kill an accepted count must be there afterwards. Deltas are journalled every 50 ms (see the site's
/// configuration); the rest is for a machine that does other things, too. Where its disk takes longer, a delta waits,
/// behind another one and what was written before: so many times the longest that a write took is added.
const SEEN_MARGIN: Duration = Duration::from_millis(1000);
const SEEN_MARGIN_WRITES: u32 = 4;

/// Reports that are acknowledged in a round, on average, and how long is waited for them: without any, nothing is
/// tested. The average, so that the moments of the kills are still those of the seed wherever the disk is quick.
const ACKNOWLEDGED_MIN: u64 = 4;
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(30);

/// How long a round on a disk that fails waits for a write that is refused, at most.
const REFUSED_WITHIN: Duration = Duration::from_secs(30);

/// Signatures that are seen, over and over.
const SEEN: u64 = 8;

/// Numbers from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What was sent and what came back, over all rounds.
pub(crate) struct Load {
    next: u64,
    rounds: u64,
    told: Arc<Told>,
    notes: Vec<String>,
}

#[derive(Default)]
struct Told {
    sent: AtomicU64,
    refused: AtomicU64,
    /// The longest that a report of this round took, in milliseconds; also of one that was never answered.
    slowest: AtomicU64,
    /// Reports that were acknowledged, by number; true for those revoked since, acknowledged, too.
    acknowledged: Mutex<HashMap<u64, bool>>,
    /// Numbers whose revocation was sent: what is said of them may be either.
    revoking: Mutex<HashMap<u64, ()>>,
    /// Recipients accepted for each seen signature, and when.
    seen: Mutex<Vec<(Instant, u64)>>,
    /// Those of rounds before, and those of this round that are old enough.
    seen_certain: Mutex<HashMap<u64, u64>>,
}

fn digest(number: u64) -> String {
    format!("{number:016x}{}", "5a".repeat(12))
}

fn case(number: u64) -> String {
    format!(r#"{{"case":[{{"kind":"exact1","digest":"{}"}}]}}"#, digest(number))
}

fn seen_case(number: u64) -> String {
    format!(r#"{{"case":[{{"kind":"pyzor","digest":"{}"}}],"recipients":1}}"#, digest(number))
}

impl Load {
    pub(crate) fn new(seed: u64) -> Self {
        Load { next: seed << 32, rounds: 1, told: Arc::default(), notes: Vec::new() }
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(crate) fn refused(&self) -> u64 {
        self.told.refused.load(SeqCst)
    }

    /// Says what was tested. Whoever gets here has found everything that was acknowledged.
    pub(crate) fn tell(&self, disk: &str) {
        let acknowledged = self.told.acknowledged.lock().expect("not poisoned").len();
        eprintln!(
            "{} kills {disk}: {acknowledged} reports acknowledged, {} refused, lost: 0",
            self.rounds - 1,
            self.refused()
        );
    }

    /// Loads the server for some time and until enough was acknowledged, and kills it.
    pub(crate) fn run(&mut self, server: Server, time: Duration) {
        let (told, wanted, began) = (Arc::clone(&self.told), self.rounds * ACKNOWLEDGED_MIN, Instant::now());
        self.run_until(server, move || {
            std::thread::sleep(time);
            let acknowledged = || told.acknowledged.lock().expect("not poisoned").len() as u64;
            while acknowledged() < wanted && began.elapsed() < ACKNOWLEDGED_WITHIN {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }

    /// Loads the server for some time and until it has refused a write, and kills it: on a busy machine few writes come
    /// in that time, and none of them may meet a fault.
    pub(crate) fn run_until_refused(&mut self, server: Server, time: Duration) {
        let (told, before, began) = (Arc::clone(&self.told), self.refused(), Instant::now());
        self.run_until(server, move || {
            while began.elapsed() < time
                || told.refused.load(SeqCst) == before && began.elapsed() < REFUSED_WITHIN
            {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
    }

    /// Loads the server until `wait` returns, and kills it.
    fn run_until(&mut self, server: Server, wait: impl FnOnce()) {
        let end = Arc::new(AtomicBool::new(false));
        let clients = (0..CLIENTS).map(|client| {
            let (mut http, told, end) = (server.client(), Arc::clone(&self.told), Arc::clone(&end));
            let from = self.next + client * 1_000_000;
            std::thread::spawn(move || {
                for number in from.. {
                    if end.load(SeqCst) || !say(&mut http, &told, number) {
                        break;
                    }
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        wait();
        let killed = Instant::now();
        server.kill();
        end.store(true, SeqCst);
        clients.into_iter().for_each(|client| client.join().expect("no client panics"));
        self.next += CLIENTS * 1_000_000;
        self.rounds += 1;
        let slowest = Duration::from_millis(self.told.slowest.swap(0, SeqCst));
        let margin = SEEN_MARGIN + SEEN_MARGIN_WRITES * slowest;
        let mut certain = self.told.seen_certain.lock().expect("not poisoned");
        for (when, number) in self.told.seen.lock().expect("not poisoned").drain(..) {
            if when + margin < killed {
                *certain.entry(number).or_default() += 1;
            }
        }
    }

    /// So many reports, all acknowledged.
    pub(crate) fn some(&mut self, server: &Server, count: u64) {
        let mut http = server.client();
        for number in self.next..self.next + count {
            assert_eq!(report(&mut http, &self.told, number), Some(200));
        }
        self.next += count;
    }

    /// A report is refused with this status.
    pub(crate) fn refused_with(&mut self, server: &Server, status: u16) {
        assert_eq!(report(&mut server.client(), &self.told, self.next), Some(status));
        self.next += 1;
    }

    /// A report is accepted after a while.
    pub(crate) fn accepted_within(&mut self, server: &Server, time: Duration) {
        let (began, mut http) = (Instant::now(), server.client());
        while report(&mut http, &self.told, self.next) != Some(200) {
            assert!(began.elapsed() < time, "writes are still refused");
            self.next += 1;
            std::thread::sleep(Duration::from_millis(100));
        }
        self.next += 1;
    }

    /// The newest of what was acknowledged is there, the totals are right, and seen counts are not too low.
    pub(crate) fn check(&self, server: &Server, when: &str) {
        let acknowledged = self.told.acknowledged.lock().expect("not poisoned").clone();
        let mut newest: Vec<u64> = acknowledged.keys().copied().collect();
        newest.sort_unstable_by(|one, other| other.cmp(one));
        newest.truncate(500);
        self.check_numbers(server, &newest, when);
        let (status, body) = server.client().get("/v1/stats").expect("an answer");
        assert_eq!(status, 200, "{when}");
        let stats: Value = serde_json::from_slice(&body).expect("JSON");
        let records = stats["records"].as_u64().expect("a number");
        // What many see becomes bulk, which is a record, too: once in each life of the server at most.
        let sent = self.told.sent.load(SeqCst) + SEEN * self.rounds;
        assert!(
            acknowledged.len() as u64 <= records && records <= sent,
            "{when}: {records} records, {sent} sent"
        );
        for (&number, &count) in self.told.seen_certain.lock().expect("not poisoned").iter() {
            let found = seen(server, number);
            assert!(found >= count, "{when}: seen {found} times, accepted {count} times in time");
        }
    }

    /// The same of everything that was ever acknowledged.
    pub(crate) fn check_all(&self, server: &Server) {
        let acknowledged = self.told.acknowledged.lock().expect("not poisoned").clone();
        assert!(acknowledged.len() > 50, "only {} reports: nothing was tested", acknowledged.len());
        let all: Vec<u64> = acknowledged.keys().copied().collect();
        self.check_numbers(server, &all, &format!("at the end, {:?}", self.notes));
    }

    fn check_numbers(&self, server: &Server, numbers: &[u64], when: &str) {
        let mut http = server.client();
        let acknowledged = self.told.acknowledged.lock().expect("not poisoned");
        let revoking = self.told.revoking.lock().expect("not poisoned");
        for numbers in numbers.chunks(500) {
            let signature = |number: &u64| format!(r#"{{"kind":"exact1","digest":"{}"}}"#, digest(*number));
            let signatures: Vec<String> = numbers.iter().map(signature).collect();
            let body = format!(r#"{{"signatures":[{}]}}"#, signatures.join(","));
            let answered = http.post("/v1/check", "application/json", body.as_bytes()).expect("an answer");
            assert_eq!(answered.0, 200, "{when}");
            let answers: Value = serde_json::from_slice(&answered.1).expect("JSON");
            for (number, answer) in numbers.iter().zip(answers["answers"].as_array().expect("a list")) {
                let verdict = answer["verdict"].as_str().expect("a verdict");
                let expected: &[&str] = match (acknowledged.get(number), revoking.contains_key(number)) {
                    (Some(true), _) => &["ham"],
                    (_, true) => &["spam", "ham"],
                    _ => &["spam"],
                };
                assert!(expected.contains(&verdict), "{when}: {number:x} is {verdict}, not {expected:?}");
            }
        }
    }
}

/// One report, now and then a revocation of the one before, now and then somebody sees something. False when the server
/// is gone.
fn say(http: &mut Client, told: &Told, number: u64) -> bool {
    if number.is_multiple_of(3) {
        let seen = number % SEEN;
        match http.post("/v1/see", "application/json", seen_case(seen).as_bytes()) {
            Ok((202, _)) => told.seen.lock().expect("not poisoned").push((Instant::now(), seen)),
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    let Some(status) = report(http, told, number) else { return false };
    if status == 200 && number.is_multiple_of(5) {
        told.sent.fetch_add(1, SeqCst);
        told.revoking.lock().expect("not poisoned").insert(number, ());
        match http.post("/v1/revoke", "application/json", case(number).as_bytes()) {
            Ok((200, _)) => {
                told.acknowledged.lock().expect("not poisoned").insert(number, true);
            }
            Ok(_) => {
                told.refused.fetch_add(1, SeqCst);
            }
            Err(_) => return false,
        }
    }
    true
}

/// Reports a number. `None` when the server is gone.
fn report(http: &mut Client, told: &Told, number: u64) -> Option<u16> {
    told.sent.fetch_add(1, SeqCst);
    let began = Instant::now();
    let answered = http.post("/v1/report", "application/json", case(number).as_bytes());
    told.slowest.fetch_max(began.elapsed().as_millis() as u64, SeqCst);
    let (status, body) = answered.ok()?;
    match status {
        200 => {
            told.acknowledged.lock().expect("not poisoned").insert(number, false);
        }
        503 => {
            told.refused.fetch_add(1, SeqCst);
        }
        _ => panic!("{status}: {}", String::from_utf8_lossy(&body)),
    }
    Some(status)
}

/// How often a signature was seen, as the server says.
fn seen(server: &Server, number: u64) -> u64 {
    let body = seen_case(number).replace(r#","recipients":1"#, "");
    let (status, body) =
        server.client().post("/v1/check", "application/json", body.as_bytes()).expect("an answer");
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    let judgement: Value = serde_json::from_slice(&body).expect("JSON");
    judgement["reasons"][0]["seen"].as_u64().unwrap_or(0)
}
