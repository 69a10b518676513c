//! The operator's token: made anew at each start, in a file that only the operator can read.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::private_file::{self, PrivateError};
use crate::token::Token;

/// Folders in which the file may be, the best first: the state folder of the user, then the data folder.
pub fn folders(data: Option<&Path>) -> Vec<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("seenit")).into_iter().chain(data.map(Path::to_owned)).collect()
}

/// The file of the server at this port.
pub fn token_file(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!("operator-{port}.token"))
}

/// Writes the token of a port into the first folder that takes it.
pub(crate) fn write(folders: &[PathBuf], port: u16, token: &Token) -> Result<PathBuf, PrivateError> {
    let mut last = None;
    for folder in folders {
        let path = token_file(folder, port);
        let text = format!("{}\n", token.as_str());
        match private_file::folder(folder).and_then(|()| private_file::write(&path, text.as_bytes())) {
            Ok(()) => return Ok(path),
            Err(error) => {
                tracing::debug!(%error, "no place for the operator token");
                last = Some(error);
            }
        }
    }
    Err(last.unwrap_or_else(|| {
        PrivateError::file(Path::new("operator token"), std::io::ErrorKind::NotFound.into())
    }))
}

/// Takes the file away unless another server has replaced it since.
pub(crate) fn remove(path: &Path, token: &Token) {
    let is_ours = fs::read_to_string(path).is_ok_and(|text| text.trim_end() == token.as_str());
    if is_ours && let Err(error) = fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %error, "the operator token could not be taken away");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_where_it_can_and_is_taken_away_by_its_owner_only() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("written");
        let folders = [file.join("below a file"), dir.path().join("state")];
        let (mine, newer) = (Token::random().expect("random"), Token::random().expect("random"));
        let path = write(&folders, 8025, &mine).expect("the second folder");
        assert_eq!(path, dir.path().join("state/operator-8025.token"));
        write(&folders, 8025, &newer).expect("replaced");
        remove(&path, &mine);
        assert_eq!(fs::read_to_string(&path).expect("kept"), format!("{}\n", newer.as_str()));
        remove(&path, &newer);
        assert!(!path.exists());
        assert!(write(&folders[..1], 8025, &mine).is_err());
    }
}
