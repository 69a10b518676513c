//! A corpus: messages that somebody has sorted into spam and ham.
//!
//! A folder with an `index.tsv` (a header line, then `path<TAB>label`) beside the messages, unpacked or in archives.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::MailError;
use crate::files::Mailbox;
use crate::messages;

/// All messages of a corpus together: they are held in memory, beside what experiments make of them.
const CORPUS_BYTES_MAX: usize = 4 << 30;

/// What somebody said of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Nobody asked for it.
    Spam,
    /// Good mail.
    Ham,
}

/// A message and what somebody said of it.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// As the index has it.
    pub path: String,
    /// What somebody said.
    pub label: Label,
    /// The message.
    pub bytes: Vec<u8>,
}

/// Messages that somebody has sorted, in the order of the index.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The messages.
    pub messages: Vec<Labelled>,
}

impl Corpus {
    /// Reads all messages of the index of a folder: unpacked where they lie there, else from its archives.
    pub fn read(folder: &Path) -> Result<Corpus, MailError> {
        let index = folder.join("index.tsv");
        let text = fs::read_to_string(&index).map_err(MailError::open(&index))?;
        // Where the messages from archives are: the index may list a path twice.
        let mut packed = None;
        let mut taken = HashMap::new();
        let mut messages = Vec::<Labelled>::new();
        let mut bytes_left = CORPUS_BYTES_MAX;
        for (number, line) in text.lines().enumerate().skip(1) {
            let wrong = |why| MailError::Index { path: index.clone(), line: number + 1, why };
            let (path, label) =
                entry(line).ok_or_else(|| wrong(format!("{line:?} is not path, tab, spam or ham")))?;
            if !is_inside(path) {
                return Err(wrong(format!("{path:?} leads out of the folder")));
            }
            let unpacked = folder.join(path);
            let bytes = match File::open(&unpacked) {
                Ok(mut file) => messages::all(&unpacked.display().to_string(), &mut file)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if packed.is_none() {
                        packed = Some(unpack(folder)?);
                    }
                    let found = packed.as_mut().and_then(|packed| packed.remove(path));
                    let again = || taken.get(path).map(|&at: &usize| messages[at].bytes.clone());
                    let found = found.or_else(again);
                    taken.insert(path, messages.len());
                    found.ok_or_else(|| wrong(format!("there is no message {path}")))?
                }
                Err(error) => return Err(MailError::open(&unpacked)(error)),
            };
            bytes_left = bytes_left
                .checked_sub(bytes.len())
                .ok_or_else(|| wrong(format!("more than {CORPUS_BYTES_MAX} bytes of messages")))?;
            messages.push(Labelled { path: path.to_owned(), label, bytes });
        }
        Ok(Corpus { messages })
    }
}

/// A path and a label, on one line.
fn entry(line: &str) -> Option<(&str, Label)> {
    let (path, label) = line.split_once('\t')?;
    let label = match label {
        "spam" => Label::Spam,
        "ham" => Label::Ham,
        _ => return None,
    };
    (!path.is_empty()).then_some((path, label))
}

/// Whether a path stays below the folder of its index.
fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Every file in the archives of a folder, by its path inside.
fn unpack(folder: &Path) -> Result<HashMap<String, Vec<u8>>, MailError> {
    let mut archives: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>())
        .map_err(MailError::open(folder))?;
    archives.retain(|path| crate::archive::Archive::of(path).is_tar());
    archives.sort_unstable();
    let mut files = HashMap::new();
    let mut bytes_left = CORPUS_BYTES_MAX;
    for archive in archives {
        let outside = archive.display().to_string();
        Mailbox::find(std::slice::from_ref(&archive))?.each_file(&mut |name, file| {
            let bytes = messages::all(name, file)?;
            bytes_left = bytes_left.checked_sub(bytes.len()).ok_or_else(|| {
                let why = format!("the archives hold more than {CORPUS_BYTES_MAX} bytes");
                MailError::read(&outside)(io::Error::other(why))
            })?;
            let inside = &name[outside.len() + 1..];
            files.insert(inside.strip_prefix("./").unwrap_or(inside).to_owned(), bytes);
            Ok::<(), MailError>(())
        })?;
    }
    Ok(files)
}
