//! Where the server answers other protocols, and what can be tried of each from here.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use serde::Deserialize;

use super::dcc::Dcc;
use super::front_end::FrontEnd;
use super::fuzzy::Fuzzy;
use super::pyzor::Pyzor;
use super::razor::Razor;
use crate::client::Client;

/// What a server says of the protocols that it answers.
#[derive(Deserialize)]
pub(super) struct Served {
    /// By name; what is off is not there.
    clients: BTreeMap<String, SocketAddr>,
    fuzzy_key: Option<String>,
    fuzzy_flag: Option<u8>,
}

/// One protocol of clients.
pub(super) enum Clients<'a> {
    /// It is not served.
    Off { name: &'static str },
    /// It is served where nobody gets from here.
    Beyond { name: &'static str, why: String },
    /// It is served, but nobody here may report.
    CheckOnly(Box<dyn FrontEnd + 'a>, String),
    /// All of it can be tried.
    Here(Box<dyn FrontEnd + 'a>),
}

/// Why reports are not tried beyond this machine.
const NO_ACCOUNT: &str = "from beyond its own machine a server takes reports of accounts alone";

/// Why reports are not tried where no flag means spam.
const NO_FLAG: &str = "no flag means spam at this server";

impl Served {
    /// Each protocol, from the place where that client asks.
    pub(super) fn clients<'a>(&self, client: &'a Client) -> [Clients<'a>; 4] {
        let place = |key: &str| self.clients.get(key).map(|told| reach(*told, client.host()));
        let boxed = |front_end| -> Box<dyn FrontEnd + 'a> { front_end };
        let pyzor = |address| boxed(Box::new(Pyzor { address, client }));
        let razor = |address| boxed(Box::new(Razor { address, client }));
        let dcc = |address| boxed(Box::new(Dcc { address, client }));
        let key = self.fuzzy_key.clone().unwrap_or_default();
        let flag = self.fuzzy_flag.unwrap_or_default();
        let fuzzy = |address| boxed(Box::new(Fuzzy { address, key, flag }));
        let rspamd = match Clients::of("rspamd", place("fuzzy"), fuzzy) {
            Clients::Here(front_end) if self.fuzzy_flag.is_none() => {
                Clients::CheckOnly(front_end, NO_FLAG.into())
            }
            clients => clients,
        };
        [
            Clients::of("Pyzor", place("pyzor"), pyzor),
            Clients::of("Razor", place("razor"), razor),
            Clients::of("DCC", place("dcc"), dcc),
            rspamd,
        ]
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told: Vec<String> =
            self.clients.iter().map(|(name, address)| format!("{name} at {address}")).collect();
        f.write_str(&if told.is_empty() { "it answers no other".into() } else { told.join(", ") })
    }
}

impl<'a> Clients<'a> {
    fn of(
        name: &'static str,
        place: Option<Result<SocketAddr, String>>,
        front_end: impl FnOnce(SocketAddr) -> Box<dyn FrontEnd + 'a>,
    ) -> Self {
        match place {
            None => Clients::Off { name },
            Some(Err(why)) => Clients::Beyond { name, why },
            Some(Ok(address)) if address.ip().is_loopback() => Clients::Here(front_end(address)),
            Some(Ok(address)) => Clients::CheckOnly(front_end(address), NO_ACCOUNT.into()),
        }
    }
}

/// Where to ask what a server says it listens on. `host` is that of a server beyond this machine.
fn reach(told: SocketAddr, host: Option<&str>) -> Result<SocketAddr, String> {
    let ip = match (host, told.ip()) {
        (None, IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => Ipv4Addr::LOCALHOST.into(),
        (None, IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => Ipv6Addr::LOCALHOST.into(),
        (Some(_), ip) if ip.is_loopback() => {
            return Err(format!("it listens on {told} of that machine alone"));
        }
        (Some(host), ip) if ip.is_unspecified() => {
            let found = (host, told.port()).to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
            let mut fitting = found.filter(|found| found.is_ipv4() == told.is_ipv4() || told.is_ipv6());
            fitting.next().ok_or_else(|| format!("{host} has no address that fits {told}"))?.ip()
        }
        (_, ip) => ip,
    };
    Ok(SocketAddr::new(ip, told.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_listens_everywhere_is_asked_where_the_server_is() {
        let of =
            |told: &str, host| reach(told.parse().expect("an address"), host).map(|found| found.to_string());
        assert_eq!(of("127.0.0.1:24441", None), Ok("127.0.0.1:24441".into()));
        assert_eq!(of("0.0.0.0:24441", None), Ok("127.0.0.1:24441".into()));
        assert_eq!(of("[::]:24441", None), Ok("[::1]:24441".into()));
        assert_eq!(of("192.0.2.1:24441", None), Ok("192.0.2.1:24441".into()));
        assert_eq!(of("0.0.0.0:24441", Some("192.0.2.7")), Ok("192.0.2.7:24441".into()));
        assert_eq!(of("[::]:24441", Some("2001:db8::7")), Ok("[2001:db8::7]:24441".into()));
        assert_eq!(of("192.0.2.1:24441", Some("192.0.2.7")), Ok("192.0.2.1:24441".into()));
        let beyond = of("127.0.0.1:24441", Some("192.0.2.7"));
        assert_eq!(beyond, Err("it listens on 127.0.0.1:24441 of that machine alone".into()));
    }

    #[test]
    fn reports_are_tried_on_this_machine_alone() {
        let of = |place| {
            let pyzor = |_| -> Box<dyn FrontEnd> { panic!("not asked for") };
            matches!(Clients::of("Pyzor", place, pyzor), Clients::Off { .. } | Clients::Beyond { .. })
        };
        assert!(of(None) && of(Some(Err("far away".into()))));
        let fuzzy =
            |address| -> Box<dyn FrontEnd> { Box::new(Fuzzy { address, key: String::new(), flag: 1 }) };
        let at = |text: &str| Clients::of("rspamd", Some(Ok(text.parse().expect("an address"))), fuzzy);
        assert!(matches!(at("127.0.0.1:1"), Clients::Here(_)));
        assert!(matches!(at("192.0.2.1:1"), Clients::CheckOnly(..)));
    }
}
