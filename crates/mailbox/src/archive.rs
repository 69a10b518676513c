//! Archives of files: `.tar`, `.tar.gz`, `.tar.zst`.

use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::error::MailError;
use crate::files::Visit;

/// How an archive is packed.
#[derive(Clone, Copy)]
pub(crate) enum Archive {
    Plain,
    Gzip,
    Zstd,
}

impl Archive {
    /// What the name of a file says; `None` where it is no archive.
    pub(crate) fn of(path: &Path) -> Option<Archive> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".tar"]) => Some(Archive::Plain),
            () if ends(&[".tar.gz", ".tgz"]) => Some(Archive::Gzip),
            () if ends(&[".tar.zst", ".tzst"]) => Some(Archive::Zstd),
            () => None,
        }
    }

    /// Calls `visit` with each file inside, in the order of the archive; `outside` comes before its name.
    pub(crate) fn each_file<E: From<MailError>>(
        self,
        outside: &str,
        packed: impl Read,
        visit: Visit<'_, E>,
    ) -> Result<(), E> {
        let broken = MailError::read(outside);
        let packed = BufReader::new(packed);
        let unpacked: Box<dyn Read + '_> = match self {
            Archive::Plain => Box::new(packed),
            Archive::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Archive::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(packed);
                Box::new(decoder.map_err(|error| broken(io::Error::other(error)))?)
            }
        };
        let mut archive = tar::Archive::new(unpacked);
        for entry in archive.entries().map_err(&broken)? {
            let mut entry = entry.map_err(&broken)?;
            if entry.header().entry_type().is_file() {
                let inside = entry.path().map_err(&broken)?.display().to_string();
                visit(&format!("{outside}/{inside}"), &mut entry)?;
            }
        }
        Ok(())
    }
}
