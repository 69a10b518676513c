//! The server's own process, seen from both sides.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use seenit_server::Server;
use serde::{Deserialize, Serialize};

use crate::hosted::{self, Hosted};
use crate::process;

/// What the server is told.
#[derive(Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) folder: PathBuf,
    pub(crate) capacity: u64,
}

/// What it says when it serves.
#[derive(Serialize, Deserialize)]
struct Serving {
    address: SocketAddr,
    token: String,
}

/// Runs the server until the race is over.
pub(crate) fn serve(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let data = plan.folder.join("data");
    let mut config = hosted::config();
    config.ledger.capacity = plan.capacity;
    let server = Server::new(config, &data);
    let server = server.http((Ipv4Addr::LOCALHOST, 0).into()).token_folder(&data);
    let running = server.start()?;
    let address = *running.addresses().first().ok_or("the server listens nowhere")?;
    hosted::serve(&Serving { address, token: running.operator_token().as_str().to_owned() })
}

/// The server, for the generator. Dropped, it ends.
pub(crate) struct Host(Hosted<Serving>);

impl Host {
    pub(crate) fn start(plan: &Plan) -> Result<Self, Box<dyn Error>> {
        Ok(Host(Hosted::start("server", plan)?))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.serving.address
    }

    /// The operator's token.
    pub(crate) fn token(&self) -> &str {
        &self.0.serving.token
    }

    pub(crate) fn status_bytes(&self, line: &str) -> u64 {
        process::status_bytes(&self.0.id().to_string(), line)
    }

    pub(crate) fn cpu_secs(&self) -> f64 {
        process::cpu_secs(&self.0.id().to_string())
    }
}
