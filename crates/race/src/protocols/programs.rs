//! Other people's servers: whether they are installed, how they are started, and that they end.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::question::{Question, TAGS};

/// The interpreter that Debian's Python programs name, whichever else is in the path.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Programs of the race and their packages.
const PROGRAMS: [(&str, &str); 4] = [
    ("pyzord", "pyzor"),
    ("rspamd", "rspamd"),
    ("redis-server", "redis-server"),
    // It has the daemons end with this process, however that ends.
    ("setpriv", "util-linux"),
];
/// rspamd compiles tables for half a minute when it starts, longer on a busy machine.
const START_PATIENCE: Duration = Duration::from_secs(180);
/// How long a daemon may take to end once it is told to.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// How often something that is waited for is looked at.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// Refuses a race for which something is not installed, and names the package.
pub(crate) fn check_installed() -> Result<(), Box<dyn Error>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (program, package) in PROGRAMS {
        if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
            return Err(format!("{program} is not installed: it is in Debian's package {package}").into());
        }
    }
    let gdbm = Command::new(PYTHON).args(["-c", "import dbm.gnu"]).stderr(Stdio::null()).status();
    if !gdbm.is_ok_and(|status| status.success()) {
        return Err("pyzord's gdbm is not installed: it is in Debian's package python3-gdbm".into());
    }
    Ok(())
}

/// A program that serves. Dropped, it is told to end.
pub(crate) struct Daemon {
    process: Child,
    log: PathBuf,
}

impl Daemon {
    /// Runs a program in the foreground; what it says goes to a file of that folder.
    pub(crate) fn start(
        program: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        folder: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let log = folder.join(format!("{program}.out"));
        let out = File::create(&log)?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", program]).args(arguments);
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        Ok(Daemon { process: command.spawn()?, log })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until it answers something; an error if it ends before.
    pub(crate) fn wait_until_it_answers(
        &mut self,
        address: SocketAddr,
        question: Question,
    ) -> Result<(), Box<dyn Error>> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(address)?;
        socket.set_read_timeout(Some(LOOK_AFTER))?;
        let mut datagram = Vec::new();
        question.write(0, TAGS.start, &mut datagram);
        self.wait_until(|| {
            // Until there is a socket at the other end, both fail.
            socket.send(&datagram).is_ok() && socket.recv(&mut [0; 512]).is_ok()
        })
    }

    /// Waits until something about it is so; an error if it ends before.
    pub(crate) fn wait_until(&mut self, mut is_so: impl FnMut() -> bool) -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        while !is_so() {
            let has_ended = self.process.try_wait()?.is_some();
            if has_ended || start.elapsed() > START_PATIENCE {
                let said = fs::read_to_string(&self.log).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(5).collect();
                return Err(format!("{} does not serve: {}", self.log.display(), last.join(" / ")).into());
            }
            sleep(LOOK_AFTER);
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(id) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            // It is our child and was not waited for, so the number is still its own.
            let _ = kill_process(id, Signal::TERM);
        }
        let start = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if start.elapsed() > END_PATIENCE {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            sleep(LOOK_AFTER);
        }
    }
}
