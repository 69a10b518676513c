//! A cluster of three whose servers fall away: what was acknowledged stays, each once and in order.

use seenit_link::BrokerStream;
use seenit_server::broker::Published;

use crate::nats::Nats;
use crate::site::{Running, make, users};

/// Publishes some more, each until it is known to be kept.
fn publish(one: &mut Running, bytes: std::ops::Range<u64>) {
    for number in bytes {
        let stored = one.insist(BrokerStream::Records, &number.to_le_bytes(), number);
        assert_eq!(stored, Published::Stored(number + 1));
    }
}

fn read(two: &mut Running, bytes: std::ops::Range<u64>) {
    for number in bytes {
        let (bytes, place) = two.read();
        assert_eq!((bytes, place.sequence), (number.to_le_bytes().to_vec(), number + 1));
    }
}

#[test]
fn servers_that_are_killed_or_stopped_one_by_one_cost_nothing() {
    let Some(mut nats) = Nats::start(3, &users()) else { return };
    make(&nats.urls(), 3);
    let [mut one, mut two] = [1, 2].map(|seed| Running::start(&nats.urls(), seed, vec![]));
    publish(&mut one, 0..20);
    read(&mut two, 0..20);
    let mut next = 20;
    for node in 0..3 {
        nats.kill(node);
        publish(&mut one, next..next + 10);
        read(&mut two, next..next + 10);
        nats.begin(node);
        nats.wait();
        next += 10;
    }
    nats.stop(0);
    publish(&mut one, next..next + 10);
    read(&mut two, next..next + 10);
    nats.go_on(0);
    nats.wait();
    let mut late = Running::start(&nats.urls(), 2, vec![]);
    read(&mut late, 0..next + 10);
}
