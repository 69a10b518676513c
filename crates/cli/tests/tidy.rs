//! House rules that a machine can check, so that no reviewer has to.
//!
//! Each test reads the source tree as text and fails with a list of `path:line: what is wrong`. The tree is
//! the directories in `SOURCE_DIRS` and the files at the top of the repository: Rust files, Markdown files
//! and scripts (files that open with `#!`). Build output, golden files and fuzz corpora are data and are not
//! read. CONTRIBUTING.md states the rules for people.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories that hold what people wrote. A missing one is skipped.
const SOURCE_DIRS: [&str; 4] = ["crates", "fuzzing", "docs", ".ci"];

/// Directories that hold what machines wrote, or bytes whose form is the point of a test.
const DATA_DIRS: [&str; 5] = ["target", "golden", "testdata", "corpus", "artifacts"];

/// Past this length a file is more than one sitting, and there is a seam to be found.
const FILE_LINES_MAX: usize = 600;

/// rustfmt wraps code at 110 but leaves string literals alone; the slack is for those.
const LINE_CHARS_MAX: usize = 120;

/// The heading in ARCHITECTURE.md under which the modules with unsafe code are named.
const UNSAFE_HEADING: &str = "## Where unsafe lives";

/// Put together from two parts so that this file does not name the lint it looks for.
const UNSAFE_LINT: &str = concat!("unsafe", "_code");

/// Where the attacks and the defences are written down, and the heading of the latter.
const THREAT_MODEL: &str = "docs/design/threat-model.md";
const DEFENCES_HEADING: &str = "\n## Defences\n";

/// Where the tests are that mount attacks. The threat model names each of them.
const ATTACKS: &str = "crates/cli/tests/attacks";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Rust,
    Markdown,
    Script,
}

struct Source {
    /// Relative to the top of the repository.
    path: PathBuf,
    kind: Kind,
    text: String,
}

impl Source {
    /// Splits at line feeds only, so that a carriage return counts as trailing whitespace.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.split('\n'))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_text(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read_source(path: &Path) -> Option<Source> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    let kind = match extension.as_deref() {
        Some("rs") => Kind::Rust,
        Some("md") => Kind::Markdown,
        None | Some("sh") => Kind::Script,
        Some(_) => return None,
    };
    let text = read_text(path);
    if kind == Kind::Script && !text.starts_with("#!") {
        return None;
    }
    let path = path.strip_prefix(root()).expect("every path was found under the root").to_path_buf();
    Some(Source { path, kind, text })
}

/// Adds the sources in `dir`, and those further down if `deep`. Symbolic links are not followed.
fn collect(dir: &Path, deep: bool, found: &mut Vec<Source>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("cannot list {}: {error}", dir.display()));
    for entry in entries {
        let entry = entry.expect("a listed directory entry can be read");
        let file_type = entry.file_type().expect("a listed directory entry has a type");
        let name = entry.file_name();
        if file_type.is_dir() && deep && !DATA_DIRS.iter().any(|data| name == *data) {
            collect(&entry.path(), deep, found);
        } else if file_type.is_file() {
            found.extend(read_source(&entry.path()));
        }
    }
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root(), false, &mut found);
    for dir in SOURCE_DIRS.map(|dir| root().join(dir)) {
        if dir.is_dir() {
            collect(&dir, true, &mut found);
        }
    }
    // A walk that finds nothing would pass every rule.
    let own_path = Path::new("crates/cli/tests/tidy.rs");
    assert!(found.iter().any(|source| source.path == own_path), "the walk missed {}", own_path.display());
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Judges every line of the sources of these kinds. `judge` says what is wrong with a line, if anything.
fn check_lines(rule: &str, kinds: &[Kind], judge: impl Fn(&str) -> Option<String>) {
    let mut offenders = Vec::new();
    for source in sources().iter().filter(|source| kinds.contains(&source.kind)) {
        for (number, line) in source.lines() {
            if let Some(wrong) = judge(line) {
                offenders.push(format!("{}:{number}: {wrong}", source.path.display()));
            }
        }
    }
    assert_none(rule, &offenders);
}

fn assert_none(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}\n{}\n", offenders.join("\n"));
}

/// Whether `word` stands in `line` with no letter, digit or underscore on either side.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether a line of code switches the lint against unsafe code off.
fn allows_unsafe(line: &str) -> bool {
    let code = line.trim_start();
    !code.starts_with("//")
        && ["allow(", "expect("]
            .iter()
            .filter_map(|opening| code.split_once(opening))
            .any(|(_, lints)| has_word(lints, UNSAFE_LINT))
}

/// The paths in the bullet list under `UNSAFE_HEADING`: what stands in the backticks that open each item.
fn unsafe_modules() -> Vec<PathBuf> {
    let text = read_text(&root().join("ARCHITECTURE.md"));
    let mut lines = text.lines().skip_while(|line| line.trim_end() != UNSAFE_HEADING);
    assert!(lines.next().is_some(), "ARCHITECTURE.md has no section headed \"{UNSAFE_HEADING}\"");
    lines
        .take_while(|line| !line.starts_with("# ") && !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("- `").or_else(|| line.strip_prefix("* `")))
        .map(|item| {
            let (path, _) = item.split_once('`').expect("a path under the heading ends with a backtick");
            PathBuf::from(path)
        })
        .collect()
}

/// A file should be readable in one sitting.
#[test]
fn rust_files_are_one_sitting() {
    let offenders: Vec<String> = sources()
        .iter()
        .filter(|source| source.kind == Kind::Rust)
        .map(|source| (source, source.text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(source, lines)| format!("{}: {lines} lines", source.path.display()))
        .collect();
    assert_none(&format!("Rust files have at most {FILE_LINES_MAX} lines: split these"), &offenders);
}

/// Long lines hide code beyond the edge of a window or a review. rustfmt does not break string literals.
#[test]
fn rust_lines_fit_a_window() {
    check_lines(&format!("Rust lines have at most {LINE_CHARS_MAX} characters"), &[Kind::Rust], |line| {
        let chars = line.chars().count();
        (chars > LINE_CHARS_MAX).then(|| format!("{chars} characters"))
    });
}

/// Work that is put off in a comment is forgotten: finish it, or write it down where it is planned.
#[test]
fn no_work_is_left_for_later() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let macros = [concat!("todo", "!("), concat!("unimplemented", "!(")];
    check_lines("no unfinished work", &[Kind::Rust, Kind::Markdown, Kind::Script], |line| {
        let word = words.into_iter().find(|word| has_word(line, word));
        word.or_else(|| macros.into_iter().find(|name| line.contains(name)))
            .map(|found| format!("says {found}"))
    });
}

/// Debugging output is for the one who debugs. Clippy sees the macro too, but not behind every `cfg`.
#[test]
fn no_debugging_is_left_behind() {
    let needle = concat!("dbg", "!(");
    check_lines("no debugging output", &[Kind::Rust], |line| {
        line.contains(needle).then(|| format!("calls {needle}...)"))
    });
}

/// Tabs and trailing blanks look different everywhere and make diffs that mean nothing.
#[test]
fn no_invisible_characters() {
    check_lines("no tabs, no trailing whitespace", &[Kind::Rust, Kind::Markdown], |line| {
        if line.contains('\t') {
            Some("a tab".to_owned())
        } else if line.trim_end() != line {
            Some("trailing whitespace".to_owned())
        } else {
            None
        }
    });
}

/// A reader who opens a file is told first what it is for.
#[test]
fn every_rust_file_opens_with_its_purpose() {
    let offenders: Vec<String> = sources()
        .iter()
        .filter(|source| source.kind == Kind::Rust && !source.text.starts_with("//! "))
        .map(|source| source.path.display().to_string())
        .collect();
    assert_none("Rust files open with a `//!` comment", &offenders);
}

/// Unsafe code is read with more care than the rest, so its places are few and written down.
#[test]
fn unsafe_code_is_allowed_only_where_named() {
    let named = unsafe_modules();
    let mut offenders = Vec::new();
    for source in sources().iter().filter(|source| source.kind == Kind::Rust && !named.contains(&source.path))
    {
        for (number, _) in source.lines().filter(|(_, line)| allows_unsafe(line)) {
            offenders.push(format!("{}:{number}", source.path.display()));
        }
    }
    assert_none(
        &format!("unsafe code is allowed here, but not listed in ARCHITECTURE.md under \"{UNSAFE_HEADING}\""),
        &offenders,
    );
}

/// A list that names modules without unsafe code, or gone ones, is no longer read by anyone.
#[test]
fn every_module_named_for_unsafe_code_has_some() {
    let sources = sources();
    let mut offenders = Vec::new();
    for path in unsafe_modules() {
        let source = sources.iter().find(|source| source.path == path);
        match source {
            None => offenders.push(format!("{}: no such file", path.display())),
            Some(source) if !source.lines().any(|(_, line)| allows_unsafe(line)) => {
                offenders.push(format!("{}: does not allow {UNSAFE_LINT}", path.display()));
            }
            Some(_) => {}
        }
    }
    assert_none(&format!("ARCHITECTURE.md is wrong under \"{UNSAFE_HEADING}\""), &offenders);
}

/// What a heading is called in a link: lower case, a hyphen for a blank, no other punctuation.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Whether a page has a heading that an anchor names.
fn has_anchor(page: &Path, anchor: &str) -> bool {
    let text = read_text(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor_of(line.trim_start_matches('#').trim())).any(|one| one == anchor)
}

/// The README once pointed to a page that was not there. Links to files lead somewhere, and so do those to a heading of
/// a page; those to the web are not tried.
#[test]
fn links_between_documents_lead_somewhere() {
    let mut offenders = Vec::new();
    for source in sources().iter().filter(|source| source.kind == Kind::Markdown) {
        let folder = root().join(source.path.parent().expect("a file lies in a folder"));
        for (number, line) in source.lines() {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            for target in targets.filter(|target| !target.is_empty() && !target.contains("://")) {
                let (page, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = if page.is_empty() { root().join(&source.path) } else { folder.join(page) };
                if !path.exists() || !anchor.is_empty() && !has_anchor(&path, anchor) {
                    offenders.push(format!("{}:{number}: {target}", source.path.display()));
                }
            }
        }
    }
    assert_none("Links lead to files and headings that are there", &offenders);
}

/// Comments, help texts and errors name pages, too, and whoever is sent to one must find it.
#[test]
fn pages_that_are_named_anywhere_are_there() {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
    let mut offenders = Vec::new();
    for source in sources() {
        for (number, line) in source.lines() {
            for (at, _) in line.match_indices("docs/").filter(|(at, _)| !line[..*at].ends_with(is_path)) {
                let path = line[at..].split(|c| !is_path(c)).next().unwrap_or_default();
                let path = path.trim_end_matches(['.', '/']);
                let is_page = [".md", ".json", ".toml", ".svg"].iter().any(|ending| path.ends_with(ending));
                if is_page && !root().join(path).exists() {
                    offenders.push(format!("{}:{number}: {path}", source.path.display()));
                }
            }
        }
    }
    assert_none("Pages that are named are there", &offenders);
}

/// Every crate that is asked for by name has its line in docs/design/dependencies.md, and no other has.
#[test]
fn dependencies_are_listed() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect(path);
    let rows = read("docs/design/dependencies.md");
    let listed = rows.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let listed: std::collections::BTreeSet<String> =
        listed.filter(|name| *name != "crate").map(str::to_owned).collect();
    let mut asked = std::collections::BTreeSet::new();
    for manifest in ["Cargo.toml", "crates/race/Cargo.toml", "fuzzing/Cargo.toml"] {
        let text = read(manifest);
        let mut is_list = false;
        for line in text.lines() {
            if line.starts_with('[') {
                is_list = line.contains("dependencies]");
                continue;
            }
            let name = line.split_once(" = ").map(|(name, _)| name).filter(|_| is_list);
            let is_own = line.contains("path = ") || line.contains("workspace = true");
            asked.extend(name.filter(|name| !is_own && !name.starts_with('#')).map(str::to_owned));
        }
    }
    assert_eq!(listed, asked);
}

/// A defence that no test shows is a hope: every row of the threat model's defences ends with tests that exist.
#[test]
fn every_defence_of_the_threat_model_names_its_tests() {
    let sources = sources();
    let is_test = |name: &str| {
        let is_here =
            |source: &&Source| source.kind == Kind::Rust && has_word(&source.text, &format!("fn {name}"));
        sources.iter().any(|source| is_here(&source))
    };
    let text = read_text(&root().join(THREAT_MODEL));
    let section = text.split(DEFENCES_HEADING).nth(1).expect("the threat model has a section of defences");
    let rows =
        section.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| "));
    let rows: Vec<&str> = rows.filter(|line| !line.ends_with("| shown by |")).collect();
    assert!(rows.len() > 20, "{} rows are not all the defences there are", rows.len());
    let mut offenders = Vec::new();
    for row in rows {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        offenders.extend(names.iter().filter(|name| !is_test(name)).map(|name| format!("no test {name}")));
        if names.is_empty() {
            offenders.push(format!("no test is named: {row}"));
        }
    }
    assert_none(&format!("{THREAT_MODEL} names tests that exist"), &offenders);
}

/// An attack that the threat model does not name is one that nobody who reads it knows to be defended against.
#[test]
fn every_attack_that_is_a_test_is_in_the_threat_model() {
    let text = read_text(&root().join(THREAT_MODEL));
    let (mut offenders, mut found) = (Vec::new(), 0);
    for source in sources().iter().filter(|source| source.path.starts_with(ATTACKS)) {
        for (_, rest) in
            source.text.match_indices("#[test]\n").map(|(at, mark)| source.text[at..].split_at(mark.len()))
        {
            let name = rest.trim_start().strip_prefix("fn ").and_then(|rest| rest.split_once('('));
            let (name, _) =
                name.unwrap_or_else(|| panic!("{}: no function: {rest:.40}", source.path.display()));
            found += 1;
            if !text.contains(&format!("`{name}`")) {
                offenders.push(format!("{}: {name}", source.path.display()));
            }
        }
    }
    assert!(found > 30, "{found} tests are not all the attacks there are");
    assert_none(&format!("{THREAT_MODEL} names every test of {ATTACKS}"), &offenders);
}
