//! A clock that tests set, and messages made of numbers.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]

pub mod sites;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use seenit_ledger::record::Record;
use seenit_ledger::{
    Case, Clock, LOCAL, LOCAL_WEIGHT, Ledger, LedgerConfig, Receipt, ReporterId, Verb, Write, WriteError,
};
use seenit_link::store::{
    Committed, HeardItems, HeldStream, LinkBatch, OwnRun, PeerSite, PeerSlot, Read, ReadDone, Store,
    StoreError,
};
use seenit_signature::Kind;
use seenit_sites::key::{SiteKey, SiteSecret};
use seenit_sites::message::Stream;
use seenit_sites::number::{Incarnation, Sequence};
use seenit_sites::roster::Caps;

pub const DAY: u64 = 86_400;

/// The day on which tests begin.
pub const FIRST_DAY: u64 = 20_000;

#[derive(Default)]
pub struct Hands {
    pub now: AtomicU64,
    pub steady: AtomicU64,
}

impl Hands {
    pub fn at(secs: u64) -> Arc<Self> {
        Arc::new(Hands { now: secs.into(), steady: 0.into() })
    }

    /// Time goes by.
    pub fn pass(&self, secs: u64) {
        self.now.fetch_add(secs, SeqCst);
        self.steady.fetch_add(secs, SeqCst);
    }
}

impl Clock for Hands {
    fn now_secs(&self) -> u64 {
        self.now.load(SeqCst)
    }
    fn steady_secs(&self) -> u64 {
        self.steady.load(SeqCst)
    }
}

/// Small, with quick deltas, and no floor for the disk of whoever runs the tests.
pub fn config() -> LedgerConfig {
    LedgerConfig {
        capacity: 10_000,
        seen_capacity: 10_000,
        bulk_capacity: 1000,
        near_capacity: 1000,
        delta_millis: 10,
        free_bytes_min: 0,
        ..LedgerConfig::default()
    }
}

/// A folder that only its owner may look into, as a ledger wants it.
pub fn private_folder() -> tempfile::TempDir {
    let mode = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(mode).tempdir().expect("a folder")
}

pub fn open(folder: &Path, hands: &Arc<Hands>) -> Ledger {
    open_with(folder, hands, config())
}

pub fn open_with(folder: &Path, hands: &Arc<Hands>, config: LedgerConfig) -> Ledger {
    let ledger = Ledger::open(folder, config, Arc::clone(hands) as Arc<dyn Clock>).expect("a ledger");
    // Tests want two reporters of full weight without making them: an operator would have to say so once.
    if ledger.weight_of(LOCAL) == LOCAL_WEIGHT {
        // Refused where the test is about refusals.
        let _ = ledger.put_reporter("local", Some(10));
    }
    ledger
}

/// The signatures of message `number`: two exact ones, a link that it shares with nine others.
pub fn case(number: u64) -> Case {
    let mut case = Case::new();
    case.push(Kind::Exact1, &digest::<20>(number)).expect("a digest");
    case.push(Kind::Pyzor, &digest::<20>(number + (1 << 40))).expect("a digest");
    case.push(Kind::Url1, &digest::<20>(number / 10 + (1 << 50))).expect("a digest");
    case
}

pub fn exact(number: u64) -> Case {
    let mut case = Case::new();
    case.push(Kind::Exact1, &digest::<20>(number)).expect("a digest");
    case
}

pub fn pyzor(number: u64) -> Case {
    let mut case = Case::new();
    case.push(Kind::Pyzor, &digest::<20>(number + (1 << 40))).expect("a digest");
    case
}

pub fn digest<const N: usize>(number: u64) -> [u8; N] {
    let mut digest = [0x5a; N];
    digest[..8].copy_from_slice(&number.to_le_bytes());
    digest
}

/// The shingles of a text: those of `number`, with the first `changed` replaced.
pub fn near(number: u64, changed: u64) -> Case {
    shingles(Kind::Near1, number, changed)
}

/// The same numbers as the shingles of a kind.
pub fn shingles(kind: Kind, number: u64, changed: u64) -> Case {
    let shingle = |slot: u64| if slot < changed { number ^ slot << 32 ^ 1 << 63 } else { number << 8 | slot };
    let digest: Vec<u8> = (0..32).flat_map(|slot| shingle(slot).to_le_bytes()).collect();
    let mut case = Case::new();
    case.push(kind, &digest).expect("shingles");
    case
}

pub fn write(ledger: &Ledger, verb: Verb, reporter: ReporterId, case: Case) -> Result<Receipt, WriteError> {
    ledger.write_and_wait(Write { verb, reporter, cases: vec![case] })
}

/// Lets the ledger see the time and journal what it counted: it does so before a snapshot.
pub fn settle(ledger: &Ledger) {
    ledger.snapshot().expect("a snapshot");
}

/// Waits for what the writer does after it has answered.
pub fn until(what: &str, is_done: impl Fn() -> bool) {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !is_done() {
        assert!(std::time::Instant::now() < patience, "not in time: {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Copies a folder and all that is in it.
pub fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            fs::create_dir(&target).expect("a folder");
            copy_all(&entry.path(), &target);
        } else if let Err(error) = fs::copy(entry.path(), target) {
            // A running ledger gives a snapshot its name, and the one before another, at any moment.
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_snapshot = name.starts_with(".seenit-") || name.starts_with("snapshot");
            assert!(is_snapshot && error.kind() == std::io::ErrorKind::NotFound, "{name}: {error}");
        }
    }
}

/// The incarnation of a peer that tests make up.
pub const PEER_INCARNATION: Incarnation = Incarnation(77);

/// The key of the made-up peer in a slot.
pub fn site_of(slot: u16) -> SiteKey {
    SiteSecret::from_bytes([slot as u8; 32]).public()
}

/// A peer with these caps.
pub fn peer(slot: u16, spam: u32, ham: u32, seen: u64) -> PeerSite {
    let (site, name) = (site_of(slot), format!("site{slot}"));
    PeerSite { slot: PeerSlot(slot), site, name, caps: Caps { spam, ham, seen } }
}

/// What a reporter of another site said on a day, as it travels.
pub fn said(verb: Verb, reporter: u32, weight: u8, day: u64, case: Case) -> Vec<u8> {
    let (reporter, time) = (ReporterId(reporter), day * DAY + 1);
    Record { verb, reporter, weight, time, count: 0, case, befores: Vec::new() }.travelling()
}

/// A stream of the made-up peer in a slot.
pub fn stream_of(slot: u16, stream: Stream) -> HeldStream {
    HeldStream { slot: PeerSlot(slot), incarnation: PEER_INCARNATION, stream }
}

/// A batch of records of a made-up peer, from a sequence on.
pub fn heard(slot: u16, first: u64, items: Vec<Vec<u8>>) -> LinkBatch {
    let stream = stream_of(slot, Stream::Records);
    let heard = HeardItems { stream, after: Sequence(first - 1), items, message: None };
    LinkBatch { heard: vec![heard], ..LinkBatch::default() }
}

/// What the link does with a ledger, in few words.
pub trait Linked {
    fn set_peers(&self, peers: &[PeerSite]) -> Result<(), StoreError>;
    fn commit_link(&self, batch: LinkBatch) -> Result<Committed, StoreError>;
    /// Own items of a stream.
    fn items(&self, incarnation: Incarnation, stream: Stream, after: u64, bytes_max: usize) -> OwnRun;
}

impl Linked for Ledger {
    fn set_peers(&self, peers: &[PeerSite]) -> Result<(), StoreError> {
        self.commit(LinkBatch { peers: Some(peers.to_vec()), ..LinkBatch::default() }).map(|_| ())
    }

    fn commit_link(&self, batch: LinkBatch) -> Result<Committed, StoreError> {
        self.commit(batch)
    }

    fn items(&self, incarnation: Incarnation, stream: Stream, after: u64, bytes_max: usize) -> OwnRun {
        let read = Read::Own { incarnation, stream, after: Sequence(after), bytes_max };
        match self.read(&read).expect("readable") {
            ReadDone::Own(run) => run,
            other => panic!("{other:?}"),
        }
    }
}
