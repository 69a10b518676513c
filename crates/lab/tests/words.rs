//! Guards the experiment `words`: on mail whose spam words and good words are known, every filter finds them.

use std::fs;
use std::path::Path;
use std::process::Command;

use seenit_filter::random::SplitMix;
use seenit_lab::words::{Options, Row, run};
use seenit_lab::{Bench, LabError, Outcome};

const SPAM_WORDS: [&str; 8] =
    ["pills", "casino", "lottery", "refinance", "viagra", "winner", "jackpot", "cheap"];
const GOOD_WORDS: [&str; 8] =
    ["meeting", "compile", "kernel", "patch", "minutes", "library", "thread", "review"];

/// A corpus of so many messages of each side: three words of the side among ten that say nothing.
fn corpus(folder: &Path, messages: usize) {
    let (mut random, mut index) = (SplitMix(1), String::from("path\tlabel\n"));
    for (label, words) in [("ham", GOOD_WORDS), ("spam", SPAM_WORDS)] {
        for number in 0..messages {
            let name = format!("{label}-{number}");
            let mut text =
                format!("Received: from {label}\nSubject: about {}\n\n", words[random.below(8) as usize]);
            (0..3).for_each(|_| text += &format!("{} ", words[random.below(8) as usize]));
            (0..10).for_each(|_| text += &format!("filler{} ", random.below(200)));
            fs::write(folder.join(&name), text + "\n").expect("a message");
            index += &format!("{name}\t{label}\n");
        }
    }
    fs::write(folder.join("index.tsv"), index).expect("an index");
}

fn quick_run(folder: &Path) -> Result<Outcome<Row>, LabError> {
    let bench = Bench { quick: true, corpus: Some(folder.to_owned()), ..Bench::new(&()) };
    run(&Options::default(), &bench)
}

fn is_missing() -> bool {
    let missing = Command::new("bogofilter").arg("-V").output().is_err();
    if missing {
        eprintln!("skipped: there is no bogofilter; it is in the Debian package bogofilter");
    }
    missing
}

#[test]
fn known_words_are_found_by_all_and_rows_have_the_agreed_keys() {
    if is_missing() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    corpus(folder.path(), 800);
    let Outcome { rows, account } = quick_run(folder.path()).expect("a good run");
    assert_eq!(rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["seenit", "paper", "bogofilter"]);
    for row in &rows {
        assert!(row.auc > 0.99 && row.spam_caught_at_001 > 0.9, "{row:?}");
        assert!(row.spam_caught_at_0001 <= row.spam_caught_at_001 && row.model_bytes > 0, "{row:?}");
    }
    let json = serde_json::to_string(&rows[0]).expect("JSON");
    let keys = ["name", "auc", "spam_caught_at_0001", "spam_caught_at_001", "model_bytes", "msgs_per_s"];
    let places: Vec<usize> = keys.iter().map(|key| json.find(&format!("\"{key}\":")).expect(key)).collect();
    assert!(places.is_sorted() && json.matches("\":").count() == keys.len(), "{json}");
    assert!(account.tables.len() == 3 && account.figures.len() == 2 && account.findings.len() == 5);
    account.figures.iter().for_each(|figure| assert!(!figure.svg().contains("NaN")));
    // The same seed, the same splits: all but the clock is the same.
    let again = quick_run(folder.path()).expect("a good run").rows;
    for (one, other) in rows.iter().zip(&again) {
        assert_eq!(one, &Row { msgs_per_s: one.msgs_per_s, ..other.clone() });
    }
}

#[test]
fn a_corpus_that_is_not_there_or_too_small_is_an_error_that_names_it() {
    if is_missing() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let refused = quick_run(folder.path()).expect_err("no index").to_string();
    assert!(refused.contains("index.tsv"), "{refused}");
    corpus(folder.path(), 10);
    let refused = quick_run(folder.path()).expect_err("too few").to_string();
    assert!(refused.contains("--corpus") && refused.contains("at least 8"), "{refused}");
}
