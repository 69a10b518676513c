//! Questions over sockets, each with a limit of time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use super::trouble::Trouble;

/// How long an answer may take: as long as Pyzor's own client waits. Reports are answered once they are on the disk.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Bytes of an answer that are read: Pyzor's may be the longest.
const ANSWER_BYTES_MAX: usize = 8192;

/// Sends a datagram, and waits for one that `heard` takes for its answer. Others are read over.
pub(super) fn ask<T>(
    address: SocketAddr,
    question: &[u8],
    heard: impl Fn(&[u8]) -> Option<T>,
) -> Result<T, Trouble> {
    let trouble = Trouble::of(address);
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).map_err(&trouble)?;
    // Connected, a socket hears that nobody is there.
    socket.connect(address).map_err(&trouble)?;
    socket.send(question).map_err(&trouble)?;
    let deadline = Instant::now() + ANSWER_WITHIN;
    let mut buffer = [0; ANSWER_BYTES_MAX];
    let mut is_foreign = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(if is_foreign { Trouble::Foreign(address) } else { Trouble::Silent(address) });
        }
        socket.set_read_timeout(Some(left)).map_err(&trouble)?;
        match socket.recv(&mut buffer) {
            Ok(length) => match heard(&buffer[..length]) {
                Some(heard) => return Ok(heard),
                None => is_foreign = true,
            },
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(trouble(error)),
        }
    }
}

/// A connection of lines.
pub(super) struct Lines {
    address: SocketAddr,
    reader: BufReader<TcpStream>,
}

impl Lines {
    pub(super) fn connect(address: SocketAddr) -> Result<Self, Trouble> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN)?;
            stream.set_read_timeout(Some(ANSWER_WITHIN))?;
            stream.set_write_timeout(Some(ANSWER_WITHIN))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        Ok(Lines { address, reader: BufReader::new(connect().map_err(Trouble::of(address))?) })
    }

    pub(super) fn send(&mut self, question: &[u8]) -> Result<(), Trouble> {
        self.reader.get_mut().write_all(question).map_err(Trouble::of(self.address))
    }

    /// The next line, without its end.
    pub(super) fn read(&mut self) -> Result<Vec<u8>, Trouble> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.reader).take(ANSWER_BYTES_MAX as u64);
        bounded.read_until(b'\n', &mut line).map_err(Trouble::of(self.address))?;
        let whole = line.strip_suffix(b"\r\n").map(<[u8]>::to_vec);
        whole.ok_or(Trouble::Foreign(self.address))
    }
}

/// Random bytes, for what an answer must repeat.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Trouble> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_come_is_not_waited_for_forever() {
        let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = silent.local_addr().expect("an address");
        let trouble = ask(address, b"hello", |_| Some(())).expect_err("silence");
        assert_eq!(trouble.to_string(), format!("no answer from {address} in 5 s"));
    }

    #[test]
    fn a_port_that_nobody_has_is_known_at_once() {
        let address = UdpSocket::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a port");
        let trouble = ask(address, b"hello", |_| Some(())).expect_err("nobody");
        assert!(trouble.to_string().starts_with(&format!("nobody answers at {address} (")), "{trouble}");
    }

    #[test]
    fn datagrams_that_are_no_answer_are_read_over() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address");
        let answering = std::thread::spawn(move || {
            let (length, from) = server.recv_from(&mut [0; 16]).expect("a question");
            for answer in [&b"something else"[..], b"hello"] {
                server.send_to(answer, from).expect("loopback takes it");
            }
            length
        });
        let heard = ask(address, b"hello", |bytes| (bytes == b"hello").then_some(bytes.len()));
        assert_eq!((heard.ok(), answering.join().ok()), (Some(5), Some(5)));
    }
}
