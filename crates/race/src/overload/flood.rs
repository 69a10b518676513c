//! Strangers who ask ten times what they may, through one front end.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::account::{Talk, request, signature};
use super::host::Host;
use super::{CHECKS_PER_SEC, FACTOR, WRITES_PER_SEC};
use crate::protocols::question::{Question, TAGS};

/// Connections of a flood over TCP.
const CONNECTIONS: u32 = 8;
/// Datagrams are sent in little bursts, so often.
const TICK: Duration = Duration::from_millis(5);
/// A connection that is told nothing for so long looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(200);

/// The status of an answer to somebody who asks too much.
const TOO_MUCH: u16 = 429;

/// Where a flood comes in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    HttpChecks,
    HttpWrites,
    Pyzor,
    Razor,
    Dcc,
    Fuzzy,
}

impl Front {
    pub(super) const ALL: [Front; 6] =
        [Front::HttpChecks, Front::HttpWrites, Front::Pyzor, Front::Razor, Front::Dcc, Front::Fuzzy];

    pub(super) fn name(self) -> &'static str {
        match self {
            Front::HttpChecks => "http checks",
            Front::HttpWrites => "http writes",
            Front::Pyzor => "pyzor",
            Front::Razor => "razor",
            Front::Dcc => "dcc",
            Front::Fuzzy => "fuzzy",
        }
    }
}

#[derive(Default)]
struct Counts {
    stop: AtomicBool,
    offered: AtomicU64,
    served: AtomicU64,
}

impl Counts {
    fn count(&self, is_served: bool) {
        self.offered.fetch_add(1, Relaxed);
        self.served.fetch_add(is_served.into(), Relaxed);
    }
}

pub(super) struct Flood {
    counts: Arc<Counts>,
    began: Instant,
    threads: Vec<JoinHandle<std::io::Result<()>>>,
}

/// What strangers asked, and how much of it was answered and not refused.
pub(super) struct Flooded {
    pub(super) offered_per_s: u64,
    pub(super) served_per_s: u64,
}

impl Flood {
    pub(super) fn start(front: Front, host: &Host) -> Result<Self, Box<dyn Error>> {
        let counts = Arc::new(Counts::default());
        let mut flood = Flood { counts, began: Instant::now(), threads: Vec::new() };
        match front {
            Front::HttpChecks => flood.http(host.abroad(), "/v1/check", "signatures", CHECKS_PER_SEC),
            Front::HttpWrites => flood.http(host.abroad(), "/v1/see", "case", WRITES_PER_SEC),
            Front::Pyzor => flood.datagrams(host.client("pyzor")?, Question::PyzorCheck),
            Front::Dcc => flood.datagrams(host.client("dcc")?, Question::DccQuery),
            Front::Fuzzy => flood.datagrams(host.client("fuzzy")?, Question::FuzzyCheck),
            Front::Razor => flood.razor(host.client("razor")?),
        }
        Ok(flood)
    }

    /// Stops it, and says what it came to.
    pub(super) fn stop(self) -> Result<Flooded, Box<dyn Error>> {
        let secs = self.began.elapsed().as_secs_f64();
        let per_s = |number: &AtomicU64| (number.load(Relaxed) as f64 / secs) as u64;
        let flooded =
            Flooded { offered_per_s: per_s(&self.counts.offered), served_per_s: per_s(&self.counts.served) };
        self.counts.stop.store(true, Relaxed);
        for thread in self.threads {
            thread.join().map_err(|_| "a flood panicked")??;
        }
        Ok(flooded)
    }

    fn spawn(&mut self, work: impl FnOnce(&Counts) -> std::io::Result<()> + Send + 'static) {
        let counts = Arc::clone(&self.counts);
        self.threads.push(thread::spawn(move || work(&counts)));
    }

    fn http(&mut self, address: SocketAddr, path: &'static str, shape: &'static str, limit: u32) {
        for first in 0..u64::from(CONNECTIONS) {
            self.spawn(move |counts| {
                let mut talk = Talk::open(address)?;
                paced(limit, counts, |number| {
                    let asked = signature(shape, first << 32 | number);
                    let status = talk.ask(&request(path, None, &asked))?;
                    counts.count(status != TOO_MUCH);
                    Ok(())
                })
            });
        }
    }

    fn razor(&mut self, address: SocketAddr) {
        for _ in 0..CONNECTIONS {
            self.spawn(move |counts| {
                let mut stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                let mut lines = BufReader::new(stream.try_clone()?);
                let mut line = String::new();
                stream.write_all(b"cn=razor-agents&cv=2.84\r\n")?;
                lines.read_line(&mut line)?;
                paced(CHECKS_PER_SEC, counts, |_| {
                    stream.write_all(b"a=c&e=4&ep4=7542-10&s=4jJoJDpXSXfYzlp7b9dRO0QtS7wA\r\n")?;
                    line.clear();
                    lines.read_line(&mut line)?;
                    counts.count(line.starts_with("p="));
                    Ok(())
                })
            });
        }
    }

    fn datagrams(&mut self, address: SocketAddr, question: Question) {
        self.spawn(move |counts| {
            let socket = UdpSocket::bind((address.ip(), 0))?;
            socket.connect(address)?;
            socket.set_nonblocking(true)?;
            let mut datagram = Vec::new();
            let mut answer = [0; 2048];
            let start = Instant::now();
            let mut number = 0_u64;
            while !counts.stop.load(Relaxed) {
                let due = start.elapsed().as_secs_f64() * f64::from(CHECKS_PER_SEC * FACTOR);
                while (number as f64) < due {
                    let tag = TAGS.start + (number % u64::from(TAGS.end - TAGS.start)) as u16;
                    datagram.clear();
                    question.write(number, tag, &mut datagram);
                    // What the socket has no room for is offered all the same.
                    let _ = socket.send(&datagram);
                    counts.offered.fetch_add(1, Relaxed);
                    number += 1;
                }
                while let Ok(bytes) = socket.recv(&mut answer) {
                    counts.served.fetch_add(is_served(question, &answer[..bytes]).into(), Relaxed);
                }
                thread::sleep(TICK);
            }
            Ok(())
        });
    }
}

/// Whether an answer is none that refuses.
fn is_served(question: Question, answer: &[u8]) -> bool {
    match question {
        Question::PyzorCheck => answer.starts_with(b"Code: 200"),
        // DCC says nothing to those who ask too much.
        Question::DccQuery => true,
        // A value of 403 refuses.
        _ => !answer.starts_with(&403_u32.to_le_bytes()),
    }
}

/// Asks as often as one of the connections has to, until told to stop.
fn paced(
    limit: u32,
    counts: &Counts,
    mut ask: impl FnMut(u64) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let every = Duration::from_secs(1) * CONNECTIONS / (limit * FACTOR);
    let start = Instant::now();
    let mut number = 0_u32;
    while !counts.stop.load(Relaxed) {
        ask(number.into())?;
        number += 1;
        thread::sleep((every * number).saturating_sub(start.elapsed()).min(LOOK));
    }
    Ok(())
}

/// Takes what a network has saved up: what is raced is its limit, not the burst before.
pub(super) fn use_up_the_burst(host: &Host) -> Result<(), Box<dyn Error>> {
    let mut talk = Talk::open(host.abroad())?;
    let mut batch = String::from("{\"signatures\":[");
    batch.push_str(
        &vec![format!("{{\"kind\":\"pyzor\",\"digest\":\"{}\"}}", "ab".repeat(20)); 5000].join(","),
    );
    batch.push_str("]}");
    while talk.ask(&request("/v1/check", None, &batch))? != TOO_MUCH {}
    let mut number = 1 << 40;
    while talk.ask(&request("/v1/see", None, &signature("case", number)))? != TOO_MUCH {
        number += 1;
    }
    Ok(())
}
