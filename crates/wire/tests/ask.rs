//! The client's side of each protocol: requests to the byte as the real programs sent them, answers of the real servers
//! read, and laws with our own server's side.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use seenit_signature::razor::{E4, E8};
use seenit_wire::{dcc, fuzzy, pyzor, razor};

/// The key of the captures of rspamd.
const FUZZY_SECRET: &str = "afmhzihyy9cxxh6pg6yk1f8pm86gt3yj9n7ah9qphiz3rk8ozchy";

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).expect("hexadecimal")
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    String::from_utf8(written(write)).expect("text")
}

#[test]
fn pyzor_requests_are_those_of_the_real_client() {
    let digest = bytes("c5c730917ec41e88f95f528a9c6656e145f02c6b").try_into().expect("20 bytes");
    let ask = |op, thread| text(|out| pyzor::Ask { op, digest, thread, time: 1_794_725_581 }.write(out));
    assert_eq!(
        ask(pyzor::Op::Check, 41161),
        "Op: check\nOp-Digest: c5c730917ec41e88f95f528a9c6656e145f02c6b\nThread: 41161\nPV: 2.1\n\
         User: anonymous\nTime: 1794725581\nSig: 3efc6134c8e962379c33471999fc393afa060b9e\n\n"
    );
    assert_eq!(
        ask(pyzor::Op::Report, 37545),
        "Op: report\nOp-Digest: c5c730917ec41e88f95f528a9c6656e145f02c6b\nOp-Spec: 20,3,60,3\nThread: 37545\n\
         PV: 2.1\nUser: anonymous\nTime: 1794725581\nSig: cff8025df9ab63f3e3e694e257e09e088b013daf\n\n"
    );
}

#[test]
fn pyzor_answers_of_the_real_server_are_heard() {
    let heard = |text: &'static str| pyzor::PyzorResponse::decode(text.as_bytes()).expect("an answer");
    let known = heard("Code: 200\nDiag: OK\nPV: 2.1\nThread: 1749\nCount: 1\nWL-Count: 0\n\n");
    let counts = Some(pyzor::Counts { reports: 1, whitelistings: 0 });
    assert_eq!(known, pyzor::PyzorResponse { thread: 1749, code: 200, diagnosis: "OK", counts });
    assert_eq!(heard("Code: 200\nDiag: OK\nPV: 2.1\nThread: 37545\n\n").counts, None);
    let refused = heard("Code: 403\nDiag: Forbidden: Empty message.\nPV: 2.1\nThread: 7\n\n");
    assert_eq!((refused.code, refused.diagnosis), (403, "Forbidden: Empty message."));
    for text in ["", "Thread: 7\n", "Code: 200\nThread: 7\n", "Code: x\nDiag: OK\nThread: 7\n"] {
        assert_eq!(pyzor::PyzorResponse::decode(text.as_bytes()), None, "{text:?}");
    }
}

/// The lines of one direction in a capture of DCC's programs.
fn captured(name: &str, way: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/dcc").join(name);
    let text = fs::read_to_string(path).expect("a capture");
    bytes(text.lines().find_map(|line| line.strip_prefix(way)).expect("a packet").trim())
}

#[test]
fn dcc_requests_are_those_of_the_real_client_and_answers_of_the_real_server_are_heard() {
    let number = |number| dcc::Totals::unchanged(dcc::Count::Number(number));
    let many = dcc::Totals { current: dcc::Count::Many, previous: dcc::Count::Number(11) };
    for (name, is_query, of_the_body) in
        [("03-query-anon-unknown.hex", true, number(0)), ("07-report-spam.hex", false, many)]
    {
        let request = captured(name, "C>S");
        let decoded = dcc::Request::decode(&request).expect("a request");
        let (dcc::Body::Query(sums) | dcc::Body::Report(_, sums)) = decoded.body else { panic!("{name}") };
        let sums: Vec<dcc::Sum> = sums.iter().collect();
        let ask = dcc::Ask { numbers: decoded.header.numbers, sums: &sums };
        let ours = written(|out| match is_query {
            true => ask.query(out),
            false => ask.report(dcc::Targets { recipients: 1, many: true }, out),
        });
        assert_eq!(hex::encode(ours), hex::encode(&request), "{name}");

        let answer = captured(name, "S>C");
        let of =
            |kind: dcc::SumKind| if kind.is_of_the_body() { of_the_body } else { dcc::Totals::NO_OPINION };
        let totals = sums.iter().map(|sum| of(sum.kind)).collect();
        assert_eq!(dcc::DccResponse::decode(&answer, &ask), Some(dcc::DccResponse::Totals(totals)), "{name}");
        let other = dcc::Ask { numbers: [0; 16], ..ask };
        assert_eq!(dcc::DccResponse::decode(&answer, &other), None, "the answer to another request");
        let fewer = dcc::Ask { sums: &sums[1..], ..ask };
        assert_eq!(dcc::DccResponse::decode(&answer, &fewer), None, "too many totals");
        assert_eq!(dcc::DccResponse::decode(&answer[1..], &ask), None, "cut off");
    }
}

#[test]
fn dcc_errors_are_heard() {
    let ask = dcc::Ask { numbers: [7; 16], sums: &[] };
    let request = written(|out| ask.query(out));
    let decoded = dcc::Request::decode(&request).expect("a request");
    let server = dcc::ServerId::new(1000).expect("a number");
    let reply = dcc::Reply { server, to: &decoded.header, password: None };
    let answer = written(|out| reply.error("MANY needs an account", out));
    assert_eq!(
        dcc::DccResponse::decode(&answer, &ask),
        Some(dcc::DccResponse::Error("MANY needs an account"))
    );
}

#[test]
fn razor_requests_are_those_of_the_real_client() {
    let e4 = razor::Signature::E4("d2QHXneiBH6argNeI45q1w9AK3wA".parse().expect("engine 4"));
    let e8 = razor::Signature::E8("jJw4hc5psXIA".parse().expect("engine 8"));
    let query = |signature, ep4: Option<&'static str>| razor::Query {
        signature,
        ep4: ep4.map(|ep4| ep4.as_bytes().into()),
    };
    let program = razor::Program { name: "razor-agents", version: "2.84" };
    let header = b"From: Offers <offers@example.com>\nTo: user@example.org\n";
    let part = &b"X-Razor2-Agent: Razor-Agents v2.84\n\nDear customer,\n"[..];
    for (ask, expected) in [
        (razor::Ask::Program(program), "cn=razor-agents&cv=2.84\r\n"),
        (
            razor::Ask::Check(query(e4, Some("7542-10"))),
            "a=c&e=4&ep4=7542-10&s=d2QHXneiBH6argNeI45q1w9AK3wA\r\n",
        ),
        (razor::Ask::Check(query(e8, None)), "a=c&e=8&s=jJw4hc5psXIA\r\n"),
        (
            razor::Ask::Report(query(e4, Some("7542-10"))),
            "a=r&e=4&ep4=7542-10&s=d2QHXneiBH6argNeI45q1w9AK3wA\r\n",
        ),
        (razor::Ask::Revoke(e4), "a=revoke&e=4&s=d2QHXneiBH6argNeI45q1w9AK3wA\r\n"),
        (
            razor::Ask::Identify(program, "alice@example.com"),
            "a=ai&cn=razor-agents&cv=2.84&user=alice%40example.com\r\n",
        ),
        (
            razor::Ask::Authenticate("qWPs-Ib_3srDbSm8cWCEZ6YHlhwA"),
            "a=auth&aresp=qWPs-Ib_3srDbSm8cWCEZ6YHlhwA\r\n",
        ),
        (
            razor::Ask::Upload { header, parts: &[part] },
            "-a=r&message=*\r\nFrom: Offers <offers@example.com>\nTo: user@example.org\n\r\n\
             X-Razor2-Agent: Razor-Agents v2.84\n\nDear customer,\n\r\n.\r\n",
        ),
        (razor::Ask::Quit, "a=q\r\n"),
    ] {
        assert_eq!(text(|out| ask.write(out)), expected);
    }
}

#[test]
fn razor_answers_are_heard() {
    use razor::{Listing, RazorResponse};
    let listed = |confidence, contested| RazorResponse::Listed(Listing { confidence, contested });
    for (line, expected) in [
        ("p=0", Some(RazorResponse::Unlisted)),
        ("cf=100&p=1", Some(listed(100, false))),
        ("p=1", Some(listed(100, false))),
        ("cf=7&ct=1&p=1", Some(listed(7, true))),
        ("res=1", Some(RazorResponse::Accepted)),
        ("res=0", Some(RazorResponse::Rejected)),
        ("achal=a%2Db", Some(RazorResponse::Challenge(b"a-b".as_slice().into()))),
        ("err=230", Some(RazorResponse::Error(230))),
        ("", None),
        ("p=x", None),
        ("sn=C&srl=1", None),
    ] {
        assert_eq!(RazorResponse::decode(line.as_bytes()), expected, "{line}");
    }
    let greeting = razor::Greeting::decode(b"sn=C&srl=1&a=l&a=cg&ep4=7542-10");
    assert_eq!(greeting, Some(razor::Greeting { ep4: Some(b"7542-10".as_slice().into()) }));
    assert_eq!(razor::Greeting::decode(b"220 mx.example ESMTP"), None);
}

fn rows(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

#[test]
fn fuzzy_commands_are_those_of_the_real_client_but_for_extensions() {
    for row in rows(include_str!("vectors/fuzzy/plain.tsv")) {
        let (request, reply) = (bytes(row[8]), bytes(row[9]));
        let Ok(fuzzy::Packet::Plain(command)) = fuzzy::Packet::decode(&request) else { panic!("{row:?}") };
        let ours = written(|out| command.encode(out));
        assert!(request.starts_with(&ours) && ours.len() >= 76, "{row:?}");
        let heard = fuzzy::Reply::decode(fuzzy::Form::Full, &reply).expect("a reply");
        assert_eq!(heard.tag, command.tag);
        assert_eq!(written(|out| heard.encode(fuzzy::Form::Full, out)), reply);
        assert_eq!(fuzzy::Reply::decode(fuzzy::Form::Short, &reply), None);
    }
}

#[test]
fn fuzzy_seals_are_those_of_the_real_client_but_for_extensions() {
    let secret = fuzzy::SecretKey::from_text(FUZZY_SECRET).expect("a key");
    for row in rows(include_str!("vectors/fuzzy/sealed.tsv")) {
        let [request, _, reply, reply_in_the_clear] = row[..] else { panic!("{row:?}") };
        let request = bytes(request);
        let Ok(fuzzy::Packet::Sealed(sealed)) = fuzzy::Packet::decode(&request) else { panic!("{row:?}") };
        let key = secret.share(&sealed.client).expect("a shared key");
        let command = sealed.open(&key).expect("a command");
        let nonce: fuzzy::Nonce = request[44..68].try_into().expect("a nonce");
        let ours = written(|out| command.encode_sealed(&sealed.client, &secret.public(), &key, &nonce, out));
        // The tag is of all the text, and extensions are not in ours.
        assert_eq!(ours[..68], request[..68]);
        assert!(request[84..].starts_with(&ours[84..]) && ours.len() >= 84 + 76);

        let heard = fuzzy::Reply::open(fuzzy::Form::Full, &bytes(reply), &key);
        assert_eq!(heard, fuzzy::Reply::decode(fuzzy::Form::Full, &bytes(reply_in_the_clear)));
        assert!(heard.is_some());
        let stranger = fuzzy::SecretKey::from_bytes([7; 32]).share(&sealed.client).expect("a shared key");
        assert_eq!(fuzzy::Reply::open(fuzzy::Form::Full, &bytes(reply), &stranger), None);
    }
}

/// The only request in these bytes.
fn razor_request<T>(bytes: &[u8], see: impl FnOnce(razor::Request<'_>) -> T) -> T {
    let mut decoder = razor::Decoder::new();
    decoder.take_messages(true);
    assert_eq!(decoder.feed(bytes), bytes.len());
    let seen = see(decoder.next_request().expect("a request").expect("all of it"));
    assert_eq!(decoder.next_request(), Ok(None));
    seen
}

proptest! {
    #[test]
    fn a_pyzor_request_is_understood_and_its_answer_heard(
        digest: [u8; 20], thread: u16, time: u64, reports: u64, whitelistings: u64,
    ) {
        let ask = pyzor::Ask { op: pyzor::Op::Whitelist, digest, thread, time };
        let datagram = written(|out| ask.write(out));
        let request = pyzor::Request::decode(&datagram).expect("a request");
        prop_assert_eq!((request.op, request.thread, request.user), (pyzor::Op::Whitelist, thread, None));
        prop_assert_eq!(request.time, Some(time));
        prop_assert_eq!(request.digests().collect::<Vec<_>>(), [digest]);
        let counts = pyzor::Counts { reports, whitelistings };
        let answer = written(|out| pyzor::PyzorAnswer::Counts(counts).write(thread, out));
        let heard = pyzor::PyzorResponse::decode(&answer).expect("an answer");
        prop_assert_eq!((heard.thread, heard.code, heard.counts), (thread, 200, Some(counts)));
    }

    #[test]
    fn a_dcc_request_is_understood_and_its_answer_heard(
        numbers: [u8; 16], digest: [u8; 16], recipients in 0..=dcc::TARGETS_MAX, total in 0..0x00ff_ffef_u32,
    ) {
        let sums = [dcc::SumKind::Body, dcc::SumKind::Fuz1].map(|kind| dcc::Sum { kind, digest });
        let ask = dcc::Ask { numbers, sums: &sums };
        let datagram = written(|out| ask.report(dcc::Targets { recipients, many: false }, out));
        let request = dcc::Request::decode(&datagram).expect("a request");
        prop_assert_eq!((request.header.numbers, request.header.sender), (numbers, dcc::Sender::Anonymous));
        let dcc::Body::Report(targets, found) = request.body else { panic!("{request:?}") };
        prop_assert_eq!(targets, dcc::Targets { recipients, many: false });
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), sums);
        let totals = [
            dcc::Totals { current: dcc::Count::Number(total + 1), previous: dcc::Count::Number(total) },
            dcc::Totals { current: dcc::Count::Ok2, previous: dcc::Count::NoOpinion },
        ];
        let server = dcc::ServerId::new(1000).expect("a number");
        let reply = dcc::Reply { server, to: &request.header, password: None };
        let answer = written(|out| reply.totals(&totals, out));
        prop_assert_eq!(dcc::DccResponse::decode(&answer, &ask), Some(dcc::DccResponse::Totals(totals.to_vec())));
    }

    #[test]
    fn a_razor_request_is_understood(digest: [u8; 20], host: [u8; 8], user in "[ -~]{1,40}") {
        use razor::{Ask, Command, Query, Request, Signature};
        let check = Query { signature: Signature::E4(E4(digest)), ep4: Some(b"7542-10".as_slice().into()) };
        let revoke = Query { signature: Signature::E8(E8(host)), ep4: None };
        let program = razor::Program { name: "seenit", version: "0.1" };
        for (ask, command) in [
            (Ask::Check(check.clone()), Command::Check(check.clone())),
            (Ask::Report(check.clone()), Command::Report(check)),
            (Ask::Revoke(revoke.signature), Command::Revoke(revoke)),
            (Ask::Program(program), Command::Client),
            (Ask::Identify(program, &user), Command::Identify { user: user.as_bytes().into() }),
            (Ask::Authenticate(&user), Command::Authenticate { response: user.as_bytes().into() }),
            (Ask::Quit, Command::Quit),
        ] {
            razor_request(&written(|out| ask.write(out)), |request| {
                assert_eq!(request, Request::Query(Ok(command)));
            });
        }
    }

    #[test]
    fn a_razor_upload_is_understood(
        header in "([ -~]{0,20}\n){1,4}", parts in prop::collection::vec("([ -~]{0,20}\n){1,4}", 1..4),
    ) {
        let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
        let ask = razor::Ask::Upload { header: header.as_bytes(), parts: &parts };
        razor_request(&written(|out| ask.write(out)), |request| {
            let razor::Request::Upload(upload) = request else { panic!("{request:?}") };
            assert_eq!(upload.header(), header.as_bytes());
            assert_eq!(upload.parts().collect::<Vec<_>>(), parts);
        });
    }

    #[test]
    fn a_fuzzy_command_is_understood_in_the_clear_and_sealed(
        flag: u8, value: i32, tag: u32, half: [u8; 32], shingle: Option<u64>, ours: [u8; 32], theirs: [u8; 32],
        nonce: [u8; 24],
    ) {
        let command = fuzzy::Command {
            action: fuzzy::Action::Delete,
            flag,
            value,
            tag,
            digest: [half, half].concat().try_into().expect("64 bytes"),
            shingles: shingle.map(|shingle| [shingle; 32]),
            form: fuzzy::Form::Full,
        };
        let plain = written(|out| command.encode(out));
        prop_assert_eq!(fuzzy::Packet::decode(&plain), Ok(fuzzy::Packet::Plain(command)));
        let (client, server) = (fuzzy::SecretKey::from_bytes(ours), fuzzy::SecretKey::from_bytes(theirs));
        let key = client.share(&server.public()).expect("a shared key");
        let datagram =
            written(|out| command.encode_sealed(&client.public(), &server.public(), &key, &nonce, out));
        let Ok(fuzzy::Packet::Sealed(sealed)) = fuzzy::Packet::decode(&datagram) else { panic!("not sealed") };
        prop_assert_eq!((sealed.key_id, sealed.client), (server.public().id(), client.public()));
        prop_assert_eq!(sealed.open(&server.share(&sealed.client).expect("a shared key")), Ok(command));
        let reply = fuzzy::Reply::done(&command);
        let answer = written(|out| reply.encode_sealed(fuzzy::Form::Full, &key, &nonce, out));
        prop_assert_eq!(fuzzy::Reply::open(fuzzy::Form::Full, &answer, &key), Some(reply));
    }

    #[test]
    fn any_bytes_are_an_answer_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300), sums in 0..3_usize) {
        let _ = pyzor::PyzorResponse::decode(&bytes);
        let sum = dcc::Sum { kind: dcc::SumKind::Body, digest: [0; 16] };
        let _ = dcc::DccResponse::decode(&bytes, &dcc::Ask { numbers: [0; 16], sums: &vec![sum; sums] });
        let _ = razor::RazorResponse::decode(&bytes);
        let _ = razor::Greeting::decode(&bytes);
        let key = fuzzy::SecretKey::from_bytes([1; 32]);
        let key = key.share(&fuzzy::SecretKey::from_bytes([2; 32]).public()).expect("a shared key");
        prop_assert_eq!(fuzzy::Reply::open(fuzzy::Form::Full, &bytes, &key), None);
        let reply = fuzzy::Reply::decode(fuzzy::Form::Short, &bytes);
        prop_assert_eq!(reply.is_some(), bytes.len() == 16);
    }
}
