//! rspamd's: keys of accounts, and labels.

use std::sync::Arc;

use seenit_signature::Kind;
use seenit_wire::fuzzy::SecretKey;

use super::Fuzzy;
use crate::accounts::Role;
use crate::clients::tests::{Office, abroad, home, until};
use crate::secrets::Protocol;

/// The key that rspamd sealed the captured commands for, made for tests and for nothing else.
const CAPTURED_KEY: &str = "afmhzihyy9cxxh6pg6yk1f8pm86gt3yj9n7ah9qphiz3rk8ozchy";

pub(in crate::clients) const DIGEST: [u8; 64] = [5; 64];

pub(in crate::clients) const CHECK: u8 = 0;
const WRITE: u8 = 1;
const DELETE: u8 = 2;

/// A command in the clear, without shingles.
pub(in crate::clients) fn command(action: u8, flag: u8, value: i32, tag: u32) -> Vec<u8> {
    [&[4, action, 0, flag][..], &value.to_le_bytes(), &tag.to_le_bytes(), &DIGEST].concat()
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
    let check = || told(&office.ask(&fuzzy, home(), &command(CHECK, 0, 0, 1)));
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
    let check = || told(&office.ask(&fuzzy, home(), &command(CHECK, 0, 0, 1)));
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
fn a_stranger_may_check_and_whoever_seals_for_an_accounts_key_is_that_account() {
    let office = Office::open();
    let fuzzy = fuzzy(&office);
    assert_eq!(told(&office.ask(&fuzzy, abroad(), &command(CHECK, 0, 0, 1))), (0, 0));
    assert_eq!(told(&office.ask(&fuzzy, abroad(), &command(WRITE, 1, 1, 2))), (403, 0));
    let sealed = include_str!("../../../../wire/tests/vectors/fuzzy/sealed.tsv");
    let rows = sealed.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
    let is_write = |plain: &[u8]| plain[1] == WRITE;
    let (request, plain) = rows
        .map(|mut row| {
            let mut next = || const_hex::decode(row.next().expect("a field")).expect("hexadecimal");
            (next(), next())
        })
        .find(|(_, plain)| is_write(plain))
        .expect("a captured addition");
    assert!(office.ask(&fuzzy, abroad(), &request).is_empty(), "sealed for a key that is nobody's");
    office.account("mx", &[Role::Report], Protocol::Fuzzy, CAPTURED_KEY);
    assert!(office.ask(&fuzzy, abroad(), &request).is_empty(), "answered when it is durable");
    until("the addition", || office.records("mx") > 0);
    let label = [&plain[3..4], &plain[12..76]].concat();
    let value = i32::from_le_bytes(plain[4..8].try_into().expect("four bytes"));
    assert_eq!(i32::from(office.desk.look_up(Kind::RspamdLabel, &label).raw), value.min(20));
    office.desk.state.secrets.remove_account("mx").expect("removed");
    assert!(office.ask(&fuzzy, abroad(), &request).is_empty(), "nobody's again");
    assert_eq!(i32::from(office.desk.look_up(Kind::RspamdLabel, &label).raw), value.min(20));
}
