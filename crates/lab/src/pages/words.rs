//! Real strings: the distinct words of a folder of files, or of a word list.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::PathBuf;

use seenit_mailbox::Mailbox;

use crate::bench::{Bench, LabError};

/// Where Unix systems keep a list of words, if they have one.
const WORD_LIST: &str = "/usr/share/dict/words";

/// Longer words are lines of encoded attachments and of other things nobody typed.
const WORD_BYTES_MAX: usize = 64;

/// The most distinct words: five times the paper's strings. A larger corpus is read no further.
const WORDS_MAX: usize = 4_000_000;

/// The most bytes of one file: a mail with its attachments, or a long word list. The rest of it is not read.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Words, and where they are from.
pub(super) struct Words {
    /// Sorted, so that they do not depend on the order of files.
    pub(super) words: Vec<Box<[u8]>>,
    /// For people.
    pub(super) source: &'static str,
}

/// The words of the corpus if there is one, else of the system's word list; `None` when neither is there.
pub(super) fn words(bench: &Bench<'_>) -> Result<Option<Words>, LabError> {
    let (path, source) = match &bench.corpus {
        Some(corpus) => (corpus.clone(), "words of the corpus"),
        None => (PathBuf::from(WORD_LIST), "words of the system's word list"),
    };
    if bench.corpus.is_none() && !path.is_file() {
        return Ok(None);
    }
    let mailbox = Mailbox::find(&[path])?;
    bench.progress.begin("reading words", mailbox.bytes());
    let mut words = HashSet::new();
    mailbox.watched(&|bytes| bench.progress.advance(bytes)).each_file(&mut |name, file| {
        take_words(file, &mut words).map_err(|error| LabError::File { path: name.into(), error })
    })?;
    let mut words: Vec<Box<[u8]>> = words.into_iter().collect();
    words.sort_unstable();
    Ok(Some(Words { words, source }))
}

/// Takes the words of one file, while there is room for more.
fn take_words(file: &mut dyn Read, words: &mut HashSet<Box<[u8]>>) -> io::Result<()> {
    if words.len() >= WORDS_MAX {
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    for word in bytes.split(u8::is_ascii_whitespace) {
        let fits = (1..=WORD_BYTES_MAX).contains(&word.len());
        if fits && words.len() < WORDS_MAX && !words.contains(word) {
            words.insert(word.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn texts(folder: &Path) -> Vec<String> {
        let bench = Bench { corpus: Some(folder.to_owned()), ..Bench::new(&()) };
        let words = words(&bench).expect("readable").expect("a corpus").words;
        words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn words_come_from_files_and_folders_once_each() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
        fs::create_dir(folder.path().join("below")).expect("a folder");
        write("below/mail", format!("buy\r\nnow {} now", "x".repeat(65)).as_bytes());
        write("list", b"from\na\nlist now");
        assert_eq!(texts(folder.path()), ["a", "buy", "from", "list", "now"]);
    }

    #[test]
    fn a_corpus_that_is_not_there_is_an_error_that_names_it() {
        let bench = Bench { corpus: Some("no/such/corpus".into()), ..Bench::new(&()) };
        let error = words(&bench).map(|_| ()).expect_err("nothing there").to_string();
        assert!(error.contains("no/such/corpus"), "{error}");
    }
}
