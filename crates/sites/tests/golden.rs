//! Every format, as bytes that stay. What this release writes is compared with the files in `golden`, and the files
//! are read; `SEENIT_BLESS=1` writes them anew, which after a release is a change of the format.

mod made;

use std::fmt::Write;

use made::{
    SIGHTINGS, admin, hash_key, head, heartbeat, is_number, manifest, member, message, roster, site,
    snapshot, statement, stream_id,
};
use seenit_sites::ask::{Ask, AskAnswer};
use seenit_sites::chain::Chain;
use seenit_sites::heartbeat::Heartbeat;
use seenit_sites::introduction::Introduction;
use seenit_sites::manifest::Manifest;
use seenit_sites::message::{Message, Stream};
use seenit_sites::number::{Generation, Sequence};
use seenit_sites::roster::Roster;
use seenit_sites::snapshot::{Snapshot, pack_digest, snapshot_digest};

/// The golden bytes of a name.
fn kept(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).expect("a golden file")
}

/// The golden bytes of a name, which must be those that were just written.
fn golden(name: &str, written: &[u8]) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("SEENIT_BLESS").is_some() {
        std::fs::write(&path, written).expect("the golden folder is writable");
    }
    let kept = kept(name);
    assert!(kept == written, "{path} differs from what this release writes");
    kept
}

#[test]
fn the_golden_roster_is_reproduced_and_read() {
    let bytes = golden("roster-1.bin", &roster(7, &[1, 2, 3]).bytes);
    let read = Roster::decode(&bytes, &admin().public()).expect("the golden roster");
    assert_eq!((read.version, read.members.len()), (7, 3));
    assert_eq!(read.member(&site(2).public()), Some(&member(2)));
}

#[test]
fn the_golden_introduction_is_reproduced_and_read() {
    let written = Introduction::sign(&site(2), member(2).name);
    let bytes = golden("introduction-1.bin", written.bytes());
    let line = golden("introduction-1.txt", format!("{written}\n").as_bytes());
    let read = Introduction::decode(&bytes).expect("the golden introduction");
    assert_eq!((read.site, read.sealing), (member(2).site, member(2).sealing));
    assert_eq!(read.name, member(2).name);
    let line = String::from_utf8(line).expect("text");
    assert_eq!(line.trim_end().parse(), Ok(read));
}

#[test]
fn the_golden_manifest_is_reproduced_and_opened() {
    let bytes = golden("manifest-2.bin", &manifest(3, 20_000, 9).bytes);
    let read = Manifest::decode(&bytes, &admin().public()).expect("the golden manifest");
    assert_eq!((read.number, read.terms.first_generation), (3, Generation(20_000)));
    assert_eq!(read.open(&site(3)).expect("sealed to it"), hash_key(9));
}

/// A network that was made by an earlier release keeps its hash key.
#[test]
fn the_golden_manifest_with_a_geometry_is_still_read_and_opened() {
    let read = Manifest::decode(&kept("manifest-1.bin"), &admin().public()).expect("the old manifest");
    assert_eq!((read.number, read.terms.first_generation), (3, Generation(20_000)));
    assert_eq!(read.terms.generation_secs, 86_400);
    assert_eq!(read.open(&site(3)).expect("sealed to it"), hash_key(9));
}

#[test]
fn the_golden_messages_are_reproduced_and_read() {
    let roster = roster(7, &[1, 2, 3]);
    let messages = [
        ("message-records-1.bin", Stream::Records, 40, 42, "two records".as_bytes()),
        ("message-sightings-1.bin", SIGHTINGS, 8, 9, b"a delta"),
        ("message-head-1.bin", SIGHTINGS, 9, 9, b""),
    ];
    for (name, stream, previous, sequence, payload) in messages {
        let bytes = golden(name, &message(2, statement(stream, previous, sequence), payload));
        let read = Message::decode(&bytes, &roster).expect(name);
        assert_eq!((read.head.chain(), read.payload), (made::at(sequence, 7), payload), "{name}");
    }
    for name in ["message-seen-1.bin", "message-heartbeat-1.bin"] {
        let old = Message::decode(&kept(name), &roster).map(|_| ());
        assert!(is_number(&old, "stream", 2), "cells travel no more");
    }
}

#[test]
fn the_golden_heartbeat_is_reproduced_and_read() {
    let written = heartbeat().sign(&site(2), &admin().public()).expect("a heartbeat");
    let bytes = golden("heartbeat-2.bin", &written);
    assert_eq!(Heartbeat::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(heartbeat()));
}

#[test]
fn the_golden_asks_are_reproduced_and_read() {
    let asks = [
        ("ask-records-1.bin", Ask::Range { id: stream_id(1, Stream::Records), after: Sequence(17) }),
        ("ask-sightings-1.bin", Ask::Range { id: stream_id(1, SIGHTINGS), after: Sequence(5) }),
        ("ask-said-1.bin", Ask::Said { head: head(2, Stream::Records, 42).bytes() }),
    ];
    for (name, ask) in asks {
        let bytes = golden(name, &ask.encode());
        assert_eq!(Ask::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(ask), "{name}");
    }
}

#[test]
fn the_golden_answers_are_reproduced_and_read() {
    let message = message(1, statement(Stream::Records, 40, 42), b"two records");
    let answers = [
        ("answer-message-1.bin", AskAnswer::Message(message)),
        (
            "answer-expired-1.bin",
            AskAnswer::Expired { id: stream_id(1, Stream::Records), first: Sequence(18) },
        ),
    ];
    for (name, answer) in answers {
        let bytes = golden(name, &answer.encode());
        assert_eq!(AskAnswer::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(answer), "{name}");
    }
}

#[test]
fn the_golden_snapshot_is_reproduced_and_read() {
    let written = snapshot().sign(&site(2), &admin().public()).expect("a snapshot");
    let bytes = golden("snapshot-2.bin", &written);
    assert_eq!(Snapshot::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(snapshot()));
}

/// Digests and derived keys, one to a line.
#[test]
fn the_golden_digests_are_reproduced() {
    let mut text = String::new();
    let records = Chain::begin(&stream_id(1, Stream::Records));
    for chain in [records, records.then(b"one"), records.then(b"one").then(b"")] {
        writeln!(text, "link after {} records: {}", chain.sequence, chain.value).expect("as above");
    }
    let sightings = Chain::begin(&stream_id(1, SIGHTINGS));
    for chain in [sightings, sightings.then(b"one")] {
        writeln!(text, "link after {} deltas: {}", chain.sequence, chain.value).expect("as above");
    }
    writeln!(text, "sealing key of site 1: {}", site(1).sealing().public()).expect("as above");
    writeln!(text, "engine key of site 1: {}", site(1).broker_key().public()).expect("as above");
    writeln!(text, "engine key of the admin: {}", admin().broker_key().public()).expect("as above");
    writeln!(text, "pack of \"a pack\": {}", pack_digest(b"a pack")).expect("as above");
    writeln!(text, "snapshot of \"a manifest\": {}", snapshot_digest(b"a manifest")).expect("as above");
    golden("digests-2.txt", text.as_bytes());
    // But for trees over pages, which are no more, nothing has changed since the release before.
    let old = String::from_utf8(kept("digests-1.txt")).expect("text");
    let gone = old.lines().filter(|line| !line.starts_with("root of")).find(|line| !text.contains(line));
    assert_eq!(gone, None);
}
