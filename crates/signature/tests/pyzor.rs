//! Pyzor's digest against golden vectors, printed by the client, and against input of any kind.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use seenit_signature::pyzor;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/pyzor")
}

fn read(name: &str) -> Vec<u8> {
    fs::read(vectors().join(name)).unwrap_or_else(|error| panic!("cannot read {name}: {error}"))
}

#[test]
fn digests_are_those_of_the_client() {
    let list = String::from_utf8(read("digests.tsv")).expect("the list is text");
    let mut checked = 0;
    for (name, digest) in list.lines().filter_map(|line| line.split_once('\t')) {
        if !name.ends_with(".eml") {
            continue;
        }
        let ours = pyzor::digest(&read(name)).expect("the client does not crash");
        assert_eq!(ours.to_string(), digest, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 9);
}

#[test]
fn lines_are_those_of_the_client() {
    for entry in fs::read_dir(vectors()).expect("the vectors are there") {
        let path = entry.expect("a listed entry can be read").path();
        if path.extension().is_some_and(|extension| extension == "eml") {
            let lines = pyzor::predigest(&fs::read(&path).expect("a vector can be read"));
            let printed: String =
                lines.expect("the client does not crash").iter().map(|line| format!("{line}\n")).collect();
            let want = fs::read_to_string(path.with_extension("predigest")).expect("a vector can be read");
            assert_eq!(printed, want, "{}", path.display());
        }
    }
}

/// Pieces that mean something to one of the parsers: random bytes alone would rarely get past the headers.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"Content-Type: ",
        b"text/html; charset=",
        b"text/plain; charset=",
        b"multipart/mixed; boundary=b",
        b"multipart/digest; boundary*0=b; boundary*1*=''%41",
        b"message/rfc822",
        b"message/delivery-status",
        b"Content-Transfer-Encoding: base64\n",
        b"Content-Transfer-Encoding: quoted-printable\n",
        b"Content-Transfer-Encoding: uuencode\n",
        b"begin 644 x\n#86)C\n`\nend\n",
        b"utf-8",
        b"gb18030",
        b"iso-2022-jp",
        b"utf-7",
        b"utf-16",
        b"koi8-r",
        b"\n",
        b"\r\n",
        b"\n\n",
        b"\r",
        b"From x\n",
        b"--b",
        b"--b--",
        b"<a b='",
        b"<script>",
        b"</script>",
        b"<!--",
        b"-->",
        b"<![if ",
        b"]>",
        b"&amp",
        b"&#x",
        b"&",
        b";",
        b"=\r",
        b"abcd efgh ijkl",
        b"a@b http://x/y",
        b"\xe3\x81\x82",
        b"\x1b$B",
        b"\0",
    ];
    prop_oneof![
        3 => proptest::sample::select(pieces).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_mail(pieces in proptest::collection::vec(piece(), 0..60)) {
        let mail = pieces.concat();
        let digest = pyzor::digest(&mail);
        let lines = pyzor::predigest(&mail);
        prop_assert_eq!(digest.is_none(), lines.is_none());
        prop_assert_eq!(digest.is_some_and(|digest| digest.is_empty()), lines.is_some_and(|lines| lines.is_empty()));
    }
}

/// Python gives up at some depth, and so does the client.
#[test]
fn deep_nesting_has_an_end() {
    let nested = |depth: usize| {
        [b"Content-Type: message/rfc822\n\n".repeat(depth), b"\nabcd efgh\n".to_vec()].concat()
    };
    assert_eq!(pyzor::predigest(&nested(982)), Some(vec!["abcdefgh".to_owned()]));
    assert_eq!(pyzor::predigest(&nested(983)), None);
    assert_eq!(pyzor::predigest(&nested(100_000)), None);
}

/// Each of these could take time by the square of its length. Then this test would not end.
#[test]
fn long_messages_take_their_time_by_length() {
    let html = b"Content-Type: text/html\n\n".as_slice();
    let multipart = b"Content-Type: multipart/mixed; boundary=b\n\n".as_slice();
    let bodies: [(&[u8], &[u8]); 14] = [
        (html, b"<a b='"),
        (html, b"<a b= \""),
        (html, b"<a "),
        (html, b"</ "),
        (html, b"<!-- --"),
        (html, b"<![if ]"),
        (html, b"<![cdata[ ] ] "),
        (html, b"<script></scrip </"),
        (html, b"&a&#1"),
        (html, b"<"),
        (multipart, b"--b\n"),
        (multipart, b"--b\n\nx\n"),
        (b"", b"Content-Type: a/b; c*0=\"\\\";\n "),
        (b"Content-Transfer-Encoding: quoted-printable\n\n", b"=\r"),
    ];
    for (head, unit) in bodies {
        let mail = [head, &unit.repeat(2_000_000 / unit.len())].concat();
        pyzor::digest(&mail);
    }
}
