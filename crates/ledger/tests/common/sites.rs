//! A site that is in a network, or joins one.

use std::path::Path;
use std::sync::Arc;

use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_ledger::{Counts, Ledger, LedgerConfig, Terms};
use tempfile::TempDir;

use super::{DAY, FIRST_DAY, Hands, config, copy_all, exact, open, private_folder};

pub const NETWORK: [u8; 32] = [0xaa; 32];
pub const OTHER_NETWORK: [u8; 32] = [0xbb; 32];
pub const KEY: [u8; 16] = [7; 16];

pub fn terms_of(key: [u8; 16]) -> Terms {
    Terms::private(&LedgerConfig { seen_capacity: 20_000, ..config() }, key).expect("a geometry")
}

/// The terms of the network from long ago on.
pub fn terms() -> Vec<(u64, Terms)> {
    vec![(FIRST_DAY - 100, terms_of(KEY))]
}

pub fn begun() -> (TempDir, Arc<Hands>, Ledger) {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let ledger = open(folder.path(), &hands);
    (folder, hands, ledger)
}

pub fn see(ledger: &Ledger, number: u64, recipients: u64) {
    ledger.see(&[exact(number)], recipients).expect("accepted");
}

pub fn seen(ledger: &Ledger, number: u64) -> u64 {
    let case = exact(number);
    ledger.sightings(case.iter().next().expect("a signature")).recipients
}

/// What cells under the network's key count.
pub fn counted(counts: &Counts, number: u64) -> u64 {
    let case = exact(number);
    counts.count(SipKey::new(KEY).hash(&case.iter().next().expect("a signature"))).value
}

/// Journals what was counted, without a snapshot: the second answer comes after the first one's batch was worked off.
pub fn tick(ledger: &Ledger) {
    ledger.confirm_clock().expect("asked");
    for _ in 0..2 {
        ledger.put_reporter("somebody", None).expect("durable");
    }
}

/// The folder as a kill would leave it now.
pub fn killed(folder: &Path) -> TempDir {
    let copy = private_folder();
    copy_all(folder, copy.path());
    copy
}
