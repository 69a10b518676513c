//! The modules of this crate use each other in one direction only: whoever reads one has finitely many to read before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Which top modules each top module names.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The modules that `lib.rs` declares.
fn modules(src: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(src.join("lib.rs")).expect("lib.rs");
    let names = text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    names.filter(|name| !name.ends_with("tests")).map(str::to_owned).collect()
}

/// What a file is without its tests and its comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a file of Rust");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Adds what the files of a folder name behind `crate::`. `module` is none in the folder of all modules.
fn collect(folder: &Path, module: Option<&str>, modules: &BTreeSet<String>, uses: &mut Uses) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        let module = module.unwrap_or(&name);
        if entry.is_dir() {
            collect(&entry, Some(module), modules, uses);
        } else if modules.contains(module) && !name.ends_with("tests") {
            let text = code(&entry);
            for rest in text.split("crate::").skip(1) {
                let named = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                if named != module && modules.contains(named) {
                    uses.entry(module.to_owned()).or_default().insert(named.to_owned());
                }
            }
        }
    }
}

#[test]
fn modules_use_each_other_in_one_direction() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let modules = modules(&src);
    let mut uses = Uses::new();
    collect(&src, None, &modules, &mut uses);
    assert!(uses.len() > 15, "{} modules use others: that cannot be all", uses.len());
    // Whoever uses only what was taken away already is taken away; what is left are circles, and who uses them.
    let mut left = modules;
    loop {
        let uses_left = |name: &String| uses.get(name).is_some_and(|used| !used.is_disjoint(&left));
        let next: BTreeSet<String> = left.iter().filter(|name| uses_left(name)).cloned().collect();
        if next.len() == left.len() {
            break;
        }
        left = next;
    }
    assert!(left.is_empty(), "these modules use each other in a circle, or use some that do: {left:?}");
}
