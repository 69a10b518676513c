//! Guards against bad files: truncated, flipped, over-long, foreign, future. Each is refused in one clear line with
//! exit code 65, by every command that reads, and an existing output file stays as it was.

mod common;

use common::Folder;

/// A sound filter file of a few pages, and a key file to ask with.
fn folder() -> (Folder, Vec<u8>) {
    let folder = Folder::new();
    folder.keys("keys", 0..20_000);
    assert_eq!(folder.run("filter build --keys keys -o sound").code, 0);
    folder.write("out", "precious");
    let bytes = folder.read("sound");
    (folder, bytes)
}

fn refused_everywhere(folder: &Folder, bytes: &[u8], says: &str) {
    folder.write("bad", bytes);
    for command in [
        "info bad",
        "query bad --keys keys",
        "union bad sound -o out",
        "union sound bad -o out",
        "retouch bad --remove keys -o out",
        "info bad --json",
    ] {
        folder.run(&format!("filter {command}")).refused(65, says);
    }
    assert_eq!(folder.read("out"), b"precious");
}

#[test]
fn truncated_and_overlong_files() {
    let (folder, bytes) = folder();
    for length in [0, 7, 4095, 4096, 8192, bytes.len() - 4096, bytes.len() - 1] {
        refused_everywhere(&folder, &bytes[..length], "length:");
    }
    refused_everywhere(&folder, &[&bytes[..], b"more"].concat(), "length:");
}

#[test]
fn flipped_bits_anywhere() {
    let (folder, bytes) = folder();
    let mut at = 3;
    while at < bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let says = match at {
            0..8 => "magic:",
            8..12 => "version:",
            12..4096 => "header digest:",
            4096..8192 => "digest table:",
            _ => "page ",
        };
        refused_everywhere(&folder, &damaged, says);
        at += 997;
    }
}

#[test]
fn foreign_and_future_files() {
    let (folder, bytes) = folder();
    refused_everywhere(&folder, &folder.read("keys"), "magic: this is not a seenit filter file");
    let mut future = bytes;
    future[8] = 2;
    refused_everywhere(
        &folder,
        &future,
        "version: the file has format version 2; this release reads version 1",
    );
}

#[test]
fn missing_files_and_folders() {
    let (folder, _) = folder();
    folder.run("filter info nowhere").refused(66, "cannot open nowhere");
    folder.run("filter union sound nowhere -o out").refused(66, "cannot open nowhere");
    folder.run("filter info .").refused(66, "cannot open .");
    assert_eq!(folder.read("out"), b"precious");
}

/// An output is renamed into place, which would replace a device or a pipe by a file.
#[cfg(unix)]
#[test]
fn outputs_that_are_no_files_are_refused() {
    let (folder, _) = folder();
    folder.run("filter build --keys keys -o .").refused(73, "no ordinary file");
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    folder.run("filter build --keys keys -o pipe").refused(73, "no ordinary file");
}

/// A failed write leaves nothing behind: neither a half file nor a temporary one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_file_and_no_litter() {
    let (folder, _) = folder();
    let seenit = env!("CARGO_BIN_EXE_seenit");
    // A limit on file size makes the write fail as a full disk would, with the signal for it ignored.
    let script = format!("trap '' XFSZ; ulimit -f 8; exec '{seenit}' filter build --keys keys -o out");
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path("."))
        .output()
        .expect("bash runs");
    assert_eq!(output.status.code(), Some(73), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.read("out"), b"precious");
    let mut names: Vec<_> = std::fs::read_dir(folder.path("."))
        .expect("the folder is readable")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    assert_eq!(names, ["keys", "out", "sound"]);
}
