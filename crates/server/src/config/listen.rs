//! Where a protocol listens: an address, or nowhere.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An address and port, or "off".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// The protocol is not served.
    Off,
    /// There; port 0 takes a free one.
    At(SocketAddr),
}

impl Listen {
    /// A port of this machine alone.
    pub(super) const fn at_loopback(port: u16) -> Self {
        Listen::At(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}

/// Text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither an address with a port, such as 127.0.0.1:24441, nor \"off\"")]
pub struct NoListen(String);

impl FromStr for Listen {
    type Err = NoListen;

    fn from_str(text: &str) -> Result<Self, NoListen> {
        match text {
            "off" => Ok(Listen::Off),
            _ => text.parse().map(Listen::At).map_err(|_| NoListen(text.chars().take(100).collect())),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Off => f.write_str("off"),
            Listen::At(address) => address.fmt(f),
        }
    }
}

impl Serialize for Listen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
