//! Keys and tokens that must not be seen from outside the process.
//!
//! The attacker is another program of the same user, or whoever reads logs, process lists and core files. The keys of a
//! site are in the memory of its process; nothing but root may look there.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use crate::common::Folder;
use crate::common::clients::address;
use crate::common::hosts::Hosts;
use crate::common::serving::Serving;
use crate::peer::{PATIENCE, Razor, post, until};

/// What the configuration says, so that everything is logged that ever is.
const TRACE: &str = "[log]\nlevel = \"trace\"\n";

/// What clients know, or guess.
const NOBODYS_TOKEN: &str = "seenit_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const RAZOR_PASSWORD: &str = "open-sesame-1704";
const NEW_PASSWORD: &str = "hello-sesame-1704";
const WRONG_PASSWORD: &str = "close-sesame-1704";

/// The password with which DCC's own client signed the first capture. It signed the second with another one.
const DCC_PASSWORD: &str = "clntsecret";
const DCC: [&str; 2] = [
    include_str!("../../../wire/tests/vectors/dcc/09-auth-report.hex"),
    include_str!("../../../wire/tests/vectors/dcc/10-auth-wrong-password.hex"),
];

/// Secrets of a running site, as text: none of them may be found outside its own files.
fn secrets(folder: &Folder, serving: &Serving<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let token_file = serving.said["token_files"][0].as_str().expect("a token").to_owned();
    let token = fs::read(token_file).expect("the token").trim_ascii().to_vec();
    let identity = folder.read("data/identity.json");
    let identity: serde_json::Value = serde_json::from_slice(&identity).expect("JSON");
    let mut found = vec![("the operator's token", token)];
    for (key, value) in identity.as_object().expect("an object") {
        let text = value.as_str().unwrap_or_default();
        if text.len() >= 32 {
            found.push(("a key of the identity", text.as_bytes().to_vec()));
        }
        assert!(!key.is_empty());
    }
    assert!(found.len() >= 3, "the signing key, the hash key and the token: {}", found.len());
    found
}

/// A process of the same user could read the memory of the server, or have the kernel write it to a file.
#[test]
fn no_process_of_the_same_user_reads_the_server_s_memory() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    let proc = format!("/proc/{}", serving.process.0.id());
    // Root owns what shows the memory of a process that is not dumpable; tests may run as root themselves, so the
    // owner says little there. What the kernel did with the limit it says to everybody.
    let limits = fs::read_to_string(format!("{proc}/limits")).expect("anybody may read it");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line of it");
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "soft and hard: {core}");
    for file in ["mem", "environ", "maps"] {
        assert_eq!(fs::metadata(format!("{proc}/{file}")).expect("there").uid(), 0, "{file}");
    }
    if is_root() {
        let stranger = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "head", "-c", "1"])
            .arg(format!("{proc}/environ"))
            .output();
        if let Ok(stranger) = stranger {
            assert!(!stranger.status.success() && stranger.stdout.is_empty(), "a stranger read it");
        }
    }
}

/// The same as another user than root, which is where the bit matters: two processes of one user.
#[test]
fn a_process_of_the_same_user_without_privileges_is_refused() {
    if !is_root() {
        eprintln!("skipped: only root starts a server as somebody else");
        return;
    }
    let folder = Folder::new();
    let place = folder.path("shared");
    fs::create_dir(&place).expect("ours");
    std::os::unix::fs::chown(&place, Some(65534), Some(65534)).expect("root may");
    // Where tests are built may be closed to others, and so is a test's folder.
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).expect("ours");
    let program = place.join("seenit");
    fs::copy(env!("CARGO_BIN_EXE_seenit"), &program).expect("room for a copy");
    let script = format!(
        "cd {0} && export HOME={0} && {1} serve --data {0}/data --http 127.0.0.1:0 --pyzor off --razor off \
         --dcc off --fuzzy off --json > out 2> log & pid=$!; \
         for i in $(seq 600); do [ -s {0}/out ] && break; sleep 0.1; done; \
         cat /proc/$pid/environ > /dev/null 2>&1 && echo READ-ENVIRON; \
         head -c 1 /proc/$pid/maps > /dev/null 2>&1 && echo READ-MAPS; \
         ls /proc/$pid/fd > /dev/null 2>&1 && echo READ-FD; \
         grep -q '^State' /proc/$pid/status && echo STATUS; \
         [ -s {0}/out ] && echo STARTED; kill $pid; wait $pid; echo ENDED",
        place.display(),
        program.display(),
    );
    let ran = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", &script])
        .output();
    let Ok(ran) = ran else {
        eprintln!("skipped: setpriv is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(said, "STATUS\nSTARTED\nENDED\n", "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Uses every way in that takes a secret, as the one who has it and as one who has another, and says which they were.
fn use_secrets(folder: &Folder, serving: &Serving<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let made = serving.run("account add shop --role report");
    assert_eq!(made.code, 0, "{}", made.err);
    let refused = post(serving.address(), "/v1/report", "message/rfc822", Some(NOBODYS_TOKEN), b"x");
    assert_eq!(refused.status, 401, "{}", refused.body);

    folder.write("razor-password", format!("{RAZOR_PASSWORD}\n"));
    assert_eq!(serving.run("account add mx1 --role report").code, 0);
    let given = serving.run("account secret mx1 razor --secret-file razor-password");
    assert_eq!(given.code, 0, "{}", given.err);
    let connect = || Razor::connect(address(serving, "razor"));
    assert!(!connect().register("mx1", NEW_PASSWORD).contains("res=1"), "somebody else's name");
    assert_ne!(connect().log_in("mx1", WRONG_PASSWORD), "res=1");
    assert_eq!(connect().log_in("mx1", RAZOR_PASSWORD), "res=1");

    folder.write("dcc-password", format!("{DCC_PASSWORD}\n"));
    assert_eq!(serving.run("account add dcc-32768 --role check").code, 0);
    let given = serving.run("account secret dcc-32768 dcc --secret-file dcc-password");
    assert_eq!(given.code, 0, "{}", given.err);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
    for packet in DCC.iter().flat_map(|capture| capture.lines()).filter_map(|line| line.strip_prefix("C>S "))
    {
        let packet = hex::decode(packet).expect("hexadecimal");
        socket.send_to(&packet, address(serving, "dcc")).expect("sent");
        socket.recv(&mut [0; 2000]).expect("an answer");
    }
    vec![
        ("the token of an account", made.out.trim().as_bytes().to_vec()),
        ("a token that nobody holds", NOBODYS_TOKEN.into()),
        ("Razor's password", RAZOR_PASSWORD.into()),
        ("the password of a registration", NEW_PASSWORD.into()),
        ("a wrong password of Razor's", WRONG_PASSWORD.into()),
        ("DCC's password", DCC_PASSWORD.into()),
    ]
}

fn has(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// Logs are read by more people than keys are, and process lists by everybody.
#[test]
fn no_secret_is_in_the_log_or_the_arguments() {
    let folder = Folder::new();
    folder.write("trace.toml", TRACE);
    let options = "--pyzor off --fuzzy off --razor 127.0.0.1:0 --dcc 127.0.0.1:0 --config trace.toml";
    let serving = Serving::start_with(&folder, options);
    let mut secrets = secrets(&folder, &serving);
    secrets.extend(use_secrets(&folder, &serving));
    until("the refusal is logged", || has(&folder.read("log"), b"unknown-token"));
    let cmdline = fs::read(format!("/proc/{}/cmdline", serving.process.0.id())).expect("there");
    serving.stop();
    let log = folder.read("log");
    assert!(has(&log, b"mx1") && has(&log, b"dcc-32768"), "what was done is logged");
    for (name, secret) in &secrets {
        for (place, bytes) in [("log", &log), ("arguments", &cmdline)] {
            assert!(!has(bytes, secret), "{name} is in the {place}");
        }
    }
    assert!(!has(&log, b"seenit_"), "any token is in the log");
}

/// On this machine everybody may register and nothing is made of it. Beyond it the password is kept.
#[test]
fn no_password_that_a_client_registers_with_is_in_the_log() {
    let test = "secrets::no_password_that_a_client_registers_with_is_in_the_log";
    let Some(_hosts) = Hosts::make(0, test) else {
        return;
    };
    let folder = Folder::new();
    folder.write("trace.toml", TRACE);
    let options = "--pyzor off --fuzzy off --dcc off --razor 10.77.0.254:0 --config trace.toml";
    let serving = Serving::start_with(&folder, options);
    let connect = || Razor::connect(address(&serving, "razor"));
    assert!(connect().register("alice", NEW_PASSWORD).contains("res=1"));
    assert_ne!(connect().log_in("alice", WRONG_PASSWORD), "res=1");
    assert_eq!(connect().log_in("alice", NEW_PASSWORD), "res=1");
    serving.stop();
    let log = folder.read("log");
    assert!(has(&log, b"a client registered") && has(&log, b"bad-signature"), "what was done is logged");
    for password in [NEW_PASSWORD, WRONG_PASSWORD] {
        assert!(!has(&log, password.as_bytes()), "{password}");
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
