//! Sites, a broker, and an admin who lets them in.

use std::error::Error;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use seenit_ledger::SystemClock;
use seenit_server::broker::{Limits, Login, Names, Operator, Servers, SignedDocument};
use seenit_server::config::Listen;
use seenit_server::{ClientAddresses, Config, Running, Server};
use seenit_sites::key::{AdminKey, AdminSecret, SiteSecret};
use seenit_sites::manifest::{HashKey, Manifest, ManifestTerms};
use seenit_sites::number::Generation;
use seenit_sites::roster::{Caps, Member, Roster};
use tempfile::TempDir;

use super::log::Payloads;
use crate::ports::free_ports;
use crate::process::folder_on_disk;

/// How many sites there are.
pub(crate) const SITES: usize = 3;
/// How long sites may take to agree.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The broker. Dropped, it ends.
struct Nats {
    process: Child,
    url: String,
}

impl Nats {
    fn start(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let port = free_ports(1)[0];
        let config = folder.join("nats.conf");
        let store = folder.join("nats");
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\", max_mem: 64MB, max_file: 32GB }}\n",
            store.display()
        );
        fs::write(&config, text)?;
        let mut command = Command::new("nats-server");
        // Its disk is another one than the sites'.
        command.env_remove("LD_PRELOAD");
        command.arg("-c").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(|error| format!("nats-server: {error}"))?;
        Ok(Nats { process, url: format!("nats://127.0.0.1:{port}") })
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // It is ours, and has nothing that anybody needs.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a network of so many sites takes before any of them runs: a broker, folders with keys, an admin.
pub(crate) struct Ground {
    admin: AdminSecret,
    secrets: Vec<SiteSecret>,
    nats: Nats,
    folder: TempDir,
}

impl Ground {
    pub(crate) fn prepare(sites: usize) -> Result<Self, Box<dyn Error>> {
        let folder = folder_on_disk()?;
        let nats = Nats::start(folder.path())?;
        let admin = AdminSecret::from_bytes([1; 32]);
        let mut ground = Ground { admin, secrets: Vec::new(), nats, folder };
        for number in 0..sites {
            let secret = seenit_ledger::site_secret(&ground.data(number), &SystemClock::default())?;
            ground.secrets.push(SiteSecret::from_bytes(*secret));
        }
        Ok(ground)
    }

    /// The folder of a site.
    pub(crate) fn data(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("site{number}"))
    }

    pub(crate) fn network(&self) -> AdminKey {
        self.admin.public()
    }

    /// Makes the network: all sites are members.
    pub(crate) fn found(&self) -> Result<Operator, Box<dyn Error>> {
        let members = self.secrets.iter().enumerate();
        let members =
            members.map(|(number, secret)| member(number, secret)).collect::<Result<Vec<_>, _>>()?;
        let keys: Vec<_> = members.iter().map(|member| member.site).collect();
        let operator = operator(&self.nats, &self.admin)?;
        let limits = Limits { stream_bytes: 1 << 30, bucket_bytes: 256 << 20, ..Limits::default() };
        operator.make(&keys, &limits)?;
        operator.publish(&documents(&self.admin, members)?)?;
        Ok(operator)
    }

    /// Starts a site.
    pub(crate) fn serve(&self, number: usize, capacity: u64) -> Result<Running, Box<dyn Error>> {
        serve(&self.data(number), Some((&self.nats.url, self.network())), capacity)
    }
}

/// A network that runs.
pub(crate) struct Network {
    pub(crate) sites: Vec<Running>,
    ground: Ground,
}

impl Network {
    /// Starts everything, and waits until all sites are members.
    pub(crate) fn form(sites: usize, capacity: u64) -> Result<Self, Box<dyn Error>> {
        let ground = Ground::prepare(sites)?;
        ground.found()?;
        let sites = (0..sites).map(|number| ground.serve(number, capacity)).collect::<Result<Vec<_>, _>>()?;
        let network = Network { sites, ground };
        network.wait("sites become members", |status| {
            status.member && status.sites.iter().all(|one| one.silent_secs.is_some())
        })?;
        // Before it speaks, a site listens.
        std::thread::sleep(Duration::from_secs(3));
        Ok(network)
    }

    /// Waits until what each holds of the others is what they signed.
    pub(crate) fn wait_for_agreement(&self) -> Result<(), Box<dyn Error>> {
        self.wait("sites agree", |status| status.published == status.records && agrees(status))
    }

    /// How many sites agree with all others now.
    pub(crate) fn agreeing(&self) -> usize {
        self.sites.iter().filter_map(Running::network).filter(agrees).count()
    }

    /// The broker's process.
    pub(crate) fn broker_id(&self) -> u32 {
        self.ground.nats.process.id()
    }

    fn wait(
        &self,
        what: &str,
        is_so: impl Fn(&seenit_link::NetworkStatus) -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let until = Instant::now() + PATIENCE;
        while !self.sites.iter().filter_map(Running::network).all(|status| is_so(&status)) {
            if Instant::now() > until {
                let all: Vec<_> = self.sites.iter().filter_map(Running::network).collect();
                return Err(format!(
                    "it is waited in vain that {what}: {}",
                    serde_json::to_string_pretty(&all)?
                )
                .into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Bytes of records and of sightings that all sites published: at least what their logs have, since heads stand
    /// around it. The last delta may still be on its way.
    pub(crate) fn published_bytes(&self, payloads: &Payloads) -> Result<(u64, u64), Box<dyn Error>> {
        let until = Instant::now() + PATIENCE;
        loop {
            let sites = self.sites.iter().filter_map(Running::network);
            let bytes = sites.map(|one| (one.records_bytes, one.seen_bytes));
            let (records, seen) = bytes.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            if records > payloads.records_bytes && seen > payloads.deltas_bytes {
                return Ok((records, seen));
            }
            if Instant::now() > until {
                return Err(format!("it is waited in vain for what {payloads:?} takes when published").into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What all sites published, as it lies in their logs.
    pub(crate) fn payloads(&self) -> Result<Payloads, Box<dyn Error>> {
        let mut sum = Payloads::default();
        for site in &self.sites {
            sum = sum.and(Payloads::of(site.ledger())?);
        }
        Ok(sum)
    }
}

/// Whether a site agrees with all others.
fn agrees(status: &seenit_link::NetworkStatus) -> bool {
    status.sites.iter().all(|one| one.agrees == Some(true))
}

fn member(number: usize, secret: &SiteSecret) -> Result<Member, Box<dyn Error>> {
    let caps = Caps { spam: 10, ham: 10, seen: 1_000_000 };
    let site = secret.public();
    let sealing = secret.sealing().public();
    Ok(Member { site, sealing, name: format!("site{number}").parse()?, caps })
}

fn operator(nats: &Nats, admin: &AdminSecret) -> Result<Operator, Box<dyn Error>> {
    let servers = Servers::new(vec![nats.url.clone()], Login::Key(admin.broker_key()), None, false)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match Operator::connect(&servers, admin.public()) {
            Ok(operator) => return Ok(operator),
            Err(error) if Instant::now() > until => return Err(error.into()),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn documents(admin: &AdminSecret, members: Vec<Member>) -> Result<Vec<SignedDocument>, Box<dyn Error>> {
    let roster = Roster::sign(admin, 1, members)?;
    let terms = ManifestTerms { first_generation: Generation(0), generation_secs: 86_400 };
    let manifest = Manifest::sign(admin, 1, terms, &roster, &HashKey::from_bytes([2; 16]), [3; 32])?;
    let names = Names::of(&admin.public());
    Ok(vec![
        SignedDocument { subject: names.manifest(1), bytes: manifest.bytes.to_vec() },
        SignedDocument { subject: names.roster(), bytes: roster.bytes.to_vec() },
    ])
}

/// Starts a site; without a network it stands alone.
pub(crate) fn serve(
    data: &Path,
    network: Option<(&str, AdminKey)>,
    capacity: u64,
) -> Result<Running, Box<dyn Error>> {
    let mut config = Config::default();
    if let Some((url, key)) = network {
        config.network.key = Some(key.to_string());
        config.network.nats = vec![url.to_owned()];
    }
    config.ledger.free_bytes_min = 0;
    config.ledger.seen_capacity = capacity;
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut clients = ClientAddresses::default();
    let off = Some(Listen::Off);
    (clients.pyzor, clients.dcc, clients.razor, clients.fuzzy) = (off, off, off, off);
    let server = Server::new(config, data).http(any).clients(clients).token_folder(data);
    Ok(server.start()?)
}
