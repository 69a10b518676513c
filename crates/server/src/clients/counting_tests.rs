//! That a check is a sighting where its protocol means "I got this", once for each message that arrives.

use std::sync::Arc;

use seenit_signature::Kind;
use seenit_signature::razor::{E4, E8};
use seenit_wire::razor::{Command, Query, Signature};

use super::fuzzy::tests::{CHECK, DIGEST, command, fuzzy};
use super::pyzor::Pyzor;
use super::razor::tests::{Talk, run};
use super::tests::{Office, abroad, home, pyzor_request_of_thread};
use crate::config::Config;

const CHECKS: u16 = 12;

impl Office {
    fn seen(&self, kind: Kind, digest: &[u8]) -> u64 {
        self.desk.sightings(kind, digest).recipients
    }
}

#[test]
fn after_so_many_pyzor_checks_the_seen_count_says_so() {
    let office = Office::open();
    let pyzor = Pyzor::new(Arc::clone(&office.desk));
    let ask = |thread, op, from| {
        let answer = office.ask(&pyzor, from, &pyzor_request_of_thread(thread, op, [7; 20], None));
        assert!(answer.starts_with(b"Code: 200"), "{}", String::from_utf8_lossy(&answer));
    };
    (0..CHECKS).for_each(|number| ask(2000 + number, "check", home()));
    assert_eq!(office.seen(Kind::Pyzor, &[7; 20]), u64::from(CHECKS));
    ask(2000, "check", home());
    assert_eq!(office.seen(Kind::Pyzor, &[7; 20]), u64::from(CHECKS), "a copy of a datagram");
    ask(3000, "info", home());
    ask(3001, "ping", home());
    assert_eq!(office.seen(Kind::Pyzor, &[7; 20]), u64::from(CHECKS), "nobody got a message");
    (2000..2100).for_each(|thread| ask(thread, "check", abroad()));
    assert_eq!(office.seen(Kind::Pyzor, &[7; 20]), u64::from(CHECKS), "what strangers see is kept apart");
}

#[test]
fn after_so_many_rspamd_checks_the_seen_count_says_so() {
    let office = Office::open();
    let fuzzy = fuzzy(&office);
    let check = |tag| assert!(!office.ask(&fuzzy, home(), &command(CHECK, 0, 0, tag)).is_empty());
    (0..CHECKS).for_each(|tag| check(tag.into()));
    assert_eq!(office.seen(Kind::Rspamd, &DIGEST), u64::from(CHECKS));
    check(0);
    assert_eq!(office.seen(Kind::Rspamd, &DIGEST), u64::from(CHECKS), "a retransmission has the same tag");
}

#[test]
fn after_so_many_razor_checks_the_seen_count_says_so() {
    run(async {
        let office = Office::open();
        let mut talk = Talk::at_home(&office);
        for signature in [Signature::E4(E4([5; 20])), Signature::E8(E8([6; 8]))] {
            for _ in 0..CHECKS {
                let answer = talk.ask(Command::Check(Query { signature, ep4: None })).await;
                assert_eq!(answer, "p=0");
            }
        }
        assert_eq!(office.seen(Kind::RazorE4, &[5; 20]), u64::from(CHECKS));
        assert_eq!(office.seen(Kind::RazorE8, &[6; 8]), 0, "a host is no message");
    });
}

#[test]
fn checks_count_nobody_where_the_operator_says_so() {
    let mut config = Config::default();
    config.clients.see = false;
    let office = Office::open_with(config);
    let pyzor = Pyzor::new(Arc::clone(&office.desk));
    let request = pyzor_request_of_thread(2000, "check", [7; 20], None);
    assert!(office.ask(&pyzor, home(), &request).starts_with(b"Code: 200"));
    assert!(!office.ask(&fuzzy(&office), home(), &command(CHECK, 0, 0, 1)).is_empty());
    assert_eq!((office.seen(Kind::Pyzor, &[7; 20]), office.seen(Kind::Rspamd, &DIGEST)), (0, 0));
}
