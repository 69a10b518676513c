//! The Razor2 vectors: signatures that `razor-check -H` printed for nine mails, and laws that hold for any bytes.

use std::path::Path;

use proptest::prelude::*;
use seenit_signature::razor::{E4, E8, Ep4, Part, mails_of_file, sign};

fn vector(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/razor2").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

fn parts_of_file(file: &[u8], ep4: &Ep4) -> Vec<Part> {
    mails_of_file(file).iter().flat_map(|mail| sign(mail, ep4)).collect()
}

/// Rows of file, part, engine, parameters, signature.
fn rows() -> Vec<[String; 5]> {
    let table = String::from_utf8(vector("signatures.tsv")).expect("the table is text");
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().expect("five columns"))
        .collect()
}

#[test]
fn the_client_s_signatures_are_ours() {
    let rows = rows();
    assert_eq!(rows.len(), 33);
    for [file, part, engine, ep4, signature] in rows {
        let ep4 = if ep4 == "-" { Ep4::default() } else { ep4.parse().expect("parameters") };
        let parts = parts_of_file(&vector(&file), &ep4);
        let part = &parts[part.parse::<usize>().expect("the number of a part")];
        if engine == "e4" {
            assert_eq!(part.e4.map(|e4| e4.to_string()), Some(signature), "{file}");
        } else {
            let ours: Vec<String> = part.e8.iter().map(|found| found.signature.to_string()).collect();
            assert!(ours.contains(&signature), "{file}: {signature} is not among {ours:?}");
        }
    }
}

#[test]
fn the_vectors_name_every_part() {
    let rows = rows();
    for (file, _) in rows.iter().map(|row| (&row[0], ())) {
        let parts = parts_of_file(&vector(file), &Ep4::default());
        let known =
            rows.iter().filter(|row| row[0] == *file && row[2] == "e4" && row[3] == "7542-10").count();
        assert_eq!(parts.len(), known, "{file}");
    }
}

#[test]
fn a_file_s_from_lines_matter_and_a_mail_s_do_not() {
    let file = b"Subject: x\n\nFrom here on\n>From there\n";
    let mails = mails_of_file(file);
    assert_eq!(mails.len(), 1);
    assert_eq!(
        sign(&mails[0], &Ep4::default()),
        sign(b"Subject: x\n\n>From here on\n>>From there\n", &Ep4::default())
    );
    assert_ne!(sign(&mails[0], &Ep4::default()), sign(file, &Ep4::default()));
}

/// Words that mean something to some stage, so that generated mails get beyond the first.
const WORDS: [&str; 26] = [
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "0",
    "text",
    "From ",
    "Content-Type: multipart/x; boundary=q",
    "\n--q\n",
    "\n--q--",
    "Content-Type: text/html",
    "Content-Transfer-Encoding: base64",
    "Content-Transfer-Encoding: quoted-printable",
    "=41",
    "=",
    "<b>",
    "<!--",
    "-->",
    "&eacute;",
    "\"",
    "http://a.example.co.uk/",
    "<a href=\"https://x.edu.au/\">",
    " www.x.org",
    "%41",
    "&#65;",
    "&#300;",
];

fn mail() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => proptest::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..9),
    ];
    proptest::collection::vec(word, 0..80).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(file in mail(), seed in 1u64.., separator in any::<u8>()) {
        let ep4: Ep4 = format!("{seed}-{separator}").parse().expect("parameters");
        for part in parts_of_file(&file, &ep4) {
            prop_assert!(part.e4.is_some() || part.e8.is_empty());
            if let Some(e4) = part.e4 {
                prop_assert_eq!(e4.to_string().parse::<E4>(), Ok(e4));
            }
            for found in &part.e8 {
                prop_assert_eq!(found.signature.to_string().parse::<E8>(), Ok(found.signature));
                prop_assert_eq!(part.e8.iter().filter(|other| other.host == found.host).count(), 1);
            }
        }
    }

    #[test]
    fn line_ends_do_not_matter_beyond_the_first_header(body in "[a-z <>&=\n]{1,300}") {
        let feeds = format!("Content-Type: text/plain\n\n{body}x");
        let returns = feeds.replace('\n', "\r\n");
        prop_assert_eq!(sign(feeds.as_bytes(), &Ep4::default()), sign(returns.as_bytes(), &Ep4::default()));
    }
}

/// Shapes that would take a careless program hours. There is no clock here: a quadratic step would not come back.
#[test]
fn hostile_shapes_take_linear_time() {
    const BYTES: usize = 5_000_000;
    let multipart =
        |boundary: &str| format!("Content-Type: multipart/x; boundary={boundary}\n\n").into_bytes();
    let nest: Vec<u8> = (0..BYTES / 60)
        .flat_map(|n| [multipart(&format!("b{n}x")), format!("--b{n}x\n").into()].concat())
        .collect();
    let shapes: [Vec<u8>; 10] = [
        b"\n\r".repeat(BYTES / 2),
        [&b"a: b\n\n"[..], &b"\r".repeat(BYTES)].concat(),
        [&b"x:"[..], &b"\n ".repeat(BYTES / 2), b"\n\nbody"].concat(),
        nest,
        [multipart("q"), b"\n--q\nx".repeat(BYTES / 6)].concat(),
        [multipart(&"-".repeat(BYTES / 2)), b"-".repeat(BYTES / 2)].concat(),
        [multipart("q"), b"\n--q\n\n<a ".repeat(1000), b"<a ".repeat(BYTES / 3)].concat(),
        [multipart("q"), [&b"\n--q\n"[..], &b"http://a.b ".repeat(5585)].concat().repeat(BYTES / 61_440)]
            .concat(),
        [multipart("q"), [&b"\n--q\n"[..], &b"&a".repeat(30_000), b"<b>"].concat().repeat(BYTES / 60_000)]
            .concat(),
        [multipart("q"), [&b"\n--q\nhttp://"[..], &b" href ".repeat(10_000)].concat().repeat(BYTES / 60_000)]
            .concat(),
    ];
    for shape in shapes {
        parts_of_file(&shape, &Ep4::default());
    }
}
