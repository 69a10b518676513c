//! Three sites as processes, a broker of one or three nodes, and the admin's folder.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::Folder;
use crate::common::nats::{Nats, Place};
use crate::common::serving::{Serving, mail};

/// How long anything may take: nodes of the broker elect a leader, and what was missed is asked for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sites.
pub(crate) const SITES: usize = 3;

/// Everything.
pub(crate) struct Network {
    pub(crate) nats: Nats,
    /// A folder for each site, which outlive their processes.
    folders: &'static [Folder],
    pub(crate) sites: Vec<Option<Serving<'static>>>,
    admin: Folder,
}

impl Network {
    /// Forms a network on a broker of so many nodes. Nothing where nats-server is not installed.
    pub(crate) fn form(nodes: usize) -> Option<Self> {
        Network::form_at(&vec![Place::here(); nodes])
    }

    /// The same with a node at each of these places, and a site on the host of each.
    pub(crate) fn form_at(places: &[Place]) -> Option<Self> {
        let admin = Folder::new();
        let nodes = places.len();
        // Processes borrow their folders; both go when the network is dropped.
        let folder = |site: usize| Folder::on(places.get(site).and_then(|place| place.namespace.clone()));
        let folders: &'static [Folder] = (0..SITES).map(folder).collect::<Vec<_>>().leak();
        // Made without a broker, which is to be told whom to trust. It is told so again when it is there.
        let made = admin.run("network up --folder admin --no-start --nats nats://127.0.0.1:1");
        assert_eq!(made.code, 75, "{}", made.err);
        let auth = String::from_utf8(admin.read("admin/broker-auth.conf")).expect("text");
        let resolver = "resolver { type: full, dir: \"{store}-jwt\" }\n";
        let nats = Nats::start_at(places, &format!("{resolver}{auth}"))?;
        let (urls, limits) = (urls(&nats), "--max-bytes 67108864 --bucket-bytes 33554432");
        // A cluster that has just elected a leader may still refuse to store anything: exit code 75, try again.
        let up = format!("network up --folder admin --no-start --replicas {nodes} {limits}{urls}");
        let until = Instant::now() + PATIENCE;
        while admin.run(&up).code == 75 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(500));
        }
        well(&admin, &up);
        for (number, folder) in folders.iter().enumerate() {
            let invite = well(&admin, &format!("network invite --json site{number}"));
            let invite: Value = serde_json::from_str(&invite).expect("JSON");
            let invite = invite["invite"].as_str().expect("an invite");
            well(folder, &format!("join --data data {invite}"));
            // One site alone lists here: what it said is looked for at the others.
            well(&admin, &format!("network admit site{number} --yes --spam 10 --ham 10"));
        }
        let mut network = Network { nats, folders, sites: (0..SITES).map(|_| None).collect(), admin };
        (0..SITES).for_each(|site| network.start(site));
        network.until("all are members", |network| {
            (0..SITES).all(|site| network.status(site)["member"] == true && network.has_heard_all(site))
        });
        Some(network)
    }

    /// Starts a site that does not run.
    pub(crate) fn start(&mut self, site: usize) {
        self.start_in(site, &[]);
    }

    /// The same with variables in its environment.
    pub(crate) fn start_in(&mut self, site: usize, environment: &[(&'static str, String)]) {
        let options = format!("{} --config seenit.toml", crate::common::serving::HTTP_ALONE);
        self.sites[site] = Some(Serving::start_in(&self.folders[site], &options, environment));
    }

    /// A path in a site's folder.
    pub(crate) fn path(&self, site: usize, name: &str) -> std::path::PathBuf {
        self.folders[site].path(name)
    }

    /// Ends a site as a power cut would.
    pub(crate) fn kill(&mut self, site: usize) {
        if let Some(mut serving) = self.sites[site].take() {
            serving.process.signal("KILL");
            serving.process.wait();
        }
    }

    /// Copies a site's folder elsewhere, or back.
    pub(crate) fn copy(&self, site: usize, from: &str, to: &str) {
        let folder = &self.folders[site];
        let _ = fs::remove_dir_all(folder.path(to));
        let copied = Command::new("cp").arg("-a").arg(folder.path(from)).arg(folder.path(to)).status();
        assert!(copied.expect("cp runs").success());
    }

    pub(crate) fn serving(&self, site: usize) -> &Serving<'static> {
        self.sites[site].as_ref().expect("it runs")
    }

    /// A message that only this seed has, in the folders of all sites; its name.
    pub(crate) fn mail(&self, seed: u64) -> String {
        let name = format!("mail-{seed}");
        self.folders.iter().for_each(|folder| fs::write(folder.path(&name), mail(seed)).expect("written"));
        name
    }

    /// Reports or revokes, durably; the id of the record.
    pub(crate) fn say(&self, site: usize, verb: &str, file: &str) -> String {
        let ran = self.serving(site).run(&format!("{verb} --json {file}"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.json()[0]["receipt"]["id"].as_str().expect("an id").to_owned()
    }

    /// Counts recipients.
    pub(crate) fn see(&self, site: usize, file: &str, recipients: u64) {
        let ran = self.serving(site).run(&format!("see --recipients {recipients} {file}"));
        assert_eq!(ran.code, 0, "{}", ran.err);
    }

    pub(crate) fn verdict(&self, site: usize, file: &str) -> String {
        self.serving(site).verdict(file).0
    }

    /// Recipients that a site counts.
    pub(crate) fn seen(&self, site: usize, file: &str) -> u64 {
        let judged = self.serving(site).judged(file).0;
        let reasons = judged["reasons"].as_array().cloned().unwrap_or_default();
        reasons.iter().filter_map(|reason| reason["seen"].as_u64()).max().unwrap_or(0)
    }

    pub(crate) fn receipt(&self, site: usize, id: &str) -> Value {
        self.serving(site).run(&format!("receipt --json {id}")).json()
    }

    /// What a site says of the others; nothing where it is too busy to say it.
    pub(crate) fn status(&self, site: usize) -> Value {
        self.sites(site).0
    }

    fn has_heard_all(&self, site: usize) -> bool {
        let status = self.status(site);
        let has_heard = |sites: &Vec<Value>| {
            sites.len() == SITES - 1 && sites.iter().all(|one| !one["silent_secs"].is_null())
        };
        status["sites"].as_array().is_some_and(has_heard)
    }

    /// Waits until something is so.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Network) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            if Instant::now() > until {
                let told = |site: usize| match &self.sites[site] {
                    Some(_) => format!("{:#}\n{}", self.status(site), self.log(site)),
                    None => "not running".into(),
                };
                let told: Vec<String> = (0..SITES).map(told).collect();
                panic!("it is waited in vain that {what}:\n{}", told.join("\n"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits until all sites agree with all others, and have said all they know.
    pub(crate) fn agree(&self) {
        self.until("all agree", |network| {
            (0..SITES).all(|site| {
                let status = network.status(site);
                let agrees = |one: &Value| one["agrees"] == true && one["has_of_ours"] == status["records"];
                status["sites"].as_array().is_some_and(|sites| sites.iter().all(agrees))
            })
        });
    }

    /// What a site said in its log.
    pub(crate) fn log(&self, site: usize) -> String {
        String::from_utf8_lossy(&self.folders[site].read("log")).into_owned()
    }

    /// Runs a command of the admin's, which must work.
    pub(crate) fn admin(&self, words: &str) -> String {
        well(&self.admin, words)
    }

    /// Makes whole what the broker lacks.
    pub(crate) fn up(&self) {
        let limits = "--max-bytes 67108864 --bucket-bytes 33554432";
        self.admin(&format!("network up --folder admin --no-start {limits}{}", urls(&self.nats)));
    }

    /// What `seenit sites` says of the others, whatever its exit code, and that code.
    pub(crate) fn sites(&self, site: usize) -> (Value, i32) {
        let ran = self.serving(site).run("sites --json");
        (serde_json::from_str(&ran.out).unwrap_or_default(), ran.code)
    }

    /// Lets a site in again that was removed.
    pub(crate) fn admit_again(&self, site: usize) {
        let invite = self.admin(&format!("network invite --json site{site}"));
        let invite: Value = serde_json::from_str(&invite).expect("JSON");
        let invite = invite["invite"].as_str().expect("an invite");
        well(&self.folders[site], &format!("join --data data {invite}"));
        self.admin(&format!("network admit --yes site{site} --spam 10 --ham 10"));
    }

    /// Starts another process on a copy of a site's folder.
    pub(crate) fn start_copy(&self, site: usize) -> Serving<'static> {
        let copy: &'static Folder = Box::leak(Box::new(Folder::new()));
        for name in ["data", "seenit.toml"] {
            let copied =
                Command::new("cp").arg("-a").arg(self.folders[site].path(name)).arg(copy.path(name)).status();
            assert!(copied.expect("cp runs").success());
        }
        Serving::start_with(copy, &format!("{} --config seenit.toml", crate::common::serving::HTTP_ALONE))
    }

    /// Takes a site out of the roster.
    pub(crate) fn remove(&self, site: usize) {
        well(&self.admin, &format!("network remove site{site}"));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.sites.clear();
        for folder in self.folders {
            // What cannot be removed is in a temporary folder.
            let _ = fs::remove_dir_all(folder.path(""));
        }
    }
}

/// Where the broker is, in words of a command. It has no TLS here, whatever host it is on.
fn urls(nats: &Nats) -> String {
    let urls = nats.urls().iter().map(|url| format!(" --nats {url}")).collect::<String>();
    urls + " --insecure-plaintext"
}

fn well(folder: &Folder, words: &str) -> String {
    let ran = folder.run(words);
    assert_eq!(ran.code, 0, "{words}: {}", ran.err);
    ran.out
}
