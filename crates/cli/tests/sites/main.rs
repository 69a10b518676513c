//! Guards sites together, with real servers: three nodes of the broker and three sites, which are killed, cut off,
//! restored from backups and run out of disk; and in the end they agree.

#[path = "../common/mod.rs"]
mod common;
#[path = "../crash/faults.rs"]
#[expect(dead_code, reason = "power cuts are the crash tests'")]
mod faults;
mod found;
mod network;
mod newer;
mod trouble;

use network::Network;

/// What one site learns all know, and the receipt says so; what is taken back is taken back everywhere.
#[test]
fn what_one_site_learns_all_know() {
    let Some(network) = Network::form(1) else { return };
    let mail = network.mail(1);
    let receipt = network.say(0, "report", &mail);
    network.until("all know the spam", |network| (0..3).all(|site| network.verdict(site, &mail) == "spam"));
    network.until("the receipt says so", |network| {
        network.receipt(0, &receipt)["reach"].as_str() == Some("applied at 3 of 3")
    });
    network.say(0, "revoke", &mail);
    network
        .until("nobody calls it spam", |network| (0..3).all(|site| network.verdict(site, &mail) != "spam"));
    network.see(2, &mail, 7);
    network.until("all count the recipients", |network| (0..3).all(|site| network.seen(site, &mail) >= 7));
    network.agree();
}
