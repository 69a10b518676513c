//! The laws of records, checked on whatever bytes a peer, or a damaged journal, comes up with.

use seenit_ledger::record::Record;
use seenit_ledger::trust::POINTS_MAX;

/// The peer that the record is taken for one of.
const SLOT: u16 = 3;

/// Reads the input as a record of this site's journal, and as one that was heard from a peer.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    let Ok(record) = Record::decode(input) else {
        assert!(Record::heard(input, SLOT).is_err(), "a peer's record is a record");
        return;
    };
    let mut again = Vec::new();
    record.encode(&mut again);
    assert_eq!(Record::decode(&again).as_ref(), Ok(&record), "written again it is read as the same");
    assert!(again.len() <= input.len(), "{} bytes became {}", input.len(), again.len());
    check_heard(input);
    let travelling = record.travelling();
    assert!(Record::decode(&travelling).is_ok(), "what is sent to other sites can be read there");
}

/// What a peer says counts within its limits, and never as this site's own.
fn check_heard(input: &[u8]) {
    let Ok(heard) = Record::heard(input, SLOT) else { return };
    assert!(heard.weight <= POINTS_MAX, "{} points", heard.weight);
    assert_eq!(heard.reporter.slot(), Some(SLOT), "it is the peer's");
    assert!(heard.count == 0 && heard.befores.is_empty(), "what it changed elsewhere says nothing here");
}
