//! An account that asks at its own pace, and how long it waits.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::host::Host;
use crate::keys::numbered;

/// Between two of its checks: what a busy mail server asks.
const EVERY: Duration = Duration::from_millis(2);
/// A server that says nothing for so long has stopped.
const PATIENCE: Duration = Duration::from_secs(60);

/// A kept connection, with one request on its way.
pub(super) struct Talk {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Talk {
    pub(super) fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Talk { stream, answer: Vec::new() })
    }

    /// Sends a request and reads the answer to its end. Returns its status.
    pub(super) fn ask(&mut self, request: &[u8]) -> std::io::Result<u16> {
        self.stream.write_all(request)?;
        self.answer.clear();
        let mut buffer = [0; 4096];
        loop {
            let read = self.stream.read(&mut buffer)?;
            if read == 0 {
                return Err(std::io::Error::other("the server closed a connection"));
            }
            self.answer.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&self.answer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return head
                    .get(9..12)
                    .and_then(|status| status.parse().ok())
                    .ok_or(std::io::Error::other("no status"));
            }
        }
    }

    /// The body of the last answer.
    pub(super) fn body(&self) -> String {
        let text = String::from_utf8_lossy(&self.answer);
        text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }
}

/// A request with a body of JSON, and a token if there is one.
pub(super) fn request(path: &str, token: Option<&str>, body: &str) -> Vec<u8> {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{token}Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// One signature, in the shape of a check or of a case.
pub(super) fn signature(shape: &str, number: u64) -> String {
    let digest = hex::encode(numbered::<20>(number));
    format!("{{\"{shape}\":[{{\"kind\":\"pyzor\",\"digest\":\"{digest}\"}}]}}")
}

pub(super) struct Account {
    talk: Talk,
    token: String,
    number: u64,
}

/// How the account was served.
pub(super) struct Asked {
    pub(super) per_s: u64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

impl Account {
    /// Has an account made, and connects as that from where strangers come from: it is in the network whose limits
    /// they use up.
    pub(super) fn open(host: &Host) -> Result<Self, Box<dyn Error>> {
        let mut talk = Talk::open(host.at_home())?;
        let wanted = "{\"name\":\"mx\",\"roles\":[\"check\"]}";
        let status = talk.ask(&request("/v1/accounts", Some(host.token()), wanted))?;
        let made: serde_json::Value = serde_json::from_str(&talk.body())?;
        let token = made["token"].as_str().ok_or_else(|| format!("no account: {status} {made}"))?.to_owned();
        Ok(Account { talk: Talk::open(host.abroad())?, token, number: 0 })
    }

    /// Checks for so long, at its pace.
    pub(super) fn ask_for(&mut self, time: Duration) -> Result<Asked, Box<dyn Error>> {
        let start = Instant::now();
        let mut times = Vec::new();
        while start.elapsed() < time {
            self.number += 1;
            let check = request("/v1/check", Some(&self.token), &signature("signatures", self.number));
            let sent = Instant::now();
            let status = self.talk.ask(&check)?;
            times.push(sent.elapsed());
            if status != 200 {
                return Err(format!("the account was answered {status}").into());
            }
            thread::sleep(EVERY.saturating_sub(sent.elapsed()));
        }
        let per_s = (times.len() as f64 / start.elapsed().as_secs_f64()) as u64;
        times.sort_unstable();
        let share = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Ok(Asked { per_s, p50: share(0.5), p99: share(0.99) })
    }
}
