//! DCC's clients and `seenit` have one memory.

mod common;

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::Folder;
use common::serving::{Serving, mail};

/// The first types of a body's checksums.
const BODY: u8 = 7;
const FUZ1: u8 = 8;

/// What stands for more than any number, in a request.
const MANY: u32 = 0x0100_0001;

fn start(folder: &Folder) -> Serving<'_> {
    Serving::start_with(folder, "--pyzor off --dcc 127.0.0.1:0")
}

/// An anonymous report, as DCC's clients send it.
fn report(number: u32, targets: u32, sums: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut packet = vec![0, 0, 12, 2, 0, 0, 0, 1];
    packet.extend([1, 2, number, 1].map(u32::to_be_bytes).concat());
    packet.extend(targets.to_be_bytes());
    for (kind, digest) in sums {
        packet.extend([*kind, 18]);
        packet.extend(digest);
    }
    packet.extend([0; 16]);
    let length = u16::try_from(packet.len()).expect("short").to_be_bytes();
    packet[..2].copy_from_slice(&length);
    packet
}

/// The current totals of an answer.
fn totals(serving: &Serving<'_>, packet: &[u8]) -> Vec<u32> {
    // As DCC's clients do: on a port of no address, so that its user is known.
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    socket.send_to(packet, serving.said["clients"]["dcc"].as_str().expect("an address")).expect("sent");
    let mut answer = [0; 2000];
    let length = socket.recv(&mut answer).expect("an answer");
    let current = |totals: &[u8]| u32::from_be_bytes(totals[..4].try_into().expect("four bytes"));
    answer[24..length - 16].chunks(8).map(current).collect()
}

/// The checksums of a message, made as DCC's clients make them.
fn sums(folder: &Folder, file: &str) -> Vec<(u8, Vec<u8>)> {
    let rows = folder.run(&format!("sign --json {file}")).json();
    let digest = |kind: &str| {
        let row =
            rows.as_array().expect("rows").iter().find(|row| row["kind"] == kind).expect("one of each kind");
        // DCC writes its checksums in four groups.
        hex::decode(row["digest"].as_str().expect("text").replace(' ', "")).expect("hexadecimal")
    };
    vec![(BODY, digest("dcc-body")), (FUZ1, digest("dcc-fuz1"))]
}

#[test]
fn a_report_of_many_is_spam_and_one_of_recipients_makes_bulk() {
    let folder = Folder::new();
    (1..=3).for_each(|seed| folder.write(&format!("{seed}.eml"), mail(seed)));
    let serving = start(&folder);
    assert_eq!(serving.verdict("1.eml").0, "unknown");
    let spam = sums(&folder, "1.eml");
    assert_eq!(totals(&serving, &report(1, MANY, &spam)), [0x00ff_fff0; 2]);
    assert_eq!(serving.verdict("1.eml").0, "spam");
    let newsletter = sums(&folder, "2.eml");
    assert_eq!(totals(&serving, &report(2, 19, &newsletter)), [19; 2]);
    assert_eq!(serving.verdict("2.eml").0, "unknown");
    assert_eq!(totals(&serving, &report(3, 1, &newsletter)), [20; 2]);
    assert_eq!(serving.verdict("2.eml").0, "bulk");
    assert_eq!(serving.run("see 3.eml").code, 0);
    assert_eq!(totals(&serving, &report(4, 1, &sums(&folder, "3.eml"))), [2; 2], "seen by `seenit`, too");
    serving.stop();
}

#[test]
fn dccproc_reports_and_is_told() {
    let is_installed = Command::new("dccproc").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if is_installed.is_err() {
        eprintln!("skipped: dccproc is not installed");
        return;
    }
    let folder = Folder::new();
    folder.write("1.eml", mail(1));
    let serving = start(&folder);
    let (host, port) =
        serving.said["clients"]["dcc"].as_str().and_then(|text| text.split_once(':')).expect("a port");
    let home = folder.path("home");
    std::fs::create_dir(&home).expect("the folder is writable");
    let home = home.to_str().expect("text");
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run("cdcc", &["-h", home, &format!("new map; add {host},{port} anon")]);
    let message = folder.path("1.eml");
    let message = message.to_str().expect("text");
    let header = run("dccproc", &["-h", home, "-H", "-i", message, "-t", "1"]);
    assert!(header.contains("X-DCC-seenit-Metrics") && header.contains("Body=1"), "{header}");
    run("dccproc", &["-h", home, "-H", "-i", message, "-t", "many"]);
    let header = run("dccproc", &["-h", home, "-H", "-Q", "-i", message]);
    assert!(header.contains("Body=many"), "{header}");
    assert_eq!(serving.verdict("1.eml").0, "spam");
    serving.stop();
}
