//! A real server and what DCC's own programs sent it: each answer is the captured one, from byte 24 on.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use seenit_ledger::{Clock, Ledger};
use seenit_server::accounts::{Accounts, Role, Roles};
use seenit_server::config::Listen;
use seenit_server::secrets::{Protocol, Secrets};
use seenit_server::{ClientAddresses, Config, Running, Server};
use tempfile::TempDir;

/// When vector 11 was captured.
const CAPTURED_SECS: u64 = 0x6af9_55cd;

/// Header and signature.
const HEADER_BYTES: usize = 24;
const SIGNATURE_BYTES: usize = 16;

/// The length of the answer to a NOP.
const OK_BYTES: usize = 108;

/// A clock that stands.
#[derive(Debug)]
struct Standing;

impl Clock for Standing {
    fn now_secs(&self) -> u64 {
        CAPTURED_SECS
    }

    fn steady_secs(&self) -> u64 {
        0
    }
}

/// A server with the numbers, names and passwords of the captures.
struct Site {
    _folder: TempDir,
    _running: Running,
    address: SocketAddr,
}

impl Site {
    fn start(change: impl FnOnce(&mut Config, &Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let mut config = config();
        change(&mut config, folder.path());
        put_accounts(&config, &data);
        let free: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let mut addresses = ClientAddresses::default();
        addresses.dcc = Some(Listen::At(free));
        let server =
            Server::new(config, data).token_folder(folder.path().join("state")).clock(Arc::new(Standing));
        let running = server.http(free).clients(addresses).start().expect("a server");
        let (_, address) = running.clients().iter().find(|(name, _)| *name == "DCC").expect("it is served");
        let address = *address;
        Site { _folder: folder, _running: running, address }
    }

    /// What one datagram is answered.
    fn ask(&self, packet: &[u8]) -> Vec<u8> {
        self.answers(&[packet]).pop().expect("an answer")
    }

    /// What datagrams are answered that come from one port.
    fn answers(&self, packets: &[&[u8]]) -> Vec<Vec<u8>> {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let ask = |packet: &&[u8]| {
            socket.send_to(packet, self.address).expect("sent");
            let mut answer = vec![0; 2000];
            let (length, from) = socket.recv_from(&mut answer).expect("an answer");
            assert_eq!(from, self.address);
            answer.truncate(length);
            answer
        };
        packets.iter().map(ask).collect()
    }

    /// That a datagram is not answered: the next one's answer is the first that comes.
    fn assert_silence(&self, packet: &[u8], about: &str) {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        socket.send_to(packet, self.address).expect("sent");
        let nop = captured("01-nop-anon.hex").remove(0).0;
        socket.send_to(&nop, self.address).expect("sent");
        let mut answer = [0; 2000];
        let (length, _) = socket.recv_from(&mut answer).expect("an answer");
        assert_eq!(length, OK_BYTES, "{about}");
    }

    /// That every request of a capture is answered as it was.
    fn assert_captured(&self, name: &str) {
        for (request, answers) in captured(name) {
            self.assert_answer(&self.ask(&request), &answers[0], name);
        }
    }

    /// Equal from byte 24 on; of an OK but for the delay and the signature, which is over the delay.
    fn assert_answer(&self, answer: &[u8], captured: &[u8], name: &str) {
        if captured.len() == OK_BYTES {
            assert_eq!(answer.len(), OK_BYTES, "{name}");
            assert_eq!(answer[..26], captured[..26], "{name}");
            assert_eq!(
                answer[28..OK_BYTES - SIGNATURE_BYTES],
                captured[28..OK_BYTES - SIGNATURE_BYTES],
                "{name}"
            );
        } else {
            assert_eq!(hex(&answer[HEADER_BYTES..]), hex(&captured[HEADER_BYTES..]), "{name}");
        }
    }
}

/// A configuration that needs little memory, with the brand of the captures.
fn config() -> Config {
    let mut config = Config::default();
    config.ledger.capacity = 10_000;
    config.ledger.seen_capacity = 10_000;
    config.ledger.bulk_capacity = 1000;
    config.ledger.near_capacity = 1000;
    config.pyzor.listen = Listen::Off;
    config.dcc.brand = "testbrand".to_owned();
    config
}

fn put_accounts(config: &Config, data: &Path) {
    fs::create_dir_all(data).expect("a folder");
    let ledger = Ledger::open(data, config.ledger.clone(), Arc::new(Standing)).expect("a ledger");
    let reporter = |name: &str| ledger.put_reporter(name, None).map(|reporter| reporter.id);
    let accounts = Accounts::open(data, &config.limits, reporter).expect("accounts");
    let secrets = Secrets::open(data).expect("secrets");
    for (name, role, secret) in
        [("dcc-32768", Role::Report, "clntsecret"), ("dcc-1000", Role::Admin, "srvsecret")]
    {
        let id = ledger.put_reporter(name, None).expect("durable").id;
        accounts.add(name, Roles::from_iter([role]), id, CAPTURED_SECS).expect("an account");
        secrets.put(name, Protocol::Dcc, secret.as_bytes(), &accounts).expect("kept");
    }
}

/// The requests of a capture, each with its answers.
fn captured(name: &str) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/vectors/dcc").join(name);
    let text = fs::read_to_string(path).expect("a capture");
    let mut exchanges: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (way, packet) = line.split_once(' ').expect("a direction");
        let packet = const_hex::decode(packet).expect("hexadecimal");
        match way {
            "C>S" => exchanges.push((packet, Vec::new())),
            _ => exchanges.last_mut().expect("a request").1.push(packet),
        }
    }
    exchanges
}

fn hex(bytes: &[u8]) -> String {
    const_hex::encode(bytes)
}

/// The same request as a new operation.
fn again(request: &[u8], number: u8) -> Vec<u8> {
    let mut request = request.to_vec();
    request[19] = number;
    request
}

/// The current total of the checksum in that place.
fn total(answer: &[u8], place: usize) -> u32 {
    let at = HEADER_BYTES + 8 * place;
    u32::from_be_bytes(answer[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn vectors_01_and_03_to_11_are_answered_as_dcc_answered_them() {
    let site = Site::start(|_, _| {});
    for name in [
        "01-nop-anon.hex",
        "03-query-anon-unknown.hex",
        "04-report-anon-first.hex",
        "05-report-anon-second.hex",
    ] {
        site.assert_captured(name);
    }
    let (report, _) = captured("05-report-anon-second.hex").remove(0);
    for number in 1..=9 {
        site.ask(&again(&report, number));
    }
    for name in [
        "06-query-anon-after-11.hex",
        "07-report-spam.hex",
        "08-report-after-many.hex",
        "09-auth-report.hex",
        "10-auth-wrong-password.hex",
        "11-admin-delete.hex",
    ] {
        site.assert_captured(name);
    }
    let (query, _) = captured("03-query-anon-unknown.hex").remove(0);
    let after = site.ask(&query);
    assert_eq!(
        (total(&after, 4), total(&after, 5)),
        (0, 0x00ff_fff0),
        "the body was deleted, and Fuz1 was not"
    );
    assert_eq!(total(&site.ask(&again(&report, 99)), 4), 1, "and counts from there");
}

#[test]
fn vector_13_a_whitelist_decides_before_counts_do() {
    let site = Site::start(|config, folder| {
        let path = folder.join("whitelist");
        let list = "ok ip 192.0.2.25\nok2 env_from bounce@example.com\n\
            ok2 From \"Sales Dept\" <sales@example.com>\nmany Message-ID <bad@example.com>\n";
        fs::write(&path, list).expect("written");
        config.dcc.whitelist = Some(path);
    });
    let exchanges = captured("13-server-whitelist.hex");
    let mut many = again(&exchanges[0].0, 77);
    many[24] = 1;
    site.ask(&many);
    for (request, answers) in &exchanges {
        let mut request = request.clone();
        for answer in answers {
            site.assert_answer(&site.ask(&request), answer, "vector 13");
            // The retransmission was not captured; only its number differs.
            request[20] += 1;
        }
    }
}

#[test]
fn vector_20_newer_clients_are_told_nothing_of_reputations() {
    Site::start(|_, _| {}).assert_captured("20-synth-v23-report.hex");
}

#[test]
fn a_retransmission_counts_once_and_is_answered_with_the_same_totals() {
    let site = Site::start(|_, _| {});
    let (first, answers) = captured("04-report-anon-first.hex").remove(0);
    let mut second = first.clone();
    second[20] = 2;
    // Each from a port of its own, as a client's are.
    let (one, two) = (site.ask(&first), site.ask(&second));
    site.assert_answer(&one, &answers[0], "first");
    site.assert_answer(&two, &answers[0], "again");
    assert_eq!(two[20], 2, "the number of the transmission is repeated");
    assert_eq!(total(&site.ask(&again(&first, 5)), 4), 2);
    let (spam, _) = captured("07-report-spam.hex").remove(0);
    let spam_again = site.answers(&[&spam, &spam]);
    assert_eq!(spam_again[0], spam_again[1], "p stays what it was before MANY");
}

#[test]
fn totals_are_many_from_a_number_on_where_the_site_says_so() {
    let site = Site::start(|config, _| config.dcc.many_at = 3);
    let (report, _) = captured("04-report-anon-first.hex").remove(0);
    let totals = [1, 2, 3].map(|number| total(&site.ask(&again(&report, number)), 4));
    assert_eq!(totals, [1, 2, 0x00ff_fff0]);
}

#[test]
fn only_the_server_itself_deletes_and_garbage_is_met_with_silence() {
    let site = Site::start(|_, _| {});
    let mut delete = captured("11-admin-delete.hex").remove(1).0;
    let unknown = site.ask(&delete);
    let text = String::from_utf8_lossy(&unknown[HEADER_BYTES..unknown.len() - SIGNATURE_BYTES]).into_owned();
    assert_eq!(
        (unknown[3], text.as_str()),
        (7, "Body a06f63df 504229d7 7816c2d6 e558b833 not found to delete\0")
    );
    delete[60] ^= 1;
    site.assert_silence(&delete, "a wrong signature");
    site.assert_silence(b"", "nothing");
    site.assert_silence(&[0xff; 40], "no packet");
    site.assert_silence(&[0; 1400], "a long one");
    let mut targets = captured("04-report-anon-first.hex").remove(0).0;
    targets[26] = 0xff;
    site.assert_silence(&targets, "too many targets");
}

#[test]
fn statistics_are_told_on_this_machine() {
    let site = Site::start(|_, _| {});
    let answer = site.ask(&captured("02-admn-stats-anon.hex").remove(0).0);
    let text = String::from_utf8_lossy(&answer[HEADER_BYTES..answer.len() - SIGNATURE_BYTES]).into_owned();
    assert!(text.starts_with("    version seenit-"), "{text}");
}

#[test]
fn a_list_that_cannot_be_read_stops_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config();
    config.dcc.whitelist = Some(folder.path().join("missing"));
    let free: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let mut addresses = ClientAddresses::default();
    addresses.dcc = Some(Listen::At(free));
    let server = Server::new(config, folder.path().join("data")).token_folder(folder.path().join("state"));
    let refused = server.http(free).clients(addresses).start().err().expect("refused").to_string();
    assert!(refused.starts_with("dcc.whitelist: ") && refused.contains("missing"), "{refused}");
}
