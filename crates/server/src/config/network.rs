//! The section of the network that a site belongs to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use seenit_link::{LocalCap, LocalCaps};
use seenit_sites::key::AdminKey;
use serde::{Deserialize, Serialize};

use super::Wrong;
use super::section::section;
use super::sections::within;
use crate::broker;

/// Servers of one broker that are worth a try.
const SERVERS_MAX: usize = 16;

section! {
    /// The network of sites that this one belongs to.
    pub struct Network {
        /// The admin's public key, which is the network: 64 digits. `seenit join` writes it here. Without it a site
        /// stands alone.
        pub key: Option<String> = None,
        /// Servers of NATS where the sites meet, such as "tls://nats.example.org:4222". Beyond loopback they must
        /// speak TLS.
        pub nats: Vec<String> = Vec::new(),
        /// A file that only its owner may read, with credentials of NATS, the secret of an nkey, or `user:password`.
        /// Without it, a key made from the site's own is used, and the JWT that the admin signed for it.
        pub credentials: Option<PathBuf> = None,
        /// A PEM file with the authority of the servers' certificates. Without it, those that the system trusts.
        pub ca: Option<PathBuf> = None,
        /// Whether to speak to servers beyond loopback without TLS: only where something else encrypts.
        pub insecure_plaintext: bool = false,
        /// Seconds between the snapshots that this site keeps on the broker for newcomers.
        pub snapshot_secs: u64 = 3600,
        /// How far other sites are believed here at most, by name, where that is less than the admin's roster says:
        /// points of spam and of ham on a signature, recipients of a signature. For example
        /// { "mail.example.org" = { spam = 0, ham = 0, seen = 0 } } to believe that site nothing.
        pub caps: BTreeMap<String, SiteCaps> = BTreeMap::new(),
    }
}

/// How far one site is believed at most; the roster's limits where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SiteCaps {
    /// Points of spam on a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spam: Option<u32>,
    /// Points of ham on a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ham: Option<u32>,
    /// Recipients of a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
}

impl Network {
    /// The network, if there is one.
    pub fn key(&self) -> Option<AdminKey> {
        self.key.as_ref().and_then(|key| key.parse().ok())
    }

    /// The operator's own limits of what other sites are believed.
    pub(crate) fn local_caps(&self) -> LocalCaps {
        let cap = |caps: &SiteCaps| LocalCap { spam: caps.spam, ham: caps.ham, seen: caps.seen };
        self.caps.iter().map(|(name, caps)| (name.clone(), cap(caps))).collect()
    }

    pub(super) fn check(&self) -> Result<(), Wrong> {
        let secs = "must be from 60 to 604800 seconds";
        within("network.snapshot_secs", self.snapshot_secs, 60, 7 * 86_400, secs)?;
        for address in &self.nats {
            let checked = broker::check_address(address, self.insecure_plaintext);
            checked.map_err(|why| Wrong::of("network.nats", address, &why))?;
        }
        match (&self.key, self.nats.as_slice()) {
            (Some(key), servers) => {
                let read = key.parse::<AdminKey>();
                read.map_err(|error| Wrong::of("network.key", key, &error.to_string()))?;
                if !(1..=SERVERS_MAX).contains(&servers.len()) {
                    return Err(Wrong::of("network.key", key, "needs 1 to 16 servers in network.nats"));
                }
                Ok(())
            }
            (None, [first, ..]) => Err(Wrong::of("network.nats", first, "needs network.key beside it")),
            (None, []) => Ok(()),
        }
    }
}
