//! What the site vouches for to DCC's clients: the checksums of a whitelist file.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use seenit_filter::readable;
use seenit_wire::dcc::whitelist::{self, WhitelistError};
use seenit_wire::dcc::{Count, Sum};

/// Files of one list, those that are included among them: more is a circle.
const FILES_MAX: usize = 64;

/// A line of a list has some dozens of bytes: more than a hundred thousand lines.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Each takes some 40 bytes of memory, and a line may name a block of 65,536 addresses.
const SUMS_MAX: usize = 1 << 20;

/// A whitelist that cannot be obeyed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// A file that cannot be read.
    #[error("{}: {error}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A line that cannot be obeyed.
    #[error("{}: {error}", .file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, and what is wrong with it.
        #[source]
        error: WhitelistError,
    },
    /// Files include each other, or there are too many.
    #[error(
        "{}: the whitelist has more than {FILES_MAX} files, or files that include each other; take an `include` line \
         out",
        .0.display()
    )]
    Files(PathBuf),
    /// Too much to remember.
    #[error(
        "{}: the whitelist has more than {SUMS_MAX} addresses and checksums; name smaller blocks of addresses",
        .0.display()
    )]
    Sums(PathBuf),
}

/// Refuses a file that is no whitelist.
pub(crate) fn check(path: &Path) -> Result<(), ListError> {
    Whitelist::read(path).map(drop)
}

/// The checksums of a whitelist, and what is answered of each.
#[derive(Default)]
pub(crate) struct Whitelist(HashMap<Sum, Count>);

impl Whitelist {
    /// Reads a file and those that it includes, which are looked for beside it.
    pub(crate) fn read(path: &Path) -> Result<Self, ListError> {
        let mut list = Whitelist::default();
        let mut files = vec![path.to_owned()];
        let mut read = 0;
        while let Some(file) = files.pop() {
            read += 1;
            if read > FILES_MAX {
                return Err(ListError::Files(file));
            }
            let text = read_text(&file).map_err(|error| ListError::File { file: file.clone(), error })?;
            let parsed =
                whitelist::parse(&text).map_err(|error| ListError::Line { file: file.clone(), error })?;
            for entry in parsed.entries {
                entry.subject.each_sum(|sum| list.add(sum, entry.count));
                if list.0.len() > SUMS_MAX {
                    return Err(ListError::Sums(file));
                }
            }
            let folder = file.parent().unwrap_or(Path::new(""));
            files.extend(parsed.includes.iter().map(|(_, name)| folder.join(name)));
        }
        Ok(list)
    }

    /// What is answered of a checksum, if it is listed.
    pub(crate) fn get(&self, sum: &Sum) -> Option<Count> {
        self.0.get(sum).copied()
    }

    /// Of what is listed twice the kinder word holds.
    fn add(&mut self, sum: Sum, count: Count) {
        let rank = |count| match count {
            Count::Ok => 2,
            Count::Ok2 => 1,
            _ => 0,
        };
        let known = self.0.entry(sum).or_insert(count);
        if rank(count) > rank(*known) {
            *known = count;
        }
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    let bytes = fs::metadata(path)?.len();
    if bytes > FILE_BYTES_MAX {
        let (bytes, most) = (readable::bytes(bytes), readable::bytes(FILE_BYTES_MAX));
        return Err(io::Error::other(format!("has {bytes}, and a list at most {most}")));
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use seenit_wire::dcc::SumKind;

    use super::*;

    fn body(byte: u8) -> Sum {
        Sum { kind: SumKind::Body, digest: [byte; 16] }
    }

    #[test]
    fn a_list_and_what_it_includes_are_read_and_the_kinder_word_holds() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        write("list", "ok hex body 01010101 01010101 01010101 01010101\ninclude more\n");
        write(
            "more",
            "many hex body 01010101 01010101 01010101 01010101\n hex body 02020202 02020202 02020202 02020202",
        );
        let list = Whitelist::read(&folder.path().join("list")).expect("a list");
        assert_eq!(
            [body(1), body(2), body(3)].map(|sum| list.get(&sum)),
            [Some(Count::Ok), Some(Count::Many), None]
        );
    }

    #[test]
    fn what_cannot_be_obeyed_is_said_with_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let refusal = |text: &str| {
            fs::write(folder.path().join("list"), text).expect("written");
            Whitelist::read(&folder.path().join("list")).err().expect("a refusal").to_string()
        };
        assert!(refusal("ok\n").contains("list: line 1: "));
        assert!(refusal("include nothing\n").contains("nothing: "));
        assert!(refusal("include list\n").contains("include each other"));
    }
}
