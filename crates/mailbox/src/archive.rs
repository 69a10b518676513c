//! Packed files: `.gz` and `.zst`, and archives of files: `.tar`, `.tar.gz`, `.tar.zst`.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::error::MailError;
use crate::files::Visit;
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
    pub(crate) fn each_file<E: From<MailError>>(
        self,
        outside: &str,
        packed: impl Read,
        visit: Visit<'_, E>,
    ) -> Result<(), E> {
        let broken = MailError::read(outside);
        let packed = BufReader::new(packed);
        let mut unpacked: Box<dyn Read + '_> = match self.packing {
            Packing::None => Box::new(packed),
            Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Packing::Zstd => Box::new(Frames::new(packed).map_err(&broken)?),
        };
        if !self.is_tar {
            return visit(outside, &mut unpacked);
        }
        let bytes_left = Cell::new(HEADER_BYTES_MAX);
        let mut archive = tar::Archive::new(Bounded { unpacked, bytes_left: &bytes_left });
        // Archives that were strung together are read to the last one, and what is behind them is noticed.
        archive.set_ignore_zeros(true);
        for entry in archive.entries().map_err(&broken)? {
            let mut entry = entry.map_err(&broken)?;
            bytes_left.set(packed_bytes(&entry).map_err(&broken)?.saturating_add(HEADER_BYTES_MAX));
            if entry.header().entry_type().is_file() {
                let inside = entry.path().map_err(&broken)?.display().to_string();
                visit(&format!("{outside}/{inside}"), &mut entry)?;
            }
        }
        Ok(())
    }
}

/// The bytes of an entry as they lie in the archive. A sparse file calls itself as large as it likes.
fn packed_bytes<R: Read>(entry: &tar::Entry<'_, R>) -> io::Result<u64> {
    if entry.header().entry_type().is_gnu_sparse() { entry.header().entry_size() } else { Ok(entry.size()) }
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
                "more than {HEADER_BYTES_MAX} bytes before the next file of the archive"
            ))
        })?;
        self.bytes_left.set(bytes_left);
        Ok(bytes)
    }
}
