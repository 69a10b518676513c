//! Hosts of a test's own: network namespaces on a bridge, which can be cut off as a cable would be.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::nats::Place;

/// Says that the test runs in a namespace of its own.
const INSIDE: &str = "SEENIT_TEST_NAMESPACE";

/// Hosts, gone when the test ends.
pub(crate) struct Hosts {
    namespaces: Vec<String>,
}

impl Hosts {
    /// So many, if this is the test in a namespace of its own. If not, the test of this name is run in one, and there
    /// is nothing more to do; likewise where that is not allowed.
    pub(crate) fn make(hosts: usize, test: &str) -> Option<Self> {
        if std::env::var_os(INSIDE).is_none() {
            run_inside(test);
            return None;
        }
        let namespaces = (0..hosts).map(|host| format!("seenit-{}-{host}", std::process::id())).collect();
        let hosts = Hosts { namespaces };
        hosts.connect();
        Some(hosts)
    }

    fn connect(&self) {
        ip("link set lo up");
        ip("link add bridge type bridge");
        ip("addr add 10.77.0.254/24 dev bridge");
        ip("link set bridge up");
        for (host, namespace) in self.namespaces.iter().enumerate() {
            // One that was killed may have left one behind, and the number of its process comes again.
            delete(namespace);
            ip(&format!("netns add {namespace}"));
            ip(&format!("link add cable{host} type veth peer name eth0 netns {namespace}"));
            ip(&format!("link set cable{host} master bridge up"));
            ip(&format!("-n {namespace} addr add {}/24 dev eth0", address(host)));
            ip(&format!("-n {namespace} link set eth0 up"));
            ip(&format!("-n {namespace} link set lo up"));
        }
    }

    /// Where each of them is.
    pub(crate) fn places(&self) -> Vec<Place> {
        let place = |(host, namespace): (usize, &String)| Place {
            address: address(host),
            namespace: Some(namespace.clone()),
            ..Place::here()
        };
        self.namespaces.iter().enumerate().map(place).collect()
    }

    /// Pulls the cable of one: nothing comes and nothing goes, and nobody is told.
    pub(crate) fn cut(&self, host: usize) {
        ip(&format!("link set cable{host} down"));
    }

    /// Puts it in again.
    pub(crate) fn mend(&self, host: usize) {
        ip(&format!("link set cable{host} up"));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for namespace in &self.namespaces {
            delete(namespace);
        }
    }
}

/// Whatever it has goes with it.
fn delete(namespace: &str) {
    let _ = Command::new("ip").args(["netns", "delete", namespace]).stderr(Stdio::null()).status();
}

fn address(host: usize) -> String {
    format!("10.77.0.{}", host + 1)
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split_whitespace()).status().expect("ip runs");
    assert!(done.success(), "ip {words}");
}

/// Runs a test of this program again, in a network namespace of its own.
fn run_inside(test: &str) {
    // Several tests of one process may look at a time: with one name for all of them, all but one would be skipped.
    static LOOKED: AtomicU32 = AtomicU32::new(0);
    let probe = format!("seenit-{}-probe-{}", std::process::id(), LOOKED.fetch_add(1, Relaxed));
    let links = "ip link add bridge0 type bridge && ip link add cable0 type veth peer name cable1";
    let all = format!("{links} && ip netns add {probe} && ip netns delete {probe}");
    let tried = Command::new("unshare").args(["--net", "sh", "-c", &all]).stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!(
            "skipped: network namespaces with a bridge cannot be made here: they need root, unshare and ip"
        );
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let mut again = Command::new("unshare");
    again.arg("--net").arg(program).args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    let output = again.output().expect("unshare runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    // Why it skipped something is for people.
    eprint!("{said}");
    // A name that no test has would be no failure.
    let is_one = said.contains("skipped:") || said.contains("1 passed");
    assert!(output.status.success() && is_one, "{test}, in a namespace of its own: {said}");
}
