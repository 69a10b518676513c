//! Pollers: connections that ask about the site without a pause while checks are measured. Each has a thread of its
//! own, which waits most of the time. Some read their answers slowly.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::generator::Connections;
use super::host::Host;
use super::requests;

/// One poller in so many reads slowly.
const SLOW_ONE_IN: usize = 10;
/// Bytes that a slow poller reads at once, and how long it rests after each: an answer takes it a second.
const SLOW_BYTES: usize = 512;
const SLOW_PAUSE: Duration = Duration::from_millis(30);
/// Bytes that any other poller reads at once.
const FAST_BYTES: usize = 16 << 10;
/// A poller needs little of its stack, and there are hundreds.
const STACK_BYTES: usize = 128 << 10;
/// How long a poller waits before it looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(500);

/// How long the first answer to any of them may take: all of them begin at once.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// The pollers of a lap.
pub(crate) struct Pollers {
    threads: Vec<JoinHandle<std::io::Result<()>>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    answered: AtomicU64,
    refused: AtomicU64,
}

/// What the pollers were told, a second.
#[derive(Serialize)]
pub(crate) struct Polled {
    status_answers_per_s: u64,
    status_refusals_per_s: u64,
}

impl Pollers {
    /// Lets so many ask by turns for statistics, metrics and the receipt of one report. A lap begins when one of them
    /// has been answered, and what they were told before is not counted.
    pub(crate) fn start(
        host: &Host,
        number: usize,
        connections: &mut Connections,
    ) -> Result<Self, Box<dyn Error>> {
        let receipt: serde_json::Value =
            serde_json::from_slice(&connections.ask(&requests::report_of_one(host))?)?;
        let id = receipt["id"].as_str().ok_or("a report without a receipt")?;
        let paths = ["/v1/stats".to_owned(), "/metrics".to_owned(), format!("/v1/receipts/{id}")];
        let question = |path: &String| {
            let token = host.token();
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n")
        };
        let questions: Vec<String> = paths.iter().map(question).collect();
        let shared = Arc::new(Shared::default());
        let spawn = |index: usize| {
            let shared = Arc::clone(&shared);
            let address = host.address();
            let question = questions[index % questions.len()].clone();
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            builder.spawn(move || poll(address, &question, index.is_multiple_of(SLOW_ONE_IN), &shared))
        };
        let threads = (0..number).map(spawn).collect::<Result<_, _>>()?;
        let began = Instant::now();
        while shared.answered.load(Relaxed) == 0 {
            if began.elapsed() > ANSWERED_WITHIN {
                return Err("no question about the site is answered".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        shared.answered.store(0, Relaxed);
        shared.refused.store(0, Relaxed);
        Ok(Pollers { threads, shared })
    }

    /// Stops them, and says what they were told in these seconds.
    pub(crate) fn stop(self, secs: f64) -> Result<Polled, Box<dyn Error>> {
        let per_s = |number: &AtomicU64| (number.load(Relaxed) as f64 / secs) as u64;
        let polled = Polled {
            status_answers_per_s: per_s(&self.shared.answered),
            status_refusals_per_s: per_s(&self.shared.refused),
        };
        self.shared.stop.store(true, Relaxed);
        for thread in self.threads {
            thread.join().map_err(|_| "a poller panicked")??;
        }
        Ok(polled)
    }
}

/// Asks the same again and again until told to stop.
fn poll(address: SocketAddr, question: &str, is_slow: bool, shared: &Shared) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LOOK))?;
    let mut buffer = vec![0; if is_slow { SLOW_BYTES } else { FAST_BYTES }];
    while !shared.stop.load(Relaxed) {
        stream.write_all(question.as_bytes())?;
        match answer(&mut stream, &mut buffer, is_slow, shared)? {
            Some(true) => shared.answered.fetch_add(1, Relaxed),
            Some(false) => shared.refused.fetch_add(1, Relaxed),
            None => break,
        };
    }
    Ok(())
}

/// Reads one answer to its end: whether it is a good one. Nothing where the poller is told to stop.
fn answer(
    stream: &mut TcpStream,
    buffer: &mut [u8],
    is_slow: bool,
    shared: &Shared,
) -> std::io::Result<Option<bool>> {
    let mut answer = Vec::new();
    let mut whole = usize::MAX;
    while answer.len() < whole {
        match stream.read(buffer) {
            Ok(0) => return Err(std::io::Error::other("the server closed the connection of a poller")),
            Ok(read) => answer.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if shared.stop.load(Relaxed) {
            return Ok(None);
        }
        if whole == usize::MAX {
            whole = length(&answer).unwrap_or(usize::MAX);
        }
        if is_slow {
            thread::sleep(SLOW_PAUSE);
        }
    }
    Ok(Some(answer.starts_with(b"HTTP/1.1 200")))
}

/// How long an answer is, once its head is there.
fn length(answer: &[u8]) -> Option<usize> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    Some(end + 4 + length.trim().parse::<usize>().ok()?)
}
