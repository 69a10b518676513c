//! The file of accounts: JSON, so that an operator can read it.

use std::path::Path;

use seenit_ledger::error::WriteError;
use seenit_ledger::private::{self as private_file, PrivateError};
use seenit_ledger::reporter::ReporterId;
use serde::{Deserialize, Serialize};

use super::{ACCOUNTS_MAX, Account, AccountError, Roles};
use crate::config::Limits;
use crate::limits::Budget;
use crate::token::TokenHash;

/// Its name in the data folder.
pub(super) const FILE: &str = "accounts.json";

/// The form of the file that this code writes and reads.
const VERSION: u32 = 1;

/// An account takes under 300 bytes.
const FILE_BYTES_MAX: u64 = 300 * ACCOUNTS_MAX as u64;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    accounts: Vec<Stored>,
}

/// An account as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    name: String,
    roles: Roles,
    token_sha256: String,
    created: u64,
}

impl Stored {
    pub(super) fn into_account(
        self,
        limits: &Limits,
        reporter: &mut impl FnMut(&str) -> Result<ReporterId, WriteError>,
    ) -> Result<(TokenHash, Account), AccountError> {
        let hash = TokenHash::from_hex(&self.token_sha256);
        let hash =
            hash.ok_or_else(|| AccountError::File(damaged(Path::new(FILE), "a hash is no SHA-256")))?;
        let reporter = reporter(&self.name)?;
        let budget = Budget::of_account(limits);
        Ok((hash, Account { name: self.name, roles: self.roles, reporter, created: self.created, budget }))
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<Stored>, PrivateError> {
    let Some(bytes) = private_file::read(path, FILE_BYTES_MAX)? else {
        return Ok(Vec::new());
    };
    let file: File = serde_json::from_slice(&bytes).map_err(|error| damaged(path, &error.to_string()))?;
    if file.version == VERSION {
        Ok(file.accounts)
    } else {
        Err(damaged(path, &format!("is of version {}, and this seenit reads {VERSION}", file.version)))
    }
}

pub(super) fn write<'a>(
    path: &Path,
    accounts: impl Iterator<Item = (TokenHash, &'a Account)>,
) -> Result<(), PrivateError> {
    let stored = |(hash, account): (TokenHash, &Account)| Stored {
        name: account.name.clone(),
        roles: account.roles,
        token_sha256: hash.to_hex(),
        created: account.created,
    };
    let file = File { version: VERSION, accounts: accounts.map(stored).collect() };
    let bytes = serde_json::to_vec_pretty(&file).map_err(|error| damaged(path, &error.to_string()))?;
    private_file::write(path, &bytes)
}

fn damaged(path: &Path, why: &str) -> PrivateError {
    PrivateError::Damaged { path: path.to_owned(), why: why.to_owned() }
}
