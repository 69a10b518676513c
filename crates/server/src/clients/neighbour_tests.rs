//! That nobody silences an account by being in its client network, or by forging an address there: what proves nothing
//! costs the account nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use seenit_signature::Kind;
use seenit_wire::razor::Command;

use super::dcc::Dcc;
use super::fuzzy::tests::{CAPTURED_KEY, captured_addition, fuzzy};
use super::pyzor::Pyzor;
use super::razor::tests::{Talk, run};
use super::tests::{ANSWER, NOP, Office, QUERY, REPORT, abroad, captured, pyzor_request_of_thread, until};
use crate::accounts::{Role, Roles};
use crate::config::Config;
use crate::limits::Spending;
use crate::secrets::Protocol;
use crate::who::Who;

/// Requests that prove nothing: more than any bucket below holds.
const FLOOD: u16 = 2_000;

/// Another address of the client network that the account is in.
fn neighbour() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 77], 4000))
}

/// A desk where a network writes one case a second: a flood uses up what it has saved up at once.
fn office() -> Office {
    let mut config = Config::default();
    config.limits.network_writes_per_sec = 1;
    config.limits.burst_secs = 1;
    Office::open_with(config)
}

impl Office {
    /// What is left for those of the client network who have no account.
    fn strangers_may_write(&self) -> bool {
        self.desk.may(&Who::Stranger, abroad().ip(), Spending::Writes, 1)
    }
}

#[test]
fn wrong_signatures_of_a_neighbour_do_not_silence_an_account_of_pyzor() {
    let office = office();
    let pyzor = Pyzor::new(Arc::clone(&office.desk));
    office.account("mx", &[Role::Report], Protocol::Pyzor, "open-sesame");
    let ask = |from, thread, op, key| {
        let request = pyzor_request_of_thread(thread, op, [7; 20], Some(("mx", key)));
        let answer = office.ask(&pyzor, from, &request);
        String::from_utf8(answer).expect("text").lines().next().map(str::to_owned)
    };
    let refused: Vec<_> =
        (0..FLOOD).map(|thread| ask(neighbour(), thread, "report", "open-barley")).collect();
    assert_eq!(refused[0].as_deref(), Some("Code: 401"));
    assert_eq!(refused[refused.len() - 1].as_deref(), Some("Code: 403"), "a flood has had too many");
    assert_eq!(ask(abroad(), 1, "check", "open-sesame").as_deref(), Some("Code: 200"));
    assert_eq!(ask(abroad(), 2, "report", "open-sesame"), None, "answered when it is durable");
    until("the report", || office.desk.look_up(Kind::Pyzor, &[7; 20]).raw == 1);
    assert!(office.strangers_may_write(), "nor does it silence those without an account");
}

#[test]
fn forged_datagrams_that_prove_nothing_do_not_silence_an_account_of_dcc() {
    let office = office();
    let dcc = Dcc::new(Arc::clone(&office.desk)).expect("no list to read");
    office.account("dcc-32768", &[Role::Report], Protocol::Dcc, "clntsecret");
    let signed = captured("09-auth-report.hex", REPORT);
    let nop = captured("01-nop-anon.hex", NOP);
    (0..FLOOD).for_each(|_| drop(office.ask(&dcc, neighbour(), &nop)));
    assert!(office.strangers_may_write(), "a question whether we are there is no write");
    let query = office.ask(&dcc, neighbour(), &captured("03-query-anon-unknown.hex", QUERY));
    assert_eq!(query.get(3), Some(&ANSWER));
    // One that is signed wrongly counts as one of somebody without an account, and uses up what those have.
    let mut wrong = signed.clone();
    *wrong.last_mut().expect("a signature") ^= 1;
    (0..FLOOD).for_each(|_| drop(office.ask(&dcc, neighbour(), &wrong)));
    assert_eq!(office.ask(&dcc, abroad(), &signed).get(3), Some(&ANSWER), "the account is answered");
}

#[test]
fn names_that_a_neighbour_tries_do_not_silence_an_account_of_razor() {
    run(async {
        let office = office();
        office.account("mx", &[Role::Report], Protocol::Razor, "open-sesame");
        let mut flood = Talk::beyond(&office, neighbour());
        let mut said = String::new();
        for _ in 0..FLOOD {
            said = flood.ask(Command::Identify { user: b"nobody"[..].into() }).await;
        }
        assert_eq!(said, "err=503", "a flood is told to wait");
        for _ in 0..FLOOD {
            said = flood.log_in("mx", "open-barley").await;
        }
        assert_eq!(said, "err=503", "a flood is told to wait");
        assert_eq!(Talk::beyond(&office, abroad()).log_in("mx", "open-sesame").await, "res=1");
        assert!(office.strangers_may_write());
    });
}

#[test]
fn new_keys_of_a_neighbour_do_not_silence_an_account_of_rspamd() {
    let office = office();
    let fuzzy = fuzzy(&office);
    office.account("mx", &[Role::Report], Protocol::Fuzzy, CAPTURED_KEY);
    let (request, _) = captured_addition();
    for number in 0..FLOOD {
        let mut forged = request.clone();
        // Behind four bytes that say it is sealed: the name of our key, then the client's own key.
        forged[4] ^= 1;
        forged[12..14].copy_from_slice(&number.to_le_bytes());
        office.ask(&fuzzy, neighbour(), &forged);
    }
    assert!(office.strangers_may_write());
    assert!(office.ask(&fuzzy, abroad(), &request).is_empty(), "answered when it is durable");
    until("the addition", || office.records("mx") > 0);
}

#[test]
fn an_account_spends_its_own_and_one_that_registered_itself_its_networks_as_well() {
    let office = office();
    let backend = &office.desk.backend;
    office.account("mx", &[Role::Report], Protocol::Pyzor, "open-sesame");
    let reporter = backend.ledger.admit_reporter("razor.bob").expect("durable").id;
    let roles = Roles::from_iter([Role::Report]);
    backend.accounts.register("razor.bob", roles, reporter, 0).expect("an account");
    let may = |who: &Who| office.desk.may(who, abroad().ip(), Spending::Writes, 100);
    let [mx, bob] = ["mx", "razor.bob"].map(|name| Who::Account(backend.accounts.get(name).expect("made")));
    assert!(may(&bob), "there is something left");
    while may(&Who::Stranger) {}
    assert!(!may(&bob), "whoever registers often has no more than its network");
    let granted = std::iter::repeat_with(|| may(&mx)).take(1_000).take_while(|granted| *granted).count();
    assert!((10..1_000).contains(&granted), "its own limit alone: {granted}");
}
