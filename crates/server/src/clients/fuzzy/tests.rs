//! rspamd's: keys of accounts, and labels.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use seenit_signature::Kind;
use seenit_wire::fuzzy::SecretKey;

use super::Fuzzy;
use crate::accounts::Role;
use crate::clients::tests::{Office, abroad, home, until};
use crate::secrets::Protocol;

/// The key that rspamd sealed the captured commands for, made for tests and for nothing else.
pub(in crate::clients) const CAPTURED_KEY: &str = "afmhzihyy9cxxh6pg6yk1f8pm86gt3yj9n7ah9qphiz3rk8ozchy";

pub(in crate::clients) const DIGEST: [u8; 64] = [5; 64];

pub(in crate::clients) const CHECK: u8 = 0;
const WRITE: u8 = 1;
const DELETE: u8 = 2;

/// A command in the clear, without shingles.
pub(in crate::clients) fn command(action: u8, flag: u8, value: i32, tag: u32) -> Vec<u8> {
    [&[4, action, 0, flag][..], &value.to_le_bytes(), &tag.to_le_bytes(), &DIGEST].concat()
}

/// The same of a text: with shingles.
fn command_of_text(action: u8, flag: u8, value: i32, tag: u32) -> Vec<u8> {
    let mut bytes = command(action, flag, value, tag);
    bytes[2] = 32;
    bytes.extend([9; 32 * 8]);
    bytes
}

/// Where a message is asked about from: each has a port of its own.
fn ports() -> impl Iterator<Item = SocketAddr> {
    (10_000..).map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Value and flag of a reply in the clear.
fn told(reply: &[u8]) -> (i32, u32) {
    let number = |at: usize| u32::from_le_bytes(reply[at..at + 4].try_into().expect("four bytes"));
    (number(0).cast_signed(), number(4))
}

pub(in crate::clients) fn fuzzy(office: &Office) -> Fuzzy {
    Fuzzy::new(Arc::clone(&office.desk), SecretKey::from_bytes([7; 32]))
}

#[test]
fn labels_are_answered_with_the_highest_value_and_are_no_opinion() {
    let office = Office::open();
    let fuzzy = fuzzy(&office);
    let ports = RefCell::new(ports());
    let check = || {
        let port = ports.borrow_mut().next().expect("a port");
        told(&office.ask(&fuzzy, port, &command_of_text(CHECK, 0, 0, 1)))
    };
    let mut tag = 10;
    let mut say = |action, flag, value| {
        tag += 1;
        let before = office.records("local");
        assert!(office.ask(&fuzzy, home(), &command(action, flag, value, tag)).is_empty());
        until("the write", || office.records("local") > before);
    };
    assert_eq!(check(), (0, 0));
    say(WRITE, 12, 3);
    until("the label", || check() == (3, 12));
    let digest = [&[12][..], &DIGEST].concat();
    assert_eq!(office.desk.look_up(Kind::RspamdLabel, &digest).verdict, Default::default(), "no opinion");
    assert_eq!(office.desk.look_up(Kind::Rspamd, &DIGEST).raw, 0);
    say(WRITE, 40, 5);
    until("the other label", || check() == (5, 40));
    say(WRITE, 1, 4);
    until("the report", || office.desk.look_up(Kind::Rspamd, &DIGEST).raw == 4);
    assert_eq!(check(), (5, 40), "the highest value of all");
    say(WRITE, 1, 6);
    until("the second report", || check() == (10, 1));
    say(DELETE, 1, 0);
    until("the withdrawal", || check() == (5, 40));
    say(DELETE, 40, 0);
    until("the label's end", || check() == (3, 12));
    say(DELETE, 0, 0);
    until("the end of all", || check() == (0, 0));
    say(WRITE, 40, 2);
    until("a label anew", || check() == (7, 40));
    say(WRITE, 12, 1);
    until("another anew", || office.desk.look_up(Kind::RspamdLabel, &digest).raw > 0);
    assert_eq!(check(), (7, 40), "raw totals are of all that was ever said");
}

#[test]
fn spam_is_answered_with_the_flag_that_most_of_its_reports_came_under() {
    let office = Office::open();
    let fuzzy = fuzzy(&office);
    let ports = RefCell::new(ports());
    let check = || {
        let port = ports.borrow_mut().next().expect("a port");
        told(&office.ask(&fuzzy, port, &command_of_text(CHECK, 0, 0, 1)))
    };
    assert!(office.ask(&fuzzy, home(), &command(WRITE, 2, 3, 11)).is_empty());
    until("the report under flag 2", || check() == (3, 2));
    assert!(office.ask(&fuzzy, home(), &command(WRITE, 1, 4, 12)).is_empty());
    until("the report under flag 1", || check() == (7, 1));
    assert!(office.ask(&fuzzy, home(), &command(DELETE, 1, 0, 13)).is_empty());
    until("the deletion", || check() == (0, 0));
    assert!(office.ask(&fuzzy, home(), &command(WRITE, 1, 1, 14)).is_empty());
    until("the report after it", || check() == (8, 1));
}

#[test]
fn a_part_that_was_reported_is_no_spam_beside_a_text_that_was_not() {
    let office = Office::open();
    let fuzzy = fuzzy(&office);
    assert!(office.ask(&fuzzy, home(), &command_of_text(WRITE, 1, 4, 1)).is_empty());
    until("the report", || office.desk.look_up(Kind::Rspamd, &DIGEST).raw == 4);
    let mut ports = ports();
    let mut ask = |before: Option<[u8; 64]>, question: Vec<u8>| {
        let port = ports.next().expect("a port");
        if let Some(digest) = before {
            let mut text = command_of_text(CHECK, 0, 0, 7);
            text[12..76].copy_from_slice(&digest);
            text[76..].fill(3);
            office.ask(&fuzzy, port, &text);
        }
        told(&office.ask(&fuzzy, port, &question))
    };
    let text = || command_of_text(CHECK, 0, 0, 2);
    assert_eq!(ask(None, text()), (4, 1));
    assert_eq!(ask(Some(DIGEST), text()), (4, 1), "the same text twice");
    assert_eq!(ask(Some([6; 64]), text()), (0, 0), "a footer below a text that nobody reported");
    assert_eq!(ask(None, command(CHECK, 0, 0, 3)), (0, 0), "a logo: its digest comes without shingles");
}

/// An addition that rspamd sealed for [`CAPTURED_KEY`], and the same in the clear.
pub(in crate::clients) fn captured_addition() -> (Vec<u8>, Vec<u8>) {
    let sealed = include_str!("../../../../wire/tests/vectors/fuzzy/sealed.tsv");
    let rows = sealed.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
    let is_write = |plain: &[u8]| plain[1] == WRITE;
    let mut additions = rows
        .map(|mut row| {
            let mut next = || const_hex::decode(row.next().expect("a field")).expect("hexadecimal");
            (next(), next())
        })
        .filter(|(_, plain)| is_write(plain));
    additions.next().expect("a captured addition")
}

#[test]
fn a_stranger_may_check_and_whoever_seals_for_an_accounts_key_is_that_account() {
    let office = Office::open();
    let fuzzy = fuzzy(&office);
    // With the domain of its sender, as rspamd sends it: a stranger gets no answer that is longer than its question.
    let long = |command: Vec<u8>| [&command[..], &[b'd', 20], &[b'x'; 20]].concat();
    assert!(office.ask(&fuzzy, abroad(), &command(CHECK, 0, 0, 1)).is_empty());
    assert_eq!(told(&office.ask(&fuzzy, abroad(), &long(command(CHECK, 0, 0, 1)))), (0, 0));
    assert_eq!(told(&office.ask(&fuzzy, abroad(), &long(command(WRITE, 1, 1, 2)))), (403, 0));
    let (request, plain) = captured_addition();
    assert!(office.ask(&fuzzy, abroad(), &request).is_empty(), "sealed for a key that is nobody's");
    office.account("mx", &[Role::Report], Protocol::Fuzzy, CAPTURED_KEY);
    assert!(office.ask(&fuzzy, abroad(), &request).is_empty(), "answered when it is durable");
    until("the addition", || office.records("mx") > 0);
    let label = [&plain[3..4], &plain[12..76]].concat();
    let value = i32::from_le_bytes(plain[4..8].try_into().expect("four bytes"));
    assert_eq!(i32::from(office.desk.look_up(Kind::RspamdLabel, &label).raw), value.min(20));
    office.desk.backend.secrets.remove_account("mx").expect("removed");
    assert!(office.ask(&fuzzy, abroad(), &request).is_empty(), "nobody's again");
    assert_eq!(i32::from(office.desk.look_up(Kind::RspamdLabel, &label).raw), value.min(20));
}
