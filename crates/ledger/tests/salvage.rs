//! What a snapshot knows that the journal has lost goes on counting, whatever is said afterwards.

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::*;
use seenit_ledger::{Ledger, LedgerConfig, OPERATOR, ReporterId, Verb, Verdict};
use seenit_signature::Kind;
use tempfile::TempDir;

/// Loses the whole journal of a ledger that is closed, and opens what is left.
fn open_without_journal(folder: &Path, hands: &Arc<Hands>, config: LedgerConfig) -> Ledger {
    fs::remove_dir_all(folder.join("journal")).expect("removed");
    open_with(folder, hands, config)
}

/// A ledger with one peer, of which only the snapshot is left: there the operator reported `exact(1)`.
fn begun() -> (TempDir, Arc<Hands>, Ledger) {
    let (folder, hands) = (private_folder(), Hands::at((FIRST_DAY + 2) * DAY));
    let ledger = open(folder.path(), &hands);
    write(&ledger, Verb::Report, OPERATOR, exact(1)).expect("durable");
    drop(ledger);
    let ledger = open_without_journal(folder.path(), &hands, config());
    ledger.set_peers(&[peer(1, 7, 7, 0)]).expect("durable");
    (folder, hands, ledger)
}

/// Points for spam and for ham.
fn points(ledger: &Ledger, number: u64) -> (u32, u32) {
    let judged = ledger.check_in_memory(&exact(number));
    judged.reasons.first().map_or((0, 0), |reason| (reason.weight, reason.against))
}

fn hear(ledger: &Ledger, sequence: u64, verb: Verb, number: u64) {
    let record = said(verb, 3, 10, FIRST_DAY + 2, exact(number));
    ledger.commit_link(heard(1, sequence, vec![record])).expect("durable");
}

#[test]
fn a_peers_word_does_not_erase_what_lost_records_said() {
    let (folder, hands, ledger) = begun();
    assert_eq!(points(&ledger, 1), (10, 0));
    hear(&ledger, 1, Verb::Revoke, 1);
    assert_eq!(points(&ledger, 1), (10, 7));
    hear(&ledger, 2, Verb::Report, 1);
    assert_eq!(points(&ledger, 1), (17, 0));
    // A start that replays them, and one from a snapshot that has them.
    let copy = private_folder();
    copy_all(folder.path(), copy.path());
    let killed = open(copy.path(), &hands);
    assert_eq!(points(&killed, 1), (17, 0), "after a kill");
    hear(&killed, 3, Verb::Withdraw, 1);
    assert_eq!(points(&killed, 1), (10, 0), "and later");
    drop(ledger);
    let ledger = open(folder.path(), &hands);
    assert_eq!(points(&ledger, 1), (17, 0), "after a restart");
    hear(&ledger, 3, Verb::Withdraw, 1);
    assert_eq!(points(&ledger, 1), (10, 0), "a peer takes back its own word only");
}

#[test]
fn peers_that_change_or_go_take_their_own_words_along_and_no_lost_ones() {
    let (_folder, _hands, ledger) = begun();
    for number in [1, 2] {
        hear(&ledger, number, Verb::Report, number);
    }
    ledger.set_peers(&[peer(1, 3, 7, 0)]).expect("durable");
    assert_eq!([1, 2].map(|number| points(&ledger, number)), [(13, 0), (3, 0)]);
    ledger.set_peers(&[]).expect("durable");
    assert_eq!([1, 2].map(|number| points(&ledger, number)), [(10, 0), (0, 0)]);
}

#[test]
fn a_full_weight_word_replaces_what_lost_records_said_beside_a_peers() {
    let (_folder, _hands, ledger) = begun();
    hear(&ledger, 1, Verb::Report, 1);
    write(&ledger, Verb::Revoke, OPERATOR, exact(1)).expect("durable");
    assert_eq!(points(&ledger, 1), (7, 10), "the peer's for spam, the operator's for ham");
    assert_eq!(ledger.check_in_memory(&exact(1)).verdict, Verdict::Unknown);
    hear(&ledger, 2, Verb::Withdraw, 1);
    assert_eq!(ledger.check_in_memory(&exact(1)).verdict, Verdict::Ham);
}

#[test]
fn peers_words_expire_beside_lost_ones_that_stay() {
    let (folder, hands) = (private_folder(), Hands::at((FIRST_DAY + 2) * DAY));
    let kept = LedgerConfig { record_generations: 5, ..config() };
    let ledger = open_with(folder.path(), &hands, kept.clone());
    write(&ledger, Verb::Report, OPERATOR, exact(1)).expect("durable");
    drop(ledger);
    let ledger = open_without_journal(folder.path(), &hands, kept);
    ledger.set_peers(&[peer(1, 7, 7, 0)]).expect("durable");
    let records = [1, 2].map(|number| said(Verb::Report, 3, 10, FIRST_DAY, exact(number))).to_vec();
    ledger.commit_link(heard(1, 1, records)).expect("durable");
    assert_eq!([1, 2].map(|number| points(&ledger, number)), [(17, 0), (7, 0)]);
    for _ in 0..3 {
        hands.pass(DAY);
        settle(&ledger);
    }
    assert_eq!([1, 2].map(|number| points(&ledger, number)), [(10, 0), (0, 0)]);
}

#[test]
fn a_full_tally_keeps_what_lost_records_said_when_a_word_is_taken_back() {
    let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
    let mut link = seenit_ledger::Case::new();
    link.push(Kind::Url1, &digest::<20>(1)).expect("a digest");
    let spam = |ledger: &Ledger| ledger.check_in_memory(&link).reasons[0].weight;
    let named = |ledger: &Ledger, number: u64| -> ReporterId {
        ledger.put_reporter(&format!("r{number}"), Some(10)).expect("durable").id
    };
    let ledger = open(folder.path(), &hands);
    for number in 0..52 {
        write(&ledger, Verb::Report, named(&ledger, number), link.clone()).expect("durable");
    }
    assert_eq!(spam(&ledger), 511, "520 points fill nine bits");
    drop(ledger);
    let ledger = open_without_journal(folder.path(), &hands, config());
    // What any of the 52 says again may be counted already: that is void, and nothing is taken back with it.
    let again = named(&ledger, 0);
    for who in [again, OPERATOR] {
        write(&ledger, Verb::Report, who, link.clone()).expect("durable");
        write(&ledger, Verb::Withdraw, who, link.clone()).expect("durable");
        assert_eq!(spam(&ledger), if who == again { 511 } else { 501 });
    }
}
