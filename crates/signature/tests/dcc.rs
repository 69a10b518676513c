//! The sums of DCC's client: its own vectors, and that any bytes are mail.

use std::net::IpAddr;

use proptest::prelude::*;
use seenit_signature::dcc;

const SUMS: &str = include_str!("vectors/dcc/checksums.txt");
const MESSAGE_1: &[u8] = include_bytes!("vectors/dcc/message-1.eml");
const MESSAGE_2: &[u8] = include_bytes!("vectors/dcc/message-2.eml");

/// Our sum for a line of the vectors, or nothing for the sum that needs a dictionary.
fn ours(message: &str, name: &str) -> Option<dcc::Sum> {
    let mail = match message {
        "message-1.eml" => MESSAGE_1,
        "message-2.eml" => MESSAGE_2,
        _ => panic!("the vectors name an unknown message: {message}"),
    };
    match name {
        "IP" => Some(dcc::ip(IpAddr::from([192, 0, 2, 25]))),
        "env_From" => Some(dcc::env_from(b"<bounce@example.com>")),
        "From" => dcc::from(mail),
        "Message-ID" => dcc::message_id(mail),
        "Received" => dcc::received(mail),
        "Body" => dcc::body(mail),
        "Fuz1" => dcc::fuz1(mail),
        "Fuz2" => None,
        _ => panic!("the vectors name an unknown sum: {name}"),
    }
}

#[test]
fn sums_are_those_of_the_vectors() {
    let mut compared = 0;
    for line in SUMS.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.split_whitespace();
        let mut next = || columns.next().expect("a line has four columns");
        let (message, _, name, sum) = (next(), next(), next(), next());
        if let Some(ours) = ours(message, name) {
            assert_eq!(dcc::text(&ours).replace(' ', ""), sum, "{message} {name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 9, "every sum but the two that need a dictionary");
}

/// Bytes that look like mail often enough to reach the corners of the walk.
fn mail_like() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        Just(&b"Content-Type: multipart/mixed; boundary=b"[..]),
        Just(&b"Content-Type: multipart/mixed; boundary=\"c"[..]),
        Just(&b"content-transfer-encoding: base64"[..]),
        Just(&b"Content-Transfer-Encoding: quoted-printable"[..]),
        Just(&b"Received: by a.example.com;"[..]),
        Just(&b"--b"[..]),
        Just(&b"--c"[..]),
        Just(&b"--b--"[..]),
        Just(&b""[..]),
        Just(&b">From here to =3D eternity="[..]),
        Just(&b"Dear http://u@a.b.example.com/x?y 'quoted' = and"[..]),
        Just(&b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="[..]),
    ];
    let lines = prop::collection::vec((line, prop::bool::ANY), 0..40);
    lines.prop_map(|lines| {
        let end = |crlf: &bool| if *crlf { &b"\r\n"[..] } else { &b"\n"[..] };
        lines.iter().flat_map(|(line, crlf)| [*line, end(crlf)].concat()).collect()
    })
}

fn sums_of_any(mail: &[u8]) {
    let _ = (dcc::body(mail), dcc::fuz1(mail), dcc::from(mail), dcc::message_id(mail), dcc::received(mail));
    let _ = dcc::env_from(mail);
}

proptest! {
    #[test]
    fn any_bytes_are_mail(mail in prop::collection::vec(any::<u8>(), 0..2000)) {
        sums_of_any(&mail);
    }

    #[test]
    fn any_lines_are_mail(mail in mail_like()) {
        sums_of_any(&mail);
    }

    #[test]
    fn line_ends_do_not_change_the_sums(mail in mail_like()) {
        let lf: Vec<u8> = mail.iter().copied().filter(|byte| *byte != b'\r').collect();
        prop_assert_eq!(dcc::body(&mail), dcc::body(&lf));
        prop_assert_eq!(dcc::fuz1(&mail), dcc::fuz1(&lf));
    }
}

/// Each shape made some walker of mail quadratic. The sums take seconds at worst, even where machines are slow.
#[test]
fn large_and_deep_messages_end() {
    let deep: Vec<u8> = (0..100_000)
        .flat_map(|level| {
            format!("Content-Type: multipart/mixed; boundary=b{level}\n\n--b{level}\n").into_bytes()
        })
        .collect();
    let head = b"Content-Type: multipart/mixed; boundary=b\n\n";
    let parts = [&head[..], &b"--b\n\n".repeat(1_000_000)].concat();
    let links = [b"\n", &b"http://"[..].repeat(1_000_000)[..]].concat();
    let fields = b"Received: a\n b\n".repeat(500_000);
    for mail in [&deep, &parts, &links, &fields] {
        sums_of_any(mail);
    }
}
