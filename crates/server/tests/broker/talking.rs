//! Sites that hear each other through one server.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use seenit_link::BrokerStream;
use seenit_server::broker::{Arrived, Names, Published, SignedDocument, Stream};

use crate::nats::Nats;
use crate::site::{PATIENCE, Running, admin, make, operator, site, users};

#[test]
fn what_is_published_arrives_once_and_in_its_place() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    make(&nats.urls(), 1);
    let [mut one, mut two] = [1, 2].map(|seed| Running::start(&nats.urls(), seed, vec![]));
    assert_eq!(one.publish(BrokerStream::Records, b"first", 0), Published::Stored(1));
    assert_eq!(
        one.publish(BrokerStream::Records, b"first", 0),
        Published::Stored(1),
        "an acknowledgement was lost"
    );
    assert_eq!(
        two.publish(BrokerStream::Records, b"theirs", 0),
        Published::Stored(2),
        "each has a subject of its own"
    );
    let last = Some((1, b"first".as_slice().into()));
    assert_eq!(one.publish(BrokerStream::Records, b"second", 0), Published::Fenced { last: last.clone() });
    assert_eq!(one.publish(BrokerStream::Records, b"second", 7), Published::Fenced { last });
    assert_eq!(one.publish(BrokerStream::Records, b"second", 1), Published::Stored(3));
    assert_eq!(one.publish(BrokerStream::Sightings, b"seen", 9), Published::Fenced { last: None });
    let mut late = Running::start(&nats.urls(), 2, vec![]);
    let heard: Vec<_> = (0..3).map(|_| late.read()).collect();
    let bytes: Vec<_> = heard.iter().map(|(bytes, place)| (bytes.as_slice(), place.sequence)).collect();
    assert_eq!(bytes, [(b"first".as_slice(), 1), (b"theirs", 2), (b"second", 3)]);
    assert!(heard.iter().all(|(_, place)| place.stream == Stream::Records));
    // From a place on, and at once: within less than a look without news takes.
    let mut later = Running::start(&nats.urls(), 2, vec![heard[1].1]);
    assert_eq!(later.read(), heard[2]);
    assert_eq!(one.publish(BrokerStream::Records, b"third", 3), Published::Stored(4));
    let prompt = std::time::Instant::now();
    assert_eq!(later.read().1.sequence, 4);
    assert!(prompt.elapsed() < Duration::from_secs(9), "{:?}", prompt.elapsed());
}

#[test]
fn papers_are_read_from_the_beginning_and_as_they_come() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    let operator = make(&nats.urls(), 1);
    let names = Names::of(&admin().public());
    let document = |subject: String, bytes: &[u8]| SignedDocument { subject, bytes: bytes.to_vec() };
    let documents = [document(names.manifest(1), b"old"), document(names.roster(), b"roster")];
    assert_eq!(operator.publish(&documents).expect("published"), 2);
    assert_eq!(operator.publish(&documents).expect("nothing is new"), 0);
    assert_eq!(operator.publish(&[document(names.roster(), b"newer")]).expect("published"), 1);
    let mut one = Running::start(&nats.urls(), 1, vec![]);
    assert_eq!([one.read().0, one.read().0], [b"old".to_vec(), b"newer".to_vec()]);
    assert_eq!(operator.publish(&[document(names.manifest(2), b"new")]).expect("published"), 1);
    let (bytes, place) = one.read();
    assert_eq!((bytes.as_slice(), place.stream, place.sequence), (b"new".as_slice(), Stream::Documents, 4));
    // A document's place is no place to go on from.
    let mut again = Running::start(&nats.urls(), 1, vec![place]);
    assert_eq!(again.read().0, b"old");
}

/// What tries whether a site has subscribed: nobody says when it has.
const TRIED: &[u8] = b"tried ";

/// Says everything of each kind again and again until it was heard.
fn until_all_is_heard(one: &mut Running, two: &mut Running) {
    let tried = |what: &str| [TRIED, what.as_bytes()].concat();
    let (beat, question, answer) = (tried("beat"), tried("question"), tried("answer"));
    let mut missing = BTreeSet::from([(1, &beat), (2, &beat), (2, &question), (1, &answer)]);
    let until = Instant::now() + PATIENCE;
    while !missing.is_empty() {
        assert!(Instant::now() < until, "not heard: {missing:?}");
        one.handle.heartbeat(beat.clone()).expect("room");
        one.handle.ask(site(2).public(), question.clone()).expect("room");
        for (number, running) in [(2, &mut *two), (1, &mut *one)] {
            while let Some(arrived) = running.next(Duration::from_millis(200)) {
                if let Arrived::Bytes { bytes, reply, place: None } = arrived {
                    missing.retain(|(who, what)| (*who, what.as_slice()) != (number, &bytes[..]));
                    if let Some(reply) = reply {
                        running.handle.answer(reply, answer.clone()).expect("room");
                    }
                }
            }
        }
    }
}

/// The next thing that was said in passing and is none of those.
fn hear(running: &mut Running) -> Arrived {
    running.find("something said", |arrived| match &arrived {
        Arrived::Bytes { bytes, place: None, .. } if !bytes.starts_with(TRIED) => Some(arrived),
        _ => None,
    })
}

#[test]
fn beats_questions_and_answers_are_heard_in_passing() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    make(&nats.urls(), 1);
    let [mut one, mut two] = [1, 2].map(|seed| Running::start(&nats.urls(), seed, vec![]));
    one.up();
    two.up();
    until_all_is_heard(&mut one, &mut two);
    one.handle.heartbeat(b"alive".to_vec()).expect("room");
    let beat = Arrived::Bytes { bytes: b"alive".as_slice().into(), reply: None, place: None };
    assert_eq!(hear(&mut two), beat);
    assert_eq!(hear(&mut one), beat, "a site hears itself, too");
    one.handle.ask(site(2).public(), b"which?".to_vec()).expect("room");
    let Arrived::Bytes { bytes, reply: Some(reply), .. } = hear(&mut two) else { panic!("no question") };
    assert_eq!(bytes.as_ref(), b"which?");
    for answer in [b"this", b"that"] {
        two.handle.answer(reply, answer.to_vec()).expect("room");
    }
    for answer in [b"this", b"that"] {
        let expected = Arrived::Bytes { bytes: answer.to_vec().into(), reply: None, place: None };
        assert_eq!(hear(&mut one), expected);
    }
    assert_eq!((one.handle.dropped().said(), two.handle.dropped().heard()), (0, 0));
}

#[test]
fn objects_are_put_replaced_got_and_removed() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    make(&nats.urls(), 1);
    let [mut one, mut two] = [1, 2].map(|seed| Running::start(&nats.urls(), seed, vec![]));
    assert_eq!(two.object(1, "snapshot"), None);
    assert!(one.put("snapshot", b"small"));
    assert_eq!(two.object(1, "snapshot"), Some(b"small".to_vec()));
    let large: Vec<u8> = (0..3_000_000_u32).flat_map(|number| [number as u8, (number >> 9) as u8]).collect();
    assert!(one.put("snapshot", &large), "in place of the other");
    assert!(two.object(1, "snapshot").as_ref() == Some(&large));
    assert!(one.put("empty", b""));
    assert_eq!(two.object(1, "empty"), Some(Vec::new()));
    one.handle.remove("snapshot".to_owned()).expect("room");
    assert_eq!(one.object(1, "snapshot"), None);
    assert!(!one.put("a name that is none", b""));
    // What was replaced and removed takes no room.
    let bucket = Names::of(&admin().public()).bucket_stream(&site(1).public());
    let states = operator(&nats.urls()).states(&[site(1).public()]).expect("states");
    let bytes = states.iter().find(|state| state.name == bucket).expect("the bucket").bytes;
    assert!(bytes < 10_000, "{bytes}");
}
