//! docs/glossary.md against the code: every module it names is there, and every word still occurs in its module.
//!
//! A row is `| word | meaning | `path` |`. A word may occur as it is written, or as part of a name (`PeerSlot`,
//! `peer_slot`), in any case. A module is its file and the files in the folder of the same name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A glossary that was emptied, or whose form changed, would pass every check.
const WORDS_MIN: usize = 50;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The words of the glossary, each with the path of its module.
fn rows() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary can be read");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let &[word, _, module] = cells.as_slice() else { panic!("not three cells: {line}") };
        let path = module.strip_prefix('`')?.strip_suffix('`')?;
        Some((word.to_owned(), path.to_owned()))
    });
    rows.collect()
}

/// The text of a module and of those in it, in lower case.
fn module_text(path: &Path) -> Option<String> {
    let mut text = fs::read_to_string(path).ok()?;
    for entry in fs::read_dir(path.with_extension("")).into_iter().flatten() {
        let entry = entry.expect("a listed directory entry can be read").path();
        text.push_str(&module_text(&entry).unwrap_or_default());
    }
    Some(text.to_lowercase())
}

/// Whether a word occurs, written with a space, as `PeerSlot`, or as `peer_slot`.
fn occurs(word: &str, text: &str) -> bool {
    [word.to_lowercase(), word.replace(' ', "").to_lowercase(), word.replace(' ', "_").to_lowercase()]
        .iter()
        .any(|form| text.contains(form))
}

#[test]
fn every_word_of_the_glossary_occurs_in_its_module() {
    let rows = rows();
    assert!(rows.len() >= WORDS_MIN, "{} words are not the whole glossary", rows.len());
    let mut offenders = Vec::new();
    for (word, path) in &rows {
        match module_text(&root().join(path)) {
            None => offenders.push(format!("{word}: there is no {path}")),
            Some(text) if !occurs(word, &text) => offenders.push(format!("{word}: does not occur in {path}")),
            Some(_) => {}
        }
    }
    assert!(offenders.is_empty(), "docs/glossary.md is wrong:\n{}", offenders.join("\n"));
}

#[test]
fn no_word_is_explained_twice() {
    let (mut known, rows) = (BTreeSet::new(), rows());
    let twice: Vec<&String> = rows.iter().map(|(word, _)| word).filter(|word| !known.insert(*word)).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
