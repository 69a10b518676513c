//! The protocols whose accounts have secrets, and what each takes for one.

use std::fmt;

use seenit_wire::dcc::{Password, PasswordError};
use seenit_wire::fuzzy::{KeyError, SecretKey};
use serde::{Deserialize, Serialize};

/// Accounts of DCC's clients are called so, and their number: requests carry a number, not a name.
pub const DCC_NAME: &str = "dcc-";

/// Random bytes of a secret that nobody chose: 32 letters and digits, which is as much as DCC has room for.
const RANDOM_BYTES: usize = 16;

/// An older protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Pyzor: a key that requests are signed with.
    Pyzor,
    /// Razor: a password that answers a challenge.
    Razor,
    /// DCC: a password that requests are signed with.
    Dcc,
    /// rspamd's fuzzy storage: a key of this server, for this account alone.
    Fuzzy,
}

/// A secret that its protocol could not use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// Requests of DCC name a number.
    #[error("the account of DCC's client 32768 is called {DCC_NAME}32768: {0:?} is not of that form")]
    DccName(String),
    /// It cannot be typed into the client's files.
    #[error("a secret for {0} has letters, digits and signs of ASCII, and no blanks")]
    Text(Protocol),
    /// A DCC password.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// A key of rspamd.
    #[error("a secret for fuzzy is a secret key as rspamadm keypair prints it: {0}")]
    Key(#[from] KeyError),
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 4] = [Protocol::Pyzor, Protocol::Razor, Protocol::Dcc, Protocol::Fuzzy];

    /// Its name, everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Pyzor => "pyzor",
            Protocol::Razor => "razor",
            Protocol::Dcc => "dcc",
            Protocol::Fuzzy => "fuzzy",
        }
    }

    /// The protocol with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == name)
    }

    /// Whether requests carry no name, so that no two accounts may have the same secret.
    pub(super) fn is_known_by_its_secret(self) -> bool {
        self == Protocol::Fuzzy
    }

    /// A secret that nobody can guess.
    pub fn random_secret(self) -> Result<String, getrandom::Error> {
        if self == Protocol::Fuzzy {
            return random_key().map(|key| key.to_text());
        }
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(const_hex::encode(bytes))
    }

    /// Refuses a secret that the clients of the protocol could not use.
    pub(crate) fn check(self, account: &str, secret: &[u8]) -> Result<(), Unfit> {
        let text = std::str::from_utf8(secret).ok().filter(|text| text.bytes().all(|b| b.is_ascii_graphic()));
        let text = text.ok_or(Unfit::Text(self))?;
        match self {
            Protocol::Pyzor | Protocol::Razor => {}
            Protocol::Dcc => {
                let number = account.strip_prefix(DCC_NAME).and_then(|number| number.parse::<u32>().ok());
                if number.is_none_or(|number| format!("{DCC_NAME}{number}") != account) {
                    return Err(Unfit::DccName(account.to_owned()));
                }
                Password::new(text)?;
            }
            Protocol::Fuzzy => {
                SecretKey::from_text(text)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A new secret key of rspamd's fuzzy storage.
pub(crate) fn random_key() -> Result<SecretKey, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(SecretKey::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_secrets_fit_their_protocols_and_differ() {
        for protocol in Protocol::ALL {
            let one = protocol.random_secret().expect("random bits");
            assert_ne!(one, protocol.random_secret().expect("random bits"));
            protocol.check("dcc-32768", one.as_bytes()).expect("fits");
            assert_eq!(Protocol::from_name(protocol.as_str()), Some(protocol));
        }
        assert_eq!(Protocol::from_name("nilsimsa"), None);
    }

    #[test]
    fn secrets_that_clients_could_not_use_are_refused() {
        let refused = |protocol: Protocol, account, secret: &str| {
            protocol.check(account, secret.as_bytes()).expect_err("refused").to_string()
        };
        assert!(refused(Protocol::Pyzor, "mx", "with blank").contains("no blanks"));
        assert!(refused(Protocol::Dcc, "mx", "secret").contains("\"mx\" is not of that form"));
        assert!(refused(Protocol::Dcc, "dcc-007", "secret").contains("\"dcc-007\""));
        assert!(refused(Protocol::Dcc, "dcc-7", &"x".repeat(33)).contains("not 33"));
        assert!(refused(Protocol::Fuzzy, "mx", "secret").contains("rspamadm keypair"));
    }
}
