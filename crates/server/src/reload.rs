//! SIGHUP: configuration, DCC's whitelist and certificate are read again while the server runs.
//!
//! All of it takes effect, or nothing: whatever is wrong leaves everything as it was, and one line of the log says so.

use std::path::PathBuf;
use std::sync::Arc;

use crate::backend::{Backend, Live};
use crate::config::{Config, ConfigError, Http, Wrong};
use crate::log;
use crate::memory::Memory;
use crate::tls::{Certificate, TlsError};
use crate::whitelist::ListError;

/// Keys that a reload changes, by section. All others hold from the next start on.
pub const KEYS: [(&str, &[&str]); 4] = [
    (
        "http",
        &["names", "trusted_proxies", "anonymous_beyond_loopback", "message_bytes_max", "body_bytes_max"],
    ),
    ("dcc", &["many_at", "whitelist"]),
    ("tls", &["certificate", "key"]),
    ("log", &["level"]),
];

/// Why nothing was reloaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReloadError {
    #[error(transparent)]
    File(#[from] ConfigError),
    #[error("{0}")]
    Value(#[from] Wrong),
    #[error("dcc.whitelist: {0}")]
    List(#[from] ListError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(
        "http.message_bytes_max = {message}, http.body_bytes_max = {body}: the memory of bodies is sized at start, and \
         the largest body may be half of it ({half} bytes): restart the server, or make it smaller"
    )]
    Body { message: u64, body: u64, half: u64 },
    #[error("cannot take up tls.certificate while running: the server was started without TLS; restart it")]
    NoTls,
    #[error(
        "tls.certificate and tls.key are not set any more, and the server shows a certificate: set them again, or \
         restart the server to serve without TLS"
    )]
    TlsGone,
    /// A configuration that was read can be written, and what was written can be read.
    #[error("the configuration cannot be put together: {0}")]
    Merge(String),
}

/// What is reloaded, and from where.
pub(crate) struct Reloader {
    file: Option<PathBuf>,
    /// The file as it was when the server started, but for what was reloaded since. Options of the command line are not
    /// in it.
    read: Config,
}

impl Reloader {
    pub(crate) fn new(file: Option<PathBuf>, read: Config) -> Self {
        Reloader { file, read }
    }

    /// Reads everything again, and says in the log what became of it.
    pub(crate) fn reload(&mut self, backend: &Backend, certificate: Option<&Certificate>) {
        match self.try_reload(backend, certificate) {
            Ok(later) => {
                if !later.is_empty() {
                    let keys = later.join(", ");
                    tracing::warn!(keys, "these keys were changed in the configuration and need a restart");
                }
                let file = self.file.as_ref().map(|file| file.display().to_string());
                tracing::info!(file, "reloaded: configuration, DCC's whitelist, certificate");
            }
            Err(error) => tracing::error!(%error, "not reloaded: everything stays as it was"),
        }
    }

    /// Returns the keys that were changed and do not take effect.
    fn try_reload(
        &mut self,
        backend: &Backend,
        certificate: Option<&Certificate>,
    ) -> Result<Vec<String>, ReloadError> {
        let new = self.file.as_deref().map(Config::read).transpose()?.unwrap_or_else(|| self.read.clone());
        let live = Live::of(merged(&backend.live().config, &new)?)?;
        live.config.check()?;
        check_bodies(&backend.memory, &live.config.http)?;
        let read = merged(&self.read, &new)?;
        let pair = match (certificate, live.config.tls.files()) {
            (Some(certificate), Some(files)) => Some((certificate, Certificate::read(files)?)),
            (Some(_), None) => return Err(ReloadError::TlsGone),
            (None, Some(_)) => return Err(ReloadError::NoTls),
            (None, None) => None,
        };
        let unchanged = differing(&read, &new)?;
        // Nothing can fail any more.
        if let Some((certificate, pair)) = pair {
            certificate.replace(pair);
        }
        log::set_level(live.config.log.level);
        backend.live.store(Arc::new(live));
        self.read = read;
        Ok(unchanged)
    }
}

/// Refuses bodies for which there could never be room.
fn check_bodies(memory: &Memory, http: &Http) -> Result<(), ReloadError> {
    if memory.fits(http) {
        return Ok(());
    }
    let half = memory.bytes_max() / 2;
    Err(ReloadError::Body { message: http.message_bytes_max, body: http.body_bytes_max, half })
}

/// A configuration with what a reload changes taken from another.
fn merged(running: &Config, new: &Config) -> Result<Config, ReloadError> {
    let mut merged = table(running)?;
    let new = table(new)?;
    for (section, keys) in KEYS {
        for &key in keys {
            let value = new.get(section).and_then(|table| table.get(key)).cloned();
            let table = merged.get_mut(section).and_then(toml::Value::as_table_mut);
            match (table, value) {
                (Some(table), Some(value)) => drop(table.insert(key.to_owned(), value)),
                // A key that has no value by default.
                (Some(table), None) => drop(table.remove(key)),
                (None, _) => {}
            }
        }
    }
    merged.try_into().map_err(|error: toml::de::Error| ReloadError::Merge(error.to_string()))
}

/// The keys that two configurations have different values of.
fn differing(one: &Config, other: &Config) -> Result<Vec<String>, ReloadError> {
    let one = table(one)?;
    let other = table(other)?;
    let mut names = Vec::new();
    for key in Config::keys() {
        let value = |table: &toml::Table| table.get(key.section)?.get(&key.name).cloned();
        if value(&one) != value(&other) {
            names.push(format!("{}.{}", key.section, key.name));
        }
    }
    Ok(names)
}

fn table(config: &Config) -> Result<toml::Table, ReloadError> {
    toml::Table::try_from(config).map_err(|error| ReloadError::Merge(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Config {
        Config::parse(text).expect("a configuration")
    }

    #[test]
    fn every_key_that_is_reloaded_is_one_of_the_configuration() {
        let all = Config::keys();
        for (section, keys) in KEYS {
            for name in keys {
                assert!(
                    all.iter().any(|key| key.section == section && key.name == *name),
                    "{section}.{name}"
                );
            }
        }
    }

    #[test]
    fn only_what_can_be_changed_is_and_the_rest_is_named() {
        let running =
            parsed("[http]\nnames = [\"old.example\"]\n[dcc]\nwhitelist = \"list\"\nserver_id = 200\n");
        let new = parsed(
            "[http]\nnames = [\"new.example\"]\n[ledger]\ncapacity = 2000\n[limits]\nburst_secs = 9\n",
        );
        let both = merged(&running, &new).expect("merged");
        assert_eq!((both.http.names, both.dcc.whitelist), (vec!["new.example".to_owned()], None));
        assert_eq!((both.dcc.server_id, both.ledger.capacity), (200, running.ledger.capacity));
        let later = differing(&merged(&running, &new).expect("merged"), &new).expect("tables");
        assert_eq!(later, ["ledger.capacity", "dcc.server_id", "limits.burst_secs"]);
    }

    #[test]
    fn bodies_that_would_never_find_room_are_refused_with_a_sentence() {
        let http = |bytes: u64| Http { message_bytes_max: bytes, ..Http::default() };
        let memory = Memory::new(&Http::default());
        check_bodies(&memory, &http(64 << 20)).expect("half of what there is");
        let refused = check_bodies(&memory, &http(1 << 30)).expect_err("too large").to_string();
        assert!(refused.contains("1073741824") && refused.contains("67108864"), "{refused}");
    }
}
