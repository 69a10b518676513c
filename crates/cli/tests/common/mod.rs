//! What the command-line tests share: a folder of their own, and `seenit` run in it.
#![allow(dead_code, reason = "each test file uses its part of this")]

pub(crate) mod clients;
pub(crate) mod documented;
pub(crate) mod hosts;
pub(crate) mod nats;
pub(crate) mod serving;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder that goes when the test ends.
pub(crate) struct Folder {
    folder: TempDir,
    /// The network namespace that `seenit` runs in.
    namespace: Option<String>,
}

/// What a command did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output as one JSON document; nothing else may stand there.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {:?}", self.out))
    }

    /// One clear line on standard error, nothing on standard output, and this exit code.
    pub(crate) fn refused(&self, code: i32, says: &str) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{:?}", self.err);
        assert!(self.err.contains(says), "{:?} does not say {says:?}", self.err);
    }

    /// Words that make no command.
    pub(crate) fn refused_as_usage(&self) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        Folder::on(None)
    }

    /// The same on another host.
    pub(crate) fn on(namespace: Option<String>) -> Self {
        Folder { folder: tempfile::tempdir().expect("a temporary folder"), namespace }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("the folder is writable");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("the file is there")
    }

    /// Runs `seenit` with these words, separated by spaces, in the folder.
    pub(crate) fn run(&self, words: &str) -> Ran {
        self.run_with(words, b"")
    }

    /// The same with `input` on standard input.
    pub(crate) fn run_with(&self, words: &str, input: &[u8]) -> Ran {
        let mut child = self
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("seenit starts");
        // A command that reads no input may be gone already.
        let _ = child.stdin.take().expect("piped").write_all(input);
        let output = child.wait_with_output().expect("seenit ends");
        Ran {
            code: output.status.code().expect("an exit code"),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// The command itself. It finds no server and no token but those of this folder.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = nats::command_in(self.namespace.as_deref(), env!("CARGO_BIN_EXE_seenit"));
        command.args(words.split_whitespace()).current_dir(self.folder.path());
        command.env_remove("SEENIT_SERVER").env_remove("SEENIT_TOKEN");
        command.env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// A key file with a line for each number.
    pub(crate) fn keys(&self, name: &str, numbers: std::ops::Range<u32>) {
        self.write(name, numbers.map(|i| format!("key-{i}\n")).collect::<String>());
    }
}
