//! DCC's packets against captures of its own programs: each request is read, and each answer written, to the byte.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use seenit_wire::dcc::{
    Body, Brand, Count, Password, Reply, Request, RequestError, Sender, ServerId, SumKind, Targets, Totals,
};

/// The server of the captures, and the one that made up vector 20.
const SERVER: u16 = 1000;
const MADE_UP_SERVER: u16 = 4242;

/// A request and the answers that were captured. A second answer is that to a retransmission.
struct Exchange {
    request: Vec<u8>,
    answers: Vec<Vec<u8>>,
}

/// All exchanges of a file.
fn captured(name: &str) -> Vec<Exchange> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/dcc").join(name);
    let text = fs::read_to_string(path).expect("a capture");
    let mut exchanges: Vec<Exchange> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (way, packet) = line.split_once(' ').expect("a direction");
        let packet = hex::decode(packet).expect("hexadecimal");
        match way {
            "C>S" => exchanges.push(Exchange { request: packet, answers: Vec::new() }),
            _ => exchanges.last_mut().expect("a request").answers.push(packet),
        }
    }
    exchanges
}

fn client() -> Password {
    Password::new("clntsecret").expect("a password")
}

fn server() -> Password {
    Password::new("srvsecret").expect("a password")
}

/// What the server wrote to one request.
fn written(
    request: &Request<'_>,
    password: Option<&Password>,
    write: impl Fn(&Reply<'_>, &mut Vec<u8>),
) -> Vec<u8> {
    let server = ServerId::new(SERVER).expect("a server's number");
    let mut out = Vec::new();
    write(&Reply { server, to: &request.header, password }, &mut out);
    out
}

fn ok(request: &Request<'_>, password: Option<&Password>, delay_ms: u16) -> Vec<u8> {
    let brand = Brand::new("testbrand").expect("a brand");
    written(request, password, |reply, out| reply.ok(&brand, delay_ms, out))
}

/// The checksums of the body have these totals, the others none.
fn totals(request: &Request<'_>, password: Option<&Password>, of_the_body: Totals) -> Vec<u8> {
    let (Body::Report(_, sums) | Body::Query(sums)) = request.body else { panic!("{request:?}") };
    let of = |kind: SumKind| if kind.is_of_the_body() { of_the_body } else { Totals::NO_OPINION };
    let totals: Vec<_> = sums.iter().map(|sum| of(sum.kind)).collect();
    written(request, password, |reply, out| reply.totals(&totals, out))
}

fn numbers(current: u32, previous: u32) -> Totals {
    Totals { current: Count::Number(current), previous: Count::Number(previous) }
}

fn targets(recipients: u32, many: bool) -> Targets {
    Targets { recipients, many }
}

#[test]
fn vector_01_a_client_asks_whether_a_server_is_there() {
    let [exchange] = &captured("01-nop-anon.hex")[..] else { panic!("one exchange") };
    let request = Request::decode(&exchange.request).expect("a request");
    assert_eq!((request.header.sender, request.body), (Sender::Anonymous, Body::Nop));
    assert_eq!(ok(&request, None, 450), exchange.answers[0]);
}

#[test]
fn vector_02_statistics_are_a_text() {
    let [exchange] = &captured("02-admn-stats-anon.hex")[..] else { panic!("one exchange") };
    let request = Request::decode(&exchange.request).expect("a request");
    let Body::Admin(admin) = request.body else { panic!("{request:?}") };
    assert_eq!((admin.command, admin.value), (seenit_wire::dcc::Admin::STATISTICS, 1460));
    let answer = &exchange.answers[0];
    let text = std::str::from_utf8(&answer[24..answer.len() - 16]).expect("a text");
    assert_eq!(&written(&request, None, |reply, out| reply.text(text, admin.value, out)), answer);
    let short = written(&request, None, |reply, out| reply.text(text, 7, out));
    assert_eq!(&short[24..], [b"    ver", &[0; 16][..]].concat());
}

#[test]
fn vectors_03_to_08_totals_are_numbers_until_a_report_says_many() {
    let many = Totals::unchanged(Count::Many);
    let now_many = Totals { current: Count::Many, previous: Count::Number(11) };
    for (name, reported, of_the_body) in [
        ("03-query-anon-unknown.hex", None, numbers(0, 0)),
        ("04-report-anon-first.hex", Some(targets(1, false)), numbers(1, 0)),
        ("05-report-anon-second.hex", Some(targets(1, false)), numbers(2, 1)),
        ("06-query-anon-after-11.hex", None, Totals::unchanged(Count::Number(11))),
        ("07-report-spam.hex", Some(targets(1, true)), now_many),
        ("08-report-after-many.hex", Some(targets(1, false)), many),
    ] {
        let [exchange] = &captured(name)[..] else { panic!("one exchange in {name}") };
        let request = Request::decode(&exchange.request).expect("a request");
        let (found, sums) = match request.body {
            Body::Report(targets, sums) => (Some(targets), sums),
            Body::Query(sums) => (None, sums),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!((request.header.sender, found), (Sender::Anonymous, reported), "{name}");
        assert_eq!(
            sums.iter().map(|sum| sum.kind).collect::<Vec<_>>(),
            [
                SumKind::Ip,
                SumKind::From,
                SumKind::MessageId,
                SumKind::Received,
                SumKind::Body,
                SumKind::Fuz1,
                SumKind::Fuz2
            ]
        );
        assert_eq!(
            hex::encode(sums.iter().nth(4).expect("a body").digest),
            "a06f63df504229d77816c2d6e558b833"
        );
        assert_eq!(totals(&request, None, of_the_body), exchange.answers[0], "{name}");
    }
}

#[test]
fn vector_09_a_client_with_a_password_is_answered_with_it() {
    let [nop, first, second] = &captured("09-auth-report.hex")[..] else { panic!("three exchanges") };
    let password = client();
    for exchange in [nop, first, second] {
        let request = Request::decode(&exchange.request).expect("a request");
        assert_eq!(request.header.sender, Sender::Client(32768));
        assert!(request.is_signed_by(&password));
        assert!(!request.is_signed_by(&server()));
        let answer = match request.body {
            Body::Nop => ok(&request, Some(&password), 400),
            Body::Report(found, _) => {
                assert_eq!(found, targets(7, false));
                let before = if exchange.request == first.request { 0 } else { 7 };
                totals(&request, Some(&password), numbers(before + 7, before))
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(answer, exchange.answers[0]);
    }
}

#[test]
fn vector_10_a_wrong_password_is_served_as_anonymous() {
    let [nop, report] = &captured("10-auth-wrong-password.hex")[..] else { panic!("two exchanges") };
    let request = Request::decode(&nop.request).expect("a request");
    assert!(!request.is_signed_by(&client()));
    assert_eq!(ok(&request, None, 450), nop.answers[0]);
    let request = Request::decode(&report.request).expect("a request");
    assert!(!request.is_signed_by(&client()));
    assert!(request.is_signed_by(&Password::new("wrongpass").expect("a password")));
    assert_eq!(totals(&request, None, numbers(15, 14)), report.answers[0]);
}

#[test]
fn vector_11_a_server_forgets_a_checksum_once() {
    let exchanges = captured("11-admin-delete.hex");
    let [_, deleted, _, again] = &exchanges[..] else { panic!("four exchanges") };
    let password = server();
    for exchange in &exchanges {
        let request = Request::decode(&exchange.request).expect("a request");
        assert_eq!(request.header.sender, Sender::Server(1000));
        assert!(request.is_signed_by(&password));
        let answer = match request.body {
            Body::Delete { date, sum } if exchange.request == again.request => {
                assert_eq!(date, 0x6af9_55cd);
                written(&request, Some(&password), |reply, out| {
                    reply.error(&format!("{sum} already deleted"), out)
                })
            }
            Body::Delete { .. } | Body::Nop => ok(&request, Some(&password), 400),
            other => panic!("{other:?}"),
        };
        assert_eq!(answer, exchange.answers[0]);
    }
    assert!(matches!(Request::decode(&deleted.request).expect("a request").body, Body::Delete { .. }));
}

#[test]
fn vector_13_a_list_decides_before_counts_do() {
    use Count::{Many, Ok, Ok2};
    let none = Totals::NO_OPINION;
    let listed = Totals::unchanged;
    let body = [listed(Many); 3];
    let answers = [
        [&[listed(Ok), listed(Ok2), none, none][..], &body].concat(),
        [&[none, listed(Ok2), listed(Ok2), none, none][..], &body].concat(),
        [&[none, none, listed(Ok2), listed(Many), none][..], &body].concat(),
    ];
    let exchanges = captured("13-server-whitelist.hex");
    assert_eq!(exchanges.len(), answers.len());
    for (exchange, totals) in exchanges.iter().zip(answers) {
        for (repetition, answer) in exchange.answers.iter().enumerate() {
            // The second answer is that to a retransmission, which was not captured: only its last number differs.
            let mut request = exchange.request.clone();
            request[20] += u8::try_from(repetition).expect("few");
            let request = Request::decode(&request).expect("a request");
            assert_eq!(&written(&request, None, |reply, out| reply.totals(&totals, out)), answer);
        }
    }
}

#[test]
fn vector_20_newer_clients_are_told_nothing_of_reputations() {
    let [exchange] = &captured("20-synth-v23-report.hex")[..] else { panic!("one exchange") };
    let request = Request::decode(&exchange.request).expect("a request");
    let answer = totals(&request, None, numbers(1, 0));
    assert_eq!(answer[8..], exchange.answers[0][8..]);
    assert_eq!(exchange.answers[0][4..8], u32::from(MADE_UP_SERVER).to_be_bytes());
}

#[test]
fn a_retransmission_is_told_from_another_request() {
    let request = captured("04-report-anon-first.hex").remove(0).request;
    let key = |change: fn(&mut Vec<u8>)| {
        let mut changed = request.clone();
        change(&mut changed);
        let decoded = Request::decode(&changed).expect("a request");
        decoded.retransmission() == Request::decode(&request).expect("a request").retransmission()
    };
    assert!(key(|_| {}));
    assert!(key(|packet| packet[20..24].fill(9)), "the transmission's number");
    assert!(key(|packet| packet[160] ^= 1), "the signature");
    assert!(!key(|packet| packet[3] = 3), "the operation");
    assert!(!key(|packet| packet[5..8].fill(9)), "the sender");
    for number in [8, 12, 16] {
        let mut changed = request.clone();
        changed[number] ^= 1;
        let changed = Request::decode(&changed).expect("a request").retransmission();
        assert_ne!(changed, Request::decode(&request).expect("a request").retransmission());
    }
    assert!(!key(|packet| packet[27] = 2), "the targets");
    assert!(!key(|packet| packet[110] ^= 1), "a checksum");
}

#[test]
fn old_versions_are_answered_in_their_own_way() {
    let exchange = captured("04-report-anon-first.hex").remove(0);
    for (version, totals_bytes) in [(4, 4), (5, 4), (6, 8), (8, 8), (9, 8), (12, 8)] {
        let mut request = exchange.request.clone();
        request[2] = version;
        let request = Request::decode(&request).expect("a request");
        let answer = totals(&request, None, numbers(1, 0));
        assert_eq!(answer.len(), 24 + 7 * totals_bytes + 16);
        assert_eq!(answer[2], version);
        assert_eq!(answer.ends_with(&[0; 16]), version >= 9, "version {version}");
    }
}

#[test]
fn what_dcc_would_drop_is_refused() {
    let report = captured("04-report-anon-first.hex").remove(0).request;
    let refusal = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = report.clone();
        change(&mut packet);
        let length = u16::try_from(packet.len()).expect("short").to_be_bytes();
        packet[..2].copy_from_slice(&length);
        Request::decode(&packet).expect_err("a refusal")
    };
    for version in [3, 13, 32] {
        assert_eq!(refusal(&|packet| packet[2] = version), RequestError::Version(version));
    }
    for (sender, number) in
        [([0, 0, 0, 0], 0), ([0, 0, 0, 2], 2), ([0, 0, 0, 99], 99), ([1, 0, 0, 0], 1 << 24)]
    {
        assert_eq!(refusal(&|packet| packet[4..8].copy_from_slice(&sender)), RequestError::Sender(number));
    }
    for operation in [0, 4, 6, 7, 9, 10, 11, 12, 13] {
        assert_eq!(refusal(&|packet| packet[3] = operation), RequestError::Operation(operation));
    }
    assert_eq!(refusal(&|packet| packet[26] = 8), RequestError::Targets(0x801));
    assert_eq!(refusal(&|packet| packet[29] = 17), RequestError::Sums, "the length of an entry");
    assert_eq!(refusal(&|packet| packet[28] = 0), RequestError::Sums, "no type");
    assert_eq!(refusal(&|packet| packet[28] = 3), RequestError::Sums, "a type twice");
    assert_eq!(refusal(&|packet| packet[136] = 12), RequestError::Sums, "a type of servers");
    assert_eq!(refusal(&|packet| packet.truncate(169)), RequestError::Sums, "part of a checksum");
    let mut longer = report.clone();
    longer.push(0);
    assert_eq!(Request::decode(&longer), Err(RequestError::Length(171)));
}

#[test]
fn a_report_of_nothing_is_answered_with_nothing() {
    let mut packet = captured("04-report-anon-first.hex").remove(0).request;
    packet.drain(28..packet.len() - 16);
    packet[1] = 44;
    let request = Request::decode(&packet).expect("a request");
    assert_eq!(totals(&request, None, numbers(1, 0)).len(), 40);
}

#[test]
fn a_client_may_try_newer_versions_with_a_nop() {
    let mut packet = captured("01-nop-anon.hex").remove(0).request;
    packet[2] = 32;
    let request = Request::decode(&packet).expect("a request");
    let answer = ok(&request, None, 0);
    assert_eq!((answer[2], answer[24]), (12, 12));
    packet[2] = 33;
    assert_eq!(Request::decode(&packet), Err(RequestError::Version(33)));
}

#[test]
fn a_server_is_not_a_client() {
    let mut packet = captured("09-auth-report.hex").remove(1).request;
    packet[4..8].copy_from_slice(&1000_u32.to_be_bytes());
    let signed = packet.len() - 16;
    // Signed as the protocol says, by hand: the sender's number is all that is wrong.
    let mut text = [0; 32];
    text[..9].copy_from_slice(b"srvsecret");
    let signature = <md5::Md5 as md5::Digest>::digest([&text[..], &packet[..signed]].concat());
    packet[signed..].copy_from_slice(&signature);
    assert!(!Request::decode(&packet).expect("a request").is_signed_by(&server()));
}

#[test]
fn names_and_numbers_of_servers_are_checked() {
    assert!(Brand::new("a".repeat(63).as_str()).is_ok());
    for wrong in ["", "two words", "new\nline", &"a".repeat(64)] {
        assert!(Brand::new(wrong).is_err(), "{wrong:?}");
    }
    for (number, good) in [(99, false), (100, true), (32767, true), (32768, false)] {
        assert_eq!(ServerId::new(number).is_ok(), good, "{number}");
    }
}

#[test]
fn a_long_error_is_cut_between_characters() {
    let exchange = captured("11-admin-delete.hex").remove(1);
    let request = Request::decode(&exchange.request).expect("a request");
    let answer = written(&request, None, |reply, out| reply.error(&"ü".repeat(99), out));
    assert_eq!(answer.len(), 24 + 126 + 1 + 16);
    assert_eq!(answer[..2], [0, 167]);
}

/// The types and digests of checksums.
type Sums = Vec<(u8, [u8; 16])>;

/// The version, sender, targets, numbers and checksums of a report: whatever is legal.
fn reports() -> impl Strategy<Value = (u8, u32, u32, [u8; 16], Sums)> {
    let kinds = proptest::sample::subsequence((1..=11_u8).collect::<Vec<_>>(), 0..=11);
    let sums = kinds.prop_flat_map(|kinds| {
        let digests = vec![any::<[u8; 16]>(); kinds.len()];
        digests.prop_map(move |digests| kinds.iter().copied().zip(digests).collect())
    });
    (4..=12_u8, 32768..1_u32 << 24, 0..=2000_u32, any::<[u8; 16]>(), sums)
}

proptest! {
    #[test]
    fn any_bytes_are_a_request_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..260)) {
        let _ = Request::decode(&bytes);
    }

    #[test]
    fn a_damaged_request_is_a_request_or_refused(place in 2_usize..170, byte: u8) {
        let mut packet = captured("04-report-anon-first.hex").remove(0).request;
        packet[place] = byte;
        let _ = Request::decode(&packet).map(|request| request.is_signed_by(&client()));
    }

    #[test]
    fn every_legal_report_is_read((version, sender, recipients, numbers, sums) in reports()) {
        let length = u16::try_from(44 + 18 * sums.len()).expect("short");
        let mut packet = [&length.to_be_bytes()[..], &[version, 2], &sender.to_be_bytes(), &numbers].concat();
        packet.extend(recipients.to_be_bytes());
        for (kind, digest) in &sums {
            packet.extend([&[*kind, 18], &digest[..]].concat());
        }
        packet.extend([0; 16]);
        let request = Request::decode(&packet).expect("a request");
        prop_assert_eq!(request.header.sender, Sender::Client(sender));
        prop_assert_eq!((request.header.version, request.header.numbers), (version, numbers));
        let Body::Report(targets, found) = request.body else { panic!("{request:?}") };
        prop_assert_eq!(targets, Targets { recipients, many: false });
        prop_assert_eq!(found.len(), sums.len());
        prop_assert_eq!(found.iter().map(|sum| (sum.kind as u8, sum.digest)).collect::<Vec<_>>(), sums);
    }
}
