//! The laws of requests over HTTP, checked on whatever bytes the fuzzer sends as a body or behind a question mark.
//!
//! What is read keeps to the limits, and written again, in JSON or in binary, it is read as the same. What is refused
//! is refused in a few words, however long the body.

use std::fmt::Write as _;
use std::str;

use seenit_server::fuzzed::{self, CASES_MAX, JsonBody, SIGNATURES_MAX};
use seenit_signature::Kind;

/// The longest sentence that a client is told: 500 characters of up to four bytes, and three dots.
const WHY_BYTES_MAX: usize = 2003;
/// Kind and length, before a digest.
const HEAD_BYTES: usize = 3;
/// The most signatures of a case.
const CASE_SIGNATURES_MAX: usize = 256;

/// Reads bytes as every kind of body and as parameters, and holds what was read against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    check_json(input);
    check_signatures(input);
    check_cases(input);
    if let Ok(text) = str::from_utf8(input) {
        check_parameters(text);
    }
}

/// What was read, or nothing where it was refused in few words.
fn accepted<T>(read: Result<T, String>) -> Option<T> {
    if let Err(why) = &read {
        assert!(!why.is_empty() && why.len() <= WHY_BYTES_MAX, "{} bytes of {why:.100}", why.len());
    }
    read.ok()
}

fn check_json(body: &[u8]) {
    let Some(read) = accepted(fuzzed::json_body(body)) else { return };
    assert!(read.signatures.len() <= SIGNATURES_MAX && read.cases.len() <= CASES_MAX);
    assert!(read.cases.iter().all(|case| case.len() <= CASE_SIGNATURES_MAX));
    // A case has each signature once, so that it may have fewer than were sent.
    let in_cases: usize = read.cases.iter().map(|case| case.len()).sum();
    assert!(in_cases <= read.signatures.len(), "{in_cases} of {}", read.signatures.len());

    let again = fuzzed::json_body(written(&read).as_bytes()).expect("what we write is a body");
    assert_eq!((again.key, again.recipients, &again.cases), (read.key, read.recipients, &read.cases));
    if read.key == "signatures" {
        assert_eq!(again, read, "written again");
        assert_eq!(fuzzed::binary_signatures(&read.signatures.concat()), Ok(read.signatures));
    } else {
        assert_eq!(fuzzed::binary_cases(&encoded(&read)), Ok(read.cases));
    }
}

/// The same body as we would write it.
fn written(body: &JsonBody) -> String {
    let list = |signatures: &mut dyn Iterator<Item = &[u8]>| {
        let one = |bytes: &[u8]| {
            let kind = Kind::from_code(bytes[0]).expect("a kind that was read");
            let mut digest = String::new();
            for byte in &bytes[HEAD_BYTES..] {
                write!(digest, "{byte:02x}").expect("memory takes any text");
            }
            format!("{{\"digest\":\"{digest}\",\"kind\":\"{kind}\"}}")
        };
        format!("[{}]", signatures.map(one).collect::<Vec<_>>().join(","))
    };
    let cases: Vec<String> =
        body.cases.iter().map(|case| list(&mut case.iter().map(|one| one.bytes()))).collect();
    let value = match body.key {
        "signatures" => list(&mut body.signatures.iter().map(Vec::as_slice)),
        "case" => cases.concat(),
        _ => format!("[{}]", cases.join(",")),
    };
    let recipients = body.recipients.map(|number| format!(",\"recipients\":{number}")).unwrap_or_default();
    format!("{{\"{}\":{value}{recipients}}}", body.key)
}

/// The cases as a binary body.
fn encoded(body: &JsonBody) -> Vec<u8> {
    let one = |bytes: &[u8], number: usize| [&(number as u16).to_le_bytes(), bytes].concat();
    body.cases.iter().flat_map(|case| one(case.bytes(), case.len())).collect()
}

fn check_signatures(body: &[u8]) {
    let Some(read) = accepted(fuzzed::binary_signatures(body)) else { return };
    assert!(read.len() <= SIGNATURES_MAX, "{} signatures", read.len());
    assert!(read.concat() == body, "signatures are the very bytes of their body");
}

fn check_cases(body: &[u8]) {
    let Some(cases) = accepted(fuzzed::binary_cases(body)) else { return };
    assert!(cases.len() <= CASES_MAX, "{} cases", cases.len());
    let signatures: usize = cases.iter().map(|case| case.len()).sum();
    assert!(signatures <= SIGNATURES_MAX, "{signatures} signatures");
    let read = JsonBody { key: "cases", recipients: None, signatures: Vec::new(), cases };
    let again = encoded(&read);
    assert!(again.len() <= body.len(), "cases take {} bytes of {}", again.len(), body.len());
    assert_eq!(fuzzed::binary_cases(&again).as_ref(), Ok(&read.cases));
    let json = fuzzed::json_body(written(&read).as_bytes()).expect("what binary says, JSON can say");
    assert_eq!(json.cases, read.cases);
}

fn check_parameters(text: &str) {
    const NAMES: [&str; 3] = ["kind", "digest", "see"];
    let Some(read) = fuzzed::parameters(&format!("/v1/check?{text}"), NAMES) else { return };
    let Some(values) = accepted(read) else { return };
    let given: Vec<String> = NAMES
        .iter()
        .zip(&values)
        .filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)))
        .collect();
    let again = fuzzed::parameters(&format!("/v1/check?{}", given.join("&")), NAMES);
    assert_eq!(again, Some(Ok(values)), "written again");
}
