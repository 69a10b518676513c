//! Who may do what.

use serde_json::json;

use super::site::{JSON, Site, config};

const CASE: &str = r#"{"case":[{"kind":"razor-e8","digest":"0102030405060708"}]}"#;

fn status(site: &Site, token: Option<&str>, method: &str, path: &str) -> u16 {
    let ask = site.ask(method, path);
    let ask = if let Some(token) = token { ask.token(token) } else { ask };
    let body = match path {
        "/v1/accounts" => r#"{"name":"new","roles":["check"]}"#,
        _ => CASE,
    };
    if method == "POST" { ask.body(JSON, body).send().status } else { ask.send().status }
}

#[test]
fn each_role_does_what_it_is_for() {
    let site = Site::start(config());
    let check = site.account("checker", r#"["check"]"#);
    let report = site.account("reporter", r#"["report"]"#);
    let revoke = site.account("revoker", r#"["revoke"]"#);
    let admin = site.account("chief", r#"["admin"]"#);
    for (method, path, allowed) in [
        ("POST", "/v1/check", [200, 200, 200, 200, 200]),
        ("POST", "/v1/see", [202, 202, 202, 202, 202]),
        ("GET", "/v1/stats", [200, 200, 200, 200, 200]),
        ("GET", "/v1/sites", [200, 200, 200, 200, 200]),
        ("POST", "/v1/report", [401, 403, 200, 403, 200]),
        ("POST", "/v1/withdraw", [401, 403, 200, 403, 200]),
        ("POST", "/v1/withdraw?reporter=local", [401, 403, 403, 403, 200]),
        ("POST", "/v1/withdraw?reporter=nobody", [401, 403, 403, 403, 404]),
        ("POST", "/v1/report?reporter=local", [401, 403, 400, 403, 400]),
        ("POST", "/v1/revoke", [401, 403, 403, 200, 200]),
        ("POST", "/v1/protect", [401, 403, 403, 403, 200]),
        ("POST", "/v1/many", [401, 403, 403, 403, 200]),
        ("POST", "/v1/forget", [401, 403, 403, 403, 200]),
        ("GET", "/v1/accounts", [401, 403, 403, 403, 200]),
        ("POST", "/v1/accounts", [401, 403, 403, 403, 200]),
        ("POST", "/v1/snapshot", [401, 403, 403, 403, 200]),
        ("GET", "/metrics", [200, 403, 403, 403, 200]),
        ("GET", "/healthz", [200, 200, 200, 200, 200]),
    ] {
        let tokens = [None, Some(&check), Some(&report), Some(&revoke), Some(&admin)];
        let got = tokens.map(|token| status(&site, token.map(String::as_str), method, path));
        assert_eq!(got, allowed, "{method} {path}");
    }
}

#[test]
fn a_token_that_nobody_holds_is_refused_everywhere() {
    let site = Site::start(config());
    for path in ["/v1/stats", "/healthz", "/v1/accounts"] {
        let reply = site.ask("GET", path).token("seenit_guess").send();
        assert_eq!(reply.problem(), (401, "unknown-token".into()), "{path}");
        assert!(reply.header("www-authenticate").is_some());
    }
    for value in ["Basic abc", "Bearer", "seenit"] {
        assert_eq!(site.ask("GET", "/healthz").header("Authorization", value).send().status, 401, "{value}");
    }
}

#[test]
fn accounts_are_made_shown_renewed_weighed_undone_and_removed() {
    let site = Site::start(config());
    let made = site.post("/v1/accounts", JSON, r#"{"name":"mx1","roles":["report"],"weight":10}"#).json();
    let token = made["token"].as_str().expect("a token").to_owned();
    assert!(token.starts_with("seenit_") && token.len() == 50);
    assert_eq!((&made["name"], &made["roles"]), (&json!("mx1"), &json!(["report"])));

    let get = |path: &str| site.ask("GET", path).token(&site.token).send();
    let shown = get("/v1/accounts/mx1");
    assert!(!shown.text().contains(&token) && shown.json()["reporter"]["weight"] == 10, "{}", shown.text());
    let names: Vec<_> = get("/v1/accounts").json()["accounts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|account| account["name"].clone())
        .collect();
    assert_eq!(names, ["local", "mx1", "operator"]);

    assert_eq!(status(&site, Some(&token), "POST", "/v1/report"), 200);
    let renewed =
        site.post("/v1/accounts/mx1/token", JSON, "").json()["token"].as_str().expect("a token").to_owned();
    assert_eq!(status(&site, Some(&token), "GET", "/v1/stats"), 401);
    assert_eq!(status(&site, Some(&renewed), "GET", "/v1/stats"), 200);

    let lighter = site.post("/v1/accounts/mx1/weight", JSON, r#"{"weight":3}"#);
    assert_eq!((lighter.status, &lighter.json()["reporter"]["weight"]), (200, &json!(3)));
    assert_eq!(site.post("/v1/accounts/mx1/weight", JSON, r#"{"weight":11}"#).status, 400);
    assert_eq!(site.post("/v1/accounts/mx1/undo", JSON, "").json(), json!({"words": 1}));

    let remove = || site.ask("DELETE", "/v1/accounts/mx1").token(&site.token).send();
    assert_eq!((remove().status, remove().problem()), (200, (404, "not-found".into())));
    assert_eq!(status(&site, Some(&renewed), "GET", "/v1/stats"), 401);
    for path in ["mx1/token", "mx1/weight"] {
        assert_eq!(site.post(&format!("/v1/accounts/{path}"), JSON, r#"{"weight":3}"#).status, 404, "{path}");
    }
    assert_eq!(site.post("/v1/accounts/nobody/undo", JSON, "").status, 404);
}

#[test]
fn secrets_of_older_protocols_are_given_listed_and_taken_away() {
    let site = Site::start(config());
    let token = site.account("mx1", r#"["report"]"#);
    let post = |path: &str, body: &str| site.post(&format!("/v1/accounts/{path}"), JSON, body);
    let chosen = post("mx1/secrets/pyzor", r#"{"secret":"open-sesame"}"#).json();
    assert_eq!(chosen, json!({"name": "mx1", "protocol": "pyzor", "secret": "open-sesame"}));
    let made = post("mx1/secrets/razor", "{}").json();
    assert_eq!(made["secret"].as_str().map(str::len), Some(32));
    let key = post("mx1/secrets/fuzzy", "{}").json();
    assert!(key["secret"].is_null() && key["encryption_key"].as_str().map(str::len) == Some(52), "{key}");

    let shown = site.ask("GET", "/v1/accounts/mx1").token(&site.token).send();
    assert_eq!(shown.json()["secrets"], json!(["pyzor", "razor", "fuzzy"]));
    assert!(!shown.text().contains("open-sesame"));
    assert_eq!(status(&site, Some(&token), "POST", "/v1/accounts/mx1/secrets/pyzor"), 403, "no admin");

    for (path, body, problem) in [
        ("mx1/secrets/pyzor", r#"{"secret":"with blank"}"#, (400, "bad-body")),
        ("mx1/secrets/pyzor", r#"{"password":"x"}"#, (400, "bad-body")),
        ("mx1/secrets/dcc", "{}", (400, "bad-body")),
        ("mx1/secrets/nilsimsa", "{}", (404, "not-found")),
        ("nobody/secrets/pyzor", "{}", (404, "not-found")),
        ("operator/secrets/pyzor", "{}", (404, "not-found")),
    ] {
        assert_eq!(post(path, body).problem(), (problem.0, problem.1.into()), "{path} {body}");
    }
    let token = format!(r#"{{"secret":"{token}"}}"#);
    assert_eq!(post("mx1/secrets/pyzor", &token).problem(), (400, "bad-body".into()), "an API token");

    let delete = |path: &str| site.ask("DELETE", &format!("/v1/accounts/{path}")).token(&site.token).send();
    assert_eq!(delete("mx1/secrets/pyzor").status, 200);
    assert_eq!(delete("mx1/secrets/pyzor").problem(), (404, "not-found".into()));
    assert_eq!(delete("mx1").status, 200);
    site.account("mx1", r#"["report"]"#);
    let anew = site.ask("GET", "/v1/accounts/mx1").token(&site.token).send();
    assert_eq!(anew.json()["secrets"], json!([]), "whoever gets the name has none of the secrets");
}

#[test]
fn accounts_that_make_no_sense_are_refused() {
    let site = Site::start(config());
    site.account("mx", r#"["check"]"#);
    let refused = |body: &str| site.post("/v1/accounts", JSON, body).problem();
    assert_eq!(refused(r#"{"name":"mx","roles":["check"]}"#), (409, "account-exists".into()));
    assert_eq!(refused(r#"{"name":"operator","roles":["check"]}"#), (409, "name-reserved".into()));
    for body in [
        "{",
        r#"{"name":"a"}"#,
        r#"{"name":"a","roles":[]}"#,
        r#"{"name":"a","roles":["king"]}"#,
        r#"{"name":"A","roles":["check"]}"#,
        r#"{"name":"a","roles":["check"],"weight":11}"#,
        r#"{"name":"a","roles":["check"],"colour":"red"}"#,
    ] {
        assert_eq!(refused(body), (400, "bad-body".into()), "{body}");
    }
    assert_eq!(site.post("/v1/accounts", "text/plain", "{}").problem(), (415, "media-type".into()));
}
