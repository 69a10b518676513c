//! A web page that speaks to a port of another protocol: a form of a page can send any lines to any port of loopback.

use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::peer::{PATIENCE, hear};
use crate::common::Folder;
use crate::common::clients::address;
use crate::common::serving::{Serving, mail};

/// HTTP and Razor: all that is served over TCP.
const OPTIONS: &str = "--pyzor off --dcc off --fuzzy off --razor 127.0.0.1:0";

/// Lines of Razor that log in as anybody and report a mail. The page has chosen the mail.
fn lines(mail: &str) -> String {
    let (header, body) = mail.split_once("\n\n").expect("a mail");
    // On this machine any response will do.
    let response = "qWPs-Ib_3srDbSm8cWCEZ6YHlhwA";
    let mail = format!("{header}\n\r\nContent-Type: text/plain\n\n{body}");
    format!(
        "\r\ncn=razor-agents&cv=2.84\r\na=ai&user=page&cn=razor-agents&cv=2.84\r\na=auth&aresp={response}\r\n\
         -a=r&message=*\r\n{mail}\r\n.\r\na=q\r\n"
    )
}

/// Where a page sends its form: the last two once made its request line look like one of Razor's.
const PATHS: [&str; 3] = ["/", "/&cn=x", "/&a=g&pm=state&x"];

/// What Chromium sends for `<form method=post enctype=text/plain>`.
fn form(port: &str, path: &str, body: &str) -> Vec<u8> {
    let body = format!("x={body}=\r\n");
    format!(
        "POST {path} HTTP/1.1\r\nHost: {port}\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\
         Cache-Control: max-age=0\r\nUpgrade-Insecure-Requests: 1\r\nOrigin: null\r\nContent-Type: text/plain\r\n\
         User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: text/html\r\nSec-Fetch-Site: cross-site\r\n\
         Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// How many records the site has.
fn records(serving: &Serving<'_>) -> u64 {
    serving.run("stats --json").json()["records"].as_u64().expect("a number")
}

#[test]
fn a_form_that_speaks_razor_is_cut_off_at_its_first_line() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, OPTIONS);
    folder.write("chosen.eml", mail(1));
    let razor = address(&serving, "razor");
    let lines = lines(&mail(1));
    let others = [
        format!("GET /{} HTTP/1.1\r\nHost: {razor}\r\n\r\n{lines}", "x".repeat(100)),
        format!("OPTIONS / HTTP/1.1\r\nHost: {razor}\r\nOrigin: null\r\n\r\n{lines}"),
        format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{lines}"),
        format!("\u{16}\u{3}\u{1}\u{2}\0{lines}"),
        lines.clone(),
        format!("EHLO page\r\n{lines}"),
        // A line that is none of Razor's ends the connection until the client has proved who it is.
        format!("cn=razor-agents&cv=2.84\r\nHost: {razor}\r\n{lines}"),
    ];
    let forms = PATHS.map(|path| form(razor, path, &lines));
    for bytes in forms.into_iter().chain(others.map(String::into_bytes)) {
        let mut stream = TcpStream::connect(razor).expect("it listens");
        let _ = stream.write_all(&bytes);
        let (said, is_closed) = hear(&mut stream, PATIENCE);
        let (said, sent) = (String::from_utf8_lossy(&said), String::from_utf8_lossy(&bytes));
        assert!(is_closed, "{sent}");
        assert!(said.is_empty() || said.starts_with("sn="), "{said}");
        assert!(said.matches("\r\n").count() <= 1, "nothing but the greeting: {said}");
    }
    assert_eq!(records(&serving), 0, "nothing was remembered");
    assert_eq!(serving.verdict("chosen.eml").0, "unknown");
    // A client of Razor that says the same lines is heard: it is the first line that tells them apart.
    let mut client = TcpStream::connect(razor).expect("it listens");
    client.write_all(lines.trim_start().as_bytes()).expect("sent");
    let (said, _) = hear(&mut client, PATIENCE);
    assert!(String::from_utf8_lossy(&said).contains("res=1"));
    assert_eq!(records(&serving), 1);
    serving.stop();
}

#[test]
fn the_port_of_http_takes_nothing_from_a_page_and_no_other_protocol() {
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, OPTIONS);
    let lines = lines(&mail(1));
    let report = format!("{{\"case\":[{{\"kind\":\"exact1\",\"digest\":\"{}\"}}],\"x\":\"", "ab".repeat(20));
    let page = |verb: &str| form(serving.address(), &format!("/v1/{verb}"), &report);
    for bytes in
        [page("report"), page("see"), page("check"), lines.into_bytes(), b"EHLO page\r\n\r\n".to_vec()]
    {
        let mut stream = TcpStream::connect(serving.address()).expect("it listens");
        let _ = stream.write_all(&bytes);
        let (said, _) = hear(&mut stream, Duration::from_secs(2));
        let said = String::from_utf8_lossy(&said);
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
    }
    assert_eq!(records(&serving), 0, "nothing was remembered");
    serving.stop();
}

/// A page as the attack had it: a request by a script, and a form that submits itself, to each of the paths.
fn page(razor: &str, lines: &str) -> String {
    let form = |(number, path): (usize, &str)| {
        format!(
            "<iframe name=f{number}></iframe><form method=post enctype=text/plain target=f{number} \
             action=\"http://{razor}{path}\"><textarea name=x></textarea></form>"
        )
    };
    let forms: String = PATHS.into_iter().enumerate().map(form).collect();
    let lines = serde_json::to_string(lines).expect("a text");
    format!(
        "{forms}<script>const lines = {lines}; for (const form of document.forms) {{ form.x.value = lines;\
         fetch(form.action, {{method: 'POST', mode: 'no-cors', body: lines}}).finally(() => form.submit()) }}\
         </script>"
    )
}

#[test]
fn a_page_in_a_real_browser_reports_nothing() {
    let found =
        Command::new("chromium").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!("skipped: chromium is not installed");
        return;
    }
    let folder = Folder::new();
    let serving = Serving::start_with(&folder, OPTIONS);
    folder.write("chosen.eml", mail(1));
    folder.write("page.html", page(address(&serving, "razor"), &lines(&mail(1))));
    let flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ];
    let mut browser = Command::new("timeout");
    browser.arg("240").arg("chromium").args(flags);
    browser.arg(format!("--user-data-dir={}", folder.path("profile").display()));
    browser.arg(format!("file://{}", folder.path("page.html").display())).env("HOME", folder.path("."));
    let shown = browser.output().expect("timeout runs");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("<iframe"), "the page was shown");
    let asked = super::peer::metric(&serving, "seenit_client_requests_total{protocol=\"razor\"}");
    eprintln!("the browser sent {asked} lines to the port of Razor");
    assert!(asked >= PATHS.len() as f64, "the browser came as far as the port with every form");
    assert_eq!(records(&serving), 0, "nothing was remembered");
    assert_eq!(serving.verdict("chosen.eml").0, "unknown");
    serving.stop();
}
