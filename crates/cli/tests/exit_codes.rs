//! Guards the exit codes that mail programs act on: 75 is only for what may go away, a refusal is never 75, and a
//! failure never looks like a verdict.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;

use common::serving::{Serving, mail};
use common::{Folder, Ran};

/// Nothing that looks like a verdict: no code of one, no word of one.
fn no_verdict(ran: &Ran, code: i32, says: &str) {
    assert_eq!(ran.code, code, "{} {}", ran.out, ran.err);
    for verdict in ["spam", "bulk", "ham", "unknown", "no opinion"] {
        assert!(!ran.out.contains(verdict), "{}", ran.out);
    }
    assert!(ran.err.contains(says), "{:?} does not say {says:?}", ran.err);
}

#[test]
fn a_check_with_a_wrong_token_is_refused_and_not_deferred() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("wrong", "seenit_nobody\n");
    no_verdict(&serving.run("check a.eml --token-file wrong"), 77, "no account has this token");
    let ran = serving.run("check --json a.eml --token-file wrong");
    let row = &ran.json()[0];
    assert_eq!((ran.code, &row["verdict"], &row["reasons"]), (77, &().into(), &serde_json::json!([])));
    assert!(row["problem"].as_str().is_some_and(|why| why.contains("401")), "{row}");
}

#[test]
fn a_check_of_a_message_that_is_too_large_is_refused_and_not_deferred() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[http]\nmessage_bytes_max = 2000000\n");
    let serving = Serving::start_with(&folder, "--config seenit.toml");
    folder.write("large.eml", mail(1) + &"more of it\n".repeat(300_000));
    no_verdict(&serving.run("check large.eml"), 65, "413");
    let piped = std::fs::read(folder.path("large.eml")).expect("a message");
    no_verdict(&folder.run_with(&format!("check - --server {}", serving.url()), &piped), 65, "413");
}

#[test]
fn too_little_text_to_report_is_about_the_data() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("short.eml", "Subject: hi\n\nok\n");
    for command in ["report", "revoke", "withdraw"] {
        let ran = serving.run(&format!("{command} short.eml"));
        assert_eq!(ran.code, 65, "{command}: {}", ran.err);
        assert!(ran.err.contains("short.eml: ") && ran.err.contains("422"), "{}", ran.err);
    }
    let explained = serving.run("explain --kind exact1 --digest zz");
    explained.refused(65, "zz");
}

#[test]
fn what_is_used_up_or_full_is_worth_another_try() {
    let folder = Folder::new();
    folder.write("seenit.toml", "[ledger]\ncapacity = 20000\nreporter_percent = 1\n");
    let serving = Serving::start_with(&folder, "--config seenit.toml");
    folder.write("mx1.token", serving.run("account add mx1 --role report").out);
    let boxed: String =
        (0..200).map(|seed| format!("From a@b Thu Jan  1 00:00:00 1970\n{}\n", mail(seed))).collect();
    folder.write("box", boxed);
    let ran = serving.run("report box --token-file mx1.token");
    assert_eq!(ran.code, 75, "{}", ran.err);
    assert!(ran.err.contains("429") && ran.out.contains("box: reported"), "{}", ran.err);
    serving.stop();
    folder.write("full.toml", "[ledger]\nfree_bytes_min = 1000000000000000\n");
    folder.write("a.eml", mail(1));
    let full = Serving::start_with(&folder, "--config full.toml");
    let ran = full.run("report a.eml");
    assert_eq!(ran.code, 75, "{}", ran.err);
    assert!(ran.err.contains("503"), "{}", ran.err);
}

/// Answers every request with these bytes, as a server would that is no seenit.
fn foreign(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 65536]);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn what_answers_and_is_no_seenit_is_not_waited_for() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    let check = |answer| folder.run(&format!("check a.eml --server {}", foreign(answer)));
    let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    no_verdict(&check(hello), 76, "is not a seenit server");
    let moved = "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    no_verdict(&check(moved), 76, "302");
    let proxy_limit = "HTTP/1.1 413 Too Large\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    no_verdict(&check(proxy_limit), 65, "413");
    let proxy_down = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    no_verdict(&check(proxy_down), 75, "502");
    let no_post =
        "HTTP/1.0 501 Unsupported method ('POST')\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>";
    no_verdict(&check(no_post), 76, "this is no seenit");
    let plain = foreign("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let by_tls = folder.run(&format!("check a.eml --server {}", plain.replace("http:", "https:")));
    no_verdict(&by_tls, 76, "it does not speak TLS there; write http://");
}

#[test]
fn a_data_folder_whose_files_are_damaged_or_open_is_not_out_of_memory() {
    let folder = Folder::new();
    Serving::start(&folder).stop();
    let serve =
        || folder.run("serve --data data --http 127.0.0.1:0 --pyzor off --razor off --dcc off --fuzzy off");
    folder.write("data/accounts.json", "{");
    private(&folder, "data/accounts.json", 0o600);
    serve().refused(65, "accounts.json");
    std::fs::remove_file(folder.path("data/accounts.json")).expect("ours");
    let key = folder.read("data/secrets.key");
    folder.write("data/secrets.key", "short");
    private(&folder, "data/secrets.key", 0o600);
    serve().refused(65, "has 5 bytes, and a key has 32");
    folder.write("data/secrets.key", key);
    private(&folder, "data/secrets.key", 0o644);
    serve().refused(73, "chmod go=");
}

fn private(folder: &Folder, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder.path(name), permissions).expect("ours");
}

#[test]
fn a_configuration_that_is_not_there_is_no_wrong_configuration() {
    let folder = Folder::new();
    for command in ["serve --config nosuch.toml", "config check nosuch.toml", "rebuild --config nosuch.toml"]
    {
        folder.run(command).refused(66, "cannot open nosuch.toml");
    }
}

#[test]
fn a_code_stands_once_in_the_list_of_all() {
    let help = Folder::new().run("--help").out;
    assert_eq!(help.matches("\n   1  ").count(), 1, "{help}");
}

#[test]
fn every_command_says_its_exit_codes() {
    let folder = Folder::new();
    let commands = [
        "check",
        "report",
        "see",
        "explain",
        "receipt",
        "protect",
        "sites",
        "stats",
        "account add",
        "selftest",
        "serve",
        "rebuild",
        "restore",
        "clock confirm",
        "snapshot",
        "config check",
        "config show",
        "completions",
        "man",
        "sign",
        "filter query",
        "filter count query",
        "words score",
        "join",
        "network up",
        "network invite",
        "network admit",
    ];
    let lab = cfg!(feature = "lab").then_some("lab run counting");
    for command in commands.into_iter().chain(lab) {
        let help = folder.run(&format!("{command} --help")).out;
        assert_eq!(help.matches("Exit codes:").count(), 1, "{command}: {help}");
        assert!(help.contains("\n   0  "), "{command}: {help}");
    }
    let check = folder.run("check --help").out;
    for line in
        ["  10  some message is spam", "  75  no answer; trying again later", "  77  the server refuses"]
    {
        assert!(check.contains(line), "{check}");
    }
    assert!(folder.run("--help").out.contains("  12  something is still on its way"));
}
