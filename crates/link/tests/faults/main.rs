//! What went wrong in real networks, one test for each: a newcomer that never caught up, a broker that was wiped, a
//! folder that was copied, and what was shown of all that.

mod checked;
#[path = "../simulation/double.rs"]
#[expect(dead_code, reason = "the simulation needs more of it")]
mod double;
mod incarnations;
mod shown;
mod site;

use double::Fate;
use seenit_link::{LocalCap, LocalCaps, Published};
use seenit_sites::ask::{Ask, AskAnswer};
use seenit_sites::message::Stream;
use seenit_sites::number::{Incarnation, Sequence};

use site::{Log, NOW, SIGHTINGS, Site, admin, answer, delta, heartbeat, id, roster_of, signed};

/// What is asked for is answered by the site that said it, eight messages at a time.
fn answer_asks(site: &mut Site, log: &Log) -> usize {
    let asks = std::mem::take(&mut site.asks);
    for ask in &asks {
        let Ask::Range { after, .. } = ask else { continue };
        for message in log.messages.iter().skip(after.0 as usize).take(8) {
            site.hear(&answer(message));
        }
    }
    asks.len()
}

#[test]
fn a_newcomer_with_many_waiting_messages_catches_up() {
    let mut site = Site::open();
    let mut log = Log::new(2, id(2, Stream::Records));
    (0..400_u64).for_each(|number| drop(log.say(&[&number.to_le_bytes()])));
    // What the broker still has comes first: far more than may wait.
    log.messages[200..].iter().for_each(|message| site.hear(message));
    let mut asks = 0;
    for _ in 0..400 {
        site.wait(50);
        asks += answer_asks(&mut site, &log);
    }
    assert_eq!(site.applied(&log.id), 400);
    assert!(asks <= 60, "{asks} asks for 400 messages, eight at a time");
    assert_eq!(site.status().waiting_secs, 0);
}

#[test]
fn a_wiped_broker_is_given_again_what_somebody_has_not() {
    let mut site = Site::open();
    let id = site.own(Stream::Records);
    site.wait(6000);
    for number in 0..10_u64 {
        assert!(site.store.say(number.to_le_bytes().to_vec()));
        site.wait(100);
    }
    assert_eq!(site.steps(Stream::Records).last().map(|(_, last)| *last), Some(10));
    for (seed, held) in [(2, 10), (3, 6)] {
        let mut heartbeat = heartbeat(seed, 1);
        heartbeat.holdings = vec![site::holding(id, site.own_chain(&id, held))];
        site.hear(&signed(seed, &heartbeat));
    }
    site.wait(100);
    site.published.clear();
    // The next message finds nothing under our name.
    assert!(site.store.say(b"one more".to_vec()));
    site.outcome = Published::Fenced { last: None };
    site.wait(100);
    site.outcome = Published::Stored;
    site.wait(2000);
    let steps = site.steps(Stream::Records);
    assert_eq!(
        steps.first().map(|(first, _)| *first),
        Some(6),
        "from the least that anybody holds: {steps:?}"
    );
    assert_eq!(steps.last().map(|(_, last)| *last), Some(11));
}

#[test]
fn what_the_broker_does_not_store_is_an_alarm_that_says_what_to_do() {
    let mut site = Site::open();
    site.wait(6000);
    assert!(site.store.say(b"a record".to_vec()));
    site.outcome = Published::Failed { why: "no such stream".into() };
    site.wait(29_000);
    assert_eq!(site.status().alarms.iter().filter(|alarm| alarm.contains("network up")).count(), 0);
    site.wait(4000);
    let alarms = site.status().alarms;
    let said = alarms.iter().find(|alarm| alarm.contains("seenit network up")).expect("an alarm");
    assert!(said.starts_with("1 records and 0 deltas") && said.contains("no such stream"), "{said}");
    assert!(site.status().waiting_secs >= 30);
    site.outcome = Published::Stored;
    site.wait(1000);
    assert!(!site.status().alarms.iter().any(|alarm| alarm.contains("seenit network up")));
}

#[test]
fn the_publisher_skips_no_delta_at_any_pace() {
    let mut site = Site::open();
    site.wait(6000);
    for number in 0..1500_u64 {
        site.store.see(number % 7, 1);
        assert!(site.store.flush());
        // Up to five of them between two ticks.
        if number % (1 + number / 300) == 0 {
            site.wait(50);
        }
    }
    site.wait(1000);
    let steps = site.steps(SIGHTINGS);
    assert_eq!(steps.first().map(|(first, _)| *first), Some(0));
    assert!(steps.windows(2).all(|pair| pair[0].1 == pair[1].0), "one follows on the other: {steps:?}");
    assert_eq!(steps.last().map(|(_, last)| *last), Some(1500));
    let checkpoints = site.store.disk.borrow().rows.keys().filter(|key| key[0] == b'k').count();
    assert_eq!(checkpoints, 1, "one value of the chain is kept for 1,024 items");
}

#[test]
fn heartbeats_speak_of_nothing_that_is_not_committed() {
    let mut site = Site::open();
    site.wait(6000);
    let mut log = Log::new(2, id(2, Stream::Records));
    site.hear(&log.say(&[b"a record"]));
    site.store.fate.replace(Fate { fails_in: Some(1), is_deadly: false, durable: 0 });
    site.heartbeats.clear();
    site.drain();
    assert!(site.heartbeats.is_empty() && site.applied(&log.id) == 0, "the commit failed");
    assert!(site.status().alarms.iter().any(|alarm| alarm.contains("the disk is full")));
    site.hear(&log.messages[0]);
    site.wait(3000);
    let holdings: Vec<_> = site.heartbeats.iter().flat_map(|heartbeat| &heartbeat.holdings).collect();
    assert!(holdings.iter().any(|holding| holding.id == log.id && holding.sequence == Sequence(1)));
    assert!(site.status().alarms.iter().all(|alarm| !alarm.contains("disk")), "{:?}", site.status().alarms);
}

#[test]
fn a_roster_that_could_not_be_kept_is_taken_in_again() {
    let mut site = Site::open();
    site.store.fate.replace(Fate { fails_in: Some(1), is_deadly: false, durable: 0 });
    site.hear(&roster_of(&admin(), 2, &[1, 2]).bytes);
    site.drain();
    site.wait(100);
    assert_eq!((site.status().roster, site.status().sites.len()), (2, 1), "nobody sends it again");
}

#[test]
fn a_delta_that_cannot_be_read_stops_its_stream_and_no_other() {
    let mut site = Site::open();
    let mut bad = Log::new(2, id(2, SIGHTINGS));
    let mut good = Log::new(3, id(3, SIGHTINGS));
    site.hear(&bad.say(&[&delta(1)]));
    site.hear(&bad.say(&[b"no delta"]));
    site.hear(&good.say(&[&delta(1)]));
    site.hear(&bad.say(&[&delta(2)]));
    site.wait(20_000);
    assert_eq!((site.applied(&bad.id), site.applied(&good.id)), (1, 1));
    assert_eq!(site.other(2).agrees, Some(false));
    assert!(
        site.status().alarms.iter().any(|alarm| alarm.contains("site2") && alarm.contains("cannot be read"))
    );
    let asked = site.asks.iter().filter(|ask| matches!(ask, Ask::Range { id, .. } if *id == bad.id));
    assert_eq!(asked.count(), 0, "nobody can help with it");
}

#[test]
fn what_does_not_follow_on_what_was_signed_before_is_refused() {
    let mut site = Site::open();
    let mut log = Log::new(2, id(2, Stream::Records));
    site.hear(&log.say(&[b"one"]));
    site.hear(&log.say(&[b"two"]));
    let mut other = Log::new(2, log.id);
    other.say(&[b"one"]);
    other.say(&[b"another two"]);
    site.hear(&other.say(&[b"three"]));
    site.wait(50);
    assert_eq!(site.applied(&log.id), 2);
    assert_eq!(site.other(2).agrees, Some(false));
    let said = site.asks.iter().any(|ask| matches!(ask, Ask::Said { .. }));
    assert!(said, "its site is shown what it signed: {:?}", site.asks);
}

#[test]
fn expired_items_are_taken_from_the_snapshot_of_their_site() {
    let mut site = Site::open();
    let mut log = Log::new(2, id(2, Stream::Records));
    (0..5).for_each(|_| drop(log.say(&[b"a record"])));
    site.hear(&log.messages[4]);
    site.wait(5000);
    let asked = std::mem::take(&mut site.asks);
    assert!(asked.contains(&Ask::Range { id: log.id, after: Sequence::START }), "{asked:?}");
    site.hear(&AskAnswer::Expired { id: log.id, first: Sequence(5) }.encode());
    site.hear(&answer(&log.messages[4]));
    site.wait(5000);
    assert_eq!(site.applied(&log.id), 0, "what follows on nothing waits");
    // Answers of ours say the same of what has expired here.
    let own = site.own(Stream::Records);
    (0..9).for_each(|_| assert!(site.store.say(b"ours".to_vec())));
    site.wait(2000);
    site.store.expire(Stream::Records, 2);
    site.hear(&Ask::Range { id: own, after: Sequence(1) }.encode());
    site.wait(100);
    let roster = roster_of(&admin(), 1, &[1, 2, 3]);
    let answers = site.answers.iter().map(|bytes| AskAnswer::decode(bytes, &roster).expect("an answer"));
    let first: Vec<AskAnswer> = answers.take(1).collect();
    assert_eq!(first, [AskAnswer::Expired { id: own, first: Sequence(8) }]);
    assert_eq!(site.answers.len(), 2);
}

#[test]
fn an_operator_can_believe_a_peer_less_than_the_roster_does_and_never_more() {
    let lower = LocalCap { spam: Some(3), ham: None, seen: Some(u64::MAX) };
    let caps = LocalCaps::from([("site2".to_owned(), lower)]);
    let site = Site::from(double::Disk::default(), NOW, caps);
    let caps_of = |name: &str| site.peers.iter().find(|peer| peer.name == name).expect("a peer").caps;
    assert_eq!((caps_of("site2").spam, caps_of("site2").ham, caps_of("site2").seen), (3, 10, 1000));
    assert_eq!(caps_of("site3").spam, 10);
    assert!(site.peers.iter().any(|peer| peer.name == "site1"), "this site is among them");
}

#[test]
fn incarnations_that_a_member_makes_up_for_another_do_not_mute_it() {
    let mut site = Site::open();
    let made_up = |incarnation| seenit_sites::message::StreamId {
        incarnation: Incarnation(incarnation),
        ..id(3, Stream::Records)
    };
    let mut lie = heartbeat(2, 1);
    lie.holdings = (1..200).map(|one| Log::new(3, made_up(one)).holding()).collect();
    lie.holdings.iter_mut().for_each(|holding| holding.sequence = Sequence(5));
    site.hear(&signed(2, &lie));
    site.wait(50);
    assert_eq!(site.other(3).streams.len(), 32, "claims have a limit");
    let mut log = Log::new(3, id(3, Stream::Records));
    site.hear(&log.say(&[b"a record"]));
    site.wait(50);
    assert_eq!(site.applied(&log.id), 1, "it is heard all the same");
    for incarnation in 1..=100 {
        let mut log = Log::new(3, made_up(incarnation));
        site.hear(&log.say(&[b"a record"]));
    }
    site.wait(50);
    assert_eq!(site.other(3).streams.len(), 32);
    assert!(site.other(3).problem.expect("a problem").contains("has had 32 incarnations"));
}
