//! The real rspamd, with nothing of its own: fuzzy checks go to a given port, names to nobody.

use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;

use crate::common::documented::{blocks, changed};
use crate::common::nats::free_ports;
use crate::common::serving::Guarded;

/// It compiles tables at its first start, which takes a quarter of a minute on an idle machine.
const START_WITHIN: Duration = Duration::from_secs(180);

const PAUSE: Duration = Duration::from_millis(200);

/// What it calls spam that the server knows.
const SYMBOL: &str = "SEENIT_SPAM";

/// The stock configuration, of which only the local parts are moved.
const CONFIGURATION: &str = "/etc/rspamd/rspamd.conf";

const MAILS: [(&str, &str); 3] = [
    ("spam.eml", include_str!("spam.eml")),
    ("near.eml", include_str!("near.eml")),
    ("ham.eml", include_str!("ham.eml")),
];

/// A running rspamd, gone when dropped.
pub(crate) struct Rspamd {
    process: Guarded,
    folder: TempDir,
    scan: u16,
    control: u16,
}

impl Rspamd {
    pub(crate) fn is_installed() -> bool {
        let runs = |program: &str| {
            let mut command = Command::new(program);
            command.arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        Path::new(CONFIGURATION).exists() && runs("rspamd") && runs("rspamc")
    }

    /// Starts it, and waits until it answers.
    pub(crate) fn start(fuzzy: &str, key: Option<&str>) -> Self {
        let folder = tempfile::Builder::new().permissions(readable()).tempdir().expect("a folder");
        let [scan, control, nobody] = free_ports(3).try_into().expect("three ports");
        configure(folder.path(), fuzzy, key, [scan, control, nobody]);
        let at = |name: &str| folder.path().join(name).display().to_string();
        let mut command = Command::new("rspamd");
        command.args(["-f", "-c", CONFIGURATION]);
        for (name, place) in [("LOCAL_CONFDIR", "etc"), ("DBDIR", "db"), ("RUNDIR", "run"), ("LOGDIR", "log")]
        {
            command.arg(format!("--var={name}={}", at(place)));
        }
        if is_root() {
            command.args(["-u", "_rspamd", "-g", "_rspamd"]);
        }
        let log = fs::File::create(folder.path().join("out")).expect("writable");
        // A group of its own, so that its workers end with it.
        let child = command.process_group(0).stdout(log.try_clone().expect("a file")).stderr(log).spawn();
        let rspamd = Rspamd { process: Guarded(child.expect("rspamd starts")), folder, scan, control };
        rspamd.wait();
        rspamd
    }

    fn wait(&self) {
        let began = Instant::now();
        let is_open = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok();
        while !(is_open(self.scan) && is_open(self.control)) {
            let out = || fs::read_to_string(self.folder.path().join("out")).unwrap_or_default();
            assert!(began.elapsed() < START_WITHIN, "rspamd does not answer: {}", out());
            thread::sleep(PAUSE);
        }
    }

    /// Tells its controller something about a message, with so many reports as value.
    pub(crate) fn control(&self, verb: &str, value: &str, mail: &str) {
        let said = self.rspamc(self.control, &["-f", "1", "-w", value, verb], mail);
        assert!(said.contains("success = true"), "{verb}: {said}");
    }

    /// The line of the symbol that a scan finds.
    pub(crate) fn symbol(&self, mail: &str) -> Option<String> {
        let said = self.rspamc(self.scan, &[], mail);
        assert!(said.contains("Action: "), "no scan: {said}");
        said.lines().find(|line| line.contains(SYMBOL)).map(str::to_owned)
    }

    /// What a message scores by that symbol alone.
    pub(crate) fn score(&self, mail: &str) -> Option<f64> {
        let line = self.symbol(mail)?;
        let (_, rest) = line.split_once(&format!("{SYMBOL} (")).expect("a symbol with a score");
        let (score, _) = rest.split_once(')').expect("a score in brackets");
        Some(score.parse().expect("a score is a number"))
    }

    fn rspamc(&self, port: u16, words: &[&str], mail: &str) -> String {
        let mut command = Command::new("rspamc");
        command.args(["-t", "60", "-h", &format!("127.0.0.1:{port}")]).args(words);
        let output = command.arg(self.folder.path().join(mail)).output().expect("rspamc runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Its workers end when it is asked to end, not when it is killed.
impl Drop for Rspamd {
    fn drop(&mut self) {
        self.process.signal("TERM");
        let began = Instant::now();
        while matches!(self.process.0.try_wait(), Ok(None)) && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(PAUSE);
        }
    }
}

fn configure(folder: &Path, fuzzy: &str, key: Option<&str>, [scan, control, nobody]: [u16; 3]) {
    let key = key.map(|key| format!("\n  encryption_key = \"{key}\";")).unwrap_or_default();
    let mut blocks = blocks("rspamd");
    let rule = changed(blocks.next(), "\"127.0.0.1:11335\";", &format!("\"{fuzzy}\";{key}"));
    let weights = changed(blocks.next(), SYMBOL, SYMBOL);
    // What people may well leave on, but a test must not: the public storage that the stock configuration asks.
    let public = "rule \"rspamd.com\" { enabled = false; }\n";
    // The usual one is two seconds, and a disk may take longer.
    let timeout = "timeout = 20s;\n";
    let rule = format!("{timeout}{public}{rule}");
    let off = "enabled = false;".to_owned();
    let dns = format!(r#"dns {{ nameserver = ["127.0.0.1:{nobody}"]; timeout = 0.2s; retransmits = 1; }}"#);
    let files = [
        ("etc/local.d/worker-normal.inc", format!(r#"bind_socket = "127.0.0.1:{scan}"; count = 1;"#)),
        (
            "etc/local.d/worker-controller.inc",
            format!(r#"bind_socket = "127.0.0.1:{control}"; secure_ip = "127.0.0.1";"#),
        ),
        ("etc/local.d/worker-proxy.inc", off.clone()),
        ("etc/local.d/worker-fuzzy.inc", off),
        ("etc/local.d/options.inc", dns),
        ("etc/local.d/fuzzy_check.conf", rule),
        ("etc/local.d/groups.conf", weights),
    ];
    for name in ["etc/local.d", "etc/override.d", "db", "run", "log"] {
        fs::create_dir_all(folder.join(name)).expect("writable");
    }
    for (name, text) in files {
        fs::write(folder.join(name), text + "\n").expect("writable");
    }
    for (name, text) in MAILS {
        fs::write(folder.join(name), text).expect("writable");
    }
    if is_root() {
        let owned: Vec<PathBuf> = ["db", "run", "log"].map(|name| folder.join(name)).into();
        let status = Command::new("chown").arg("_rspamd:").args(owned).status().expect("chown runs");
        assert!(status.success());
    }
}

/// rspamd gives up root, and must still read its files.
fn readable() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout == b"0\n"
}
