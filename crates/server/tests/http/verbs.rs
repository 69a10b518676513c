//! What is asked and said, in each of the three kinds of bodies.

use serde_json::{Value, json};

use super::site::{BINARY, JSON, MAIL, MESSAGE, Site, config};

const DIGEST: &str = "000102030405060708090a0b0c0d0e0f10111213";

fn case() -> Value {
    json!({"case": [{"kind": "exact1", "digest": DIGEST}]})
}

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn a_message_is_unknown_then_spam_then_taken_back() {
    let site = Site::start(config());
    let check = || site.ask("POST", "/v1/check").body(MESSAGE, MAIL).send();
    assert_eq!(check().json(), json!({"verdict": "unknown", "reasons": []}));
    let receipt = site.post("/v1/report", MESSAGE, MAIL);
    assert_eq!((receipt.status, &receipt.json()["records"]), (200, &json!(1)), "{}", receipt.text());
    let spam = check().json();
    assert_eq!(spam["verdict"], "spam");
    assert!(!spam["reasons"].as_array().expect("a list").is_empty());
    let revoked = site.post("/v1/revoke", MESSAGE, MAIL).json();
    assert_eq!((&revoked["verb"], &revoked["remaining"]), (&json!("revoke"), &json!(0)));
    assert_ne!(check().json()["verdict"], "spam");
    let again = site.get(&format!("/v1/receipts/{}", revoked["id"].as_str().expect("an id")));
    assert_eq!((again.status, &again.json()["id"]), (200, &revoked["id"]));
    assert_eq!(again.json()["cleared"], revoked["cleared"]);
}

#[test]
fn a_message_with_nothing_to_go_by_is_no_opinion_and_cannot_be_reported() {
    let site = Site::start(config());
    let check = site.ask("POST", "/v1/check").body(MESSAGE, "Subject: hi\r\n\r\n").send();
    assert_eq!(check.json(), json!({"verdict": "no opinion", "reasons": []}));
    assert_eq!(
        site.post("/v1/report", MESSAGE, "Subject: hi\r\n\r\n").problem(),
        (422, "nothing-to-say".into())
    );
    assert_eq!(site.post("/v1/report", JSON, r#"{"cases":[]}"#).problem().0, 422);
    assert_eq!(site.post("/v1/report", JSON, r#"{"case":[]}"#).problem().0, 422);
    assert_eq!(site.post("/v1/report", BINARY, "").problem().0, 422);
}

#[test]
fn json_is_answered_shape_by_shape() {
    let site = Site::start(config());
    site.post("/v1/report", JSON, case().to_string());
    let stranger = json!({"kind": "exact1", "digest": "ff".repeat(20)});
    let known = json!({"kind": "exact1", "digest": DIGEST});
    let check = |body: Value| site.ask("POST", "/v1/check").body(JSON, body.to_string()).send().json();
    assert_eq!(check(case())["verdict"], "spam");
    let judgements = check(json!({"cases": [[stranger], [known], []]}));
    let verdicts: Vec<_> =
        judgements["judgements"].as_array().expect("a list").iter().map(|one| &one["verdict"]).collect();
    assert_eq!(verdicts, ["unknown", "spam", "no opinion"]);
    let answers = check(json!({"signatures": [known, stranger, known]}));
    let spam = json!({"verdict": "spam", "weight": 10, "raw": 1});
    assert_eq!(answers, json!({"answers": [spam, {"verdict": "unknown"}, spam]}));
    assert_eq!(check(json!({"signatures": []})), json!({"answers": []}));
}

#[test]
fn binary_bodies_are_as_documented_to_the_byte() {
    let site = Site::start(config());
    let digest: Vec<u8> = (0..20).collect();
    let one = [&[1, 20, 0], digest.as_slice()].concat();
    let other = [7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(golden("cases.bin"), [[1, 0].as_slice(), &one].concat());
    assert_eq!(golden("check.bin"), [one.as_slice(), &other].concat());
    assert_eq!(golden("answers.bin"), [[1, 0, 10, 0, 0, 0, 1, 0], [0; 8]].concat());

    assert_eq!(site.post("/v1/report", BINARY, golden("cases.bin")).status, 200);
    let reply = site.ask("POST", "/v1/check").body(BINARY, golden("check.bin")).send();
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(BINARY)));
    assert_eq!(reply.body, golden("answers.bin"));
    assert!(site.ask("POST", "/v1/check").body(BINARY, "").send().body.is_empty());
}

#[test]
fn what_many_see_is_bulk() {
    let site = Site::start(config());
    let see = |path: &str, content_type: &str, body: &str| {
        let reply = site.ask("POST", path).body(content_type, body).send();
        (reply.status, reply.json())
    };
    assert_eq!(see("/v1/see", MESSAGE, MAIL), (202, json!({"accepted": 1})));
    assert_eq!(see("/v1/see?recipients=30", MESSAGE, MAIL), (202, json!({"accepted": 1})));
    let two = json!({"cases": [case()["case"], case()["case"]], "recipients": 2}).to_string();
    assert_eq!(see("/v1/see", JSON, &two), (202, json!({"accepted": 2})));
    for (path, body) in [
        ("/v1/see?recipients=0", case()),
        ("/v1/see?recipients=-1", case()),
        ("/v1/see?recipients=", case()),
        ("/v1/see?recipients=1000001", case()),
        ("/v1/see?people=1", case()),
        ("/v1/see", json!({"case": [], "recipients": 0})),
        ("/v1/see?recipients=1", json!({"case": [], "recipients": 1_000_001})),
    ] {
        assert_eq!(see(path, JSON, &body.to_string()).0, 400, "{path}");
    }
    // A `see` is accepted, and counted soon after.
    let is_bulk = || site.ask("POST", "/v1/check").body(MESSAGE, MAIL).send().json()["verdict"] == "bulk";
    assert!((0..1000).any(|_| is_bulk()));
}

#[test]
fn a_word_is_withdrawn_and_known_good_mail_is_protected() {
    let site = Site::start(config());
    let verdict =
        || site.ask("POST", "/v1/check").body(JSON, case().to_string()).send().json()["verdict"].clone();
    let say = |verb: &str| site.post(&format!("/v1/{verb}"), JSON, case().to_string());
    assert_eq!((say("report").status, verdict()), (200, json!("spam")));
    assert_eq!((say("withdraw").status, verdict()), (200, json!("unknown")));
    assert_eq!(say("protect").status, 200);
    assert_eq!(say("report").status, 200);
    assert_ne!(verdict(), "spam");
    assert_eq!((say("unprotect").status, verdict()), (200, json!("spam")));
    assert_eq!(say("revoke").status, 200);
    assert_eq!((say("many").status, say("forget").status), (200, 200));
}

#[test]
fn an_admin_takes_back_what_another_said() {
    let site = Site::start(config());
    let token = site.account("mx1", r#"["report"]"#);
    assert_eq!(site.post("/v1/accounts/mx1/weight", JSON, r#"{"weight":10}"#).status, 200);
    assert_eq!(site.ask("POST", "/v1/report").token(&token).body(MESSAGE, MAIL).send().status, 200);
    let verdict = || site.post("/v1/check", MESSAGE, MAIL).json()["verdict"].clone();
    assert_eq!(site.post("/v1/withdraw", MESSAGE, MAIL).status, 200);
    assert_eq!(verdict(), "spam", "the operator takes back what the operator said");
    assert_eq!(site.post("/v1/withdraw?reporter=mx1", MESSAGE, MAIL).status, 200);
    assert_eq!(verdict(), "unknown");
}

#[test]
fn a_signature_is_explained() {
    let site = Site::start(config());
    site.post("/v1/report", JSON, case().to_string());
    let reply = site.get(&format!("/v1/explain?kind=exact1&digest={DIGEST}"));
    let told = reply.json();
    assert_eq!((reply.status, &told["kind"], &told["digest"]), (200, &json!("exact1"), &json!(DIGEST)));
    assert_eq!((&told["judgement"]["verdict"], &told["words"][0]["word"]), (&json!("spam"), &json!("spam")));
    for query in [
        "",
        "?kind=exact1",
        "?kind=sum&digest=00",
        "?kind=exact1&digest=00",
        "?kind=exact1&digest=0x",
        "?digest=zz&kind=pyzor",
    ] {
        assert_eq!(site.get(&format!("/v1/explain{query}")).problem(), (400, "bad-query".into()), "{query}");
    }
}

#[test]
fn a_message_is_explained_record_by_record_with_dates_and_who_protects_it() {
    let site = Site::start(config());
    site.post("/v1/report", JSON, case().to_string());
    site.post("/v1/protect", JSON, case().to_string());
    let reply = site.post("/v1/explain", JSON, case().to_string());
    let told = reply.json();
    assert_eq!((reply.status, &told["verdict"], &told["more"]), (200, &json!("ham"), &json!(false)));
    let reports = told["reports"].as_array().expect("a list");
    assert_eq!(reports.len(), 1, "one record, whatever number of signatures: {told}");
    assert_eq!((&reports[0]["verb"], &reports[0]["reporter"]), (&json!("report"), &json!("operator")));
    let time = reports[0]["time"].as_str().expect("a time");
    assert!(time.len() == 20 && time.starts_with("20") && time.ends_with('Z'), "{time}");
    let protected = &told["protected_by"][0];
    assert_eq!((&protected["reporter"], &protected["messages"]), (&json!("operator"), &json!(1)));
    assert_eq!(told["signatures"][0]["words"][0]["time"], reports[0]["time"]);
    let two = json!({"cases": [case()["case"], case()["case"]]});
    assert_eq!(site.post("/v1/explain", JSON, two.to_string()).problem().0, 400);
}

#[test]
fn a_write_says_what_the_message_is_now() {
    let site = Site::start(config());
    let told = site.post("/v1/report", JSON, case().to_string()).json();
    assert_eq!((&told["verdict"], &told["reasons"][0]["rule"]), (&json!("spam"), &json!("reported")));
    let many = json!({"cases": [case()["case"], [{"kind": "url1", "digest": DIGEST}]]});
    let told = site.post("/v1/revoke", JSON, many.to_string()).json();
    assert_eq!(told["verdicts"], json!(["ham", "unknown"]));
    let told = site.post("/v1/protect", JSON, case().to_string()).json();
    assert_eq!(told["protection"], json!({"changed": 1, "unchanged": 0, "still_protected": 0}));
    let told = site.post("/v1/unprotect", JSON, many.to_string()).json();
    assert_eq!(told["protection"], json!({"changed": 1, "unchanged": 1, "still_protected": 0}));
}

#[test]
fn the_site_says_how_it_is_doing() {
    let site = Site::start(config());
    site.post("/v1/report", JSON, case().to_string());
    site.ask("POST", "/v1/check").body(BINARY, golden("check.bin")).send();
    let stats = site.get("/v1/stats").json();
    assert_eq!((&stats["version"], &stats["records"]), (&json!(env!("CARGO_PKG_VERSION")), &json!(1)));
    assert!(stats["uptime_secs"].is_u64());
    let running = site.running.as_ref().expect("a running server");
    for (name, address) in running.clients() {
        assert_eq!(stats["clients"][name.to_lowercase()], json!(address.to_string()), "{name}");
    }
    assert_eq!(stats["clients"].as_object().map(|clients| clients.len()), Some(running.clients().len()));
    assert_eq!(stats["fuzzy_key"], json!(running.fuzzy_key()));
    assert_eq!(stats["fuzzy_flag"], json!(running.fuzzy_key().map(|_| 1)));
    assert_eq!((site.get("/healthz").status, site.get("/healthz").text()), (200, "ok\n".into()));
    assert_eq!((site.get("/readyz").status, site.get("/readyz").text()), (200, "ready\n".into()));
    let metrics = site.get("/metrics").text();
    for line in [
        "seenit_http_requests_total{route=\"check\",status=\"200\"} 1\n",
        "seenit_http_requests_total{route=\"report\",status=\"200\"} 1\n",
        "seenit_checked_signatures_total 2\n",
        "seenit_verdicts_total{protocol=\"http\",verdict=\"spam\"} 1\n",
        "seenit_verdicts_total{protocol=\"http\",verdict=\"unknown\"} 1\n",
        "seenit_verdicts_total{protocol=\"fuzzy\",verdict=\"no-opinion\"} 0\n",
        "seenit_written_cases_total 1\n",
        "seenit_http_seconds_count{route=\"check\"} 1\n",
        "seenit_ledger_records 1.0\n",
        "# EOF\n",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let openapi = site.get("/openapi.json");
    assert_eq!((openapi.header("content-type"), &openapi.json()["openapi"].is_string()), (Some(JSON), &true));
    assert_eq!(site.ask("HEAD", "/healthz").send().body.len(), 0);
    assert_eq!(site.post("/v1/snapshot", JSON, "").json(), json!({"written": true}));
    assert_eq!(site.post("/v1/clock/confirm", JSON, "").json(), json!({"confirmed": true}));
}

#[test]
fn receipts_of_nothing_are_not_found() {
    let site = Site::start(config());
    for id in ["1", "abc", "00000000000000000000000000000abc-11-42"] {
        assert_eq!(site.get(&format!("/v1/receipts/{id}")).problem(), (404, "not-found".into()), "{id}");
    }
}
