//! Datagrams that `pyzor` 1.0.0 sent, answers that `pyzord` gave, and laws that hold for any bytes.

use proptest::prelude::*;
use seenit_wire::pyzor::{
    Counts, DATAGRAM_BYTES_MAX, DecodeError, EMPTY_DIGEST, HashedKey, Op, PyzorAnswer, Refusal, Request,
    Signature, Times,
};

const DIGEST: &str = "c5c730917ec41e88f95f528a9c6656e145f02c6b";

const CHECK: &str = "Op: check\nOp-Digest: c5c730917ec41e88f95f528a9c6656e145f02c6b\nThread: 51522\nPV: 2.1\n\
                     User: alice\nTime: 1794725620\nSig: 929fda9021da1a0e71a42284db1cb7ec31062d86\n\n";
const CHECK_TIME: u64 = 1_794_725_620;

fn alice() -> HashedKey {
    HashedKey::of("alice", "87e8d2c9a1ab1b8e3fcf8a5d3fa9e6e1c1d0a3b4")
}

fn decode(datagram: &str) -> Result<Request<'_>, DecodeError> {
    Request::decode(datagram.as_bytes())
}

fn refusal(datagram: &str) -> Refusal {
    match decode(datagram) {
        Err(DecodeError::Refused { thread: 7, refusal }) => refusal,
        other => panic!("{datagram:?} decodes to {other:?}"),
    }
}

fn answer(answer: PyzorAnswer, thread: u16) -> String {
    let mut out = Vec::new();
    answer.write(thread, &mut out);
    String::from_utf8(out).expect("answers are text")
}

fn hex_digests(request: &Request<'_>) -> Vec<String> {
    request.digests().map(hex::encode).collect()
}

#[test]
fn a_check_of_the_real_client() {
    let request = decode(CHECK).expect("a check");
    assert_eq!((request.op, request.thread, request.user), (Op::Check, 51522, Some("alice")));
    assert_eq!(request.time, Some(CHECK_TIME));
    assert_eq!(hex_digests(&request), [DIGEST]);
}

#[test]
fn every_signature_of_the_real_client_is_good() {
    let table = include_str!("golden/pyzor-signing.tsv");
    let mut rows = 0;
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let [user, key, time, signed, _, sig] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row:?} has not six columns");
        };
        let datagram = format!("{}\nSig: {sig}\n\n", signed.replace("\\n", "\n"));
        let now = time.parse().expect("a time");
        let request = decode(&datagram).expect("a request");
        let expected = if user == "anonymous" { Signature::Anonymous } else { Signature::Good };
        assert_eq!(request.signature(&HashedKey::of(user, key), now), expected, "{row}");
        rows += 1;
    }
    assert_eq!(rows, 3);
}

#[test]
fn a_signature_is_bad_with_another_key_time_text_or_none_at_all() {
    let verdict = |datagram: &str| decode(datagram).expect("a request").signature(&alice(), CHECK_TIME);
    assert_eq!(verdict(CHECK), Signature::Good);
    let other_key = HashedKey::of("alice", "another");
    assert_eq!(decode(CHECK).expect("a request").signature(&other_key, CHECK_TIME), Signature::Bad);
    for (from, to) in [
        ("Op: check", "Op: report"),
        ("2c6b", "2c6c"),
        ("51522", "51523"),
        ("1794725620", "1794725621"),
        ("Sig: 92", "Sig: 93"),
        ("Sig: 92", "Sig: "),
        ("Sig: ", "Gis: "),
        ("Time: ", "Emit: "),
        // What stands behind the signature is signed, too.
        ("d86\n\n", "d86\nOp-Digest: c5c730917ec41e88f95f528a9c6656e145f02c6b\n\n"),
    ] {
        let forged = CHECK.replacen(from, to, 1);
        assert_ne!(forged, CHECK);
        assert_eq!(verdict(&forged), Signature::Bad, "{forged}");
    }
}

#[test]
fn the_key_s_case_and_the_line_ends_do_not_matter_to_a_signature() {
    let upper = HashedKey::of("alice", "87E8D2C9A1AB1B8E3FCF8A5D3FA9E6E1C1D0A3B4");
    for datagram in [CHECK.to_owned(), CHECK.replace('\n', "\r\n"), CHECK.trim_end().to_owned()] {
        let request = decode(&datagram).expect("a request");
        assert_eq!(request.signature(&upper, CHECK_TIME), Signature::Good, "{datagram:?}");
    }
}

#[test]
fn a_signature_is_good_for_five_minutes_either_way() {
    let request = decode(CHECK).expect("a request");
    for (now, expected) in [
        (CHECK_TIME + 300, Signature::Good),
        (CHECK_TIME - 300, Signature::Good),
        (CHECK_TIME + 301, Signature::TooOld { secs_apart: 301 }),
        (CHECK_TIME - 301, Signature::TooOld { secs_apart: 301 }),
        (0, Signature::TooOld { secs_apart: CHECK_TIME }),
    ] {
        assert_eq!(request.signature(&alice(), now), expected);
    }
}

#[test]
fn a_batch_of_the_forwarder_has_many_digests_and_its_specification_first() {
    let digests: Vec<String> = (0..10).map(|number| format!("{number:040x}")).collect();
    let lines: String = digests.iter().map(|digest| format!("Op-Digest: {digest}\n")).collect();
    let datagram =
        format!("Op: report\nOp-Spec: 20,3,60,3\n{lines}Thread: 45105\nPV: 2.1\nUser: anonymous\n\n");
    let request = decode(&datagram).expect("a report");
    assert_eq!((request.op, request.user), (Op::Report, None));
    assert_eq!(hex_digests(&request), digests);
}

#[test]
fn fields_are_found_in_any_case_and_order_and_between_doubled_line_ends() {
    for datagram in [
        "thread: 7\nPV: 2.1\nOP: info\nop-digest:c5c730917ec41e88f95f528a9c6656e145f02c6b",
        "Op:info\r\nOp-Digest:\t C5C730917EC41E88F95F528A9C6656E145F02C6B \r\nThread: 7\r\nPV: 2\r\n\r\n",
        "Op: info\n\nOp-Digest: c5c730917ec41e88f95f528a9c6656e145f02c6b\n\nThread: 7\n\nPV: 2.0\n\n",
        "Op: info\nOp: report\nOp-Digest: c5c730917ec41e88f95f528a9c6656e145f02c6b\nThread: 7\nThread: 8\nPV: 2.9\n",
    ] {
        let request = decode(datagram).expect("a request");
        assert_eq!((request.op, request.thread, request.user), (Op::Info, 7, None), "{datagram:?}");
        assert_eq!(hex_digests(&request), [DIGEST], "{datagram:?}");
    }
}

#[test]
fn a_check_of_nothing_is_a_request_without_digests() {
    let request = decode("Op: check\nThread: 7\nPV: 2.1\n\n").expect("a request");
    assert_eq!(request.digests().next(), None);
    assert_eq!(answer(PyzorAnswer::Done, 7), "Code: 200\nDiag: OK\nPV: 2.1\nThread: 7\n\n");
}

#[test]
fn no_answer_for_what_no_client_sends() {
    let too_long = format!("{CHECK}{}", "X: y\n".repeat(DATAGRAM_BYTES_MAX / 5));
    for datagram in [
        "",
        "\n\n",
        "garbage",
        "garbage\nOp: ping\nThread: 7\nPV: 2.1\n\n",
        "Op: ping\nThread: 7\n\n",
        "Op: ping\nPV: 2.1\n\n",
        "Thread: 7\nPV: 2.1\n\n",
        "Op: ping\nThread: 65536\nPV: 2.1\n\n",
        "Op: ping\nThread: +7\nPV: 2.1\n\n",
        "Op: ping\nThread: \nPV: 2.1\n\n",
        "Op : ping\nThread: 7\nPV: 2.1\n\n",
        &too_long,
    ] {
        assert_eq!(decode(datagram), Err(DecodeError::NotARequest), "{datagram:?}");
    }
}

#[test]
fn a_request_with_an_error_is_refused_by_its_thread() {
    assert_eq!(refusal("Op: ping\nThread: 7\nPV: 3.0\n\n"), Refusal::OtherVersion);
    assert_eq!(refusal("Op: ping\nThread: 7\nPV: two\n\n"), Refusal::BadVersion);
    assert_eq!(refusal("Op: ping\nThread: 7\nPV: nan\n\n"), Refusal::BadVersion);
    assert_eq!(refusal("Op: ping\nThread: 7\nPV: \n\n"), Refusal::BadVersion);
    assert_eq!(refusal("Op: destroy\nThread: 7\nPV: 2.1\n\n"), Refusal::Forbidden);
    assert_eq!(refusal("Op: \nThread: 7\nPV: 2.1\n\n"), Refusal::Forbidden);
    assert_eq!(refusal("Op: check\nOp-Digest: not-hex\nThread: 7\nPV: 2.1\n\n"), Refusal::BadDigest);
    let short = &DIGEST[1..];
    let second = format!("Op: check\nOp-Digest: {DIGEST}\nOp-Digest: {short}\nThread: 7\nPV: 2.1\n\n");
    assert_eq!(refusal(&second), Refusal::BadDigest);
    let user = Request::decode(b"Op: ping\nThread: 7\nPV: 2.1\nUser: \xff\n\n");
    assert_eq!(user, Err(DecodeError::Refused { thread: 7, refusal: Refusal::UnknownUser }));
}

#[test]
fn answers_are_those_of_pyzord() {
    let counts = Counts { reports: 1, whitelistings: 0 };
    let times =
        Times { reported_first: Some(1_794_725_581), reported_last: Some(1_794_725_582), ..Times::default() };
    let cases = [
        (PyzorAnswer::Done, 54559, "Code: 200\nDiag: OK\nPV: 2.1\nThread: 54559\n\n"),
        (
            PyzorAnswer::Pong,
            24123,
            "Code: 200\nDiag: OK\nPV: 2.1\nThread: 24123\nCount: 9223372036854775807\nWL-Count: 0\n\n",
        ),
        (
            PyzorAnswer::Counts(counts),
            1749,
            "Code: 200\nDiag: OK\nPV: 2.1\nThread: 1749\nCount: 1\nWL-Count: 0\n\n",
        ),
        (
            PyzorAnswer::Info(Some(times), counts),
            36407,
            "Code: 200\nDiag: OK\nPV: 2.1\nThread: 36407\nEntered: 1794725581\nUpdated: 1794725582\n\
             WL-Entered: -1\nWL-Updated: -1\nCount: 1\nWL-Count: 0\n\n",
        ),
        (
            PyzorAnswer::Info(None, counts),
            7,
            "Code: 200\nDiag: OK\nPV: 2.1\nThread: 7\nCount: 1\nWL-Count: 0\n\n",
        ),
    ];
    for (given, thread, expected) in cases {
        assert_eq!(answer(given, thread), expected);
    }
}

#[test]
fn refusals_have_the_words_of_pyzord() {
    let cases = [
        (Refusal::OtherVersion, "Code: 505\nDiag: Version Not Supported: \n"),
        (Refusal::BadVersion, "Code: 400\nDiag: Bad request: Invalid Protocol Version\n"),
        (
            Refusal::Forbidden,
            "Code: 403\nDiag: Forbidden: User is not authorized to request the operation.\n",
        ),
        (Refusal::UnknownUser, "Code: 401\nDiag: Unauthorized: Signature Error: Unknown user.\n"),
        (Refusal::BadSignature, "Code: 401\nDiag: Unauthorized: Signature Error: Invalid signature.\n"),
        (
            Refusal::TooOld,
            "Code: 401\nDiag: Unauthorized: Signature Error: Timestamp not within allowed range.\n",
        ),
    ];
    for (refusal, lines) in cases {
        assert_eq!(answer(PyzorAnswer::Refused(refusal), 7), format!("{lines}PV: 2.1\nThread: 7\n\n"));
    }
}

#[test]
fn the_empty_digest_is_that_of_no_bytes() {
    assert_eq!(hex::encode(EMPTY_DIGEST), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

/// Bytes, and text that is nearly a request.
fn datagrams() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop_oneof![
        "(Op|op|Thread|PV|User|Time|Sig|Op-Digest): (check|report|2[.]1|2|[0-9]{1,6}|anonymous|alice)?",
        "Op-Digest: [0-9a-f]{38,41}",
        "[ -~]{0,20}",
    ];
    let text = proptest::collection::vec((lines, "\r?\n{1,2}"), 0..12)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + &end).collect::<String>().into_bytes());
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..300), text]
}

proptest! {
    #[test]
    fn any_bytes_decode_or_are_refused(datagram in datagrams(), now: u64) {
        if let Ok(request) = Request::decode(&datagram) {
            let signature = request.signature(&alice(), now);
            prop_assert_eq!(signature == Signature::Anonymous, request.user.is_none());
            prop_assert_ne!(signature, Signature::Good);
            prop_assert!(request.digests().count() * 40 <= datagram.len());
        }
    }

    #[test]
    fn what_is_asked_is_what_is_read(
        op in prop_oneof![Just("ping"), Just("check"), Just("report"), Just("whitelist")],
        digests in proptest::collection::vec(any::<[u8; 20]>(), 0..20),
        thread: u16,
        time: u64,
        sig: [u8; 20],
        user in "[a-z@.]{1,20}",
    ) {
        let lines: String = digests.iter().map(|digest| format!("Op-Digest: {}\n", hex::encode(digest))).collect();
        let sig_hex = hex::encode(sig);
        let datagram =
            format!("Op: {op}\n{lines}Thread: {thread}\nPV: 2.1\nUser: {user}\nTime: {time}\nSig: {sig_hex}\n\n");
        let request = decode(&datagram).expect("a request");
        prop_assert_eq!(format!("{:?}", request.op).to_lowercase(), op);
        prop_assert_eq!(request.digests().collect::<Vec<_>>(), digests);
        prop_assert_eq!((request.thread, request.time, request.sig), (thread, Some(time), Some(sig)));
        prop_assert_eq!(request.user, Some(user.as_str()).filter(|&user| user != "anonymous"));
    }

    #[test]
    fn an_answer_says_its_thread_where_clients_look(thread: u16, reports: u64, whitelistings: u64) {
        let text = answer(PyzorAnswer::Counts(Counts { reports, whitelistings }), thread);
        let thread_line = format!("\nThread: {thread}\n");
        prop_assert!(text.contains(&thread_line));
        prop_assert!(text.ends_with("\n\n"));
        prop_assert_eq!(text.matches("\n\n").count(), 1);
    }
}
