//! SIGHUP reads configuration, whitelist and certificate again, and ends nothing.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use common::Folder;
use common::serving::{HTTP_ALONE, Serving};
use seenit_wire::dcc::{Ask, Count, DccResponse, Sum, SumKind};

/// Long enough for a signal to be obeyed on a busy machine.
const OBEYED: Duration = Duration::from_secs(60);

/// Lines of the log that say something.
fn lines(folder: &Folder, says: &str) -> Vec<String> {
    let log = String::from_utf8(folder.read("log")).expect("text");
    log.lines().filter(|line| line.contains(says)).map(str::to_owned).collect()
}

/// Sends SIGHUP, and waits until the log has one more line that says this.
fn hang_up(folder: &Folder, serving: &Serving<'_>, says: &str) {
    let before = lines(folder, says).len();
    serving.process.signal("HUP");
    let began = Instant::now();
    while lines(folder, says).len() == before {
        assert!(began.elapsed() < OBEYED, "{}", String::from_utf8_lossy(&folder.read("log")));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(lines(folder, says).len(), before + 1);
}

/// The total of one checksum of a body, asked as DCC's clients ask.
fn total(serving: &Serving<'_>, digest: [u8; 16]) -> Count {
    let sums = [Sum { kind: SumKind::Body, digest }];
    let (ask, mut question) = (Ask { numbers: [digest[0]; 16], sums: &sums }, Vec::new());
    ask.query(&mut question);
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(OBEYED)).expect("a limit");
    socket.send_to(&question, serving.said["clients"]["dcc"].as_str().expect("an address")).expect("sent");
    let mut answer = [0; 200];
    let length = socket.recv(&mut answer).expect("an answer");
    match DccResponse::decode(&answer[..length], &ask) {
        Some(DccResponse::Totals(totals)) => totals[0].current,
        other => panic!("{other:?}"),
    }
}

/// How a message is answered, sent as it is.
fn status(serving: &Serving<'_>, message: &str) -> String {
    let mut stream = TcpStream::connect(serving.address()).expect("it listens");
    let head =
        "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: message/rfc822";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{message}", message.len()).expect("sent");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("text");
    line.split(' ').nth(1).expect("a status").to_owned()
}

const OK: Count = Count::Ok;
const NOTHING: Count = Count::Number(0);

fn whitelisted(byte: u8) -> String {
    format!("ok hex body {}\n", [format!("{byte:02x}").repeat(4).as_str(); 4].join(" "))
}

#[test]
fn a_line_that_is_added_to_the_whitelist_holds_after_sighup_and_a_wrong_one_changes_nothing() {
    let folder = Folder::new();
    folder.write("list", whitelisted(1));
    folder.write("seenit.toml", format!("[dcc]\nwhitelist = {:?}\n", folder.path("list")));
    let options = "--pyzor off --razor off --dcc 127.0.0.1:0 --fuzzy off --config seenit.toml";
    let serving = Serving::start_with(&folder, options);
    assert_eq!((total(&serving, [1; 16]), total(&serving, [2; 16])), (OK, NOTHING));
    folder.write("list", whitelisted(1) + &whitelisted(2));
    hang_up(&folder, &serving, "reloaded: ");
    assert_eq!((total(&serving, [1; 16]), total(&serving, [2; 16])), (OK, OK));
    folder.write("list", "ok nonsense\n");
    hang_up(&folder, &serving, "not reloaded: everything stays as it was");
    assert_eq!((total(&serving, [1; 16]), total(&serving, [2; 16])), (OK, OK));
    serving.stop();
}

#[test]
fn what_cannot_be_changed_while_it_runs_is_named_and_a_broken_file_changes_nothing() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[http]\nmessage_bytes_max = 2000\n");
    let long = format!("Subject: long\n\n{}", "many words and more words\n".repeat(100));
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config seenit.toml"));
    let is_too_long = || status(&serving, &long) == "413";
    assert!(is_too_long());
    folder.write("seenit.toml", "[http]\nmessage_bytes_max = 200000\n[ledger]\ncapacity = 5000\n");
    hang_up(&folder, &serving, "need a restart");
    assert!(lines(&folder, "ledger.capacity").len() == 1, "{:?}", folder.read("log"));
    assert!(!is_too_long());
    folder.write("seenit.toml", "[http]\nmessage_bytes_max = 2000\nno_such_key = 1\n");
    hang_up(&folder, &serving, "not reloaded: everything stays as it was");
    assert!(lines(&folder, "seenit.toml:3: ").len() == 1, "{:?}", folder.read("log"));
    assert!(!is_too_long());
    serving.stop();
}

#[test]
fn a_new_certificate_is_served_to_the_next_connection_after_sighup() {
    let folder = Folder::new();
    let make = |name: &str| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        folder.write(&format!("{name}.pem"), made.cert.pem());
        folder.write(&format!("{name}.key"), made.signing_key.serialize_pem());
    };
    let install = |name: &str| {
        folder.write("certificate.pem", folder.read(&format!("{name}.pem")));
        folder.write("key.pem", folder.read(&format!("{name}.key")));
    };
    make("old");
    make("new");
    install("old");
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.path(name));
    let tls = format!("[tls]\ncertificate = {certificate:?}\nkey = {key:?}\nloopback = true\n");
    folder.write("tls.toml", tls);
    let serving = Serving::start_with(&folder, &format!("{HTTP_ALONE} --config tls.toml"));
    let url = serving.url().replace("127.0.0.1", "localhost");
    let trusts = |name: &str| {
        let mut command = folder.command(&format!("stats --server {url}"));
        command.env_remove("SSL_CERT_DIR").env("SSL_CERT_FILE", folder.path(&format!("{name}.pem")));
        command.output().expect("it ends").status.success()
    };
    assert!(trusts("old") && !trusts("new"));
    install("new");
    hang_up(&folder, &serving, "reloaded: ");
    assert!(trusts("new") && !trusts("old"));
    // A key that is not the certificate's, as in the middle of a renewal.
    folder.write("certificate.pem", folder.read("old.pem"));
    hang_up(&folder, &serving, "not reloaded: everything stays as it was");
    assert!(trusts("new") && !trusts("old"));
}

#[test]
fn sighup_without_a_configuration_ends_nothing() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    hang_up(&folder, &serving, "reloaded: ");
    assert_eq!(serving.run("stats").code, 0);
    serving.stop();
}
