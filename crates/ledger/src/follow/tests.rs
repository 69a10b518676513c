//! Whatever was said, heard, aged out, replayed or recounted by new caps: memory holds the sums of the live rows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use proptest::prelude::*;
use seenit_link::store::{LinkBatch, PeerSite, Store};
use seenit_signature::Kind;
use seenit_sites::roster::Caps;

use crate::answers::Write;
use crate::clock::Clock;
use crate::config::LedgerConfig;
use crate::ledger::Ledger;
use crate::near::Units;
use crate::record::{Record, Verb};
use crate::reporter::{OPERATOR, ReporterId};
use crate::signature::Case;
use crate::sum::{shingle_sum_of, signature_sum_of};
use crate::tally::Tally;
use crate::testing::{heard, peer};

const DAY: u64 = 86_400;

/// A clock that goes on a day at a time.
struct Days(AtomicU64);

impl Clock for Days {
    fn now_secs(&self) -> u64 {
        self.0.load(Relaxed) * DAY
    }

    fn steady_secs(&self) -> u64 {
        self.now_secs()
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// An own reporter's, or that of the peer in this slot, of so many days ago.
    Say {
        slot: Option<u16>,
        reporter: u32,
        verb: Verb,
        case: u8,
        days_ago: u64,
        times: usize,
    },
    Day,
    Restart,
    Peers([u32; 2]),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verb = prop_oneof![
        6 => Just(Verb::Report), 3 => Just(Verb::Revoke), 2 => Just(Verb::Withdraw), 1 => Just(Verb::Many),
        1 => Just(Verb::Forget), 1 => Just(Verb::Protect), 1 => Just(Verb::Unprotect)
    ];
    // Some are said so often that the bits of a tally are full.
    let times = prop_oneof![8 => Just(1), 1 => Just(300)];
    let slot = prop_oneof![3 => Just(None), 1 => Just(Some(1)), 1 => Just(Some(2))];
    let say = (slot, 0..3u32, verb, 0..4u8, 0..3u64, times).prop_map(
        |(slot, reporter, verb, case, days_ago, times)| Step::Say {
            slot,
            reporter,
            verb,
            case,
            days_ago,
            times,
        },
    );
    let caps = || prop_oneof![Just(0u32), Just(4), Just(12), Just(500)];
    let step = prop_oneof![
        12 => say, 2 => Just(Step::Day), 1 => Just(Step::Restart), 2 => [caps(), caps()].prop_map(Step::Peers)
    ];
    prop::collection::vec(step, 1..40)
}

/// Two signatures of which one is in two cases, and texts that share half of their shingles.
fn case(number: u8) -> Case {
    let mut case = Case::new();
    case.push(Kind::Exact1, &[number / 2; 20]).expect("a digest");
    case.push(Kind::Pyzor, &[100 + number; 20]).expect("a digest");
    let shingle = |slot: u8| u64::from(slot) << 8 | u64::from(if slot < 16 { 0 } else { number });
    let shingles: Vec<u8> = (0..32).flat_map(|slot| shingle(slot).to_le_bytes()).collect();
    case.push(Kind::Near1, &shingles).expect("shingles");
    case
}

/// Those that are no shingles, one at a time where a verb takes one.
fn case_for(verb: Verb, number: u8) -> Case {
    match verb {
        Verb::Many | Verb::Forget => case(number).singles().remove(0),
        _ => case(number),
    }
}

fn table(spam_caps: [u32; 2]) -> Vec<PeerSite> {
    let caps = |spam: u32| Caps { spam, ham: spam / 2, seen: u64::from(spam) * 10_000 };
    let peers = [1, 2].into_iter().zip(spam_caps);
    peers.filter(|(_, spam)| *spam > 0).map(|(slot, spam)| peer(slot, caps(spam))).collect()
}

fn open(folder: &Path, clock: &Arc<Days>) -> Ledger {
    let config = LedgerConfig {
        capacity: 100_000,
        raw_max: 1000,
        seen_capacity: 1000,
        record_generations: 3,
        free_bytes_min: 0,
        ..LedgerConfig::default()
    };
    Ledger::open(folder, config, Arc::clone(clock) as Arc<dyn Clock>).expect("a ledger")
}

fn set_peers(ledger: &Ledger, peers: Vec<PeerSite>) {
    let batch = LinkBatch { peers: Some(peers), ..Default::default() };
    ledger.commit(batch).expect("durable");
}

/// Compares what memory holds of every key with the sum of its live rows.
fn check(ledger: &Ledger) -> Result<(), TestCaseError> {
    let memory = &ledger.shared.memory;
    let journal = ledger.shared.journal().expect("open");
    let peers = journal.peers();
    let mut tallies = 0;
    let mut texts = Units::default();
    let mut differing = Vec::new();
    journal
        .each_key(|hash, rows| {
            if rows.iter().any(|one| one.row.is_shingle) {
                let sum = shingle_sum_of(rows, &peers);
                let held = memory.near.filters().map(|filter| filter.count(hash).value);
                texts.add(sum);
                if held != sum.units().map(u64::from) {
                    differing.push(format!("shingle {hash:?} holds {held:?}, not {sum:?}"));
                }
                return Ok(());
            }
            let sum = signature_sum_of(rows, &peers);
            let forgotten = memory.forgotten().get(&hash).copied();
            tallies += u64::from(sum.tally.pack() != 0);
            // What does not fit into its bits is "at least".
            let is_held = memory.tally(hash) == Tally::unpack(sum.tally.pack());
            if !is_held || forgotten != sum.forgotten.filter(|forgotten| forgotten.count > 0) {
                differing.push(format!("{:?} and {forgotten:?}, not {sum:?}", memory.tally(hash)));
            }
            Ok(())
        })
        .expect("readable");
    prop_assert!(differing.is_empty(), "{}", differing.join("\n"));
    prop_assert_eq!(memory.table.len(), tallies);
    prop_assert_eq!(memory.near.texts(Kind::Near1), texts.texts().map(u64::from));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_holds_the_sums_of_the_live_rows(steps in steps()) {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(Days(AtomicU64::new(20_000)));
        let mut ledger = Some(open(folder.path(), &clock));
        let mut sequences = [0u64; 3];
        let mut caps = [12, 500];
        let reporters: Vec<ReporterId> = {
            let ledger = ledger.as_ref().expect("open");
            set_peers(ledger, table(caps));
            let made = |name, weight| ledger.put_reporter(name, Some(weight)).expect("durable").id;
            vec![OPERATOR, made("vouched", 10), made("known", 4)]
        };
        for step in steps {
            let open_ledger = ledger.as_ref().expect("open");
            match step {
                Step::Say { slot: None, reporter, verb, case, times, .. } => {
                    let cases = vec![case_for(verb, case); times];
                    let write = Write { verb, reporter: reporters[reporter as usize], cases };
                    open_ledger.write_and_wait(write).expect("durable");
                }
                Step::Say { slot: Some(slot), reporter, verb, case, days_ago, .. } => {
                    if caps[usize::from(slot) - 1] == 0 {
                        continue;
                    }
                    let record = Record {
                        verb,
                        reporter: ReporterId(reporter + 1),
                        weight: 10 - reporter as u8,
                        time: clock.now_secs() - days_ago * DAY,
                        count: 0,
                        case: case_for(verb, case),
                        befores: Vec::new(),
                    };
                    let mut batch = heard(slot, vec![record.travelling()]);
                    let sequence = &mut sequences[usize::from(slot)];
                    batch.heard[0].after = seenit_sites::number::Sequence(*sequence);
                    *sequence += 1;
                    open_ledger.commit(batch).expect("durable");
                }
                Step::Day => {
                    clock.0.fetch_add(1, Relaxed);
                    open_ledger.snapshot().expect("a snapshot");
                }
                Step::Restart => {
                    // Without a last snapshot: records are replayed.
                    let killed = tempfile::tempdir().expect("a folder");
                    copy(folder.path(), killed.path());
                    let replayed = open(killed.path(), &clock);
                    check(&replayed)?;
                    drop(replayed);
                    drop(ledger.take());
                    ledger = Some(open(folder.path(), &clock));
                }
                Step::Peers(new) => {
                    caps = new;
                    set_peers(open_ledger, table(caps));
                }
            }
            check(ledger.as_ref().expect("open"))?;
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            std::fs::create_dir(&target).expect("made");
            copy(&entry.path(), &target);
        } else {
            // A snapshot in the making has got its name meanwhile.
            let copied = std::fs::copy(entry.path(), &target);
            assert!(copied.is_ok() || !entry.path().exists(), "{copied:?}");
        }
    }
}
