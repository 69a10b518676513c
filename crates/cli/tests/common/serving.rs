//! A real server for a test: started on a free port, and gone when the test ends.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::Value;

use super::{Folder, Ran};

/// Its data folder, in the test's folder.
pub(crate) const DATA: &str = "data";

/// HTTP alone: the ports of the clients' protocols are others' business.
pub(crate) const HTTP_ALONE: &str = "--pyzor off --razor off --dcc off --fuzzy off";

/// What a server says that has read the head of a request with `Expect: 100-continue` and waits for its body.
pub(crate) const CONTINUE: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// How often one check is asked where the machine does other things, too, and takes longer than a check has.
const ASKED_MAX: usize = 10;

/// A process that is killed when the test ends, however it ends.
pub(crate) struct Guarded(pub(crate) Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guarded {
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.0.wait().expect("it ends")
    }
}

/// A server that runs.
pub(crate) struct Serving<'a> {
    folder: &'a Folder,
    pub(crate) process: Guarded,
    out: BufReader<ChildStdout>,
    /// What it said at start.
    pub(crate) said: Value,
}

impl<'a> Serving<'a> {
    /// Starts a server on a free port, with its data in the folder.
    pub(crate) fn start(folder: &'a Folder) -> Self {
        Serving::start_with(folder, HTTP_ALONE)
    }

    pub(crate) fn start_with(folder: &'a Folder, options: &str) -> Self {
        Serving::start_in(folder, options, &[])
    }

    /// The same with variables in its environment.
    pub(crate) fn start_in(
        folder: &'a Folder,
        options: &str,
        environment: &[(&'static str, String)],
    ) -> Self {
        let mut command = folder.command(&format!("serve --data {DATA} --http 127.0.0.1:0 --json {options}"));
        command.envs(environment.iter().cloned());
        Serving::start_as(folder, command)
    }

    /// The same where the process may have so many descriptors (`soft`), and can give itself so many (`hard`).
    pub(crate) fn start_limited(folder: &'a Folder, options: &str, soft: u32, hard: u32) -> Self {
        let server = folder.command(&format!("serve --data {DATA} --http 127.0.0.1:0 --json {options}"));
        let mut command = Command::new("sh");
        // First the soft one: it may not be above the hard one.
        let limit = format!("ulimit -S -n {soft} && ulimit -H -n {hard} && exec \"$0\" \"$@\"");
        command.args(["-c", &limit]).arg(server.get_program()).args(server.get_args());
        command.current_dir(server.get_current_dir().expect("the test's folder"));
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Serving::start_as(folder, command)
    }

    fn start_as(folder: &'a Folder, mut command: Command) -> Self {
        let log = std::fs::File::create(folder.path("log")).expect("the folder is writable");
        let mut process = Guarded(command.stdout(Stdio::piped()).stderr(log).spawn().expect("seenit starts"));
        let mut out = BufReader::new(process.0.stdout.take().expect("piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("text");
        let said = serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!("{error}: {line:?}, {}", String::from_utf8_lossy(&folder.read("log")))
        });
        Serving { folder, process, out, said }
    }

    pub(crate) fn url(&self) -> &str {
        self.said["urls"][0].as_str().expect("an address")
    }

    pub(crate) fn address(&self) -> &str {
        self.url().strip_prefix("http://").expect("plain HTTP")
    }

    /// The token of the operator, which the server wrote at its first start.
    pub(crate) fn operator_token(&self) -> String {
        let file = self.said["token_files"][0].as_str().expect("a file");
        std::fs::read_to_string(file).expect("a token").trim_end().to_owned()
    }

    /// Runs a command that asks this server.
    pub(crate) fn run(&self, words: &str) -> Ran {
        self.folder.run(&format!("{words} --server {}", self.url()))
    }

    /// The verdict of one message, and the exit code of asking.
    pub(crate) fn verdict(&self, file: &str) -> (String, i32) {
        let (said, code) = self.judged(file);
        (said["verdict"].as_str().expect("a verdict").to_owned(), code)
    }

    /// What is said of one message, and the exit code of asking. It is asked again where the deadline passed first.
    pub(crate) fn judged(&self, file: &str) -> (Value, i32) {
        let mut judged = self.judged_once(file);
        for _ in 1..ASKED_MAX {
            if judged.0["reasons"][0]["rule"] != "deadline" {
                break;
            }
            judged = self.judged_once(file);
        }
        judged
    }

    /// The same for tests of the deadline.
    pub(crate) fn judged_once(&self, file: &str) -> (Value, i32) {
        let ran = self.run(&format!("check --json {file}"));
        let mut rows = ran.json();
        assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows}");
        (rows[0].take(), ran.code)
    }

    /// Ends it as an operator would.
    pub(crate) fn stop(mut self) {
        self.process.signal("TERM");
        assert_eq!(
            self.process.wait().code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&self.folder.read("log"))
        );
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.out, &mut rest).expect("text");
        assert_eq!(rest, "", "one line of JSON and nothing else");
    }
}

/// A message that only this seed has.
pub(crate) fn mail(seed: u64) -> String {
    // Words of letters from a small generator: nothing but the seed decides.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut word = || {
        let letter = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + (state >> 33) as u8 % 26)
        };
        (0..8).map(letter).collect::<String>()
    };
    let lines: Vec<String> = (0..8).map(|_| (0..8).map(|_| word()).collect::<Vec<_>>().join(" ")).collect();
    format!("From: a@b.example\nSubject: an offer\n\n{}\n", lines.join("\n"))
}
