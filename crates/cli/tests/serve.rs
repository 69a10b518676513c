//! How a server starts and stops: its operator's token, its port, the command it tells people to try.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use common::Folder;
use common::nats::free_ports;
use common::serving::{CONTINUE, DATA, Guarded, HTTP_ALONE, Serving, mail};

/// A server that speaks to people, and what it says first.
struct Greeting {
    process: Guarded,
    out: BufReader<ChildStdout>,
    lines: Vec<String>,
}

impl Greeting {
    fn of(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("seenit starts");
        let mut process = Guarded(child);
        let mut out = BufReader::new(process.0.stdout.take().expect("piped"));
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(" selftest")) {
            let mut line = String::new();
            assert_ne!(out.read_line(&mut line).expect("text"), 0, "{lines:#?}");
            lines.push(line.trim_end().to_owned());
        }
        Greeting { process, out, lines }
    }

    fn value(&self, name: &str) -> &str {
        let found = self.lines.iter().find_map(|line| line.trim_start().strip_prefix(name));
        found.unwrap_or_else(|| panic!("no {name} in {:#?}", self.lines)).trim()
    }

    /// The last line, run by a shell as somebody would who copies it into another terminal.
    fn run_hint(&self, folder: &Folder, home: &Path) -> (Option<i32>, String) {
        let hint = self.lines.last().expect("a hint");
        let elsewhere = folder.path("elsewhere");
        fs::create_dir_all(&elsewhere).expect("a folder");
        let ran = Command::new("sh")
            .args(["-c", hint])
            .current_dir(elsewhere)
            .env_clear()
            .envs([("HOME", home), ("PATH", Path::new("/usr/bin:/bin"))])
            .output()
            .expect("sh runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), format!("{hint}\n{}{}", text(&ran.stdout), text(&ran.stderr)))
    }
}

fn token_file(serving: &Serving<'_>) -> PathBuf {
    PathBuf::from(serving.said["token_files"][0].as_str().expect("a path"))
}

#[test]
fn a_second_server_on_another_address_leaves_the_first_one_s_operator_token_alone() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    let first = Serving::start(&folder);
    let port = first.address().rsplit_once(':').expect("a port").1.to_owned();
    let words = format!("serve --data other --http 127.0.0.2:{port} {HTTP_ALONE}");
    let second = Greeting::of(folder.command(&words));
    assert_ne!(second.value("operator token"), token_file(&first).display().to_string());
    assert_eq!(first.run("report a.eml").code, 0, "its operator is still known");
    let report = format!("report a.eml --server http://127.0.0.2:{port}");
    assert_eq!(folder.run(&report).code, 0);
    let mut process = second.process;
    process.signal("TERM");
    process.wait();
    assert!(token_file(&first).is_file());
    let by_name = format!("report a.eml --server http://localhost:{port}");
    assert_eq!(folder.run(&by_name).code, 0);
}

#[test]
fn the_operator_s_token_is_removed_whichever_signal_ends_the_server() {
    for signal in ["TERM", "INT", "QUIT"] {
        let folder = Folder::new();
        let mut serving = Serving::start(&folder);
        let token = token_file(&serving);
        assert!(token.is_file());
        serving.process.signal(signal);
        assert_eq!(serving.process.wait().code(), Some(0), "{signal}");
        assert!(!token.exists(), "{signal}");
    }
}

#[test]
fn the_operator_s_token_is_removed_although_a_second_signal_ends_the_server_at_once() {
    let folder = Folder::new();
    let mut greeting = Greeting::of(serve(&folder, "127.0.0.1:0"));
    let address = greeting.value("HTTP").strip_prefix("http://").expect("plain HTTP").to_owned();
    let token = PathBuf::from(greeting.value("operator token"));
    // A request whose body never comes holds the first signal up.
    let mut held = TcpStream::connect(&address).expect("it listens");
    let head = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\n\
                Expect: 100-continue\r\nContent-Length: 9\r\n\r\n";
    held.write_all(head.as_bytes()).expect("sent");
    let mut told = [0; CONTINUE.len()];
    held.read_exact(&mut told).expect("an answer");
    assert_eq!(&told, CONTINUE, "it waits for the body");
    greeting.process.signal("TERM");
    let mut line = String::new();
    greeting.out.read_line(&mut line).expect("text");
    assert_eq!(line, "Stopping.\n");
    greeting.process.signal("TERM");
    assert_eq!(greeting.process.wait().code(), Some(128 + 15));
    assert!(!token.exists());
}

#[test]
fn a_token_that_a_killed_server_left_behind_is_neither_used_nor_kept() {
    let folder = Folder::new();
    folder.write("a.eml", mail(1));
    // A port that nobody else is given between one server and the next.
    let address = SocketAddr::from(([127, 0, 0, 1], free_ports(1)[0]));
    let mut killed = Greeting::of(serve(&folder, &address.to_string()));
    let (token, url) = (PathBuf::from(killed.value("operator token")), format!("http://{address}"));
    killed.process.signal("KILL");
    killed.process.wait();
    let stale = fs::read(&token).expect("left behind");
    let everywhere = SocketAddr::new([0, 0, 0, 0].into(), address.port());
    folder.write("plain.toml", "[http]\ninsecure_plaintext = true\n");
    let words = format!("serve --data {DATA} --http {everywhere} --config plain.toml {HTTP_ALONE}");
    let mut greeting = Greeting::of(folder.command(&words));
    let report = folder.run(&format!("report a.eml --server {url}"));
    assert_eq!(report.code, 0, "not by the stale token: {}", report.err);
    greeting.process.signal("TERM");
    greeting.process.wait();
    let greeting = Greeting::of(serve(&folder, &address.to_string()));
    assert_eq!(PathBuf::from(greeting.value("operator token")), token);
    assert_ne!(fs::read(&token).expect("a new one"), stale);
}

/// A server for people at this address.
fn serve(folder: &Folder, http: &str) -> Command {
    folder.command(&format!("serve --data {DATA} --http {http} {HTTP_ALONE}"))
}

#[test]
fn a_taken_default_port_of_http_is_an_error_that_says_what_to_do() {
    let folder = Folder::new();
    // Whoever has it: it is taken either way.
    let _taken = TcpListener::bind("127.0.0.1:8025");
    let mut command = folder.command(&format!("serve --data {DATA} {HTTP_ALONE}"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("seenit starts");
    let mut process = Guarded(child);
    // It says where it listens, or it ends.
    let mut said = String::new();
    BufReader::new(process.0.stdout.take().expect("piped")).read_line(&mut said).expect("text");
    assert_eq!(said, "", "it does not start");
    let mut err = String::new();
    process.0.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    assert_eq!(process.wait().code(), Some(69), "{err}");
    for part in ["127.0.0.1:8025", "another process", "--http 127.0.0.1:0"] {
        assert!(err.contains(part), "{part} is not in {err}");
    }
    assert!(!folder.path(DATA).exists(), "nothing is made where nothing can be served");
}

#[test]
fn the_hint_works_as_printed_from_another_folder_and_environment() {
    // The state folder is one that only this terminal's environment names, the program is not in the PATH.
    let folder = Folder::new();
    let greeting = Greeting::of(serve(&folder, "127.0.0.1:0"));
    let (code, said) = greeting.run_hint(&folder, &folder.path("home"));
    assert_eq!(code, Some(0), "{said}");
    drop(greeting);
    // Every address, of either family.
    folder.write("plain.toml", "[http]\ninsecure_plaintext = true\n");
    for http in ["0.0.0.0:0", "[::1]:0"] {
        let words = format!("serve --data {DATA} --http {http} --config plain.toml {HTTP_ALONE}");
        let greeting = Greeting::of(folder.command(&words));
        let (code, said) = greeting.run_hint(&folder, &folder.path("home"));
        assert_eq!(code, Some(0), "{http}: {said}");
    }
}

#[test]
fn the_hint_works_as_printed_where_the_token_is_in_the_data_folder() {
    let folder = Folder::new();
    let mut command = serve(&folder, "127.0.0.1:0");
    command.env_remove("XDG_STATE_HOME").env_remove("HOME");
    let greeting = Greeting::of(command);
    assert!(greeting.value("operator token").starts_with(DATA), "{:#?}", greeting.lines);
    let (code, said) = greeting.run_hint(&folder, &folder.path("home"));
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn the_hint_works_as_printed_for_a_program_with_a_space_in_its_path() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("my programs")).expect("a folder");
    let program = folder.path("my programs/seenit");
    fs::copy(env!("CARGO_BIN_EXE_seenit"), &program).expect("a copy");
    let mut command = Command::new("./my programs/seenit");
    command.args(["serve", "--data", DATA, "--http", "127.0.0.1:0"]).args(HTTP_ALONE.split(' '));
    command.current_dir(folder.path(".")).env_remove("XDG_STATE_HOME").env("HOME", folder.path("home"));
    let greeting = Greeting::of(command);
    assert!(!greeting.lines.last().expect("a hint").contains("--token-file"), "{:#?}", greeting.lines);
    let (code, said) = greeting.run_hint(&folder, &folder.path("home"));
    assert_eq!(code, Some(0), "{said}");
}
