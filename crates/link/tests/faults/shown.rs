//! What an operator is shown: silence, lag, agreement, receipts, and the wrong network.

use seenit_link::store::Store;
use seenit_link::{BrokerState, Link, LocalCaps, Millis};
use seenit_sites::key::AdminSecret;
use seenit_sites::message::Stream;
use seenit_sites::number::{Incarnation, Sequence};

use crate::double::{Disk, Double};
use crate::site::{GENERATION_SECS, Log, NOW, Site, heartbeat, holding, id, roster_of, secret, signed};

#[test]
fn a_silent_peer_is_a_problem_with_a_sentence() {
    let mut site = Site::open();
    site.hear(&signed(2, &heartbeat(2, 1)));
    site.wait(29_000);
    assert_eq!((site.other(2).problem, site.other(3).problem), (None, None));
    site.wait(2000);
    let problem = site.other(2).problem.expect("a problem");
    assert!(problem.starts_with("site2 has been silent for 3") && problem.contains("remove it"), "{problem}");
    let problem = site.other(3).problem.expect("a problem");
    assert!(problem.starts_with("site3 has not been heard since this site started"), "{problem}");
    assert!(site.status().alarms.contains(&problem));
}

#[test]
fn lag_grows_from_when_the_broker_went_down() {
    let mut site = Site::open();
    site.hear(&signed(2, &heartbeat(2, 1)));
    site.wait(5000);
    assert_eq!(site.other(2).lag_secs, 0);
    site.link.broker(Millis(site.now), BrokerState::Down { why: "connection refused".into() });
    site.wait(40_000);
    assert_eq!(site.other(2).lag_secs, 40);
    assert_eq!((site.status().broker.up, site.status().broker.since_secs), (false, 40));
    assert!(site.other(2).problem.expect("a problem").contains("cut off from the broker for 40 s"));
    site.link.broker(Millis(site.now), BrokerState::Up);
    site.hear(&signed(2, &heartbeat(2, 2)));
    assert_eq!((site.other(2).lag_secs, site.other(2).problem), (0, None));
}

#[test]
fn under_light_load_sites_agree_at_every_look_and_say_since_when() {
    let mut site = Site::open();
    let mut log = Log::new(2, id(2, Stream::Records));
    let mut alive = heartbeat(2, 1);
    site.hear(&signed(2, &alive));
    site.drain();
    assert_eq!(site.other(2).agrees, Some(true), "there is nothing to be missed");
    let since = site.other(2).agreed_since_secs;
    for number in 2..60 {
        // It says something, and is a second ahead of what arrives.
        let message = log.say(&[b"a record"]);
        (alive.number, alive.heads) = (number, vec![log.head()]);
        site.hear(&signed(2, &alive));
        site.wait(1000);
        assert_eq!(site.other(2).agrees, Some(true));
        site.hear(&message);
        site.wait(1000);
    }
    assert_eq!((site.other(2).agreed_since_secs, site.other(2).lag_secs), (since, 0));
    // What is missing for ten seconds is disagreement; and that ends when it comes.
    let message = log.say(&[b"a record"]);
    (alive.number, alive.heads) = (100, vec![log.head()]);
    site.hear(&signed(2, &alive));
    site.wait(11_000);
    let other = site.other(2);
    assert_eq!((other.agrees, other.agreed_since_secs, other.lag_secs), (Some(false), None, 11));
    assert!(
        other.problem.expect("a problem").starts_with("this site is behind: 1 items of the records of site2")
    );
    site.hear(&message);
    site.wait(50);
    assert_eq!(site.other(2).agrees, Some(true));
    assert_eq!(site.other(2).agreed_since_secs, Some(site.now / 1000));
}

#[test]
fn a_claim_that_nobody_shows_is_an_alarm_and_not_a_disagreement() {
    let mut site = Site::open();
    let mut log = Log::new(2, id(2, Stream::Records));
    site.hear(&log.say(&[b"a record"]));
    let mut alive = heartbeat(2, 1);
    for number in 0..200 {
        // Site 3 claims ever more, so that nobody gets tired of asking.
        let mut claim = heartbeat(3, number + 1);
        claim.holdings = vec![log.holding()];
        claim.holdings[0].sequence = Sequence(1000 + number);
        site.hear(&signed(3, &claim));
        alive.number = number + 1;
        site.hear(&signed(2, &alive));
        site.wait(1000);
    }
    assert_eq!(site.other(2).agrees, Some(true));
    let is_told = |alarm: &String| alarm.starts_with("site3 claims to hold the records of site2 up to 1199");
    assert!(site.status().alarms.iter().any(is_told), "{:?}", site.status().alarms);
}

#[test]
fn documents_of_another_network_raise_an_alarm() {
    let mut site = Site::open();
    site.hear(&signed(2, &heartbeat(2, 1)));
    assert!(site.status().alarms.is_empty());
    let other = AdminSecret::from_bytes([8; 32]);
    site.hear(&roster_of(&other, 9, &[1, 2, 3]).bytes);
    let alarms = site.status().alarms;
    assert!(
        alarms[0].contains(&other.public().to_string()) && alarms[0].contains("network key"),
        "{alarms:?}"
    );
    // So does a roster that does not come.
    let store = Double::open(secret(1).public(), Disk::default(), NOW / 1000, GENERATION_SECS);
    let loaded = store.load().expect("it loads");
    let mut link = Link::open(loaded, secret(1), other.public(), LocalCaps::new(), Millis(NOW));
    link.broker(Millis(NOW), BrokerState::Up);
    assert!(link.status(Millis(NOW + 29_000)).alarms.is_empty());
    let alarms = link.status(Millis(NOW + 30_000)).alarms;
    assert!(alarms[0].starts_with("no roster of network") && alarms[0].contains("network up"), "{alarms:?}");
    // So does what nobody in the roster signed.
    let mut site = Site::open();
    site.hear(&Log::new(9, id(9, Stream::Records)).say(&[b"a record"]));
    assert!(site.status().alarms[0].contains("which is not in the roster"));
}

#[test]
fn heartbeats_of_a_site_whose_clock_was_corrected_are_still_heard() {
    let mut site = Site::open();
    let mut ahead = heartbeat(2, 1);
    ahead.time_secs = NOW / 1000 + 2 * 24 * 3600;
    site.hear(&signed(2, &ahead));
    site.wait(10_000);
    let mut corrected = heartbeat(2, 2);
    corrected.time_secs = NOW / 1000 + 10;
    site.hear(&signed(2, &corrected));
    let other = site.other(2);
    assert_eq!((other.silent_secs, other.clock_secs), (Some(0), Some(0)));
    // One that is sent again is no sign of life.
    site.wait(10_000);
    site.hear(&signed(2, &corrected));
    site.hear(&signed(2, &ahead));
    assert_eq!(site.other(2).silent_secs, Some(10));
}

#[test]
fn two_incarnations_that_run_at_the_same_time_are_a_problem() {
    let mut site = Site::open();
    let (mut one, mut other) = (heartbeat(2, 1), heartbeat(2, 1));
    other.incarnation = Incarnation(one.incarnation.0 + 5);
    for number in 1..5 {
        (one.number, one.time_secs) = (number, NOW / 1000 + 4 * number);
        (other.number, other.time_secs) = (number, NOW / 1000 + 4 * number + 2);
        site.hear(&signed(2, &one));
        site.wait(2000);
        site.hear(&signed(2, &other));
        site.wait(2000);
    }
    assert_eq!(site.other(2).incarnation, Some(other.incarnation.0));
    assert!(site.other(2).problem.expect("a problem").starts_with("site2 runs twice"));
}

#[test]
fn a_record_that_a_site_keeps_and_does_not_count_is_not_applied_there() {
    let mut site = Site::open();
    site.wait(6000);
    (0..3).for_each(|_| assert!(site.store.say(b"a record".to_vec())));
    site.wait(500);
    let own = site.own(Stream::Records);
    let mut held = holding(own, site.own_chain(&own, 3));
    (held.uncounted, held.uncounted_last) = (1, Sequence(2));
    let mut alive = heartbeat(2, 1);
    alive.holdings = vec![held];
    site.hear(&signed(2, &alive));
    let status = site.status();
    let reach = |sequence| status.reach(own.incarnation, Sequence(sequence)).to_string();
    assert_eq!(reach(1), "applied at 2 of 3, waiting for site3 (not heard yet)");
    let said =
        "applied at 1 of 3, perhaps kept without being counted at site2, waiting for site3 (not heard yet)";
    assert_eq!(reach(2), said);
    assert!(reach(4).starts_with("applied at 1 of 3, waiting for site2"));
    assert_eq!(status.reach(Incarnation(1), Sequence(1)).applied, 1, "another incarnation's");
    // Here it is the other way round.
    let mut log = Log::new(3, id(3, Stream::Records));
    site.is_full = true;
    site.hear(&log.say(&[b"too much"]));
    site.wait(3000);
    let last = site.heartbeats.last().expect("a heartbeat");
    let holding = last.holdings.iter().find(|one| one.id == log.id).expect("it is held");
    assert_eq!((holding.uncounted, holding.uncounted_last), (1, Sequence(1)));
    assert_eq!(site.other(3).uncounted, 1);
}
