//! Where messages come from: files, standard input, mbox files, Maildirs, folders of messages, archives of those.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use mail_parser::mailbox::mbox::MessageIterator;

use crate::problem::Problem;

/// The largest message: some servers let 50 MB of attachments pass, which base64 makes 70.
pub(crate) const MESSAGE_BYTES_MAX: u64 = 128 << 20;

/// Folders in folders: beyond this somebody made a circle.
const DEPTH_MAX: usize = 32;

/// Takes the name and the bytes of a message.
type Visit<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<(), Problem>;

/// Calls `visit` with the name and the bytes of every message below these paths, in the order of paths and names.
///
/// `-` is standard input. What begins with `From ` is an mbox; a folder with `cur` and `new` is a Maildir, any other
/// is walked; `.tar`, `.tar.gz` and `.tar.zst` are read as the folders they hold.
pub(crate) fn each(paths: &[PathBuf], visit: Visit<'_>) -> Result<(), Problem> {
    for path in paths {
        if path.as_os_str() == "-" {
            read("standard input", &mut io::stdin().lock(), visit)?;
        } else {
            walk(path, 0, visit)?;
        }
    }
    Ok(())
}

fn walk(path: &Path, depth: usize, visit: Visit<'_>) -> Result<(), Problem> {
    let opened = |error| Problem::input(path)(error);
    let metadata = fs::metadata(path).map_err(opened)?;
    if !metadata.is_dir() {
        let file = File::open(path).map_err(opened)?;
        return match Archive::of(path) {
            Some(archive) => archive.each(path, file, visit),
            None => read(&path.display().to_string(), &mut BufReader::new(file), visit),
        };
    }
    if depth > DEPTH_MAX {
        return Err(opened(io::Error::other(format!("folders more than {DEPTH_MAX} deep"))));
    }
    let is_maildir = path.join("cur").is_dir() && path.join("new").is_dir();
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(opened)? {
        let entry = entry.map_err(opened)?.path();
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A Maildir's other folders are not mail yet, its dot files are the server's.
        let wanted = if is_maildir { name == "cur" || name == "new" } else { !name.starts_with('.') };
        if wanted {
            entries.push(entry);
        }
    }
    entries.sort_unstable();
    entries.iter().try_for_each(|entry| walk(entry, depth + 1, visit))
}

/// One message, or those of an mbox.
fn read(name: &str, source: &mut dyn Read, visit: Visit<'_>) -> Result<(), Problem> {
    let broken = |error| Problem::io(name)(error);
    let mut start = [0; 5];
    let length = fill(source, &mut start).map_err(broken)?;
    let whole = (&start[..length]).chain(source);
    if start == *b"From " {
        for (number, message) in MessageIterator::new(BufReader::new(whole)).enumerate() {
            let message = message.map_err(broken)?.unwrap_contents();
            visit(&if number == 0 { name.to_owned() } else { format!("{name}#{}", number + 1) }, &message)?;
        }
        return Ok(());
    }
    let mut bytes = Vec::new();
    whole.take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(broken)?;
    if bytes.len() as u64 > MESSAGE_BYTES_MAX {
        return Err(broken(io::Error::other(format!("a message of more than {MESSAGE_BYTES_MAX} bytes"))));
    }
    visit(name, &bytes)
}

fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match source.read(&mut buffer[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

/// How an archive is packed.
enum Archive {
    Plain,
    Gzip,
    Zstd,
}

impl Archive {
    fn of(path: &Path) -> Option<Archive> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".tar"]) => Some(Archive::Plain),
            () if ends(&[".tar.gz", ".tgz"]) => Some(Archive::Gzip),
            () if ends(&[".tar.zst", ".tzst"]) => Some(Archive::Zstd),
            () => None,
        }
    }

    fn each(&self, path: &Path, file: File, visit: Visit<'_>) -> Result<(), Problem> {
        let broken = |error: io::Error| Problem::io(path.display().to_string())(error);
        let file = BufReader::new(file);
        let unpacked: Box<dyn Read> = match self {
            Archive::Plain => Box::new(file),
            Archive::Gzip => Box::new(flate2::read::GzDecoder::new(file)),
            Archive::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(file);
                Box::new(decoder.map_err(|error| broken(io::Error::other(error)))?)
            }
        };
        let mut archive = tar::Archive::new(unpacked);
        for entry in archive.entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            if entry.header().entry_type().is_file() {
                let inside = entry.path().map_err(broken)?.display().to_string();
                read(&format!("{}/{inside}", path.display()), &mut entry, visit)?;
            }
        }
        Ok(())
    }
}
