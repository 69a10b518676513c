//! Real nats-servers for a test: one or a cluster, on free ports of loopback, gone when the test ends.
//!
//! Used by the tests of two crates, so it uses nothing of either.

#[path = "../../../race/src/ports.rs"]
mod ports;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub(crate) use ports::free_ports;

/// How long a server may take to be ready: a cluster elects a leader first.
const READY_SECS: u64 = 120;

/// Servers of one cluster, or one alone.
pub(crate) struct Nats {
    folder: TempDir,
    nodes: Vec<Node>,
}

/// A node to be started: the program, its address, and the network namespace that has it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) program: String,
    pub(crate) address: String,
    pub(crate) namespace: Option<String>,
}

impl Place {
    /// The system's nats-server, on loopback.
    pub(crate) fn here() -> Self {
        Place { program: "nats-server".into(), address: "127.0.0.1".into(), namespace: None }
    }
}

/// A program, run in a network namespace if one is named. It has the process that is started.
pub(crate) fn command_in(namespace: Option<&str>, program: &str) -> Command {
    let Some(namespace) = namespace else { return Command::new(program) };
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]);
    command
}

struct Node {
    name: String,
    config: PathBuf,
    place: Place,
    port: u16,
    monitor: u16,
    process: Option<Child>,
}

impl Nats {
    /// Starts so many, each with these lines in its configuration, `{store}` being a folder of its own. Nothing where
    /// nats-server is not installed.
    pub(crate) fn start(nodes: usize, lines: &str) -> Option<Self> {
        Nats::start_at(&vec![Place::here(); nodes], lines)
    }

    /// The same, one at each of these places.
    pub(crate) fn start_at(places: &[Place], lines: &str) -> Option<Self> {
        let mut nats = Nats::prepare_at(places, lines)?;
        (0..places.len()).for_each(|node| nats.begin(node));
        nats.wait();
        Some(nats)
    }

    /// So many, but none of them runs yet.
    pub(crate) fn prepare(nodes: usize, lines: &str) -> Option<Self> {
        Nats::prepare_at(&vec![Place::here(); nodes], lines)
    }

    fn prepare_at(places: &[Place], lines: &str) -> Option<Self> {
        let runs =
            |place: &Place| Command::new(&place.program).arg("--version").stdout(Stdio::null()).status();
        if let Some(place) = places.iter().find(|place| runs(place).is_err()) {
            eprintln!("skipped: {} is not installed", place.program);
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let nodes = places.len();
        let ports = free_ports(3 * nodes);
        let route = |node: usize| format!("{}:{}", places[node].address, ports[node]);
        let of = |node: usize| {
            let (name, port, monitor) = (format!("n{node}"), ports[nodes + node], ports[2 * nodes + node]);
            let place = places[node].clone();
            let (config, address) = (folder.path().join(format!("{name}.conf")), &place.address);
            let store = folder.path().join(format!("store-{name}"));
            let lines = lines.replace("{store}", &store.display().to_string());
            let mut text = format!(
                "server_name: {name}\nlisten: \"{address}:{port}\"\nhttp: \"{address}:{monitor}\"\n\
                 jetstream {{ store_dir: \"{}\", max_mem: 64MB, max_file: 2GB }}\n{lines}\n",
                store.display()
            );
            if nodes > 1 {
                let others = (0..nodes).map(|other| format!("\"nats://{}\"", route(other)));
                let (own, others) = (route(node), others.collect::<Vec<_>>().join(", "));
                text += &format!("cluster {{ name: test, listen: \"{own}\", routes: [ {others} ] }}\n");
            }
            fs::write(&config, text).expect("written");
            Node { name, config, place, port, monitor, process: None }
        };
        let nodes = (0..nodes).map(of).collect();
        Some(Nats { folder, nodes })
    }

    /// Where clients connect.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("nats://{}:{}", node.place.address, node.port)).collect()
    }

    /// Starts one that does not run.
    pub(crate) fn begin(&mut self, node: usize) {
        let log = self.folder.path().join(format!("{}.log", self.nodes[node].name));
        let log = fs::File::options().create(true).append(true).open(log).expect("a log");
        let node = &mut self.nodes[node];
        let mut command = command_in(node.place.namespace.as_deref(), &node.place.program);
        command.arg("-c").arg(&node.config).stdout(Stdio::null()).stderr(log);
        node.process = Some(command.spawn().expect("nats-server starts"));
    }

    /// Ends one as a power cut would.
    pub(crate) fn kill(&mut self, node: usize) {
        if let Some(mut process) = self.nodes[node].process.take() {
            process.kill().expect("it is ours");
            process.wait().expect("it ends");
        }
    }

    /// Ends one, and with it everything that it kept.
    pub(crate) fn wipe(&mut self, node: usize) {
        self.kill(node);
        let store = self.folder.path().join(format!("store-{}", self.nodes[node].name));
        fs::remove_dir_all(store).expect("it kept something");
    }

    /// Stops one: it keeps its connections and says nothing, as behind a network that is cut.
    pub(crate) fn stop(&self, node: usize) {
        self.signal(node, "STOP");
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self, node: usize) {
        self.signal(node, "CONT");
    }

    fn signal(&self, node: usize, signal: &str) {
        let process = self.nodes[node].process.as_ref().expect("it runs");
        let sent = Command::new("kill").args(["-s", signal, &process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits until all that run are ready.
    pub(crate) fn wait(&self) {
        let until = Instant::now() + Duration::from_secs(READY_SECS);
        for node in self.nodes.iter().filter(|node| node.process.is_some()) {
            while !is_healthy((&node.place.address, node.monitor)) {
                assert!(Instant::now() < until, "{} is not ready:\n{}", node.name, self.log(&node.name));
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(format!("{name}.log"))).unwrap_or_default()
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|node| self.kill(node));
    }
}

fn is_healthy(monitor: (&str, u16)) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(monitor)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains(" 200 OK"))
}
