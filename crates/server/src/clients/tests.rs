//! Who may do what, of strangers and of accounts beyond this machine. The protocols are asked without a network: from
//! an address that nobody has.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};
use seenit_ledger::record::Verb;
use seenit_signature::Kind;
use sha1::{Digest, Sha1};

use super::credit::Credit;
use super::dcc::Dcc;
use super::desk::{Desk, case_of};
use super::pyzor::Pyzor;
use super::udp::{Asked, Datagrams};
use crate::accounts::{Role, Roles};
use crate::audit::Origin;
use crate::config::Config;
use crate::limits::Spending;
use crate::metrics::{ClientCounts, FrontEnd};
use crate::owner::Uid;
use crate::secrets::Protocol;
use crate::server::Server;

/// Long enough for anything to be durable.
const DURABLE: Duration = Duration::from_secs(20);

pub(super) fn home() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 9))
}

pub(super) fn abroad() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 9], 4000))
}

/// A desk without a server.
pub(super) struct Office {
    pub(super) desk: Arc<Desk>,
    socket: Arc<UdpSocket>,
    counts: ClientCounts,
    _folder: tempfile::TempDir,
}

impl Office {
    pub(super) fn open() -> Self {
        Office::open_with(Config::default())
    }

    pub(super) fn open_with(mut config: Config) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        config.ledger.capacity = 10_000;
        config.ledger.seen_capacity = 10_000;
        config.ledger.bulk_capacity = 1000;
        config.ledger.near_capacity = 1000;
        let backend = Server::new(config, folder.path()).open().expect("a ledger");
        // Nobody has the ports that the tests ask from, so whoever asks on this machine is `local`.
        backend.ledger.put_reporter("local", Some(10)).expect("durable");
        // Bound to loopback, so that nothing that is sent abroad leaves.
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        let counts = backend.metrics.client("tests");
        Office { desk: Arc::new(Desk::new(backend)), socket, counts, _folder: folder }
    }

    pub(super) fn account(&self, name: &str, roles: &[Role], protocol: Protocol, secret: &str) {
        let backend = &self.desk.backend;
        let reporter = backend.ledger.put_reporter(name, Some(10)).expect("durable").id;
        backend.accounts.add(name, Roles::from_iter(roles.iter().copied()), reporter, 0).expect("an account");
        backend.secrets.put(name, protocol, secret.as_bytes(), &backend.accounts).expect("kept");
    }

    /// What a datagram is answered at once.
    pub(super) fn ask(&self, protocol: &dyn Datagrams, from: SocketAddr, datagram: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let socket = &self.socket;
        let counts = &self.counts;
        let is_proved = Cell::new(false);
        let asked = Asked { datagram, from, socket, counts, is_proved };
        // Everybody asks for the first time.
        asked.answer(protocol, &Credit::new(), &mut out);
        out
    }

    pub(super) fn records(&self, name: &str) -> u64 {
        self.desk.backend.ledger.reporter(name).map_or(0, |reporter| reporter.records)
    }
}

/// Waits for something that is under way.
pub(crate) fn until(what: &str, is_done: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_done() {
        assert!(began.elapsed() < DURABLE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pyzor_request(op: &str, digest: [u8; 20], signed: Option<(&str, &str)>) -> Vec<u8> {
    pyzor_request_of_thread(2000, op, digest, signed)
}

/// A request of one of a client's threads: a new number is a new request.
pub(super) fn pyzor_request_of_thread(
    thread: u16,
    op: &str,
    digest: [u8; 20],
    signed: Option<(&str, &str)>,
) -> Vec<u8> {
    let digest = const_hex::encode(digest);
    let mut text = format!("Op: {op}\nOp-Digest: {digest}\nOp-Spec: 20,3,60,3\nThread: {thread}\nPV: 2.1\n");
    if let Some((user, key)) = signed {
        let now = seenit_ledger::clock::Clock::now_secs(&seenit_ledger::clock::SystemClock::default());
        text += &format!("User: {user}\nTime: {now}");
        let hashed = const_hex::encode(Sha1::digest(format!("{user}:{key}")));
        let message = [Sha1::digest(&text).as_slice(), format!(":{now}:{hashed}").as_bytes()].concat();
        text += &format!("\nSig: {}\n", const_hex::encode(Sha1::digest(message)));
    }
    (text + "\n").into_bytes()
}

#[test]
fn a_stranger_may_ask_pyzor_and_an_account_may_speak() {
    let office = Office::open();
    let pyzor = Pyzor::new(Arc::clone(&office.desk));
    let ask = |op, signed| {
        let answer = office.ask(&pyzor, abroad(), &pyzor_request(op, [7; 20], signed));
        String::from_utf8(answer).expect("text").lines().next().map(str::to_owned)
    };
    assert_eq!(ask("check", None).as_deref(), Some("Code: 200"));
    for op in ["report", "whitelist"] {
        assert_eq!(ask(op, None).as_deref(), Some("Code: 403"), "{op}");
    }
    office.account("mx", &[Role::Report], Protocol::Pyzor, "open-sesame");
    assert_eq!(ask("report", Some(("mx", "open-barley"))).as_deref(), Some("Code: 401"));
    assert_eq!(ask("whitelist", Some(("mx", "open-sesame"))).as_deref(), Some("Code: 403"), "another role");
    assert_eq!(ask("report", Some(("mx", "open-sesame"))), None, "answered when it is durable");
    until("the report", || office.desk.look_up(Kind::Pyzor, &[7; 20]).raw == 1);
    assert_eq!(office.records("mx"), 1);
    office.desk.backend.secrets.remove("mx", Protocol::Pyzor).expect("removed");
    assert_eq!(ask("report", Some(("mx", "open-sesame"))).as_deref(), Some("Code: 401"));
}

/// A socket that has no room for another byte, because nobody reads at its other end. It is a connection, which for
/// whoever sends is the same: on loopback a datagram is never kept waiting. Both ends have buffers of a fixed size:
/// others grow when the kernel sees that they are full.
fn full_socket() -> (UdpSocket, TcpStream) {
    const BUFFER_BYTES: usize = 4096;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    setsockopt(&listener, sockopt::RcvBuf, &BUFFER_BYTES).expect("those whom it accepts have the same");
    let mut full = TcpStream::connect(listener.local_addr().expect("an address")).expect("loopback");
    setsockopt(&full, sockopt::SndBuf, &BUFFER_BYTES).expect("a socket");
    let (other_end, _) = listener.accept().expect("a connection");
    full.set_nonblocking(true).expect("a socket");
    // A pause, so that what is still on its way does not make room again.
    while (0..10).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        std::iter::repeat_with(|| full.write(&[0; 1 << 16])).take_while(Result::is_ok).count() > 0
    }) {}
    full.set_nonblocking(false).expect("a socket");
    (UdpSocket::from(OwnedFd::from(full)), other_end)
}

/// The kernel may find a little more room in a full socket when it looks again: so answers are sent until one is
/// dropped.
#[test]
fn an_answer_that_finds_no_room_in_its_socket_does_not_stop_the_thread_that_writes() {
    let mut office = Office::open();
    let (socket, _other_end) = full_socket();
    office.socket = Arc::new(socket);
    let pyzor = Pyzor::new(Arc::clone(&office.desk));
    let desk = Arc::clone(&office.desk);
    for number in 0..200 {
        let asked = pyzor_request("report", [number; 20], None);
        assert!(office.ask(&pyzor, home(), &asked).is_empty(), "answered later");
        let (done, is_done) = mpsc::channel();
        desk.say(
            Verb::Report,
            desk.local_speaker(None),
            Origin::at(FrontEnd::Pyzor, [127, 0, 0, 1].into()),
            vec![case_of(Kind::Pyzor, &[255; 20]).expect("a case")],
            move |result| {
                done.send(result.is_ok()).expect("somebody waits");
            },
        );
        assert_eq!(is_done.recv_timeout(DURABLE), Ok(true), "the thread that writes goes on");
        if office.counts.dropped.get() > 0 {
            return;
        }
    }
    panic!("no answer was dropped");
}

#[test]
fn users_of_this_machine_write_as_much_as_one_network_and_the_operator_without_a_limit() {
    let mut config = Config::default();
    // A token takes longer than the test.
    config.limits.network_writes_per_sec = 1;
    let office = Office::open_with(config);
    let local = &office.desk.backend.local;
    for step in [100, 1] {
        while local.spend(Spending::Writes, step).is_ok() {}
    }
    let say = |uid: Option<Uid>| {
        let (done, is_done) = mpsc::channel();
        let speaker = office.desk.local_speaker(uid);
        let place = Origin::at(FrontEnd::Pyzor, [127, 0, 0, 1].into());
        let case = case_of(Kind::Pyzor, &[8; 20]).expect("a case");
        office.desk.say(Verb::Report, speaker, place, vec![case], move |result| {
            done.send(result.is_ok()).expect("somebody waits");
        });
        is_done.recv_timeout(DURABLE).expect("an answer")
    };
    assert!(!say(None), "nothing is left");
    assert!(say(Some(Uid(0))), "the operator's");
    local.spend(Spending::Checks, 1_000_000).expect("checks have no limit");
}

/// The first request of a capture with this operation.
pub(super) fn captured(name: &str, operation: u8) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/vectors/dcc").join(name);
    let text = fs::read_to_string(path).expect("a capture");
    let requests = text.lines().filter_map(|line| line.strip_prefix("C>S "));
    let mut requests = requests.map(|request| const_hex::decode(request).expect("hexadecimal"));
    requests.find(|request| request[OPERATION] == operation).expect("a request")
}

/// Where a packet of DCC says what it is.
const OPERATION: usize = 3;
pub(super) const NOP: u8 = 1;
pub(super) const REPORT: u8 = 2;
pub(super) const QUERY: u8 = 3;
pub(super) const ANSWER: u8 = 4;
const ADMIN: u8 = 5;
const OK: u8 = 6;
const ERROR: u8 = 7;
const DELETE: u8 = 8;

#[test]
fn a_stranger_may_count_with_dcc_and_nothing_more() {
    let office = Office::open();
    let dcc = Dcc::new(Arc::clone(&office.desk)).expect("no list to read");
    let ask = |name, operation| {
        let request = captured(name, operation);
        let answer = office.ask(&dcc, abroad(), &request);
        assert!(answer.len() <= request.len(), "{name}: larger than the question");
        answer.get(OPERATION).copied()
    };
    assert_eq!(ask("03-query-anon-unknown.hex", QUERY), Some(ANSWER));
    assert_eq!(ask("04-report-anon-first.hex", REPORT), Some(ANSWER));
    assert_eq!(ask("01-nop-anon.hex", NOP), None, "the answer is longer than the question");
    let at_home = office.ask(&dcc, home(), &captured("01-nop-anon.hex", NOP));
    assert_eq!(at_home.get(OPERATION), Some(&OK));
    assert_eq!(ask("02-admn-stats-anon.hex", ADMIN), None, "statistics are no stranger's business");
    assert_eq!(ask("07-report-spam.hex", REPORT), Some(ERROR), "MANY");
    assert_eq!(ask("11-admin-delete.hex", DELETE), None);
    let at_home = office.ask(&dcc, home(), &captured("02-admn-stats-anon.hex", ADMIN));
    assert_eq!(at_home.get(OPERATION), Some(&ADMIN), "a text");
}
