//! DCC under siege.

use seenit_wire::dcc::{Body, Request};

use crate::common::Folder;
use crate::datagrams::bombard;
use crate::siege::Siege;

/// What DCC's own programs sent and were answered.
const CAPTURES: [&str; 13] = [
    include_str!("../../../wire/tests/vectors/dcc/01-nop-anon.hex"),
    include_str!("../../../wire/tests/vectors/dcc/02-admn-stats-anon.hex"),
    include_str!("../../../wire/tests/vectors/dcc/03-query-anon-unknown.hex"),
    include_str!("../../../wire/tests/vectors/dcc/04-report-anon-first.hex"),
    include_str!("../../../wire/tests/vectors/dcc/05-report-anon-second.hex"),
    include_str!("../../../wire/tests/vectors/dcc/06-query-anon-after-11.hex"),
    include_str!("../../../wire/tests/vectors/dcc/07-report-spam.hex"),
    include_str!("../../../wire/tests/vectors/dcc/08-report-after-many.hex"),
    include_str!("../../../wire/tests/vectors/dcc/09-auth-report.hex"),
    include_str!("../../../wire/tests/vectors/dcc/10-auth-wrong-password.hex"),
    include_str!("../../../wire/tests/vectors/dcc/11-admin-delete.hex"),
    include_str!("../../../wire/tests/vectors/dcc/13-server-whitelist.hex"),
    include_str!("../../../wire/tests/vectors/dcc/20-synth-v23-report.hex"),
];

/// The operation of an answer that says that a server is there.
const OK: u8 = 6;

/// What tells an answer to the question from all others.
const NUMBERS: [u8; 16] = *b"is anybody there";

fn captured() -> Vec<Vec<u8>> {
    let lines = CAPTURES.iter().flat_map(|capture| capture.lines());
    let sent = lines.filter_map(|line| line.strip_prefix("C>S "));
    sent.map(|packet| hex::decode(packet).expect("hexadecimal")).collect()
}

/// What is left of a report may still be one. Deletions are signed, and what is signed does not survive a change.
fn is_write(datagram: &[u8]) -> bool {
    Request::decode(datagram).is_ok_and(|request| matches!(request.body, Body::Report(..)))
}

#[test]
fn half_a_million_datagrams_do_dcc_no_harm() {
    let folder = Folder::new();
    let siege = Siege::lay(&folder, "dcc");
    let sound = captured();
    // Length, version, operation, sender, and no signature.
    let question = [&[0, 40, 12, 1, 0, 0, 0, 1], &NUMBERS[..], &[0; 16]].concat();
    let is_answer = |answer: &[u8]| answer.get(3) == Some(&OK) && answer.get(8..24) == Some(&NUMBERS);
    bombard(siege, &question, is_answer, |dice| dice.hostile_but(&sound, is_write));
}
