//! Our words against those of an installed rspamd, on real mail.
//!
//! `rspamadm` reads all messages in one process. Texts too short for shingles are not counted: their language is a
//! guess, and the client does not look them up by words alone. A sample by default, everything with `SEENIT_LONG=1`.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seenit_signature::rspamd;

const ARCHIVES: [&str; 2] = ["spamassassin.tar.zst", "phishing-pot.tar.zst"];

/// One message in so many is read unless everything is asked for.
const SAMPLE: usize = 20;

/// Fewer equal texts than this, in percent, mean that something broke. The module says what was measured.
const EQUAL_PERCENT_MIN: usize = 80;

fn corpus() -> Result<PathBuf, String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = env::var_os("SEENIT_CORPUS").map_or_else(beside, PathBuf::from);
    if folder.join("index.tsv").exists() {
        Ok(folder)
    } else {
        Err(format!("no corpus in {}", folder.display()))
    }
}

/// The messages to read, relative to the folder they were unpacked in.
fn unpack(corpus: &Path, folder: &Path) -> Result<Vec<String>, String> {
    for archive in ARCHIVES {
        let mut program = Command::new("tar");
        program.args(["-I", "zstd", "-xf"]).arg(corpus.join(archive)).arg("-C").arg(folder);
        let status = program.status().map_err(|error| format!("cannot run tar: {error}"))?;
        if !status.success() {
            return Err(format!("cannot unpack {archive}: {status}"));
        }
    }
    let index = fs::read_to_string(corpus.join("index.tsv")).map_err(|error| format!("no index: {error}"))?;
    let paths = index.lines().skip(1).filter_map(|line| line.split('\t').next());
    let step = if env::var_os("SEENIT_LONG").is_some_and(|value| value == "1") { 1 } else { SAMPLE };
    // rspamadm gives up at an empty message.
    let is_empty = |path: &str| fs::metadata(folder.join(path)).map_or(true, |data| data.len() == 0);
    Ok(paths.step_by(step).filter(|path| !is_empty(path)).map(str::to_owned).collect())
}

/// rspamd's words of each text part of each message.
fn theirs(folder: &Path, paths: &[String]) -> Result<HashMap<String, Vec<Vec<String>>>, String> {
    let mut program = Command::new("rspamadm");
    program.args(["mime", "-j", "extract", "-w", "-F", "stem"]).args(paths).current_dir(folder);
    let output =
        program.stderr(Stdio::null()).output().map_err(|error| format!("cannot run rspamadm: {error}"))?;
    if !output.status.success() {
        return Err(format!("rspamadm failed: {}", output.status));
    }
    // Its JSON has bare control characters, and words in no known encoding.
    let json = String::from_utf8_lossy(&output.stdout).replace(|c: char| c.is_ascii_control(), " ");
    let texts: HashMap<String, Vec<String>> =
        serde_json::from_str(&json).map_err(|error| format!("{error}"))?;
    // The first text is that of the headers.
    let words = |text: &String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    Ok(texts.into_iter().map(|(path, texts)| (path, texts.iter().skip(1).map(words).collect())).collect())
}

#[test]
fn most_texts_have_the_words_of_rspamd() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let read = |corpus: PathBuf| {
        let paths = unpack(&corpus, folder.path())?;
        theirs(folder.path(), &paths)
    };
    let theirs = match corpus().and_then(read) {
        Ok(theirs) => theirs,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let (mut equal, mut all) = (0, 0);
    for (path, texts) in &theirs {
        let mail = fs::read(folder.path().join(path)).expect("an unpacked message can be read");
        let ours: HashSet<Vec<String>> = rspamd::parts(&mail).into_iter().collect();
        for text in texts.iter().filter(|text| text.len() >= rspamd::WORDS_MIN) {
            all += 1;
            equal += usize::from(ours.contains(text));
        }
    }
    eprintln!("{equal} of {all} texts in {} messages have equal words", theirs.len());
    assert!(all > 0, "no text was compared");
    assert!(equal * 100 >= all * EQUAL_PERCENT_MIN, "only {equal} of {all} texts have equal words");
}
