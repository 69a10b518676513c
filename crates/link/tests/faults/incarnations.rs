//! Restored backups, running copies, and streams that come to an end.

use seenit_link::LocalCaps;
use seenit_link::store::Store;
use seenit_sites::heartbeat::Heartbeat;
use seenit_sites::message::{Stream, StreamId};
use seenit_sites::number::{Incarnation, Sequence};

use crate::site::{
    GENERATION_SECS, Log, NOW, SIGHTINGS, Site, admin, answer, delta, heartbeat, holding, id, roster_of,
    signed,
};

/// A site that has published some records, all of which another holds; and what it published.
fn published(records: u64) -> Site {
    let mut site = Site::open();
    site.wait(6000);
    for number in 0..records {
        assert!(site.store.say(number.to_le_bytes().to_vec()));
        site.wait(100);
    }
    site
}

/// A heartbeat of site 2, which holds own records up to a sequence.
fn holds(id: StreamId, site: &Site, at: u64, number: u64) -> Vec<u8> {
    let mut heartbeat = heartbeat(2, number);
    heartbeat.holdings = vec![holding(id, site.own_chain(&id, at))];
    signed(2, &heartbeat)
}

#[test]
fn a_backup_that_was_put_back_begins_one_new_incarnation() {
    let mut before = published(5);
    let (backup, id) = (before.store.disk.borrow().clone(), before.own(Stream::Records));
    for number in 5..10_u64 {
        assert!(before.store.say(number.to_le_bytes().to_vec()));
        before.wait(100);
    }
    let messages = before.published.clone();
    let mut site = Site::from(backup, before.now + 10_000, LocalCaps::new());
    let old = site.store.own().incarnation;
    site.hear(&holds(id, &before, 3, 1));
    site.wait(500);
    // Somebody holds more than is remembered, and shows it.
    for number in 2..20 {
        site.hear(&holds(id, &before, 10, number));
        site.wait(500);
        for message in &messages {
            site.hear(&answer(message));
        }
    }
    let own = site.store.own();
    let begun: Vec<&String> = site.notes.iter().filter(|note| note.contains("new incarnation")).collect();
    assert_eq!(begun.len(), 1, "{begun:?}");
    assert!(own.incarnation > old && site.status().fenced.is_none());
    // What nobody was known to hold is said again; what others held came back.
    let last = |incarnation| {
        let found =
            own.streams.iter().find(|one| one.incarnation == incarnation && one.stream == Stream::Records);
        found.map_or(0, |one| one.last.0)
    };
    assert_eq!((last(old), last(own.incarnation)), (3, 2));
    let disk = site.store.disk.borrow();
    let back = disk.held.iter().find(|(held, _)| held.incarnation == old && held.stream == Stream::Records);
    let back: Vec<u64> = back.expect("it came back").1.items.keys().copied().collect();
    assert_eq!(back, (4..=10).collect::<Vec<_>>(), "under its own slot");
}

#[test]
fn a_running_copy_is_fenced_and_begins_no_incarnation() {
    let mut site = published(5);
    let copy = site.store.disk.borrow().clone();
    let mut copy = Site::from(copy, site.now, LocalCaps::new());
    let incarnation = site.store.own().incarnation;
    let resign = |heartbeat: &Heartbeat| signed(1, heartbeat);
    for _ in 0..40 {
        site.wait(1000);
        copy.wait(1000);
        let (ours, theirs) = (std::mem::take(&mut site.heartbeats), std::mem::take(&mut copy.heartbeats));
        ours.iter().for_each(|heartbeat| copy.hear(&resign(heartbeat)));
        theirs.iter().for_each(|heartbeat| site.hear(&resign(heartbeat)));
        // What it sent itself comes back as well, and is no copy's.
        ours.iter().for_each(|heartbeat| site.hear(&resign(heartbeat)));
    }
    for one in [&site, &copy] {
        assert_eq!(one.store.own().incarnation, incarnation, "no incarnation begins");
    }
    // The one that ran first hears the other, and stops.
    let fenced = site.status().fenced.expect("it is fenced");
    assert!(fenced.contains("Stop one of the two, and restart the other"), "{fenced}");
    assert!(site.status().alarms.contains(&fenced));
    let said = site.published.len();
    assert!(site.store.say(b"a record".to_vec()));
    site.wait(5000);
    assert!(site.heartbeats.is_empty() && site.published.len() == said, "a fenced site does not speak");
}

#[test]
fn own_heartbeats_that_come_back_are_not_those_of_a_copy() {
    let mut site = published(1);
    for _ in 0..30 {
        site.wait(1000);
        let sent = std::mem::take(&mut site.heartbeats);
        sent.iter().for_each(|heartbeat| site.hear(&signed(1, heartbeat)));
    }
    assert_eq!(site.status().fenced, None);
}

#[test]
fn streams_of_which_nothing_counts_any_more_end() {
    let mut site = Site::open();
    let earlier = StreamId { incarnation: Incarnation(1_600_000_000), ..id(2, Stream::Records) };
    let (mut old, mut present) = (Log::new(2, earlier), Log::new(2, id(2, Stream::Records)));
    let mut seen = Log::new(2, id(2, SIGHTINGS));
    for message in [old.say(&[b"old"]), present.say(&[b"new"]), seen.say(&[&delta(1)])] {
        site.hear(&message);
    }
    site.hear(&signed(2, &heartbeat(2, 1)));
    site.wait(1000);
    assert_eq!(site.other(2).streams.len(), 3);
    // Two generations later sightings are over; and later still all that was said has expired.
    site.now += 2 * GENERATION_SECS * 1000;
    site.wait(100);
    assert_eq!(site.other(2).streams.len(), 2, "{:?}", site.other(2).streams);
    site.now += 100 * 24 * 3_600_000;
    site.store.kept_from_secs = site.now / 1000 - 24 * 3600;
    site.wait(100);
    let left: Vec<u64> = site.other(2).streams.iter().map(|one| one.incarnation).collect();
    assert_eq!(left, [present.id.incarnation.0], "the present incarnation stays");
    let disk = site.store.disk.borrow();
    let kept: Vec<u8> = disk.rows.keys().map(|key| key[0]).filter(|first| b"flb".contains(first)).collect();
    assert_eq!(kept, b"f", "messages of what has expired are gone: {kept:?}");
}

#[test]
fn a_site_that_was_removed_and_is_admitted_again_is_fetched_from_the_beginning() {
    let mut site = Site::open();
    let earlier = StreamId { incarnation: Incarnation(1_600_000_000), ..id(2, Stream::Records) };
    let (mut old, mut present) = (Log::new(2, earlier), Log::new(2, id(2, Stream::Records)));
    site.hear(&old.say(&[b"old"]));
    site.hear(&present.say(&[b"new"]));
    site.wait(100);
    site.hear(&roster_of(&admin(), 2, &[1, 3]).bytes);
    site.wait(100);
    assert!(site.store.disk.borrow().held.is_empty() && site.status().sites.len() == 1);
    site.hear(&roster_of(&admin(), 3, &[1, 2, 3]).bytes);
    site.wait(100);
    // Its heartbeat has heads of all its incarnations.
    let mut alive = heartbeat(2, 1);
    alive.heads = vec![old.head(), present.head()];
    site.hear(&signed(2, &alive));
    for _ in 0..40 {
        site.wait(100);
        for ask in std::mem::take(&mut site.asks) {
            let seenit_sites::ask::Ask::Range { id, after } = ask else { continue };
            assert_eq!(after, Sequence::START);
            let log = [&old, &present].into_iter().find(|log| log.id == id).expect("one of them");
            site.hear(&answer(&log.messages[0]));
        }
    }
    assert_eq!((site.applied(&old.id), site.applied(&present.id)), (1, 1));
    assert_eq!(site.other(2).agrees, Some(true));
}

#[test]
fn own_heartbeats_have_heads_of_all_incarnations() {
    let before = published(3);
    let (backup, id) = (before.store.disk.borrow().clone(), before.own(Stream::Records));
    // Others show one record more.
    let mut site = Site::from(backup, before.now + 10_000, LocalCaps::new());
    let mut more = Log::new(1, id);
    (0..3_u64).for_each(|number| drop(more.say(&[&number.to_le_bytes()])));
    let lost = more.say(&[b"lost"]);
    site.hear(&signed(2, &heartbeat(2, 1)));
    site.wait(500);
    site.hear(&answer(&lost));
    site.wait(500);
    site.hear(&answer(&lost));
    let mut claim = heartbeat(2, 2);
    claim.holdings = vec![more.holding()];
    site.hear(&signed(2, &claim));
    for _ in 0..20 {
        site.wait(500);
        more.messages.clone().iter().for_each(|message| site.hear(&answer(message)));
    }
    let last = site.heartbeats.last().expect("a heartbeat");
    let heads: Vec<(u64, u64)> =
        last.heads.iter().map(|head| (head.id.incarnation.0, head.sequence.0)).collect();
    assert!(heads.contains(&(id.incarnation.0, 4)), "what came back is vouched for: {heads:?}");
    assert!(last.incarnation > id.incarnation && NOW > 0);
}
