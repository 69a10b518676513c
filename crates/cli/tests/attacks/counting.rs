//! Strangers who claim that many people got a message.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::Folder;
use crate::common::hosts::Hosts;
use crate::common::serving::{Serving, mail};
use crate::peer::Razor;

/// The most recipients that a datagram of DCC's can name: a hundred times what makes a message bulk.
const RECIPIENTS: u32 = 2000;

/// Numbers that are no number of recipients: nobody gets an answer to them.
const NO_RECIPIENTS: u32 = (1 << 24) - 17;

/// Recipients that anything strangers send may count: none, however many networks they have or forge.
const COUNTED_MAX: u32 = 0;

/// Networks of the strangers, each with an address of its own on this machine.
const NETWORKS: u8 = 40;

/// The networks that one bit each of 64 may stand for: what a reason may say of them.
const NETWORKS_TOLD_MIN: u64 = 8;

/// Checks that one registered account makes of one message: more than the 20 that make it bulk.
const CHECKS: usize = 30;

/// Where the server listens, which is not loopback.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 254);

/// The first type of a body's checksums.
const BODY: u8 = 7;

/// An anonymous report, as DCC's clients send it.
fn report(number: u32, targets: u32, sum: &[u8]) -> Vec<u8> {
    let mut packet = vec![0, 0, 12, 2, 0, 0, 0, 1];
    packet.extend([1, 2, number, 1].map(u32::to_be_bytes).concat());
    packet.extend(targets.to_be_bytes());
    packet.extend([&[BODY, 18][..], sum, &[0; 16]].concat());
    let length = u16::try_from(packet.len()).expect("short").to_be_bytes();
    packet[..2].copy_from_slice(&length);
    packet
}

/// What a report from an address is told: the total after it, and the total before.
fn totals(server: &str, from: Ipv4Addr, packet: &[u8]) -> [u32; 2] {
    let socket = UdpSocket::bind(SocketAddr::from((from, 0))).expect("an address of this machine");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    socket.send_to(packet, server).expect("sent");
    let mut answer = [0; 2000];
    let length = socket.recv(&mut answer).expect("an answer");
    let number = |at: usize| u32::from_be_bytes(answer[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(length, 24 + 8 + 16, "totals of one checksum");
    [number(24), number(28)]
}

fn sum_of(folder: &Folder, file: &str) -> Vec<u8> {
    hex::decode(digest_of(folder, file, "dcc-body").replace(' ', "")).expect("hexadecimal")
}

fn digest_of(folder: &Folder, file: &str, kind: &str) -> String {
    let rows = folder.run(&format!("sign --json {file}")).json();
    let is_it = |row: &&Value| row["kind"] == kind;
    let row = rows.as_array().expect("rows").iter().find(is_it).expect("a signature of this kind");
    row["digest"].as_str().expect("text").to_owned()
}

/// The reasons of a message that have this rule.
fn reasons(serving: &Serving<'_>, file: &str, rule: &str) -> Vec<Value> {
    let all = serving.judged(file).0["reasons"].as_array().expect("reasons").clone();
    all.into_iter().filter(|reason| reason["rule"] == rule).collect()
}

#[test]
fn datagrams_of_strangers_make_no_mail_bulk_however_many_recipients_and_networks_they_name() {
    let test =
        "counting::datagrams_of_strangers_make_no_mail_bulk_however_many_recipients_and_networks_they_name";
    let Some(_hosts) = Hosts::make(0, test) else {
        return;
    };
    let folder = Folder::new();
    folder.write("one.eml", mail(1));
    folder.write("many.eml", mail(2));
    folder.write("known.eml", mail(3));
    folder.write("seenit.toml", "[dcc]\nmany_at = 2\n");
    let options = format!("--pyzor off --razor off --fuzzy off --dcc {ADDRESS}:0 --config seenit.toml");
    let serving = Serving::start_with(&folder, &options);
    let server = serving.said["clients"]["dcc"].as_str().expect("an address");
    let one = sum_of(&folder, "one.eml");
    let nobody = UdpSocket::bind(SocketAddr::from((ADDRESS, 0))).expect("a socket");
    nobody.send_to(&report(77, NO_RECIPIENTS, &one), server).expect("sent");
    for number in 1..=10 {
        assert_eq!(totals(server, ADDRESS, &report(number, RECIPIENTS, &one)), [COUNTED_MAX; 2]);
    }
    assert_eq!(serving.verdict("one.eml").0, "unknown");
    assert!(reasons(&serving, "one.eml", "seen-by-strangers").is_empty(), "one network is nothing to tell");
    let many = sum_of(&folder, "many.eml");
    for network in 0..NETWORKS {
        let from = Ipv4Addr::new(10, 78, network, 1);
        let words = format!("addr add {from}/24 dev bridge");
        assert!(Command::new("ip").args(words.split(' ')).status().expect("ip runs").success());
        for number in 1..=3 {
            assert_eq!(totals(server, from, &report(number, RECIPIENTS, &many)), [COUNTED_MAX; 2]);
        }
    }
    assert_eq!(serving.verdict("many.eml").0, "unknown");
    let told = reasons(&serving, "many.eml", "seen-by-strangers");
    let networks = told.first().and_then(|reason| reason["stranger_networks"].as_u64()).expect("a reason");
    assert!((NETWORKS_TOLD_MIN..=u64::from(NETWORKS)).contains(&networks), "{networks}");
    assert!(reasons(&serving, "many.eml", "seen").is_empty());
    // Those of this machine count, and strangers are told.
    assert_eq!(serving.run("see known.eml").code, 0);
    assert_eq!(totals(server, ADDRESS, &report(99, RECIPIENTS, &sum_of(&folder, "known.eml"))), [1; 2]);
    serving.stop();
}

#[test]
fn an_account_that_registered_itself_makes_no_mail_bulk_by_checking_it_often() {
    let test = "counting::an_account_that_registered_itself_makes_no_mail_bulk_by_checking_it_often";
    let Some(_hosts) = Hosts::make(0, test) else {
        return;
    };
    let folder = Folder::new();
    folder.write("one.eml", mail(1));
    let options = format!("--pyzor off --dcc off --fuzzy off --razor {ADDRESS}:0");
    let serving = Serving::start_with(&folder, &options);
    let server = serving.said["clients"]["razor"].as_str().expect("an address");
    let mut razor = Razor::connect(server);
    assert!(razor.register("mallory", "open-sesame").contains("res=1"));
    assert_eq!(razor.log_in("mallory", "open-sesame"), "res=1");
    let digest = digest_of(&folder, "one.eml", "razor-e4");
    for _ in 0..CHECKS {
        assert_eq!(razor.ask(&format!("a=c&e=4&ep4=7542-10&s={digest}")), "p=0");
    }
    assert_eq!(serving.verdict("one.eml").0, "unknown");
    assert!(reasons(&serving, "one.eml", "seen").is_empty(), "no recipient was counted");
    // The operator's word makes it count.
    assert_eq!(serving.run("account standing razor.mallory known").code, 0);
    for _ in 0..CHECKS {
        assert_eq!(razor.ask(&format!("a=c&e=4&ep4=7542-10&s={digest}")), "p=0");
    }
    assert_eq!(serving.verdict("one.eml").0, "bulk");
    serving.stop();
}
