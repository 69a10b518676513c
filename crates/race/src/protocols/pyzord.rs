//! Debian's pyzord with its default engine, gdbm.

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};

use super::Racer;
use super::programs::{Daemon, PYTHON};
use super::question::{Question, pyzor_digest};
use crate::ports::free_ports;
use crate::report;

/// What it is called.
pub(crate) const PEER: &str = "pyzord";

/// Writes what pyzord would have written after one report of each digest, in its own format: a version, how often and
/// when it was reported, how often and when it was whitelisted.
const LOAD: &str = r#"
import datetime, dbm.gnu, sys
now = datetime.datetime.now()
record = f"1,1,{now},{now},0,None,None"
with dbm.gnu.open(sys.argv[1], "nf") as file:
    for line in sys.stdin:
        file[line.strip()] = record
"#;

pub(crate) fn start(folder: &Path, signatures: u64) -> Result<Racer, Box<dyn Error>> {
    let file = folder.join("pyzord.db");
    load(&file, signatures)?;
    let stored_bytes = fs::metadata(&file)?.len();
    // pyzord takes no port of the system's choice.
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_ports(1)[0]));
    let daemon = serve(folder, &file, address)?;
    Ok(Racer::new(PEER, address, vec![daemon.id()], stored_bytes, daemon))
}

fn load(file: &Path, signatures: u64) -> Result<(), Box<dyn Error>> {
    let bar = report::loading("loading pyzord", signatures)?;
    let mut python = Command::new(PYTHON).args(["-c", LOAD]).arg(file).stdin(Stdio::piped()).spawn()?;
    let mut input = BufWriter::new(python.stdin.take().ok_or("python has no standard input")?);
    for number in 0..signatures {
        writeln!(input, "{}", hex::encode(pyzor_digest(number)))?;
        if number % 1000 == 0 {
            bar.set_position(number);
        }
    }
    drop(input);
    let status = python.wait()?;
    bar.finish_and_clear();
    if status.success() { Ok(()) } else { Err("pyzord's file could not be written".into()) }
}

fn serve(folder: &Path, file: &Path, address: SocketAddr) -> Result<Daemon, Box<dyn Error>> {
    let arguments = [
        format!("--homedir={}", folder.display()),
        format!("--address={}", address.ip()),
        format!("--port={}", address.port()),
        "--database-engine=gdbm".into(),
        format!("--dsn={}", file.display()),
        // Nothing is old yet; looking for it at the start takes as long as the race.
        "--cleanup-age=0".into(),
    ];
    let mut daemon = Daemon::start(PEER, arguments, folder)?;
    daemon.wait_until_it_answers(address, Question::PyzorCheck)?;
    Ok(daemon)
}
