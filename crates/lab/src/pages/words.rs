//! Real strings: the distinct words of a folder of files, or of a word list.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;

use crate::bench::{Bench, LabError, Progress};

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
    let mut files = Vec::new();
    find_files(&path, 0, &mut files)?;
    bench.progress.begin("reading words", files.iter().map(|file| file.bytes).sum());
    let mut reader = Reader { progress: bench.progress, words: HashSet::new() };
    for file in &files {
        reader.read_path(&file.path).map_err(|error| LabError::File { path: file.path.clone(), error })?;
    }
    let mut words: Vec<Box<[u8]>> = reader.words.into_iter().collect();
    words.sort_unstable();
    Ok(Some(Words { words, source }))
}

struct Found {
    path: PathBuf,
    bytes: u64,
}

/// All files at or below `path`, in an order that does not depend on the file system: a corpus may be longer than
/// is read.
fn find_files(path: &Path, depth: usize, found: &mut Vec<Found>) -> Result<(), LabError> {
    let failed = |error| LabError::File { path: path.to_owned(), error };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_file() {
        found.push(Found { path: path.to_owned(), bytes: metadata.len() });
    } else if metadata.is_dir() && depth < DEPTH_MAX {
        let entries = fs::read_dir(path).map_err(failed)?.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        let mut paths: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().try_for_each(|path| find_files(path, depth + 1, found))?;
    }
    Ok(())
}

struct Reader<'a> {
    progress: &'a dyn Progress,
    words: HashSet<Box<[u8]>>,
}

impl Reader<'_> {
    fn read_path(&mut self, path: &Path) -> io::Result<()> {
        if self.words.len() >= WORDS_MAX {
            return Ok(());
        }
        let file = BufReader::new(Watched { file: File::open(path)?, progress: self.progress });
        match path.extension().and_then(OsStr::to_str) {
            Some("zst") => self.read_archive(StreamingDecoder::new(file).map_err(io::Error::other)?),
            Some("tar") => self.read_archive(file),
            _ => self.read_file(file),
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
        Ok(())
    }
}

/// A file that tells how far it has been read.
struct Watched<'a> {
    file: File,
    progress: &'a dyn Progress,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.progress.advance(bytes as u64);
        Ok(bytes)
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
