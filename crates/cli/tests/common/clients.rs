//! The real programs of Pyzor and Razor, with a home in the test's folder and no server but the test's.

use std::process::{Command, Stdio};

use super::documented::{blocks, changed};
use super::serving::Serving;
use super::{Folder, Ran};

/// Runs a client with its home in the folder and a mail on standard input.
pub(crate) fn client(folder: &Folder, program: &str, arguments: &[&str], mail: &str) -> Ran {
    let input = std::fs::File::open(folder.path(mail)).expect("the mail is there");
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder.path("."))
        .env("HOME", folder.path("."))
        .stdin(Stdio::from(input))
        .output()
        .unwrap_or_else(|error| panic!("{program} (Debian package of that name): {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran {
        code: output.status.code().expect("an exit code"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

pub(crate) fn address<'a>(serving: &'a Serving<'_>, protocol: &str) -> &'a str {
    serving.said["clients"][protocol].as_str().expect("it is served")
}

/// Pyzor's home, with this site as the only server.
pub(crate) fn point_pyzor_at(folder: &Folder, serving: &Serving<'_>) {
    std::fs::create_dir_all(folder.path("pyzor")).expect("a folder");
    let servers = changed(blocks("Pyzor").next(), "127.0.0.1:24441", address(serving, "pyzor"));
    folder.write("pyzor/servers", servers);
    // The usual one is five seconds, and a disk may take longer.
    folder.write("pyzor/config", "[client]\nTimeout = 60\n");
}

pub(crate) fn pyzor(folder: &Folder, verb: &str, mail: &str) -> Ran {
    let home = folder.path("pyzor").display().to_string();
    client(folder, "pyzor", &["--homedir", &home, verb], mail)
}

/// Whether Pyzor calls it spam, and the two counts it printed.
pub(crate) fn pyzor_check(folder: &Folder, mail: &str) -> (bool, u64, u64) {
    let ran = pyzor(folder, "check", mail);
    let mut fields = ran.out.trim_end().rsplit('\t');
    let mut count =
        || fields.next().and_then(|field| field.parse().ok()).unwrap_or_else(|| panic!("{}", ran.out));
    let (whitelisted, reported) = (count(), count());
    (ran.code == 0, reported, whitelisted)
}

/// Razor's home: twice the same server, and no other is ever looked for. Its log tells a test whom it asked.
pub(crate) fn point_razor_at(folder: &Folder, serving: &Serving<'_>) {
    let mut blocks = blocks("Razor");
    let mut next = || changed(blocks.next(), "127.0.0.1:2703", address(serving, "razor"));
    std::fs::create_dir_all(folder.path("razor")).expect("a folder");
    folder.write("razor/razor-agent.conf", format!("logfile = razor-agent.log\ndebuglevel = 9\n{}", next()));
    let servers = next();
    for list in ["discovery", "catalogue", "nomination"] {
        folder.write(&format!("razor/servers.{list}.lst"), &servers);
    }
}

pub(crate) fn razor(folder: &Folder, program: &str, arguments: &[&str], mail: &str) -> Ran {
    let home = format!("-home={}", folder.path("razor").display());
    client(folder, program, &[&[home.as_str()], arguments].concat(), mail)
}
