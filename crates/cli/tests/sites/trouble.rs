//! What can happen to sites and to the broker between them.

use crate::common::hosts::Hosts;
use crate::faults;
use crate::network::{Network, SITES};

/// Nodes of the broker are killed, one by one and all at once; sites are killed; and nothing is lost.
#[test]
fn nodes_and_sites_that_are_killed_come_back_and_agree() {
    if let Some(network) = Network::form(3) {
        kill_and_agree(network);
    }
}

pub(crate) fn kill_and_agree(mut network: Network) {
    let first = network.mail(1);
    network.say(0, "report", &first);
    network.nats.kill(0);
    let second = network.mail(2);
    network.say(1, "report", &second);
    network.see(1, &second, 5);
    network.kill(2);
    network.nats.begin(0);
    let third = network.mail(3);
    network.say(0, "report", &third);
    network.start(2);
    network.until("all know all spam", |network| {
        (0..SITES)
            .all(|site| [&first, &second, &third].iter().all(|mail| network.verdict(site, mail) == "spam"))
    });
    // With no broker at all a site answers and journals.
    (0..3).for_each(|node| network.nats.kill(node));
    let fourth = network.mail(4);
    let receipt = network.say(2, "report", &fourth);
    network.see(2, &fourth, 9);
    assert_eq!(network.verdict(2, &fourth), "spam");
    let reach = network.receipt(2, &receipt)["reach"].as_str().expect("a sentence").to_owned();
    assert!(reach.starts_with("applied at 1 of 3, waiting for"), "{reach}");
    (0..3).for_each(|node| network.nats.begin(node));
    network.nats.wait();
    network.until("all know what was said meanwhile", |network| {
        (0..SITES).all(|site| network.verdict(site, &fourth) == "spam" && network.seen(site, &fourth) >= 9)
    });
    network.agree();
}

/// A site is put back to a backup: it begins a new incarnation, gets back what others hold of it, and says what it has.
#[test]
fn a_site_that_is_restored_from_a_backup_begins_a_new_life() {
    let Some(mut network) = Network::form(1) else { return };
    let before = network.mail(1);
    network.say(0, "report", &before);
    network.until("all know", |network| (0..SITES).all(|site| network.verdict(site, &before) == "spam"));
    let incarnation = network.status(0)["incarnation"].clone();
    assert!(!incarnation.is_null(), "it says which");
    network.kill(0);
    network.copy(0, "data", "backup");
    network.start(0);
    let lost = network.mail(2);
    network.say(0, "report", &lost);
    network.see(0, &lost, 3);
    network.until("all know it", |network| {
        (0..SITES).all(|site| network.verdict(site, &lost) == "spam" && network.seen(site, &lost) >= 3)
    });
    network.kill(0);
    network.copy(0, "backup", "data");
    network.start(0);
    let after = network.mail(3);
    network.say(0, "report", &after);
    network.until("a new incarnation has begun", |network| {
        let now = &network.status(0)["incarnation"];
        !now.is_null() && *now != incarnation
    });
    network.until("all know all", |network| {
        (0..SITES)
            .all(|site| [&before, &lost, &after].iter().all(|mail| network.verdict(site, mail) == "spam"))
    });
    network.until("what was seen is counted again", |network| network.seen(0, &lost) >= 3);
    network.agree();
}

/// A site that hears nobody goes on by itself, and the others without it.
#[test]
fn sites_that_are_cut_off_agree_afterwards() {
    let Some(network) = Network::form(3) else { return };
    network.serving(1).process.signal("STOP");
    let mail = network.mail(1);
    let receipt = network.say(0, "report", &mail);
    network.until("the others know", |network| network.verdict(2, &mail) == "spam");
    network.until("the receipt names who is silent", |network| {
        let reach = network.receipt(0, &receipt)["reach"].as_str().expect("a sentence").to_owned();
        reach.starts_with("applied at 2 of 3, waiting for site1 (silent ")
    });
    network.serving(1).process.signal("CONT");
    network.nats.stop(2);
    let other = network.mail(2);
    network.say(0, "revoke", &mail);
    network.say(2, "report", &other);
    network.nats.go_on(2);
    network.until("all know", |network| {
        (0..SITES)
            .all(|site| network.verdict(site, &mail) != "spam" && network.verdict(site, &other) == "spam")
    });
    network.agree();
}

/// A host with a site and a node of the broker is cut off from the others as by a pulled cable: both sides answer and
/// take reports, and agree when the cable is back.
#[test]
fn a_host_whose_cable_was_pulled_agrees_afterwards() {
    let test = "trouble::a_host_whose_cable_was_pulled_agrees_afterwards";
    let Some(hosts) = Hosts::make(SITES, test) else { return };
    let Some(network) = Network::form_at(&hosts.places()) else { return };
    let before = network.mail(1);
    network.say(1, "report", &before);
    network.until("all know", |network| (0..SITES).all(|site| network.verdict(site, &before) == "spam"));
    hosts.cut(1);
    let (here, there) = (network.mail(2), network.mail(3));
    let receipt = network.say(0, "report", &here);
    network.see(0, &here, 4);
    network.say(0, "revoke", &before);
    network.say(1, "report", &there);
    network.see(1, &there, 6);
    network.until("the two that are together agree", |network| {
        network.verdict(2, &here) == "spam" && network.seen(2, &here) >= 4
    });
    network.until("the receipt names who is silent", |network| {
        let reach = network.receipt(0, &receipt)["reach"].as_str().expect("a sentence").to_owned();
        reach.starts_with("applied at 2 of 3, waiting for site1 (silent ")
    });
    assert_eq!((network.verdict(1, &there).as_str(), network.seen(1, &there)), ("spam", 6));
    assert_eq!(network.verdict(1, &here), "unknown", "nothing gets through");
    hosts.mend(1);
    network.until("all know what was said on both sides", |network| {
        (0..SITES).all(|site| {
            [&here, &there].iter().all(|mail| network.verdict(site, mail) == "spam")
                && network.seen(site, &here) >= 4
                && network.seen(site, &there) >= 6
        })
    });
    network.agree();
    network.say(1, "revoke", &before);
    network.until("nobody calls it spam", |network| {
        (0..SITES).all(|site| network.verdict(site, &before) != "spam")
    });
}

/// What a removed site said counts nowhere any more.
#[test]
fn a_site_that_is_removed_takes_its_word_along() {
    let Some(network) = Network::form(1) else { return };
    let (theirs, ours) = (network.mail(1), network.mail(2));
    network.say(2, "report", &theirs);
    network.say(0, "report", &ours);
    network.until("all know", |network| {
        (0..SITES).all(|site| [&theirs, &ours].iter().all(|mail| network.verdict(site, mail) == "spam"))
    });
    network.remove(2);
    network.until("its word is gone", |network| {
        [0, 1]
            .iter()
            .all(|site| network.verdict(*site, &theirs) != "spam" && network.verdict(*site, &ours) == "spam")
    });
    network.until("one other is left", |network| {
        network.status(0)["sites"].as_array().is_some_and(|sites| sites.len() == 1)
    });
}

/// A site whose disk is full answers, takes nothing in, and catches up when there is room again.
#[test]
fn a_site_whose_disk_was_full_catches_up() {
    let Some(library) = faults::library() else { return };
    let Some(mut network) = Network::form(1) else { return };
    network.kill(1);
    let switch = network.path(1, "switch");
    let environment = faults::space(&library, &network.path(1, "data"), &switch, 1);
    network.start_in(1, &environment);
    let before = network.mail(1);
    network.say(0, "report", &before);
    network.until("all know", |network| (0..SITES).all(|site| network.verdict(site, &before) == "spam"));
    std::fs::write(&switch, b"").expect("written");
    let meanwhile: Vec<String> = (2..12).map(|seed| network.mail(seed)).collect();
    for mail in &meanwhile {
        network.say(0, "report", mail);
        network.see(2, mail, 4);
    }
    let knows = |network: &Network, site: usize| {
        meanwhile.iter().all(|mail| network.verdict(site, mail) == "spam" && network.seen(site, mail) >= 4)
    };
    network.until("the others know", |network| knows(network, 0) && knows(network, 2));
    assert_eq!(network.verdict(1, &before), "spam", "it answers what it knows");
    std::fs::remove_file(&switch).expect("removed");
    network.until("it has caught up", |network| knows(network, 1));
    network.agree();
}
