//! The real server as a child, and as little HTTP as the tests need.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a start may take: it replays what a crash left, on a machine that does other things, too.
const START: Duration = Duration::from_secs(60);

/// A server that is killed when the test ends.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) recovery: Vec<String>,
}

impl Server {
    /// Starts the server on a folder, with these variables in its environment.
    pub(crate) fn start(data: &Path, config: &Path, environment: &[(&str, String)]) -> Result<Self, String> {
        let state = data.with_extension("state");
        fs::create_dir_all(&state).expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_seenit"))
            .args(["serve", "--http", "127.0.0.1:0", "--json", "--data"])
            .arg(data)
            .arg("--config")
            .arg(config)
            .env("XDG_STATE_HOME", &state)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("seenit starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        out.read_line(&mut line).expect("readable");
        if line.is_empty() {
            let mut why = String::new();
            child.stderr.take().expect("piped").read_to_string(&mut why).expect("text");
            child.wait().expect("it ended");
            return Err(why);
        }
        // What is logged must not fill the pipe.
        let mut log = child.stderr.take().expect("piped");
        std::thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        let listening: Value = serde_json::from_str(&line).expect("one line of JSON");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let address = text(&listening["urls"][0]).trim_start_matches("http://").to_owned();
        let token = fs::read_to_string(text(&listening["token_files"][0])).expect("a token");
        let recovery = listening["recovery"].as_array().expect("a list").iter().map(text).collect();
        let server = Server { child, address, token: token.trim().to_owned(), recovery };
        let began = Instant::now();
        while server.client().get("/readyz").is_err() {
            assert!(began.elapsed() < START, "the server is not ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub(crate) fn client(&self) -> Client {
        Client { address: self.address.clone(), token: self.token.clone(), stream: None }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it: no handler runs, nothing is flushed.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ended");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection, opened again when it broke.
pub(crate) struct Client {
    address: String,
    token: String,
    stream: Option<BufReader<TcpStream>>,
}

/// What came back: status and body.
pub(crate) type Answered = (u16, Vec<u8>);

impl Client {
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Answered> {
        self.ask("GET", path, "text/plain", b"")
    }

    pub(crate) fn post(&mut self, path: &str, media: &str, body: &[u8]) -> io::Result<Answered> {
        self.ask("POST", path, media, body)
    }

    fn ask(&mut self, method: &str, path: &str, media: &str, body: &[u8]) -> io::Result<Answered> {
        let answered = self.ask_once(method, path, media, body);
        if answered.is_err() {
            self.stream = None;
        }
        answered
    }

    fn ask_once(&mut self, method: &str, path: &str, media: &str, body: &[u8]) -> io::Result<Answered> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().expect("just opened");
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: {media}\r\n\
             Content-Length: {}\r\n\r\n",
            self.address,
            self.token,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        stream.get_mut().write_all(&request)?;
        read_answer(stream)
    }
}

fn read_answer(stream: &mut BufReader<TcpStream>) -> io::Result<Answered> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "no HTTP answer");
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(odd)?;
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let header = line.trim_end().to_ascii_lowercase();
        match header.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().map_err(|_| odd())?,
            Some(_) => {}
            None if header.is_empty() => break,
            None => return Err(odd()),
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((status, body))
}

/// A folder with a configuration: quick deltas, small filters, no floor of free space, and time for every check.
pub(crate) struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = "[ledger]\ncapacity = 1000000\nseen_capacity = 100000\ndelta_millis = 50\nsnapshot_secs = 2\n\
                      free_bytes_min = 0\n[check]\ndeadline_millis = 60000\n";
        fs::write(folder.path().join("seenit.toml"), config).expect("written");
        Site { folder }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn start(&self, environment: &[(&str, String)]) -> Result<Server, String> {
        Server::start(&self.data(), &self.path("seenit.toml"), environment)
    }
}
