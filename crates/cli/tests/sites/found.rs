//! What a real network of three sites once showed, each as a test: a broker that forgot everything, a site that was
//! removed and admitted again, a folder that ran twice, and a status that said all was well.

use std::time::{Duration, Instant};

use crate::network::{Network, SITES};

/// Records that are said one by one, so that each is a message: more than once waited for a gap to be filled.
const MANY: u64 = 90;

/// Whether every site knows that these are spam.
fn all_know(network: &Network, sites: &[usize], mails: &[String]) -> bool {
    sites.iter().all(|site| mails.iter().all(|mail| network.verdict(*site, mail) == "spam"))
}

/// Reports messages one by one.
fn report(network: &Network, site: usize, seeds: std::ops::Range<u64>) -> Vec<String> {
    let one = |seed: u64| {
        let mail = network.mail(seed);
        network.say(site, "report", &mail);
        mail
    };
    seeds.map(one).collect()
}

/// The broker's store is gone: records wait, the sites say so and what to do; and when the streams are made again,
/// everything arrives, at a site that was away as well.
#[test]
fn a_broker_that_forgot_everything_is_an_alarm_and_then_all_is_said_again() {
    let Some(mut network) = Network::form(1) else { return };
    let before = report(&network, 0, 1..6);
    network.until("all know", |network| all_know(network, &[0, 1, 2], &before));
    network.kill(2);
    network.nats.wipe(0);
    network.nats.begin(0);
    network.nats.wait();
    let meanwhile = report(&network, 0, 6..9);
    network.see(1, &meanwhile[0], 5);
    network.until("the site says that its records wait, and what to do", |network| {
        let (sites, code) = network.sites(0);
        let alarms = sites["alarms"].as_array().cloned().unwrap_or_default();
        let is_told =
            |alarm: &serde_json::Value| alarm.as_str().is_some_and(|one| one.contains("seenit network up"));
        code == 1 && alarms.iter().any(is_told)
    });
    network.up();
    network.start(2);
    network.until("all know everything", |network| {
        all_know(network, &[0, 1, 2], &before) && all_know(network, &[0, 1, 2], &meanwhile)
    });
    network.until("the counts arrive, too", |network| network.seen(2, &meanwhile[0]) >= 5);
    network.agree();
    network.until("all is well again", |network| (0..SITES).all(|site| network.sites(site).1 == 0));
}

/// A site that comes with many messages to catch up with, and a broker that has none of them, gets all from the others.
#[test]
fn a_newcomer_catches_up_though_the_broker_has_nothing() {
    let Some(mut network) = Network::form(1) else { return };
    network.kill(2);
    let mails = report(&network, 0, 1..1 + MANY);
    network.until("the other knows", |network| all_know(network, &[1], &mails));
    network.nats.wipe(0);
    network.nats.begin(0);
    network.nats.wait();
    network.up();
    network.start(2);
    network.until("it knows all", |network| all_know(network, &[2], &mails));
    network.agree();
}

/// A site is put back to a backup, removed and admitted again: what it says now and said before is known everywhere,
/// and it can take back its own.
#[test]
fn a_site_that_was_removed_and_admitted_again_is_known_in_all_its_incarnations() {
    let Some(mut network) = Network::form(1) else { return };
    let early = report(&network, 2, 1..6);
    network.until("all know", |network| all_know(network, &[0, 1, 2], &early));
    network.kill(2);
    network.copy(2, "data", "backup");
    network.start(2);
    let later = report(&network, 2, 6..9);
    network.until("all know", |network| all_know(network, &[0, 1, 2], &later));
    network.kill(2);
    network.copy(2, "backup", "data");
    network.start(2);
    let latest = report(&network, 2, 9..11);
    network.until("all know all of them", |network| {
        all_know(network, &[0, 1, 2], &early)
            && all_know(network, &[0, 1, 2], &later)
            && all_know(network, &[0, 1, 2], &latest)
    });
    network.remove(2);
    network.until("its word is gone", |network| {
        [0, 1].iter().all(|site| early.iter().all(|mail| network.verdict(*site, mail) != "spam"))
    });
    network.admit_again(2);
    network.until("all know all of them again", |network| {
        all_know(network, &[0, 1, 2], &early)
            && all_know(network, &[0, 1, 2], &later)
            && all_know(network, &[0, 1, 2], &latest)
    });
    network.agree();
    for mail in early.iter().chain(&later).chain(&latest) {
        network.say(2, "withdraw", mail);
    }
    network.until("what it takes back is taken back everywhere", |network| {
        (0..SITES).all(|site| early.iter().chain(&later).all(|mail| network.verdict(site, mail) != "spam"))
    });
}

/// A copy of a folder that runs beside it burns no incarnations: one of the two stops publishing and says so.
#[test]
fn a_copy_of_a_folder_that_runs_is_fenced() {
    let Some(network) = Network::form(1) else { return };
    let before = report(&network, 0, 1..3);
    network.until("all know", |network| all_know(network, &[0, 1, 2], &before));
    let incarnation = |sites: &serde_json::Value| sites["incarnation"].as_u64().expect("an incarnation");
    let first = incarnation(&network.status(0));
    // A copy of files that are in use: as somebody would make it by accident.
    let copy = network.start_copy(0);
    let says = |sites: &serde_json::Value| !sites["fenced"].is_null();
    let of_copy =
        || -> serde_json::Value { serde_json::from_str(&copy.run("sites --json").out).unwrap_or_default() };
    let mut seed = 10;
    let until = Instant::now() + Duration::from_secs(120);
    while !says(&network.status(0)) && !says(&of_copy()) {
        assert!(Instant::now() < until, "nobody is fenced: {:#}\n{:#}", network.status(0), of_copy());
        let mail = network.mail(seed);
        network.say(0, "report", &mail);
        std::fs::write(network.path(0, "of-copy"), crate::common::serving::mail(seed + 1_000))
            .expect("written");
        let file = network.path(0, "of-copy");
        assert_eq!(copy.run(&format!("report {}", file.display())).code, 0);
        seed += 1;
        std::thread::sleep(Duration::from_millis(500));
    }
    std::thread::sleep(Duration::from_secs(10));
    let began = [incarnation(&network.status(0)), incarnation(&of_copy())];
    // Incarnations are numbered by the time: how many there were is what the others follow.
    let streams = network.status(1)["sites"].as_array().cloned().unwrap_or_default();
    let site0 = streams.iter().find(|site| site["name"] == "site0").expect("it is a member");
    let mut followed: Vec<u64> = site0["streams"]
        .as_array()
        .expect("streams")
        .iter()
        .filter_map(|stream| stream["incarnation"].as_u64())
        .collect();
    followed.sort_unstable();
    followed.dedup();
    assert!(followed.len() <= 3, "{followed:?}; it began as {first}, and the two are {began:?}");
}

/// What `seenit sites` says and exits with is what an admin would say.
#[test]
fn monitoring_does_not_mislead() {
    let Some(mut network) = Network::form(1) else { return };
    let mail = network.mail(1);
    network.say(0, "report", &mail);
    network.until("all agree", |network| (0..SITES).all(|site| network.sites(site).1 == 0));
    // Under light load all is well at every look.
    for look in 0..20 {
        network.see(look % SITES, &mail, 1);
        let (sites, code) = network.sites(0);
        assert_eq!(code, 0, "look {look}: {sites:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
    // A site that is dead is named.
    network.kill(2);
    network.until("the dead site is named, with what to do", |network| {
        let (sites, code) = network.sites(0);
        let of_all = sites["sites"].as_array().cloned().unwrap_or_default();
        let dead = of_all.iter().find(|site| site["name"] == "site2");
        code == 1
            && dead.is_some_and(|dead| dead["problem"].as_str().is_some_and(|why| why.contains("silent")))
    });
    network.start(2);
    network.until("it is well again", |network| network.sites(0).1 == 0);
    // Without a broker the lag grows.
    network.nats.kill(0);
    network.until("the broker is missed, and the lag grows", |network| {
        let (sites, code) = network.sites(0);
        let of_all = sites["sites"].as_array().cloned().unwrap_or_default();
        code == 1
            && sites["engine"]["up"] == false
            && of_all.iter().all(|site| site["lag_secs"].as_u64().is_some_and(|secs| secs > 0))
    });
}
