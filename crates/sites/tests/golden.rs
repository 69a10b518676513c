//! Every format, as bytes that stay. What this release writes is compared with the files in `golden`, and the files
//! are read; `SEENIT_BLESS=1` writes them anew, which after a release is a change of the format.

mod made;

use std::fmt::Write;

use made::{admin, beat, hash_key, head, manifest, member, roster, site, snapshot, state, stream_id};
use seenit_sites::ask::{Answer, Ask};
use seenit_sites::beat::Beat;
use seenit_sites::chain::Chain;
use seenit_sites::introduction::Introduction;
use seenit_sites::manifest::Manifest;
use seenit_sites::message::{Message, Stream};
use seenit_sites::root::{Branch, PageOfCells, Path, Tree, decode_cells, leaf};
use seenit_sites::roster::Roster;
use seenit_sites::snapshot::{Snapshot, pack_digest, snapshot_digest};
use seenit_sites::{list, part};

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
fn the_golden_page_of_cells_is_reproduced_and_read() {
    let mut values = vec![0; 8192];
    for (cell, value) in [(0, 1), (1, 127), (3, 128), (131, 65_535), (8191, u64::MAX)] {
        values[cell] = value;
    }
    let mut page = PageOfCells::default();
    (0..).zip(&values).for_each(|(cell, value)| page.put(cell, *value));
    let bytes = golden("page-1.bin", &page.into_bytes());
    assert_eq!(decode_cells(&bytes, values.len()), Ok(values));
}

#[test]
fn the_golden_path_is_reproduced_and_leads_to_its_root() {
    let tree = Tree::of((0..11_u8).map(|page| leaf(&[page; 4096])));
    let mut written = Vec::new();
    tree.path(6).expect("a page").encode(&mut written);
    let read = Path::decode(&golden("path-1.bin", &written)).expect("the golden path");
    assert!(read.leads_to(&tree.root(), &[6; 4096]));
}

#[test]
fn the_golden_beat_is_reproduced_and_read() {
    let written = beat().sign(&site(2), &admin().public()).expect("a beat");
    let bytes = golden("beat-1.bin", &written);
    assert_eq!(Beat::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(beat()));
}

#[test]
fn the_golden_asks_are_reproduced_and_read() {
    let seen = stream_id(1, Stream::Seen { generation: 20_001 });
    let asks = [
        ("ask-records-1.bin", Ask::Records { id: stream_id(1, Stream::Records), after: 17 }),
        ("ask-leaves-1.bin", Ask::Leaves { id: seen, page: 5000 }),
        ("ask-pages-1.bin", Ask::Pages { id: seen, pages: vec![6, 0] }),
        ("ask-said-1.bin", Ask::Said { head: head(2, Stream::Records, 42).1 }),
    ];
    for (name, ask) in asks {
        let bytes = golden(name, &ask.encode());
        assert_eq!(Ask::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(ask), "{name}");
    }
}

#[test]
fn the_golden_answers_are_reproduced_and_read() {
    let stream = Stream::Seen { generation: 20_001 };
    let tree = Tree::of((0..11_u8).map(|page| leaf(&[page; 3])));
    let (branch, path) = (tree.branch(6).expect("a branch"), |page| tree.path(page).expect("a page"));
    let pages = vec![(path(6), vec![6; 3]), (path(0), vec![0; 3])];
    let message = Message::sign(&site(1), &admin().public(), state(Stream::Records, 42), 40, b"two records");
    let head = head(1, stream, 9).1;
    let answers = [
        ("answer-message-1.bin", Answer::Message(message.expect("a message"))),
        ("answer-expired-1.bin", Answer::Expired { id: stream_id(1, Stream::Records), first: 18 }),
        ("answer-leaves-1.bin", Answer::Leaves { head: head.clone(), branch }),
        ("answer-pages-1.bin", Answer::Pages { head, pages }),
    ];
    for (name, answer) in answers {
        let bytes = golden(name, &answer.encode());
        assert_eq!(Answer::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(answer), "{name}");
    }
}

#[test]
fn the_golden_snapshot_is_reproduced_and_read() {
    let written = snapshot().sign(&site(2), &admin().public()).expect("a snapshot");
    let bytes = golden("snapshot-1.bin", &written);
    assert_eq!(Snapshot::decode(&bytes, &roster(7, &[1, 2, 3])), Ok(snapshot()));
}

#[test]
fn the_golden_branch_is_reproduced_and_leads_to_its_root() {
    let tree = Tree::of((0..4100_u64).map(|page| leaf(&page.to_le_bytes())));
    let mut written = Vec::new();
    tree.branch(4098).expect("a page").encode(&mut written);
    let read = Branch::decode(&golden("branch-1.bin", &written)).expect("the golden branch");
    assert!(read.leads_to(&tree.root()));
    assert_eq!((read.first(), read.leaves().len()), (4096, 4));
}

#[test]
fn the_golden_part_of_a_list_is_reproduced_and_read() {
    let mut body = Vec::new();
    [b"a gain".as_slice(), b"", b"another"].iter().for_each(|item| list::push(&mut body, item));
    let written = part::parts(&body).concat();
    let bytes = golden("part-1.bin", &written);
    let (number, count, body) = part::part(&bytes).expect("the golden part");
    assert_eq!((number, count), (0, 1));
    assert_eq!(list::items(body, 3), Ok(vec![b"a gain".as_slice(), b"", b"another"]));
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
    writeln!(text, "pack of \"a pack\": {}", pack_digest(b"a pack")).expect("as above");
    writeln!(text, "snapshot of \"a manifest\": {}", snapshot_digest(b"a manifest")).expect("as above");
    golden("digests-1.txt", text.as_bytes());
}
