//! The sections that the server itself reads.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use seenit_wire::dcc::{Brand, ServerId};
use serde::{Deserialize, Serialize};

use super::Wrong;
use super::listen::Listen;
use super::section::section;
use crate::tls::PairFiles;

/// The port of HTTP unless told otherwise.
pub const HTTP_PORT: u16 = 8025;

section! {
    /// Where HTTP listens and whom it answers.
    pub struct Http {
        /// Addresses to listen on. Port 0 takes a free one.
        pub listen: Vec<SocketAddr> = vec![SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), HTTP_PORT)],
        /// Names that requests may be addressed to, besides `localhost` and addresses: every other Host is refused.
        pub names: Vec<String> = Vec::new(),
        /// Networks of proxies whose Forwarded or X-Forwarded-For header says who asks. From everybody else those
        /// headers are refused.
        pub trusted_proxies: Vec<IpNet> = Vec::new(),
        /// Whether clients beyond loopback may check and see without a token.
        pub anonymous_beyond_loopback: bool = false,
        /// Whether to listen beyond loopback without TLS: only where something else encrypts.
        pub insecure_plaintext: bool = false,
        /// Connections at a time, and as many of Razor's: for more, others are closed; first those of a network (or of
        /// this machine) that has more than half of them, then strangers' idle ones, and accounts' last.
        pub connections_max: u32 = 1024,
        /// Connections at a time from one network (IPv4 /24, IPv6 /56) beyond loopback; more are closed.
        pub connections_per_network_max: u32 = 128,
        /// Seconds in which the head of a request, or a TLS handshake, must arrive. A kept connection may be idle as
        /// long.
        pub head_secs: u64 = 30,
        /// Seconds in which the body of a request must arrive.
        pub body_secs: u64 = 30,
        /// Seconds in which a client must take an answer.
        pub answer_secs: u64 = 30,
        /// Seconds in which a write must be durable before the answer is that it is not known to be.
        pub write_secs: u64 = 30,
        /// Seconds that requests under way get when the server is stopped.
        pub shutdown_secs: u64 = 10,
        /// Bytes of a message. The default is 32 MiB.
        pub message_bytes_max: u64 = 32 << 20,
        /// Bytes of any other body. The default is 4 MiB.
        pub body_bytes_max: u64 = 4 << 20,
        /// Bytes of bodies and answers that are held at a time, beyond the first 16 KiB of each. An account, a network
        /// or this machine holds no more than is left for all others, half of them if it is alone; for more, its
        /// slowest connections are closed. The default is 128 MiB, and twice the largest body always fits.
        pub held_bytes_max: u64 = 128 << 20,
        /// Messages that are signed, and cases that are judged, at a time; more wait. An account, a network or this
        /// machine has half of them at most. Questions about the site have a queue of their own.
        pub at_a_time: u32 = 16,
    }
}

section! {
    /// How checks are answered.
    pub struct Check {
        /// Milliseconds from the moment a check was read until it is answered, whatever is slow: with no opinion and
        /// the reason `deadline`, if need be.
        pub deadline_millis: u64 = 2000,
    }
}

section! {
    /// What holds for several of the older protocols.
    pub struct Clients {
        /// Whether a check by Pyzor, Razor or rspamd counts one recipient of what it asks about: such clients ask once
        /// for each message that arrives. DCC's reports count recipients by themselves.
        pub see: bool = true,
    }
}

/// The port of Pyzor's clients unless they are told otherwise.
pub const PYZOR_PORT: u16 = 24441;

section! {
    /// Where Pyzor's clients are answered.
    pub struct Pyzor {
        /// The address of its datagrams, or "off".
        pub listen: Listen = Listen::at_loopback(PYZOR_PORT),
    }
}

/// The port of Razor's clients unless they are told otherwise.
pub const RAZOR_PORT: u16 = 2703;

section! {
    /// Where Razor's clients are answered.
    pub struct Razor {
        /// The address of its connections, or "off".
        pub listen: Listen = Listen::at_loopback(RAZOR_PORT),
        /// Accounts that a network beyond loopback may register in a day: their word weighs nothing until the
        /// operator gives them another standing. 0 refuses.
        pub registrations_per_day: u32 = 3,
    }
}

/// The port of DCC's clients unless they are told otherwise.
pub const DCC_PORT: u16 = 6277;

section! {
    /// Where DCC's clients are answered, and how.
    pub struct Dcc {
        /// The address of its datagrams, or "off".
        pub listen: Listen = Listen::at_loopback(DCC_PORT),
        /// The number of this server, from 100 to 32767. Whoever deletes is the account `dcc-` and this number.
        pub server_id: u16 = 1000,
        /// The name of this server in the headers that clients add: letters and digits.
        pub brand: String = "seenit".to_owned(),
        /// Recipients from which on a total is said as MANY, which SpamAssassin takes for bulk; 0 says it only of what
        /// was reported or marked as MANY.
        pub many_at: u32 = 0,
        /// A file of lines such as `ok ip 192.0.2.1` and `many message-id <x@example.com>`: what it lists is answered
        /// so, whatever was counted. It is read when the server starts, and on SIGHUP.
        pub whitelist: Option<PathBuf> = None,
    }
}

/// The port of rspamd's fuzzy storage unless its clients are told otherwise.
pub const FUZZY_PORT: u16 = 11335;

section! {
    /// Where the fuzzy checks of rspamd are answered.
    pub struct Fuzzy {
        /// The address of its datagrams, or "off".
        pub listen: Listen = Listen::at_loopback(FUZZY_PORT),
        /// Flags that mean spam: adding under one of them reports. Spam is answered with the first, unless most of its
        /// reports came under another. Flags that are in no list are labels: answered, and no opinion.
        pub spam_flags: Vec<u8> = vec![1, 2],
        /// Flags that mean good mail: adding under one of them revokes. Good mail is answered with the first.
        pub ham_flags: Vec<u8> = vec![3],
        /// The most reports that one addition counts for: a client that gives a value of 10 has reported ten times.
        pub value_max: u32 = 20,
        /// The value of a near match. How often its texts were reported is not kept for each shingle.
        pub near_value: u32 = 10,
        /// Whether only sealed commands are served.
        pub require_encryption: bool = false,
    }
}

section! {
    /// The certificate of listeners beyond loopback.
    pub struct Tls {
        /// A PEM file with the certificate and those that lead to its root.
        pub certificate: Option<PathBuf> = None,
        /// A PEM file with its private key.
        pub key: Option<PathBuf> = None,
        /// Whether listeners on loopback speak TLS, too.
        pub loopback: bool = false,
    }
}

section! {
    /// How much anybody may ask and say. A rate of 0 is no limit. The operator has none, nor has loopback as a network.
    pub struct Limits {
        /// Signatures that a network (IPv4 /24, IPv6 /56) may check in a second, on average.
        pub network_checks_per_sec: u32 = 20_000,
        /// Cases that a network may see, report, revoke or withdraw in a second, on average. Each 16 signatures of a
        /// case count as one, and of a sighting each 100 recipients.
        pub network_writes_per_sec: u32 = 200,
        /// Signatures that an account may check in a second, on average.
        pub account_checks_per_sec: u32 = 100_000,
        /// Cases that an account may see, report, revoke or withdraw in a second, on average. Each 16 signatures of a
        /// case count as one, and of a sighting each 100 recipients.
        pub account_writes_per_sec: u32 = 1_000,
        /// Wrong tokens and signatures, requests without one that need it, datagrams that only ask whether the server
        /// is there, and clients of rspamd with a new key that a network may send in a second, on average. They use up
        /// nothing else. For keys of rspamd that name an account, it is the account's own limit.
        pub failures_per_sec: u32 = 200,
        /// Seconds of silence that are saved up for a burst. The largest batch is always let through at once.
        pub burst_secs: u32 = 10,
        /// Networks that are remembered; the one unheard of for longest is forgotten first.
        pub networks_max: u32 = 65_536,
    }
}

section! {
    /// What is logged, to standard error. Never a message's text.
    pub struct Log {
        /// `error`, `warn`, `info`, `debug` or `trace`. Digests are logged from `debug` on.
        pub level: Level = Level::Info,
        /// `text` for people, `json` for machines.
        pub format: Format = Format::Text,
    }
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// What failed.
    Error,
    /// What somebody should look at, too.
    Warn,
    /// What is done, too.
    Info,
    /// Each request, too.
    Debug,
    /// Everything.
    Trace,
}

/// How it is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

impl Http {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        const SECS: &str = "must be from 1 to 3600 seconds";
        const BYTES: &str = "must be from 1024 (1 KiB) to 1073741824 (1 GiB)";
        if self.listen.is_empty() || self.listen.len() > LISTENERS_MAX {
            return Err(Wrong::of(
                "http.listen",
                format!("{:?}", self.listen),
                "must have from 1 to 16 addresses",
            ));
        }
        within("http.connections_max", self.connections_max.into(), 1, 1 << 20, "must be from 1 to 1048576")?;
        let per_network: u64 = self.connections_per_network_max.into();
        within("http.connections_per_network_max", per_network, 1, 1 << 20, "must be from 1 to 1048576")?;
        within("http.head_secs", self.head_secs, 1, 3600, SECS)?;
        within("http.body_secs", self.body_secs, 1, 3600, SECS)?;
        within("http.answer_secs", self.answer_secs, 1, 3600, SECS)?;
        within("http.write_secs", self.write_secs, 1, 3600, SECS)?;
        within("http.shutdown_secs", self.shutdown_secs, 1, 3600, SECS)?;
        within("http.message_bytes_max", self.message_bytes_max, 1024, 1 << 30, BYTES)?;
        within("http.body_bytes_max", self.body_bytes_max, 1024, 1 << 30, BYTES)?;
        let held_max = "must be from 1048576 (1 MiB) to 1099511627776 (1 TiB)";
        within("http.held_bytes_max", self.held_bytes_max, 1 << 20, 1 << 40, held_max)?;
        within("http.at_a_time", self.at_a_time.into(), 1, 256, "must be from 1 to 256")?;
        match self.names.iter().find(|name| !is_host_name(name)) {
            Some(name) => Err(Wrong::of("http.names", name, "is no host name in lower case, without a port")),
            None => Ok(()),
        }
    }
}

/// Sockets to listen on: one for each address of a machine that has many.
const LISTENERS_MAX: usize = 16;

impl Dcc {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        ServerId::new(self.server_id)
            .map_err(|_| Wrong::of("dcc.server_id", self.server_id, "must be from 100 to 32767"))?;
        Brand::new(&self.brand)
            .map_err(|_| Wrong::of("dcc.brand", &self.brand, "must be 1 to 63 letters and digits"))?;
        Ok(())
    }
}

impl Tls {
    /// Whether there is a certificate.
    pub fn is_set(&self) -> bool {
        self.files().is_some()
    }

    /// The files of the certificate and of its key, where both are set.
    pub(crate) fn files(&self) -> Option<PairFiles<'_>> {
        let (certificate, key) = self.certificate.as_deref().zip(self.key.as_deref())?;
        Some(PairFiles { certificate, key })
    }

    pub(super) fn check(&self) -> Result<(), Wrong> {
        match (&self.certificate, &self.key) {
            (Some(path), None) => {
                Err(Wrong::of("tls.certificate", path.display(), "needs tls.key beside it"))
            }
            (None, Some(path)) => {
                Err(Wrong::of("tls.key", path.display(), "needs tls.certificate beside it"))
            }
            (None, None) if self.loopback => {
                Err(Wrong::of("tls.loopback", true, "needs certificate and key"))
            }
            _ => Ok(()),
        }
    }
}

impl Check {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        // Below, an answer from a disk would never come in time; above, no mail server waits.
        let why = "must be from 10 to 60000 milliseconds";
        within("check.deadline_millis", self.deadline_millis, 10, 60_000, why)
    }
}

impl Fuzzy {
    /// Whether a flag means neither spam nor ham.
    pub(crate) fn is_label(&self, flag: u8) -> bool {
        !self.spam_flags.contains(&flag) && !self.ham_flags.contains(&flag)
    }

    pub(super) fn check(&self) -> Result<(), Wrong> {
        within("fuzzy.value_max", self.value_max.into(), 1, 100, "must be from 1 to 100")?;
        within("fuzzy.near_value", self.near_value.into(), 1, 1000, "must be from 1 to 1000")?;
        if self.spam_flags.contains(&0) {
            return Err(Wrong::of("fuzzy.spam_flags", 0, "is no flag: checks have it"));
        }
        match self.ham_flags.iter().find(|flag| **flag == 0 || self.spam_flags.contains(flag)) {
            Some(flag) => Err(Wrong::of("fuzzy.ham_flags", flag, "is 0, or a flag of spam, too")),
            None => Ok(()),
        }
    }
}

impl Limits {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        within("limits.burst_secs", self.burst_secs.into(), 1, 3600, "must be from 1 to 3600 seconds")?;
        within("limits.networks_max", self.networks_max.into(), 16, 1 << 24, "must be from 16 to 16777216")
    }
}

pub(super) fn within(key: &str, value: u64, least: u64, most: u64, why: &str) -> Result<(), Wrong> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(Wrong::of(key, value, why)) }
}

fn is_host_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._".contains(c);
    (1..=253).contains(&name.len()) && name.chars().all(is_plain)
}
