//! Every format, as bytes that stay. What this release writes is compared with the files in `golden`, and the files
//! are read; `SEENIT_BLESS=1` writes them anew, which after a release is a change of the format.

mod made;

use std::fmt::Write;

use made::{admin, hash_key, manifest, member, roster, site, state};
use seenit_sites::chain::Chain;
use seenit_sites::introduction::Introduction;
use seenit_sites::manifest::Manifest;
use seenit_sites::message::{Message, Stream};
use seenit_sites::root::{Path, Tree, leaf};
use seenit_sites::roster::Roster;

/// The golden bytes of a name, which must be those that were just written.
fn golden(name: &str, written: &[u8]) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("SEENIT_BLESS").is_some() {
        std::fs::write(&path, written).expect("the golden folder is writable");
    }
    let kept = std::fs::read(&path).expect("a golden file");
    assert!(kept == written, "{path} differs from what this release writes");
    kept
}

#[test]
fn the_golden_roster_is_reproduced_and_read() {
    let bytes = golden("roster-1.bin", roster(7, &[1, 2, 3]).bytes());
    let read = Roster::decode(&bytes, &admin().public()).expect("the golden roster");
    assert_eq!((read.version(), read.members().len()), (7, 3));
    assert_eq!(read.member(&site(2).public()), Some(&member(2)));
}

#[test]
fn the_golden_introduction_is_reproduced_and_read() {
    let written = Introduction::sign(&site(2), member(2).name);
    let bytes = golden("introduction-1.bin", written.bytes());
    let line = golden("introduction-1.txt", format!("{written}\n").as_bytes());
    let read = Introduction::decode(&bytes).expect("the golden introduction");
    assert_eq!((read.site(), read.sealing()), (&member(2).site, &member(2).sealing));
    assert_eq!(read.name(), &member(2).name);
    let line = String::from_utf8(line).expect("text");
    assert_eq!(line.trim_end().parse(), Ok(read));
}

#[test]
fn the_golden_manifest_is_reproduced_and_opened() {
    let bytes = golden("manifest-1.bin", manifest(3, 20_000, 9).bytes());
    let read = Manifest::decode(&bytes, &admin().public()).expect("the golden manifest");
    assert_eq!((read.number(), read.terms().first_generation), (3, 20_000));
    assert_eq!(read.open(&site(3)).expect("sealed to it"), hash_key(9));
}

#[test]
fn the_golden_messages_are_reproduced_and_read() {
    let (seen, roster) = (Stream::Seen { generation: 20_001 }, roster(7, &[1, 2, 3]));
    let messages = [
        ("message-records-1.bin", Stream::Records, 40, 42, "two records".as_bytes()),
        ("message-seen-1.bin", seen, 8, 9, b"a gain of counts"),
        ("message-heartbeat-1.bin", seen, 9, 9, b""),
    ];
    for (name, stream, previous, sequence, payload) in messages {
        let state = state(stream, sequence);
        let written =
            Message::sign(&site(2), &admin().public(), state, previous, payload).expect("a message");
        let bytes = golden(name, &written);
        let read = Message::decode(&bytes, &roster).expect(name);
        assert_eq!((read.head().state(), read.payload()), (&state, payload), "{name}");
    }
}

#[test]
fn the_golden_path_is_reproduced_and_leads_to_its_root() {
    let tree = Tree::of((0..11_u8).map(|page| leaf(&[page; 4096])));
    let mut written = Vec::new();
    tree.path(6).expect("a page").encode(&mut written);
    let read = Path::decode(&golden("path-1.bin", &written)).expect("the golden path");
    assert!(read.leads_to(&tree.root(), &[6; 4096]));
}

/// Digests and derived keys, one to a line.
#[test]
fn the_golden_digests_are_reproduced() {
    let mut text = String::new();
    for pages in [0, 1, 2, 3, 11_u8] {
        let tree = Tree::of((0..pages).map(|page| leaf(&[page; 4096])));
        writeln!(text, "root of {pages} pages: {}", tree.root()).expect("a string takes any text");
    }
    let chain = Chain::begin(&site(1).public(), 1_700_000_000);
    for chain in [chain, chain.then(b"one"), chain.then(b"one").then(b"")] {
        writeln!(text, "link after {} records: {}", chain.records(), chain.link()).expect("as above");
    }
    writeln!(text, "sealing key of site 1: {}", site(1).sealing().public()).expect("as above");
    writeln!(text, "engine key of site 1: {}", site(1).engine().public()).expect("as above");
    writeln!(text, "engine key of the admin: {}", admin().engine().public()).expect("as above");
    golden("digests-1.txt", text.as_bytes());
}
