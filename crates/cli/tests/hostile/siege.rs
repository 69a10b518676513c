//! A site under siege, and what must be as before when the siege is lifted.

use std::net::SocketAddr;

use crate::common::Folder;
use crate::common::serving::{Serving, mail};

/// Hostile requests for each protocol.
const REQUESTS: u32 = 500_000;
const LONG_FACTOR: u32 = 20;

/// Growth of resident memory that is no leak: caches and buffers that are filled for the first time.
const GROWTH_KIB_MAX: u64 = 16 << 10;

/// A message that was reported before.
const SPAM: &str = "spam.eml";

/// A site that gets nothing but hostile requests.
pub(crate) struct Siege<'a> {
    pub(crate) serving: Serving<'a>,
    protocol: &'static str,
    held_before: Vec<String>,
    sent: u32,
    resident_kib: u64,
}

impl<'a> Siege<'a> {
    /// Starts a site that serves one protocol and knows something.
    pub(crate) fn lay(folder: &'a Folder, protocol: &'static str) -> Self {
        let others: String = ["pyzor", "razor", "dcc", "fuzzy"]
            .iter()
            .filter(|other| **other != protocol)
            .map(|other| format!(" --{other} off"))
            .collect();
        // Else a check that can be read is a sighting, and twenty of them a record that says bulk.
        folder.write("seenit.toml", "[clients]\nsee = false\n");
        let options = format!("--config seenit.toml --{protocol} 127.0.0.1:0{others}");
        let serving = Serving::start_with(folder, &options);
        folder.write(SPAM, mail(1));
        assert_eq!(serving.run(&format!("report {SPAM}")).code, 0);
        let held_before = held(&serving);
        Siege { serving, protocol, held_before, sent: 0, resident_kib: 0 }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let address = self.serving.said["clients"][self.protocol].as_str().expect("it is served");
        address.parse().expect("an address")
    }

    /// Requests that were sent so far.
    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    /// Whether there are more to send.
    pub(crate) fn goes_on(&self) -> bool {
        let factor = if std::env::var_os("SEENIT_LONG").is_some() { LONG_FACTOR } else { 1 };
        self.sent < REQUESTS * factor
    }

    /// Counts a request that was sent.
    pub(crate) fn count(&mut self) {
        self.sent += 1;
        if self.sent == REQUESTS / 10 {
            self.resident_kib = self.resident_kib_now();
        }
    }

    /// Nothing was said, so nothing is remembered and nothing forgotten.
    pub(crate) fn lift(self) {
        assert_eq!(held(&self.serving), self.held_before);
        assert_eq!(self.serving.verdict(SPAM).0, "spam");
        let grown = self.resident_kib_now().saturating_sub(self.resident_kib);
        assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more than after a tenth of them");
        self.serving.stop();
    }

    fn resident_kib_now(&self) -> u64 {
        let path = format!("/proc/{}/status", self.serving.process.0.id());
        let status = std::fs::read_to_string(path).expect("Linux says so");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it is resident");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
    }
}

/// What a site says that it holds.
fn held(serving: &Serving<'_>) -> Vec<String> {
    let stats = serving.run("stats --json").json();
    let names = ["records", "reporters", "signatures", "seen", "bulk", "near_spam", "near_ham"];
    names.map(|name| format!("{name}: {}", stats[name].as_u64().expect("a number"))).into()
}
