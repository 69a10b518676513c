//! The key of this server, and what it has in common with the clients that asked lately.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use seenit_wire::fuzzy::{Command, PublicKey, Sealed, SecretKey, SharedKey};

use crate::private_file::{self, PrivateError};
use crate::server::StartError;

/// The secret key in the data folder, as `rspamadm keypair` would print it.
const FILE: &str = "fuzzy.key";

/// More than a key and the end of its line is no key.
const FILE_BYTES_MAX: u64 = 100;

/// Clients that are remembered, at 100 bytes each: one for every worker of some thousands of machines.
const CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 14).expect("not zero");

/// Opens sealed commands.
pub(super) struct Seals {
    key: SecretKey,
    shared: Mutex<LruCache<PublicKey, SharedKey>>,
}

impl Seals {
    pub(super) fn new(key: SecretKey) -> Self {
        Seals { key, shared: Mutex::new(LruCache::new(CLIENTS_MAX)) }
    }

    /// The command, and what it was opened with. `may` is asked before a client that is not remembered costs anything.
    pub(super) fn open(
        &self,
        sealed: &Sealed<'_>,
        may: impl FnOnce() -> bool,
    ) -> Option<(Command, SharedKey)> {
        if let Some(key) = self.lock().get(&sealed.client).cloned() {
            return Some((sealed.open(&key).ok()?, key));
        }
        if !may() {
            return None;
        }
        let key = self.key.share(&sealed.client).ok()?;
        let command = sealed.open(&key).ok()?;
        // Only who can seal is remembered: garbage drives nobody out.
        self.lock().put(sealed.client, key.clone());
        Some((command, key))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LruCache<PublicKey, SharedKey>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The secret key of the data folder, which is made where it is missing.
pub(crate) fn key_in(data: &Path) -> Result<SecretKey, StartError> {
    let path = data.join(FILE);
    if let Some(bytes) = private_file::read(&path, FILE_BYTES_MAX)? {
        let key = SecretKey::from_text(String::from_utf8_lossy(&bytes).trim_end());
        return Ok(key.map_err(|error| PrivateError::Damaged { path, why: error.to_string() })?);
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| StartError::System(error.to_string()))?;
    let key = SecretKey::from_bytes(bytes);
    private_file::write(&path, (key.to_text() + "\n").as_bytes())?;
    Ok(key)
}
