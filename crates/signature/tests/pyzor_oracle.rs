//! Pyzor's digest against the library of the installed client, on the shared corpus and on messages broken by chance.
//!
//! By default every 20th message is compared; with `SEENIT_LONG=1` all are, and mutants of them too.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seenit_signature::pyzor;

/// The one of Debian comes first: its packages are not seen by another Python.
const PYTHONS: [&str; 2] = ["/usr/bin/python3", "python3"];

const ARCHIVES: [&str; 2] = ["spamassassin.tar.zst", "phishing-pot.tar.zst"];

/// Every so many messages are compared by default, to stay within seconds.
const SAMPLE_EVERY: usize = 20;

const MUTANTS: usize = 2_000;

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

#[test]
fn broken_messages_have_the_digests_of_the_client() {
    if !is_long() {
        return eprintln!("skipped: SEENIT_LONG is not 1");
    }
    let (corpus, python) = match needed() {
        Ok(found) => found,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let files = unpack(&corpus, folder.path());
    let seed = std::env::var("SEENIT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut chance = Chance(seed);
    let mutants: Vec<PathBuf> =
        (0..MUTANTS).map(|number| mutant(number, &files, &mut chance, folder.path())).collect();
    let different = compare(python, &mutants, folder.path());
    eprintln!("{} of {} mutants agree", mutants.len() - different.len(), mutants.len());
    if !different.is_empty() {
        let kept = folder.keep();
        panic!("kept in {}, seed {seed}\n{}", kept.display(), different.join("\n"));
    }
}

/// A small generator of numbers, the same in every run (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit.max(1) as u64) as usize
    }

    fn one_of<'t, T: ?Sized>(&mut self, items: &[&'t T]) -> &'t T {
        items[self.below(items.len())]
    }
}

/// Writes a message of the corpus, changed in one to eight places.
fn mutant(number: usize, files: &[PathBuf], chance: &mut Chance, folder: &Path) -> PathBuf {
    let read =
        |chance: &mut Chance| fs::read(&files[chance.below(files.len())]).expect("a message can be read");
    let mut mail = read(chance);
    for _ in 0..=chance.below(8) {
        let other = read(chance);
        change(&mut mail, &other, chance);
    }
    let path = folder.join(format!("mutant-{number}"));
    fs::write(&path, mail).expect("a mutant can be written");
    path
}

/// A place to change: half the time where the structure is, in headers and at boundaries.
fn place(mail: &[u8], chance: &mut Chance) -> usize {
    let anchors: [&[u8]; 8] =
        [b"ontent-Type", b"ransfer-Encoding", b"oundary=", b"\n--", b"charset", b"<", b"&", b"\n\n"];
    let anchor = chance.one_of(&anchors);
    let start = chance.below(mail.len());
    let found = mail[start..].windows(anchor.len()).position(|window| window == anchor);
    match found {
        Some(at) if chance.below(2) == 0 => (start + at + chance.below(40)).min(mail.len()),
        _ => start,
    }
}

fn change(mail: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = place(mail, chance);
    let insertions: [&[u8]; 40] = [
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b" ",
        b"\t",
        b";",
        b"\"",
        b"'",
        b"=",
        b"--",
        b"<",
        b">",
        b"&",
        b"&#",
        b"\0",
        b"\xe9",
        b"\xc2\xa0",
        b"\x0b",
        b"\n--",
        b"<![if x]>",
        b"<![foo[",
        b"<script>",
        b"</style>",
        b"<a b='",
        b"/>",
        b"<!--",
        b"]]>",
        b"\nFrom x\n",
        b"\n:x\n",
        b"\n\nContent-Type: message/rfc822\n\n",
        b"\nContent-Type: message/delivery-status\n\n",
        b"\nContent-Transfer-Encoding: uuencode\n",
        b"\nContent-Type: text/html; charset*0=utf-; charset*1=8\n",
        b"\nContent-Transfer-Encoding: base64\n",
        b"; boundary*=''x%41",
        b"\nContent-Type: multipart/digest; boundary=\"x\"\n\n--x\n\n",
        b"\n--x--\n",
        b"&nbsp",
        b"\nContent-Type: text/plain; charset=gb2312\n",
    ];
    match chance.below(7) {
        0 => mail.truncate(at),
        1 if at < mail.len() => mail[at] = chance.below(256) as u8,
        2 if at < mail.len() => mail[at] ^= 1 << chance.below(8),
        3 => {
            let end = (at + chance.below(60)).min(mail.len());
            mail.drain(at..end);
        }
        4 => {
            let from = place(other, chance);
            mail.truncate(at);
            mail.extend_from_slice(&other[from..]);
        }
        _ => {
            let insertion = chance.one_of(&insertions);
            mail.splice(at..at, insertion.iter().copied());
        }
    }
}
