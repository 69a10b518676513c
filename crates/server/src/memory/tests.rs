//! Who gets room, and who makes it.

use super::*;
use crate::connections::{Doing, UNREAD_MILLIS, now_millis};

const KIB: usize = 1 << 10;

/// A budget of 64 KiB.
fn memory() -> Memory {
    Memory::new(&Http {
        held_bytes_max: 64 << 10,
        message_bytes_max: 32 << 10,
        body_bytes_max: 1024,
        ..Http::default()
    })
}

/// Somebody of this machine who came so many milliseconds after the start and waits for room, works, or sends.
fn guest(since_millis: u64, doing: Doing) -> Arc<Guest> {
    let guest = Guest::new([127, 0, 0, 1].into());
    guest.came_at(since_millis);
    guest.set(doing);
    Arc::new(guest)
}

fn account(number: u32) -> Holder {
    Holder::Account(ReporterId(number))
}

/// Something that takes so many KiB of the budget.
fn taken(memory: &Memory, holder: Holder, guest: &Arc<Guest>, kib: usize) -> Option<Hold> {
    let mut hold = memory.hold(holder, guest);
    hold.grow(FREE_BYTES + kib * KIB).then_some(hold)
}

#[test]
fn one_holder_whose_bodies_are_worked_on_leaves_half_to_the_others() {
    let memory = memory();
    let busy = guest(1, Doing::Working);
    let mut local: Vec<Hold> =
        std::iter::from_fn(|| taken(&memory, Holder::Local, &busy, 1)).take(100).collect();
    assert_eq!(local.len(), 32, "half of it");
    assert!(taken(&memory, Holder::Local, &busy, 0).is_some(), "small ones are free");
    let largest = taken(&memory, account(1), &busy, 16).expect("room for an account");
    assert!(taken(&memory, account(1), &busy, 1).is_none(), "no more than is left for all others");
    let third = taken(&memory, account(2), &busy, 8).expect("room for another one");
    drop((largest, third));
    local.pop();
    assert!(taken(&memory, Holder::Local, &busy, 2).is_none());
    local.clear();
    assert!(taken(&memory, Holder::Local, &busy, 32).is_some(), "all of it was given back");
    assert!(memory.holds().all.is_empty() && memory.holds().by_holder.is_empty());
}

#[tokio::test]
async fn bodies_of_one_byte_that_came_first_do_not_shield_those_that_hold_something() {
    let memory = memory();
    // They hold nothing, and were closed one a newcomer.
    let small: Vec<_> = (1..200).map(|since| guest(since, Doing::Sending)).collect();
    let _empty: Vec<_> = small.iter().filter_map(|one| taken(&memory, Holder::Local, one, 0)).collect();
    let large = [guest(300, Doing::Sending), guest(301, Doing::Sending)];
    let mut held: Vec<_> = large.iter().filter_map(|one| taken(&memory, Holder::Local, one, 16)).collect();
    let newcomer = guest(400, Doing::Sending);
    let mut hold = memory.hold(Holder::Local, &newcomer);
    let room = hold.make_room(FREE_BYTES + 20 * KIB);
    let closed = async {
        for one in &large {
            one.told_to_leave().await;
            held.remove(0);
        }
    };
    let (room, ()) = tokio::join!(room, closed);
    room.expect("the second one had to go as well");
    assert!(small.iter().all(|one| one.can_go()), "closing them would have freed nothing");
}

/// An answer that takes so many KiB of the budget.
fn answer(memory: &Memory, holder: Holder, guest: &Arc<Guest>, kib: usize) -> Held {
    memory.hold_answer(holder, guest, Bytes::from(vec![0; FREE_BYTES + kib * KIB]))
}

#[tokio::test]
async fn an_answer_that_nobody_reads_makes_room_and_is_never_refused_itself() {
    let memory = memory();
    let unread = guest(0, Doing::Waiting);
    let fresh = guest(now_millis(), Doing::Waiting);
    let newcomer = guest(1 << 40, Doing::Working);
    let _held = (answer(&memory, Holder::Local, &fresh, 16), answer(&memory, Holder::Local, &unread, 16));
    std::thread::sleep(Duration::from_millis(2 * UNREAD_MILLIS));
    fresh.came_at(now_millis());
    let mut overdrawn = answer(&memory, Holder::Local, &newcomer, 16);
    assert!(!unread.can_go() && fresh.can_go(), "the one that has been unread for long is closed");
    overdrawn.advance(10);
    assert_eq!(
        (overdrawn.remaining(), overdrawn.chunk().len()),
        (FREE_BYTES + 16 * KIB - 10, overdrawn.len())
    );
    assert_eq!(memory.holds().units, 48, "it is counted, beyond the half that one holder has");
}

#[tokio::test]
async fn answers_that_overdraw_the_budget_are_closed_when_nobody_reads_them_and_no_other_one_comes() {
    let memory = memory();
    let came = now_millis();
    let guests: Vec<_> = (0..8).map(|_| guest(came, Doing::Waiting)).collect();
    let mut held: Vec<_> = guests.iter().map(|one| Some(answer(&memory, Holder::Local, one, 16))).collect();
    assert_eq!(memory.holds().units, 128, "all of them are counted, twice the budget");
    assert!(guests.iter().all(|one| one.can_go()), "they have a moment to read");
    let known = guest(came, Doing::Waiting);
    let _its_own = answer(&memory, account(1), &known, 4);
    let told = async {
        while guests.iter().filter(|one| one.can_go()).count() > 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("closed without another answer");
    assert!(known.can_go(), "an account that holds little stays");
    for (one, held) in guests.iter().zip(&mut held).filter(|(one, _)| !one.can_go()) {
        one.told_to_leave().await;
        *held = None;
    }
    assert_eq!(memory.holds().units, 2 * 16 + 4, "what one holder may have, and no less");
    tokio::time::sleep(Duration::from_millis(3 * UNREAD_MILLIS)).await;
    assert!(!memory.holds().is_swept, "nobody looks any more");
}

#[tokio::test]
async fn nobody_is_closed_who_works_or_came_later_or_holds_less() {
    let memory = memory();
    let busy = guest(1, Doing::Working);
    let later = guest(1 << 40, Doing::Sending);
    let little = guest(1, Doing::Sending);
    let _held = [
        taken(&memory, account(1), &busy, 16).expect("room"),
        taken(&memory, account(1), &later, 8).expect("room"),
        taken(&memory, account(2), &little, 4).expect("room"),
    ];
    let mut hold = memory.hold(account(1), &guest(2, Doing::Sending));
    let refused = hold.make_room(FREE_BYTES + 20 * KIB).await.expect_err("no room");
    assert_eq!(crate::http::problem::Problem::from(refused).status, 503);
    assert!([&busy, &later, &little].iter().all(|one| one.can_go()));
}

#[test]
fn a_configuration_whose_largest_body_finds_no_room_does_not_fit() {
    let http = |bytes: u64| Http { message_bytes_max: bytes, body_bytes_max: 1024, ..Http::default() };
    let memory = Memory::new(&http(32 << 20));
    assert!(memory.fits(&http(64 << 20)) && !memory.fits(&http(65 << 20)));
    assert!(Memory::new(&http(1 << 30)).fits(&http(1 << 30)), "it is made for what it is started with");
}
