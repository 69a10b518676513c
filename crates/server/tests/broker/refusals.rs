//! What a site may not do, and what happens when the broker is not there or not the same any more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream::stream::Config;
use async_nats::jetstream::{self, Context};
use async_nats::{AuthError, Client, ConnectOptions};
use nkeys::{KeyPair, KeyPairType};
use seenit_link::BrokerStream;
use seenit_server::broker::{
    Arrived, BrokerAddress, Invite, Login, Names, Operator, Published, Stream, User, deposit,
};
use seenit_sites::introduction::Introduction;
use seenit_sites::roster::Name;
use tokio::runtime::Runtime;

use crate::nats::{Nats, free_ports};
use crate::site::{PATIENCE, Running, admin, admin_user, make, operator, servers, site, site_user, users};

/// How long what is refused is waited for: the server says so, but not as an answer.
const REFUSED: Duration = Duration::from_millis(500);

/// A time that is far away: the year 2100.
const LATER_SECS: u64 = 4_102_444_800;

/// A connection by hand, with what the server complained of.
async fn connect(urls: &[String], user: User) -> (Client, Context, Arc<Mutex<Vec<String>>>) {
    let pair = KeyPair::new_from_raw(KeyPairType::User, user.secret.to_bytes()).expect("a key");
    let pair = Arc::new(pair);
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let told = complaints.clone();
    let options = ConnectOptions::with_jwt(user.jwt, move |nonce| {
        let pair = pair.clone();
        async move { pair.sign(&nonce).map_err(AuthError::new) }
    });
    let options = options.event_callback(move |event| {
        let told = told.clone();
        async move { told.lock().expect("no panic").push(event.to_string().to_lowercase()) }
    });
    let prefix = format!("_INBOX.{}", &site(1).public().to_string()[..32]);
    let client = options.custom_inbox_prefix(prefix).connect(urls.to_vec()).await.expect("a user");
    let mut context = jetstream::new(client.clone());
    context.set_timeout(REFUSED);
    (client, context, complaints)
}

#[test]
fn a_site_may_do_nothing_in_the_name_of_another() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    let operator = make(&nats.urls(), 1);
    let names = Names::of(&admin().public());
    let (own, other) = (site(1).public(), site(2).public());
    let (records, bucket) = (names.stream(Stream::Records), names.bucket(&other));
    let forbidden = [
        names.spoken(Stream::Records, &other),
        names.spoken(Stream::Seen, &other),
        names.roster(),
        names.manifest(1),
        names.user(&own),
        names.deposit(Some(&site(1).broker_key().public())),
        names.heartbeat(Some(&other)),
        names.news(Some(Stream::Records)).replace('>', "x"),
        format!("$O.{bucket}.C.x"),
        format!("$O.{bucket}.M.x"),
        format!("$JS.API.STREAM.PURGE.OBJ_{bucket}"),
        format!("$JS.API.STREAM.PURGE.{records}"),
        format!("$JS.API.STREAM.DELETE.{records}"),
        format!("$JS.API.STREAM.UPDATE.{records}"),
        format!("$JS.API.STREAM.MSG.DELETE.{records}"),
        format!("$JS.API.STREAM.CREATE.{}", names.bucket_stream(&own)),
        format!("$JS.API.CONSUMER.CREATE.{records}"),
        format!("$JS.API.CONSUMER.CREATE.{records}.x.{}", names.subjects(Stream::Records)),
        format!("$JS.API.CONSUMER.DURABLE.CREATE.{records}.x"),
        format!("_INBOX.{}.answers", &other.to_string()[..32]),
    ];
    let before = operator.states(&[other]).expect("states");
    let (refused, heard) = Runtime::new().expect("a runtime").block_on(async {
        let (client, context, complaints) = connect(&nats.urls(), site_user(1)).await;
        for subject in &forbidden {
            client.publish(subject.clone(), "{}".into()).await.expect("sent");
        }
        let spied = format!("_INBOX.{}.>", &other.to_string()[..32]);
        let _spy = client.subscribe(spied).await.expect("sent");
        let _spy = client.subscribe(names.ask(None)).await.expect("sent");
        client.flush().await.expect("flushed");
        let config = Config { name: "OWN".to_owned(), subjects: vec!["own".to_owned()], ..Config::default() };
        let refused = [
            context.create_stream(config).await.is_err(),
            context.delete_stream(&records).await.is_err(),
            context.get_stream(names.bucket_stream(&other)).await.is_err(),
            context.query_account().await.is_err(),
        ];
        let until = std::time::Instant::now() + PATIENCE;
        while complaints.lock().expect("no panic").len() < forbidden.len() + 2
            && std::time::Instant::now() < until
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        // So that one too many is heard, too.
        tokio::time::sleep(REFUSED).await;
        (refused, complaints.lock().expect("no panic").clone())
    });
    assert_eq!(refused, [true; 4]);
    for subject in &forbidden {
        let complaint = format!("publish to \"{}\"", subject.to_lowercase());
        assert!(heard.iter().any(|heard| heard.contains(&complaint)), "{subject}: {heard:?}");
    }
    assert_eq!(heard.iter().filter(|heard| heard.contains("subscription to")).count(), 2, "{heard:?}");
    assert_eq!(operator.states(&[other]).expect("states"), before);
}

#[test]
fn who_was_invited_may_knock_and_nothing_else() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    let operator = make(&nats.urls(), 1);
    let broker = BrokerAddress { addresses: nats.urls(), ..BrokerAddress::default() };
    let name: Name = "new".parse().expect("a name");
    let invite = |expires, seed| Invite::sign(&admin(), name.clone(), expires, broker.clone(), [seed; 16]);
    let [mine, other] = [1, 2].map(|seed| invite(LATER_SECS, seed).expect("an invite"));
    let servers = servers(&nats.urls(), Login::Key(site(3).broker_key()));
    let introduction = Introduction::sign(&site(3), name.clone());
    deposit(&mine, &servers, &introduction).expect("it may knock");
    let left = operator.pending(&[mine.key(), other.key()]).expect("the door");
    assert_eq!(left, [(mine.key(), introduction.bytes().to_vec())]);
    let ended = invite(1, 3).expect("an invite");
    assert!(
        deposit(&ended, &servers, &introduction).expect_err("too late").to_string().contains("authorization")
    );
    let names = Names::of(&admin().public());
    let forbidden = [
        names.deposit(Some(&other.key())),
        names.user(&site(3).public()),
        names.roster(),
        names.spoken(Stream::Records, &site(1).public()),
        names.ask(Some(&site(1).public())),
        format!("$JS.API.STREAM.MSG.GET.{}", names.stream(Stream::Records)),
        format!("$JS.API.STREAM.PURGE.{}", names.door()),
    ];
    let heard = Runtime::new().expect("a runtime").block_on(async {
        let (client, _, complaints) = connect(&nats.urls(), mine.user().expect("a user")).await;
        for subject in &forbidden {
            client.publish(subject.clone(), "{}".into()).await.expect("sent");
        }
        client.flush().await.expect("flushed");
        tokio::time::sleep(REFUSED).await;
        complaints.lock().expect("no panic").join("\n")
    });
    for subject in &forbidden {
        assert!(heard.contains(&format!("publish to \"{}\"", subject.to_lowercase())), "{subject}: {heard}");
    }
}

#[test]
fn strangers_do_not_connect() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    let servers = servers(&nats.urls(), Login::Key(site(3).broker_key()));
    let refused = Operator::connect(&servers, admin().public()).expect_err("a stranger").to_string();
    assert!(refused.contains("authorization violation"), "{refused}");
    let mut stranger = Running::start_as(&nats.urls(), 3, Login::Key(site(3).broker_key()), vec![]);
    let why = stranger.find("a refusal", |arrived| match arrived {
        Arrived::Down(why) => Some(why),
        _ => None,
    });
    assert!(why.contains("authorization violation"), "{why}");
    assert!(matches!(stranger.publish(BrokerStream::Records, b"me", 0), Published::Failed(_)));
}

#[test]
fn a_broker_that_comes_later_is_found() {
    let Some(mut nats) = Nats::prepare(1, &users()) else { return };
    let mut one = Running::start(&nats.urls(), 1, vec![]);
    assert!(matches!(one.publish(BrokerStream::Records, b"first", 0), Published::Failed(_)));
    one.handle.heartbeat(b"nobody hears it".to_vec()).expect("room");
    assert_eq!(one.object(2, "snapshot"), None);
    assert_eq!(one.handle.dropped().said(), 1);
    nats.begin(0);
    nats.wait();
    one.up();
    assert!(
        matches!(one.publish(BrokerStream::Records, b"first", 0), Published::Failed(_)),
        "there is no stream yet"
    );
    make(&nats.urls(), 1);
    // What failed may have been kept by the connection and sent after all: that makes no second message.
    assert_eq!(one.insist(BrokerStream::Records, b"first", 0), Published::Stored(1));
    assert_eq!(one.read().0, b"first");
    nats.kill(0);
    one.find("the end", |arrived| matches!(arrived, Arrived::Down(_)).then_some(()));
    nats.begin(0);
    nats.wait();
    one.up();
    assert_eq!(one.insist(BrokerStream::Records, b"second", 1), Published::Stored(2));
    assert_eq!(one.read().0, b"second", "reading goes on after the place where it was");
}

#[test]
fn a_stream_that_was_made_anew_is_noticed() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    make(&nats.urls(), 1);
    let [mut one, mut two] = [1, 2].map(|seed| Running::start(&nats.urls(), seed, vec![]));
    for (number, bytes) in [b"a", b"b", b"c"].into_iter().enumerate() {
        assert_eq!(
            one.publish(BrokerStream::Records, bytes, number as u64),
            Published::Stored(number as u64 + 1)
        );
    }
    let old = (0..3).map(|_| two.read()).last().expect("three").1;
    let name = Names::of(&admin().public()).stream(Stream::Records);
    Runtime::new().expect("a runtime").block_on(async {
        let (_, context, _) = connect(&nats.urls(), admin_user()).await;
        context.delete_stream(&name).await.expect("the admin may");
    });
    make(&nats.urls(), 1);
    assert_eq!(one.insist(BrokerStream::Records, b"d", 3), Published::Fenced { last: None });
    // More than before, so that the number alone would not tell.
    for (number, bytes) in [b"d", b"e", b"f", b"g"].into_iter().enumerate() {
        assert_eq!(
            one.insist(BrokerStream::Records, bytes, number as u64),
            Published::Stored(number as u64 + 1)
        );
    }
    let (bytes, place) = two.read();
    assert_eq!((bytes.as_slice(), place.sequence), (b"d".as_slice(), 1));
    assert_ne!(place.created, old.created);
    let mut later = Running::start(&nats.urls(), 2, vec![old]);
    assert_eq!(later.read(), (bytes, place), "an old place is no place in the new stream");
    drop(operator(&nats.urls()));
}

#[test]
fn what_a_put_that_was_cut_short_left_is_swept_away() {
    let Some(nats) = Nats::start(1, &users()) else { return };
    let operator = make(&nats.urls(), 1);
    let names = Names::of(&admin().public());
    let bucket = names.bucket(&site(1).public());
    Runtime::new().expect("a runtime").block_on(async {
        let (_, context, _) = connect(&nats.urls(), site_user(1)).await;
        for _ in 0..3 {
            let sent = context.publish(format!("$O.{bucket}.C.cutshort"), "half".into()).await.expect("sent");
            sent.await.expect("its own bucket");
        }
    });
    let messages = || operator.states(&[site(1).public()]).expect("states")[4].messages;
    assert_eq!(messages(), 3);
    let mut one = Running::start(&nats.urls(), 1, vec![]);
    assert!(one.put("first", b"bytes") && one.put("second", b"more"));
    assert_eq!(messages(), 4, "two objects of a chunk each");
    drop(one);
    let mut again = Running::start(&nats.urls(), 1, vec![]);
    assert!(again.put("third", b""));
    assert_eq!(again.object(1, "first"), Some(b"bytes".to_vec()), "what has a name stays");
}

#[test]
fn nobody_there_is_said_at_once() {
    let url = format!("nats://127.0.0.1:{}", free_ports(1)[0]);
    let servers = servers(&[url], Login::Key(admin().broker_key()));
    let refused = Operator::connect(&servers, admin().public()).expect_err("nobody there").to_string();
    assert!(refused.starts_with("the broker: nats://127.0.0.1:"), "{refused}");
}
