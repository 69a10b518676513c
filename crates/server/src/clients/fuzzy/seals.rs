//! The keys of this server, and what they have in common with the clients that asked lately.
//!
//! Clients choose a key of their own whenever they start: they are known by the key of ours that they seal for. One is
//! for anybody; every account may have another.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use seenit_ledger::private::{self as private_file, PrivateError};
use seenit_wire::fuzzy::{Command, PublicKey, Sealed, SecretKey, SharedKey};

use crate::error::StartError;
use crate::secrets::{Protocol, Secret, Secrets, random_key};

/// The secret key in the data folder, as `rspamadm keypair` would print it.
const FILE: &str = "fuzzy.key";

/// More than a key and the end of its line is no key.
const FILE_BYTES_MAX: u64 = 100;

/// Clients that are remembered, at 200 bytes each: one for every worker of some thousands of machines.
const CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 14).expect("not zero");

/// Opens sealed commands.
pub(super) struct Seals {
    anybody: SecretKey,
    known: Mutex<Known>,
}

/// The keys of accounts, and the clients that asked lately.
struct Known {
    /// How often secrets had been changed when the keys were read.
    changes: Option<u64>,
    /// By the name of the key: it is looked for before anything is charged, so it must cost little.
    accounts: HashMap<[u8; 8], (SecretKey, Arc<str>)>,
    clients: LruCache<([u8; 8], PublicKey), Opener>,
}

impl Known {
    /// The key of ours with this name, and whose it is. As with rspamd, an unknown name means the key for anybody.
    fn key_of(&self, id: [u8; 8], anybody: &SecretKey) -> (SecretKey, Option<Arc<str>>) {
        let account = self.accounts.get(&id);
        account.map_or_else(|| (anybody.clone(), None), |(key, name)| (key.clone(), Some(name.clone())))
    }
}

/// What opens a client's commands, and the account that it asks for.
#[derive(Clone)]
pub(super) struct Opener {
    pub(super) key: SharedKey,
    pub(super) account: Option<Arc<str>>,
}

impl Seals {
    pub(super) fn new(anybody: SecretKey) -> Self {
        let known = Known { changes: None, accounts: HashMap::new(), clients: LruCache::new(CLIENTS_MAX) };
        Seals { anybody, known: Mutex::new(known) }
    }

    /// The command, and what it was opened with. Before a client that is not remembered costs a key agreement, `may` is
    /// asked, with the account whose key it claims to seal for.
    pub(super) fn open(
        &self,
        sealed: &Sealed<'_>,
        secrets: &Secrets,
        may: impl FnOnce(Option<&str>) -> bool,
    ) -> Option<(Command, Opener)> {
        let client = (sealed.key_id, sealed.client);
        let (remembered, changes) = {
            let mut known = self.known(secrets);
            (known.clients.get(&client).cloned(), known.changes)
        };
        if let Some(opener) = remembered {
            return Some((sealed.open(&opener.key).ok()?, opener));
        }
        let (ours, account) = self.known(secrets).key_of(sealed.key_id, &self.anybody);
        if !may(account.as_deref()) {
            return None;
        }
        let opener = Opener { key: ours.share(&sealed.client).ok()?, account };
        let command = sealed.open(&opener.key).ok()?;
        // Only who can seal is remembered: garbage drives nobody out. A key that was taken away meanwhile is not.
        let mut known = self.known(secrets);
        if known.changes == changes {
            known.clients.put(client, opener.clone());
        }
        Some((command, opener))
    }

    /// What is known, without what an operator has changed since.
    fn known(&self, secrets: &Secrets) -> MutexGuard<'_, Known> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = secrets.changes(Protocol::Fuzzy);
        if known.changes != Some(changes) {
            let keys = secrets.of_protocol(Protocol::Fuzzy);
            let key_of = |text: Secret| SecretKey::from_text(std::str::from_utf8(&text).ok()?).ok();
            let keys = keys.into_iter().filter_map(|(name, text)| Some((key_of(text)?, name.into())));
            known.accounts = keys.map(|(key, name)| (key.public().id(), (key, name))).collect();
            known.clients.clear();
            known.changes = Some(changes);
        }
        known
    }
}

/// The secret key of the data folder, which is made where it is missing.
pub(crate) fn key_in(data: &Path) -> Result<SecretKey, StartError> {
    let path = data.join(FILE);
    if let Some(bytes) = private_file::read(&path, FILE_BYTES_MAX)? {
        let key = SecretKey::from_text(String::from_utf8_lossy(&bytes).trim_end());
        return Ok(key.map_err(|error| PrivateError::Damaged { path, why: error.to_string() })?);
    }
    let key = random_key().map_err(|error| StartError::System(error.to_string()))?;
    private_file::write(&path, (key.to_text() + "\n").as_bytes())?;
    Ok(key)
}
