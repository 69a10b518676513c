//! Files that systemd hands to a service: `credential:NAME` in place of a path.
//!
//! A unit says `LoadCredential=NAME:PATH` (or `LoadCredentialEncrypted=`), and the service finds the file in the folder
//! that `$CREDENTIALS_DIRECTORY` names, readable by nobody else, wherever the original lies and whoever owns it.

use std::env;
use std::path::PathBuf;

use seenit_ledger::private::CREDENTIALS_FOLDER;

use super::{Config, Wrong};

/// What a path begins with that is the name of a credential.
const PREFIX: &str = "credential:";

impl Config {
    /// Puts the paths of credentials in place of their names.
    pub(super) fn find_credentials(&mut self) -> Result<(), Wrong> {
        let folder = env::var_os(CREDENTIALS_FOLDER).map(PathBuf::from);
        let paths = [
            ("tls.certificate", &mut self.tls.certificate),
            ("tls.key", &mut self.tls.key),
            ("network.credentials", &mut self.network.credentials),
            ("network.ca", &mut self.network.ca),
        ];
        for (key, path) in paths {
            *path = path.take().map(|path| found(key, path, folder.as_ref())).transpose()?;
        }
        Ok(())
    }
}

/// The path that a value stands for.
fn found(key: &str, path: PathBuf, folder: Option<&PathBuf>) -> Result<PathBuf, Wrong> {
    let Some(name) = path.to_str().and_then(|path| path.strip_prefix(PREFIX)) else { return Ok(path) };
    let wrong = |why| Err(Wrong::of(key, format!("{path:?}"), why));
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return wrong(
            "is no name of a credential: the ID before the colon in the unit's LoadCredential=ID:PATH",
        );
    }
    match folder {
        Some(folder) => Ok(folder.join(name)),
        None => wrong(
            "$CREDENTIALS_DIRECTORY is not set: systemd sets it for a service whose unit has LoadCredential=ID:PATH",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths_and_paths_stay() {
        let folder = PathBuf::from("/run/credentials/seenit.service");
        let of = |path: &str, folder: Option<&PathBuf>| found("tls.key", path.into(), folder);
        assert_eq!(of("credential:key", Some(&folder)), Ok(folder.join("key")));
        assert_eq!(of("/etc/key.pem", None), Ok("/etc/key.pem".into()));
        for name in ["credential:", "credential:../key", "credential:a/b", "credential:.."] {
            let wrong = of(name, Some(&folder)).expect_err(name).to_string();
            assert!(wrong.contains(name) && wrong.contains("is no name of a credential"), "{wrong}");
        }
        let wrong = of("credential:key", None).expect_err("no folder").to_string();
        assert!(
            wrong.starts_with("tls.key = \"credential:key\": $CREDENTIALS_DIRECTORY is not set"),
            "{wrong}"
        );
    }
}
