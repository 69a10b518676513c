//! `seenit network`: what the admin of a network does, and how a site asks to be admitted.

mod create;
mod folder;
mod introduce;
mod meet;
mod members;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use seenit_server::engine::{Login, Operator, Servers};
use serde::Serialize;

use crate::output;
use crate::problem::Problem;
use folder::Folder;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print what a site's operator sends to the admin of a network, to be admitted
    Introduce(introduce::Arguments),
    /// Make a network: the admin's key, an empty roster, a hash key
    Create(create::Arguments),
    /// Let a site in
    Admit(members::Admit),
    /// Take a site out; what it said counts nowhere any more
    Remove(members::Remove),
    /// Make the streams and buckets where sites meet, or print who may do what there
    Streams(meet::Streams),
    /// Publish the papers that are not published yet
    Publish(meet::Publish),
    /// Tell who belongs to a network, which papers there are, and how full its streams are
    Status(status::Arguments),
}

pub(crate) fn run(command: &Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Introduce(arguments) => introduce::run(arguments),
        Command::Create(arguments) => create::run(arguments),
        Command::Admit(arguments) => members::admit(arguments),
        Command::Remove(arguments) => members::remove(arguments),
        Command::Streams(arguments) => meet::streams(arguments),
        Command::Publish(arguments) => meet::publish(arguments),
        Command::Status(arguments) => status::run(arguments),
    }
}

/// Which network, and how to tell of it.
#[derive(Args)]
struct Common {
    /// The admin's folder, with the key that is the network: keep a copy of it where nobody else reads it
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Common {
    fn open(&self) -> Result<Folder, Problem> {
        Folder::open(&self.folder)
    }

    fn tell(&self, told: &impl Serialize, text: &str) -> Result<ExitCode, Problem> {
        if self.json {
            output::json(told)?;
        } else {
            output::text(text)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Where sites meet.
#[derive(Args)]
struct Nats {
    /// A server of NATS; may be given more than once
    #[arg(long, value_name = "URL")]
    nats: Vec<String>,
    /// A private file with credentials of NATS, the secret of an nkey, or user:password [default: a key made from the
    /// admin's]
    #[arg(long, value_name = "FILE", requires = "nats")]
    credentials: Option<PathBuf>,
    /// A PEM file with the authority of the servers' certificates [default: those the system trusts]
    #[arg(long, value_name = "FILE", requires = "nats")]
    ca: Option<PathBuf>,
    /// Speak to servers beyond loopback without TLS: only where something else encrypts
    #[arg(long, requires = "nats")]
    insecure_plaintext: bool,
}

impl Nats {
    /// A connection, where servers are named.
    fn connect(&self, folder: &Folder) -> Result<Option<Operator>, Problem> {
        if self.nats.is_empty() {
            return Ok(None);
        }
        let own = || Login::Key(folder.secret().engine());
        let login = self.credentials.clone().map_or_else(own, Login::File);
        let servers = Servers::new(self.nats.clone(), login, self.ca.clone(), self.insecure_plaintext)?;
        Ok(Some(Operator::connect(&servers, folder.network())?))
    }
}
