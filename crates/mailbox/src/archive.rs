//! Packed files: `.gz` and `.zst`, and archives of files: `.tar`, `.tar.gz`, `.tar.zst`.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::error::MailError;
use crate::files::VisitAny;
use crate::frames::Frames;

/// What may stand before a file: its header, and entries that hold a long name or other things of it. The tar crate
/// reads those as a whole into memory. Names have at most some thousands of bytes, but the zeros behind an archive
/// count, too, and fill up blocks of 1 MiB where somebody thought of tapes.
const HEADER_BYTES_MAX: u64 = 2 << 20;

/// How a file is packed, by its name.
#[derive(Clone, Copy)]
pub(crate) struct Archive {
    packing: Packing,
    is_tar: bool,
}

#[derive(Clone, Copy)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Archive {
    /// What the name of a file says.
    pub(crate) fn of(path: &Path) -> Archive {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let packing = match () {
            () if ends(&[".gz", ".tgz"]) => Packing::Gzip,
            () if ends(&[".zst", ".tzst"]) => Packing::Zstd,
            () => Packing::None,
        };
        Archive { packing, is_tar: ends(&[".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"]) }
    }

    /// Whether it is an archive of files.
    pub(crate) fn is_tar(self) -> bool {
        self.is_tar
    }

    /// Calls `visit` with the file, or with each file of an archive in its order; `outside` comes before their names.
    /// Where an archive is damaged, `visit` is told, and what follows in it is not read.
    pub(crate) fn each_file<E>(
        self,
        outside: &str,
        packed: impl Read,
        visit: VisitAny<'_, E>,
    ) -> Result<(), E> {
        let broken = MailError::read(outside);
        let mut unpacked = match self.unpacked(packed) {
            Ok(unpacked) => unpacked,
            Err(error) => return visit(outside, Err(broken(error))),
        };
        if !self.is_tar {
            return visit(outside, Ok(&mut unpacked));
        }
        let bytes_left = Cell::new(HEADER_BYTES_MAX);
        let mut archive = tar::Archive::new(Bounded { unpacked, bytes_left: &bytes_left });
        // Archives that were strung together are read to the last one, and what is behind them is noticed.
        archive.set_ignore_zeros(true);
        let entries = match archive.entries() {
            Ok(entries) => entries,
            Err(error) => return visit(outside, Err(broken(error))),
        };
        for entry in entries {
            let opened = entry.and_then(|entry| {
                bytes_left.set(packed_bytes(&entry)?.saturating_add(HEADER_BYTES_MAX));
                let inside = entry.path()?.display().to_string();
                Ok((entry, inside))
            });
            match opened {
                Ok((entry, inside)) if entry.header().entry_type().is_file() => {
                    let mut file = Whole { bytes_left: entry.size(), file: entry };
                    visit(&format!("{outside}/{inside}"), Ok(&mut file))?;
                }
                Ok(_) => (),
                Err(error) => return visit(outside, Err(broken(error))),
            }
        }
        Ok(())
    }

    fn unpacked<'r>(self, packed: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
        let packed = BufReader::new(packed);
        Ok(match self.packing {
            Packing::None => Box::new(packed),
            Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Packing::Zstd => Box::new(Frames::new(packed)?),
        })
    }
}

/// The bytes of an entry as they lie in the archive. A sparse file calls itself as large as it likes.
fn packed_bytes<R: Read>(entry: &tar::Entry<'_, R>) -> io::Result<u64> {
    if entry.header().entry_type().is_gnu_sparse() { entry.header().entry_size() } else { Ok(entry.size()) }
}

/// A file of an archive, which is an error where the archive ends before it does: half a message is another message.
struct Whole<R> {
    file: R,
    bytes_left: u64,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        if bytes == 0 && !buffer.is_empty() && self.bytes_left > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within this file"));
        }
        self.bytes_left = self.bytes_left.saturating_sub(bytes as u64);
        Ok(bytes)
    }
}

/// A tar file of which only so much may be read as the entry at hand needs, and the header of the next.
struct Bounded<'a, R> {
    unpacked: R,
    bytes_left: &'a Cell<u64>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.unpacked.read(buffer)?;
        let bytes_left = self.bytes_left.get().checked_sub(bytes as u64).ok_or_else(|| {
            io::Error::other(format!(
                "more than {} MiB before the next file of the archive",
                HEADER_BYTES_MAX >> 20
            ))
        })?;
        self.bytes_left.set(bytes_left);
        Ok(bytes)
    }
}
