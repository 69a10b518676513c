//! Guards that a check costs no allocation: a real server answers thousands over its sockets, and what its threads
//! allocate is counted.

mod counting;

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use counting::{Counting, counted};
use seenit_server::config::Listen;
use seenit_server::{ClientAddresses, Config, Running, Server};
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Checks that are counted, and how often: a thread may begin during one round, and takes its buffers then.
const CHECKS: usize = 10_000;
const ROUNDS: usize = 3;

/// Checks that wait for their answers together, so that some come in one batch.
const AT_ONCE: usize = 16;

/// The key that the sealed captures are for, made for tests and for nothing else.
const SECRET_KEY: &str = "afmhzihyy9cxxh6pg6yk1f8pm86gt3yj9n7ah9qphiz3rk8ozchy";

const FUZZY_CHECK: u8 = 0;
const FUZZY_WRITE: u8 = 1;

/// A flag that means spam.
const FUZZY_SPAM: u8 = 1;

/// A server of three protocols.
struct Site {
    _folder: TempDir,
    running: Running,
}

impl Site {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        write_key(&data);
        let mut config = Config::default();
        config.ledger.capacity = 10_000;
        config.ledger.seen_capacity = 10_000;
        config.ledger.bulk_capacity = 1000;
        config.ledger.near_capacity = 1000;
        let free: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let mut addresses = ClientAddresses::default();
        addresses.razor = Some(Listen::Off);
        for address in [&mut addresses.pyzor, &mut addresses.dcc, &mut addresses.fuzzy] {
            *address = Some(Listen::At(free));
        }
        let server = Server::new(config, data).token_folder(folder.path().join("state"));
        let running = server.http(free).clients(addresses).start().expect("a server");
        Site { _folder: folder, running }
    }

    fn client(&self, protocol: &str) -> Client {
        let (_, address) =
            self.running.clients().iter().find(|(name, _)| *name == protocol).expect("it is served");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(address).expect("loopback");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        Client(socket)
    }
}

fn write_key(data: &Path) {
    fs::create_dir(data).expect("a folder");
    fs::set_permissions(data, fs::Permissions::from_mode(0o700)).expect("ours");
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(data.join("fuzzy.key"));
    std::io::Write::write_all(&mut file.expect("a file"), SECRET_KEY.as_bytes()).expect("written");
}

struct Client(UdpSocket);

impl Client {
    fn ask(&self, question: &[u8]) -> Vec<u8> {
        let mut answer = vec![0; 2048];
        self.0.send(question).expect("sent");
        let length = self.0.recv(&mut answer).expect("an answer");
        answer.truncate(length);
        answer
    }

    /// Asks it thousands of times, and says how many allocations the answers took in the best round.
    fn allocations(&self, question: &[u8]) -> u64 {
        self.allocations_of(|_| question.to_vec())
    }

    /// The same of questions that differ: each is a message that arrives, and counted.
    fn allocations_of(&self, question: impl Fn(u32) -> Vec<u8>) -> u64 {
        let (mut answer, mut number) = ([0; 2048], 0);
        let mut ask = |times: usize| {
            for _ in 0..times {
                number += 1;
                let question = question(number);
                assert_eq!(self.0.send(&question).expect("sent"), question.len());
            }
            (0..times).for_each(|_| assert!(self.0.recv(&mut answer).expect("an answer") > 0));
        };
        // A client that seals is remembered when it asks for the first time.
        ask(1);
        let mut round = || counted(|| (0..CHECKS / AT_ONCE).for_each(|_| ask(AT_ONCE)));
        (0..ROUNDS).map(|_| round()).min().expect("some rounds")
    }
}

fn captured(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/vectors").join(name);
    fs::read_to_string(path).expect("a capture")
}

fn bytes(text: &str) -> Vec<u8> {
    const_hex::decode(text).expect("hexadecimal")
}

/// Requests of a capture, by their column.
fn rows(name: &str, column: usize) -> Vec<Vec<u8>> {
    let text = captured(name);
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| bytes(row.split('\t').nth(column).expect("a request"))).collect()
}

/// The only request of one of DCC's captures.
fn dcc(name: &str) -> Vec<u8> {
    let text = captured(&format!("dcc/{name}"));
    bytes(text.lines().find_map(|line| line.strip_prefix("C>S ")).expect("a request"))
}

fn pyzor(op: &str) -> Vec<u8> {
    pyzor_of_thread(4242, op)
}

fn pyzor_of_thread(thread: u32, op: &str) -> Vec<u8> {
    let digest = "4502e099be0ee6ecd6bfef672e964a98d315194f";
    let asked = format!("Op: {op}\nOp-Digest: {digest}\nThread: {thread}\nPV: 2.1\n");
    format!("{asked}User: anonymous\nTime: 1790000000\nSig: {digest}\n\n").into_bytes()
}

/// The probability in a reply in the clear.
fn probability(reply: &[u8]) -> f32 {
    f32::from_le_bytes(reply[12..16].try_into().expect("four bytes"))
}

/// One test for all: who counts threads counts those of every test that runs beside it.
#[test]
fn a_check_takes_no_allocation_in_any_protocol() {
    let site = Site::start();

    let client = site.client("Pyzor");
    let report = || assert!(client.ask(&pyzor("report")).starts_with(b"Code: 200"));
    assert!(counted(report) > 0, "a report allocates, so allocations are counted");
    let answer = client.ask(&pyzor("check"));
    assert!(String::from_utf8_lossy(&answer).contains("\nCount: 1\n"));
    assert_eq!(client.allocations(&pyzor("check")), 0, "Pyzor");
    let arrive = |number| pyzor_of_thread(5000 + number, "check");
    assert_eq!(client.allocations_of(arrive), 0, "Pyzor, counted");

    let client = site.client("DCC");
    let (report, query) = (dcc("04-report-anon-first.hex"), dcc("06-query-anon-after-11.hex"));
    assert_eq!(client.ask(&report).len(), client.ask(&query).len());
    assert_eq!(client.allocations(&query), 0, "DCC");

    let client = site.client("Fuzzy");
    let commands = rows("fuzzy/plain.tsv", 8);
    let mut write = commands.iter().find(|command| command[1] == FUZZY_WRITE).expect("one").clone();
    write[3] = FUZZY_SPAM;
    assert_eq!(probability(&client.ask(&write)), 1.0, "written");
    for (what, expected) in [("exact", 1.0), ("near", 0.9375), ("unknown", 0.0)] {
        let check =
            |command: &&Vec<u8>| command[1] == FUZZY_CHECK && probability(&client.ask(command)) == expected;
        let command = commands.iter().find(check).expect("one of each");
        assert_eq!(client.allocations(command), 0, "{what}");
        let arrive = |number: u32| [&command[..8], &number.to_le_bytes(), &command[12..]].concat();
        assert_eq!(client.allocations_of(arrive), 0, "{what}, counted");
    }
    let (sealed, clear) = (rows("fuzzy/sealed.tsv", 0), rows("fuzzy/sealed.tsv", 1));
    let (sealed, _) =
        sealed.iter().zip(&clear).find(|(_, command)| command[1] == FUZZY_CHECK).expect("a check");
    assert_eq!(client.allocations(sealed), 0, "sealed");
    site.running.shutdown();
}
