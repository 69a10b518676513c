//! Pyzor's digest against the library of the installed client, on the shared corpus and on messages broken by chance.
//!
//! By default every 20th message is compared; with `SEENIT_LONG=1` all are, and mutants of them too.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seenit_signature::pyzor;

#[path = "pyzor_oracle/broken.rs"]
mod broken;

use broken::{Chance, made_up, mutant};

/// The one of Debian comes first: its packages are not seen by another Python.
const PYTHONS: [&str; 2] = ["/usr/bin/python3", "python3"];

const ARCHIVES: [&str; 2] = ["spamassassin.tar.zst", "phishing-pot.tar.zst"];

/// Every so many messages are compared by default, to stay within seconds.
const SAMPLE_EVERY: usize = 20;

/// How many broken messages of each sort are compared.
const BROKEN: usize = 2_000;

fn is_long() -> bool {
    std::env::var_os("SEENIT_LONG").is_some_and(|value| value == "1")
}

/// The folder of the corpus and a Python that has Pyzor, or why the test cannot run.
fn needed() -> Result<(PathBuf, &'static str), String> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("SEENIT_CORPUS").map_or_else(default, PathBuf::from);
    if !corpus.join("index.tsv").exists() {
        return Err(format!("no corpus at {}", corpus.display()));
    }
    let runs = |program: &str, arguments: &[&str]| {
        let status =
            Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !runs("zstd", &["--version"]) {
        return Err("no zstd program".to_owned());
    }
    let python = PYTHONS.into_iter().find(|python| runs(python, &["-c", "import pyzor.digest"]));
    python
        .map(|python| (corpus, python))
        .ok_or_else(|| "no Python with pyzor (Debian package pyzor)".to_owned())
}

/// Unpacks the corpus and lists its messages.
fn unpack(corpus: &Path, into: &Path) -> Vec<PathBuf> {
    for archive in ARCHIVES {
        let command =
            format!("zstd -dc '{}' | tar -xf - -C '{}'", corpus.join(archive).display(), into.display());
        let status = Command::new("sh").arg("-c").arg(&command).status().expect("a shell can be started");
        assert!(status.success(), "{command}");
    }
    let index = fs::read_to_string(corpus.join("index.tsv")).expect("the index can be read");
    index.lines().skip(1).filter_map(|line| line.split_once('\t')).map(|(path, _)| into.join(path)).collect()
}

/// What the library says of each file: the path and the digest, or `none`.
fn ask(python: &str, files: &[PathBuf], folder: &Path) -> Vec<String> {
    let names: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
    let list = folder.join("files");
    fs::write(&list, names).expect("a list can be written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pyzor_oracle.py");
    let output = Command::new(python)
        .arg(script)
        .stdin(File::open(&list).expect("the list was written"))
        .stderr(Stdio::inherit())
        .output()
        .expect("Python can be started");
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).expect("answers are text");
    answers.lines().filter_map(|line| line.split('\t').nth(1)).map(str::to_owned).collect()
}

/// Compares our digests with the library's and lists the files that differ.
fn compare(python: &str, files: &[PathBuf], folder: &Path) -> Vec<String> {
    let answers = ask(python, files, folder);
    assert_eq!(answers.len(), files.len());
    let mut different = Vec::new();
    for (file, theirs) in files.iter().zip(answers) {
        let mail = fs::read(file).expect("a message can be read");
        let ours = pyzor::digest(&mail).map_or_else(|| "none".to_owned(), |digest| digest.to_string());
        if ours != theirs {
            different.push(format!("{}: {ours}, not {theirs}", file.display()));
        }
    }
    different
}

#[test]
fn the_corpus_has_the_digests_of_the_client() {
    let (corpus, python) = match needed() {
        Ok(found) => found,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut files = unpack(&corpus, folder.path());
    if !is_long() {
        files = files.into_iter().step_by(SAMPLE_EVERY).collect();
    }
    let different = compare(python, &files, folder.path());
    eprintln!("{} of {} messages agree", files.len() - different.len(), files.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Compares broken messages, which `make` makes by chance out of messages of the corpus.
fn compare_broken(make: impl Fn(&[PathBuf], &mut Chance) -> Vec<u8>) {
    if !is_long() {
        return eprintln!("skipped: SEENIT_LONG is not 1");
    }
    let (corpus, python) = match needed() {
        Ok(found) => found,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let corpus = unpack(&corpus, folder.path());
    let seed = std::env::var("SEENIT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut chance = Chance(seed);
    let files: Vec<PathBuf> =
        (0..BROKEN).map(|number| folder.path().join(format!("broken-{number}"))).collect();
    for file in &files {
        fs::write(file, make(&corpus, &mut chance)).expect("a message can be written");
    }
    let different = compare(python, &files, folder.path());
    eprintln!("{} of {} broken messages agree", files.len() - different.len(), files.len());
    if !different.is_empty() {
        panic!("kept in {}, seed {seed}\n{}", folder.keep().display(), different.join("\n"));
    }
}

#[test]
fn mutants_have_the_digests_of_the_client() {
    compare_broken(mutant);
}

#[test]
fn made_up_messages_have_the_digests_of_the_client() {
    compare_broken(|_, chance| made_up(chance));
}
