//! Messages that were checked on another thread before the link hears them.

use seenit_link::Millis;
use seenit_sites::message::Stream;

use crate::site::{Log, Site, admin, id, roster_of};

#[test]
fn what_was_checked_under_an_old_roster_is_not_believed_after_its_member_was_removed() {
    let mut site = Site::open();
    let (mut removed, mut stays) = (Log::new(2, id(2, Stream::Records)), Log::new(3, id(3, Stream::Records)));
    let (of_removed, of_stays) = (removed.say(&[b"a record"]), stays.say(&[b"a record"]));
    let checker = site.link.checker();
    let checked = std::thread::scope(|scope| {
        let check = scope.spawn(|| (checker.check(&of_removed), checker.check(&of_stays)));
        check.join().expect("it is checked")
    });
    site.hear(&roster_of(&admin(), 2, &[1, 3]).bytes);
    let now = Millis(site.now);
    site.link.hear_checked(now, checked.0, None);
    site.link.hear_checked(now, checked.1, None);
    let batch = site.take_batch();
    assert_eq!(batch.heard.len(), 1, "the one of the member is checked again: {:?}", batch.heard);
    assert_eq!(batch.heard[0].message.as_deref(), Some(of_stays.as_slice()));
    let said = site.status().alarms.into_iter().find(|alarm| alarm.contains("is not in the roster"));
    assert!(said.expect("an alarm").contains(&removed.id.site.to_string()));
}

#[test]
fn a_bad_signature_is_refused_whoever_checks_it() {
    let mut site = Site::open();
    let mut log = Log::new(2, id(2, Stream::Records));
    let good = log.say(&[b"a record"]);
    // The last byte of the signature, and the first of the payload.
    for place in [264, 265] {
        let mut bad = good.clone();
        bad[place] ^= 1;
        site.hear(&bad);
        let checker = site.link.checker();
        site.link.hear_checked(Millis(site.now), checker.check(&bad), None);
        site.wait(50);
        assert_eq!(site.applied(&log.id), 0);
    }
    let checker = site.link.checker();
    site.link.hear_checked(Millis(site.now), checker.check(&good), None);
    site.wait(50);
    assert_eq!(site.applied(&log.id), 1);
}
