//! The installed client, run in a home of its own, without a network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use seenit_signature::razor::Ep4;

const PROGRAM: &str = "razor-check";

/// Two addresses, because the client looks for more servers when it knows one only. It connects to neither.
const SERVERS: [&str; 2] = ["127.0.0.1", "127.0.0.2"];

/// The client.
pub(crate) struct Client;

/// What the client printed for one mail, by the number of the part.
#[derive(Default)]
pub(crate) struct MailSignatures {
    /// The signature of engine 4.
    pub(crate) e4: BTreeMap<usize, String>,
    /// The signatures of engine 8.
    pub(crate) e8: BTreeMap<usize, Vec<String>>,
}

impl MailSignatures {
    /// The greatest number of a part with a signature.
    pub(crate) fn last_part(&self) -> Option<usize> {
        self.e4.keys().chain(self.e8.keys()).max().copied()
    }
}

impl Client {
    /// The client if it is installed.
    pub(crate) fn installed() -> Option<Self> {
        if Command::new(PROGRAM).arg("-v").output().is_err() {
            eprintln!("skipped: {PROGRAM} is not installed (Debian package razor)");
            return None;
        }
        Some(Self)
    }

    /// What the client prints for the mails in these files, by the number of the mail, counted from 1.
    pub(crate) fn sign(
        &self,
        folder: &Path,
        files: &[PathBuf],
        ep4: &Ep4,
    ) -> BTreeMap<usize, MailSignatures> {
        let home = home(ep4);
        let run = Command::new(PROGRAM)
            .arg(format!("-home={}", home.path().display()))
            .arg("-H")
            .args(files)
            .current_dir(folder)
            .output()
            .expect("the client runs");
        assert!(run.stderr.is_empty(), "the client says: {}", String::from_utf8_lossy(&run.stderr));
        read(&String::from_utf8(run.stdout).expect("the client prints text"))
    }
}

/// A home in which the client knows its servers and their parameters.
fn home(ep4: &Ep4) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a temporary folder");
    let write = |name: String, text: String| {
        std::fs::write(home.path().join(name), text).expect("a file can be written");
    };
    write("razor-agent.conf".to_owned(), "debuglevel = 0\nturn_off_discovery = 1\n".to_owned());
    for role in ["discovery", "catalogue", "nomination"] {
        write(format!("servers.{role}.lst"), SERVERS.join("\n") + "\n");
    }
    for server in SERVERS {
        let state = format!("srl = 1\nep4 = {ep4}\nbql = 50\nac = 0\nbqs = 128\nse = 88\ndre = 4\n");
        write(format!("server.{server}.conf"), state);
    }
    home
}

/// Reads lines such as `3.1 e4: <signature>, ep4: 7542-10` and `3.1 e8: <signature>`.
fn read(text: &str) -> BTreeMap<usize, MailSignatures> {
    let mut mails: BTreeMap<usize, MailSignatures> = BTreeMap::new();
    for line in text.lines() {
        let parsed = line.split_once(' ').and_then(|(numbers, signature)| {
            let (mail, part) = numbers.split_once('.')?;
            let (engine, signature) = signature.split_once(": ")?;
            let signature = signature.split(',').next()?.trim();
            Some((mail.parse().ok()?, part.parse().ok()?, engine, signature.to_owned()))
        });
        let Some((mail, part, engine, signature)) = parsed else { panic!("the client printed {line:?}") };
        let signatures = mails.entry(mail).or_default();
        match engine {
            "e4" => drop(signatures.e4.insert(part, signature)),
            "e8" => signatures.e8.entry(part).or_default().push(signature),
            _ => panic!("the client printed {line:?}"),
        }
    }
    mails
}
