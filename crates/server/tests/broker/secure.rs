//! TLS to the broker: a must where it is asked for, and only with a certificate that is trusted.

use std::fs;

use seenit_server::broker::{Login, Operator, Servers, SiteLogin, nkey};

use crate::nats::Nats;
use crate::site::{Running, admin, admin_user, make, site, users};

fn connect(servers: Servers) -> Result<(), String> {
    Operator::connect(&servers, admin().public()).map(drop).map_err(|error| error.to_string())
}

#[test]
fn tls_is_spoken_with_those_whose_authority_is_known() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    fs::write(&certificate, made.cert.pem()).expect("written");
    fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let tls = format!("tls {{ cert_file: {certificate:?}, key_file: {key:?} }}\n{}", users());
    let Some(nats) = Nats::start(1, &tls) else { return };
    let login = || Login::User(admin_user());
    let trusting = Servers::new(nats.urls(), login(), Some(certificate.clone()), false).expect("an address");
    connect(trusting).expect("its authority is known");
    let doubting = Servers::new(nats.urls(), login(), None, false).expect("an address");
    connect(doubting).expect_err("nobody knows its authority");
    let wrong = Servers::new(nats.urls(), login(), Some(key), false).expect("an address");
    assert!(connect(wrong).expect_err("no certificate").contains("there is no certificate in it"));
}

#[test]
fn a_server_without_tls_is_left_alone_where_tls_is_a_must() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    let login = Login::User(admin_user());
    let strict = Servers { addresses: nats.urls(), login, ca: None, may_be_plain: false };
    connect(strict.clone()).expect_err("no TLS");
    connect(Servers { may_be_plain: true, ..strict }).expect("plain will do");
}

#[test]
fn a_broker_from_before_jwts_lets_in_whom_it_knows_by_key() {
    let [key, other] = [admin().broker_key().public(), site(1).broker_key().public()].map(|key| nkey(&key));
    let users = format!(
        "accounts {{ SEENIT {{ jetstream: enabled, users: [ {{ nkey: {key} }}, {{ nkey: {other} }} ] }} }}"
    );
    let Some(nats) = Nats::start(1, &users) else { return };
    // The admin shows its JWT, too, which such a broker does not look at.
    make(&nats.urls(), 1);
    let data = tempfile::tempdir().expect("a folder");
    let login = Login::Site(SiteLogin::new(&site(1), admin().public(), data.path()));
    Running::start_as(&nats.urls(), 1, login, vec![]).up();
}
