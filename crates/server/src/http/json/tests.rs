//! That JSON bodies are read as a plain JSON parser reads them, and that mistakes are named.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(text: &str) -> Request {
    Request::parse(text.as_bytes()).expect(text)
}

fn refused(text: &str) -> String {
    format!("{:?}", Request::parse(text.as_bytes()).expect_err(text))
}

fn digests(request: &Request) -> Vec<(Kind, Vec<u8>)> {
    request.signatures().iter().map(|one| (one.kind(), one.digest().to_vec())).collect()
}

#[test]
fn the_three_shapes_are_told_apart() {
    let case = parse(r#"{"case":[{"kind":"razor-e8","digest":"0102030405060708"}]}"#);
    assert_eq!((case.shape, case.recipients), (Shape::Case, None));
    assert_eq!(digests(&case), [(Kind::RazorE8, vec![1, 2, 3, 4, 5, 6, 7, 8])]);
    assert_eq!(case.cases().expect("one").len(), 1);

    let cases =
        parse(r#"{"recipients":3,"cases":[[],[{"digest":"AA02030405060708","kind":"razor-e8"}],[]]}"#);
    assert_eq!((cases.shape, cases.recipients), (Shape::Cases, Some(3)));
    assert_eq!(cases.cases().expect("three").iter().map(Case::len).collect::<Vec<_>>(), [0, 1, 0]);

    let twice = r#"{"kind":"razor-e8","digest":"0102030405060708"}"#;
    let signatures = parse(&format!(r#" {{ "signatures" : [ {twice} , {twice} ] }} "#));
    assert_eq!((signatures.shape, signatures.len()), (Shape::Signatures, 2));
    assert_eq!(signatures.signatures().len(), 2, "each by itself, also a repeated one");
}

#[test]
fn escapes_are_read_too() {
    let escaped = parse(r#"{"\u0063ase":[{"kin\u0064":"razor\u002de8","digest":"\u0030102030405060708"}]}"#);
    assert_eq!(digests(&escaped), [(Kind::RazorE8, vec![1, 2, 3, 4, 5, 6, 7, 8])]);
}

#[test]
fn mistakes_are_named() {
    for (text, why) in [
        ("", "EOF while parsing"),
        ("[]", "expected an object with one of"),
        ("{}", "expected an object with one of"),
        (r#"{"case":[],"cases":[]}"#, "not two of them"),
        (r#"{"case":[],"case":[]}"#, "not two of them"),
        (r#"{"case":[]} x"#, "trailing characters"),
        (r#"{"message":"text"}"#, r#"no key \"message\" here"#),
        (r#"{"case":{}}"#, "expected a list of signatures"),
        (r#"{"cases":[{}]}"#, "expected a list of signatures"),
        (r#"{"case":["pyzor"]}"#, "expected a signature"),
        (r#"{"case":[{"kind":"pyzor"}]}"#, "missing field `digest`"),
        (r#"{"case":[{"digest":""}]}"#, "missing field `kind`"),
        (r#"{"case":[{"kind":"sum","digest":""}]}"#, r#"there is no kind \"sum\""#),
        (r#"{"case":[{"kind":"pyzor","digest":"00"}]}"#, "a digest of pyzor has 20 bytes, not 1"),
        (r#"{"case":[{"kind":"razor-e8","digest":"010203040506070"}]}"#, "is not hexadecimal"),
        (r#"{"case":[{"kind":"razor-e8","digest":"01020304050607zz"}]}"#, "is not hexadecimal"),
        (r#"{"case":[{"kind":"razor-e8","digest":"0x0203040506070801"}]}"#, "is not hexadecimal"),
        (r#"{"case":[{"kind":"razor-e8","digest":"0x02030405060708"}]}"#, "is not hexadecimal"),
        (r#"{"case":[{"kind":1}]}"#, "expected a string"),
        (r#"{"case":[{"kind":"pyzor","kind":"pyzor"}]}"#, "duplicate field `kind`"),
        (r#"{"case":[{"size":1}]}"#, r#"no key \"size\" here"#),
        (r#"{"case":[],"recipients":-1}"#, "invalid value"),
        (r#"{"case":[],"recipients":1,"recipients":1}"#, "duplicate field `recipients`"),
    ] {
        assert!(refused(text).contains(why), "{text}: {}", refused(text));
    }
}

#[test]
fn limits_are_named_and_the_status_is_theirs() {
    let one = r#"{"kind":"razor-e8","digest":"0102030405060708"}"#;
    let list = |number: usize| format!("[{}]", vec![one; number].join(","));
    assert_eq!(parse(&format!(r#"{{"signatures":{}}}"#, list(SIGNATURES_MAX))).len(), SIGNATURES_MAX);
    let refused_with = |text: &str| Request::parse(text.as_bytes()).expect_err("too many").status.as_u16();
    assert_eq!(refused_with(&format!(r#"{{"signatures":{}}}"#, list(SIGNATURES_MAX + 1))), 413);
    assert_eq!(refused_with(&format!(r#"{{"case":{}}}"#, list(257))), 413);
    let cases = |number: usize| format!(r#"{{"cases":[{}]}}"#, vec!["[]"; number].join(","));
    assert_eq!(parse(&cases(CASES_MAX)).cases().expect("cases").len(), CASES_MAX);
    assert_eq!(refused_with(&cases(CASES_MAX + 1)), 413);
}

proptest! {
    #[test]
    fn what_a_json_writer_wrote_is_read(signatures in prop::collection::vec((0usize..10, any::<u8>()), 0..30)) {
        let kind = |index: usize| Kind::ALL[index];
        let list: Vec<_> = signatures.iter().map(|(index, byte)| {
            let digest = vec![*byte; kind(*index).digest_bytes()];
            json!({"kind": kind(*index).as_str(), "digest": const_hex::encode(digest)})
        }).collect();
        let parsed = parse(&json!({"signatures": list}).to_string());
        let expected: Vec<_> = signatures.iter()
            .map(|(index, byte)| (kind(*index), vec![*byte; kind(*index).digest_bytes()]))
            .collect();
        prop_assert_eq!(digests(&parsed), expected);
    }

    #[test]
    fn no_text_is_too_odd_to_be_refused(text in "[\\[\\]{}\":, a-z0-9]{0,80}") {
        let _ = Request::parse(text.as_bytes());
    }
}
