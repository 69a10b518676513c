//! The operator's token: made anew at each start, in a file that only the operator can read.
//!
//! The file is named by the address that the server listens on, and the server holds a lock on it for as long as it
//! runs. So another server never overwrites the file of one that runs, and a client tells a token that is good from
//! one that a killed server left behind: the kernel gives the lock back, however a process ends.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use seenit_ledger::private::{self as private_file, PrivateError};

use crate::token::Token;

/// Folders in which the file may be, the best first: the state folder of the user, then the data folder.
pub fn folders(data: Option<&Path>) -> Vec<PathBuf> {
    let state = absolute("XDG_STATE_HOME").map(|state| state.join("seenit")).or_else(home_folder);
    state.into_iter().chain(data.map(Path::to_owned)).collect()
}

/// Where a client looks that was told nothing: the state folder of a user whose environment does not name another.
pub fn home_folder() -> Option<PathBuf> {
    absolute("HOME").map(|home| home.join(".local/state/seenit"))
}

fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The file of the server that listens on this address.
pub fn token_file(folder: &Path, listening: SocketAddr) -> PathBuf {
    folder.join(format!("operator-{}-{}.token", listening.ip().to_canonical(), listening.port()))
}

/// The addresses that a server may listen on which answers at this one: this one, or every address.
pub fn listening_for(asked: IpAddr) -> Vec<IpAddr> {
    let v4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let v6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    match asked.to_canonical() {
        // A socket of every IPv6 address takes connections over IPv4, too.
        asked @ IpAddr::V4(_) => vec![asked, v4, v6],
        asked @ IpAddr::V6(_) => vec![asked, v6],
    }
}

/// Whether a server that runs holds this file; `None` where there is none, or where it cannot be told.
pub fn is_held(path: &Path) -> Option<bool> {
    let file = File::open(path).ok()?;
    // Shared, so that two who look at the same time do not take each other for a server.
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

/// The files with the token of a server that runs.
pub(crate) struct TokenFiles {
    paths: Vec<PathBuf>,
    token: Token,
    /// Locked for as long as the server runs.
    _held: Vec<File>,
}

impl TokenFiles {
    /// Writes a file for each address, into the first folder that takes it.
    pub(crate) fn write(
        folders: &[PathBuf],
        listening: &[SocketAddr],
        token: &Token,
    ) -> Result<Self, PrivateError> {
        let mut files = TokenFiles { paths: Vec::new(), token: token.clone(), _held: Vec::new() };
        for address in listening {
            let (path, file) = write_one(folders, *address, token)?;
            files.paths.push(path);
            files._held.push(file);
        }
        Ok(files)
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Takes the files away, but none that another server has replaced since.
    pub(crate) fn remove(&self) {
        for path in &self.paths {
            let is_ours = fs::read_to_string(path).is_ok_and(|text| text.trim_end() == self.token.as_str());
            if is_ours && let Err(error) = fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "the operator's token cannot be removed");
            }
        }
    }
}

fn write_one(
    folders: &[PathBuf],
    address: SocketAddr,
    token: &Token,
) -> Result<(PathBuf, File), PrivateError> {
    let mut last = None;
    for folder in folders {
        let path = token_file(folder, address);
        match private_file::folder(folder).and_then(|()| put(&path, token)) {
            Ok(file) => return Ok((path, file)),
            Err(error) => {
                tracing::debug!(%error, "no place for the operator's token");
                last = Some(error);
            }
        }
    }
    let nowhere = || PrivateError::file(Path::new("operator's token"), io::ErrorKind::NotFound.into());
    Err(last.unwrap_or_else(nowhere))
}

/// Replaces a file that no running server holds.
fn put(path: &Path, token: &Token) -> Result<File, PrivateError> {
    if is_held(path) == Some(true) {
        // The same address in another network namespace, with the same home.
        tracing::warn!(path = %path.display(), "another running server holds this file: the token goes elsewhere");
        return Err(PrivateError::file(path, io::Error::other("another running server holds this file")));
    }
    private_file::write_locked(path, format!("{}\n", token.as_str()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token::random().expect("random")
    }

    #[test]
    fn the_token_goes_where_it_can_and_is_taken_away_by_its_owner_only() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("written");
        let folders = [file.join("below a file"), dir.path().join("state")];
        let here = ["127.0.0.1:8025".parse().expect("an address")];
        let mine = TokenFiles::write(&folders, &here, &token()).expect("the second folder");
        let path = dir.path().join("state/operator-127.0.0.1-8025.token");
        assert_eq!(mine.paths(), std::slice::from_ref(&path));
        fs::write(&path, "another\n").expect("ours");
        mine.remove();
        assert_eq!(fs::read_to_string(&path).expect("kept"), "another\n");
        fs::write(&path, format!("{}\n", mine.token.as_str())).expect("ours");
        mine.remove();
        assert!(!path.exists());
        assert!(TokenFiles::write(&folders[..1], &here, &token()).is_err());
    }

    #[test]
    fn a_file_that_a_running_server_holds_is_not_overwritten_and_a_stale_one_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let folders = [dir.path().join("state"), dir.path().join("data")];
        let here = ["127.0.0.1:8025".parse().expect("an address")];
        let first = TokenFiles::write(&folders, &here, &token()).expect("written");
        let text = fs::read_to_string(&first.paths[0]).expect("there");
        assert_eq!(is_held(&first.paths[0]), Some(true));
        let second = TokenFiles::write(&folders, &here, &token()).expect("elsewhere");
        assert_eq!(second.paths(), [folders[1].join("operator-127.0.0.1-8025.token")]);
        assert_eq!(fs::read_to_string(&first.paths[0]).expect("there"), text);
        let path = first.paths[0].clone();
        drop(first);
        assert_eq!(is_held(&path), Some(false), "as after kill -9");
        let third = TokenFiles::write(&folders, &here, &token()).expect("replaced");
        assert_eq!(third.paths(), std::slice::from_ref(&path));
        assert_eq!(is_held(&path), Some(true));
        assert_eq!(is_held(&dir.path().join("nothing")), None);
    }

    #[test]
    fn every_address_has_a_name_of_its_own() {
        let name = |address: &str| {
            let path = token_file(Path::new(""), address.parse().expect("an address"));
            path.to_str().expect("text").to_owned()
        };
        assert_eq!(name("127.0.0.2:80"), "operator-127.0.0.2-80.token");
        assert_eq!(name("0.0.0.0:80"), "operator-0.0.0.0-80.token");
        assert_eq!(name("[::1]:80"), "operator-::1-80.token");
        assert_eq!(name("[::ffff:127.0.0.1]:80"), "operator-127.0.0.1-80.token");
    }
}
