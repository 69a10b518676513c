//! Real strings: the distinct words of a folder of files, or of a word list.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;

use crate::bench::{Bench, LabError};

/// Where Unix systems keep a list of words, if they have one.
const WORD_LIST: &str = "/usr/share/dict/words";

/// Longer words are lines of encoded attachments and of other things nobody typed.
const WORD_BYTES_MAX: usize = 64;

/// The most distinct words: five times the paper's strings. A larger corpus is read no further.
const WORDS_MAX: usize = 4_000_000;

/// The most bytes of one file: a mail with its attachments, or a long word list. The rest of it is not read.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The deepest folder below the corpus that is looked into; links may go round in circles.
const DEPTH_MAX: usize = 8;

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
    bench.progress.begin("reading words", 0);
    let mut reader = Reader { bench, words: HashSet::new() };
    reader.read_path(&path, 0)?;
    let mut words: Vec<Box<[u8]>> = reader.words.into_iter().collect();
    words.sort_unstable();
    Ok(Some(Words { words, source }))
}

struct Reader<'a> {
    bench: &'a Bench<'a>,
    words: HashSet<Box<[u8]>>,
}

impl Reader<'_> {
    fn read_path(&mut self, path: &Path, depth: usize) -> Result<(), LabError> {
        let failed = |error| LabError::File { path: path.to_owned(), error };
        if fs::metadata(path).map_err(failed)?.is_dir() {
            if depth < DEPTH_MAX {
                let entries =
                    fs::read_dir(path).map_err(failed)?.collect::<io::Result<Vec<_>>>().map_err(failed)?;
                let mut paths: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
                // In an order that does not depend on the file system, for corpora that are not read to the end.
                paths.sort();
                paths.iter().try_for_each(|path| self.read_path(path, depth + 1))?;
            }
            return Ok(());
        }
        if self.words.len() >= WORDS_MAX {
            return Ok(());
        }
        let file = BufReader::new(File::open(path).map_err(failed)?);
        match path.extension().and_then(OsStr::to_str) {
            Some("zst") => {
                let unpacked =
                    StreamingDecoder::new(file).map_err(|error| failed(io::Error::other(error)))?;
                self.read_archive(unpacked).map_err(failed)
            }
            Some("tar") => self.read_archive(file).map_err(failed),
            _ => self.read_file(file).map_err(failed),
        }
    }

    fn read_archive(&mut self, archive: impl Read) -> io::Result<()> {
        for entry in tar::Archive::new(archive).entries()? {
            let entry = entry?;
            if entry.header().entry_type().is_file() && self.words.len() < WORDS_MAX {
                self.read_file(entry)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: impl Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        for word in bytes.split(u8::is_ascii_whitespace) {
            let fits = (1..=WORD_BYTES_MAX).contains(&word.len());
            if fits && self.words.len() < WORDS_MAX && !self.words.contains(word) {
                self.words.insert(word.into());
            }
        }
        self.bench.progress.advance(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(folder: &Path) -> Vec<String> {
        let bench = Bench { corpus: Some(folder.to_owned()), ..Bench::new(&()) };
        let words = words(&bench).expect("readable").expect("a corpus").words;
        words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// An archive with one file of this text.
    fn archive(text: &[u8]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_cksum();
        builder.append_data(&mut header, "mail/one", text).expect("written");
        builder.into_inner().expect("written")
    }

    #[test]
    fn words_come_from_files_folders_and_archives_once_each() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("written");
        fs::create_dir(folder.path().join("below")).expect("a folder");
        write("below/mail", format!("buy\r\nnow {} now", "x".repeat(65)).as_bytes());
        write("plain.tar", &archive(b"from a tar"));
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        write("packed.tar.zst", &ruzstd::encoding::compress_to_vec(&archive(b"from zstd\ttoo")[..], level));
        assert_eq!(texts(folder.path()), ["a", "buy", "from", "now", "tar", "too", "zstd"]);
    }

    #[test]
    fn a_corpus_that_is_not_there_is_an_error_that_names_it() {
        let bench = Bench { corpus: Some("no/such/corpus".into()), ..Bench::new(&()) };
        let error = words(&bench).map(|_| ()).expect_err("nothing there").to_string();
        assert!(error.contains("no/such/corpus"), "{error}");
    }

    #[test]
    fn a_damaged_archive_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("mail.tar.zst"), b"no archive at all").expect("written");
        let bench = Bench { corpus: Some(folder.path().to_owned()), ..Bench::new(&()) };
        let error = words(&bench).map(|_| ()).expect_err("damaged").to_string();
        assert!(error.contains("mail.tar.zst"), "{error}");
    }
}
