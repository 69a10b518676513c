//! `seenit network up`: makes a network, or whatever is missing of one.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use seenit_ledger::SystemClock;
use seenit_server::broker::{Authority, Limits, SiteLogin};
use seenit_sites::introduction::Introduction;
use seenit_sites::key::SiteSecret;
use seenit_sites::manifest::{GENERATION_SECS_MAX, GENERATION_SECS_MIN};
use seenit_sites::roster::Name;
use serde_json::json;

use super::admit::{DEFAULT_CAPS, Newcomer, sign_in};
use super::folder::Folder;
use super::folder::settings::Settings;
use super::session::Session;
use super::site_config::{self, Section};
use super::{Common, broker, documents};
use crate::client::CONFIG_FILE;
use crate::problem::Problem;
use crate::range::within;

#[derive(Args)]
#[command(
    after_help = "Run it again whenever you like: it changes what is missing or differs and nothing else, and says \
    what that was. After the broker's store was lost, it brings everything back. What it is told with --nats, --ca, \
    --replicas and the like, all commands of this folder remember.\n\
    A broker on this machine is started if none listens; its configuration is broker.conf in the folder.\n\
    Examples:\n  seenit network up --site seenit-data\n  \
    seenit network up --nats tls://nats.example.org --ca ca.pem --replicas 3"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    place: BrokerArgs,
    /// Admit the site with this data folder, on this machine, and write its configuration
    #[arg(long, value_name = "DIR")]
    site: Option<PathBuf>,
    /// What to call that site [default: the name of this machine]
    #[arg(long, value_name = "NAME", requires = "site")]
    name: Option<Name>,
    /// The configuration of that site
    #[arg(long, value_name = "FILE", default_value = CONFIG_FILE)]
    config: PathBuf,
    /// Do not start a broker
    #[arg(long)]
    no_start: bool,
    /// Length of a generation of seen counts, in seconds; chosen when the network is made and fixed from then on
    #[arg(long, value_name = "SECS", default_value_t = 86_400,
        allow_negative_numbers = true,
        value_parser = within(GENERATION_SECS_MIN..=GENERATION_SECS_MAX))]
    generation_secs: u64,
}

/// Where the broker is, and how much it keeps.
#[derive(Args)]
struct BrokerArgs {
    /// A server of the broker; may be given more than once [default: nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL")]
    nats: Vec<String>,
    /// A private file with credentials for a broker that is somebody else's [default: what the admin's key signs]
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// A PEM file with the authority of the servers' certificates [default: those the system trusts]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Speak to servers beyond loopback without TLS: only where something else encrypts
    #[arg(long, requires = "nats")]
    insecure_plaintext: bool,
    /// Servers that keep a copy: 3 in a cluster of three [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = within(1..=5_u8))]
    replicas: Option<u8>,
    /// Bytes that the broker keeps of records, and as many of seen counts; beyond that it deletes the oldest messages
    /// [default: 4 GiB]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
        value_parser = within(1 << 20..=u64::MAX))]
    max_bytes: Option<u64>,
    /// Seconds that records and seen counts are kept [default: 7 days]
    #[arg(long, value_name = "SECS",
        allow_negative_numbers = true,
        value_parser = within(Limits::AGE_SECS_MIN..=10 * 366 * 86_400))]
    max_age: Option<u64>,
    /// Bytes of each site's bucket of snapshots [default: 512 MiB]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
        value_parser = within(1 << 20..=u64::MAX))]
    bucket_bytes: Option<u64>,
}

impl BrokerArgs {
    /// What is said here, and of the rest what was said before.
    fn over(&self, before: Settings) -> Settings {
        let is_said = !self.nats.is_empty();
        let absolute = |path: &PathBuf| std::path::absolute(path).ok();
        Settings {
            nats: if is_said { self.nats.clone() } else { before.nats },
            credentials: self.credentials.as_ref().and_then(absolute).or(before.credentials),
            ca: self.ca.as_ref().and_then(absolute).or(before.ca),
            insecure_plaintext: if is_said { self.insecure_plaintext } else { before.insecure_plaintext },
            replicas: self.replicas.unwrap_or(before.replicas),
            max_bytes: self.max_bytes.unwrap_or(before.max_bytes),
            max_age: self.max_age.unwrap_or(before.max_age),
            bucket_bytes: self.bucket_bytes.unwrap_or(before.bucket_bytes),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let common = &arguments.common;
    let mut changes = Vec::new();
    let folder = open(arguments, &mut changes)?;
    let before = folder.settings()?;
    let settings = arguments.place.over(before.clone().unwrap_or_default());
    settings.check()?;
    if before.as_ref() != Some(&settings) {
        folder.keep_settings(&settings)?;
        changes.push(format!("the broker is at {}", settings.nats.join(", ")));
    }
    let own = arguments.site.as_deref().map(|data| own_site(&folder, data, arguments)).transpose()?;
    if let Some(own) = &own
        && sign_in(&folder, vec![own.newcomer()])?
    {
        changes.push(format!("admitted {}, the site in {}", own.introduction.name, own.data.display()));
    }
    changes.extend(broker::configure(&folder, before.as_ref(), &settings)?);
    let started = if arguments.no_start { None } else { broker::start(&folder, &settings)? };
    if let Some(pid) = started {
        let path = folder.path().display();
        changes.push(format!(
            "started a broker on this machine: process {pid}, log {path}/broker.log; stop it with kill {pid}. It does \
             not start by itself with the machine"
        ));
    }
    changes.extend(Session::connect(&folder, &settings)?.bring_up()?);
    if let Some(own) = &own {
        changes.extend(own.configure(&folder, &settings, &arguments.config)?);
    }
    let mut text = String::new();
    changes.iter().for_each(|change| text += &format!("{change}\n"));
    if changes.is_empty() {
        text += "All is as it should be: nothing was changed.\n";
    }
    if let Some(own) = &own {
        let data = own.data.display();
        let config = arguments.config.display();
        let _ = writeln!(text, "Now run: seenit serve --data {data} --config {config}");
    } else if folder.roster()?.members.is_empty() {
        text += "Now invite the first site: seenit network invite NAME\n";
    }
    let told = json!({"network": folder.network().to_string(), "changes": changes, "started": started});
    common.tell(&told, &text)
}

fn open(arguments: &Arguments, changes: &mut Vec<String>) -> Result<Folder, Problem> {
    let path = &arguments.common.folder;
    if Folder::exists(path) {
        return Folder::open(path);
    }
    let folder = Folder::create(path)?;
    documents::begin(&folder, arguments.generation_secs)?;
    let network = folder.network();
    changes.push(format!("made network {network} in {}: keep a copy of that folder safe", path.display()));
    Ok(folder)
}

/// The site of this machine.
struct OwnSite {
    data: PathBuf,
    secret: SiteSecret,
    introduction: Introduction,
}

fn own_site(folder: &Folder, data: &Path, arguments: &Arguments) -> Result<OwnSite, Problem> {
    site_config::check(&arguments.config, &folder.network(), false)?;
    let secret = seenit_ledger::site_secret(data, &SystemClock::default())?;
    let secret = SiteSecret::from_bytes(*secret);
    let member = folder.roster()?.member(&secret.public()).map(|member| member.name.clone());
    let name = arguments.name.clone().or(member).map_or_else(machine, Ok)?;
    let introduction = Introduction::sign(&secret, name);
    Ok(OwnSite { data: data.to_owned(), secret, introduction })
}

impl OwnSite {
    fn newcomer(&self) -> Newcomer {
        Newcomer { introduction: self.introduction.clone(), caps: DEFAULT_CAPS, is_told: false }
    }

    /// Gives the site its JWT and its configuration.
    fn configure(&self, folder: &Folder, settings: &Settings, config: &Path) -> Result<Vec<String>, Problem> {
        let network = folder.network();
        let mut changes = Vec::new();
        let jwt = Authority::of(folder.secret()).site(&self.introduction.site, &self.introduction.broker);
        if SiteLogin::new(&self.secret, network, &self.data).keep_jwt(jwt.as_bytes())? {
            changes.push(format!("gave the site in {} its JWT for the broker", self.data.display()));
        }
        let section = Section {
            network,
            nats: settings.nats.clone(),
            ca: settings.ca.clone(),
            insecure_plaintext: settings.insecure_plaintext,
        };
        if site_config::write(config, &section, false)? {
            changes.push(format!("wrote [network] in {}", config.display()));
        }
        Ok(changes)
    }
}

/// What this machine is called, as far as that is a name for a site.
fn machine() -> Result<Name, Problem> {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let text = text.trim().to_ascii_lowercase();
    text.parse().map_err(|_| {
        Problem::Value(format!(
            "this machine is called {text:?}, which is no name for a site: give --name NAME"
        ))
    })
}
