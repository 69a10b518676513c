//! The shared corpus of real mail, unpacked for a test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The archives that `index.tsv` lists.
const ARCHIVES: [&str; 2] = ["spamassassin.tar.zst", "phishing-pot.tar.zst"];

/// A folder with the messages of the corpus, and their paths in it. None, and a word why, where there is no corpus.
pub(crate) fn unpacked() -> Option<(tempfile::TempDir, Vec<PathBuf>)> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("SEENIT_CORPUS").map_or(beside, PathBuf::from);
    let Ok(index) = std::fs::read_to_string(corpus.join("index.tsv")) else {
        eprintln!("skipped: there is no corpus in {} (SEENIT_CORPUS names another folder)", corpus.display());
        return None;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for archive in ARCHIVES {
        let mut tar = Command::new("tar");
        tar.args(["-I", "zstd", "-xf"]).arg(corpus.join(archive)).arg("-C").arg(folder.path());
        if !tar.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: tar and zstd cannot unpack {archive}");
            return None;
        }
    }
    let paths = index.lines().skip(1).filter_map(|line| line.split('\t').next()).map(PathBuf::from).collect();
    Some((folder, paths))
}
