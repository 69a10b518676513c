//! A real server on loopback, and a client that sends exactly what a test says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use seenit_server::{Config, Running, Server};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const JSON: &str = "application/json";
pub(crate) const BINARY: &str = "application/vnd.seenit.v1";
pub(crate) const MESSAGE: &str = "message/rfc822";

/// A message with words enough for an opinion.
pub(crate) const MAIL: &str = "From: a@example.org\r\nTo: b@example.net\r\nSubject: hello\r\n\r\n\
    Dear friend, the warehouse of wonderful discounted garden furniture opens tomorrow morning at eight,\r\n\
    bring your neighbours, bring your cousins, and never again sit on uncomfortable wooden benches!\r\n";

/// A configuration that needs little memory and no fixed port.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.ledger.capacity = 10_000;
    config.ledger.seen_capacity = 10_000;
    config.ledger.bulk_capacity = 1000;
    config.ledger.near_capacity = 1000;
    config.http.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    // How fast a machine is must not decide what is answered.
    config.check.deadline_millis = 60_000;
    config
}

pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) running: Option<Running>,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Site {
    pub(crate) fn start(config: Config) -> Self {
        Site::start_in(tempfile::tempdir().expect("a folder"), config)
    }

    pub(crate) fn start_in(folder: TempDir, config: Config) -> Self {
        Site::start_as(folder, config, |server| server)
    }

    /// A server that is made otherwise.
    pub(crate) fn start_with(config: Config, change: impl FnOnce(Server) -> Server) -> Self {
        Site::start_as(tempfile::tempdir().expect("a folder"), config, change)
    }

    fn start_as(folder: TempDir, config: Config, change: impl FnOnce(Server) -> Server) -> Self {
        let server =
            Server::new(config, folder.path().join("data")).token_folder(folder.path().join("state"));
        let running = change(server).start().expect("a server");
        let address = running.addresses()[0];
        let token = running.operator_token().as_str().to_owned();
        Site { folder, running: Some(running), address, token }
    }

    /// Stops the server and starts it again on the same data.
    pub(crate) fn restart(mut self, config: Config) -> Self {
        self.running.take().expect("a running server").shutdown();
        Site::start_in(self.folder, config)
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask<'_> {
        Ask { site: self, method: method.into(), path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path).send()
    }

    /// As the operator.
    pub(crate) fn post(&self, path: &str, content_type: &str, body: impl AsRef<[u8]>) -> Reply {
        self.ask("POST", path).token(&self.token).body(content_type, body).send()
    }

    /// Makes an account, and gives its token.
    pub(crate) fn account(&self, name: &str, roles: &str) -> String {
        let reply = self.post("/v1/accounts", JSON, format!(r#"{{"name":"{name}","roles":{roles}}}"#));
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["token"].as_str().expect("a token").to_owned()
    }

    /// Sends bytes as they are, and reads until the server closes.
    pub(crate) fn send_raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
        // A server that has said no may close before all is sent.
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        reply
    }
}

pub(crate) struct Ask<'a> {
    site: &'a Site,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(mut self, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self.header("Content-Type", content_type)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.path);
        let has = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !has("host") {
            head += &format!("Host: {}\r\n", self.site.address);
        }
        if !has("content-length") && (!self.body.is_empty() || self.method == "POST") {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        self.headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }

    pub(crate) fn send(self) -> Reply {
        Reply::parse(&self.site.send_raw(&self.bytes()))
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        Reply { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The status, and the code of the error.
    pub(crate) fn problem(&self) -> (u16, String) {
        let json = self.json();
        assert!(!json["error"].as_str().expect("a sentence").is_empty());
        (self.status, json["code"].as_str().expect("a code").to_owned())
    }
}
