//! Where the broker of a network is and how much it keeps, as `seenit network up` was told last.

use std::path::PathBuf;

use seenit_server::broker::{Limits, Login, Servers};
use seenit_sites::key::BrokerSecret;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// Where a broker is that was started on this machine.
pub(in crate::network) const LOCAL: &str = "nats://127.0.0.1:4222";

/// What every command of the admin's needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::network) struct Settings {
    /// Addresses of the broker.
    pub(in crate::network) nats: Vec<String>,
    /// A file with credentials, where the broker is somebody else's.
    pub(in crate::network) credentials: Option<PathBuf>,
    /// A PEM file with the authority of its certificate.
    pub(in crate::network) ca: Option<PathBuf>,
    pub(in crate::network) insecure_plaintext: bool,
    pub(in crate::network) replicas: u8,
    pub(in crate::network) max_bytes: u64,
    pub(in crate::network) max_age: u64,
    pub(in crate::network) bucket_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let Limits { stream_bytes, age_secs, bucket_bytes, .. } = Limits::default();
        Settings {
            nats: vec![LOCAL.to_owned()],
            credentials: None,
            ca: None,
            insecure_plaintext: false,
            replicas: 1,
            max_bytes: stream_bytes,
            max_age: age_secs,
            bucket_bytes,
        }
    }
}

impl Settings {
    /// Refuses addresses that are none, before anything is kept.
    pub(in crate::network) fn check(&self) -> Result<(), Problem> {
        let nobody = Login::Key(BrokerSecret::from_bytes([0; 32]));
        Ok(Servers::new(self.nats.clone(), nobody, None, self.insecure_plaintext).map(drop)?)
    }

    pub(in crate::network) fn limits(&self) -> Limits {
        Limits {
            replicas: self.replicas.into(),
            stream_bytes: self.max_bytes,
            age_secs: self.max_age,
            bucket_bytes: self.bucket_bytes,
        }
    }
}
