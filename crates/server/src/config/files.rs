//! The files that a configuration names: opened and read as the server would at its start.

use std::path::Path;

use seenit_ledger::private::{self as private_file, PrivateError};

use super::{Config, Wrong};
use crate::broker;
use crate::tls::{self, PairFiles, TlsError};
use crate::whitelist;

pub(super) fn check(config: &Config) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    let mut add = |key: &str, path: &Path, why: &str| {
        // The key's value is said already: what is wrong with it comes without the path.
        let path = path.display().to_string();
        let why = why.strip_prefix("the broker: ").unwrap_or(why);
        let why = why.strip_prefix(&format!("{path}: ")).unwrap_or(why);
        wrong.push(Wrong::of(key, format!("{path:?}"), why));
    };
    if let Some(files) = config.tls.files() {
        let PairFiles { certificate, key } = files;
        let read = [
            ("tls.certificate", certificate, tls::check_certificate(certificate)),
            ("tls.key", key, tls::check_key(key)),
        ];
        let mut is_readable = true;
        for (name, path, read) in read {
            if let Err(error) = read {
                is_readable = false;
                add(name, path, &error.to_string());
            }
        }
        if is_readable && let Err(error) = tls::acceptor(files) {
            let why = match &error {
                TlsError::Pair(why) => format!("is not the key of {}: {why}", certificate.display()),
                TlsError::File { .. } => error.to_string(),
            };
            add("tls.key", key, &why);
        }
    }
    if let Some(path) = &config.dcc.whitelist
        && let Err(error) = whitelist::check(path)
    {
        add("dcc.whitelist", path, &error.to_string());
    }
    if let Some(path) = &config.network.credentials
        && let Err(error) = broker::check_credentials(path)
    {
        add("network.credentials", path, &error.to_string());
    }
    if let Some(path) = &config.network.ca
        && let Err(error) = broker::check_authority(path)
    {
        add("network.ca", path, &error.to_string());
    }
    wrong
}

/// Refuses a data folder that the server could not use. One that is missing is made when the server starts.
pub fn check_data_folder(path: &Path) -> Result<(), PrivateError> {
    private_file::check_folder(path)
}
