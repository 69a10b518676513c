//! docs/glossary.md and ARCHITECTURE.md against the code: every module they name is there, every word of the glossary
//! still occurs in its module, and every function on the ways through the house is one.
//!
//! A row of the glossary is `| word | meaning | `path` |`. A word may occur as it is written, or as part of a name
//! (`PeerSlot`, `peer_slot`), in any case. A module is its file and the files in the folder of the same name.

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

/// The section of ARCHITECTURE.md that names functions, and where it ends.
const WAYS: (&str, &str) = ("\n## Five ways through the house\n", "\n## ");

/// Adds the text of all Rust files of a folder.
fn add_sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources can be listed") {
        let path = entry.expect("a listed directory entry can be read").path();
        if path.is_dir() {
            add_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("a source can be read"));
        }
    }
}

/// A page that tells the way by functions that are gone leads nowhere.
#[test]
fn every_step_of_the_ways_is_a_file_or_a_function() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page can be read");
    let (_, ways) = page.split_once(WAYS.0).expect("the page has the section");
    let ways = ways.split(WAYS.1).next().unwrap_or_default();
    let mut code = String::new();
    for krate in fs::read_dir(root().join("crates")).expect("the crates can be listed") {
        add_sources(&krate.expect("a listed directory entry can be read").path().join("src"), &mut code);
    }
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let (mut offenders, mut found) = (Vec::new(), 0);
    for step in ways.split('`').skip(1).step_by(2) {
        let last = step.rsplit("::").next().unwrap_or_default();
        if step.ends_with(".rs") {
            found += 1;
            let is_there = root().join("crates").join(step).is_file();
            offenders.extend((!is_there).then(|| format!("there is no crates/{step}")));
        } else if is_name(last) && (step.contains("::") || last.contains('_')) {
            found += 1;
            let is_there = code.contains(&format!("fn {last}(")) || code.contains(&format!("fn {last}<"));
            offenders.extend((!is_there).then(|| format!("there is no function {step}")));
        }
    }
    assert!(found > 50, "{found} steps are not all the ways there are");
    assert!(offenders.is_empty(), "ARCHITECTURE.md is wrong:\n{}", offenders.join("\n"));
}
