//! seenit's own kinds: what they are on known mail, and that any bytes have an answer in bounded time and memory.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use seenit_signature::razor::Ep4;
use seenit_signature::{Kind, Message, Signature, Words, own, sign};

/// A head that most messages here begin with.
const HEAD: &str = "From: a@b.example\r\nSubject: x\r\nMIME-Version: 1.0\r\n";

/// What a reader sees, in one line.
fn seen(mail: &str) -> String {
    Message::parse(mail.as_bytes()).text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kinds that are ours to define.
const OWN: [Kind; 4] = [Kind::Exact1, Kind::Near1, Kind::Url1, Kind::Part1];

/// `vectors/own/signatures.tsv` has what these messages' signatures are, for good: a change of definition is a new
/// kind. A reader written from docs/reference/signatures.md alone came to the same but for one row, of which the
/// document was silent then.
#[test]
fn signatures_are_those_of_the_vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/own");
    let mut found = "file\tkind\tpart\tinformation_bits\twithheld\tdigest\n".to_owned();
    for file in ["broken.eml", "empty.eml", "html.eml", "plain.eml", "short.eml"] {
        let mail = fs::read(folder.join(file)).expect("a message");
        let own = sign(&mail, &Ep4::default()).into_iter().filter(|signature| OWN.contains(&signature.kind));
        for Signature { kind, part, digest, information_bits, withheld } in own {
            let part = part.map_or("-".to_owned(), |part| part.to_string());
            found += &format!("{file}\t{kind}\t{part}\t{information_bits}\t{withheld}\t{digest}\n");
        }
    }
    let expected = fs::read_to_string(folder.join("signatures.tsv")).unwrap_or_default();
    assert!(found == expected, "found:\n{found}");
}

#[test]
fn of_alternatives_one_is_shown() {
    let part = |media: &str, text: &str| format!("--b\r\nContent-Type: {media}\r\n\r\n{text}\r\n");
    let mail = |kind: &str, parts: &[String]| {
        format!("{HEAD}Content-Type: multipart/{kind}; boundary=b\r\n\r\n{}--b--\r\n", parts.concat())
    };
    let (plain, html) = (part("text/plain", "plain"), part("text/html", "<b>ht</b>ml"));
    assert_eq!(seen(&mail("alternative", &[plain.clone(), html.clone()])), "html");
    assert_eq!(seen(&mail("alternative", std::slice::from_ref(&plain))), "plain");
    assert_eq!(seen(&mail("mixed", &[plain.clone(), html])), "plain html");
    let picture = part("text/html", "<img src=cid:a>");
    assert_eq!(seen(&mail("alternative", &[plain, picture])), "plain", "HTML without words shows none");
    let related = "--b\r\nContent-Type: multipart/related; boundary=\"c d\"\r\n\r\n--c d\r\n\
                   Content-Type: text/html\r\n\r\n\
                   inner\r\n--c d--\r\n";
    assert_eq!(seen(&mail("alternative", &[part("text/plain", "plain"), related.to_owned()])), "inner");
}

#[test]
fn broken_mail_is_read_as_mail_programs_show_it() {
    let mail = |media: &str, encoding: &str, body: &str| {
        format!(
            "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: {media}\n\
             Content-Transfer-Encoding: {encoding}\n\n{body}\n"
        )
    };
    let cases = [
        (mail("text/plain", "base64", "SGVscCB3\nYW50ZWQu\n"), "Help wanted.", "no boundary ends it"),
        (mail("text/html", "base64", "PGI+SGk8L2I+IG5vdw==\n"), "Hi now", "no boundary ends it"),
        (mail("text/plain; charset=iso-8859-1", "base64", "6Q==\n"), "\u{e9}", "a character set"),
        (mail("text/html", "quoted-printable", "a=20<b>b</b> c=3Dd =ZZ\n"), "a b c=d =ZZ", "no digits"),
        (mail("text/plain", "base64", "SGVs*cCB3\r\nYW50ZWQu\n--b--\nno"), "Help wanted.", "a foreign sign"),
        ("no head at all".to_owned(), "no head at all", "no head"),
        ("\nbody".to_owned(), "body", "an empty head"),
        ("Subject: only a head".to_owned(), "", "no body"),
        (
            "Content-Type: multipart/mixed; boundary=b\n\nno parts\n".to_owned(),
            "no parts",
            "a multipart of none",
        ),
        (
            "Content-Type: multipart/mixed\n\nno boundary\n".to_owned(),
            "no boundary",
            "a multipart without a boundary",
        ),
        ("Content-Type: text\n\nhalf a type\n".to_owned(), "half a type", "half a type"),
        ("From x y\nSubject: a\n\nbehind an envelope".to_owned(), "behind an envelope", "an mbox's line"),
        (" \nfoo\n\nbar".to_owned(), "foo bar", "a line of blanks is no head"),
        (
            "Content-Type: multipart/mixed; boundary=B\n\n--B\nfoo\n--B\n\nbar\n--B--".to_owned(),
            "foo bar",
            "no head",
        ),
        (
            "Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/html\n--B\n\n<b>\n"
                .to_owned(),
            "<b>",
            "a boundary ends a head",
        ),
        (
            "Content-Type: text/plain; charset=gb2312\nContent-Transfer-Encoding: base64\n\nw+K30Q==\n"
                .to_owned(),
            "\u{514d}\u{8d39}",
            "a character set of two bytes",
        ),
        (
            ">From x y\nSubject: a\n\nbehind an envelope".to_owned(),
            "behind an envelope",
            "an old mbox's line",
        ),
        ("A: b\n\nnul \0 byte".to_owned(), "nul \0 byte", "a byte of zero"),
    ];
    for (mail, text, what) in cases {
        assert_eq!(seen(&mail), text, "{what}");
    }
}

#[test]
fn attached_messages_are_not_looked_into() {
    let mail = format!(
        "{HEAD}Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nSubject: in\r\n\r\n{}\r\n--b--\r\n",
        "inside ".repeat(500)
    );
    let message = Message::parse(mail.as_bytes());
    assert_eq!((message.text.trim(), message.attachments.len(), message.subject.as_str()), ("", 0, "x"));
}

#[test]
fn floors_are_kept() {
    let of = |text: &str| own::exact(&Words::of(text)).withheld;
    assert!(of("") && of("please see the attached") && of(&"a ".repeat(30)) && of(&"hello ".repeat(20)));
    assert!(!of("these eight words have forty letters altogether indeed"));
    let part = |bytes: usize, media: &str| {
        let body: String = (0..bytes).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
        let mail = format!("{HEAD}Content-Type: {media}\r\n\r\n{body}");
        Message::parse(mail.as_bytes())
            .attachments
            .iter()
            .map(|part| own::part(part).withheld)
            .collect::<Vec<_>>()
    };
    assert_eq!(part(1023, "image/gif"), [true], "a pixel");
    assert_eq!(part(1024, "image/gif"), [false]);
    assert_eq!(part(9999, "application/pgp-signature"), [true]);
    let zeros = format!("{HEAD}Content-Type: application/zip\r\n\r\n{}", "\0".repeat(4096));
    assert!(own::part(&Message::parse(zeros.as_bytes()).attachments[0]).withheld, "a file of zeros");
}

/// A short stock part under a long message once had the floor of the whole.
#[test]
fn parts_of_razor_stand_for_themselves() {
    let mail = format!(
        "{HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n{}\r\n--b\r\n\r\nok thanks\r\n--b--\r\n",
        "a long message of many words that say something to somebody, and of more than forty letters"
    );
    let e4: Vec<bool> = sign(mail.as_bytes(), &Ep4::default())
        .into_iter()
        .filter(|signature| signature.kind == Kind::RazorE4)
        .map(|signature| signature.withheld)
        .collect();
    assert_eq!(e4, [false, true]);
}

/// Shapes that took other parsers the stack, the square of the length, or the memory.
#[test]
fn hostile_shapes_have_an_end() {
    let multipart = format!("{HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n");
    let nested: String = (0..20_000)
        .map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n"))
        .collect();
    let continued: String = (0..200_000).map(|n| format!(" a*{n}=b;")).collect();
    let missing = "--b\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n".repeat(50_000);
    let shapes = [
        multipart.clone() + &"--b\r\n\r\nx\r\n".repeat(200_000),
        multipart.clone() + &"--b\n".repeat(400_000),
        multipart + &missing,
        nested,
        "Content-Type: message/rfc822\r\n\r\n".repeat(100_000),
        format!("Content-Type: text/plain;{continued}\r\n\r\nx"),
        format!("Subject: {}", "=?utf-8?q?x?= ".repeat(100_000)),
        format!("To: {}", "(".repeat(1_000_000)),
        format!("{HEAD}Content-Type: text/html\r\n\r\n{}", "<div style='a".repeat(100_000)),
        format!("{HEAD}Content-Type: text/html\r\n\r\n{}", "</b><a>".repeat(200_000)),
        format!("{HEAD}\r\n{}", "www.://".repeat(200_000)),
        format!("{HEAD}\r\n{}", "@".repeat(2_000_000)),
        format!("{HEAD}Content-Type: text/plain; charset=utf-8\r\n\r\n{}", "\u{fdfa}".repeat(100_000)),
        "\0".repeat(2_000_000),
    ];
    // A small stack, so that a call for each level would not go unseen.
    let read = move || shapes.iter().map(|mail| sign(mail.as_bytes(), &Ep4::default()).len()).sum::<usize>();
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(read).expect("a thread");
    assert!(thread.join().expect("no panic") > 0);
}

/// Encoded attached messages hide their shape from whoever looks at the bytes only.
#[test]
fn encoded_messages_inside_each_other_have_an_end() {
    let inner = "Content-Type: message/rfc822\r\n\r\n".repeat(50_000);
    let quoted: String = inner.bytes().map(|byte| format!("={byte:02X}")).collect();
    let mail = format!(
        "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n{quoted}"
    );
    let thread = std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || sign(mail.as_bytes(), &Ep4::default()).len())
        .expect("a thread");
    assert!(thread.join().is_ok());
}

#[test]
fn fifty_megabytes_attached_are_one_part() {
    let body =
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0\r\n".repeat(650_000);
    let mail =
        format!("{HEAD}Content-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n{body}");
    let message = Message::parse(mail.as_bytes());
    assert_eq!(message.attachments[0].bytes.len(), 650_000 * 57);
    assert!(message.text.trim().is_empty());
}

/// Words of mail, so that chance finds its way past the first line.
const PIECES: [&str; 24] = [
    "Content-Type: ",
    "multipart/mixed; boundary=b",
    "text/html",
    "message/rfc822",
    "; charset=",
    "utf-8",
    "\r\n",
    "\n",
    "--b",
    "--",
    "Content-Transfer-Encoding: ",
    "base64",
    "quoted-printable",
    "=",
    "=3D",
    "<p style='display:none'>",
    "<a href=http://a.example/>",
    "&amp;",
    "www.b.example",
    "From ",
    "Subject: =?utf-8?b?",
    "\u{0}",
    "\u{e9}",
    "word ",
];

proptest! {
    #[test]
    fn any_bytes_are_mail(mail in prop::collection::vec(any::<u8>(), 0..2000)) {
        sign(&mail, &Ep4::default());
    }

    #[test]
    fn any_pieces_of_mail_are_mail(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        let mail = pieces.concat();
        sign(mail.as_bytes(), &Ep4::default());
    }

    /// Other line ends are the same message.
    #[test]
    fn line_ends_do_not_matter(pieces in prop::collection::vec(prop::sample::select(&PIECES[6..]), 0..40)) {
        let unix = format!("Subject: a\n\n{}", pieces.concat().replace("\r\n", "\n"));
        let words = |mail: &str| Words::of(&Message::parse(mail.as_bytes()).text).joined().to_owned();
        prop_assert_eq!(words(&unix), words(&unix.replace('\n', "\r\n")));
    }
}
