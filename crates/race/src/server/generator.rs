//! The generator: kept connections, one request on its way on each.
//!
//! One thread goes round the connections: it waits for the answer of the one whose turn it is and sends its next
//! request. That takes two system calls a request and nothing else. An answer that came while another was waited for
//! is noticed later than it came, so times are never too short.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::requests::Requests;

/// Answers of batches have some kilobytes.
const BUFFER_BYTES: usize = 64 << 10;
/// A server that says nothing for so long has stopped.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Connections {
    all: Vec<Connection>,
    buffer: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    sent: Instant,
}

/// What a lap took.
pub(crate) struct Measured {
    pub(crate) requests: u64,
    pub(crate) secs: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Connections {
    pub(crate) fn open(address: SocketAddr, number: usize) -> Result<Self, Box<dyn Error>> {
        let connect = |_| -> std::io::Result<Connection> {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(Connection { stream, sent: Instant::now() })
        };
        let all = (0..number).map(connect).collect::<Result<_, _>>()?;
        Ok(Connections { all, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Sends one request and gives the body of the answer.
    pub(crate) fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let Connections { all, buffer } = self;
        let connection = all.first_mut().ok_or("there is no connection")?;
        connection.send(request)?;
        Ok(connection.receive(buffer)?.to_vec())
    }

    /// Sends every request and waits for all answers.
    pub(crate) fn send_all(&mut self, requests: &Requests) -> Result<(), Box<dyn Error>> {
        self.measure(requests, Duration::MAX).map(drop)
    }

    /// Sends requests until the time is up or there are no more.
    pub(crate) fn measure(
        &mut self,
        requests: &Requests,
        time: Duration,
    ) -> Result<Measured, Box<dyn Error>> {
        let Connections { all, buffer } = self;
        let start = Instant::now();
        let mut times = Vec::new();
        let mut waiting = 0;
        for (connection, index) in all.iter_mut().zip(0..) {
            if let Some(request) = requests.get(index) {
                connection.send(request)?;
                waiting += 1;
            }
        }
        let mut next = waiting as u64;
        let mut turn = 0;
        while waiting > 0 {
            // Once there are no more requests, connections fall silent in the order of their turns.
            let connection = &mut all[turn];
            connection.receive(buffer)?;
            let now = Instant::now();
            times.push(now - connection.sent);
            match requests.get(next).filter(|_| now - start < time) {
                Some(request) => {
                    connection.send(request)?;
                    next += 1;
                }
                None => waiting -= 1,
            }
            turn = (turn + 1) % all.len();
        }
        let secs = start.elapsed().as_secs_f64();
        times.sort_unstable();
        let share = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Ok(Measured { requests: next, secs, p50: share(0.5), p99: share(0.99) })
    }
}

impl Connection {
    fn send(&mut self, request: &[u8]) -> std::io::Result<()> {
        self.sent = Instant::now();
        self.stream.write_all(request)
    }

    /// The body of the next answer, which must be a good one.
    fn receive<'a>(&mut self, buffer: &'a mut [u8]) -> Result<&'a [u8], Box<dyn Error>> {
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut buffer[filled..])?;
            filled += read;
            if read == 0 {
                return Err("the server closed a connection, or its answer is too long".into());
            }
            if let Some(body) = body(&buffer[..filled])? {
                return Ok(&buffer[body..filled]);
            }
        }
    }
}

/// Where the body begins, once all of it is there.
fn body(answer: &[u8]) -> Result<Option<usize>, Box<dyn Error>> {
    const END: &[u8] = b"\r\n\r\n";
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let find = |text: &[u8], wanted: &[u8]| text.windows(wanted.len()).position(|window| window == wanted);
    let Some(end) = find(answer, END) else {
        return Ok(None);
    };
    let head = &answer[..end];
    if !head.starts_with(b"HTTP/1.1 200") {
        return Err(String::from_utf8_lossy(answer).into_owned().into());
    }
    let length = find(head, LENGTH).ok_or("an answer without its length")? + LENGTH.len();
    let digits = head[length..].iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length, digit| 10 * length + usize::from(digit - b'0'));
    let start = end + END.len();
    Ok((answer.len() >= start + length).then_some(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_all_of_its_body_is_there() -> Result<(), Box<dyn Error>> {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx: y\r\n\r\nabc";
        for cut in 0..answer.len() {
            assert_eq!(body(&answer[..cut])?, None, "{cut}");
        }
        assert_eq!(body(answer)?, Some(answer.len() - 3));
        Ok(())
    }

    #[test]
    fn a_refusal_ends_the_race() {
        let error = body(b"HTTP/1.1 503 Busy\r\ncontent-length: 3\r\n\r\nwhy").expect_err("no good answer");
        assert!(error.to_string().contains("why"));
    }
}
