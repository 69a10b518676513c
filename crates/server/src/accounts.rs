//! Accounts: who may do what, kept in one private file. Of tokens only hashes are kept.

mod role;
mod stored;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use seenit_ledger::error::WriteError;
use seenit_ledger::private::PrivateError;
use seenit_ledger::reporter::{OPERATOR, ReporterId};

use crate::config::Limits;
use crate::limits::Budget;
use crate::token::{Token, TokenHash};

pub use role::{Role, Roles};

/// The most accounts of a site: thousands of mail servers, and a file that is still read at once.
pub const ACCOUNTS_MAX: usize = 10_000;

/// The longest name.
pub const NAME_CHARS_MAX: usize = 64;

/// Names that nobody may take: the ledger's own reporters.
pub const RESERVED: [&str; 2] = [LOCAL_NAME, OPERATOR_NAME];

/// Accounts that clients made for themselves are called so, and what they call themselves: nobody takes a name that an
/// operator might want.
pub const REGISTERED: &str = "razor.";

/// Accounts that clients made for themselves: half of the room, so that the operator's own always find some.
pub const REGISTERED_MAX: usize = ACCOUNTS_MAX / 2;

/// The name of this machine's users who are not the operator and have no account.
pub const LOCAL_NAME: &str = "local";

/// The name of whoever holds the operator token.
pub const OPERATOR_NAME: &str = "operator";

/// Somebody with a token.
#[derive(Debug)]
pub struct Account {
    /// Its name, and its reporter's.
    pub name: String,
    /// What it may do.
    pub roles: Roles,
    /// Its reporter in the ledger.
    pub reporter: ReporterId,
    /// When it was made: seconds since the Unix epoch.
    pub created: u64,
    pub(crate) budget: Budget,
}

impl Account {
    /// Whether it is the operator.
    pub fn is_operator(&self) -> bool {
        self.reporter == OPERATOR
    }
}

/// An account that cannot be made, found or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// A name with other characters, or of another length.
    #[error(
        "cannot add the account {0:?}: a name has 1 to 64 characters of a-z, 0-9, '.', '_' and '-'; choose \
         such a name"
    )]
    Name(String),
    /// A name of those who register.
    #[error(
        "cannot add the account {0:?}: names that begin with {REGISTERED} are for clients that register \
         themselves; choose another name"
    )]
    Registered(String),
    /// A name that is taken for good.
    #[error("cannot add the account {0:?}: the name is built in; choose another name")]
    Reserved(String),
    /// A name that somebody has.
    #[error(
        "cannot add the account {0:?}: it exists already; choose another name, or give it a new token with \
         `seenit account token`"
    )]
    Exists(String),
    /// A name that nobody has.
    #[error("there is no account {0:?}; `seenit account list` shows all accounts")]
    Unknown(String),
    /// Nothing it could do.
    #[error("cannot add an account without a role; give it one of check, report, revoke and admin")]
    NoRoles,
    /// No more room.
    #[error(
        "cannot add an account: there are {ACCOUNTS_MAX}, the most there can be; remove one with \
         `seenit account remove`"
    )]
    TooMany,
    /// The system gave no random bits.
    #[error("no random bits for a token: {0}")]
    Random(#[from] getrandom::Error),
    /// The file.
    #[error(transparent)]
    File(#[from] PrivateError),
    /// The ledger does not take its reporter.
    #[error(transparent)]
    Reporter(#[from] WriteError),
}

/// All accounts. Looked up without locks; changed by one at a time.
#[derive(Debug)]
pub struct Accounts {
    file: PathBuf,
    limits: Limits,
    table: ArcSwap<Table>,
    changing: Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    by_hash: HashMap<TokenHash, Arc<Account>>,
    by_name: BTreeMap<String, (TokenHash, Arc<Account>)>,
}

impl Table {
    fn put(&mut self, hash: TokenHash, account: Account) {
        let account = Arc::new(account);
        if let Some((old, _)) = self.by_name.insert(account.name.clone(), (hash, Arc::clone(&account))) {
            self.by_hash.remove(&old);
        }
        self.by_hash.insert(hash, account);
    }

    fn remove(&mut self, name: &str) -> bool {
        let removed = self.by_name.remove(name);
        removed.is_some_and(|(hash, _)| self.by_hash.remove(&hash).is_some())
    }
}

impl Accounts {
    /// Reads the accounts in a folder; `reporter` finds or makes the reporter of a name.
    pub fn open(
        folder: &Path,
        limits: &Limits,
        mut reporter: impl FnMut(&str) -> Result<ReporterId, WriteError>,
    ) -> Result<Self, AccountError> {
        let file = folder.join(stored::FILE);
        let mut table = Table::default();
        for account in stored::read(&file)? {
            let (hash, account) = account.into_account(limits, &mut reporter)?;
            table.put(hash, account);
        }
        let table = ArcSwap::from_pointee(table);
        Ok(Accounts { file, limits: limits.clone(), table, changing: Mutex::new(()) })
    }

    /// Where the accounts would be kept, if there is no such file.
    pub(crate) fn missing_file(&self) -> Option<&Path> {
        (!self.file.exists()).then_some(self.file.as_path())
    }

    /// Who holds this token.
    pub fn holder(&self, token: &[u8]) -> Option<Arc<Account>> {
        self.holder_of(TokenHash::of(token))
    }

    pub(crate) fn holder_of(&self, hash: TokenHash) -> Option<Arc<Account>> {
        self.table.load().by_hash.get(&hash).cloned()
    }

    /// The account with a name.
    pub fn get(&self, name: &str) -> Option<Arc<Account>> {
        self.table.load().by_name.get(name).map(|(_, account)| Arc::clone(account))
    }

    /// All of them by name, the operator included.
    pub fn list(&self) -> Vec<Arc<Account>> {
        self.table.load().by_name.values().map(|(_, account)| Arc::clone(account)).collect()
    }

    /// Lets the holder of this token be the operator, until the process ends.
    pub fn set_operator(&self, token: &Token, now_secs: u64) {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = Table::clone(&self.table.load());
        let account = self.account(OPERATOR_NAME, Roles::all(), OPERATOR, now_secs);
        table.put(token.hash(), account);
        self.table.store(Arc::new(table));
    }

    /// Refuses a name that an account cannot have, or that one has.
    pub fn check_new(&self, name: &str, roles: Roles) -> Result<(), AccountError> {
        if name.starts_with(REGISTERED) {
            return Err(AccountError::Registered(name.to_owned()));
        }
        self.check_free(name, roles)
    }

    /// The same for names of all sorts.
    pub(crate) fn check_free(&self, name: &str, roles: Roles) -> Result<(), AccountError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        if !(1..=NAME_CHARS_MAX).contains(&name.len()) || !name.chars().all(is_plain) {
            return Err(AccountError::Name(name.chars().take(2 * NAME_CHARS_MAX).collect()));
        }
        if RESERVED.contains(&name) {
            return Err(AccountError::Reserved(name.to_owned()));
        }
        if roles.is_empty() {
            return Err(AccountError::NoRoles);
        }
        let table = self.table.load();
        if table.by_name.contains_key(name) {
            return Err(AccountError::Exists(name.to_owned()));
        }
        if table.by_name.len() >= ACCOUNTS_MAX { Err(AccountError::TooMany) } else { Ok(()) }
    }

    /// Makes an account; durable when it returns. Gives its token, which nobody can ask for again.
    pub fn add(
        &self,
        name: &str,
        roles: Roles,
        reporter: ReporterId,
        now_secs: u64,
    ) -> Result<Token, AccountError> {
        let token = Token::random()?;
        self.change(|table| {
            self.check_new(name, roles)?;
            table.put(token.hash(), self.account(name, roles, reporter, now_secs));
            Ok(())
        })?;
        Ok(token)
    }

    /// Makes the account of a client that registered; durable when it returns. Its token is nobody's: an operator can
    /// give it another.
    pub fn register(
        &self,
        name: &str,
        roles: Roles,
        reporter: ReporterId,
        now_secs: u64,
    ) -> Result<(), AccountError> {
        let token = Token::random()?;
        self.change(|table| {
            self.check_free(name, roles)?;
            let registered = table.by_name.keys().filter(|name| name.starts_with(REGISTERED));
            if registered.count() >= REGISTERED_MAX {
                return Err(AccountError::TooMany);
            }
            table.put(token.hash(), self.account(name, roles, reporter, now_secs));
            Ok(())
        })
    }

    /// Gives an account a new token; the old one is worth nothing any more.
    pub fn renew(&self, name: &str) -> Result<Token, AccountError> {
        let token = Token::random()?;
        self.change(|table| {
            let known = table.by_name.get(name).map(|(_, account)| Arc::clone(account));
            let known = known.filter(|account| !account.is_operator());
            let known = known.ok_or_else(|| AccountError::Unknown(name.to_owned()))?;
            table.put(token.hash(), self.account(name, known.roles, known.reporter, known.created));
            Ok(())
        })?;
        Ok(token)
    }

    /// Takes an account away. What it said stays said: see `undo`.
    pub fn remove(&self, name: &str) -> Result<(), AccountError> {
        self.change(|table| {
            let is_removed = !RESERVED.contains(&name) && table.remove(name);
            if is_removed { Ok(()) } else { Err(AccountError::Unknown(name.to_owned())) }
        })
    }

    fn account(&self, name: &str, roles: Roles, reporter: ReporterId, created: u64) -> Account {
        let budget = Budget::of_account(&self.limits);
        Account { name: name.to_owned(), roles, reporter, created, budget }
    }

    /// Changes the table: first on disk, then for everybody.
    fn change(&self, by: impl FnOnce(&mut Table) -> Result<(), AccountError>) -> Result<(), AccountError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = Table::clone(&self.table.load());
        by(&mut table)?;
        let kept = table.by_name.values().filter(|(_, account)| !account.is_operator());
        stored::write(&self.file, kept.map(|(hash, account)| (*hash, &**account)))?;
        self.table.store(Arc::new(table));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
