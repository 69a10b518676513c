//! What a server says of other sites: two of them, each with a ledger and a link, and a real nats-server between them.
//! Without nats-server, the test says so and is skipped.

#[path = "../../cli/tests/common/nats.rs"]
#[allow(dead_code)]
mod nats;
#[path = "http/site.rs"]
#[allow(dead_code)]
mod site;

use std::time::{Duration, Instant};

use nats::Nats;
use seenit_ledger::SystemClock;
use seenit_server::Config;
use seenit_server::broker::{Limits, Login, Names, Operator, Servers, SignedDocument};
use seenit_sites::introduction::Introduction;
use seenit_sites::key::{AdminSecret, SiteSecret};
use seenit_sites::manifest::{HashKey, Manifest, ManifestTerms};
use seenit_sites::number::Generation;
use seenit_sites::roster::{Caps, Member, Roster};
use serde_json::{Value, json};
use site::{MAIL, MESSAGE, Site, config};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// A network of two sites that meet at a server.
struct Network {
    nats: Nats,
    admin: AdminSecret,
    folders: [TempDir; 2],
}

impl Network {
    /// Two sites are let in, and their documents published.
    fn form() -> Option<Self> {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let secrets = folders.each_ref().map(|folder| {
            let secret = seenit_ledger::site_secret(&folder.path().join("data"), &SystemClock::default());
            SiteSecret::from_bytes(*secret.expect("a site"))
        });
        let admin = AdminSecret::from_bytes([7; 32]);
        let introduced = ["one", "two"]
            .iter()
            .zip(&secrets)
            .map(|(name, secret)| Introduction::sign(secret, name.parse().expect("a name")));
        let introduced: Vec<Introduction> = introduced.collect();
        // Who may connect is tried with the broker alone.
        let nats = Nats::start(1, "")?;
        let members = introduced.iter().map(|one| Member {
            site: one.site,
            sealing: one.sealing,
            name: one.name.clone(),
            caps: Caps { spam: 10, ham: 10, seen: 1_000_000 },
        });
        let roster = Roster::sign(&admin, 1, members.collect()).expect("a roster");
        let generation_secs = config().ledger.generation_secs;
        let terms = ManifestTerms { first_generation: Generation(0), generation_secs };
        let key = HashKey::from_bytes([5; 16]);
        let manifest = Manifest::sign(&admin, 1, terms, &roster, &key, [6; 32]).expect("a manifest");
        let network = Network { nats, admin, folders };
        network.publish(&roster, &manifest);
        Some(network)
    }

    fn publish(&self, roster: &Roster, manifest: &Manifest) {
        let login = Login::Key(self.admin.broker_key());
        let servers = Servers { addresses: self.nats.urls(), login, ca: None, may_be_plain: true };
        let operator = Operator::connect(&servers, self.admin.public()).expect("the broker is there");
        let sites: Vec<_> = roster.members.iter().map(|member| member.site).collect();
        let limits = Limits { stream_bytes: 64 << 20, bucket_bytes: 64 << 20, ..Limits::default() };
        operator.make(&sites, &limits).expect("streams");
        let names = Names::of(&self.admin.public());
        let documents = [(names.manifest(manifest.number), &manifest.bytes), (names.roster(), &roster.bytes)];
        let documents = documents.map(|(subject, bytes)| SignedDocument { subject, bytes: bytes.clone() });
        assert_eq!(operator.publish(&documents).expect("published"), 2);
    }

    fn config(&self) -> Config {
        let mut config = config();
        config.network.key = Some(self.admin.public().to_string());
        config.network.nats = self.nats.urls();
        config
    }
}

/// Asks until it is so.
fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Ok(found) => return found,
            Err(last) => assert!(Instant::now() < end, "{what}: {last}"),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until all that a site holds of the other is what the other signed.
fn agreed(site: &Site) -> Value {
    until("the sites agree", || {
        let sites = site.get("/v1/sites").json();
        let other = &sites["sites"][0];
        let is_level = other["records_applied"] == other["records_known"] && other["agrees"] == true;
        if is_level && sites["member"] == true { Ok(sites) } else { Err(sites.to_string()) }
    })
}

fn receipt(site: &Site, id: &Value) -> Value {
    site.get(&format!("/v1/receipts/{}", id.as_str().expect("an id"))).json()
}

#[test]
fn a_site_alone_says_so_in_the_same_shape() {
    let site = Site::start(config());
    let incarnation = site.get("/v1/stats").json()["incarnation"].clone();
    assert_eq!(
        site.get("/v1/sites").json(),
        json!({
            "network": null, "member": false, "roster": 0, "incarnation": incarnation, "records": 0, "published": 0,
            "sites": [], "alarms": [], "engine": null, "waiting_secs": 0, "fenced": null, "dropped_heard": 0,
            "dropped_said": 0,
        })
    );
    let written = site.post("/v1/report", MESSAGE, MAIL).json();
    for told in [receipt(&site, &written["id"]), written] {
        assert_eq!(told.get("reach"), None);
        assert_eq!(told["sites"].as_array().map(Vec::len), Some(1), "{told}");
        assert_eq!(told["sites"][0].as_object().map(|site| site.len()), Some(2), "{told}");
    }
    let metrics = site.get("/metrics").text();
    assert!(
        metrics.contains("seenit_ledger_heard 0.0\n") && !metrics.contains("seenit_network_"),
        "{metrics}"
    );
}

#[test]
fn a_broker_that_is_away_is_an_alarm_and_nothing_worse() {
    let mut away = config();
    away.network.key = Some(AdminSecret::from_bytes([7; 32]).public().to_string());
    away.network.nats = vec![format!("nats://127.0.0.1:{}", nats::free_ports(1)[0])];
    let site = Site::start(away);
    assert_eq!(site.post("/v1/report", MESSAGE, MAIL).status, 200);
    let sites = site.get("/v1/sites").json();
    assert_eq!((&sites["engine"]["up"], &sites["member"]), (&json!(false), &json!(false)), "{sites}");
    let stats = site.get("/v1/stats").json();
    let alarm = stats["alarms"][0].as_str().expect("an alarm").to_owned();
    assert!(alarm.starts_with("the broker between sites is not there: "), "{alarm}");
    assert_eq!(site.get("/readyz").status, 200);
    assert!(site.get("/metrics").text().contains("seenit_network_engine_up 0\n"));
}

#[test]
fn a_report_at_one_site_is_known_at_the_other_and_its_receipt_says_so() {
    let Some(network) = Network::form() else { return };
    let config = network.config();
    let Network { nats: _nats, folders, .. } = network;
    let [one, two] = folders.map(|folder| Site::start_in(folder, site::config()));
    let private = one.post("/v1/report", MESSAGE, MAIL.replace("garden", "office")).json();
    let [one, two] = [one, two].map(|site| site.restart(config.clone()));
    agreed(&one);
    agreed(&two);

    let written = until("a receipt that names both", || {
        let written = one.post("/v1/report", MESSAGE, MAIL).json();
        if written["sites"][1].is_object() { Ok(written) } else { Err(written.to_string()) }
    });
    let reach = written["reach"].as_str().expect("a sentence");
    assert!(reach.starts_with("applied at 1 of 2, waiting for two (silent "), "{reach}");
    let other = &written["sites"][1];
    assert_eq!((&other["name"], &other["applied"]), (&json!("two"), &json!(false)));
    assert!(other["silent_secs"].is_u64());

    let told = until("it is applied everywhere", || {
        let told = receipt(&one, &written["id"]);
        if told["sites"][1]["applied"] == true { Ok(told) } else { Err(told.to_string()) }
    });
    assert_eq!((&told["reach"], &told["id"]), (&json!("applied at 2 of 2"), &written["id"]));
    let checked = two.ask("POST", "/v1/check").body(MESSAGE, MAIL).send().json();
    assert_eq!(checked["verdict"], "spam", "{checked}");
    assert_eq!(receipt(&one, &private["id"]).get("reach"), None, "what was said before is this site's alone");

    assert_eq!(two.ask("POST", "/v1/see?recipients=3").body(MESSAGE, MAIL).send().status, 202);
    until("the sites agree on seen counts", || {
        let sites = agreed(&one);
        let streams = sites["sites"][0]["streams"].as_array().cloned().unwrap_or_default();
        let is_seen = |stream: &&Value| stream["stream"] == "seen" && stream["verified"].as_u64() > Some(0);
        streams.iter().find(is_seen).map(|_| ()).ok_or(sites.to_string())
    });
    let metrics = one.get("/metrics").text();
    for line in [
        "seenit_site_agrees{site=\"two\"} 1\n",
        "seenit_site_lag_seconds{site=\"two\"} 0\n",
        "seenit_site_seen_verified{site=\"two\"} 1\n",
        "seenit_network_engine_up 1\n",
        "seenit_network_dropped_heard_total 0\n",
        "# EOF\n",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    assert_eq!(metrics.matches("# EOF").count(), 1);
    assert_eq!(one.get("/v1/stats").json()["alarms"], json!([]));
}
