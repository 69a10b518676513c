//! Secrets of older protocols, which must be known in full to check a digest over them.
//!
//! They are sealed (XChaCha20-Poly1305) under a key in a file of its own: a copy of one file tells nothing. The
//! account and the protocol are sealed in, so that a value moved to another's place does not open. An API token is
//! never stored here.

mod protocol;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use seenit_ledger::private::{self as private_file, PrivateError};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::accounts::{ACCOUNTS_MAX, Accounts};

pub(crate) use protocol::random_key;
pub use protocol::{DCC_NAME, Protocol, Unfit};

/// A secret that was opened. Overwritten when it is dropped, and never printed.
#[derive(PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The sealed secrets in the data folder.
const FILE: &str = "secrets.json";

/// The key they are sealed under.
const KEY_FILE: &str = "secrets.key";

/// What is wrong where only the key is gone, and what to do.
const KEY_LOST: &str = "it is missing, but there is a secrets.json; without the key no secret in it can be read. Put \
    secrets.key back from a backup, or move secrets.json away and give the accounts new secrets \
    (seenit account secret)";

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

/// The longest secret: protocols with longer ones would send keys, not passwords.
pub const SECRET_BYTES_MAX: usize = 256;

/// Secrets in all: a few protocols for every account.
pub const SECRETS_MAX: usize = 4 * ACCOUNTS_MAX;

/// A sealed secret takes under 1,000 bytes in the file.
const FILE_BYTES_MAX: u64 = 1000 * SECRETS_MAX as u64;

/// A secret that cannot be kept or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// It would let whoever learns it use the API.
    #[error(
        "cannot use this secret: it is the API token of {0}; choose another one, or let the server make one"
    )]
    IsToken(String),
    /// Two accounts could not be told apart.
    #[error("this secret is {0}'s already, and accounts of this protocol are known by their secrets alone")]
    IsAnothers(String),
    /// Empty, or too long.
    #[error("a secret has 1 to {SECRET_BYTES_MAX} bytes, not {0}")]
    Length(usize),
    /// The protocol could not use it.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// No more room.
    #[error(
        "cannot keep another secret: there are {SECRETS_MAX}, the most there can be; remove one with \
         `seenit account secret --remove`"
    )]
    TooMany,
    /// The key does not open it: one of the two files is another's.
    #[error(
        "cannot read the secret of {account} for {protocol}: it was sealed with another key; make a new one with \
         `seenit account secret {account} {protocol}`"
    )]
    Sealed {
        /// The account.
        account: String,
        /// The protocol.
        protocol: Protocol,
    },
    /// The system gave no random bits.
    #[error("no random bits: {0}")]
    Random(#[from] getrandom::Error),
    /// A file.
    #[error(transparent)]
    File(#[from] PrivateError),
}

/// The secrets of a site. Looked up without locks; changed by one at a time.
pub struct Secrets {
    file: PathBuf,
    cipher: XChaCha20Poly1305,
    sealed: ArcSwap<Sealed>,
    changing: Mutex<()>,
    /// How often those of each protocol were changed.
    changes: [AtomicU64; Protocol::ALL.len()],
}

/// By account, then by protocol: nonce and sealed bytes, in hexadecimal.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Sealed(BTreeMap<String, BTreeMap<Protocol, String>>);

impl Secrets {
    /// Reads the secrets in a folder. The key is made when there is none.
    pub fn open(folder: &Path) -> Result<Self, SecretError> {
        let file = folder.join(FILE);
        let sealed = match private_file::read(&file, FILE_BYTES_MAX)? {
            None => Sealed::default(),
            Some(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| damaged(&file, error.to_string()))?
            }
        };
        let key_file = folder.join(KEY_FILE);
        if !sealed.0.is_empty() && !key_file.exists() {
            return Err(damaged(&key_file, KEY_LOST.to_owned()).into());
        }
        let key = read_or_make_key(&key_file)?;
        let cipher = XChaCha20Poly1305::new(key.as_slice().try_into().expect("a key has as many bytes"));
        let sealed = ArcSwap::from_pointee(sealed);
        Ok(Secrets { file, cipher, sealed, changing: Mutex::new(()), changes: Default::default() })
    }

    /// Keeps a secret; durable when it returns. An API token is refused.
    pub fn put(
        &self,
        account: &str,
        protocol: Protocol,
        secret: &[u8],
        tokens: &Accounts,
    ) -> Result<(), SecretError> {
        protocol.check(account, secret)?;
        if !(1..=SECRET_BYTES_MAX).contains(&secret.len()) {
            return Err(SecretError::Length(secret.len()));
        }
        if let Some(holder) = tokens.holder(secret) {
            return Err(SecretError::IsToken(holder.name.clone()));
        }
        let sealed = self.seal(account, protocol, secret)?;
        self.change(&[protocol], |all| {
            if protocol.is_known_by_its_secret() {
                self.refuse_anothers(all, account, protocol, secret)?;
            }
            if all.0.values().map(BTreeMap::len).sum::<usize>() >= SECRETS_MAX {
                return Err(SecretError::TooMany);
            }
            all.0.entry(account.to_owned()).or_default().insert(protocol, sealed);
            Ok(())
        })
    }

    /// The secret of an account for a protocol.
    pub fn get(&self, account: &str, protocol: Protocol) -> Result<Option<Secret>, SecretError> {
        let all = self.sealed.load();
        let sealed = all.0.get(account).and_then(|of_account| of_account.get(&protocol));
        sealed.map(|sealed| self.unseal(account, protocol, sealed)).transpose()
    }

    /// The accounts with a secret for a protocol, and the secrets. One that does not open is nobody's.
    pub fn of_protocol(&self, protocol: Protocol) -> Vec<(String, Secret)> {
        let all = self.sealed.load();
        let sealed = all.0.iter().filter_map(|(account, secrets)| Some((account, secrets.get(&protocol)?)));
        let opened = sealed.filter_map(|(account, sealed)| {
            let secret = self.unseal(account, protocol, sealed);
            let secret = secret.inspect_err(
                |error| tracing::error!(%error, "a secret cannot be opened: no account can use it"),
            );
            Some((account.clone(), secret.ok()?))
        });
        opened.collect()
    }

    /// The protocols that an account has secrets for.
    pub fn protocols_of(&self, account: &str) -> Vec<Protocol> {
        let all = self.sealed.load();
        all.0.get(account).map(|secrets| secrets.keys().copied().collect()).unwrap_or_default()
    }

    /// How often secrets of a protocol were changed since the start: what was made from them is old when this has
    /// grown.
    pub fn changes(&self, protocol: Protocol) -> u64 {
        self.changes[protocol as usize].load(Acquire)
    }

    /// Forgets the secret of an account for a protocol. Says whether there was one.
    pub fn remove(&self, account: &str, protocol: Protocol) -> Result<bool, SecretError> {
        let mut was_there = false;
        self.change(&[protocol], |all| {
            if let Some(of_account) = all.0.get_mut(account) {
                was_there = of_account.remove(&protocol).is_some();
                all.0.retain(|_, secrets| !secrets.is_empty());
            }
            Ok(())
        })?;
        Ok(was_there)
    }

    /// Forgets all secrets of an account.
    pub fn remove_account(&self, account: &str) -> Result<(), SecretError> {
        let protocols = self.protocols_of(account);
        if protocols.is_empty() {
            return Ok(());
        }
        self.change(&protocols, |all| {
            all.0.remove(account);
            Ok(())
        })
    }

    fn refuse_anothers(
        &self,
        all: &Sealed,
        account: &str,
        protocol: Protocol,
        secret: &[u8],
    ) -> Result<(), SecretError> {
        for (other, secrets) in all.0.iter().filter(|(other, _)| *other != account) {
            let sealed = secrets.get(&protocol);
            if sealed
                .is_some_and(|sealed| self.unseal(other, protocol, sealed).is_ok_and(|its| *its == *secret))
            {
                return Err(SecretError::IsAnothers(other.clone()));
            }
        }
        Ok(())
    }

    fn seal(&self, account: &str, protocol: Protocol, secret: &[u8]) -> Result<String, SecretError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)?;
        let place = place(account, protocol);
        let sealed = self.cipher.encrypt(&nonce.into(), Payload { msg: secret, aad: &place });
        let sealed = sealed.expect("a short secret is within the cipher's limits");
        Ok(const_hex::encode([nonce.as_slice(), &sealed].concat()))
    }

    fn unseal(&self, account: &str, protocol: Protocol, sealed: &str) -> Result<Secret, SecretError> {
        let open = || {
            let bytes = const_hex::decode(sealed).ok()?;
            let (nonce, msg) = bytes.split_first_chunk::<NONCE_BYTES>()?;
            self.cipher.decrypt(nonce.into(), Payload { msg, aad: &place(account, protocol) }).ok()
        };
        let failed = || SecretError::Sealed { account: account.to_owned(), protocol };
        open().map(|secret| Secret(Zeroizing::new(secret))).ok_or_else(failed)
    }

    /// Changes the secrets of protocols: first on disk, then here.
    fn change(
        &self,
        protocols: &[Protocol],
        by: impl FnOnce(&mut Sealed) -> Result<(), SecretError>,
    ) -> Result<(), SecretError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Sealed::clone(&self.sealed.load());
        by(&mut changed)?;
        let bytes = serde_json::to_vec(&changed).map_err(|error| damaged(&self.file, error.to_string()))?;
        private_file::write(&self.file, &bytes)?;
        self.sealed.store(Arc::new(changed));
        for &protocol in protocols {
            self.changes[protocol as usize].fetch_add(1, Release);
        }
        Ok(())
    }
}

/// What is sealed in: lengths first, so that no two pairs of names give the same bytes.
fn place(account: &str, protocol: Protocol) -> Vec<u8> {
    let length = (account.len() as u64).to_le_bytes();
    [length.as_slice(), account.as_bytes(), protocol.as_str().as_bytes()].concat()
}

fn read_or_make_key(path: &Path) -> Result<Zeroizing<[u8; KEY_BYTES]>, SecretError> {
    if let Some(bytes) = private_file::read(path, KEY_BYTES as u64)? {
        let bytes = Zeroizing::new(bytes);
        let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).map(Zeroizing::new);
        let length = bytes.len();
        return key
            .map_err(|_| damaged(path, format!("has {length} bytes, and a key has {KEY_BYTES}")).into());
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    getrandom::fill(key.as_mut_slice())?;
    private_file::write(path, key.as_slice())?;
    Ok(key)
}

fn damaged(path: &Path, why: String) -> PrivateError {
    PrivateError::Damaged { path: path.to_owned(), why }
}

#[cfg(test)]
mod tests;
