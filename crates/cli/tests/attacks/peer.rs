//! What attackers and bystanders share: connections that say what they like, and numbers of the process under attack.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use seenit_wire::razor::response;

use crate::common::Folder;
use crate::common::serving::{HTTP_ALONE, Serving, mail};

/// How long a test waits for what must happen, before it fails: far longer than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How long a peer that takes nothing more is tried before it counts as one.
const BLOCKED: Duration = Duration::from_millis(1500);

/// For a site whose tests are not about the deadline: how fast a machine is must not decide what is answered.
pub(crate) const PATIENT: &str = "[check]\ndeadline_millis = 60000\n";

/// A server with HTTP alone that has answered before: what is allocated once is allocated.
pub(crate) fn serving(folder: &Folder) -> Serving<'_> {
    serving_with(folder, "")
}

/// The same with a configuration.
pub(crate) fn serving_with<'a>(folder: &'a Folder, config: &str) -> Serving<'a> {
    folder.write("seenit.toml", config);
    let serving = Serving::start_with(folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    folder.write("mail.eml", mail(1));
    assert_eq!(serving.verdict("mail.eml").0, "unknown");
    serving
}

/// Lets this process have as many descriptors as it may; false if they are fewer than these.
pub(crate) fn may_open(descriptors: u64) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let may = maximum.is_none_or(|most| most >= descriptors);
    if !may {
        eprintln!("skipped: this process may not open {descriptors} files (ulimit -Hn)");
    }
    may
}

/// Sends the same bytes again and again until so many were sent or the peer takes no more. Reads nothing.
pub(crate) fn flood(
    stream: &mut (impl Write + ?Sized),
    socket: &TcpStream,
    piece: &[u8],
    bytes: usize,
) -> usize {
    socket.set_write_timeout(Some(BLOCKED)).expect("a time limit");
    let many = piece.repeat((64 << 10) / piece.len() + 1);
    let mut sent = 0;
    while sent < bytes {
        match stream.write(&many) {
            Ok(0) => break,
            Ok(written) => sent += written,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    sent
}

/// What a peer says until it closes the connection, or until there is silence for so long.
pub(crate) fn hear(stream: &mut TcpStream, silence: Duration) -> (Vec<u8>, bool) {
    stream.set_read_timeout(Some(silence)).expect("a time limit");
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return (all, true),
            Ok(read) => all.extend_from_slice(&buffer[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return (all, false);
            }
            // Reset: closed with bytes of ours that nobody read.
            Err(_) => return (all, true),
        }
    }
}

/// A line of `/proc/PID/status`, in KiB.
fn status_kib(serving: &Serving<'_>, name: &str) -> u64 {
    let path = format!("/proc/{}/status", serving.process.0.id());
    let status = std::fs::read_to_string(path).expect("Linux says so");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("it is there");
    line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// Resident memory, now.
pub(crate) fn resident_kib(serving: &Serving<'_>) -> u64 {
    status_kib(serving, "VmRSS")
}

/// The most that was ever resident: a test need not look at the right moment.
pub(crate) fn peak_kib(serving: &Serving<'_>) -> u64 {
    status_kib(serving, "VmHWM")
}

/// Memory of a server that is idle again, after everything was done once and on every thread: what is allocated once is
/// allocated. It comes and goes a little, so it is the most of several looks.
pub(crate) fn idle_kib(serving: &Serving<'_>) -> u64 {
    const AT_A_TIME: u64 = 16;
    let ask = |path: &str, token: Option<&str>, seed: u64| {
        let answered = post(serving.address(), path, "message/rfc822", token, mail(seed).as_bytes());
        assert_eq!(answered.status, 200, "{path}: {}", answered.body);
    };
    std::thread::scope(|scope| {
        (0..AT_A_TIME).for_each(|seed| drop(scope.spawn(move || ask("/v1/check", None, seed))));
    });
    // Of a message that no test asks about.
    ask("/v1/report", Some(&serving.operator_token()), 1 << 40);
    metric(serving, "seenit_http_connections");
    resident_most_kib(serving)
}

/// The most of several looks at resident memory.
pub(crate) fn resident_most_kib(serving: &Serving<'_>) -> u64 {
    let look = |_| {
        std::thread::sleep(Duration::from_millis(100));
        resident_kib(serving)
    };
    (0..10).map(look).max().expect("several looks")
}

/// A number of `/metrics`.
pub(crate) fn metric(serving: &Serving<'_>, name: &str) -> f64 {
    try_metric(serving, name).unwrap_or_else(|text| panic!("{name}: {text}"))
}

/// The same where a server may close a connection, to make room for another: what it said in place of the number.
pub(crate) fn try_metric(serving: &Serving<'_>, name: &str) -> Result<f64, String> {
    let mut stream = TcpStream::connect(serving.address()).map_err(|error| error.to_string())?;
    let ask = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(ask).map_err(|error| error.to_string())?;
    let (said, _) = hear(&mut stream, PATIENCE);
    let text = String::from_utf8_lossy(&said);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).ok_or_else(|| text.into_owned())
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The media type of binary bodies.
pub(crate) const BINARY: &str = "application/vnd.seenit.v1";

/// What the server answered.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answered {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Posts a body, as whoever holds the token, or as nobody.
pub(crate) fn post(address: &str, path: &str, media: &str, token: Option<&str>, body: &[u8]) -> Answered {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {media}\r\n{token}\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a status");
    Answered { status, body: body.to_owned() }
}

/// An `exact1` signature that only this number has, as binary bodies have it.
pub(crate) fn signature(number: u64) -> Vec<u8> {
    let mut bytes = vec![1, 20, 0];
    bytes.extend(number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    bytes.extend([0x5e; 4]);
    bytes.extend(number.to_le_bytes());
    bytes
}

/// Cases of one signature each.
pub(crate) fn cases(numbers: std::ops::Range<u64>) -> Vec<u8> {
    let case = |number| [1u16.to_le_bytes().to_vec(), signature(number)].concat();
    numbers.flat_map(case).collect()
}

/// Sends datagrams to a port of this machine as a user of the system, each from a socket that is closed at once. Bash
/// cannot: it sends each line of what it prints as a datagram of its own.
pub(crate) fn send_as(uid: u32, port: &str, datagrams: &[String]) {
    const SCRIPT: &str = "import socket, sys\n\
        for text in sys.stdin.read().split('\\0'):\n \
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:\n  \
        one.sendto(text.encode(), ('127.0.0.1', int(sys.argv[1])))\n";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-I", "-c", SCRIPT, port]).uid(uid).gid(uid).current_dir("/").stdin(Stdio::piped());
    let mut child = python.spawn().expect("python3 runs as another user");
    child.stdin.take().expect("piped").write_all(datagrams.join("\0").as_bytes()).expect("it reads");
    assert!(child.wait().expect("it ends").success(), "all of them are sent");
}

/// A client of Razor's.
pub(crate) struct Razor {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
}

impl Razor {
    pub(crate) fn connect(server: &str) -> Self {
        let mut stream = TcpStream::connect(server).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let answers = BufReader::new(stream.try_clone().expect("a copy"));
        stream.write_all(b"cn=razor-agents&cv=2.84\r\n").expect("sent");
        let mut razor = Razor { stream, answers };
        razor.hear();
        razor
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        line.trim_end().to_owned()
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.stream.write_all(format!("{line}\r\n").as_bytes()).expect("sent");
        self.hear()
    }

    /// Asks for an account: `res=1` where that worked.
    pub(crate) fn register(&mut self, user: &str, password: &str) -> String {
        self.ask(&format!("a=reg&pass={password}&registrar=Razor-Agents%20v2.84&user={user}"))
    }

    pub(crate) fn log_in(&mut self, user: &str, password: &str) -> String {
        let told = self.ask(&format!("a=ai&cn=razor-agents&cv=2.84&user={user}"));
        let challenge = told.split('&').find_map(|field| field.strip_prefix("achal=")).expect("a challenge");
        let proof = response(password.as_bytes(), challenge.as_bytes());
        self.ask(&format!("a=auth&aresp={proof}"))
    }
}
