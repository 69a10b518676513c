//! `./test` itself: what makes it fail, what does not, and what it says last. Cargo and dpkg are played by scripts, so
//! that a run takes no time and installs nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// What the runner says of its tests, as `cargo nextest` writes it.
const SUMMARY: &str = "     Summary [ 332.000s] 1290 tests run: 1290 passed, 0 skipped";

/// What `--quick` needs of the disk, in MiB: `disk_mib_min` in the script.
const QUICK_MIB: u64 = 6144;

/// Runs `./test` with a cargo whose runner of tests ends with an exit code, and with so many seconds before it warns.
fn run(options: &[&str], tests_code: i32, secs_max: &str) -> Output {
    run_on_disk(options, tests_code, secs_max, QUICK_MIB, 0)
}

/// The same on a disk with so much room, where an earlier run left so much, both in MiB.
fn run_on_disk(options: &[&str], tests_code: i32, secs_max: &str, free_mib: u64, left_mib: usize) -> Output {
    let fakes = tempfile::tempdir().expect("a folder for the fakes");
    let script = |name: &str, text: String| {
        let path = fakes.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a fake is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a fake can be run");
    };
    script("dpkg", "echo 'Status: install ok installed'".into());
    let cargo = format!(
        "echo \"cargo $*\"\n\
         case \"$*\" in *--version) ;; tree*) echo 'seenit v0.1.0' ;; *--no-run) ;;\n\
         'nextest run'*) echo '{SUMMARY}'; exit {tests_code} ;; esac"
    );
    script("cargo", cargo);
    let disk = format!("echo 'Filesystem 1024-blocks Used Available'; echo 'disk 1 1 {}'", free_mib << 10);
    script("df", disk);
    let target = fakes.path().join("target");
    fs::create_dir(&target).expect("a folder");
    fs::write(target.join("left"), vec![b'x'; left_mib << 20]).expect("room for what was left");
    let path = std::env::var("PATH").expect("there is a PATH");
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test"))
        .args(options)
        .env("PATH", format!("{}:{path}", fakes.path().display()))
        .env("SEENIT_TEST_SECS_MAX", secs_max)
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("SEENIT_TEST_DISK_MIB_MIN")
        .output()
        .expect("./test is run")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_slow_run_whose_tests_pass_is_a_warning_and_no_failure() {
    let output = run(&["--quick"], 0, "-1");
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("\nwarning: the run took "), "{said}");
    assert!(!said.contains("FAILED"), "{said}");
    assert_eq!(said.lines().last(), Some(SUMMARY));
}

#[test]
fn a_run_in_time_warns_of_nothing() {
    let output = run(&["--quick"], 0, "1000");
    assert!(output.status.success(), "{}", said(&output));
    assert!(!said(&output).contains("warning:"), "{}", said(&output));
}

#[test]
fn a_failed_test_fails_the_run_loudly() {
    let output = run(&["--quick"], 100, "1000");
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("\nFAILED: stage tests"), "{said}");
    assert!(said.contains("with exit code 100"), "{said}");
    assert_eq!(said.lines().last(), Some(SUMMARY));
}

#[test]
fn the_tests_are_built_before_the_doctests_ask_for_the_same_libraries() {
    let said = said(&run(&["--quick"], 0, "1000"));
    let stages: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("== ")).collect();
    let expected =
        ["tools ==", "format ==", "clippy ==", "build ==", "doctests ==", "tests ==", "seconds =="];
    assert_eq!(stages, expected);
}

#[test]
fn quick_long_and_rooms_exclude_each_other() {
    for options in [["--quick", "--long"], ["--quick", "words"], ["words", "--long"]] {
        assert_eq!(run(&options, 0, "1000").status.code(), Some(64), "{options:?}");
    }
}

#[test]
fn the_tests_of_one_room_are_its_unit_tests_its_tests_and_its_doctests() {
    let output = run(&["words"], 0, "1000");
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("cargo clippy --package=seenit-words --all-targets"), "{said}");
    assert!(
        said.contains("cargo nextest run --package=seenit-words --locked --lib --bins --tests"),
        "{said}"
    );
    assert!(said.contains("cargo test --package=seenit-words --doc"), "{said}");
    assert!(!said.contains("--workspace"), "{said}");
    assert!(said.contains("\nonly these rooms were tested: words\n"), "{said}");
}

#[test]
fn the_room_of_the_command_line_has_no_doctests_to_ask_for() {
    let output = run(&["cli"], 0, "1000");
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("cargo nextest run --package=seenit --locked"), "{said}");
    assert!(!said.contains("--doc"), "{said}");
}

#[test]
fn a_room_that_is_not_there_is_named_with_those_that_are() {
    for wrong in ["cellar", "../docs", "--fast"] {
        let output = run(&[wrong], 0, "1000");
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{complained}");
        assert!(
            complained.starts_with(&format!("unknown option or room: {wrong}. Rooms are: ")),
            "{complained}"
        );
        assert!(complained.contains(" ledger "), "{complained}");
    }
}

#[test]
fn a_run_without_room_on_the_disk_fails_at_once_and_says_how_much_it_needs() {
    let output = run_on_disk(&["--quick"], 0, "1000", QUICK_MIB - 20, 0);
    let (said, complained) = (said(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("\nFAILED: stage tools") && !said.contains("== format =="), "{said}");
    assert!(complained.contains("a run needs 6144 MiB"), "{complained}");
    assert!(complained.contains("6124 MiB are free"), "{complained}");
}

#[test]
fn what_an_earlier_run_left_counts_as_room() {
    let output = run_on_disk(&["--quick"], 0, "1000", QUICK_MIB - 20, 20);
    assert!(output.status.success(), "{}{}", said(&output), String::from_utf8_lossy(&output.stderr));
}
