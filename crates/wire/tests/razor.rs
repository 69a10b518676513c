//! Transcripts of `razor-agents` 2.85, and laws that hold for any bytes.

use proptest::prelude::*;
use seenit_signature::razor::{E4, E8};
use seenit_wire::razor::{
    ANSWER_BYTES_MAX, BATCH_BYTES_MAX, BATCH_QUERIES_MAX, Command, DecodeError, Decoder, ErrorCode,
    LINE_BYTES_MAX, Listing, MESSAGE_BYTES_MAX, MESSAGE_KIB_MAX, Malformed, Query, RazorAnswer, Request,
    ServerSettings, Servers, Signature, Subject, response, write_batch, write_greeting, write_line,
    write_servers, write_state,
};

const STATE: ServerSettings<'_> = ServerSettings { average_confidence: 10, ep4: "7542-10", revision: 1 };

const UPLOAD: &str = "-a=r&message=*\r\nFrom: Offers <offers@example.com>\nTo: user@example.org\n\r\n\
                      X-Razor2-Agent: Razor-Agents v2.84\n\nDear customer,\n\r\n\
                      X-Razor2-Agent: Razor-Agents v2.84\n\nsecond\n.\n\r\n.\r\n";

/// A request with nothing borrowed, so that requests can be collected.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Query(String),
    Batch(Vec<String>),
    Upload(Vec<u8>, Vec<Vec<u8>>),
}

impl Seen {
    fn of(request: Request<'_>) -> Self {
        match request {
            Request::Query(query) => Self::Query(format!("{query:?}")),
            Request::Batch(batch) => {
                assert_eq!(batch.queries().count(), batch.len());
                Self::Batch(batch.queries().map(|query| format!("{query:?}")).collect())
            }
            Request::Upload(mail) => {
                Self::Upload(mail.header().to_vec(), mail.parts().map(<[u8]>::to_vec).collect())
            }
        }
    }
}

/// All requests in a stream that arrives in pieces of `piece` bytes, and the error that ends it.
fn seen(stream: &[u8], piece: usize) -> (Vec<Seen>, Option<DecodeError>) {
    let mut decoder = Decoder::new();
    decoder.take_messages(true);
    let mut all = Vec::new();
    for mut bytes in stream.chunks(piece) {
        while !bytes.is_empty() {
            let taken = decoder.feed(bytes);
            bytes = &bytes[taken..];
            loop {
                match decoder.next_request() {
                    Ok(Some(request)) => all.push(Seen::of(request)),
                    Ok(None) => break,
                    Err(error) => {
                        assert_eq!(decoder.next_request(), Err(error), "an error stays");
                        return (all, Some(error));
                    }
                }
            }
            assert!(taken > 0, "there is room after the requests are taken");
        }
    }
    (all, None)
}

fn only_query(line: &str) -> Result<Command<'static>, Malformed> {
    let mut decoder = Decoder::new();
    decoder.feed(line.as_bytes());
    decoder.feed(b"\r\n");
    let query = match decoder.next_request() {
        Ok(Some(Request::Query(query))) => query.map(owned),
        other => panic!("{line:?} decodes to {other:?}"),
    };
    assert_eq!(decoder.next_request(), Ok(None));
    query
}

fn owned(command: Command<'_>) -> Command<'static> {
    let query = |query: Query<'_>| Query {
        signature: query.signature,
        ep4: query.ep4.map(|ep4| ep4.into_owned().into()),
    };
    match command {
        Command::Client => Command::Client,
        Command::Get(subject) => Command::Get(subject),
        Command::Check(asked) => Command::Check(query(asked)),
        Command::Report(asked) => Command::Report(query(asked)),
        Command::Revoke(asked) => Command::Revoke(query(asked)),
        Command::Register { user, password } => Command::Register {
            user: user.map(|user| user.into_owned().into()),
            password: password.map(|password| password.into_owned().into()),
        },
        Command::Identify { user } => Command::Identify { user: user.into_owned().into() },
        Command::Authenticate { response } => {
            Command::Authenticate { response: response.into_owned().into() }
        }
        Command::Quit => Command::Quit,
    }
}

fn e4(text: &str) -> Signature {
    Signature::E4(text.parse::<E4>().expect("a signature of engine 4"))
}

fn e8(text: &str) -> Signature {
    Signature::E8(text.parse::<E8>().expect("a signature of engine 8"))
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), seenit_wire::razor::AnswerTooLong>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("it fits");
    String::from_utf8(out).expect("answers are text")
}

#[test]
fn a_check_of_the_real_client() {
    let stream = "cn=razor-agents&cv=2.84\r\n-a=c&e=4&ep4=7542-10&s=d2QHXneiBH6argNeI45q1w9AK3wA\r\n\
                  a=c&e=8&s=jJw4hc5psXIA\r\na=c&e=8&s=CtcOMJZ6sXIA\r\na=c&e=8&s=OK-8mIdLsXIA\r\n.\r\na=q\r\n";
    let check = |signature, ep4: Option<&'static str>| {
        format!(
            "{:?}",
            Ok::<_, Malformed>(Command::Check(Query {
                signature,
                ep4: ep4.map(|ep4| ep4.as_bytes().into())
            }))
        )
    };
    let expected = [
        Seen::Query(format!("{:?}", Ok::<_, Malformed>(Command::Client))),
        Seen::Batch(vec![
            check(e4("d2QHXneiBH6argNeI45q1w9AK3wA"), Some("7542-10")),
            check(e8("jJw4hc5psXIA"), None),
            check(e8("CtcOMJZ6sXIA"), None),
            check(e8("OK-8mIdLsXIA"), None),
        ]),
        Seen::Query(format!("{:?}", Ok::<_, Malformed>(Command::Quit))),
    ];
    for piece in [1, 2, 7, stream.len()] {
        assert_eq!(seen(stream.as_bytes(), piece), (expected.to_vec(), None), "in pieces of {piece}");
    }
}

#[test]
fn every_single_query_of_the_real_client() {
    let bytes = |text: &'static str| text.as_bytes().into();
    let cases = [
        ("a=g&pm=state", Command::Get(Subject::State)),
        ("a=g&pm=csl", Command::Get(Subject::Servers(Servers::Catalogue))),
        ("a=g&pm=nsl", Command::Get(Subject::Servers(Servers::Nomination))),
        (
            "a=c&e=4&ep4=7542-10&s=7hcTQu8x8oL2qHid5AdMM9TYtjEA",
            Command::Check(Query {
                signature: e4("7hcTQu8x8oL2qHid5AdMM9TYtjEA"),
                ep4: Some(bytes("7542-10")),
            }),
        ),
        (
            "a=r&e=4&ep4=7542-10&s=d2QHXneiBH6argNeI45q1w9AK3wA",
            Command::Report(Query {
                signature: e4("d2QHXneiBH6argNeI45q1w9AK3wA"),
                ep4: Some(bytes("7542-10")),
            }),
        ),
        ("a=revoke&e=8&s=jJw4hc5psXIA", Command::Revoke(Query { signature: e8("jJw4hc5psXIA"), ep4: None })),
        (
            "a=reg&pass=s3cr%3Dt%20%26p&registrar=Razor-Agents%20v2.84&user=alice%40example.com",
            Command::Register { user: Some(bytes("alice@example.com")), password: Some(bytes("s3cr=t &p")) },
        ),
        ("a=reg&registrar=Razor-Agents%20v2.84", Command::Register { user: None, password: None }),
        (
            "a=ai&cn=razor-agents&cv=2.84&user=alice%40example.com",
            Command::Identify { user: bytes("alice@example.com") },
        ),
        (
            "a=auth&aresp=qWPs-Ib_3srDbSm8cWCEZ6YHlhwA",
            Command::Authenticate { response: bytes("qWPs-Ib_3srDbSm8cWCEZ6YHlhwA") },
        ),
        ("a=q", Command::Quit),
    ];
    for (line, expected) in cases {
        assert_eq!(only_query(line), Ok(expected), "{line}");
    }
}

#[test]
fn a_query_that_cannot_be_read_is_one_to_answer() {
    let cases = [
        ("a=x", Malformed::Action("x".to_owned())),
        ("a=g", Malformed::Missing("pm")),
        ("a=g&pm=all", Malformed::Subject("all".to_owned())),
        ("a=c&e=4", Malformed::Missing("s")),
        ("a=c&s=jJw4hc5psXIA", Malformed::Missing("e")),
        ("a=c&e=1&s=jJw4hc5psXIA", Malformed::Engine("1".to_owned())),
        ("a=ai", Malformed::Missing("user")),
        ("a=auth", Malformed::Missing("aresp")),
    ];
    for (line, expected) in cases {
        assert_eq!(only_query(line), Err(expected), "{line}");
    }
    for line in ["a=c&e=8&s=ARRAY(0x55d0)", "a=r&e=4&s=jJw4hc5psXIA", "a=r&e=4&s="] {
        assert!(matches!(only_query(line), Err(Malformed::Signature(_))), "{line}");
    }
}

#[test]
fn a_key_behind_something_else_does_not_make_a_request_of_http_one_of_razor() {
    let lines = [
        "",
        "hello",
        "POST /&cn=x HTTP/1.1",
        "GET /&a=g&pm=state&x HTTP/1.1",
        "POST /?a=q&a=q HTTP/1.1",
        "x=&a=ai&user=page",
        " cn=razor-agents",
        "Acn=x",
    ];
    for line in lines {
        let refused = only_query(line).expect_err(line);
        assert_eq!(refused, Malformed::Foreign(line.to_owned()));
        assert!(refused.is_foreign());
    }
    assert!(only_query("a=x").expect_err("no action").is_foreign());
    // What a client of Razor may well ask of another server than ours.
    for line in ["a=c&e=7&s=jJw4hc5psXIA", "a=g&pm=all", "a=c&e=8"] {
        assert!(!only_query(line).expect_err(line).is_foreign(), "{line}");
    }
}

#[test]
fn a_mail_comes_back_as_its_header_and_its_parts() {
    let expected = Seen::Upload(
        b"From: Offers <offers@example.com>\nTo: user@example.org\n".to_vec(),
        vec![
            b"X-Razor2-Agent: Razor-Agents v2.84\n\nDear customer,\n".to_vec(),
            b"X-Razor2-Agent: Razor-Agents v2.84\n\nsecond\n.\n".to_vec(),
        ],
    );
    for piece in [1, 3, UPLOAD.len()] {
        assert_eq!(seen(UPLOAD.as_bytes(), piece), (vec![expected.clone()], None));
    }
    assert_eq!(seen(b"-a=r&message=*\r\n.\r\n", 1), (vec![Seen::Upload(Vec::new(), Vec::new())], None));
}

#[test]
fn a_mail_that_nobody_asked_for_is_not_kept() {
    let mut decoder = Decoder::new();
    decoder.feed(&UPLOAD.as_bytes()[..20]);
    assert_eq!(decoder.next_request(), Err(DecodeError::Unwanted));
}

#[test]
fn only_reports_come_with_a_mail() {
    let expected = Seen::Query(format!("{:?}", Err::<Command<'_>, _>(Malformed::Action("c".to_owned()))));
    assert_eq!(seen(b"-a=c&message=*\r\nx\r\n.\r\n", 5), (vec![expected], None));
}

#[test]
fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
    let line = |bytes: usize| format!("a=q&x={}\r\n", "x".repeat(bytes - 6));
    for piece in [1, 4096] {
        assert_eq!(seen(line(LINE_BYTES_MAX).as_bytes(), piece).1, None);
        assert_eq!(seen(line(LINE_BYTES_MAX + 1).as_bytes(), piece), (vec![], Some(DecodeError::Line)));
    }
    assert_eq!(seen(&[b'x'; 5000], 1), (vec![], Some(DecodeError::Line)));
    assert_eq!(seen(&[b'-'; 5000], 1), (vec![], Some(DecodeError::Line)));
}

#[test]
fn a_batch_has_a_limit_of_queries_and_of_bytes() {
    let batch = |queries: usize| format!("-{}.\r\n", "a=c\r\n".repeat(queries));
    assert_eq!(seen(batch(BATCH_QUERIES_MAX).as_bytes(), 64).1, None);
    let error = DecodeError::BatchQueries(BATCH_QUERIES_MAX + 1);
    assert_eq!(seen(batch(BATCH_QUERIES_MAX + 1).as_bytes(), 64), (vec![], Some(error)));
    let endless = format!("-a=c\r\n{}", "x".repeat(BATCH_BYTES_MAX));
    assert_eq!(seen(endless.as_bytes(), 64), (vec![], Some(DecodeError::BatchBytes)));
}

#[test]
fn a_mail_has_a_limit_of_bytes() {
    let mail = |bytes: usize| [b"-a=r&message=*\r\n", &vec![b'x'; bytes][..], b"\r\n.\r\n"].concat();
    assert_eq!(seen(&mail(MESSAGE_KIB_MAX * 1024), 4096).1, None);
    assert_eq!(seen(&mail(MESSAGE_BYTES_MAX), 4096), (vec![], Some(DecodeError::Message)));
}

#[test]
fn answers_are_those_of_the_transcripts() {
    let listed = RazorAnswer::Listed(Listing { confidence: 100, contested: false });
    assert_eq!(written(|out| write_greeting(&STATE, out)), "sn=C&srl=1&a=l&a=cg&ep4=7542-10\r\n");
    assert_eq!(
        written(|out| write_state(&STATE, out)),
        "-ac=10\r\nbql=50\r\nbqs=128\r\ndre=4\r\nep4=7542-10\r\nse=88\r\nsrl=1\r\n.\r\n"
    );
    assert_eq!(
        written(|out| write_servers(Servers::Catalogue, &["127.0.0.1:2703", "127.0.0.1:02703"], out)),
        "-csl=127.0.0.1:2703\r\ncsl=127.0.0.1:02703\r\n.\r\n"
    );
    assert_eq!(
        written(|out| write_batch([listed, RazorAnswer::Unlisted, RazorAnswer::Unlisted], out)),
        "-cf=100&p=1\r\np=0\r\np=0\r\n.\r\n"
    );
    let contested = RazorAnswer::Listed(Listing { confidence: 255, contested: true });
    let registered = RazorAnswer::Registered { user: b"alice@example.com", password: b"s3cr=t &p" };
    for (answer, expected) in [
        (RazorAnswer::Unlisted, "p=0\r\n"),
        (contested, "cf=100&ct=1&p=1\r\n"),
        (RazorAnswer::Accepted, "res=1\r\n"),
        (RazorAnswer::Rejected, "res=0\r\n"),
        (RazorAnswer::Challenge("Chal-lenge_0123456789abc"), "achal=Chal-lenge_0123456789abc\r\n"),
        (registered, "pass=s3cr%3Dt%20%26p&res=1&user=alice%40example.com\r\n"),
        (RazorAnswer::Error(ErrorCode::SendMail), "err=230\r\n"),
        (RazorAnswer::Error(ErrorCode::UserExists), "err=210\r\n"),
        (RazorAnswer::Error(ErrorCode::UnknownUser), "err=213\r\n"),
    ] {
        assert_eq!(written(|out| write_line(&answer, out)), expected);
    }
}

#[test]
fn the_longest_batch_of_checks_fits_into_one_read() {
    let longest = RazorAnswer::Listed(Listing { confidence: 100, contested: true });
    assert!(written(|out| write_batch([longest; BATCH_QUERIES_MAX], out)).len() <= ANSWER_BYTES_MAX);
}

#[test]
fn an_answer_that_a_client_would_cut_is_not_written() {
    let mut out = b"before".to_vec();
    let registered = RazorAnswer::Registered { user: b"u", password: &[b'='; 400] };
    let error = write_line(&registered, &mut out).expect_err("1200 bytes of escapes");
    assert_eq!(error.bytes, "pass=&res=1&user=u\r\n".len() + 1200);
    assert_eq!(out, b"before");
}

/// Bytes, and text that is nearly a request.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "-?a=(c|r|revoke)&e=[48]&s=[A-Za-z0-9_-]{11,13}",
        "-?a=(g&pm=state|q|reg&user=%[0-9a-f]{0,3}|ai&user=x|x)",
        "-?a=r&message=[*]",
        "[.]",
        "[ -~]{0,10}",
    ];
    let text = proptest::collection::vec((line, "(\r\n){0,2}|\n|\r"), 0..12)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + &end).collect::<String>().into_bytes());
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..300), text]
}

proptest! {
    #[test]
    fn any_bytes_say_the_same_however_they_arrive(stream in streams(), piece in 1..40usize) {
        prop_assert_eq!(seen(&stream, piece), seen(&stream, stream.len().max(1)));
    }

    #[test]
    fn names_and_passwords_of_an_answer_come_back_in_a_query(user in "\\PC{1,40}", password in "\\PC{1,40}") {
        let answer = RazorAnswer::Registered { user: user.as_bytes(), password: password.as_bytes() };
        let line = written(|out| write_line(&answer, out));
        let expected = Command::Register {
            user: Some(user.into_bytes().into()),
            password: Some(password.into_bytes().into()),
        };
        prop_assert_eq!(only_query(&format!("a=reg&{}", line.trim_end())), Ok(expected));
    }

    #[test]
    fn signatures_of_a_query_are_those_that_were_sent(digest: [u8; 20], short: [u8; 8]) {
        for (engine, text, signature) in [
            (4, E4(digest).to_string(), Signature::E4(E4(digest))),
            (8, E8(short).to_string(), Signature::E8(E8(short))),
        ] {
            let expected = Command::Check(Query { signature, ep4: None });
            prop_assert_eq!(only_query(&format!("a=c&e={engine}&s={text}")), Ok(expected));
        }
    }

    #[test]
    fn a_response_is_plain_text_of_28_characters(password: Vec<u8>, challenge: Vec<u8>) {
        let text = response(&password, &challenge);
        prop_assert_eq!(text.len(), 28);
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }
}
