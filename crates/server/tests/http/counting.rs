//! `see=N`: a check that is a sighting, too.

use serde_json::{Value, json};

use super::site::{BINARY, JSON, MAIL, MESSAGE, Reply, Site, config};

const DIGEST: &str = "000102030405060708090a0b0c0d0e0f10111213";

fn signature() -> Value {
    json!({"kind": "exact1", "digest": DIGEST})
}

fn check(site: &Site, path: &str, content_type: &str, body: impl AsRef<[u8]>) -> Reply {
    site.ask("POST", path).body(content_type, body).send()
}

/// The recipients that a judgement's reasons speak of.
fn seen(judgement: &Value) -> u64 {
    let reasons = judgement["reasons"].as_array().expect("a list").iter();
    reasons.filter_map(|reason| reason["seen"].as_u64()).max().unwrap_or(0)
}

#[test]
fn after_so_many_checks_that_see_the_seen_count_says_so() {
    let site = Site::start(config());
    for number in 1..=12 {
        let answer = check(&site, "/v1/check?see=1", MESSAGE, MAIL).json();
        assert_eq!((seen(&answer), &answer["counted"]), (number, &json!(true)), "{answer}");
    }
    let answer = check(&site, "/v1/check?see=30", MESSAGE, MAIL).json();
    assert_eq!((seen(&answer), &answer["verdict"]), (42, &json!("bulk")), "counted before it is judged");
    for path in ["/v1/check", "/v1/check?see=0"] {
        let answer = check(&site, path, MESSAGE, MAIL).json();
        assert_eq!((seen(&answer), answer.get("counted")), (42, None), "{path}: nobody got it");
    }
}

#[test]
fn every_kind_of_body_is_counted() {
    let site = Site::start(config());
    let json = |path: &str, body: Value| check(&site, path, JSON, body.to_string()).json();
    let case = json!([signature()]);
    assert_eq!(seen(&json("/v1/check?see=2", json!({"case": case}))), 2);
    let cases = json("/v1/check?see=3", json!({"cases": [case, case, []]}));
    assert_eq!(cases["counted"], true);
    assert_eq!(seen(&cases["judgements"][0]), 8);
    let host = json!({"kind": "razor-e8", "digest": "0102030405060708"});
    assert_eq!(
        json("/v1/check?see=4", json!({"signatures": [signature(), host]})),
        json!({"answers": [{"verdict": "unknown", "seen": 12}, {"verdict": "unknown"}], "counted": true})
    );
    let digest: Vec<u8> = (0..20).collect();
    let binary = [&[1, 20, 0], digest.as_slice()].concat();
    let reply = check(&site, "/v1/check?see=8", BINARY, &binary);
    assert_eq!((reply.body.first(), reply.header("seenit-counted")), (Some(&2), Some("true")), "bulk");
    assert_eq!(check(&site, "/v1/check", BINARY, &binary).header("seenit-counted"), None);
    assert_eq!(seen(&json("/v1/check", json!({"case": case}))), 20);
}

#[test]
fn a_protected_part_that_many_got_is_not_called_bulk() {
    let site = Site::start(config());
    let part = json!({"kind": "razor-e4", "digest": "07".repeat(20)});
    assert_eq!(site.post("/v1/protect", JSON, json!({"case": [part]}).to_string()).status, 200);
    let asked = json!({"signatures": [part]}).to_string();
    let answer = &check(&site, "/v1/check?see=25", JSON, asked).json()["answers"][0];
    assert_eq!((&answer["verdict"], &answer["seen"]), (&json!("unknown"), &json!(25)), "{answer}");
}

#[test]
fn a_number_of_recipients_that_makes_no_sense_is_named() {
    let site = Site::start(config());
    for number in ["-1", "many", "", "1000001", "18446744073709551616", "+1"] {
        let reply = check(&site, &format!("/v1/check?see={number}"), MESSAGE, MAIL);
        assert_eq!(reply.problem(), (400, "recipients".into()), "{number}");
        assert!(reply.text().contains(&format!("see={number}: ")), "{}", reply.text());
    }
    assert_eq!(check(&site, "/v1/check?see=1000000", MESSAGE, MAIL).json()["counted"], true);
    let reply = check(&site, "/v1/check", JSON, json!({"case": [], "recipients": 3}).to_string());
    assert!(reply.text().contains("see=N"), "{}", reply.text());
}

#[test]
fn a_check_is_answered_where_nothing_can_be_counted_and_says_why() {
    let mut config = config();
    config.ledger.delta_millis = 50;
    // More than any disk has.
    config.ledger.free_bytes_min = 1 << 60;
    let site = Site::start(config);
    let is_refused = || site.get("/readyz").status == 503;
    assert!((0..1000).any(|_| is_refused()), "writes are refused");
    let answer = check(&site, "/v1/check?see=1", MESSAGE, MAIL).json();
    assert_eq!((&answer["verdict"], &answer["counted"]), (&json!("unknown"), &json!(false)));
    assert!(answer["not_counted"].as_str().is_some_and(|why| why.contains("free")), "{answer}");
    let binary = [[1, 20, 0].as_slice(), &[9; 20]].concat();
    let reply = check(&site, "/v1/check?see=1", BINARY, binary);
    assert_eq!(reply.body, [0; 8]);
    assert!(reply.header("seenit-counted").is_some_and(|value| value.starts_with("false; ")));
    let nothing = check(&site, "/v1/check?see=1", MESSAGE, "Subject: hi\r\n\r\n").json();
    assert_eq!((&nothing["verdict"], &nothing["counted"]), (&json!("no opinion"), &json!(false)));
}

#[test]
fn who_counts_too_much_is_answered_and_not_counted() {
    let mut config = config();
    config.limits.account_writes_per_sec = 1;
    let site = Site::start(config);
    let token = site.account("mx1", r#"["check"]"#);
    let ask = || {
        let ask = site.ask("POST", "/v1/check?see=1").token(&token).body(MESSAGE, MAIL);
        let answer = ask.send().json();
        assert!(answer["verdict"] == "unknown" || answer["verdict"] == "bulk", "{answer}");
        answer
    };
    let refused = (0..5000).map(|_| ask()).find(|answer| answer["counted"] == false).expect("a limit");
    let why = refused["not_counted"].as_str().expect("why");
    assert!(why.contains("account_writes_per_sec"), "{why}");
}
