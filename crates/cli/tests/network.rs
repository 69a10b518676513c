//! Guards `seenit network` and `seenit join`: the admin's folder, a real broker, and the document's commands as they
//! are written. Without nats-server, tests that need it say so and are skipped.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use common::nats::{Nats, free_ports};
use common::serving::{HTTP_ALONE, Serving, mail};
use common::{Folder, Ran};
use seenit_server::broker::nkey;
use seenit_sites::key::{AdminKey, AdminSecret, SiteSecret};
use seenit_sites::manifest::Manifest;
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../../docs/guide/network.md");

/// What `up` changes where all is well.
const NOTHING: [&str; 0] = [];

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// An admin, and a broker that `seenit network up` started.
struct Admin {
    folder: Folder,
    port: u16,
}

impl Admin {
    /// Nothing where nats-server is not installed.
    fn up() -> Option<Self> {
        Nats::prepare(1, "")?;
        let admin = Admin { folder: Folder::new(), port: free_ports(1)[0] };
        let made =
            well(&admin.folder, &format!("network up --json --nats nats://127.0.0.1:{}", admin.port)).json();
        assert!(made["started"].is_u64(), "{made}");
        Some(admin)
    }

    fn run(&self, words: &str) -> Ran {
        well(&self.folder, words)
    }

    fn invite(&self, name: &str) -> String {
        let told = self.run(&format!("network invite {name} --json")).json();
        told["invite"].as_str().expect("an invite").to_owned()
    }

    /// What `up` changed.
    fn changes(&self) -> Vec<String> {
        let told = self.run("network up --json").json();
        serde_json::from_value(told["changes"].clone()).expect("changes")
    }

    /// A folder of a site that was invited and admitted, with these caps.
    fn site(&self, name: &str, caps: &str) -> Folder {
        let folder = Folder::new();
        well(&folder, &format!("join --data data {}", self.invite(name)));
        self.run(&format!("network admit {name} --yes {caps}"));
        folder
    }

    /// The process of the broker.
    fn pid(&self) -> String {
        String::from_utf8(self.folder.read("admin/broker.pid")).expect("text").trim().to_owned()
    }

    fn stop_broker(&self) {
        let pid = self.pid();
        let _ = Command::new("kill").arg(&pid).status();
        until("the broker ends", || {
            let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // Nobody may wait for it here: its parent is gone.
            state.is_empty() || state.contains(") Z ")
        });
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        if self.folder.path("admin/broker.pid").exists() {
            let _ = Command::new("kill").arg(self.pid()).status();
        }
    }
}

/// Runs what must work.
fn well(folder: &Folder, words: &str) -> Ran {
    let ran = folder.run(words);
    assert_eq!(ran.code, 0, "{words}: {}", ran.err);
    ran
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "it is waited in vain that {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn serve(folder: &Folder) -> Serving<'_> {
    Serving::start_with(folder, &format!("{HTTP_ALONE} --config seenit.toml"))
}

fn sites(serving: &Serving<'_>) -> Value {
    let ran = serving.run("sites --json");
    serde_json::from_str(&ran.out).unwrap_or_default()
}

fn is_up(serving: &Serving<'_>) -> bool {
    let sites = sites(serving);
    sites["member"] == true && sites["engine"]["up"] == true
}

fn site_secret(site: &Folder) -> SiteSecret {
    let identity: Value = serde_json::from_slice(&site.read("data/identity.json")).expect("JSON");
    let mut secret = [0; 32];
    hex::decode_to_slice(identity["signing_key"].as_str().expect("a key"), &mut secret).expect("digits");
    SiteSecret::from_bytes(secret)
}

/// Whether a site opens a manifest of the folder.
fn opens(admin: &Folder, site: &Folder, number: u64) -> bool {
    let status = well(admin, "network status --offline --json").json();
    let network: AdminKey = status["network"].as_str().expect("a key").parse().expect("a key");
    let bytes = admin.read(&format!("admin/papers/manifest-{number}.bin"));
    let manifest = Manifest::decode(&bytes, &network).expect("a manifest");
    manifest.open(&site_secret(site)).is_ok()
}

#[test]
fn a_network_is_made_once_is_private_and_up_again_changes_nothing() {
    let Some(admin) = Admin::up() else { return };
    assert_eq!(admin.changes(), NOTHING);
    assert!(admin.run("network up").out.contains("nothing was changed"));
    for path in
        ["admin/admin.key", "admin/papers/roster-1.bin", "admin/broker-auth.conf", "admin/broker.conf"]
    {
        let mode = fs::metadata(admin.folder.path(path)).expect(path).permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{path}");
    }
    let status = admin.run("network status --json").json();
    assert_eq!((&status["roster"], &status["members"]), (&1.into(), &json!([])));
    assert_eq!(status["streams"].as_array().map(Vec::len), Some(4));
    // Limits can be changed, and are remembered.
    assert_eq!(
        admin.run("network up --max-age 3600 --json").json()["changes"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(admin.changes(), NOTHING);
}

#[test]
fn a_broker_whose_store_was_wiped_has_all_back_after_up() {
    let Some(admin) = Admin::up() else { return };
    let site = admin.site("one", "");
    let serving = serve(&site);
    until("the site is up", || is_up(&serving));
    admin.stop_broker();
    fs::remove_dir_all(admin.folder.path("admin/broker-store")).expect("ours");
    fs::remove_dir_all(admin.folder.path("admin/broker-jwt")).expect("ours");
    let changes = admin.changes().join("\n");
    for told in
        ["started a broker", "_records", "_door", "OBJ_", "published 3 signed documents", "JWTs of 1 site"]
    {
        assert!(changes.contains(told), "{told} is not in:\n{changes}");
    }
    assert_eq!(admin.changes(), NOTHING);
    until("the site is up again", || is_up(&serving));
}

#[test]
fn sites_are_invited_admitted_and_know_what_the_other_was_told() {
    let Some(admin) = Admin::up() else { return };
    let [one, two] = [Folder::new(), Folder::new()];
    let wrapped: String = admin
        .invite("one")
        .as_bytes()
        .chunks(50)
        .map(|line| format!("> {}\r\n", String::from_utf8_lossy(line)))
        .collect();
    let joined = one.run_with("join --data data --json -", wrapped.as_bytes());
    assert_eq!(joined.code, 0, "{}", joined.err);
    // A server may be started before anybody is admitted.
    let first = serve(&one);
    until("it says what it waits for", || sites(&first)["engine"].to_string().contains("not admitted yet"));
    two.write("seenit.toml", "[log]\nlevel = \"warn\"\n");
    let invite = admin.invite("two");
    well(&two, &format!("join --data data {invite}"));
    let config = String::from_utf8(two.read("seenit.toml")).expect("text");
    assert!(config.starts_with("[log]\nlevel = \"warn\"\n") && config.contains("[network]"), "{config}");
    let pending = admin.run("network admit --pending --json").json()["pending"].clone();
    assert_eq!(pending[0]["words"], joined.json()["words"]);
    assert_eq!(json!([pending[1]["name"], pending[1]["spam"], pending[1]["ham"]]), json!(["two", 5, 2]));
    assert!(admin.run("network admit --pending").out.contains("seenit network admit one"));
    admin.run("network admit --all --yes --spam 10");
    assert_eq!(admin.run("network admit --pending --json").json()["pending"], json!([]));
    let second = serve(&two);
    until("both are up", || is_up(&first) && is_up(&second));
    assert!(!one.path("data/network-invite").exists(), "a secret that is of no use any more");
    two.write("a.eml", mail(1));
    one.write("a.eml", mail(1));
    assert_eq!(second.run("report a.eml").code, 0);
    until("the other knows", || first.verdict("a.eml").0 == "spam");
    assert_eq!(admin.changes(), NOTHING);
}

#[test]
fn a_removed_site_is_cut_off_without_a_reload_and_keeps_its_caps_when_it_comes_back() {
    let Some(admin) = Admin::up() else { return };
    let [one, two] = [admin.site("one", "--spam 4 --seen 77"), admin.site("two", "")];
    let [first, second] = [serve(&one), serve(&two)];
    until("both are up", || is_up(&first) && is_up(&second));
    admin.run("network remove one --new-key");
    until("it is cut off", || sites(&first)["engine"].to_string().contains("whether it was removed"));
    assert!(is_up(&second));
    let manifests =
        admin.run("network status --json").json()["manifests"].as_array().expect("manifests").len();
    let number = manifests as u64;
    assert!(opens(&admin.folder, &two, number) && !opens(&admin.folder, &one, number));
    // A broker that starts again still knows.
    admin.stop_broker();
    assert_eq!(admin.changes().len(), 1, "it was started");
    until("the other is back", || is_up(&second));
    assert!(!is_up(&first));
    well(&one, &format!("join --data data {}", admin.invite("one")));
    let pending = admin.run("network admit --pending").out;
    assert!(pending.contains("spam 4, ham 2, seen 77; it was a member before, and keeps them"), "{pending}");
    assert!(admin.run("network admit one").out.contains("as before"));
    assert!(opens(&admin.folder, &one, number + 1) && opens(&admin.folder, &one, number + 2));
    until("it is back", || is_up(&first));
    let changed = admin.run("network admit one --ham 1").out;
    assert!(changed.contains("ham 1, seen 77, before caps: spam 4, ham 2"), "{changed}");
}

/// Joins with an invite and is admitted.
fn admin_admits(admin: &Admin, name: &str, invite: &str) -> Folder {
    let site = Folder::new();
    well(&site, &format!("join {invite}"));
    well(&admin.folder, "network admit --pending");
    well(&admin.folder, &format!("network admit {name}"));
    site
}

#[test]
fn what_cannot_be_joined_or_admitted_is_said_with_what_to_do() {
    let Some(admin) = Admin::up() else { return };
    let (site, invite) = (Folder::new(), admin.invite("one"));
    site.run("join nonsense").refused(65, "it does not begin with seenit-invite-1-");
    site.run(&format!("join {}", &invite[..200])).refused(65, "its end is missing");
    let other = if &invite[150..151] == "7" { "8" } else { "7" };
    let changed = format!("{}{other}{}", &invite[..150], &invite[151..]);
    site.run(&format!("join {changed}")).refused(65, "a letter of the invite is wrong");
    site.write(
        "seenit.toml",
        format!(
            "[network]\nkey = \"{}\"\nnats = [\"127.0.0.1\"]\n",
            "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
        ),
    );
    site.run(&format!("join {invite}")).refused(65, "belongs to network 8a88e3dd");
    assert!(!site.path("seenit-data").exists(), "nothing was done");
    well(&site, &format!("join --force {invite}"));
    let folder = &admin.folder;
    folder.run("network admit two").refused(77, "run `seenit network invite two`");
    folder.run("network remove two").refused(77, "is the name or key of no member");
    folder.run("network admit --all").refused_as_usage();
    folder.run("network admit one").refused(65, "was not shown to you yet");
    well(folder, "network admit --pending");
    // Somebody else has the invite, too, and leaves another introduction after the words were compared.
    well(&site, &format!("join --force --data other --config other.toml {invite}"));
    folder.run("network admit one").refused(65, "is another than the one shown to you");
    well(&site, &format!("join {invite}"));
    well(folder, "network admit one");
    // Another site with the name of a member.
    let thief = Folder::new();
    well(&thief, &format!("join {}", admin.invite("one")));
    folder.run("network admit one --yes").refused(65, "there is a member called one already");
    let shown = well(folder, "network admit --pending").out;
    assert!(shown.contains("cannot be admitted: there is a member called one already"), "{shown}");
    assert!(folder.run("network invite one").err.contains("one is a member already"));
    // An invite that was used: whoever joins with it again is told, or the admin is.
    let again = well(&site, &format!("join {invite}")).out;
    assert!(again.contains("is a member of network") && !again.contains("Read these words"), "{again}");
    let used = admin.invite("four");
    let four = admin_admits(&admin, "four", &used);
    let late = Folder::new();
    well(&late, &format!("join {used}"));
    let stuck = well(folder, "network admit --pending --json").json()["stuck"].take();
    let of_four = stuck.as_array().expect("a list").iter().find(|one| one["name"] == "four").expect("listed");
    assert!(of_four["problem"].as_str().expect("why").contains("a member called four already"), "{stuck}");
    well(folder, "network remove four");
    let shown = well(folder, "network admit --pending").out;
    assert!(
        shown.contains("its invite was used, replaced or has ended: run `seenit network invite four`"),
        "{shown}"
    );
    drop(four);
    admin.stop_broker();
    let url = format!("nats://127.0.0.1:{}", admin.port);
    folder.run("network status").refused(75, &url);
    thief.run(&format!("join --data other {}", admin.invite("three"))).refused(75, &url);
    let removed = folder.run("network remove one");
    assert_eq!(removed.code, 75);
    assert!(removed.err.contains("run `seenit network up`"), "{}", removed.err);
    assert!(admin.changes().iter().any(|change| change.contains("published")));
}

#[test]
fn a_network_from_before_jwts_goes_on_and_moves_to_a_broker_with_jwts() {
    let admin = Admin { folder: Folder::new(), port: 1 };
    let site = Folder::new();
    // A member that has no JWT, and an admin's folder that knows of no broker: as they were.
    let data = site.path("data").display().to_string();
    let up = format!("network up --no-start --nats nats://127.0.0.1:1 --site {data} --name one");
    assert_eq!(admin.folder.run(&up).code, 75);
    for file in ["broker.json", "broker.conf", "broker-auth.conf"] {
        fs::remove_file(admin.folder.path(&format!("admin/{file}"))).expect(file);
    }
    let mut secret = [0; 32];
    hex::decode_to_slice(admin.folder.read("admin/admin.key").trim_ascii_end(), &mut secret).expect("a key");
    let secret = AdminSecret::from_bytes(secret);
    let [key, other] =
        [secret.broker_key().public(), site_secret(&site).broker_key().public()].map(|key| nkey(&key));
    let users = format!(
        "accounts {{ SEENIT {{ jetstream: enabled, users: [ {{ nkey: {key} }}, {{ nkey: {other} }} ] }} }}"
    );
    let Some(mut old) = Nats::start(1, &users) else { return };
    let url = old.urls()[0].clone();
    admin
        .folder
        .run("network invite two")
        .refused(2, "run `seenit network up --folder admin --nats URL` once");
    let limits = "--max-bytes 67108864 --bucket-bytes 33554432";
    let no_room = admin.folder.run(&format!("network up --no-start --nats {url}"));
    no_room.refused(75, "give --max-bytes");
    admin.run(&format!("network up --no-start {limits}"));
    site.write("seenit.toml", format!("[network]\nkey = \"{}\"\nnats = [\"{url}\"]\n", secret.public()));
    let serving = serve(&site);
    until("the site is up", || is_up(&serving));
    until("it has a JWT", || site.path("data/network-user.jwt").exists());
    old.kill(0);
    assert!(admin.changes().iter().any(|change| change.contains("started a broker")));
    until("the site is up again", || is_up(&serving));
    admin.run("network remove one");
    until("it is cut off", || !is_up(&serving));
}

#[test]
fn an_invite_has_the_authority_of_a_broker_with_tls() {
    if Nats::prepare(1, "").is_none() {
        return;
    }
    let admin = Admin { folder: Folder::new(), port: free_ports(1)[0] };
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    admin.folder.write("cert.pem", made.cert.pem());
    admin.folder.write("key.pem", made.signing_key.serialize_pem());
    let place = format!("--nats tls://127.0.0.1:{} --ca cert.pem", admin.port);
    admin.folder.run(&format!("network up --no-start {place}")).refused(75, "tls://127.0.0.1");
    // As an operator does: the lines of TLS are filled in, and stay.
    let conf = String::from_utf8(admin.folder.read("admin/broker.conf")).expect("text");
    let path = |name: &str| admin.folder.path(name).display().to_string();
    let conf = conf.replace("#tls", "tls").replace("/etc/nats/cert.pem", &path("cert.pem"));
    let conf = conf.replace("/etc/nats/key.pem", &path("key.pem"));
    admin.folder.write("admin/broker.conf", &conf);
    assert!(admin.changes().iter().any(|change| change.contains("started a broker")));
    assert_eq!(admin.changes(), NOTHING);
    assert_eq!(admin.folder.read("admin/broker.conf"), conf.as_bytes());
    let site = admin.site("one", "");
    assert_eq!(site.read("data/network-ca.pem"), made.cert.pem().replace("\r\n", "\n").as_bytes());
    well(&site, "config check seenit.toml");
    let serving = serve(&site);
    until("the site is up", || is_up(&serving));
}

#[test]
fn folders_and_brokers_that_cannot_be_used_are_named() {
    let folder = Folder::new();
    folder.run("network status --folder nowhere").refused(66, "admin.key");
    let url = format!("nats://127.0.0.1:{}", free_ports(1)[0]);
    folder.run(&format!("network up --no-start --nats {url}")).refused(75, &url);
    folder.run("network up --nats ws://127.0.0.1").refused(2, "is no address of a server");
    folder.run("network up --generation-secs 1").refused_as_usage();
    folder.write("admin/papers/roster-2.bin", "no roster");
    folder.run("network status --offline").refused(65, "roster-2.bin: no roster");
    folder.write("admin/admin.key", "12\n");
    folder.run("network status --offline").refused(65, "admin.key: it holds no key");
}

#[test]
fn a_broker_of_another_network_is_refused() {
    let Some(admin) = Admin::up() else { return };
    let other = Folder::new();
    let refused = other.run(&format!("network up --nats nats://127.0.0.1:{}", admin.port));
    refused.refused(77, "start it with `nats-server -c admin/broker.conf`");
}

#[test]
fn a_plaintext_broker_beyond_loopback_is_refused_by_check_as_by_serve() {
    let folder = Folder::new();
    let key = "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c";
    let config =
        |more: &str| format!("[network]\nkey = \"{key}\"\nnats = [\"nats://192.0.2.1:4222\"]\n{more}");
    folder.write("seenit.toml", config(""));
    folder.run("config check seenit.toml").refused(78, "seenit.toml:3: network.nats");
    folder.run("serve --config seenit.toml --http 127.0.0.1:0").refused(78, "is beyond loopback without TLS");
    folder.write("seenit.toml", config("insecure_plaintext = true\n"));
    well(&folder, "config check seenit.toml");
}

/// The blocks of commands of the section, in their order.
fn blocks() -> impl Iterator<Item = &'static str> {
    let (_, section) = DOCUMENT.split_once("\n## Forming a network\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap_or_default())
}

#[test]
fn the_document_forms_a_network_as_it_is_written() {
    if Nats::prepare(1, "").is_none() {
        return;
    }
    let admin = Admin { folder: Folder::new(), port: free_ports(1)[0] };
    let place = format!("nats://127.0.0.1:{}", admin.port);
    let (mut ran, mut servers) = (String::new(), 0);
    for line in blocks().flat_map(str::lines) {
        if line.starts_with("seenit serve") {
            servers += 1;
            continue;
        }
        let mut line = line.replace("tls://nats.example.org --ca ca.pem", &place);
        if servers == 0 {
            line = line.replace("network up --site", &format!("network up --nats {place} --site"));
        }
        let shell = line.replacen("seenit", env!("CARGO_BIN_EXE_seenit"), 1);
        let output = Command::new("sh")
            .args(["-c", &shell])
            .current_dir(admin.folder.path(""))
            .output()
            .expect("a shell");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{line}: {out}{err}");
        ran += &format!("{line}\n{out}");
    }
    assert!(servers >= 1, "{ran}");
    for told in
        ["made network", "Read these words", "mail.example.org is admitted", "mail.example.org is removed"]
    {
        assert!(ran.contains(told), "{told} is not in:\n{ran}");
    }
}
