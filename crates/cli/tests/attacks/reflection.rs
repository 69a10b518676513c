//! Datagrams from forged addresses: nobody who proved nothing is sent more bytes than came from its address.

use std::net::UdpSocket;
use std::time::Duration;

use crate::common::Folder;
use crate::common::clients::address;
use crate::common::hosts::Hosts;
use crate::common::serving::Serving;

/// How long an answer may take. An answer that comes later is counted with the next question.
const ANSWER_WAIT: Duration = Duration::from_millis(150);

/// How often every question is asked: as often as clients repeat what got no answer.
const TIMES: usize = 4;

/// What DCC's own programs sent.
const DCC: [&str; 11] = [
    include_str!("../../../wire/tests/vectors/dcc/01-nop-anon.hex"),
    include_str!("../../../wire/tests/vectors/dcc/02-admn-stats-anon.hex"),
    include_str!("../../../wire/tests/vectors/dcc/03-query-anon-unknown.hex"),
    include_str!("../../../wire/tests/vectors/dcc/04-report-anon-first.hex"),
    include_str!("../../../wire/tests/vectors/dcc/06-query-anon-after-11.hex"),
    include_str!("../../../wire/tests/vectors/dcc/07-report-spam.hex"),
    include_str!("../../../wire/tests/vectors/dcc/09-auth-report.hex"),
    include_str!("../../../wire/tests/vectors/dcc/10-auth-wrong-password.hex"),
    include_str!("../../../wire/tests/vectors/dcc/11-admin-delete.hex"),
    include_str!("../../../wire/tests/vectors/dcc/13-server-whitelist.hex"),
    include_str!("../../../wire/tests/vectors/dcc/20-synth-v23-report.hex"),
];

/// What rspamd sent.
const FUZZY: &str = include_str!("../../../wire/tests/vectors/fuzzy/plain.tsv");

fn dcc_questions() -> Vec<Vec<u8>> {
    let lines = DCC.iter().flat_map(|capture| capture.lines());
    let sent = lines.filter_map(|line| line.strip_prefix("C>S "));
    let captured = sent.map(|packet| hex::decode(packet).expect("hexadecimal"));
    // The question whose answer is longest: 108 bytes for 40. In every version, and cut short.
    let nop = |version: u8| [&[0, 40, version, 1, 0, 0, 0, 1][..], &[7; 16], &[0; 16]].concat();
    (0..40).map(nop).chain(captured).chain([nop(12)[..39].to_vec(), vec![0; 40]]).collect()
}

fn fuzzy_questions() -> Vec<Vec<u8>> {
    let rows = FUZZY.lines().filter(|line| !line.starts_with('#'));
    let captured =
        rows.map(|row| hex::decode(row.split('\t').nth(8).expect("a request")).expect("hexadecimal"));
    let captured: Vec<_> = captured.collect();
    let mut questions = captured.clone();
    // Every action and version of the shortest command.
    for (version, action) in (3..5).flat_map(|version| (0..8).map(move |action| (version, action))) {
        let mut short = captured[0][..76].to_vec();
        (short[0], short[1]) = (version, action);
        questions.push(short);
    }
    questions
}

fn pyzor_questions() -> Vec<Vec<u8>> {
    let digest = "4502e099be0ee6ecd6bfef672e964a98d315194f";
    let mut questions = Vec::new();
    for op in ["ping", "pong", "check", "info", "report", "whitelist", "x", ""] {
        for (user, rest) in [("anonymous", ""), ("nobody", "Time: 1790000000\nSig: 00\n"), ("", "")] {
            let digest = format!("Op-Digest: {digest}\n");
            for digest in [digest.as_str(), "", "Op-Digest: x\n"] {
                let text = format!("Op: {op}\n{digest}Thread: 4321\nPV: 2.1\nUser: {user}\n{rest}\n");
                questions.push(text.into_bytes());
            }
        }
    }
    questions.extend([b"Thread: 4321\n\n".to_vec(), b"Op: ping\nThread: 1024\n\n".to_vec(), vec![b'x'; 10]]);
    questions
}

/// Asks everything, and returns the answers. At no time have more bytes come back than went out.
fn ask_all(server: &str, questions: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind("10.77.0.254:0").expect("an address of ours");
    socket.connect(server).expect("an address");
    socket.set_read_timeout(Some(ANSWER_WAIT)).expect("a time limit");
    let (mut out, mut back, mut answers, mut buffer) = (0, 0, Vec::new(), [0; 2048]);
    for question in questions.iter().flat_map(|question| std::iter::repeat_n(question, TIMES)) {
        out += socket.send(question).expect("sent");
        if let Ok(bytes) = socket.recv(&mut buffer) {
            back += bytes;
            answers.push(buffer[..bytes].to_vec());
        }
        assert!(back <= out, "{back} bytes for {out}, last for {question:02x?}");
    }
    eprintln!("{server}: {} questions, {} answers, {back} bytes for {out}", questions.len(), answers.len());
    answers
}

#[test]
fn no_address_is_sent_more_bytes_than_came_from_it() {
    let Some(hosts) = Hosts::make(1, "reflection::no_address_is_sent_more_bytes_than_came_from_it") else {
        return;
    };
    let folder = Folder::on(hosts.places()[0].namespace.clone());
    let options = "--razor off --pyzor 10.77.0.1:0 --dcc 10.77.0.1:0 --fuzzy 10.77.0.1:0";
    let serving = Serving::start_with(&folder, options);
    let dcc = ask_all(address(&serving, "dcc"), &dcc_questions());
    assert!(
        dcc.iter().any(|answer| answer.len() == 108),
        "who repeats its NOP is told that a server is there"
    );
    assert!(dcc.iter().any(|answer| answer[3] == 4), "and who reports is told totals");
    let fuzzy = ask_all(address(&serving, "fuzzy"), &fuzzy_questions());
    assert!(fuzzy.iter().any(|answer| answer.len() == 96), "rspamd is answered");
    let pyzor = ask_all(address(&serving, "pyzor"), &pyzor_questions());
    assert!(pyzor.iter().any(|answer| answer.starts_with(b"Code: 200")), "Pyzor is answered");
}
