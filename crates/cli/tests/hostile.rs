//! Guards that no bytes from the network harm a site: random and mutated datagrams by the hundred thousand, after which
//! it still answers, holds what it held, and has not grown. `SEENIT_LONG=1` sends twenty times as many.

mod common;

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use common::Folder;
use common::serving::Serving;

/// Datagrams for each protocol.
const DATAGRAMS: u32 = 500_000;
const LONG_FACTOR: u32 = 20;

/// After so many the site is asked something it must answer: else most datagrams would be lost before they are read.
const BETWEEN_QUESTIONS: u32 = 64;

/// A question may be lost beside so many others; not all of these.
const TRIES: u32 = 50;

/// Growth of resident memory that is no leak: caches and buffers that are filled for the first time.
const GROWTH_KIB_MAX: u64 = 16 << 10;

/// A small generator: the same datagrams in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 27
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Bytes that are random, or a sound datagram with some of it changed, cut or repeated.
fn hostile(dice: &mut Dice, sound: &[&[u8]]) -> Vec<u8> {
    if dice.below(4) == 0 {
        return (0..dice.below(300)).map(|_| dice.next() as u8).collect();
    }
    let mut bytes = sound[dice.below(sound.len())].to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len().max(1));
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at.min(bytes.len())..),
            2 => bytes.insert(at.min(bytes.len()), dice.next() as u8),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
        }
    }
    bytes
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("Linux says so");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it is resident");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// Asks until there is an answer that begins like this.
fn is_answered(socket: &UdpSocket, question: &[u8], begins: &[u8]) -> bool {
    let mut answer = [0; 2048];
    (0..TRIES).any(|_| {
        socket.send(question).expect("sent");
        // Answers to others may come first.
        (0..BETWEEN_QUESTIONS)
            .any(|_| socket.recv(&mut answer).is_ok_and(|length| answer[..length].starts_with(begins)))
    })
}

fn bombard(protocol: &str, sound: &[&[u8]], question: &[u8], answer_begins: &[u8]) {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, &format!("--{protocol} 127.0.0.1:0"));
    let address: SocketAddr =
        serving.said["clients"][protocol].as_str().expect("it is served").parse().expect("an address");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(address).expect("connected");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let held = |serving: &Serving<'_>| {
        let stats = serving.run("stats --json").json();
        (stats["signatures"].clone(), stats["records"].clone())
    };
    let pid = serving.process.0.id();
    let factor = if std::env::var_os("SEENIT_LONG").is_some() { LONG_FACTOR } else { 1 };
    let (before, mut grown_from, mut dice) = (held(&serving), 0, Dice(7));
    for number in 0..DATAGRAMS * factor {
        // What the network refuses to carry cannot harm anybody.
        let _ = socket.send(&hostile(&mut dice, sound));
        if number % BETWEEN_QUESTIONS == 0 {
            assert!(is_answered(&socket, question, answer_begins), "no answer after {number} datagrams");
        }
        if number == DATAGRAMS / 10 {
            grown_from = resident_kib(pid);
        }
    }
    assert_eq!(held(&serving), before, "nothing was said, so nothing is remembered");
    let grown = resident_kib(pid).saturating_sub(grown_from);
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more than after a tenth of them");
    serving.stop();
}

#[test]
fn half_a_million_datagrams_do_pyzor_no_harm() {
    let check = b"Op: check\nOp-Digest: 4502e099be0ee6ecd6bfef672e964a98d315194f\nThread: 4242\nPV: 2.1\n\
        User: anonymous\nTime: 1790000000\nSig: 4502e099be0ee6ecd6bfef672e964a98d315194f\n\n";
    // No reports: with its user broken off, one would be a sound report of `local`.
    let signed = b"Op: info\nOp-Digest: 4502e099be0ee6ecd6bfef672e964a98d315194f\nThread: 777\nPV: 2.1\n\
        User: alice\nTime: 1790000000\nSig: 4502e099be0ee6ecd6bfef672e964a98d315194f\n\n";
    let question = b"Op: ping\nThread: 4321\nPV: 2.1\nUser: anonymous\nTime: 1790000000\nSig: 00\n\n";
    bombard("pyzor", &[check, signed], question, b"Code: 200\nDiag: OK\nPV: 2.1\nThread: 4321");
}
