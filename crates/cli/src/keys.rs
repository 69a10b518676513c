//! Key files: one key a line, read in batches, as text or as hexadecimal digits.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::problem::Problem;
use crate::progress::Progress;

/// Bytes read at a time, and so the longest key: a key is a digest or an address, not a mailbox.
const CHUNK_BYTES: usize = 1 << 20;

/// Where keys come from.
pub(crate) struct KeySource {
    name: String,
    from: Origin,
    hex: bool,
}

enum Origin {
    File(PathBuf),
    Memory(Vec<u8>),
    Stdin,
}

impl KeySource {
    /// `path` is `-` for standard input.
    pub(crate) fn new(path: &Path, hex: bool) -> Self {
        if path.as_os_str() == "-" {
            return KeySource { name: "standard input".into(), from: Origin::Stdin, hex };
        }
        KeySource { name: path.display().to_string(), from: Origin::File(path.to_owned()), hex }
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How many keys there are. Pipes can be read only once, so they are kept in memory for the second reading.
    pub(crate) fn count(&mut self) -> Result<u64, Problem> {
        let seekable = matches!(&self.from, Origin::File(path) if path.is_file());
        if !seekable {
            let mut bytes = Vec::new();
            self.open()?.read_to_end(&mut bytes).map_err(Problem::io(&self.name))?;
            self.from = Origin::Memory(bytes);
        }
        let mut count = 0;
        let mut progress = Progress::new("counting keys", None);
        Lines::new(self.open()?).for_each_chunk(&self.name, |lines, _| {
            count += lines.len() as u64;
            progress.advance(lines.len() as u64);
            Ok(())
        })?;
        Ok(count)
    }

    /// Calls `each` with batches of keys and returns how many there were. Blank lines are passed over.
    pub(crate) fn for_each_batch(&self, mut each: impl FnMut(&[&[u8]])) -> Result<u64, Problem> {
        let mut count = 0;
        let mut decoded = Vec::new();
        Lines::new(self.open()?).for_each_chunk(&self.name, |lines, first_line| {
            count += lines.len() as u64;
            if self.hex {
                each(&self.decode(lines, first_line, &mut decoded)?);
            } else {
                each(&lines.iter().map(|line| line.key).collect::<Vec<_>>());
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// The keys of hexadecimal lines, all in one buffer.
    fn decode<'a>(
        &self,
        lines: &[KeyLine<'_>],
        first_line: u64,
        decoded: &'a mut Vec<u8>,
    ) -> Result<Vec<&'a [u8]>, Problem> {
        decoded.clear();
        let mut ends = Vec::with_capacity(lines.len());
        for line in lines {
            let start = decoded.len();
            decoded.resize(start + line.key.len() / 2, 0);
            hex::decode_to_slice(line.key, &mut decoded[start..]).map_err(|error| Problem::Key {
                name: self.name.clone(),
                line: first_line + line.number,
                why: format!("{:?} is not hexadecimal: {error}", excerpt(line.key)),
            })?;
            ends.push(decoded.len());
        }
        let mut start = 0;
        Ok(ends.iter().map(|&end| &decoded[std::mem::replace(&mut start, end)..end]).collect())
    }

    fn open(&self) -> Result<Box<dyn Read + '_>, Problem> {
        Ok(match &self.from {
            Origin::File(path) => Box::new(File::open(path).map_err(Problem::input(path))?),
            Origin::Memory(bytes) => Box::new(&bytes[..]),
            Origin::Stdin => Box::new(io::stdin().lock()),
        })
    }
}

/// A line and its number within its chunk.
struct KeyLine<'a> {
    key: &'a [u8],
    number: u64,
}

/// Cuts a stream into chunks of whole lines.
struct Lines<'a> {
    from: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// Bytes at the front of the buffer that belong to an unfinished line.
    carried: usize,
}

impl<'a> Lines<'a> {
    fn new(from: Box<dyn Read + 'a>) -> Self {
        Lines { from, buffer: vec![0; 2 * CHUNK_BYTES], carried: 0 }
    }

    /// `each` gets the lines that are not blank and the number of the chunk's first line, counted from one.
    fn for_each_chunk(
        mut self,
        name: &str,
        mut each: impl FnMut(&[KeyLine<'_>], u64) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let mut first_line = 1;
        loop {
            let read = self.fill().map_err(Problem::io(name))?;
            let held = self.carried + read;
            let whole = match self.buffer[..held].iter().rposition(|&byte| byte == b'\n') {
                Some(last) => last + 1,
                None if read == 0 => held,
                None => 0,
            };
            if whole == 0 && held > CHUNK_BYTES {
                return Err(too_long(name, first_line));
            }
            let (lines, count) = split(&self.buffer[..whole]);
            if let Some(line) = lines.iter().find(|line| line.key.len() > CHUNK_BYTES) {
                return Err(too_long(name, first_line + line.number));
            }
            each(&lines, first_line)?;
            first_line += count;
            self.buffer.copy_within(whole..held, 0);
            self.carried = held - whole;
            if read == 0 && self.carried == 0 {
                return Ok(());
            }
        }
    }

    /// Reads up to a chunk behind what was carried; zero at the end.
    fn fill(&mut self) -> io::Result<usize> {
        let mut read = 0;
        while read < CHUNK_BYTES {
            let room = &mut self.buffer[self.carried + read..][..CHUNK_BYTES - read];
            match self.from.read(room) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}

fn too_long(name: &str, line: u64) -> Problem {
    Problem::Key { name: name.into(), line, why: format!("the key is longer than {CHUNK_BYTES} bytes") }
}

/// The lines of a chunk that are not blank, and how many there were in all.
fn split(chunk: &[u8]) -> (Vec<KeyLine<'_>>, u64) {
    let mut count = 0;
    let lines = chunk
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let key = line.strip_suffix(b"\r").unwrap_or(line);
            count += 1;
            KeyLine { key, number: count - 1 }
        })
        .filter(|line| !line.key.is_empty())
        .collect();
    (lines, count)
}

/// Enough of a key to find it by.
fn excerpt(key: &[u8]) -> String {
    const SHOWN: usize = 40;
    let shown = String::from_utf8_lossy(&key[..key.len().min(SHOWN)]).into_owned();
    if key.len() > SHOWN { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &[u8], hex: bool) -> Result<Vec<Vec<u8>>, String> {
        let source = KeySource { name: "test".into(), from: Origin::Memory(text.to_vec()), hex };
        let mut all = Vec::new();
        let count = source
            .for_each_batch(|batch| all.extend(batch.iter().map(|key| key.to_vec())))
            .map_err(|problem| problem.to_string())?;
        assert_eq!(count, all.len() as u64);
        Ok(all)
    }

    #[test]
    fn lines_end_as_they_like_and_blank_ones_are_passed_over() {
        assert_eq!(
            keys(b"a\nbb\r\n\n\r\nccc", false),
            Ok(vec![b"a".to_vec(), b"bb".to_vec(), b"ccc".to_vec()])
        );
        assert_eq!(keys(b"", false), Ok(vec![]));
        assert_eq!(keys(b"\n", false), Ok(vec![]));
    }

    #[test]
    fn lines_across_chunks_are_whole() {
        let text: Vec<u8> = (0..400_000).flat_map(|i| format!("key number {i}\n").into_bytes()).collect();
        assert!(text.len() > 4 * CHUNK_BYTES);
        let all = keys(&text, false).expect("text");
        assert_eq!(all.len(), 400_000);
        assert!(all.iter().enumerate().all(|(i, key)| *key == format!("key number {i}").into_bytes()));
    }

    #[test]
    fn hexadecimal_keys_are_decoded_and_others_named_with_their_line() {
        assert_eq!(keys(b"00ff\nDEad\n", true), Ok(vec![vec![0, 255], vec![0xde, 0xad]]));
        let error = keys(b"00\n\nxyz\n", true).expect_err("not hexadecimal");
        assert!(error.starts_with("test: line 3: \"xyz\""), "{error}");
        assert!(keys(b"abc\n", true).expect_err("odd").contains("line 1"));
    }

    #[test]
    fn endless_lines_are_refused_in_bounded_memory() {
        let error = keys(&vec![b'x'; 5 * CHUNK_BYTES], false).expect_err("too long");
        assert!(error.contains("longer than"), "{error}");
        assert!(keys(&vec![b'x'; CHUNK_BYTES], false).is_ok());
        // Found in review: a line that began and ended within the buffer was taken whatever its length.
        let line = [vec![b'x'; CHUNK_BYTES + 1], b"\n".to_vec()].concat();
        assert!(keys(&line, false).expect_err("too long").contains("line 1"));
    }
}
