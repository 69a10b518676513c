//! One TOML file with every key; a missing key has its default, an unknown one is an error that names its line.

mod credential;
mod document;
mod files;
mod ledger_keys;
mod listen;
mod network;
mod place;
mod plain_words;
mod section;
mod sections;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use seenit_filter::readable;
use seenit_ledger::config::LedgerConfig;
use serde::{Deserialize, Serialize};

pub use files::check_data_folder;
pub use listen::Listen;
pub use network::Network;
pub use sections::{
    Check, Clients, DCC_PORT, Dcc, FUZZY_PORT, Format, Fuzzy, HTTP_PORT, Http, Level, Limits, Log,
    PYZOR_PORT, Pyzor, RAZOR_PORT, Razor, Tls,
};

/// The most bytes of a configuration file: one with every key and its comment has under 20 kB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a site chooses. `docs/reference/configuration.md` explains each key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is remembered and how it is judged.
    pub ledger: LedgerConfig,
    /// Where HTTP listens and whom it answers.
    pub http: Http,
    /// How checks are answered.
    pub check: Check,
    /// What holds for several of the older protocols.
    pub clients: Clients,
    /// Where Pyzor's clients are answered.
    pub pyzor: Pyzor,
    /// Where Razor's clients are answered.
    pub razor: Razor,
    /// Where DCC's clients are answered, and how.
    pub dcc: Dcc,
    /// Where the fuzzy checks of rspamd are answered.
    pub fuzzy: Fuzzy,
    /// The certificate of listeners beyond loopback.
    pub tls: Tls,
    /// How much anybody may ask and say.
    pub limits: Limits,
    /// What is logged.
    pub log: Log,
    /// The network of sites that this one belongs to.
    pub network: Network,
}

/// A configuration that is refused.
#[derive(Debug)]
pub struct ConfigError {
    /// The file, where it came from one.
    pub file: Option<PathBuf>,
    /// The line, counted from 1, where there is one to blame.
    pub line: Option<usize>,
    /// What is wrong, the key included.
    pub why: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", file.display())?;
        }
        match (self.line, &self.file) {
            (Some(line), Some(_)) => write!(f, "{line}: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            (None, Some(_)) => write!(f, " ")?,
            (None, None) => (),
        }
        f.write_str(&self.why)
    }
}

impl std::error::Error for ConfigError {}

impl ConfigError {
    fn at(line: Option<usize>, why: impl Into<String>) -> Self {
        ConfigError { file: None, line, why: why.into() }
    }

    fn in_file(mut self, path: &Path) -> Self {
        self.file = Some(path.to_owned());
        self
    }
}

impl Config {
    /// Reads a file and checks every value.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path).map_err(|error| ConfigError::at(None, error.to_string()).in_file(path))?;
        Config::parse(&text).map_err(|error| error.in_file(path))
    }

    /// Reads text and checks every value.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut config: Config = toml::from_str(text).map_err(|error| match gone(text) {
            Some(wrong) => place::of_key(text, &wrong),
            None => place::of_error(text, &error),
        })?;
        config.find_credentials().map_err(|wrong| place::of_key(text, &wrong))?;
        config.check().map_err(|wrong| place::of_key(text, &wrong))?;
        Ok(config)
    }

    /// Refuses values that make no sense: the first of them.
    pub fn check(&self) -> Result<(), Wrong> {
        self.ledger.check().map_err(|error| Wrong {
            key: format!("ledger.{}", error.key),
            value: error.value,
            why: error.why.to_owned(),
        })?;
        self.http.check()?;
        self.check.check()?;
        self.dcc.check()?;
        self.fuzzy.check()?;
        self.limits.check()?;
        self.tls.check()?;
        self.network.check()?;
        self.check_listeners()
    }

    /// Nobody's token crosses a network in the clear unless an operator said so in as many words.
    fn check_listeners(&self) -> Result<(), Wrong> {
        let beyond = self.http.listen.iter().find(|address| !address.ip().is_loopback());
        match beyond {
            Some(address) if !self.tls.is_set() && !self.http.insecure_plaintext => {
                let why = "is beyond loopback, which needs [tls] certificate and key \
                    (or insecure_plaintext = true, if something else encrypts)";
                Err(Wrong::of("http.listen", address, why))
            }
            _ => Ok(()),
        }
    }

    /// Opens every file that the configuration names, and says all that is wrong with them. `path` is where it was read
    /// from, so that each error has its line.
    pub fn check_files(&self, path: &Path) -> Vec<ConfigError> {
        let text = read_text(path).unwrap_or_default();
        files::check(self).iter().map(|wrong| place::of_key(&text, wrong).in_file(path)).collect()
    }

    /// Every key with its default, each as a comment below its explanation: a file to start from.
    pub fn documented() -> String {
        document::documented()
    }

    /// Every key with its default and its explanation, in the order of the file.
    pub fn keys() -> Vec<Key> {
        document::keys()
    }
}

/// One key of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The section it is in.
    pub section: &'static str,
    /// Its name.
    pub name: String,
    /// Its default, as TOML; nothing where it is unset.
    pub default: Option<String>,
    /// What it means.
    pub text: String,
}

/// A value that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {why}")]
pub struct Wrong {
    /// The key, with its section.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

impl Wrong {
    fn of(key: &str, value: impl fmt::Display, why: &str) -> Self {
        Wrong { key: key.to_owned(), value: value.to_string(), why: why.to_owned() }
    }
}

/// A key that there was once, with what to do instead.
fn gone(text: &str) -> Option<Wrong> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let value = table.get("ledger")?.get("local_weight")?;
    let why = "this key is gone: take the line away, and set the weight of this machine's users, \
        other than root and whom the server runs as, with `seenit account weight local N`";
    Some(Wrong::of("ledger.local_weight", value, why))
}

fn read_text(path: &Path) -> io::Result<String> {
    let bytes = fs::metadata(path)?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(io::Error::other(format!(
            "has {}, and a configuration at most {}",
            readable::bytes(bytes),
            readable::bytes(FILE_BYTES_MAX)
        )));
    }
    String::from_utf8(fs::read(path)?)
        .map_err(|_| io::Error::other("it is not UTF-8 text: save it in that encoding"))
}

#[cfg(test)]
mod tests;
