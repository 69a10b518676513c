//! Who makes room for whom.

use super::*;

const NEAR: [u8; 4] = [192, 0, 2, 1];
const FAR: [u8; 4] = [192, 0, 7, 1];
const HERE: [u8; 4] = [127, 0, 0, 1];

fn enter(crowd: &Arc<Crowd>, address: [u8; 4]) -> Option<Seat> {
    crowd.try_enter(address.into()).ok()
}

fn is_told(seat: &Seat) -> bool {
    !seat.guest.can_go()
}

#[test]
fn a_network_gets_its_places_back_and_loopback_has_no_limit_of_its_own() {
    let crowd = Arc::new(Crowd::new(8, 2));
    let one = enter(&crowd, NEAR).expect("room");
    let _two = enter(&crowd, [192, 0, 2, 99]).expect("room");
    assert!(enter(&crowd, NEAR).is_none());
    let _other = enter(&crowd, [192, 0, 3, 1]).expect("another network");
    drop(one);
    drop(enter(&crowd, NEAR).expect("room again"));
    let local: Vec<_> = (0..5).map(|_| enter(&crowd, HERE).expect("no limit")).collect();
    assert_eq!((local.len(), crowd.guests().counts.len()), (5, 3));
    drop(local);
    let guests = crowd.guests();
    assert_eq!((guests.all.len(), guests.counts.len()), (2, 2));
}

#[test]
fn the_longest_silent_of_the_largest_network_goes_first_and_strangers_before_this_machine() {
    let crowd = Arc::new(Crowd::new(6, 4));
    let local = enter(&crowd, HERE).expect("room");
    let near: Vec<_> = (0..3).map(|_| enter(&crowd, NEAR).expect("room")).collect();
    let far = enter(&crowd, FAR).expect("room");
    let account = enter(&crowd, FAR).expect("room");
    near.iter().zip([1, 5, 3]).for_each(|(seat, millis)| seat.guest.came_at(millis));
    assert!(enter(&crowd, [192, 0, 9, 1]).is_none(), "full");
    account.guest.is_known();
    near[0].guest.set(Doing::Working);
    let order = [&near[2], &near[1], &far, &near[0], &local, &account];
    for (number, told) in order.iter().enumerate() {
        crowd.make_room();
        assert!(is_told(told), "number {number}");
        assert_eq!(order.iter().filter(|seat| is_told(seat)).count(), number + 1);
    }
}

#[tokio::test]
async fn who_is_always_busy_goes_after_an_answer() {
    let crowd = Arc::new(Crowd::new(1, 4));
    let busy = enter(&crowd, HERE).expect("room");
    busy.guest.set(Doing::Working);
    crowd.make_room();
    let wait = Duration::from_millis(10);
    assert!(tokio::time::timeout(wait, busy.guest.told_to_leave()).await.is_err(), "not at once");
    assert!(busy.guest.leaves_after_answer());
    busy.guest.set(Doing::Waiting);
    crowd.make_room();
    busy.guest.told_to_leave().await;
}

#[test]
fn where_all_are_busy_many_are_told_at_once_and_nobody_of_a_higher_kind() {
    let crowd = Arc::new(Crowd::new(3 * BUSY_AT_ONCE, 4));
    let seats: Vec<_> = (0..3 * BUSY_AT_ONCE).map(|_| enter(&crowd, HERE).expect("room")).collect();
    seats.iter().for_each(|seat| seat.guest.set(Doing::Working));
    let (known, others) = seats.split_at(BUSY_AT_ONCE);
    known.iter().for_each(|seat| seat.guest.is_known());
    known[0].guest.set(Doing::Waiting);
    let told = |seats: &[Seat]| seats.iter().filter(|seat| is_told(seat)).count();
    for round in 1..=2 {
        crowd.make_room();
        assert_eq!((told(others), told(known)), (round * BUSY_AT_ONCE, 0));
    }
    crowd.make_room();
    assert!(is_told(&known[0]) && told(known) == 1, "the idle one alone");
}

/// Lets somebody have asked something, so that it is no newcomer any more.
fn ask_once(seat: &Seat) {
    seat.guest.has_asked.store(true, Relaxed);
}

#[test]
fn a_newcomer_from_elsewhere_is_not_closed_for_a_crowd_of_this_machine_that_keeps_opening() {
    let crowd = Arc::new(Crowd::new(8, 4));
    let mut local: Vec<_> = (0..7).map(|_| enter(&crowd, HERE).expect("room")).collect();
    // In its TLS handshake: nobody knows yet that it is an account's.
    let remote = enter(&crowd, FAR).expect("room");
    for round in 0..20 {
        assert!(enter(&crowd, HERE).is_none(), "full");
        crowd.make_room();
        assert!(!is_told(&remote), "round {round}");
        local.retain(|seat| !is_told(seat));
        local.push(enter(&crowd, HERE).expect("one of its own went"));
    }
    // Nor when it has asked something as a stranger, nor when the crowd is busy: the crowd has more than half of all
    // places.
    ask_once(&remote);
    remote.guest.came_at(0);
    local.iter().for_each(|seat| seat.guest.set(Doing::Working));
    crowd.make_room();
    assert!(!is_told(&remote) && local.iter().all(is_told));
}

#[test]
fn strangers_have_a_moment_to_show_who_they_are_and_no_longer() {
    let crowd = Arc::new(Crowd::new(4, 2));
    let local = enter(&crowd, HERE).expect("room");
    let newcomer = enter(&crowd, NEAR).expect("room");
    let [silent, busy] = [FAR, FAR].map(|address| enter(&crowd, address).expect("room"));
    [&silent, &busy].into_iter().for_each(ask_once);
    busy.guest.set(Doing::Working);
    for told in [&silent, &busy, &newcomer, &local] {
        assert!(!is_told(told));
        crowd.make_room();
        assert!(is_told(told));
    }
    std::thread::sleep(Duration::from_millis(NEWCOMER_MILLIS));
    assert!(!newcomer.guest.is_newcomer());
}

#[test]
fn an_account_stays_last_even_where_its_network_has_more_than_half() {
    let crowd = Arc::new(Crowd::new(4, 4));
    let accounts: Vec<_> = (0..3).map(|_| enter(&crowd, HERE).expect("room")).collect();
    accounts.iter().for_each(|seat| seat.guest.is_known());
    let newcomer = enter(&crowd, FAR).expect("room");
    crowd.make_room();
    assert!(is_told(&newcomer) && !accounts.iter().any(is_told));
}
