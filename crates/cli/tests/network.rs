//! Guards `seenit network`: the admin's folder, and the document's commands as they are written.

mod common;

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::nats::{Nats, free_ports};
use common::serving::Guarded;
use common::{Folder, Ran};
use seenit_sites::key::{AdminKey, SiteSecret};
use seenit_sites::manifest::Manifest;
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../../docs/replication.md");
const NATS_CONF: &str = include_str!("../../../docs/nats.conf");

/// Runs what must work.
fn well(folder: &Folder, words: &str) -> Ran {
    let ran = folder.run(words);
    assert_eq!(ran.code, 0, "{words}: {}", ran.err);
    ran
}

/// The line of a site whose data folder has its name.
fn introduction(folder: &Folder, name: &str) -> String {
    well(folder, &format!("network introduce --data {name} --name {name}")).out.trim_end().to_owned()
}

fn status(folder: &Folder) -> Value {
    well(folder, "network status --folder admin --json").json()
}

/// Whether a site opens a manifest of the folder.
fn opens(folder: &Folder, site: &str, number: u64) -> bool {
    let identity: Value =
        serde_json::from_slice(&folder.read(&format!("{site}/identity.json"))).expect("JSON");
    let mut secret = [0; 32];
    hex::decode_to_slice(identity["signing_key"].as_str().expect("a key"), &mut secret).expect("digits");
    let network: AdminKey = status(folder)["network"].as_str().expect("a key").parse().expect("a key");
    let bytes = folder.read(&format!("admin/papers/manifest-{number}.bin"));
    let manifest = Manifest::decode(&bytes, &network).expect("a manifest");
    manifest.open(&SiteSecret::from_bytes(secret)).is_ok()
}

#[test]
fn a_network_is_made_once_and_is_private() {
    let folder = Folder::new();
    let made = well(&folder, "network create --folder admin --capacity 10000 --generation-secs 3600");
    let network: AdminKey = made.out.trim_end().parse().expect("a key and nothing else");
    folder.run("network create --folder admin").refused(73, "there is a network in this folder already");
    for path in ["admin/admin.key", "admin/papers/roster-1.bin"] {
        let mode = fs::metadata(folder.path(path)).expect(path).permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{path}");
    }
    let status = status(&folder);
    assert_eq!(
        (status["network"].as_str(), &status["roster"]),
        (Some(network.to_string().as_str()), &1.into())
    );
    assert_eq!((&status["members"], &status["streams"]), (&Value::Array(vec![]), &Value::Null));
    let manifest = &status["manifests"][0];
    assert_eq!((&manifest["first_generation"], &manifest["generation_secs"]), (&0.into(), &3600.into()));
    folder.run("network create --folder other --generation-secs 1").refused_as_usage();
    folder.run("network create --folder other --rate 2").refused(2, "rate");
    assert!(!folder.path("other/admin.key").exists());
    folder.run("network status --folder nowhere").refused(66, "admin.key");
}

#[test]
fn sites_are_admitted_changed_and_removed() {
    let folder = Folder::new();
    well(&folder, "network create --folder admin --capacity 10000");
    let [one, two] = ["one", "two"].map(|name| introduction(&folder, name));
    assert_eq!(introduction(&folder, "one"), one, "a folder is one site for good");
    well(&folder, &format!("network admit --folder admin {one}"));
    let ran = folder.run_with("network admit --folder admin --name second --spam 4 --json -", two.as_bytes());
    assert_eq!((ran.code, &ran.json()["members"]), (0, &2.into()), "{}", ran.err);
    assert!(opens(&folder, "one", 3) && opens(&folder, "two", 3) && !opens(&folder, "two", 2));
    well(&folder, &format!("network admit --folder admin --seen 5 {one}"));
    let members = status(&folder)["members"].as_array().expect("members").clone();
    let of = |name: &str| members.iter().find(|member| member["name"] == name).expect(name).clone();
    assert_eq!(
        (&of("one")["seen"], &of("one")["spam"], &of("second")["spam"]),
        (&5.into(), &10.into(), &4.into())
    );
    folder
        .run(&format!("network admit --folder admin --name second {one}"))
        .refused(65, "two sites have the name");
    folder.run("network admit --folder admin seenit-introduction-1:00").refused(65, "no introduction");
    folder.run("network remove --folder admin nobody").refused(2, "no member");
    well(&folder, "network remove --folder admin second --new-key");
    let status = status(&folder);
    assert_eq!((&status["roster"], status["members"].as_array().map(Vec::len)), (&5.into(), Some(1)));
    let manifests = status["manifests"].as_array().expect("manifests");
    let [.., before, new] = manifests.as_slice() else { panic!("{manifests:?}") };
    assert_ne!(before["hash_key"], new["hash_key"]);
    assert!(new["first_generation"].as_u64() > Some(20_000) && new["sites"] == 1, "{new}");
    let number = new["number"].as_u64().expect("a number");
    assert!(opens(&folder, "one", number) && !opens(&folder, "two", number));
    // Who comes back gets the running key and the one to come.
    well(&folder, &format!("network admit --folder admin {two}"));
    assert!(opens(&folder, "two", number + 1) && opens(&folder, "two", number + 2));
}

#[test]
fn a_damaged_folder_is_named() {
    let folder = Folder::new();
    well(&folder, "network create --folder admin --capacity 10000");
    folder.write("admin/papers/roster-2.bin", "no roster");
    folder.run("network status --folder admin").refused(65, "roster-2.bin: no roster");
    folder.write("admin/admin.key", "12\n");
    folder.run("network status --folder admin").refused(65, "admin.key: it holds no key");
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
    let folder = Folder::new();
    let port = free_ports(1)[0].to_string();
    let store = folder.path("store").display().to_string();
    folder.write("nats.conf", NATS_CONF.replace("4222", &port).replace("/var/lib/nats", &store));
    let mut servers = Vec::new();
    let mut ran = String::new();
    for line in blocks().flat_map(str::lines) {
        let line = line.replace("4222", &port);
        if line.starts_with("nats-server -c") {
            servers.push(start(&folder, &line, &port));
            continue;
        }
        let shell = line.replacen("seenit", env!("CARGO_BIN_EXE_seenit"), 1);
        let output =
            Command::new("sh").args(["-c", &shell]).current_dir(folder.path("")).output().expect("a shell");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{line}: {out}{err}");
        ran += &format!("{line}\n{out}");
    }
    assert_eq!(servers.len(), 1);
    for told in ["3 papers are", "SEENIT_", "manifest 2: from generation 0 on", "mail.example.org is removed"]
    {
        assert!(ran.contains(told), "{told} is not in:\n{ran}");
    }
    let url = format!("--nats nats://127.0.0.1:{port}");
    assert_eq!(well(&folder, &format!("network publish --folder admin --json {url}")).json()["published"], 0);
    let state = well(&folder, &format!("network status --folder admin --json {url}")).json();
    let papers = state["streams"]
        .as_array()
        .expect("streams")
        .iter()
        .find(|stream| stream["name"].as_str().is_some_and(|name| name.ends_with("_papers")));
    assert_eq!(papers.expect("papers")["messages"], 4, "a roster and three manifests");
    // The key of another network opens nothing.
    well(&folder, "network create --folder another");
    let refused = folder.run(&format!("network status --folder another {url}"));
    refused.refused(77, "authorization violation");
}

#[test]
fn an_engine_that_is_not_there_is_named() {
    let folder = Folder::new();
    well(&folder, "network create --folder admin --capacity 10000");
    let url = format!("nats://127.0.0.1:{}", free_ports(1)[0]);
    folder.run(&format!("network publish --folder admin --nats {url}")).refused(75, &url);
    folder.run("network publish --folder admin").refused(2, "--nats");
    folder
        .run("network publish --folder admin --nats ws://127.0.0.1")
        .refused(2, "is no address of a server");
    folder
        .run(&format!("network publish --folder admin --nats {url} --credentials none"))
        .refused(66, "none: there is no such file");
}

/// Starts the server of the document.
fn start(folder: &Folder, line: &str, port: &str) -> Guarded {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a program"));
    let log = fs::File::create(folder.path("nats.log")).expect("a log");
    command.args(words).current_dir(folder.path("")).stdout(Stdio::null()).stderr(log);
    let server = Guarded(command.spawn().expect("nats-server starts"));
    let until = Instant::now() + Duration::from_secs(120);
    while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        assert!(Instant::now() < until, "{}", String::from_utf8_lossy(&folder.read("nats.log")));
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}
